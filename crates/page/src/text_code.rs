//! Text I and text II: codes of a page's visible text.
//!
//! Text I is Σ(frequency × code) / distinct symbols, text II is √(Σ code²) / n, both over Unicode scalar values of the
//! text as extracted, separators included. Sums are exact integers, so the same text gives the same bits everywhere.
//! An empty text has both codes 0. Neither code sees the order of the characters: digests stand behind them.

use super::swar;
use lycosa_cpu::AsciiSum;
use serde::{Deserialize, Serialize};

/// The sums that both codes are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextCode {
    /// Characters.
    pub count: u64,
    /// Distinct characters.
    pub distinct: u32,
    /// Sum of the codes.
    pub sum: u64,
    /// Sum of the squares of the codes.
    pub squares: u128,
}

impl TextCode {
    /// The code of `text`.
    pub fn of(text: &str) -> Self {
        let ascii = AsciiSum::of(text.as_bytes());
        let mut code = Self {
            count: ascii.count,
            distinct: ascii.distinct,
            sum: ascii.sum,
            squares: u128::from(ascii.squares),
        };
        if (code.count as usize) < text.len() {
            code.add_wide(text);
        }
        code
    }

    /// Characters beyond ASCII.
    #[cold]
    fn add_wide(&mut self, text: &str) {
        let mut seen = vec![0u64; 0x11_0000 / 64 / 16];
        let mut beyond: Vec<u32> = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.get(swar::ascii_prefix(rest.as_bytes())..).unwrap_or("");
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            rest = chars.as_str();
            let symbol = c as u32;
            self.count += 1;
            self.sum += u64::from(symbol);
            self.squares += u128::from(symbol) * u128::from(symbol);
            match seen.get_mut(symbol as usize / 64) {
                Some(bits) => {
                    let bit = 1 << (symbol % 64);
                    self.distinct += u32::from(*bits & bit == 0);
                    *bits |= bit;
                }
                None => beyond.push(symbol),
            }
        }
        beyond.sort_unstable();
        beyond.dedup();
        self.distinct += beyond.len() as u32;
    }

    /// Text I.
    pub fn one(&self) -> f64 {
        if self.distinct == 0 { 0.0 } else { self.sum as f64 / f64::from(self.distinct) }
    }

    /// Text II.
    pub fn two(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares as f64).sqrt() / self.count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn given(sum: u64, distinct: u32, squares: u128, count: u64) -> TextCode {
        TextCode { count, distinct, sum, squares }
    }

    #[test]
    fn the_papers_totals() {
        assert!((given(56652, 43, 0, 619).one() - 1317.488403).abs() < 1e-3);
        assert!((given(57113, 43, 0, 625).one() - 1328.209351).abs() < 1e-3);
        assert!((given(0, 1, 2830106, 296).two() - 5.683418).abs() < 1e-6);
        assert!((given(0, 1, 2876660, 300).two() - 5.653573).abs() < 1e-6);
    }

    #[test]
    fn small_texts() {
        assert_eq!(TextCode::of("").one(), 0.0);
        assert_eq!(TextCode::of("").two(), 0.0);
        assert_eq!(TextCode::of("aab"), given(97 * 2 + 98, 2, 97 * 97 * 2 + 98 * 98, 3));
        assert_eq!(TextCode::of("aab"), TextCode::of("aba"));
        assert_eq!(TextCode::of("é😀é").distinct, 2);
    }

    proptest! {
        #[test]
        fn sums_are_what_they_say(text in "[ -~éß日😀\n]{0,80}") {
            let code = TextCode::of(&text);
            prop_assert_eq!(code.count, text.chars().count() as u64);
            prop_assert_eq!(code.distinct as usize, text.chars().collect::<BTreeSet<_>>().len());
            prop_assert_eq!(code.sum, text.chars().map(|c| c as u64).sum::<u64>());
            prop_assert_eq!(code.squares, text.chars().map(|c| (c as u128).pow(2)).sum::<u128>());
        }
    }
}
