//! What words mean to noise suppression, and what was made of the last ones: text with numbers in it, above all source code
//! and tables, has the same words on line after line.

use super::swar;
use super::words::{Meaning, NumberKind, SmallWord};
use std::ops::Range;

/// Words that are remembered, and the longest of them.
const KNOWN_WORDS: usize = 1024;
const LONGEST_KNOWN: usize = 16;

/// What a word is in a line whose numbers are masked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sense {
    pub kind: NumberKind,
    pub meaning: Meaning,
    /// A number that a date could hold.
    pub could_be_date_part: bool,
    /// Of a word that is not masked as a whole.
    pub hash: u64,
}

impl Sense {
    /// Of a word that is not there.
    pub const PLAIN: Self =
        Self { kind: NumberKind::None, meaning: Meaning::NOTHING, could_be_date_part: false, hash: 0 };

    fn of(word: &str) -> Self {
        let word = SmallWord::new(word);
        let kind = word.number_kind();
        let hash = match kind {
            NumberKind::None => word.hash(),
            NumberKind::Mixed => word.masked_hash(),
            NumberKind::Number | NumberKind::Date | NumberKind::Token => 0,
        };
        let could_be_date_part = kind == NumberKind::Number && word.could_be_date_part();
        Self { kind, meaning: word.meaning, could_be_date_part, hash }
    }
}

/// A word, and what it is.
#[derive(Debug, Clone, Copy)]
struct Known {
    bytes: (u64, u64),
    len: usize,
    sense: Sense,
}

/// The last words that were looked at.
#[derive(Debug, Clone)]
pub(crate) struct WordSenses(Box<[Known]>);

impl Default for WordSenses {
    fn default() -> Self {
        Self(vec![Known { bytes: (0, 0), len: 0, sense: Sense::of("") }; KNOWN_WORDS].into())
    }
}

impl WordSenses {
    /// What the word is that stands at `place` in a text.
    #[inline]
    pub fn of(&mut self, text: &str, place: Range<usize>) -> Sense {
        let sense = || Sense::of(text.get(place.clone()).unwrap_or_default());
        if place.len() > LONGEST_KNOWN {
            return sense();
        }
        let eight = |at: usize| {
            let bytes = text.as_bytes();
            let word = swar::load(bytes, at).unwrap_or_else(|| swar::tail(bytes, at));
            word & swar::first_bytes(place.end.saturating_sub(at))
        };
        let (bytes, len) = ((eight(place.start), eight(place.start + 8)), place.len());
        let mixed = (bytes.0 ^ bytes.1.rotate_left(23)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        let Some(known) = self.0.get_mut((mixed >> 54) as usize % KNOWN_WORDS) else { return sense() };
        if known.bytes != bytes || known.len != len {
            *known = Known { bytes, len, sense: sense() };
        }
        known.sense
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn words_mean_the_same_when_they_come_again() {
        let mut dice = Dice(4);
        let mut senses = WordSenses::default();
        let parts = [
            "a",
            "12",
            "x8",
            "\u{1}",
            "\0",
            "é",
            "May",
            "2026-11-15",
            "sixteen-letters-",
            ",",
            "views",
            "of",
        ];
        for _ in 0..50_000 {
            let (before, word, after) = (dice.text(2, &parts), dice.text(4, &parts), dice.text(3, &parts));
            let text = [before.as_str(), &word, &after].concat();
            let found = senses.of(&text, before.len()..before.len() + word.len());
            assert_eq!(format!("{found:?}"), format!("{:?}", Sense::of(&word)), "{word:?}");
        }
    }
}
