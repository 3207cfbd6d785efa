//! Finding pages with nearly the same keyword counts without comparing against every page.
//!
//! Whether a list of counts lies on one side of a random plane or on the other is a bit, and the smaller the angle between
//! two lists, the more bits they share: of [`BANDS`] × [`BAND_BITS`] planes, the share on whose same side two lists lie tells
//! the cosine between them to about 0.01. The bits are all that is kept of a page. [`BAND_BITS`] of them together are a
//! value that leads to the page through a [`PrintIndex`]: lists with a cosine of 0.95 share one of the [`BANDS`] values
//! in 99 of 100 cases. Memory is fixed by the capacity: [`KeywordIndex::BYTES_PER_PAGE`] each.

use super::keywords::Keywords;
use super::print_index::{Candidate, Print, PrintIndex, Shape};
use serde::{Deserialize, Serialize};

/// Values that lead to a page.
pub const BANDS: usize = 48;
/// Planes of one value.
pub const BAND_BITS: usize = 20;
/// A word counts at most so often: 256 words then fit the sums.
const MAX_COUNT: u16 = 127;
/// Sums are made eight at a time.
const LANES: usize = 8;
const BYTES: usize = BANDS * BAND_BITS / LANES;

const SHAPE: Shape = Shape { sketch: BANDS, features: BANDS, postings: 64, candidates: 2048, slots: 80 };

/// What is kept of a page for the method of keyword counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeywordPrint {
    /// [`BAND_BITS`] bits each; none of a page without keywords.
    bands: Vec<u32>,
}

impl KeywordPrint {
    pub fn of(keywords: &Keywords) -> Self {
        if keywords.is_empty() {
            return Self::default();
        }
        let mut sums = [[0i16; LANES]; BYTES];
        for &(key, count) in keywords.counts() {
            let count = count.min(MAX_COUNT) as i16;
            for (word, sums) in sums.chunks_mut(8).enumerate() {
                let sides = mixed(u64::from(key) << 32 | word as u64).to_le_bytes();
                for (sums, side) in sums.iter_mut().zip(sides) {
                    for (sum, sign) in sums.iter_mut().zip(&SIGNS[side as usize]) {
                        *sum = sum.wrapping_add(sign * count);
                    }
                }
            }
        }
        let bits: Vec<bool> = sums.iter().flatten().map(|&sum| sum > 0).collect();
        let bands = bits.chunks_exact(BAND_BITS);
        Self {
            bands: bands.map(|bits| bits.iter().fold(0, |band, &bit| band << 1 | u32::from(bit))).collect(),
        }
    }

    /// The cosine of the angle between the counts of two pages, as the shared bits tell it.
    pub fn similarity(&self, other: &Self) -> f64 {
        cosine(&self.bands, &other.bands)
    }

    pub fn is_empty(&self) -> bool {
        self.bands.is_empty()
    }

