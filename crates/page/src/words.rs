//! Single words as noise suppression sees them: numbers, dates, tokens, names of months, words that go with counters.

use super::byte_class::{SPACE, is, skip};
use super::swar;
use super::vocabulary as known;
use std::ops::Range;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// A longer word is compared by its first bytes only.
const MAX_WORD: usize = 48;
/// No word that means something is longer.
const LONGEST_MEANT: usize = known::LONGEST;

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
    pub meaning: Meaning,
    has_digit: bool,
}

/// For each byte a one in the count of every kind it is of: digits, small letters, hexadecimal digits, what else stands in
/// addresses. Eight bits for each: a word holds at most [`MAX_WORD`] bytes.
static KINDS: [u32; 256] = {
    let mut kinds = [0; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        kinds[b] = (byte.is_ascii_digit() as u32)
            | (byte.is_ascii_lowercase() as u32) << 8
            | (matches!(byte, b'0'..=b'9' | b'a'..=b'f') as u32) << 16
            | (matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-') as u32) << 24;
        b += 1;
    }
    kinds
};

/// Punctuation that is no part of a word at its ends.
static LOOSE: [bool; 256] = {
    let mut loose = [false; 256];
    let mut b = 0;
    while b < 256 {
        loose[b] = (b as u8).is_ascii_punctuation() && !matches!(b as u8, b'(' | b')' | b'%');
        b += 1;
    }
    loose
};

/// What a word says of the numbers beside it: some of the following.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Meaning(u16);

impl Meaning {
    pub const NOTHING: Self = Self(0);
    /// A month, a day of the week, half of the day, a unit of time.
    pub const TIME: Self = Self(1);
    pub const MONTH: Self = Self(2);
    /// Counts visits.
    pub const COUNTER: Self = Self(4);
    /// Stands between a word about the page and its date.
    pub const BETWEEN: Self = Self(8);
    pub const AGO: Self = Self(16);
    /// When the page was made or changed.
    pub const MADE: Self = Self(32);
    /// Of this moment.
    pub const NOW: Self = Self(64);
    /// The line is news.
    pub const NEWS: Self = Self(128);
    /// A unit of time.
    pub const UNIT: Self = Self(256);
    /// A unit of anything else.
    pub const MEASURE: Self = Self(512);
    pub const COPYRIGHT: Self = Self(1024);
    /// Goes with tokens.
    pub const REQUEST: Self = Self(2048);

    pub const fn has(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }

    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }
}

/// Slots for the words that mean something, several times as many as there are.
const SLOTS: usize = 2048;

/// The words that mean something, packed into numbers. A word lies in the slot that its number leads to or in the next
/// that was free; the first free one ends the search.
struct Meanings([(u128, Meaning); SLOTS]);

