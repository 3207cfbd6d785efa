//! Repetitions: the input as runs of literals, each followed by a match.
//!
//! Greedy, with one look per position into a table of where the same [`HASHED`] bytes were seen last. Short matches are not
//! looked for: on text they save few bits, and each costs a branch that the processor cannot foretell, which is dearer
//! than writing the literals. Only a few positions inside a match enter the table; what is missed by that is for the
//! most part got back by growing the next match backwards.

use super::slot::{LENGTH_SLOT, MAX_DISTANCE, MAX_LENGTH, MIN_LENGTH, NO_DISTANCE, distance_slot};

/// Bytes that have to be equal for a match to be seen.
const HASHED: u32 = 7;
/// What the table is reached by. Small members do with few places, which are sooner forgotten.
const HASH_BITS: u32 = 13;
const SMALL_HASH_BITS: u32 = 10;
const HASH_FACTOR: u64 = 0x9E37_79B1_85EB_CA87;
/// Shifts away the bytes that are not looked at.
const BEYOND: u32 = 64 - 8 * HASHED;

/// More than a block can have: each sequence but the last covers at least [`HASHED`] bytes.
const SEQUENCES: usize = 1 << 14;

/// After this many literals in a row, one position in two is looked at; after twice as many, one in three, …
const PATIENCE: u32 = 64;

/// How often each symbol occurs in a block. Literals swallowed by a match that grew backwards may be counted all the same.
pub(super) struct Counts {
    /// Literals, the end of the block, length slots.
    pub literals: [u32; 288],
    pub distances: [u32; 32],
}

/// Literals, then a match. The last of a block has no match: length zero, no distance.
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    /// How many; fewer than a block has bytes.
    pub literals: u16,
    pub length: u16,
    /// Where in the slot the distance lies.
    pub distance_extra: u16,
    pub distance_slot: u8,
}

/// The table and what was found in the current block.
pub(super) struct Search {
    /// Positions. Any value is good, as matches are verified.
    table: Box<[u32; 1 << HASH_BITS]>,
    sequences: Box<[Sequence; SEQUENCES]>,
    found: usize,
    pub counts: Counts,
}

/// Eight bytes from `at` on. Places are 32 bits wide so that one comparison tells whether there are eight: the end cannot
/// overflow.
#[inline(always)]
fn word(bytes: &[u8], at: u32) -> Option<u64> {
    let at = at as usize;
    Some(u64::from_le_bytes(*bytes.get(at..at + 8)?.first_chunk::<8>()?))
}

#[inline(always)]
fn hash<const BITS: u32>(word: u64) -> usize {
    ((word << BEYOND).wrapping_mul(HASH_FACTOR) >> (64 - BITS)) as usize
}

impl Search {
    pub fn new() -> Self {
        Self {
            table: Box::new([0; 1 << HASH_BITS]),
            sequences: Box::new([Sequence::default(); SEQUENCES]),
            found: 0,
            counts: Counts { literals: [0; 288], distances: [0; 32] },
        }
    }

    /// Finds the sequences of a member that is one small block.
    pub fn run_small(&mut self, seen: &[u8]) {
        self.table[..1 << SMALL_HASH_BITS].fill(0);
        self.run_with::<SMALL_HASH_BITS>(seen, 0);
    }

    /// Forgets what was seen, so that a member does not depend on the one before.
    pub fn start(&mut self) {
        self.table.fill(0);
    }

    pub fn sequences(&self) -> &[Sequence] {
        self.sequences.get(..self.found).unwrap_or_default()
    }

    /// Finds the sequences of the block that starts at `from` and ends where `seen` does, which is below 2³². What lies
    /// before may be referred to.
    pub fn run(&mut self, seen: &[u8], from: u32) {
        self.run_with::<HASH_BITS>(seen, from);
    }

