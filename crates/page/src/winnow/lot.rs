//! The lot of a run: what windows choose by.
//!
//! A polynomial over the run's characters, modulo 2¹⁶: sixteen bits are enough to choose by, since equal lots only mean that
//! the rightmost is taken. Lots of runs of two places follow from those of one, of four from those of two, and so on: a
//! few operations that are the same at every place, which the compiler lets a vector register do for many places at once.

use lycosa_cpu::widest;

/// Lots drawn in one go, in buffers that stay near.
const BLOCK: usize = 1024;
const ROOM: usize = BLOCK + super::MAX_K;

/// What one character is multiplied by to make room for the next.
const BASE: u16 = 0x6b4d;

/// Draws lots for runs, keeping its buffers.
#[derive(Debug, Clone)]
pub(super) struct LotDrawer {
    /// Lots of runs of so many characters as were doubled to.
    doubled: Box<[u16; ROOM]>,
    next: Box<[u16; ROOM]>,
}

impl Default for LotDrawer {
    fn default() -> Self {
        Self { doubled: Box::new([0; ROOM]), next: Box::new([0; ROOM]) }
    }
}

impl LotDrawer {
    /// The lot of every run of `k` codes, of which there are as many or more, and `k` not more than the most allowed.
    pub fn draw<C: Copy>(&mut self, codes: &[C], k: usize, number: impl Fn(C) -> u16, lots: &mut Vec<u16>) {
        lots.clear();
        lots.resize((codes.len() + 1).saturating_sub(k), 0);
        widest(
            #[inline(always)]
            |_| {
                for (block, part) in lots.chunks_mut(BLOCK).enumerate() {
                    let from = block * BLOCK;
                    let run = codes.get(from..from + part.len() + k - 1).unwrap_or_default();
                    for (to, &code) in self.doubled.iter_mut().zip(run) {
                        *to = number(code);
                    }
                    self.draw_block(run.len(), k, part);
                }
            },
        );
    }

    /// Draws for runs of `k` of the `len` numbers at hand.
    #[inline(always)]
    fn draw_block(&mut self, mut len: usize, k: usize, lots: &mut [u16]) {
        let (mut span, mut power) = (1, BASE);
        let (mut covered, mut left) = (0, k);
        loop {
            if left & 1 == 1 {
                let more = self.doubled.get(covered..len).unwrap_or_default();
                for (lot, &more) in lots.iter_mut().zip(more) {
                    *lot = lot.wrapping_mul(power).wrapping_add(more);
                }
                covered += span;
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            len -= span;
            let ahead = self.doubled.get(span..).unwrap_or_default();
            for ((to, &here), &ahead) in self.next.iter_mut().zip(self.doubled.iter()).zip(ahead).take(len) {
                *to = here.wrapping_mul(power).wrapping_add(ahead);
            }
            std::mem::swap(&mut self.doubled, &mut self.next);
            power = power.wrapping_mul(power);
            span *= 2;
        }
        // The upper bits of a product know all bits of its factors, the lower ones few: they change places.
        for lot in lots {
            *lot = (*lot ^ (*lot >> 7)).wrapping_mul(0x9e37);
        }
    }
}

/// The number of a character. Those of ASCII have small codes and come out the same from a byte.
#[inline(always)]
pub(super) fn number(code: u32) -> u16 {
    let folded = code as u16 ^ ((code >> 16) as u16).wrapping_mul(0x2f0b);
    folded.wrapping_mul(0xa7d3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn anew(run: &[u32]) -> u16 {
        let sum = run.iter().fold(0u16, |sum, &code| sum.wrapping_mul(BASE).wrapping_add(number(code)));
        (sum ^ (sum >> 7)).wrapping_mul(0x9e37)
    }

    proptest! {
        #[test]
        fn lots_are_those_of_their_runs(
            codes in prop::collection::vec(any::<u32>(), 1..3000),
            k in 1..=super::super::MAX_K,
        ) {
            let k = k.min(codes.len());
            let mut lots = Vec::new();
            LotDrawer::default().draw(&codes, k, number, &mut lots);
            prop_assert_eq!(lots, codes.windows(k).map(anew).collect::<Vec<_>>());
        }
    }
}
