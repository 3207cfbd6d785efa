//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete forms that must still be read.

use lycosa_types::UnixMs;

/// Longer than any date; anything longer is not one.
const MAX_DATE_BYTES: usize = 64;

/// Reads a date. None for anything that is not one, or is before 1970.
pub fn parse_http_date(text: &str) -> Option<UnixMs> {
    if text.len() > MAX_DATE_BYTES {
        return None;
    }
    // All three forms, cut at blanks, commas and hyphens, are: weekday day month year time zone, or (asctime)
    // weekday month day time year.
    let mut parts = text.split([' ', ',', '-', '\t']).filter(|part| !part.is_empty()).skip(1);
    let second = parts.next()?;
    let third = parts.next()?;
    let fourth = parts.next()?;
    let fifth = parts.next()?;
    let (day, month, year, time) = if second.starts_with(|c: char| c.is_ascii_digit()) {
        (second, third, fourth, fifth)
    } else {
        (third, second, fifth, fourth)
    };
    let day: u64 = number(day, 2)?;
    let month = month_number(month)?;
    let year = match (year.len(), number(year, 4)?) {
        // RFC 850 years have two digits; 70 to 99 lie in the past century.
        (2, short) if short >= 70 => 1900 + short,
        (2, short) => 2000 + short,
        (_, whole) => whole,
    };
    let mut clock = time.split(':');
    let hour = number(clock.next()?, 2)?;
    let minute = number(clock.next()?, 2)?;
    let second = number(clock.next()?, 2)?;
    let in_range = year >= 1970 && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !in_range || clock.next().is_some() {
        return None;
    }
    let days = days_before(year, month, day)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(UnixMs(seconds * 1_000))
}

fn number(digits: &str, max_digits: usize) -> Option<u64> {
    let fits = !digits.is_empty() && digits.len() <= max_digits && digits.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten()
}

fn month_number(name: &str) -> Option<u64> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let at = NAMES.iter().position(|month| name.eq_ignore_ascii_case(month))?;
    Some(at as u64 + 1)
}

/// Days from the epoch to this day.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days_to = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days_to(year - 1) - leap_days_to(1969);
    let months = BEFORE_MONTH.get(usize::try_from(month).ok()? - 1)?;
    let leap_day = u64::from(is_leap && month > 2);
    Some(years + months + leap_day + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_three_forms() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse_http_date(text), Some(UnixMs(784_111_777_000)), "{text}");
        }
    }

    #[test]
    fn knows_leap_years() {
        let day = |text| parse_http_date(text).unwrap().0 / 86_400_000;
        assert_eq!(day("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
        assert_eq!(day("Tue, 29 Feb 2000 00:00:00 GMT"), 11_016);
        assert_eq!(day("Wed, 01 Mar 2000 00:00:00 GMT"), 11_017);
        assert_eq!(day("Sat, 01 Mar 2025 00:00:00 GMT"), 20_148);
        assert_eq!(day("Mon, 01 Mar 2100 00:00:00 GMT"), 47_541);
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "0",
            "-1",
            "tomorrow",
            "Sun, 06 Nov 1994",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
