//! How alike two texts are, from a few numbers each: what one node takes for a page of its own may be a copy of another
//! node's, and the texts themselves stay where they are.
//!
//! The numbers are the smallest hashes of all runs of words in a text (bottom-k sketch; Broder 1997, Cohen and Kaplan 2007).
//! Those of two texts together tell which share of their runs both have.

use serde::{Deserialize, Serialize};

/// Numbers kept of a text.
const KEPT: usize = 32;
/// Words of a run.
const RUN: usize = 4;
/// Texts with fewer runs than this are like no other: headings and notices repeat by chance.
const MIN_RUNS: usize = 8;
/// The part of a text that is looked at.
const MAX_BYTES: usize = 64 << 10;
/// Two texts are taken for copies from this share of common runs on.
const ALIKE: f32 = 0.8;

/// A text in a few numbers, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sketch(Vec<u32>);

impl Sketch {
    pub fn of(text: &str) -> Self {
        let text = crate::indexer::clip(text, MAX_BYTES);
        let mut last = [0_u64; RUN];
        let mut words = 0;
        let mut smallest: Vec<u32> = Vec::with_capacity(2 * KEPT);
        let mut limit = u32::MAX;
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            last.rotate_left(1);
            last[RUN - 1] = hash(word);
            words += 1;
            if words < RUN {
                continue;
            }
            let run = last.iter().fold(0, |sum: u64, word| mixed(sum.rotate_left(5) ^ word));
            let number = (run >> 32) as u32;
            if number < limit {
                smallest.push(number);
                if smallest.len() == 2 * KEPT {
                    limit = shrink(&mut smallest);
                }
            }
        }
        shrink(&mut smallest);
        Self(if words < RUN + MIN_RUNS - 1 { Vec::new() } else { smallest })
    }

    /// What another node said, put in order.
    pub(super) fn put_right(&mut self) {
        shrink(&mut self.0);
    }

    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Whether the texts behind are copies of each other, as far as can be told.
    pub fn is_like(&self, other: &Self) -> bool {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let (mut both, mut either) = (0_usize, 0_usize);
        while either < KEPT {
            match (a.peek(), b.peek()) {
                (Some(one), Some(two)) => {
                    let (one, two) = (**one, **two);
                    both += usize::from(one == two);
                    if one <= two {
                        a.next();
                    }
                    if two <= one {
                        b.next();
                    }
                }
                (Some(_), None) => drop(a.next()),
                (None, Some(_)) => drop(b.next()),
                (None, None) => break,
            }
            either += 1;
        }
        either > 0 && both as f32 >= ALIKE * either as f32
    }
}

/// Keeps the smallest; the number from which on nothing is among them.
fn shrink(numbers: &mut Vec<u32>) -> u32 {
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(KEPT);
    match numbers.last() {
        Some(last) if numbers.len() == KEPT => *last,
        _ => u32::MAX,
    }
}

/// The same on every machine and in every version: nodes compare these numbers.
fn hash(word: &str) -> u64 {
    let letters = word.chars().flat_map(char::to_lowercase);
    letters.fold(0xcbf2_9ce4_8422_2325, |hash, letter| {
        (hash ^ u64::from(u32::from(letter))).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Every bit depends on every bit (the last step of splitmix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(words: &[u16]) -> String {
        words.iter().map(|word| format!("w{word} ")).collect()
    }

    #[test]
    fn copies_are_alike_and_others_are_not() {
        let words: Vec<u16> = (0..300).collect();
        let mut changed = words.clone();
        changed[150] = 999;
        let others: Vec<u16> = (1000..1300).collect();
        let half: Vec<u16> = words[..150].iter().chain(&others[..150]).copied().collect();
        let sketch = Sketch::of(&text(&words));
        assert!(sketch.is_like(&Sketch::of(&text(&words).to_uppercase())));
        assert!(sketch.is_like(&Sketch::of(&text(&changed))));
        assert!(!sketch.is_like(&Sketch::of(&text(&others))));
        assert!(!sketch.is_like(&Sketch::of(&text(&half))));
        // Too short to be told.
        let short = Sketch::of("all rights reserved by their owners");
        assert!(short.numbers().is_empty() && !short.is_like(&short));
    }

    proptest! {
        #[test]
        fn a_text_is_like_itself_and_likeness_has_no_direction(
            one in prop::collection::vec(any::<u16>(), 20..400),
            other in prop::collection::vec(any::<u16>(), 0..400),
        ) {
            let (one, other) = (Sketch::of(&text(&one)), Sketch::of(&text(&other)));
            prop_assert!(one.is_like(&one) && one.numbers().len() <= KEPT);
            prop_assert!(one.numbers().is_sorted());
            prop_assert_eq!(one.is_like(&other), other.is_like(&one));
        }
    }
}
