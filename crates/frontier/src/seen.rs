//! The URL-seen test: has this key been admitted before?
//!
//! A table of 64-bit fingerprints in memory, open addressing, eight bytes a URL. It is cut into shards that grow one at
//! a time, so that growing never needs twice the memory. Once the table has reached its budget, keys it does not hold
//! are [`Seen::Unknown`] and the store is asked. Large shards are mapped, in huge pages where there are any ([`crate::table`]).
//!
//! Two URLs share a fingerprint with a chance of n²/2⁶⁵: about 1 in 4,000 that *any* two among 100 million do.

use lycosa_types::UrlKey;

use crate::table::Table;

const SHARDS: usize = 64;
const FIRST_SLOTS: usize = 64;
/// A shard grows when more than this many of 8 slots are taken.
const FULL_EIGHTHS: usize = 6;
const EMPTY: u64 = 0;

/// What the table knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not seen before; it is now.
    New,
    Before,
    /// The table is full and does not hold the key: only the store knows.
    Unknown,
}

#[derive(Debug)]
struct Shard {
    slots: Table,
    len: usize,
    taken: usize,
}

#[derive(Debug)]
pub struct SeenSet {
    shards: Vec<Shard>,
    budget_bytes: usize,
    bytes: usize,
}

impl SeenSet {
    pub fn new(budget_bytes: usize) -> Self {
        let shard = || Shard { slots: Table::zeroed(FIRST_SLOTS), len: FIRST_SLOTS, taken: 0 };
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), budget_bytes, bytes: SHARDS * FIRST_SLOTS * 8 }
    }

    /// Makes room for so many at once, as far as the budget reaches: filling a table that grows costs twice as much.
    pub fn reserve(&mut self, prints: usize) {
        let per_shard = prints / SHARDS;
        for shard in &mut self.shards {
            let slots = shard.slots.len();
            let mut wanted = slots;
            while wanted * FULL_EIGHTHS < per_shard.saturating_mul(8) {
                wanted *= 2;
            }
            let more = (wanted - slots) * 8;
            if more > 0 && self.bytes.saturating_add(more) <= self.budget_bytes {
                shard.grow_to(wanted);
                self.bytes += more;
            }
        }
    }

    /// Tests and remembers in one step.
    pub fn insert(&mut self, key: UrlKey) -> Seen {
        self.insert_print(key.low())
    }

    /// Forgets the key that was inserted last: no other has gone around it yet, so its slot is simply free again.
    pub fn take_back(&mut self, key: UrlKey) {
        let print = if key.low() == EMPTY { 1 } else { key.low() };
        let shard = &mut self.shards[(print >> 58) as usize];
        let slots: &mut [u64] = &mut shard.slots;
        let at = slot(slots, print);
        if slots[at] == print {
            slots[at] = EMPTY;
            shard.taken -= 1;
        }
    }

    /// The same for any 64-bit fingerprint.
    pub fn insert_print(&mut self, print: u64) -> Seen {
        let print = if print == EMPTY { 1 } else { print };
        let shard_index = (print >> 58) as usize;
        let shard = &mut self.shards[shard_index];
        let slots = shard.len;
        if shard.taken * 8 >= slots * FULL_EIGHTHS {
            if self.bytes + slots * 8 <= self.budget_bytes {
                shard.grow_to(slots * 2);
                self.bytes += slots * 8;
            } else if !shard.holds(print) {
                return Seen::Unknown;
            } else {
                return Seen::Before;
            }
        }
        if shard.insert(print) { Seen::New } else { Seen::Before }
    }

    /// Brings the places of a few fingerprints into the processor's cache, all at once: tested one after the other in a
    /// table of a gigabyte, each would wait for memory by itself.
    pub fn touch(&self, prints: impl Iterator<Item = u64>) {
        let mut sum = 0;
        for print in prints {
            let slots: &[u64] = &self.shards[(print >> 58) as usize].slots;
            sum ^= slots[print as usize & (slots.len() - 1)];
        }
        std::hint::black_box(sum);
    }

    /// Changes what it may grow to. What it holds, it keeps.
    pub fn set_budget(&mut self, budget_bytes: usize) {
        self.budget_bytes = budget_bytes;
    }

    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.taken).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Shard {
    fn holds(&self, print: u64) -> bool {
        let slots: &[u64] = &self.slots;
        slots[slot(slots, print)] == print
    }

    fn insert(&mut self, print: u64) -> bool {
        let slots: &mut [u64] = &mut self.slots;
        let at = slot(slots, print);
        let new = slots[at] == EMPTY;
        slots[at] = print;
        self.taken += usize::from(new);
        new
    }

    /// `slots` is a power of two, and more than there are.
    fn grow_to(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, Table::zeroed(slots));
        self.len = slots;
        let slots: &mut [u64] = &mut self.slots;
        for print in old.iter().copied().filter(|&print| print != EMPTY) {
            let at = slot(slots, print);
            slots[at] = print;
        }
    }
}

