//! What windows choose: of each the place with the smallest lot, the rightmost if several have it, each place once.
//!
//! From one chosen place to the next: as long as windows hold it, the first lot behind it that is as small takes over; if
//! none is, the smallest of the next window does. Either is found for many places at once.

use crate::swar::first_bits;
use lycosa_cpu::{Registers, widest};
use std::hint::select_unpredictable;
use std::ops::BitOr;

/// Lots looked at together.
const BLOCK: usize = 64;

/// What can be chosen by.
pub(super) trait Lot: Copy + Ord + Default + BitOr<Output = Self> {
    const LARGEST: Self;
}

impl Lot for u16 {
    const LARGEST: Self = Self::MAX;
}

impl Lot for u64 {
    const LARGEST: Self = Self::MAX;
}

/// Chooses, keeping its buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    places: Vec<u32>,
    behind: Vec<u32>,
}

impl Choice {
    /// The places that windows of `w` lots choose, in order.
    pub fn of<L: Lot>(&mut self, lots: &[L], w: usize) -> &[u32] {
        self.places.clear();
        self.behind.clear();
        let w = w.min(lots.len());
        if w > 0 {
            widest(
                #[inline(always)]
                |registers| self.choose(&Windows::new(registers, lots, w)),
            );
        }
        &self.places
    }

    /// Where to go next is known late, so the processor is given two ways to go at once, one through each half. The first
    /// ends where the second began, which is chosen on both.
    #[inline(always)]
    fn choose<L: Lot>(&mut self, windows: &Windows<'_, L>) {
        let middle = windows.choose_from((windows.lots.len() / 2).min(windows.lots.len() - windows.w));
        let (mut front, mut back) = (Some(windows.choose_from(0)), Some(middle));
        while let (Some(here), Some(there)) = (front, back)
            && here != middle
        {
            self.places.push(here as u32);
            self.behind.push(there as u32);
            front = windows.next(here);
            back = windows.next(there);
        }
        while let Some(here) = front
            && here != middle
        {
            self.places.push(here as u32);
            front = windows.next(here);
        }
        while let Some(there) = back {
            self.behind.push(there as u32);
            back = windows.next(there);
        }
        self.places.extend_from_slice(&self.behind);
    }
}

/// Windows over some lots, of which there are as many as a window holds, or more.
struct Windows<'a, L> {
    registers: Registers,
    lots: &'a [L],
    w: usize,
    /// What hides the lots of a block that are beyond a window.
    beyond: [L; BLOCK],
}

impl<'a, L: Lot> Windows<'a, L> {
    #[inline(always)]
    fn new(registers: Registers, lots: &'a [L], w: usize) -> Self {
        let beyond = std::array::from_fn(|at| if at < w { L::default() } else { L::LARGEST });
        Self { registers, lots, w, beyond }
    }

    /// The place chosen after another.
    #[inline(always)]
    fn next(&self, at: usize) -> Option<usize> {
        let lot = *self.lots.get(at)?;
        if self.w <= BLOCK
            && let Some(block) = self.lots.get(at + 1..).and_then(<[L]>::first_chunk)
        {
            // Both answers are found: nobody could predict which will be needed.
            let as_small = self.as_small(block, lot) & first_bits(self.w - 1);
            let last_smallest = self.last_smallest(block).1;
            return Some(at + 1 + select_unpredictable(as_small != 0, first_bit(as_small), last_smallest));
        }
        // Places that a window holds together with this one.
        let near = self.lots.len().min(at + self.w);
        let mut from = at + 1;
        while from < near {
            let as_small = self.as_small(&self.block(from), lot) & first_bits(near - from);
            if as_small != 0 {
                return Some(from + first_bit(as_small));
            }
            from += BLOCK;
        }
        (at + self.w < self.lots.len()).then(|| self.choose_from(at + 1))
    }

    /// The place that the window at `from` chooses.
    #[inline(always)]
    fn choose_from(&self, from: usize) -> usize {
        let (mut smallest, mut place) = self.last_smallest(&self.block(from));
        let mut passed = BLOCK;
        while passed < self.w {
            // The last block ends with the window; what it holds twice does no harm.
            passed = passed.min(self.w - BLOCK);
            let (least, at) = self.last_smallest(&self.block(from + passed));
            if least <= smallest {
                (smallest, place) = (least, passed + at);
            }
            passed += BLOCK;
        }
        from + place
    }

    /// Marks lots of a block that are as small as another.
    #[inline(always)]
    fn as_small(&self, block: &[L; BLOCK], lot: L) -> u64 {
        self.registers.bits(std::array::from_fn(|at| block[at] <= lot))
    }

    /// The smallest lot of a block, as far as a window reaches, and the last place where it stands.
    #[inline(always)]
    fn last_smallest(&self, block: &[L; BLOCK]) -> (L, usize) {
        let block: [L; BLOCK] = std::array::from_fn(|at| block[at] | self.beyond[at]);
        let least = block.into_iter().fold(L::LARGEST, L::min);
        let marks = self.registers.bits(std::array::from_fn(|at| block[at] == least)) & first_bits(self.w);
        (least, marks.checked_ilog2().unwrap_or(0) as usize)
    }

    /// The lots from `from` on, filled up with the largest.
    #[inline(always)]
    fn block(&self, from: usize) -> [L; BLOCK] {
        let lots = self.lots.get(from..).unwrap_or_default();
        lots.first_chunk().copied().unwrap_or_else(|| {
            let mut filled = [L::LARGEST; BLOCK];
            filled.iter_mut().zip(lots).for_each(|(to, &lot)| *to = lot);
            filled
        })
    }
}

#[inline(always)]
fn first_bit(bits: u64) -> usize {
    bits.trailing_zeros() as usize
}

/// The definition, word for word.
#[cfg(test)]
pub(super) fn plainly<L: Lot>(lots: &[L], w: usize) -> Vec<usize> {
    let mut places = Vec::new();
    for (from, window) in lots.windows(w.min(lots.len()).max(1)).enumerate() {
        let at = (0..window.len()).rev().min_by_key(|&i| window[i]).map(|i| from + i);
        if places.last() != at.as_ref() {
            places.extend(at);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_choose_as_defined(
            lots in prop_oneof![
                prop::collection::vec(0u16..20, 0..120),
                prop::collection::vec(any::<u16>(), 0..1200),
                prop::collection::vec(0u16..300, 2000..5000),
            ],
            w in prop_oneof![1usize..70, 1usize..=1024],
        ) {
            let expected: Vec<u32> = plainly(&lots, w).into_iter().map(|at| at as u32).collect();
            let mut choice = Choice::default();
            prop_assert_eq!(choice.of(&lots, w), &expected);
            let wide: Vec<u64> = lots.iter().map(|&lot| u64::from(lot) << 40).collect();
            prop_assert_eq!(choice.of(&wide, w), &expected);
        }
    }
}