impl Meanings {
    #[inline(always)]
    fn home(word: u128) -> usize {
        let mixed = (word as u64 ^ ((word >> 64) as u64).rotate_left(23)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        (mixed >> 53) as usize % SLOTS
    }

    fn add(&mut self, word: u128, meaning: Meaning) {
        let mut at = Self::home(word);
        while self.0[at].0 != 0 && self.0[at].0 != word {
            at = (at + 1) % SLOTS;
        }
        self.0[at] = (word, self.0[at].1.and(meaning));
    }

    #[inline(always)]
    fn of(&self, word: u128) -> Meaning {
        let mut at = Self::home(word);
        loop {
            let (known, meaning) = self.0[at];
            if known == word {
                return meaning;
            }
            if known == 0 {
                return Meaning::default();
            }
            at = (at + 1) % SLOTS;
        }
    }
}

/// A word of up to [`LONGEST_MEANT`] bytes as a number, its length included; zero for the empty one.
#[inline(always)]
fn packed(bytes: &[u8; MAX_WORD], len: usize) -> u128 {
    let start = bytes.first_chunk::<16>().map_or(0, |chunk| u128::from_le_bytes(*chunk));
    start | (len as u128) << 120
}

static MEANINGS: LazyLock<Meanings> = LazyLock::new(|| {
    let mut meanings = Meanings([(0, Meaning::default()); SLOTS]);
    let mut add = |word: &'static str, meaning: Meaning| {
        let mut bytes = [0; MAX_WORD];
        bytes[..word.len()].copy_from_slice(word.as_bytes());
        meanings.add(packed(&bytes, word.len()), meaning);
    };
    let month = Meaning::TIME.and(Meaning::MONTH);
    known::MONTHS.iter().flat_map(|names| names.iter()).for_each(|word| add(word, month));
    // Days are cut to any length from three letters on.
    known::DAYS.iter().for_each(|day| (3..=day.len()).for_each(|len| add(&day[..len], Meaning::TIME)));
    let unit = Meaning::TIME.and(Meaning::UNIT);
    known::UNITS.iter().flat_map(|(_, names)| names.iter()).for_each(|word| add(word, unit));
    let lists: [(&[&'static str], Meaning); 11] = [
        (&known::OTHER_DAYS, Meaning::TIME),
        (&known::OTHER_TIMES, Meaning::TIME),
        (&known::COUNTERS, Meaning::COUNTER),
        (&known::MADE, Meaning::MADE),
        (&known::NOW, Meaning::NOW),
        (&known::BETWEEN, Meaning::BETWEEN),
        (&known::AGO, Meaning::AGO),
        (&known::COPYRIGHT, Meaning::COPYRIGHT),
        (&known::REQUEST, Meaning::REQUEST),
        (&known::MEASURES, Meaning::MEASURE),
        (&known::NEWS, Meaning::NEWS),
    ];
    for (words, meaning) in lists {
        words.iter().for_each(|word| add(word, meaning));
    }
    meanings
});

impl SmallWord {
    #[inline]
    pub fn new(word: &str) -> Self {
        let mut trimmed = word.as_bytes();
        let loose = |b: u8| LOOSE[usize::from(b)];
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
        if let (Some(to), Some(from)) = (bytes.get_mut(..len), trimmed.get(..len)) {
            to.copy_from_slice(from);
        }
        // All of the array at once, without a branch per byte.
        bytes.make_ascii_lowercase();
        let has_digit = bytes.iter().fold(false, |any, b| any | b.is_ascii_digit());
        // No word that means something has a digit.
        let can_mean = len <= LONGEST_MEANT && !has_digit;
        let meaning = if can_mean { MEANINGS.of(packed(&bytes, len)) } else { Meaning::default() };
        Self { bytes, len, cut: trimmed.len() > MAX_WORD, meaning, has_digit }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
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
        if !self.has_digit {
            return NumberKind::None;
        }
        let text = self.text();
        let kinds: u32 = text.iter().map(|&b| KINDS[usize::from(b)]).sum();
        let [digits, letters, hexes, safe] = kinds.to_le_bytes().map(usize::from);
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
        // `2:1` is a score, `9:00-17:00` are hours.
        let mut minutes = true;
        for &b in self.text() {
            if b.is_ascii_digit() {
                groups += usize::from(length == 0);
                length += 1;
                longest = longest.max(length);
                continue;
            }
            minutes &= colons == 0 || length == 2 || length == 0;
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
        minutes &= colons == 0 || length == 2 || length == 0;
        let day = groups >= 3 && longest == 4 && (dashes >= 2 || slashes == 2 || dots == 2);
        let short_day = groups == 3 && slashes == 2 && longest <= 2;
        let clock =
            (1..=2).contains(&colons) && groups >= 2 && longest <= 2 && dots <= 1 && dashes == 0 && minutes;
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
}

/// Where words stand, which white space parts, in the part `line` of a text. The whole text is given so that eight bytes can be looked
/// at beyond the end of the line.
pub(crate) fn words_of(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let end = line.end.min(bytes.len());
    let mut at = line.start;
    std::iter::from_fn(move || {
        at = skip(bytes, at, SPACE);
        let start = at;
        if start >= end {
            return None;
        }
        at = word_end(bytes, start).min(end);
        Some(start..at)
    })
}

fn word_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        let word = swar::load(bytes, at).unwrap_or_else(|| swar::tail(bytes, at));
        let stop = swar::first(swar::below(word, 0x21));
        at += stop;
        if stop < 8 {
            match bytes.get(at) {
                // Other control characters are parts of words.
                Some(&b) if !is(b, SPACE) => at += 1,
                Some(_) => return at,
                None => return bytes.len(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn words_are_cut_at_white_space_alone() {
        let mut dice = Dice(9);
        for _ in 0..20_000 {
            let text = dice.text(20, &[" ", "a", "\n", "\u{1}", "word", "é", "\t", "12"]);
            let start = text.floor_char_boundary(dice.roll(text.len()));
            let end = text.floor_char_boundary(start + dice.roll(text.len() - start));
            let expected: Vec<&str> = text[start..end].split_ascii_whitespace().collect();
            let found: Vec<&str> = words_of(&text, start..end).map(|place| &text[place]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
