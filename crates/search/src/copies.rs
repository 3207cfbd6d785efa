//! Which results are one page with its copies.
//!
//! A page has names for its content: its own key, the key of the page it repeats, a number for its bytes. Pages that share a
//! name are copies, and so are the copies of copies: which page was there first is not told to all in the same order, so that
//! one page may name the second, and the second a third.

use std::collections::HashMap;

/// How many names a page has.
pub(crate) const NAMES: usize = 3;

/// For each of some results, by their names: the place of the first one that is the same page or a copy of it.
pub(crate) fn firsts<'n>(results: impl Iterator<Item = &'n [u64]>) -> Vec<usize> {
    let mut above: Vec<usize> = Vec::new();
    let mut holders: HashMap<u64, usize> = HashMap::new();
    for (place, names) in results.enumerate() {
        above.push(place);
        for name in names {
            let holder = *holders.entry(*name).or_insert(place);
            let (one, other) = (top(&mut above, holder), top(&mut above, place));
            if let Some(slot) = above.get_mut(one.max(other)) {
                *slot = one.min(other);
            }
        }
    }
    (0..above.len()).map(|place| top(&mut above, place)).collect()
}

/// The first of those that a place belongs to. The way there is halved for the next who asks.
fn top(above: &mut [usize], mut place: usize) -> usize {
    while let Some(next) = above.get(place).copied().filter(|next| *next != place) {
        let after = above.get(next).copied().unwrap_or(next);
        if let Some(slot) = above.get_mut(place) {
            *slot = after;
        }
        place = after;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn copies_of_copies_are_together_in_any_order() {
        let (a, b, c, other) = ([1, 3, 1], [2, 1, 2], [3, 3, 3], [9, 9, 9]);
        for order in [[b, c, other, a], [c, other, b, a], [a, other, b, c]] {
            let found = firsts(order.iter().map(<[u64; 3]>::as_slice));
            let alone = order.iter().position(|names| *names == other).unwrap();
            for (place, first) in found.iter().enumerate() {
                assert_eq!(*first, if place == alone { alone } else { 0 }, "{found:?}");
            }
        }
        assert_eq!(firsts(std::iter::empty()), [0_usize; 0]);
    }

    proptest! {
        #[test]
        fn names_join_and_nothing_else_does(
            names in prop::collection::vec(prop::collection::vec(0_u64..40, 1..4), 0..40),
        ) {
            let found = firsts(names.iter().map(Vec::as_slice));
            for (place, first) in found.iter().enumerate() {
                // Everything that can be reached by names in common.
                let mut known: BTreeSet<u64> = names[place].iter().copied().collect();
                for other in names.iter().cycle().take(names.len() * names.len()) {
                    if other.iter().any(|name| known.contains(name)) {
                        known.extend(other);
                    }
                }
                let wanted = names.iter().position(|other| other.iter().any(|name| known.contains(name)));
                prop_assert_eq!(Some(*first), wanted);
            }
        }
    }
}
