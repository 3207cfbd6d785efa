//! Finding near-duplicates without comparing against every page: an index of prints with a fixed size.
//!
//! Of a page's minutiae the [`SKETCH`] smallest are kept. They are the same sample of what two pages share, so the share
//! of common values estimates their resemblance. [`FEATURES`] of them lead to the page through an open-addressed table;
//! those that lead to [`MAX_POSTINGS`] pages already say nothing (navigation, legal notes) and the next smallest take
//! their place. All memory is asked for at once, [`PrintIndex::BYTES_PER_PAGE`] per page of capacity, so that nothing is
//! ever moved; the system hands it out as it is used. When full, the oldest page makes room. A look-up reads a few
//! hundred entries, however many pages there are.

pub use super::print::Print;
use std::hint::black_box;

/// Minutiae kept of a page.
pub const SKETCH: usize = 48;
/// Minutiae that lead to a page.
pub const FEATURES: usize = 12;
/// Pages that one minutia leads to.
pub const MAX_POSTINGS: usize = 12;
/// Candidates compared in one look-up.
const MAX_CANDIDATES: usize = 512;
/// Slots of the table per page.
const SLOTS_PER_PAGE: usize = 20;

/// How much an index keeps of a page and how it leads to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Values kept of a page.
    pub sketch: usize,
    /// Of them, how many lead to it.
    pub features: usize,
    /// Pages that one value leads to.
    pub postings: usize,
    /// Candidates compared in one look-up.
    pub candidates: usize,
    /// Slots of the table per page.
    pub slots: usize,
}

impl Shape {
    /// For minutiae.
    const MINUTIAE: Shape = Shape {
        sketch: SKETCH,
        features: FEATURES,
        postings: MAX_POSTINGS,
        candidates: MAX_CANDIDATES,
        slots: SLOTS_PER_PAGE,
    };

    /// Memory per page of capacity.
    pub const fn bytes_per_page(&self) -> usize {
        8 + 4 * self.sketch + 8 * self.slots
    }
}
/// Slots looked at for one minutia.
const MAX_PROBES: usize = 128;
/// Candidates remembered while looking for more, so that most are compared once; a power of two.
const REMEMBERED: usize = 256;

/// A page that may be a near-duplicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    pub id: u64,
    /// Estimated resemblance.
    pub resemblance: f64,
}

/// The index.
#[derive(Debug, Clone)]
pub struct PrintIndex {
    shape: Shape,
    capacity: usize,
    ids: Vec<u64>,
    /// The same number of values per page, the unused ones `u32::MAX`.
    sketches: Vec<u32>,
    /// Minutia and page plus one; zero is free.
    slots: Vec<(u32, u32)>,
    /// The page that makes room next.
    oldest: usize,
    found: Vec<u32>,
}

impl PrintIndex {
    /// Memory per page of capacity, all told.
    pub const BYTES_PER_PAGE: usize = Shape::MINUTIAE.bytes_per_page();

    /// An index for `capacity` pages (at least one).
    pub fn new(capacity: usize) -> Self {
        Self::with_shape(capacity, Shape::MINUTIAE)
    }

    pub(crate) fn with_shape(capacity: usize, shape: Shape) -> Self {
        let capacity = capacity.clamp(1, u32::MAX as usize / shape.slots);
        Self {
            shape,
            capacity,
            ids: Vec::with_capacity(capacity),
            sketches: Vec::with_capacity(capacity * shape.sketch),
            slots: vec![(0, 0); capacity * shape.slots],
            oldest: 0,
            found: Vec::new(),
        }
    }

    /// Pages that it holds when full.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a page, in place of the oldest if the index is full.
    pub fn insert(&mut self, print: &Print) {
        self.insert_sketch(print.id, &print.sketch);
    }

