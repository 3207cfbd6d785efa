//! The head of a block with its own code: the lengths of all codes, themselves coded.

use super::bits::Bits;
use super::code::{SymbolBits, Workshop, symbol_bits};

/// Symbols of the code for code lengths: 0 to 15 are lengths, 16 repeats the last, 17 and 18 are runs of zeros.
const SYMBOLS: usize = 19;
const REPEAT: u8 = 16;
const ZEROS: u8 = 17;
const MANY_ZEROS: u8 = 18;
/// The order in which their lengths are written.
const ORDER: [u8; SYMBOLS] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LENGTH_LIMIT: usize = 7;

/// The most there can be: 288 literals and lengths and 32 distances of 7 + 7 bits each, and what comes before.
const MAX_BYTES: usize = 640;

/// The bits of a head, without the three that open a block.
pub(super) struct Header {
    bytes: [u8; MAX_BYTES + 8],
    pub bit_count: u64,
}

#[derive(Clone, Copy, Default)]
struct Item {
    symbol: u8,
    extra: u8,
    extra_bits: u8,
}

/// The lengths as runs.
struct Items {
    list: [Item; 320],
    count: usize,
    counts: [u32; SYMBOLS],
}

impl Items {
    fn push(&mut self, symbol: u8, extra: usize, extra_bits: u8) {
        if let (Some(place), Some(count)) =
            (self.list.get_mut(self.count), self.counts.get_mut(usize::from(symbol)))
        {
            *place = Item { symbol, extra: extra as u8, extra_bits };
            *count += 1;
            self.count += 1;
        }
    }

    fn push_run(&mut self, length: u8, mut run: usize) {
        if length == 0 {
            while run >= 11 {
                let part = run.min(138);
                self.push(MANY_ZEROS, part - 11, 7);
                run -= part;
            }
            if run >= 3 {
                self.push(ZEROS, run - 3, 3);
                run = 0;
            }
        } else if run >= 4 {
            self.push(length, 0, 0);
            run -= 1;
            while run >= 3 {
                let part = run.min(6);
                self.push(REPEAT, part - 3, 2);
                run -= part;
            }
        }
        for _ in 0..run {
            self.push(length, 0, 0);
        }
    }
}

/// The lengths up to the last that is not zero, but at least `least`.
fn trimmed(lengths: &[u8], least: usize) -> &[u8] {
    let end = lengths.iter().rposition(|&length| length != 0).map_or(0, |last| last + 1);
    lengths.get(..end.max(least)).unwrap_or(lengths)
}

impl Header {
    pub fn new() -> Self {
        Self { bytes: [0; MAX_BYTES + 8], bit_count: 0 }
    }

    /// Becomes the head for these codes: of 286 literals and lengths, and of 30 distances.
    pub fn make(&mut self, literals: &[u8], distances: &[u8], workshop: &mut Workshop) {
        let (literals, distances) = (trimmed(literals, 257), trimmed(distances, 1));
        let mut items = Items { list: [Item::default(); 320], count: 0, counts: [0; SYMBOLS] };
        let (mut current, mut run) = (literals.first().copied().unwrap_or_default(), 0);
        for &length in literals.iter().chain(distances) {
            if length != current {
                items.push_run(current, run);
                (current, run) = (length, 0);
            }
            run += 1;
        }
        items.push_run(current, run);
        let mut lengths = [0; SYMBOLS];
        workshop.code_lengths(&items.counts, LENGTH_LIMIT, &mut lengths);
        let mut code = [SymbolBits::default(); SYMBOLS];
        symbol_bits(&lengths, |symbol, bits| code[symbol] = bits);
        let ordered = ORDER.map(|symbol| lengths.get(usize::from(symbol)).copied().unwrap_or_default());
        let ordered = trimmed(&ordered, 4);

        let (mut bits, mut at) = (Bits::default(), 0u32);
        bits.put(literals.len() as u64 - 257, 5);
        bits.put(distances.len() as u64 - 1, 5);
        bits.put(ordered.len() as u64 - 4, 4);
        for &length in ordered {
            bits.put(u64::from(length), 3);
            bits.flush(&mut self.bytes, &mut at);
        }
        for item in items.list.iter().take(items.count) {
            let SymbolBits { bits: code, count } =
                code.get(usize::from(item.symbol)).copied().unwrap_or_default();
            bits.put(u64::from(code), u32::from(count));
            bits.put(u64::from(item.extra), u32::from(item.extra_bits));
            bits.flush(&mut self.bytes, &mut at);
        }
        self.bit_count = u64::from(at) * 8 + u64::from(bits.count);
    }

    /// Writes the head.
    pub fn write(&self, bits: &mut Bits, out: &mut [u8], at: &mut u32) {
        let mut left = self.bit_count;
        for part in self.bytes.chunks_exact(4) {
            let count = left.min(32) as u32;
            let word = part.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
            bits.put(word & ((1 << count) - 1), count);
            bits.flush(out, at);
            left -= u64::from(count);
            if left == 0 {
                break;
            }
        }
    }
}
