//! What windows choose: of each the place with the smallest lot, the rightmost if several have it, each place once.
//!
//! From one chosen place to the next: as long as windows hold it, the first lot behind it that is as small takes over; if
//! none is, the smallest of the next window does. Either is found for many places at once.

use crate::swar::first_bits;
use lycosa_cpu::{Registers, widest};
use std::ops::Range;

/// Lots looked at together.
const BLOCK: usize = 64;

/// What can be chosen by.
pub(super) trait Lot: Copy + Ord {
    const LARGEST: Self;
}

impl Lot for u16 {
    const LARGEST: Self = Self::MAX;
}

impl Lot for u64 {
    const LARGEST: Self = Self::MAX;
}

/// The places that windows of `w` lots choose, in order.
pub(super) fn choose<L: Lot>(lots: &[L], w: usize, chosen: &mut Vec<u32>) {
    chosen.clear();
    let w = w.min(lots.len());
    if w == 0 {
        return;
    }
    widest(
        #[inline(always)]
        |registers| {
            let mut next = last_smallest(registers, lots, 0, w);
            while let Some(at) = next {
                chosen.push(at as u32);
                // Places that a window holds together with this one.
                let near = at + 1..lots.len().min(at + w);
                next = lots.get(at).and_then(|&lot| first_as_small(registers, lots, near, lot));
                if next.is_none() && at + w < lots.len() {
                    next = last_smallest(registers, lots, at + 1, w);
                }
            }
        },
    );
}

/// The first of these places whose lot is as small as another.
#[inline(always)]
fn first_as_small<L: Lot>(registers: Registers, lots: &[L], near: Range<usize>, lot: L) -> Option<usize> {
    let mut from = near.start;
    while from < near.end {
        let block = block(lots, from);
        let marks = registers.bits(std::array::from_fn(|at| block[at] <= lot)) & first_bits(near.end - from);
        if marks != 0 {
            return Some(from + marks.trailing_zeros() as usize);
        }
        from += BLOCK;
    }
    None
}

/// The last of the places with the smallest of `w` lots, all of which there are.
#[inline(always)]
fn last_smallest<L: Lot>(registers: Registers, lots: &[L], from: usize, w: usize) -> Option<usize> {
    let (mut place, mut smallest) = (None, L::LARGEST);
    let mut passed = 0;
    while passed < w {
        let block = block(lots, from + passed);
        let inside = (w - passed).min(BLOCK);
        // Counted in numbers as narrow as lots, of which a register holds as many.
        let inner: [L; BLOCK] =
            std::array::from_fn(|at| if (at as u16) < inside as u16 { block[at] } else { L::LARGEST });
        let least = inner.into_iter().fold(L::LARGEST, L::min);
        if least <= smallest {
            let marks = registers.bits(std::array::from_fn(|at| block[at] == least)) & first_bits(inside);
            place = marks.checked_ilog2().map(|last| from + passed + last as usize);
            smallest = least;
        }
        passed += BLOCK;
    }
    place
}

/// The lots from `from` on, filled up with the largest.
#[inline(always)]
fn block<L: Lot>(lots: &[L], from: usize) -> [L; BLOCK] {
    let lots = lots.get(from..).unwrap_or_default();
    lots.first_chunk().copied().unwrap_or_else(|| {
        let mut filled = [L::LARGEST; BLOCK];
        filled.iter_mut().zip(lots).for_each(|(to, &lot)| *to = lot);
        filled
    })
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
            let mut chosen = Vec::new();
            choose(&lots, w, &mut chosen);
            prop_assert_eq!(&chosen, &expected);
            let wide: Vec<u64> = lots.iter().map(|&lot| u64::from(lot) << 40).collect();
            choose(&wide, w, &mut chosen);
            prop_assert_eq!(chosen, expected);
        }
    }
}
