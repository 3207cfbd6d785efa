//! Single words as noise suppression sees them: numbers, dates, tokens, names of months, words that go with counters.

use xxhash_rust::xxh3::xxh3_64;

/// A longer word is compared by its first bytes only.
const MAX_WORD: usize = 48;

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
}

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
        Self { bytes, len, cut: trimmed.len() > MAX_WORD }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub fn is(&self, word: &str) -> bool {
        self.text() == word.as_bytes()
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
        let digits = text.iter().filter(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return NumberKind::None;
        }
        let letters = text.iter().filter(|b| b.is_ascii_alphabetic()).count();
        let hex = text.iter().all(u8::is_ascii_hexdigit);
        let url_safe = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-');
        if self.is_date() {
            NumberKind::Date
        } else if letters > 0
            && (hex && text.len() >= 8 || text.len() >= 16 && digits >= 3 && text.iter().all(url_safe))
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
        let text = self.text();
        let short = |names: &[&str], least: usize| {
            names.iter().any(|n| text.len() >= least && n.as_bytes().starts_with(text))
        };
        let unit =
            UNITS.iter().any(|u| text == u.as_bytes() || text.strip_suffix(b"s") == Some(u.as_bytes()));
        is_month(text)
            || short(&DAYS, 3)
            || unit
            || matches!(text, b"am" | b"pm" | b"utc" | b"gmt" | b"a" | b"an")
    }

    pub fn is_counter_word(&self) -> bool {
        COUNTERS.iter().any(|w| self.is(w))
    }

    pub fn is_date_word(&self) -> bool {
        DATE_WORDS.iter().any(|w| self.is(w))
    }
}

fn is_month(text: &[u8]) -> bool {
    MONTHS.iter().any(|m| text == m.as_bytes())
        || LONG_MONTHS.iter().any(|m| text == m.as_bytes())
        || text == b"sept"
}

/// Whether a line names a month.
pub(crate) fn names_month(line: &str) -> bool {
    line.split_ascii_whitespace().any(|w| is_month(SmallWord::new(w).text()))
}
