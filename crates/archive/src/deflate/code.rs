//! Huffman codes: from counts to lengths to the bits of each symbol.

/// Counts below this are put in order by counting, which no branch has to foretell.
const COUNTED: usize = 128;

/// What code lengths are worked out in, kept so that it need not be cleared for every block.
pub(super) struct Workshop {
    /// A count below 2²³ and a symbol below 2⁹ in one word, so that sorting is sorting numbers.
    keys: [u32; 512],
    unsorted: [u32; 512],
    /// Of inner nodes, which come in the order of their weights.
    weights: [u32; 512],
    parents: [u16; 512],
    depths: [u8; 512],
}

impl Workshop {
    pub fn new() -> Self {
        Self { keys: [0; 512], unsorted: [0; 512], weights: [0; 512], parents: [0; 512], depths: [0; 512] }
    }

    /// Lengths of codes that have at most `limit` bits. Symbols that do not occur get none, but there are always two codes,
    /// as some readers refuse fewer. `lengths` is as long as `counts`, at least two and at most 288.
    pub fn code_lengths(&mut self, counts: &[u32], limit: usize, lengths: &mut [u8]) {
        lengths.fill(0);
        let used = self.sort_keys(counts);
        let keys = self.keys.get(..used).unwrap_or_default();
        if keys.len() < 2 {
            let only = keys.first().map_or(0, |key| (key & 511) as usize);
            for symbol in [only, usize::from(only == 0)] {
                if let Some(length) = lengths.get_mut(symbol) {
                    *length = 1;
                }
            }
            return;
        }
        let mut of_length = leaves_of_depths(keys, &mut self.weights, &mut self.parents, &mut self.depths);
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

    /// Puts the symbols that occur in order, the rarest first; says how many there are.
    fn sort_keys(&mut self, counts: &[u32]) -> usize {
        let mut used = 0;
        for (symbol, &count) in counts.iter().enumerate() {
            self.unsorted[used & 511] = count << 9 | symbol as u32;
            used += usize::from(count != 0);
        }
        let unsorted = self.unsorted.get(..used).unwrap_or_default();
        let mut places = [0u16; COUNTED];
        let rank = |key: u32| (key as usize >> 9).min(COUNTED - 1);
        for &key in unsorted {
            places[rank(key)] += 1;
        }
        let mut begin = 0;
        for place in &mut places {
            begin += std::mem::replace(place, begin);
        }
        let often = usize::from(places[COUNTED - 1]);
        for &key in unsorted {
            let place = &mut places[rank(key)];
            self.keys[usize::from(*place) & 511] = key;
            *place += 1;
        }
        self.keys.get_mut(often..used).unwrap_or_default().sort_unstable();
        used
    }
}

/// How many leaves lie at each depth of the Huffman tree over sorted keys. Depths from 63 on count as 63, which cannot
/// happen with the counts of a block.
fn leaves_of_depths(
    keys: &[u32],
    weights: &mut [u32; 512],
    parents: &mut [u16; 512],
    depths: &mut [u8; 512],
) -> [u32; 64] {
    let (mut leaf, mut inner) = (0usize, 0usize);
    let nodes = keys.len() - 1;
    for node in 0..nodes {
        // Nothing is heavier: not made yet.
        weights[node & 511] = u32::MAX;
        let mut sum = 0;
        for _ in 0..2 {
            let leaf_weight = keys.get(leaf).map_or(u32::MAX, |key| key >> 9);
            let inner_weight = weights[inner & 511];
            let is_leaf = leaf_weight <= inner_weight;
            sum += leaf_weight.min(inner_weight);
            // If it is not taken yet this is overwritten when it is.
            parents[inner & 511] = node as u16;
            leaf += usize::from(is_leaf);
            inner += usize::from(!is_leaf);
        }
        weights[node & 511] = sum;
    }
    // Every inner node has two children: what is not an inner node again is a leaf.
    let mut of_length = [0u32; 64];
    of_length[1] = 2;
    depths[(nodes - 1) & 511] = 0;
    for node in (0..nodes - 1).rev() {
        let depth = depths[usize::from(parents[node & 511]) & 511].saturating_add(1).min(62);
        depths[node & 511] = depth;
        of_length[usize::from(depth)] = of_length[usize::from(depth)].wrapping_sub(1);
        of_length[usize::from(depth) + 1] += 2;
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

/// Gives each symbol that has a code its bits, in the order of symbols, by the format's rule: shorter before longer, then
/// by symbol.
#[inline(always)]
pub(super) fn symbol_bits<const SYMBOLS: usize>(
    lengths: &[u8; SYMBOLS],
    mut give: impl FnMut(usize, SymbolBits),
) {
    let mut of_length = [0u32; 16];
    let mut used = [0u16; SYMBOLS];
    let mut count = 0;
    for (symbol, &length) in lengths.iter().enumerate() {
        used[count] = symbol as u16;
        count += usize::from(length != 0);
        of_length[usize::from(length & 15)] += 1;
    }
    let mut next = [0u32; 16];
    for length in 2..16 {
        next[length] = (next[length - 1] + of_length[length - 1]) << 1;
    }
    for &symbol in used.iter().take(count) {
        let length = lengths[usize::from(symbol)] & 15;
        let code = next[usize::from(length)];
        next[usize::from(length)] += 1;
        let reversed =
            u16::from_be_bytes([REVERSED[(code & 255) as usize], REVERSED[(code >> 8 & 255) as usize]]);
        let bits = (u32::from(reversed) >> (16 - length)) as u16;
        give(usize::from(symbol), SymbolBits { bits, count: length });
    }
}