    #[inline(never)]
    fn run_with<const BITS: u32>(&mut self, seen: &[u8], from: u32) {
        let Self { table, sequences, counts, .. } = self;
        let Counts { literals, distances } = counts;
        literals.fill(0);
        distances.fill(0);
        literals[256] = 1;
        let mut found = 0;
        let (mut at, mut run_start) = (from, from);
        let mut patient_until = from + PATIENCE;
        while let Some(here) = word(seen, at) {
            let entry = &mut table[hash::<BITS>(here)];
            let earlier_at = std::mem::replace(entry, at);
            if let Some(there) = word(seen, earlier_at)
                && (here ^ there) << BEYOND == 0
                && at.wrapping_sub(earlier_at).wrapping_sub(1) < MAX_DISTANCE
            {
                let distance = at - earlier_at;
                let differ = here ^ there;
                let length =
                    if differ == 0 { 8 + more(seen, at + 8, distance) } else { differ.trailing_zeros() >> 3 };
                let earlier = before(seen, at, distance).min(at - run_start).min(MAX_LENGTH - length);
                let next = at + length;
                let length = length + earlier;
                let (slot, extra) = distance_slot(distance);
                // A block has fewer than 65536 bytes; lengths are at most 258, and extra bits at most 13.
                sequences[found & (SEQUENCES - 1)] = Sequence {
                    literals: (at - earlier - run_start) as u16,
                    length: length as u16,
                    distance_extra: extra as u16,
                    distance_slot: slot as u8,
                };
                found += 1;
                let length_slot = LENGTH_SLOT[(length - MIN_LENGTH) as usize & 255];
                literals[257 + usize::from(length_slot & 31).min(30)] += 1;
                distances[slot & 31] += 1;
                for inside in [at + 2, next - 2] {
                    if let Some(word) = word(seen, inside) {
                        table[hash::<BITS>(word)] = inside;
                    }
                }
                (at, run_start) = (next, next);
                patient_until = next + PATIENCE;
                continue;
            }
            literals[usize::from(here as u8)] += 1;
            at += 1;
            if at > patient_until {
                at += count_literals(literals, seen, at, (at - run_start) / PATIENCE);
            }
        }
        count_literals(literals, seen, at, u32::MAX);
        sequences[found & (SEQUENCES - 1)] = Sequence {
            literals: (seen.len() as u32 - run_start) as u16,
            length: 0,
            distance_extra: 0,
            distance_slot: NO_DISTANCE as u8,
        };
        self.found = found + 1;
    }
}

/// Counts up to `most` literals from `at` on and says how many there were.
fn count_literals(counts: &mut [u32; 288], seen: &[u8], at: u32, most: u32) -> u32 {
    let rest = seen.get(at as usize..).unwrap_or_default();
    let run = rest.get(..rest.len().min(most as usize)).unwrap_or_default();
    for &byte in run {
        counts[usize::from(byte)] += 1;
    }
    run.len() as u32
}

/// How many bytes from `at` on equal those `distance` before, up to what makes the longest match.
#[inline(always)]
fn more(seen: &[u8], at: u32, distance: u32) -> u32 {
    let mut length = 0;
    while let (Some(here), Some(there)) = (word(seen, at + length), word(seen, at + length - distance)) {
        let differ = here ^ there;
        if differ != 0 {
            return (length + (differ.trailing_zeros() >> 3)).min(MAX_LENGTH - 8);
        }
        length += 8;
        if length >= MAX_LENGTH - 8 {
            return MAX_LENGTH - 8;
        }
    }
    let here = seen.get((at + length) as usize..).unwrap_or_default();
    let there = seen.get((at + length - distance) as usize..).unwrap_or_default();
    let equal = here.iter().zip(there).take_while(|(here, there)| here == there).count();
    (length + equal as u32).min(MAX_LENGTH - 8)
}

/// How many bytes before `at`, up to eight, equal those `distance` before them.
#[inline(always)]
fn before(seen: &[u8], at: u32, distance: u32) -> u32 {
    match (word(seen, at.wrapping_sub(8)), word(seen, at.wrapping_sub(8).wrapping_sub(distance))) {
        (Some(here), Some(there)) => (here ^ there).leading_zeros() >> 3,
        _ => 0,
    }
}
