//! Dates on the virtual clock, written and read without a library.
//!
//! Promise: time 0 of the world is 2026-01-01 00:00:00 UTC; `read_http(write_http(t)) == t`.

use crate::node::put_number;

/// Unix seconds of the world's time 0.
pub const EPOCH_S: u64 = 1_767_225_600;

const DAYS: [&[u8]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Year, month (from 1) and day of a Unix time.
fn civil(unix_s: u64) -> (u64, u64, u64) {
    let days = unix_s / 86_400 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

fn put_two(out: &mut Vec<u8>, n: u64) {
    out.push(b'0' + (n / 10 % 10) as u8);
    out.push(b'0' + (n % 10) as u8);
}

fn put_clock(out: &mut Vec<u8>, unix_s: u64) {
    put_two(out, unix_s / 3600 % 24);
    out.push(b':');
    put_two(out, unix_s / 60 % 60);
    out.push(b':');
    put_two(out, unix_s % 60);
}

/// `Thu, 01 Jan 2026 00:00:00 GMT`
pub(crate) fn put_http(out: &mut Vec<u8>, unix_s: u64) {
    let (year, month, day) = civil(unix_s);
    out.extend_from_slice(DAYS[(unix_s / 86_400 % 7) as usize]);
    out.extend_from_slice(b", ");
    put_two(out, day);
    out.push(b' ');
    out.extend_from_slice(MONTHS[((month - 1) % 12) as usize]);
    out.push(b' ');
    put_number(out, year);
    out.push(b' ');
    put_clock(out, unix_s);
    out.extend_from_slice(b" GMT");
}

/// `2026-01-01`
pub(crate) fn put_day(out: &mut Vec<u8>, unix_s: u64) {
    let (year, month, day) = civil(unix_s);
    put_number(out, year);
    out.push(b'-');
    put_two(out, month);
    out.push(b'-');
    put_two(out, day);
}

/// `2026-01-01T00:00:00Z`
pub(crate) fn put_iso(out: &mut Vec<u8>, unix_s: u64) {
    put_day(out, unix_s);
    out.push(b'T');
    put_clock(out, unix_s);
    out.push(b'Z');
}

/// Reads the form that `put_http` writes; `None` for any other.
pub(crate) fn read_http(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.len() != 29 || !text.ends_with(b" GMT") {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        text[range].iter().try_fold(0u64, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
    };
    let (day, year) = (number(5..7)?, number(12..16)?);
    let month = MONTHS.iter().position(|m| *m == &text[8..11])? as u64 + 1;
    let (year_of_march, shifted) =
        if month <= 2 { (year.checked_sub(1)?, month + 9) } else { (year, month - 3) };
    let era = year_of_march / 400;
    let of_era = year_of_march % 400;
    let of_year = (153 * shifted + 2) / 5 + day.checked_sub(1)?;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let seconds = number(17..19)? * 3600 + number(20..22)? * 60 + number(23..25)?;
    Some(days.checked_sub(719_468)? * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_a_thursday() {
        let mut out = Vec::new();
        put_http(&mut out, EPOCH_S);
        assert_eq!(out, b"Thu, 01 Jan 2026 00:00:00 GMT");
    }

    proptest::proptest! {
        #[test]
        fn dates_read_back(unix_s in 0u64..8_000_000_000) {
            let mut out = Vec::new();
            put_http(&mut out, unix_s);
            proptest::prop_assert_eq!(read_http(&out), Some(unix_s));
        }

        #[test]
        fn reading_never_panics(text: Vec<u8>) {
            let _ = read_http(&text);
        }
    }
}
