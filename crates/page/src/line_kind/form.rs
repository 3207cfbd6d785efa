//! The form of a word that holds figures: a time, a date, a version, a number.

use crate::vocabulary::UNITS;

pub(super) fn is_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// With a unit of time attached: `12ms`, `7min`.
    Duration,
    /// With a currency, a unit or a range.
    Measure,
}

/// What stands around the digits of a word.
pub(super) fn form_of(word: &str) -> Form {
    if word.contains(['$', '%', '€', '£', '¥', '₹', '°', '§']) {
        return Form::Measure;
    }
    let Some(first) = word.find(|c: char| c.is_ascii_digit()) else { return Form::Plain };
    let tail = word.get(first..).unwrap_or_default();
    // From one number to another: hours, pages, scores. A date has two dashes, or parts of four digits.
    let mut parts = tail.split(['-', '–', '—']).filter(|part| part.contains(|c: char| c.is_ascii_digit()));
    if let (Some(_), Some(_), None) = (parts.next(), parts.next(), parts.next()) {
        return Form::Measure;
    }
    let unit = tail.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c.is_ascii());
    let unit = unit.trim_end_matches(|c: char| c.is_ascii_punctuation());
    if unit.is_empty() || tail.contains([':', 'T', '/']) {
        return Form::Plain;
    }
    let small = unit.to_ascii_lowercase();
    match small.as_str() {
        "k" | "st" | "nd" | "rd" | "th" | "am" | "pm" => Form::Plain,
        small if UNITS.iter().any(|(_, names)| names.contains(&small)) => Form::Duration,
        small if small.len() <= 3 => Form::Measure,
        _ => Form::Plain,
    }
}

/// `3.11`, `v15.18.2`, `6.1.0-rc2`: two numbers at least with dots between them, none of more than three digits.
pub(super) fn is_version(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let mut parts = word.split('.');
    let number = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let last =
        |part: &str| number(part) || part.len() <= 8 && part.contains(|c: char| c.is_ascii_alphabetic());
    parts.next().is_some_and(number)
        && parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()) && last(part))
        && parts.all(last)
}

/// `04:18`, `4:18:25`.
pub(super) fn minute_of_day(said: &str) -> Option<u32> {
    let mut parts =
        said.split(':').map(|part| part.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>());
    let (hour, minute) = (parts.next()?.ok()?, parts.next()?.ok()?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// `2026-11-15`, `2026-11-15T04:18:25Z`, `15.11.2026`, `11/15/2026`.
pub(super) fn numeric_day(said: &str) -> Option<u32> {
    let mut parts = said.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok());
    let (a, b, c) = (next()?, next()?, next()?);
    if a > 31 {
        days(a, b, c)
    } else if said.contains('/') && b > 12 {
        days(c, a, b)
    } else {
        days(c, b, a)
    }
}

/// Days since 1970 of a day of the calendar.
pub(super) fn days(year: u32, month: u32, day: u32) -> Option<u32> {
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // The year begins in March, so that the leap day is its last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    Some(365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719_468)
}
