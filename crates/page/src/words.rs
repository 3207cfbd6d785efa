//! Single words as noise suppression sees them: numbers, dates, tokens, names of months, words that go with counters.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// A longer word is compared by its first bytes only.
const MAX_WORD: usize = 48;
/// No word that means something is longer.
const LONGEST_MEANT: usize = 11;

/// What the digits of a word make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// No digits.
    None,
    /// Digits with signs and a short unit.
    Number,
    /// A day or a time of day by its form alone.
    Date,
    /// A session id, digest or other random name.
    Token,
    /// A word with digits in it.
    Mixed,
}

/// A word in small letters without the punctuation around it.
pub(crate) struct SmallWord {
    bytes: [u8; MAX_WORD],
    len: usize,
    cut: bool,
    meaning: u8,
}

/// A month, a day of the week, half of the day, a unit of time.
const TIME: u8 = 1;
const MONTH: u8 = 2;
/// Goes with numbers that come and go.
const COUNTER: u8 = 4;
/// Goes with dates.
const DATED: u8 = 8;
const AGO: u8 = 16;

/// The words that mean something, by their bytes.
static MEANINGS: LazyLock<HashMap<&'static [u8], u8, FixedState>> = LazyLock::new(|| {
    let mut meanings: HashMap<&[u8], u8, FixedState> = HashMap::default();
    let mut add = |word: &'static str, meaning: u8| *meanings.entry(word.as_bytes()).or_default() |= meaning;
    MONTHS.iter().chain(&LONG_MONTHS).chain(&["sept"]).for_each(|word| add(word, TIME | MONTH));
    // Days are cut to any length from three letters on.
    DAYS.iter().for_each(|day| (3..=day.len()).for_each(|len| add(&day[..len], TIME)));
    UNITS.iter().chain(&MANY_UNITS).chain(&OTHER_TIMES).for_each(|word| add(word, TIME));
    COUNTERS.iter().for_each(|word| add(word, COUNTER));
    DATE_WORDS.iter().for_each(|word| add(word, DATED));
    add("ago", AGO);
    meanings
});

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const LONG_MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const UNITS: [&str; 8] = ["second", "minute", "hour", "day", "week", "month", "year", "min"];
const MANY_UNITS: [&str; 8] = ["seconds", "minutes", "hours", "days", "weeks", "months", "years", "mins"];
const OTHER_TIMES: [&str; 6] = ["am", "pm", "utc", "gmt", "a", "an"];
const COUNTERS: [&str; 22] = [
    "view",
    "views",
    "viewed",
    "visits",
    "visitor",
    "visitors",
    "hits",
    "generated",
    "rendered",
    "served",
    "uptime",
    "online",
    "copyright",
    "©",
    "(c)",
    "counter",
    "likes",
    "shares",
    "followers",
    "subscribers",
    "downloads",
    "reads",
];
const DATE_WORDS: [&str; 21] = [
    "updated",
    "modified",
    "published",
    "posted",
    "edited",
    "created",
    "changed",
    "last",
    "date",
    "time",
    "today",
    "now",
    "on",
    "at",
    "by",
    "the",
    "of",
    "as",
    "retrieved",
    "built",
    "revised",
];

