//! Inputs that are nearly what a parser expects: well-formed ones, damaged in ways that follow from a seed.
//!
//! Fuzzing without a fuzzer: the same inputs on every machine, a fixed number of them, and laws that each must keep. What
//! parsers trip over is mostly near to good input, so words of the format are put in beside changed, lost and repeated bytes.

/// How many inputs a parser is given in a test.
pub const ROUNDS: usize = 3000;
/// Damages of one input, at most.
const MAX_DAMAGES: u64 = 5;
/// Inputs do not grow past this by repetition.
const MAX_BYTES: usize = 16 << 10;
/// Numbers that a size may not be.
const NUMBERS: [&str; 8] =
    ["0", "-1", "00", "65536", "4294967296", "18446744073709551615", "99999999999999999999", "0x10"];

pub struct Mutations<'a> {
    state: u64,
    corpus: &'a [&'a [u8]],
    words: &'a [&'a str],
}

impl<'a> Mutations<'a> {
    /// Damages the inputs of `corpus`, with `words` of their format. Neither may be empty.
    pub fn new(seed: u64, corpus: &'a [&'a [u8]], words: &'a [&'a str]) -> Self {
        assert!(!corpus.is_empty() && !words.is_empty());
        Self { state: seed, corpus, words }
    }

    /// A number below `sides` (SplitMix64).
    pub fn roll(&mut self, sides: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.max(1) as u64) as usize
    }

    pub fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = self.corpus[self.roll(self.corpus.len())].to_vec();
        for _ in 0..self.roll(MAX_DAMAGES as usize) {
            self.damage(&mut bytes);
            bytes.truncate(MAX_BYTES);
        }
        bytes
    }

    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let (a, b) = (self.roll(bytes.len() + 1), self.roll(bytes.len() + 1));
        let part = a.min(b)..a.max(b).min(a.min(b) + 64);
        let at = part.start;
        match self.roll(7) {
            0 => {
                let value = self.roll(256) as u8;
                bytes.splice(at..(at + 1).min(bytes.len()), [value]);
            }
            1 => drop(bytes.drain(part)),
            2 => {
                let again = bytes[part].to_vec();
                bytes.splice(at..at, again);
            }
            3 => bytes.truncate(at),
            4 => {
                let number = NUMBERS[self.roll(NUMBERS.len())];
                bytes.splice(part.start..part.end.min(part.start + 3), number.bytes());
            }
            5 => {
                let other = self.corpus[self.roll(self.corpus.len())];
                let from = self.roll(other.len() + 1);
                bytes.splice(at..at, other[from..].iter().copied());
            }
            _ => {
                let word = self.words[self.roll(self.words.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_from_the_seed_and_differ() {
        let corpus: [&[u8]; 2] = [b"well formed", b"another 12 one"];
        let inputs = |seed| {
            let mut mutations = Mutations::new(seed, &corpus, &["word", "é"]);
            (0..500).map(|_| mutations.bytes()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let mut distinct = inputs(1);
        assert!(distinct.iter().any(|input| corpus.contains(&&**input)), "some stay as they are");
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 300, "{}", distinct.len());
        assert!(distinct.iter().all(|input| input.len() <= MAX_BYTES));
    }
}