    /// As [`insert`](Self::insert), the print's parts given one by one.
    pub fn insert_sketch(&mut self, id: u64, sketch: &[u32]) {
        let page = if self.ids.len() < self.capacity {
            self.ids.push(id);
            self.sketches.resize(self.ids.len() * self.shape.sketch, u32::MAX);
            self.ids.len() - 1
        } else {
            let page = self.oldest;
            self.oldest = (self.oldest + 1) % self.capacity;
            self.forget(page);
            self.ids[page] = id;
            page
        };
        let size = self.shape.sketch;
        let kept = &mut self.sketches[page * size..(page + 1) * size];
        kept.fill(u32::MAX);
        for (to, &from) in kept.iter_mut().zip(sketch) {
            *to = from;
        }
        let mut placed = 0;
        for &value in sketch.iter().take(size) {
            placed += usize::from(self.place(value, page));
            if placed == self.shape.features {
                break;
            }
        }
    }

    /// Pages whose estimated resemblance is at least `least`, best first, at most `most` of them.
    pub fn lookup(&mut self, print: &Print, least: f64, most: usize) -> Vec<Candidate> {
        self.lookup_sketch(&print.sketch, least, most)
    }

    /// As [`lookup`](Self::lookup), for the sketch of a print.
    pub fn lookup_sketch(&mut self, sketch: &[u32], least: f64, most: usize) -> Vec<Candidate> {
        let sketch = sketch.get(..self.shape.sketch).unwrap_or(sketch);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.ask_for_slots(sketch);
        // A page that many values lead to is mostly met again soon.
        let mut met = [u32::MAX; REMEMBERED];
        let mut leads = 0;
        for &value in sketch {
            leads += self.follow(value, |page| {
                let last = &mut met[page as usize % REMEMBERED];
                if *last != page {
                    *last = page;
                    found.push(page);
                }
            });
            if leads >= self.shape.candidates {
                break;
            }
        }
        let size = self.shape.sketch;
        let most_strangers = most_strangers(least, size);
        let mut candidates = Vec::new();
        for &page in &found {
            let known = self.sketch(page as usize);
            if let Some(resemblance) = resemblance(sketch, known, size, most_strangers)
                && resemblance >= least
            {
                candidates.push((page, Candidate { id: self.ids[page as usize], resemblance }));
            }
        }
        self.found = found;
        candidates.sort_unstable_by(|(a_page, a), (b_page, b)| {
            b.resemblance.total_cmp(&a.resemblance).then(a.id.cmp(&b.id)).then(a_page.cmp(b_page))
        });
        candidates.dedup_by_key(|(page, _)| *page);
        candidates.truncate(most);
        candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn sketch(&self, page: usize) -> &[u32] {
        &self.sketches[page * self.shape.sketch..(page + 1) * self.shape.sketch]
    }

    /// Where the slots of a value begin. Sketches hold small values: turned so that all bits count.
    fn home(&self, value: u32) -> usize {
        let spread = u64::from(value).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((u128::from(spread) * self.slots.len() as u128) >> 64) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Lets `value` lead to `page`, unless it leads to enough pages already.
    fn place(&mut self, value: u32, page: usize) -> bool {
        let mut at = self.home(value);
        let mut postings = 0;
        for _ in 0..MAX_PROBES.min(self.slots.len()) {
            let slot = self.slots[at];
            if slot == (value, page as u32 + 1) {
                return true;
            }
            if slot.1 == 0 {
                self.slots[at] = (value, page as u32 + 1);
                return true;
            }
            if slot.0 == value {
                postings += 1;
                if postings == self.shape.postings {
                    return false;
                }
            }
            at = self.after(at);
        }
        false
    }

    /// Lets nothing lead to `page` any more. Slots that led to it would lengthen the way to all others.
    fn forget(&mut self, page: usize) {
        self.ask_for_slots(self.sketch(page));
        for place in page * self.shape.sketch..(page + 1) * self.shape.sketch {
            let led = (self.sketches[place], page as u32 + 1);
            let mut at = self.home(led.0);
            for _ in 0..MAX_PROBES.min(self.slots.len()) {
                if self.slots[at] == led {
                    self.free(at);
                    break;
                }
                if self.slots[at].1 == 0 {
                    break;
                }
                at = self.after(at);
            }
        }
    }

    /// The table is larger than the processor's caches: all slots are asked for at once, before they are looked at one by one.
    fn ask_for_slots(&self, values: &[u32]) {
        black_box(values.iter().fold(0, |seen, &value| seen ^ self.slots[self.home(value)].1));
    }

    /// Frees a slot; those behind it that are away from home move up, so that the way to each has no gap.
    fn free(&mut self, mut gap: usize) {
        let slots = self.slots.len();
        let mut at = self.after(gap);
        while self.slots[at].1 != 0 {
            // Slots between home and gap, counted around the end of the table.
            let home = self.home(self.slots[at].0);
            if (at + slots - home) % slots >= (at + slots - gap) % slots {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.slots[gap] = (0, 0);
    }

    /// Calls `found` with the pages `value` leads to; says how many.
    fn follow(&self, value: u32, mut found: impl FnMut(u32)) -> usize {
        let mut at = self.home(value);
        let mut leads = 0;
        for _ in 0..MAX_PROBES.min(self.slots.len()) {
            let slot = self.slots[at];
            if slot.1 == 0 {
                break;
            }
            if slot.0 == value {
                found(slot.1 - 1);
                leads += 1;
            }
            at = self.after(at);
        }
        leads
    }
}

/// Values of only one side that two sketches may have at most if their resemblance is to be `least`; none too few.
fn most_strangers(least: f64, size: usize) -> usize {
    ((1.0 - least) * size as f64).clamp(0.0, size as f64) as usize + 1
}

/// The values of a sketch, which are sorted, without the unused ones.
fn used(sketch: &[u32]) -> &[u32] {
    match sketch.last() {
        Some(&u32::MAX) => &sketch[..sketch.partition_point(|&value| value != u32::MAX)],
        _ => sketch,
    }
}

/// Estimated resemblance: common values among the smallest of both. None as soon as more than `most_strangers` are in one
/// only: most pages that share a value share little else.
fn resemblance(a: &[u32], b: &[u32], size: usize, most_strangers: usize) -> Option<f64> {
    let (a, b) = (used(a), used(b));
    let (mut i, mut j, mut common, mut seen) = (0, 0, 0u32, 0usize);
    while seen < size {
        let (x, y) = (a.get(i), b.get(j));
        // Beyond the end of a full sketch nothing is known.
        if (x.is_none() && (y.is_none() || a.len() >= size)) || (y.is_none() && b.len() >= size) {
            break;
        }
        let (x, y) = (x.copied().unwrap_or(u32::MAX), y.copied().unwrap_or(u32::MAX));
        common += u32::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        seen += 1;
        if seen - common as usize > most_strangers {
            return None;
        }
    }
    Some(if seen == 0 { 0.0 } else { f64::from(common) / seen as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn minutiae(seed: u64, count: u64) -> Vec<u64> {
        let mut values: Vec<u64> = (0..count)
            .map(|n| {
                (seed * 1_000_003 + n).wrapping_mul(0xbf58_476d_1ce4_e5b9)
                    ^ (n + seed).wrapping_mul(0x94d0_49bb_1331_11eb)
            })
            .collect();
        values.sort_unstable();
        values
    }

    #[test]
    fn alike_pages_are_found() {
        let mut index = PrintIndex::new(1000);
        for id in 0..1000 {
            index.insert(&Print::new(id, &minutiae(id, 300)));
        }
        for id in [0, 7, 999] {
            let mut kept = (0..10).cycle();
            let mut near = minutiae(id, 300);
            near.retain(|_| kept.next() != Some(0));
            near.extend(minutiae(5000 + id, 30));
            near.sort_unstable();
            let found = index.lookup(&Print::new(1, &near), 0.5, 4);
            assert_eq!(found.first().map(|c| c.id), Some(id));
            assert!(found[0].resemblance > 0.6 && found[0].resemblance < 1.0);
        }
        assert_eq!(index.lookup(&Print::new(1, &minutiae(9999, 300)), 0.2, 4), []);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut index = PrintIndex::new(10);
        for id in 0..25 {
            index.insert(&Print::new(id, &minutiae(id, 100)));
        }
        assert_eq!(index.len(), 10);
        let mut find = |id: u64| index.lookup(&Print::new(0, &minutiae(id, 100)), 0.9, 1).len();
        assert_eq!((find(3), find(14), find(15), find(24)), (0, 0, 1, 1));
    }

    #[test]
    fn no_slot_leads_to_a_page_that_is_gone() {
        let mut dice = Dice(11);
        for capacity in [1, 2, 7, 60] {
            let mut index = PrintIndex::new(capacity);
            for id in 0..40 * capacity as u64 {
                // Few different values, so that slots are crowded and some lead to all the pages they may.
                let mut sketch: Vec<u32> = (0..dice.next() % 60).map(|_| dice.next() as u32 % 200).collect();
                sketch.sort_unstable();
                sketch.dedup();
                sketch.truncate(SKETCH);
                index.insert_sketch(id, &sketch);
                for (at, slot) in index.slots.iter().enumerate().filter(|(_, slot)| slot.1 != 0) {
                    assert!(index.sketch(slot.1 as usize - 1).contains(&slot.0));
                    let mut way = index.home(slot.0);
                    while way != at {
                        assert_ne!(index.slots[way].1, 0, "a gap on the way");
                        way = index.after(way);
                    }
                }
            }
            let led = index.slots.iter().filter(|slot| slot.1 != 0).count();
            assert!(led > 0 && led <= capacity * FEATURES);
        }
    }

    #[test]
    fn common_minutiae_are_passed_over() {
        let mut index = PrintIndex::new(2000);
        let shared: Vec<u64> = minutiae(77, 60);
        let page = |id: u64| {
            let mut all = [shared.clone(), minutiae(id + 1000, 100)].concat();
            all.sort_unstable();
            all
        };
        for id in 0..2000 {
            index.insert(&Print::new(id, &page(id)));
        }
        let right = (0..2000).filter(|&id| {
            index.lookup(&Print::new(0, &page(id)), 0.95, 1).first().is_some_and(|c| c.id == id)
        });
        assert_eq!(right.count(), 2000);
    }

    #[test]
    fn what_is_given_up_early_would_not_have_done() {
        let mut dice = Dice(5);
        let mut early = 0;
        for _ in 0..20_000 {
            let mut sketch = || {
                let mut values: Vec<u32> = (0..SKETCH as u64)
                    .map(|_| {
                        let seed = dice.next();
                        // Few different values, so that sketches share all shares of them.
                        (seed >> 32) as u32 % (8 + (seed >> 58) as u32 * 4)
                    })
                    .collect();
                values.sort_unstable();
                values.dedup();
                values
            };
            let (a, b) = (sketch(), sketch());
            for least in [0.0, 0.3, 0.5, 0.9, 1.0] {
                let whole = resemblance(&a, &b, SKETCH, usize::MAX).filter(|&found| found >= least);
                let found = resemblance(&a, &b, SKETCH, most_strangers(least, SKETCH));
                early += u32::from(found.is_none());
                assert_eq!(found.filter(|&found| found >= least), whole);
            }
        }
        assert!(early > 1000);
    }

    #[test]
    fn nothing_is_moved_while_it_fills() {
        let mut index = PrintIndex::new(3000);
        let places = |index: &PrintIndex| {
            (index.ids.as_ptr(), index.sketches.as_ptr(), index.slots.as_ptr(), index.slots.len())
        };
        let before = places(&index);
        for id in 0..4000 {
            index.insert(&Print::new(id, &minutiae(id, 60)));
        }
        assert_eq!(places(&index), before);
    }

    #[test]
    fn small_and_empty_prints() {
        let mut index = PrintIndex::new(4);
        index.insert(&Print::new(1, &[]));
        index.insert(&Print::new(2, &[42]));
        assert_eq!(index.lookup(&Print::new(0, &[]), 0.0, 9), []);
        assert_eq!(index.lookup(&Print::new(0, &[42]), 0.5, 9), [Candidate { id: 2, resemblance: 1.0 }]);
    }
}