impl SmallWord {
    pub fn new(word: &str) -> Self {
        let mut trimmed = word.as_bytes();
        let loose = |b: u8| b.is_ascii_punctuation() && !matches!(b, b'(' | b')' | b'%');
        while let [first, rest @ ..] = trimmed
            && loose(*first)
        {
            trimmed = rest;
        }
        while let [rest @ .., last] = trimmed
            && loose(*last)
        {
            trimmed = rest;
        }
        if trimmed.len() > 3 {
            trimmed = trimmed.strip_prefix(b"(").unwrap_or(trimmed);
            trimmed = trimmed.strip_suffix(b")").unwrap_or(trimmed);
        }
        let mut bytes = [0; MAX_WORD];
        let len = trimmed.len().min(MAX_WORD);
        for (to, from) in bytes.iter_mut().zip(trimmed) {
            *to = from.to_ascii_lowercase();
        }
        let meaning = match bytes.get(..len) {
            Some(text) if len <= LONGEST_MEANT => MEANINGS.get(text).copied().unwrap_or(0),
            _ => 0,
        };
        Self { bytes, len, cut: trimmed.len() > MAX_WORD, meaning }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub fn is_ago(&self) -> bool {
        self.meaning & AGO != 0
    }

    pub fn hash(&self) -> u64 {
        xxh3_64(self.text())
    }

    /// Hash with every run of digits masked.
    pub fn masked_hash(&self) -> u64 {
        let mut masked = [0; MAX_WORD];
        let mut n = 0;
        let mut in_digits = false;
        for &b in self.text() {
            let digit = b.is_ascii_digit();
            if !(digit && in_digits) {
                masked[n] = if digit { b'#' } else { b };
                n += 1;
            }
            in_digits = digit;
        }
        xxh3_64(&masked[..n])
    }

    pub fn number_kind(&self) -> NumberKind {
        let text = self.text();
        let (mut digits, mut letters, mut hexes, mut safe) = (0, 0, 0, 0);
        for &b in text {
            digits += usize::from(b.is_ascii_digit());
            letters += usize::from(b.is_ascii_lowercase());
            hexes += usize::from(matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            safe += usize::from(matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
        }
        if digits == 0 {
            return NumberKind::None;
        }
        let hex = hexes == text.len();
        let url_safe = digits + letters + safe == text.len();
        if self.is_date() {
            NumberKind::Date
        } else if letters > 0 && (hex && text.len() >= 8 || text.len() >= 16 && digits >= 3 && url_safe)
            || self.cut
        {
            NumberKind::Token
        } else if letters <= 3 && text.first().is_some_and(|b| !b.is_ascii_alphabetic()) {
            NumberKind::Number
        } else {
            NumberKind::Mixed
        }
    }

    /// `2026-11-15`, `15.11.2026`, `11/15/26`, `04:18`, `04:18:25`, `2026-11-15T04:18:25Z`.
    fn is_date(&self) -> bool {
        let mut groups = 0;
        let (mut dashes, mut slashes, mut dots, mut colons, mut other) = (0, 0, 0, 0, 0);
        let mut length = 0usize;
        let mut longest = 0;
        for &b in self.text() {
            if b.is_ascii_digit() {
                groups += usize::from(length == 0);
                length += 1;
                longest = longest.max(length);
                continue;
            }
            length = 0;
            match b {
                b'-' => dashes += 1,
                b'/' => slashes += 1,
                b'.' => dots += 1,
                b':' => colons += 1,
                b't' | b'z' | b'+' | b'a' | b'p' | b'm' => {}
                _ => other += 1,
            }
        }
        let day = groups >= 3 && longest == 4 && (dashes >= 2 || slashes == 2 || dots == 2);
        let short_day = groups == 3 && slashes == 2 && longest <= 2;
        let clock = (1..=2).contains(&colons) && groups >= 2 && longest <= 2 && dots <= 1;
        other == 0 && (day || short_day || clock)
    }

    /// A number that a date could hold: 1 to 31 (also `3rd`), or a year.
    pub fn could_be_date_part(&self) -> bool {
        let digits: &[u8] = self.text().split(|b| !b.is_ascii_digit()).next().unwrap_or(b"");
        let value = digits.iter().take(5).fold(0u32, |v, b| v * 10 + u32::from(b - b'0'));
        let tail = self.text().get(digits.len()..).unwrap_or(b"");
        matches!(tail, b"" | b"st" | b"nd" | b"rd" | b"th")
            && ((1..=31).contains(&value) || (1900..2200).contains(&value))
    }

    /// A month, a day of the week, half of the day, a unit of time.
    pub fn names_time(&self) -> bool {
        self.meaning & TIME != 0
    }

    pub fn is_counter_word(&self) -> bool {
        self.meaning & COUNTER != 0
    }

    pub fn is_date_word(&self) -> bool {
        self.meaning & DATED != 0
    }
}

/// Whether a line names a month.
pub(crate) fn names_month(line: &str) -> bool {
    line.split_ascii_whitespace().any(|w| SmallWord::new(w).meaning & MONTH != 0)
}
