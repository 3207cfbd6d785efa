//! Huffman codes: from counts to lengths to the bits of each symbol.

/// Lengths of codes that have at most `limit` bits. Symbols that do not occur get none, but there are always two codes, as
/// some readers refuse fewer. `lengths` is as long as `counts`, at least two and at most 288.
pub(super) fn code_lengths(counts: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    // A count below 2²³ and a symbol below 2⁹ in one word, so that sorting is sorting numbers.
    let mut keys = [0u32; 288];
    let mut used = 0;
    for (symbol, &count) in counts.iter().enumerate() {
        if let Some(key) = keys.get_mut(used) {
            *key = count << 9 | symbol as u32;
        }
        used += usize::from(count != 0);
    }
    let keys = keys.get_mut(..used).unwrap_or_default();
    if keys.len() < 2 {
        let only = keys.first().map_or(0, |key| (key & 511) as usize);
        for symbol in [only, usize::from(only == 0)] {
            if let Some(length) = lengths.get_mut(symbol) {
                *length = 1;
            }
        }
        return;
    }
    keys.sort_unstable();
    let mut of_length = depths(keys);
    shorten(&mut of_length, limit);
    // The rarest come first and get the longest.
    let mut rarest = keys.iter();
    for length in (1..=limit.min(15)).rev() {
        for key in rarest.by_ref().take(of_length[length & 63] as usize) {
            if let Some(place) = lengths.get_mut((key & 511) as usize) {
                *place = length as u8;
            }
        }
    }
}

/// How many leaves lie at each depth of the Huffman tree over sorted keys. Depths from 63 on count as 63, which cannot
/// happen with the counts of a block.
fn depths(keys: &[u32]) -> [u32; 64] {
    let mut weights = [0u32; 512];
    // Parents of leaves, then of inner nodes from 288 on. Both kinds come in the order of their weights.
    let mut leaf_parents = [0u16; 512];
    let mut parents = [0u16; 512];
    let (mut leaf, mut inner) = (0usize, 0usize);
    let mut leaf_weight = keys.first().map_or(u32::MAX, |key| key >> 9);
    for node in 0..keys.len() - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            if inner >= node || leaf_weight <= weights[inner & 511] {
                sum += leaf_weight;
                leaf_parents[leaf & 511] = node as u16;
                leaf += 1;
                leaf_weight = keys.get(leaf).map_or(u32::MAX, |key| key >> 9);
            } else {
                sum += weights[inner & 511];
                parents[inner & 511] = node as u16;
                inner += 1;
            }
        }
        weights[node & 511] = sum;
    }
    let mut depth = [0u8; 512];
    for node in (0..keys.len() - 2).rev() {
        depth[node & 511] = depth[usize::from(parents[node & 511]) & 511].saturating_add(1);
    }
    let mut of_length = [0u32; 64];
    for parent in leaf_parents.iter().take(keys.len()) {
        of_length[usize::from(depth[usize::from(*parent) & 511]).min(62) + 1] += 1;
    }
    of_length
}

/// Brings leaves that lie too deep up to the limit and makes room for them by pushing others down.
fn shorten(of_length: &mut [u32; 64], limit: usize) {
    for length in limit + 1..64 {
        let deep = std::mem::take(&mut of_length[length & 63]);
        of_length[limit & 63] += deep;
    }
    let taken = |of_length: &[u32; 64]| -> u64 {
        (1..=limit).map(|length| u64::from(of_length[length & 63]) << (limit - length)).sum()
    };
    let mut excess = taken(of_length).saturating_sub(1 << limit);
    while excess > 0 {
        // One of the deepest leaves above the limit goes down a level and takes one from the limit as its sibling.
        let Some(length) = (1..limit).rev().find(|&length| of_length[length & 63] > 0) else {
            return;
        };
        of_length[length & 63] -= 1;
        of_length[(length + 1) & 63] += 2;
        of_length[limit & 63] -= 1;
        excess -= 1;
    }
}

/// A symbol's bits, first bit lowest, and how many there are.
#[derive(Clone, Copy, Default)]
pub(super) struct SymbolBits {
    pub bits: u16,
    pub count: u8,
}

const REVERSED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).reverse_bits();
        byte += 1;
    }
    table
};

/// The bits of each symbol, by the format's rule: shorter before longer, then by symbol.
pub(super) fn symbol_bits<const SYMBOLS: usize>(lengths: &[u8; SYMBOLS]) -> [SymbolBits; SYMBOLS] {
    let mut of_length = [0u32; 16];
    for &length in lengths.iter().filter(|&&length| length != 0) {
        of_length[usize::from(length & 15)] += 1;
    }
    let mut next = [0u32; 16];
    for length in 1..16 {
        next[length] = (next[length - 1] + of_length[length - 1]) << 1;
    }
    lengths.map(|length| {
        // Most symbols do not occur, in long runs: quicker to pass over than to count.
        if length == 0 {
            return SymbolBits::default();
        }
        let length = length & 15;
        let code = next[usize::from(length)];
        next[usize::from(length)] += 1;
        let reversed =
            u16::from_be_bytes([REVERSED[(code & 255) as usize], REVERSED[(code >> 8 & 255) as usize]]);
        SymbolBits { bits: (u32::from(reversed) >> (16 - length)) as u16, count: length }
    })
}
