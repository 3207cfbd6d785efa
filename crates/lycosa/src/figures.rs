//! Figures as people read them: counts with thousands marked, sizes, rates, times, instants.

use lycosa_archive::date::warc_date;
use lycosa_types::UnixMs;

/// `1234567` → `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `3.4 MB`; decimal units, as networks and disks are sold.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        _ if value < 9.995 => format!("{value:.2} {}", UNITS[unit]),
        _ if value < 99.95 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// `1,234/s`, `0.8/s`.
pub fn rate(per_s: f64) -> String {
    if per_s >= 10.0 { format!("{}/s", count(per_s.round() as u64)) } else { format!("{per_s:.1}/s") }
}

pub fn byte_rate(per_s: f64) -> String {
    format!("{}/s", bytes(per_s.max(0.0) as u64))
}

/// `0.35 s`, `12.3 s`, `4:05`, `1:02:03`.
pub fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.2} s");
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// `2026-11-15T04:32:01Z`.
pub fn instant(at: UnixMs) -> String {
    warc_date(at)
}

/// One `page`, two `pages`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// The first `width` characters of a line, the last of them `…` if something was left out.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(12_345)],
            ["0 B", "999 B", "1.00 kB", "12.3 kB"]
        );
        assert_eq!([bytes(999_999), bytes(5 << 30), bytes(u64::MAX)], ["1.00 MB", "5.37 GB", "18446744 TB"]);
        assert_eq!([rate(0.25), rate(12.6), rate(4321.0)], ["0.2/s", "13/s", "4,321/s"]);
        assert_eq!(
            [duration(0.351), duration(59.9), duration(245.0), duration(3723.0)],
            ["0.35 s", "59.9 s", "4:05", "1:02:03"]
        );
        assert_eq!([clip("spider", 6), clip("spiders", 6), clip("éé", 1)], ["spider", "spide…", "…"]);
        assert_eq!([plural(1, "page", "pages"), plural(2000, "page", "pages")], ["1 page", "2,000 pages"]);
    }
}
