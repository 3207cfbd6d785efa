//! A block: sequences as bits, or the input as it is.

use bytes::BytesMut;

use super::bits::Bits;
use super::code::{SymbolBits, Workshop, symbol_bits};
use super::header::Header;
use super::search::{Counts, Sequence};
use super::slot::{DISTANCE_SLOTS, LENGTH_BASE, LENGTH_EXTRA, LENGTH_SLOTS, distance_extra};

const LITERAL_SYMBOLS: usize = 286;
const END: usize = 256;

/// Four literals of this many bits fit into what is free after a flush.
const LITERAL_LIMIT: usize = 14;
const DISTANCE_LIMIT: usize = 15;

/// The code of a block, in the shape in which it is used.
pub(super) struct BlockCode {
    literal_lengths: [u8; 288],
    distance_lengths: [u8; 32],
    header: Header,
    /// By byte: bits, and their number in the highest byte.
    literals: [u32; 256],
    /// By length of a match, extra bits included; for none, no bits.
    lengths: [u32; 512],
    /// By slot: bits, their number in the third byte, their number with the extra bits in the fourth.
    distances: [u32; 32],
    end: SymbolBits,
}

impl BlockCode {
    pub fn new() -> Self {
        Self {
            literal_lengths: [0; 288],
            distance_lengths: [0; 32],
            header: Header::new(),
            literals: [0; 256],
            lengths: [0; 512],
            distances: [0; 32],
            end: SymbolBits::default(),
        }
    }

    /// Becomes the best code for a block with these counts. Symbols that do not occur keep the bits they had: nobody
    /// asks for them.
    pub fn make(&mut self, counts: &Counts, workshop: &mut Workshop) {
        let literals = &mut self.literal_lengths[..LITERAL_SYMBOLS];
        let distances = &mut self.distance_lengths[..DISTANCE_SLOTS];
        workshop.code_lengths(&counts.literals[..LITERAL_SYMBOLS], LITERAL_LIMIT, literals);
        workshop.code_lengths(&counts.distances[..DISTANCE_SLOTS], DISTANCE_LIMIT, distances);
        self.header.make(literals, distances, workshop);
        symbol_bits(&self.literal_lengths, |symbol, SymbolBits { bits, count }| {
            if let Some(entry) = self.literals.get_mut(symbol) {
                *entry = u32::from(bits) | u32::from(count) << 24;
            } else if symbol == END {
                self.end = SymbolBits { bits, count };
            } else {
                let slot = (symbol - END - 1).min(LENGTH_SLOTS - 1);
                let (base, extra_bits) = (usize::from(LENGTH_BASE[slot]), LENGTH_EXTRA[slot]);
                // The slot before the last could also tell the longest length; the last slot overwrites that.
                for extra in 0..1usize << extra_bits {
                    self.lengths[(base + extra) & 511] =
                        u32::from(bits) | (extra as u32) << count | u32::from(count + extra_bits) << 24;
                }
            }
        });
        symbol_bits(&self.distance_lengths, |slot, SymbolBits { bits, count }| {
            let count = u32::from(count);
            self.distances[slot & 31] = u32::from(bits) | count << 16 | (count + distance_extra(slot)) << 24;
        });
    }

    /// Becomes a code for blocks that look somewhat like the one with these counts, with bits for every symbol there is.
    pub fn make_for_any_input(&mut self, counts: &Counts, workshop: &mut Workshop) {
        let every = |count: u32| 16 * count + 1;
        let counts = Counts { literals: counts.literals.map(every), distances: counts.distances.map(every) };
        self.make(&counts, workshop);
    }

    /// How long the block becomes, at most.
    pub fn cost_bits(&self, counts: &Counts) -> u64 {
        let sum = |counts: &[u32], lengths: &[u8]| -> u32 {
            counts.iter().zip(lengths).map(|(&count, &length)| count * u32::from(length)).sum()
        };
        let mut extra: u32 = 0;
        for (slot, &extra_bits) in LENGTH_EXTRA.iter().enumerate() {
            extra += counts.literals[257 + slot] * u32::from(extra_bits);
        }
        for (slot, &count) in counts.distances.iter().enumerate().take(DISTANCE_SLOTS) {
            extra += count * distance_extra(slot);
        }
        let symbols =
            sum(&counts.literals, &self.literal_lengths) + sum(&counts.distances, &self.distance_lengths);
        3 + self.header.bit_count + u64::from(symbols) + u64::from(extra)
    }
}

