//! What windows choose: of each the place with the smallest lot, the rightmost if several have it, each place once.
//!
//! No branch depends on a lot until it is known which places are chosen: nobody could predict it. Instead the smallest of
//! every window is found from those of windows a quarter as wide, and of the windows around a place the largest of these: a
//! place whose lot is that large is the smallest of a window. The same few operations at every place, which the compiler
//! lets a vector register do for many places at once.

use crate::swar;
use lycosa_cpu::widest;
use std::ops::Range;

/// Places looked at in one go, in buffers that stay near.
const BLOCK: usize = 2048;

/// What can be chosen by.
pub(super) trait Lot: Copy + Ord + Default {}
impl Lot for u16 {}
impl Lot for u64 {}

/// Chooses, keeping its buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice<L> {
    /// The smallest lot of each window, with so many zeros in front and behind that every place has as many windows.
    smallest: Vec<L>,
    /// Of the windows around a place the largest of these.
    largest: Vec<L>,
    spare: Vec<L>,
    chosen: Vec<u32>,
}

impl<L: Lot> Choice<L> {
    /// The places that windows of `w` lots choose, in order.
    pub fn of(&mut self, lots: &[L], w: usize) -> &[u32] {
        self.chosen.clear();
        let w = w.min(lots.len());
        if w > 0 {
            widest(
                #[inline(always)]
                || {
                    for from in (0..lots.len()).step_by(BLOCK) {
                        self.choose(lots, w, from..(from + BLOCK).min(lots.len()));
                    }
                },
            );
        }
        &self.chosen
    }

    /// Chooses among the places of a block.
    #[inline(always)]
    fn choose(&mut self, lots: &[L], w: usize, block: Range<usize>) {
        // All that windows around these places hold.
        let first = block.start.saturating_sub(w - 1);
        let seen = lots.get(first..lots.len().min(block.end + w - 1)).unwrap_or_default();
        over_windows(seen, w, L::min, &mut self.largest, &mut self.spare);
        self.smallest.clear();
        self.smallest.resize(w - 1, L::default());
        self.smallest.extend_from_slice(&self.largest);
        self.smallest.resize(seen.len() + w - 1, L::default());
        over_windows(&self.smallest, w, L::max, &mut self.largest, &mut self.spare);

        let inside = block.start - first..block.end - first;
        let known = self.chosen.len();
        places_alike(
            seen.get(inside.clone()).unwrap_or_default(),
            self.largest.get(inside).unwrap_or_default(),
            block.start as u32,
            &mut self.chosen,
        );
        self.drop_left_of_equals(seen, first, w, known);
    }

    /// Drops places that have another of the same lot to the right in every window of which they are the smallest.
    fn drop_left_of_equals(&mut self, seen: &[L], first: usize, w: usize, known: usize) {
        let Self { smallest, chosen, .. } = self;
        let mut kept = known;
        for at in known..chosen.len() {
            let place = chosen[at] as usize - first;
            let lot = seen[place];
            // If windows hold both, nothing between them is chosen.
            let right = match chosen.get(at + 1) {
                Some(&next) => Some(next as usize - first),
                None => (place + 1..seen.len().min(place + w)).find(|&right| seen[right] <= lot),
            };
            let right = right.filter(|&right| right - place < w && seen[right] == lot);
            // Windows that end between the two; the one that begins at a place is found as many zeros later, `w - 1`.
            let windows = right.map(|right| place.max(w - 1).min(right)..right);
            let stays = windows.is_none_or(|windows| smallest[windows].contains(&lot));
            chosen[kept] = chosen[at];
            kept += usize::from(stays);
        }
        chosen.truncate(kept);
    }
}

/// What `pick` makes of each value and those behind it, `w` in all; where there are fewer, nothing.
#[inline(always)]
fn over_windows<L: Lot>(
    values: &[L],
    w: usize,
    pick: impl Fn(L, L) -> L,
    picked: &mut Vec<L>,
    spare: &mut Vec<L>,
) {
    let mut width = widened(values, 1, w, &pick, picked);
    while width < w {
        width = widened(picked, width, w, &pick, spare);
        std::mem::swap(picked, spare);
    }
}

/// From what was picked of windows of `width` values, what is picked of windows four times as wide, or `w`.
#[inline(always)]
fn widened<L: Lot>(
    values: &[L],
    width: usize,
    w: usize,
    pick: impl Fn(L, L) -> L,
    wider: &mut Vec<L>,
) -> usize {
    // Windows may overlap: the smallest and the largest do not mind what is counted twice.
    let from = [0, 1, 2, 3].map(|n| (n * width).min(w - width));
    let [a, b, c, d] = from.map(|from| values.get(from..).unwrap_or_default());
    wider.clear();
    wider.extend(a.iter().zip(b).zip(c).zip(d).map(|(((&a, &b), &c), &d)| pick(pick(a, b), pick(c, d))));
    width + from[3]
}

/// The places where two lists have the same value, counted from `from` on.
#[inline(always)]
fn places_alike<L: Lot>(one: &[L], other: &[L], from: u32, places: &mut Vec<u32>) {
    let mut found = [0u32; 64];
    let ((ones, one_tail), (others, other_tail)) = (one.as_chunks::<64>(), other.as_chunks::<64>());
    for ((one, other), from) in ones.iter().zip(others).zip((from..).step_by(64)) {
        let mut marks = marks_alike(one, other);
        let count = marks.count_ones() as usize;
        for place in found.iter_mut().take(count) {
            *place = from + marks.trailing_zeros();
            marks &= marks.wrapping_sub(1);
        }
        places.extend_from_slice(found.get(..count).unwrap_or_default());
    }
    let tails = (from + 64 * ones.len() as u32..).zip(one_tail).zip(other_tail);
    places.extend(tails.filter(|((_, one), other)| one == other).map(|((place, _), _)| place));
}

/// One bit for each place, set where the values are the same.
#[inline(always)]
fn marks_alike<L: Lot>(one: &[L; 64], other: &[L; 64]) -> u64 {
    swar::bits(&std::array::from_fn(|at| u8::from(one[at] == other[at])))
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
            prop_assert_eq!(Choice::default().of(&lots, w).to_vec(), expected.clone());
            let wide: Vec<u64> = lots.iter().map(|&lot| u64::from(lot) << 40).collect();
            prop_assert_eq!(Choice::default().of(&wide, w).to_vec(), expected);
        }
    }
}
