//! A stretch of pages with a number each: where the matches of several lists are added up.
//!
//! Lists are read one after the other into an array instead of being merged page by page; the array is small enough to
//! stay in the nearest cache.

use tantivy::{DocId, TERMINATED};

/// Pages in a window.
pub(crate) const WINDOW: usize = 4096;
const WORDS: usize = WINDOW / 64;

pub(crate) struct Window {
    start: DocId,
    sums: Box<[f32; WINDOW]>,
    bits: Box<[u64; WORDS]>,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self { start: 0, sums: Box::new([0.0; WINDOW]), bits: Box::new([0; WORDS]) }
    }

    /// Empties it and moves it to where `start` is its first page.
    pub(crate) fn restart(&mut self, start: DocId) {
        self.start = start;
        self.sums.fill(0.0);
        self.bits.fill(0);
    }

    /// The page behind its last one.
    pub(crate) fn end(&self) -> DocId {
        self.start.saturating_add(WINDOW as u32).min(TERMINATED)
    }

    /// Adds to a page, which lies within.
    #[inline]
    pub(crate) fn add(&mut self, doc: DocId, value: f32) {
        let at = (doc - self.start) as usize % WINDOW;
        self.sums[at] += value;
        self.bits[at / 64] |= 1 << (at % 64);
    }

    #[inline]
    pub(crate) fn sum(&self, doc: DocId) -> f32 {
        self.sums[(doc - self.start) as usize % WINDOW]
    }

    /// The first page from `doc` on that something was added to.
    #[inline]
    pub(crate) fn next(&self, doc: DocId) -> Option<DocId> {
        let at = doc.saturating_sub(self.start) as usize;
        let mut word = at / 64;
        let mut bits = self.bits.get(word)? & (u64::MAX << (at % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(self.start + (word * 64) as u32 + bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_found_in_order() {
        let mut window = Window::new();
        window.restart(100);
        for doc in [100, 163, 164, 100 + 4095, 163] {
            window.add(doc, 1.0);
        }
        let mut met = Vec::new();
        let mut at = 0;
        while let Some(doc) = window.next(at) {
            met.push((doc, window.sum(doc)));
            at = doc + 1;
        }
        assert_eq!(met, [(100, 1.0), (163, 2.0), (164, 1.0), (4195, 1.0)]);
        assert_eq!((window.end(), window.next(4196)), (4196, None));
        window.restart(0);
        assert_eq!(window.next(0), None);
    }
}
