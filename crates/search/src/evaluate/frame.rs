//! A stretch of pages with a bit and a number each: what a part of a query says about them.
//!
//! Parts of a query are worked out for a whole frame, one list after the other, instead of being merged page by page. The
//! arrays are small enough to stay in the nearest cache, and the loops over them need no branches.

/// Pages in a frame.
pub const FRAME: usize = 4096;
const WORDS: usize = FRAME / 64;

/// A set of the pages of a frame, each named by its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits(Box<[u64; WORDS]>);

impl Bits {
    pub fn empty() -> Self {
        Self(Box::new([0; WORDS]))
    }

    /// The first `slots` pages.
    pub fn first(slots: usize) -> Self {
        let mut bits = Self::empty();
        for (at, word) in bits.0.iter_mut().enumerate() {
            let rest = slots.saturating_sub(at * 64);
            *word = if rest >= 64 { u64::MAX } else { (1 << rest) - 1 };
        }
        bits
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    pub fn copy(&mut self, other: &Self) {
        self.0.copy_from_slice(&other.0[..]);
    }

    #[inline]
    pub fn set(&mut self, slot: usize) {
        self.0[slot / 64 % WORDS] |= 1 << (slot % 64);
    }

    #[inline]
    pub fn unset(&mut self, slot: usize) {
        self.0[slot / 64 % WORDS] &= !(1 << (slot % 64));
    }

    #[inline]
    pub fn has(&self, slot: usize) -> bool {
        self.0[slot / 64 % WORDS] & (1 << (slot % 64)) != 0
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn zip(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        for (word, other) in self.0.iter_mut().zip(&other.0[..]) {
            *word = with(*word, *other);
        }
    }

    pub fn and(&mut self, other: &Self) {
        self.zip(other, |a, b| a & b);
    }

    pub fn or(&mut self, other: &Self) {
        self.zip(other, |a, b| a | b);
    }

    pub fn xor(&mut self, other: &Self) {
        self.zip(other, |a, b| a ^ b);
    }

    pub fn minus(&mut self, other: &Self) {
        self.zip(other, |a, b| a & !b);
    }

    /// The first page from a slot on.
    #[inline]
    pub fn next(&self, slot: usize) -> Option<usize> {
        let mut at = slot / 64;
        let mut bits = self.0.get(at)? & (u64::MAX << (slot % 64));
        while bits == 0 {
            at += 1;
            bits = *self.0.get(at)?;
        }
        Some(at * 64 + bits.trailing_zeros() as usize)
    }

    #[inline]
    pub fn each(&self, mut each: impl FnMut(usize)) {
        for (at, word) in self.0.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                each(at * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Sets what ascending slots name, which costs less than setting one by one.
    #[inline]
    pub fn set_ascending(&mut self, slots: impl Iterator<Item = usize>) {
        let (mut at, mut bits) = (0, 0);
        for slot in slots {
            let next = slot / 64;
            if next != at {
                self.0[at % WORDS] |= bits;
                (at, bits) = (next, 0);
            }
            bits |= 1_u64 << (slot % 64);
        }
        self.0[at % WORDS] |= bits;
    }
}

/// Which pages match, and with what score; the score of the others is 0.
#[derive(Clone, Debug)]
pub struct Frame {
    pub bits: Bits,
    pub sums: Box<[f32; FRAME]>,
}

impl Frame {
    pub fn new() -> Self {
        Self { bits: Bits::empty(), sums: Box::new([0.0; FRAME]) }
    }

    pub fn clear(&mut self) {
        self.bits.clear();
        self.sums.fill(0.0);
    }

    /// Drops all pages but the wanted ones.
    pub fn keep(&mut self, wanted: &Bits) {
        for (at, (word, wanted)) in self.bits.0.iter_mut().zip(&wanted.0[..]).enumerate() {
            let mut dropped = *word & !wanted;
            *word &= wanted;
            while dropped != 0 {
                self.sums[(at * 64 + dropped.trailing_zeros() as usize) % FRAME] = 0.0;
                dropped &= dropped - 1;
            }
        }
    }

    /// Adds the scores of another.
    pub fn add_sums(&mut self, other: &Self) {
        for (sum, other) in self.sums.iter_mut().zip(&other.sums[..]) {
            *sum += other;
        }
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_set_found_and_dropped() {
        let mut frame = Frame::new();
        let slots = [0, 63, 64, 200, 4095];
        frame.bits.set_ascending(slots.into_iter());
        slots.iter().for_each(|&slot| frame.sums[slot] = 1.0);
        let mut met = Vec::new();
        frame.bits.each(|slot| met.push(slot));
        assert_eq!(met, slots);
        assert_eq!((frame.bits.count(), frame.bits.next(65), frame.bits.next(4096)), (5, Some(200), None));
        frame.keep(&Bits::first(64));
        assert!(frame.bits.has(63) && !frame.bits.has(64) && frame.sums[200] == 0.0 && frame.sums[63] == 1.0);
        assert_eq!(Bits::first(FRAME).count() as usize, FRAME);
        assert!(Bits::first(0).is_empty() && Bits::first(65).has(64) && !Bits::first(65).has(65));
    }
}