/// The slot that holds `print`, or the empty one where it would go. The table is never full, so the walk ends.
fn slot(slots: &[u64], print: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = print as usize & mask;
    while slots[at] != EMPTY && slots[at] != print {
        at = (at + 1) & mask;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn prints(n: u64) -> impl Iterator<Item = u64> {
        (0..n).map(|i| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[test]
    fn agrees_with_a_hash_set() {
        let (mut seen, mut model) = (SeenSet::new(usize::MAX), HashSet::new());
        for print in prints(50_000).chain(prints(60_000)).chain([0, 0, 1]) {
            let expected = model.insert(if print == 0 { 1 } else { print });
            assert_eq!(seen.insert_print(print) == Seen::New, expected, "{print:x}");
        }
        assert_eq!(seen.len(), model.len());
    }

    #[test]
    fn room_made_at_once_changes_no_answer() {
        let budget = 4 << 20;
        let (mut plain, mut roomy) = (SeenSet::new(budget), SeenSet::new(budget));
        for print in prints(1000) {
            plain.insert_print(print);
            roomy.insert_print(print);
        }
        roomy.reserve(100_000);
        assert!(roomy.bytes() > plain.bytes() && roomy.bytes() <= budget);
        for print in prints(100_000) {
            assert_eq!(plain.insert_print(print), roomy.insert_print(print), "{print:x}");
        }
        assert_eq!(roomy.len(), plain.len());
        roomy.reserve(usize::MAX / 16);
        assert!(roomy.bytes() <= budget);
    }

    /// The counter is checked against the tables themselves: a budget that only the counter keeps is none.
    #[test]
    fn the_bytes_that_are_counted_are_those_that_are_held() {
        let held = |seen: &SeenSet| seen.shards.iter().map(|shard| shard.slots.len() * 8).sum::<usize>();
        for budget in [0, 40_000, 256 << 10, 1 << 20] {
            let mut seen = SeenSet::new(budget);
            let at_first = held(&seen);
            assert_eq!(at_first, 64 * 64 * 8);
            for print in prints(60_000) {
                seen.insert_print(print);
                assert_eq!(seen.bytes(), held(&seen));
                assert!(held(&seen) <= budget.max(at_first), "{} of {budget}", held(&seen));
            }
            // No shard could have grown once more.
            let smallest = seen.shards.iter().map(|shard| shard.slots.len() * 8).min().unwrap();
            assert!(held(&seen) + smallest > budget || budget == 1 << 20, "{} of {budget}", held(&seen));
            seen.reserve(1 << 20);
            assert_eq!(seen.bytes(), held(&seen));
            assert!(held(&seen) <= budget.max(at_first));
            seen.set_budget(2 << 20);
            seen.reserve(1 << 16);
            assert_eq!(seen.bytes(), held(&seen));
            assert!(held(&seen) <= 2 << 20);
        }
    }

    #[test]
    fn a_full_table_says_so_and_never_grows_past_its_budget() {
        let budget = 256 * 1024;
        let mut seen = SeenSet::new(budget);
        let answers: Vec<Seen> = prints(100_000).map(|print| seen.insert_print(print)).collect();
        assert!(seen.bytes() <= budget);
        assert!(answers.contains(&Seen::Unknown));
        // What it took in, it still knows; what it refused, it does not claim.
        for (print, first) in prints(100_000).zip(answers) {
            let again = seen.insert_print(print);
            assert_eq!(again == Seen::Before, first == Seen::New, "{print:x}");
        }
    }
}