    /// The values that lead to the page, sorted.
    fn values(&self) -> Vec<u32> {
        let value =
            |(band, &bits): (usize, &u32)| (mixed((band as u64) << 32 | u64::from(bits)) >> 32) as u32;
        let mut values: Vec<u32> = self.bands.iter().take(BANDS).enumerate().map(value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// The index. Pages are numbered in the order in which they come.
#[derive(Debug, Clone)]
pub struct KeywordIndex {
    index: PrintIndex,
    /// By number, modulo the capacity; [`BANDS`] each.
    bands: Vec<u32>,
    capacity: usize,
    next: u64,
}

impl KeywordIndex {
    /// Memory per page of capacity, all told.
    pub const BYTES_PER_PAGE: usize = SHAPE.bytes_per_page() + 4 * BANDS;

    /// An index for `capacity` pages (at least one).
    pub fn new(capacity: usize) -> Self {
        let index = PrintIndex::with_shape(capacity, SHAPE);
        Self { capacity: index.capacity(), index, bands: Vec::new(), next: 0 }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Adds a page, in place of the oldest if the index is full; returns its number.
    pub fn insert(&mut self, print: &KeywordPrint) -> u64 {
        let number = self.next;
        self.next += 1;
        let from = number as usize % self.capacity * BANDS;
        if self.bands.len() < from + BANDS {
            self.bands.resize(from + BANDS, 0);
        }
        self.bands[from..from + BANDS].fill(0);
        for (to, &bits) in self.bands[from..from + BANDS].iter_mut().zip(&print.bands) {
            *to = bits;
        }
        self.index.insert(&Print { id: number, sketch: print.values() });
        number
    }

    /// Pages whose counts are alike by at least `least`, best first, at most `most` of them.
    pub fn lookup(&mut self, print: &KeywordPrint, least: f64, most: usize) -> Vec<Candidate> {
        let query = Print { id: 0, sketch: print.values() };
        let mut found = self.index.lookup(&query, 0.0, SHAPE.candidates);
        for candidate in &mut found {
            let from = candidate.id as usize % self.capacity * BANDS;
            let other = self.bands.get(from..from + BANDS).unwrap_or(&[]);
            candidate.resemblance = cosine(&print.bands, other);
        }
        found.retain(|candidate| candidate.resemblance >= least);
        found.sort_unstable_by(|a, b| b.resemblance.total_cmp(&a.resemblance).then(a.id.cmp(&b.id)));
        found.truncate(most);
        found
    }
}

/// The angle is the share of planes that lie between the two.
fn cosine(a: &[u32], b: &[u32]) -> f64 {
    if a.len() != b.len() || a.is_empty() {
        return f64::from(a.is_empty() && b.is_empty());
    }
    let differ: u32 = a.iter().zip(b).map(|(x, y)| (x ^ y).count_ones()).sum();
    (std::f64::consts::PI * f64::from(differ) / (a.len() * BAND_BITS) as f64).cos().max(0.0)
}

/// The signs that eight bits stand for.
static SIGNS: [[i16; LANES]; 256] = {
    let mut signs = [[0; LANES]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut lane = 0;
        while lane < LANES {
            signs[byte][lane] = if byte >> lane & 1 == 1 { 1 } else { -1 };
            lane += 1;
        }
        byte += 1;
    }
    signs
};

fn mixed(value: u64) -> u64 {
    let x = (value ^ (value >> 31)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0x94d0_49bb_1331_11eb);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with words that all texts share and `own` ones.
    fn text(seed: usize, own: usize) -> String {
        let word = |n: usize| format!("w{}x{}", n % 89, n * n % 97);
        let common = (0..60).map(|n| word(n % 20));
        let own = (0..own).map(|n| word(1000 * (seed + 1) + n % 70));
        common.chain(own).collect::<Vec<_>>().join(" ")
    }

    fn print(text: &str) -> KeywordPrint {
        KeywordPrint::of(&Keywords::of(text, None))
    }

    #[test]
    fn alike_counts_are_found_among_many() {
        let mut index = KeywordIndex::new(500);
        for seed in 0..500 {
            index.insert(&print(&text(seed, 300)));
        }
        for seed in [0, 77, 499] {
            let edited = format!("{} some other words at the end", text(seed, 300));
            let found = index.lookup(&print(&edited), 0.95, 1);
            assert_eq!(found.first().map(|c| c.id), Some(seed as u64));
        }
        assert_eq!(index.lookup(&print("wholly different words here"), 0.9, 4), []);
    }

    #[test]
    fn shared_bits_tell_the_cosine() {
        for other in [10, 60, 150, 290] {
            let (a, b) = (text(1, 300), format!("{} {}", text(1, 300 - other), text(2, other)));
            let exact = Keywords::of(&a, None).similarity(&Keywords::of(&b, None));
            assert!((print(&a).similarity(&print(&b)) - exact).abs() < 0.1, "{other} {exact}");
        }
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut index = KeywordIndex::new(8);
        let numbers: Vec<u64> = (0..20).map(|seed| index.insert(&print(&text(seed, 200)))).collect();
        assert_eq!((index.len(), numbers[19]), (8, 19));
        let mut find = |seed: usize| index.lookup(&print(&text(seed, 200)), 0.999, 1).first().map(|c| c.id);
        assert_eq!((find(19), find(12), find(3)), (Some(19), Some(12), None));
    }

    #[test]
    fn prints_are_bounded_and_stored() {
        let kept = print(&text(5, 4000));
        assert!(kept.bands.len() == BANDS && kept.bands.iter().all(|b| *b < 1 << BAND_BITS));
        let packed = postcard::to_stdvec(&kept).unwrap();
        assert_eq!(postcard::from_bytes::<KeywordPrint>(&packed).unwrap(), kept);
        assert!(print("the of").is_empty());
        let mut index = KeywordIndex::new(2);
        index.insert(&KeywordPrint { bands: vec![1; 900] });
        assert_eq!((index.bands.len(), index.lookup(&print("the of"), 0.5, 1)), (BANDS, Vec::new()));
    }
}
