//! The positions of a term in one page, and how they are compared with those of another.
//!
//! An index keeps a position as its step from the one before, so that positions are sums of steps. The sums are formed over
//! all pages of a frame at once, without a stop at each page; what came before a page is taken off where positions are
//! compared. All of this is modulo 2³², as differences are.

/// Positions that are compared at a time, whether there are so many or not: it takes no branches, and most lists are short.
pub const LANES: usize = 8;
/// Up to so many pairs of positions all are compared.
const ALL_PAIRS: usize = 512;

/// The positions in one page, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Positions<'p> {
    /// From the first on, with at least [`LANES`] more behind the last, which mean nothing.
    sums: &'p [u32],
    len: usize,
    /// The sum before the first.
    base: u32,
}

impl<'p> Positions<'p> {
    /// The first `len` of `sums`, of which there must be [`LANES`] more.
    #[inline]
    pub fn new(sums: &'p [u32], len: usize, base: u32) -> Self {
        Self { sums, len: len.min(sums.len().saturating_sub(LANES)), base }
    }

    /// How many there are.
    pub fn count_all(self) -> usize {
        self.len
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> + 'p {
        self.sums.iter().take(self.len).map(move |sum| sum.wrapping_sub(self.base))
    }

    fn at(self, place: usize) -> Option<u32> {
        let here = self.sums.get(..self.len)?;
        here.get(place).map(|sum| sum.wrapping_sub(self.base))
    }

    /// How many of these have one of the `others` right behind them.
    #[inline]
    pub fn touching(self, others: Self) -> u32 {
        self.count(others, 1, |step| step == 1)
    }

    /// How many of these have one of the `others` before or behind them, at most `distance` away. The same position is the
    /// same word: it is not near itself.
    #[inline]
    pub fn close(self, others: Self, distance: u32) -> u32 {
        let twice = distance.saturating_mul(2);
        self.count(others, distance, |step| (step != 0) & (step.wrapping_add(distance) <= twice))
    }

    /// How many of these have one of the `others` a step away that is good; no step beyond `reach` is.
    #[inline]
    fn count(self, others: Self, reach: u32, is_good: impl Fn(u32) -> bool) -> u32 {
        if self.len * others.len > ALL_PAIRS {
            return self.count_many(others, reach, is_good);
        }
        // Where a position would stand among the sums of the others.
        let shift = others.base.wrapping_sub(self.base);
        let mut count = 0;
        for sum in self.sums.iter().take(self.len) {
            let place = sum.wrapping_add(shift);
            let mut any = 0;
            let mut from = 0;
            while from < others.len {
                let lanes =
                    others.sums.get(from..from + LANES).and_then(|lanes| lanes.first_chunk::<LANES>());
                let Some(lanes) = lanes else { break };
                let left = (others.len - from) as u32;
                for (lane, other) in lanes.iter().enumerate() {
                    any |= u32::from(is_good(other.wrapping_sub(place))) & u32::from((lane as u32) < left);
                }
                from += LANES;
            }
            count += any;
        }
        count
    }

    /// The same for long lists: both are gone through once.
    #[cold]
    fn count_many(self, others: Self, reach: u32, is_good: impl Fn(u32) -> bool) -> u32 {
        let (mut count, mut from) = (0, 0);
        for place in self.iter() {
            while others.at(from).is_some_and(|other| other.saturating_add(reach) < place) {
                from += 1;
            }
            let within = (from..others.len).map_while(|at| others.at(at));
            let mut within = within.take_while(|other| *other <= place.saturating_add(reach));
            count += u32::from(within.any(|other| is_good(other.wrapping_sub(place))));
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Positions behind those of another page.
    fn sums(places: &[u32], base: u32) -> Vec<u32> {
        let sums = places.iter().map(|place| base.wrapping_add(*place));
        // What lies behind is another page's.
        sums.chain((1..=LANES as u32).map(|more| base.wrapping_add(places.last().unwrap_or(&0) + more)))
            .collect()
    }

    fn naive(left: &[u32], right: &[u32], is_good: impl Fn(i64) -> bool) -> u32 {
        let has = |place: &&u32| right.iter().any(|other| is_good(i64::from(*other) - i64::from(**place)));
        left.iter().filter(has).count() as u32
    }

    proptest! {
        #[test]
        fn all_pairs_and_both_ways_say_the_same(
            left in prop::collection::btree_set(0_u32..90, 0..50),
            right in prop::collection::btree_set(0_u32..90, 0..50),
            distance in 1_u32..40,
            bases in any::<[u32; 2]>(),
        ) {
            let (left, right): (Vec<u32>, Vec<u32>) = (left.into_iter().collect(), right.into_iter().collect());
            let (one, two) = (sums(&left, bases[0]), sums(&right, bases[1]));
            let one = Positions::new(&one, left.len(), bases[0]);
            let two = Positions::new(&two, right.len(), bases[1]);
            prop_assert_eq!(one.iter().collect::<Vec<_>>(), left.clone());
            let touching = naive(&left, &right, |step| step == 1);
            let close = naive(&left, &right, |step| step != 0 && step.abs() <= i64::from(distance));
            prop_assert_eq!(one.touching(two), touching);
            prop_assert_eq!(one.close(two, distance), close);
            prop_assert_eq!(one.count_many(two, 1, |step| step == 1), touching);
            let is_near = |step: u32| step != 0 && step.wrapping_add(distance) <= 2 * distance;
            prop_assert_eq!(one.count_many(two, distance, is_near), close);
        }
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let short = [1, 2, 3];
        assert_eq!(Positions::new(&short, 3, 0).count_all(), 0, "nothing lies behind");
        assert_eq!(Positions::default().touching(Positions::default()), 0);
    }
}
