//! A year, month or day, as typed after `before:` and `after:`.

use std::fmt;

/// Years that a date may name.
const YEARS: std::ops::RangeInclusive<u16> = 1..=9999;

/// A date of the Gregorian calendar, as precise as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Day {
    year: u16,
    month: Option<u8>,
    day: Option<u8>,
}

impl Day {
    /// Reads `2024`, `2024-05` or `2024-05-31`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| match parts.next() {
            None => Some(None),
            Some(part) if part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()) => {
                part.parse::<u16>().ok().map(Some)
            }
            Some(_) => None,
        };
        let year = number(4)??;
        let month = number(2)?;
        let day = number(2)?;
        if parts.next().is_some() || !YEARS.contains(&year) {
            return None;
        }
        let month = month
            .map(|m| u8::try_from(m).ok().filter(|m| (1..=12).contains(m)).ok_or(()))
            .transpose()
            .ok()?;
        let day = match (month, day) {
            (Some(month), Some(day)) => {
                Some(u8::try_from(day).ok().filter(|day| (1..=days_of(year, month)).contains(day))?)
            }
            _ => None,
        };
        Some(Self { year, month, day })
    }

    /// Seconds from 1970 to its beginning, in UTC.
    pub fn start_s(self) -> i64 {
        let (month, day) = (i64::from(self.month.unwrap_or(1)), i64::from(self.day.unwrap_or(1)));
        // Counted in years that begin in March, so that the leap day is the last one.
        let year = i64::from(self.year) - i64::from(month < 3);
        let month_from_march = (month + 9) % 12;
        let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400)
            + (month_from_march * 306 + 5) / 10
            + day
            - 1;
        (days - DAYS_TO_1970) * 86_400
    }
}

/// From the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: i64 = 719_468;

fn days_of(year: u16, month: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        if let Some(month) = self.month {
            write!(f, "-{month:02}")?;
        }
        if let Some(day) = self.day {
            write!(f, "-{day:02}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_where_the_calendar_says() {
        let start = |text| Day::parse(text).map(Day::start_s);
        assert_eq!(start("1970"), Some(0));
        assert_eq!(start("1970-01-02"), Some(86_400));
        assert_eq!(start("2000-03-01"), Some(951_868_800));
        assert_eq!(start("2024-02-29"), Some(1_709_164_800));
        assert_eq!(start("1969-12-31"), Some(-86_400));
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in ["", "24", "2024-13", "2023-02-29", "2024-1-1", "2024-01-01-01", "0000", "2024-00", "x"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }
}
