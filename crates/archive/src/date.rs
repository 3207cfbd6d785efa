//! Dates as WARC and CDXJ spell them: `2026-11-15T03:35:08.250Z` and `20261115033508`.

use lycosa_types::UnixMs;

const DAY_MS: u64 = 86_400_000;
/// The last instant of the year 9999: later ones would not fit the formats and are written as this one.
const MAX_MS: u64 = 253_402_300_799_999;

#[derive(Clone, Copy)]
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    ms: u64,
}

/// Days since 1970 to year, month, day, by counting eras of 400 years that start on 1 March.
fn civil(at: UnixMs) -> Civil {
    let at_ms = at.0.min(MAX_MS);
    let (days, in_day) = (at_ms / DAY_MS, at_ms % DAY_MS);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    Civil {
        year: era * 400 + year_of_era + u64::from(month <= 2),
        month,
        day: day_of_year - (153 * march_month + 2) / 5 + 1,
        hour: in_day / 3_600_000,
        minute: in_day / 60_000 % 60,
        second: in_day / 1000 % 60,
        ms: in_day % 1000,
    }
}

/// The last `WIDTH` digits.
fn digits<const WIDTH: usize>(mut value: u64) -> [u8; WIDTH] {
    let mut digits = [b'0'; WIDTH];
    for digit in digits.iter_mut().rev() {
        // The remainder is below ten, so the digit fits a byte.
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
    digits
}

/// Appends `2026-11-15T03:35:08.250Z`; milliseconds are left out when zero.
pub fn push_warc_date(out: &mut Vec<u8>, at: UnixMs) {
    let c = civil(at);
    out.extend_from_slice(&digits::<4>(c.year));
    for (before, value) in
        [(b'-', c.month), (b'-', c.day), (b'T', c.hour), (b':', c.minute), (b':', c.second)]
    {
        let [tens, ones] = digits::<2>(value);
        out.extend_from_slice(&[before, tens, ones]);
    }
    if c.ms > 0 {
        out.push(b'.');
        out.extend_from_slice(&digits::<3>(c.ms));
    }
    out.push(b'Z');
}

/// Appends `20261115033508`.
pub fn push_timestamp(out: &mut Vec<u8>, at: UnixMs) {
    let c = civil(at);
    out.extend_from_slice(&digits::<4>(c.year));
    for value in [c.month, c.day, c.hour, c.minute, c.second] {
        out.extend_from_slice(&digits::<2>(value));
    }
}

/// The WARC date as a string.
pub fn warc_date(at: UnixMs) -> String {
    let mut out = Vec::with_capacity(24);
    push_warc_date(&mut out, at);
    out.iter().map(|&b| char::from(b)).collect()
}

/// Reads a WARC date (any number of fraction digits, or none). None if it is not one.
pub fn parse_warc_date(text: &str) -> Option<UnixMs> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u64> {
        let part = bytes.get(from..to)?;
        part.iter().try_fold(0u64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
    };
    let shape = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !shape.iter().all(|&(at, mark)| bytes.get(at) == Some(&mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = bytes.get(19..)?.strip_suffix(b"Z")?;
    let ms = match rest.strip_prefix(b".") {
        None if rest.is_empty() => 0,
        Some(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            (0..3).fold(0, |sum, i| sum * 10 + digits.get(i).map_or(0, |b| u64::from(b - b'0')))
        }
        _ => return None,
    };
    if year < 1970
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let march_year = year - u64::from(month <= 2);
    let (era, year_of_era) = (march_year / 400, march_year % 400);
    let march_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * march_month + 2) / 5 + day - 1;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(UnixMs(days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second.min(59) * 1000 + ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_dates() {
        for (at_ms, date, stamp) in [
            (0, "1970-01-01T00:00:00Z", "19700101000000"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z", "20000229123456"),
            (1_800_000_000_001, "2027-01-15T08:00:00.001Z", "20270115080000"),
            (u64::MAX, "9999-12-31T23:59:59.999Z", "99991231235959"),
        ] {
            let mut out = Vec::new();
            push_timestamp(&mut out, UnixMs(at_ms));
            assert_eq!((warc_date(UnixMs(at_ms)).as_str(), out.as_slice()), (date, stamp.as_bytes()));
        }
    }

    #[test]
    fn what_is_not_a_date() {
        for text in
            ["", "2000-02-29", "2000-13-01T00:00:00Z", "2000-01-01T00:00:00.Z", "2000-01-01T00:00:00+1"]
        {
            assert_eq!(parse_warc_date(text), None, "{text}");
        }
        assert_eq!(parse_warc_date("1970-01-01T00:00:01.5Z"), Some(UnixMs(1500)));
        assert_eq!(parse_warc_date("1970-01-01T00:00:01.123456789Z"), Some(UnixMs(1123)));
    }

    proptest! {
        #[test]
        fn written_and_read_back(at_ms in 0..=MAX_MS) {
            prop_assert_eq!(parse_warc_date(&warc_date(UnixMs(at_ms))), Some(UnixMs(at_ms)));
        }

        #[test]
        fn any_string_is_data(text in ".{0,40}") {
            let _ = parse_warc_date(&text);
        }
    }
}