/// Writes a block with a code of its own.
#[expect(clippy::too_many_arguments, reason = "what a block is made of")]
pub(super) fn write(
    code: &BlockCode,
    cost_bits: u64,
    sequences: &[Sequence],
    seen: &[u8],
    from: u32,
    last: bool,
    bits: &mut Bits,
    out: &mut BytesMut,
) {
    let start = out.len();
    // The last flush may write eight bytes for one that is needed, and bits of the block before are in front.
    out.resize(start + (cost_bits / 8) as usize + 16, 0);
    let place = out.get_mut(start..).unwrap_or_default();
    let mut at = 0u32;
    bits.put(u64::from(last) | 2 << 1, 3);
    code.header.write(bits, place, &mut at);
    (*bits, at) = write_sequences(code, sequences, seen, from, *bits, place, at);
    bits.put(u64::from(code.end.bits), u32::from(code.end.count));
    bits.flush(place, &mut at);
    out.truncate(start + at as usize);
}

#[inline(never)]
fn write_sequences(
    code: &BlockCode,
    sequences: &[Sequence],
    seen: &[u8],
    mut from: u32,
    mut bits: Bits,
    out: &mut [u8],
    mut at: u32,
) -> (Bits, u32) {
    for sequence in sequences {
        let end = from + u32::from(sequence.literals);
        while end - from >= 4
            && let Some(four) = four_bytes(seen, from)
        {
            let [a, b, c, d] = four.map(|byte| code.literals[usize::from(byte)]);
            let low = u64::from(a & 0xffff) | u64::from(b & 0xffff) << (a >> 24);
            let high = u64::from(c & 0xffff) | u64::from(d & 0xffff) << (c >> 24);
            let low_count = (a >> 24) + (b >> 24);
            bits.put(low | high << low_count, low_count + (c >> 24) + (d >> 24));
            bits.flush(out, &mut at);
            from += 4;
        }
        // Up to three more, without a branch: all three are looked up, and as many bits taken as belong to `left`.
        let left = end - from;
        let [a, b, c, _] = four_bytes(seen, from)
            .unwrap_or_else(|| last_bytes(seen, from))
            .map(|byte| code.literals[usize::from(byte)]);
        let two_count = (a >> 24) + (b >> 24);
        let all =
            u64::from(a & 0xffff) | u64::from(b & 0xffff) << (a >> 24) | u64::from(c & 0xffff) << two_count;
        let ends = (a >> 24) << 8 | two_count << 16 | (two_count + (c >> 24)) << 24;
        let count = (ends >> (8 * (left & 3))) & 0xff;
        bits.put(all & ((1 << count) - 1), count);
        bits.flush(out, &mut at);

        let length = code.lengths[usize::from(sequence.length) & 511];
        let distance = code.distances[usize::from(sequence.distance_slot & 31)];
        let tail =
            u64::from(distance & 0xffff) | u64::from(sequence.distance_extra) << ((distance >> 16) & 15);
        bits.put(u64::from(length & 0xff_ffff) | tail << (length >> 24), (length >> 24) + (distance >> 24));
        bits.flush(out, &mut at);
        from = end + u32::from(sequence.length);
    }
    (bits, at)
}

#[inline(always)]
fn four_bytes(seen: &[u8], at: u32) -> Option<[u8; 4]> {
    seen.get(at as usize..at as usize + 4)?.first_chunk().copied()
}

/// What is left from `at` on, filled up with zeros.
#[cold]
fn last_bytes(seen: &[u8], at: u32) -> [u8; 4] {
    let rest = seen.get(at as usize..).unwrap_or_default();
    [0, 1, 2, 3].map(|i| rest.get(i).copied().unwrap_or_default())
}

/// Writes up to 65535 bytes as they are.
pub(super) fn store(part: &[u8], last: bool, bits: &mut Bits, out: &mut BytesMut) {
    bits.put(u64::from(last), 3);
    bits.finish(out);
    let length = part.len() as u16;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(part);
}
