//! Finding pages with nearly the same keyword counts without comparing against every page.
//!
//! A page's counts are taken as a set: its first `spider`, its second `spider`, and so on. Common members among all of
//! both are then the common counts among all counts, so the smallest hashes of the set lead to alike pages just as
//! minutiae do, through the same [`PrintIndex`]. What is found that way is judged by the cosine of the [`HEAVIEST`]
//! counts of both, the measure of the method. Memory is fixed by the capacity: [`KeywordIndex::BYTES_PER_PAGE`] each.

use super::keywords::{Keywords, cosine};
use super::print_index::{Candidate, Print, PrintIndex};
use serde::{Deserialize, Serialize};

/// Keywords whose counts are kept of a page: the most frequent.
pub const HEAVIEST: usize = 48;
/// Counts in common, as estimated, below which two pages are not compared.
const LEAST_IN_COMMON: f64 = 0.4;
/// Candidates that are compared.
const MAX_COMPARED: usize = 64;
/// Times that one word counts as a member of the set.
const MAX_MEMBERS: u16 = 64;

/// What is kept of a page for the method of keyword counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeywordPrint {
    /// The smallest hashes of the set, sorted.
    sketch: Vec<u32>,
    /// The most frequent keywords, sorted, with their counts.
    heaviest: Vec<(u32, u16)>,
}

impl KeywordPrint {
    pub fn of(keywords: &Keywords) -> Self {
        let counts = keywords.counts();
        let members = counts.iter().flat_map(|&(key, count)| {
            (1..=count.min(MAX_MEMBERS)).map(move |n| mixed(u64::from(key) << 16 | u64::from(n)))
        });
        let sketch = Print::new(0, &members.collect::<Vec<u64>>()).sketch;
        let mut heaviest = counts.to_vec();
        if heaviest.len() > HEAVIEST {
            heaviest
                .select_nth_unstable_by_key(HEAVIEST - 1, |&(key, count)| (std::cmp::Reverse(count), key));
            heaviest.truncate(HEAVIEST);
        }
        heaviest.sort_unstable();
        Self { sketch, heaviest }
    }

    /// Cosine of the angle between the counts that are kept.
    pub fn similarity(&self, other: &Self) -> f64 {
        cosine(&self.heaviest, &other.heaviest)
    }

    pub fn is_empty(&self) -> bool {
        self.heaviest.is_empty()
    }

    /// Cut to what an index holds, whatever storage brought.
    fn bounded(mut self) -> Self {
        self.heaviest.truncate(HEAVIEST);
        self
    }
}

/// The index. Pages are numbered in the order in which they come.
#[derive(Debug, Clone)]
pub struct KeywordIndex {
    index: PrintIndex,
    /// By number, modulo the capacity.
    heaviest: Vec<Vec<(u32, u16)>>,
    capacity: usize,
    next: u64,
}

impl KeywordIndex {
    /// Memory per page of capacity, all told.
    pub const BYTES_PER_PAGE: usize =
        PrintIndex::BYTES_PER_PAGE + HEAVIEST * size_of::<(u32, u16)>() + size_of::<Vec<(u32, u16)>>();

    /// An index for `capacity` pages (at least one).
    pub fn new(capacity: usize) -> Self {
        let index = PrintIndex::new(capacity);
        Self { capacity: index.capacity(), index, heaviest: Vec::new(), next: 0 }
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
        let KeywordPrint { sketch, mut heaviest } = print.clone().bounded();
        heaviest.shrink_to_fit();
        let slot = number as usize % self.capacity;
        match self.heaviest.get_mut(slot) {
            Some(place) => *place = heaviest,
            None => self.heaviest.push(heaviest),
        }
        self.index.insert(&Print { id: number, sketch });
        number
    }

    /// Pages whose counts are alike by at least `least`, best first, at most `most` of them.
    pub fn lookup(&mut self, print: &KeywordPrint, least: f64, most: usize) -> Vec<Candidate> {
        let query = Print { id: 0, sketch: print.sketch.clone() };
        let mut found = self.index.lookup(&query, LEAST_IN_COMMON, MAX_COMPARED);
        for candidate in &mut found {
            let slot = candidate.id as usize % self.capacity;
            candidate.resemblance =
                self.heaviest.get(slot).map_or(0.0, |other| cosine(&print.heaviest, other));
        }
        found.retain(|candidate| candidate.resemblance >= least);
        found.sort_unstable_by(|a, b| b.resemblance.total_cmp(&a.resemblance).then(a.id.cmp(&b.id)));
        found.truncate(most);
        found
    }
}

fn mixed(value: u64) -> u64 {
    let x = (value ^ (value >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of its own: `common` words that all texts share and `own` ones.
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
        assert_eq!(index.lookup(&print("wholly different words here"), 0.5, 4), []);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut index = KeywordIndex::new(8);
        let numbers: Vec<u64> = (0..20).map(|seed| index.insert(&print(&text(seed, 200)))).collect();
        assert_eq!((index.len(), numbers[19]), (8, 19));
        let mut find = |seed: usize| index.lookup(&print(&text(seed, 200)), 0.99, 1).first().map(|c| c.id);
        assert_eq!((find(19), find(12), find(3)), (Some(19), Some(12), None));
    }

    #[test]
    fn prints_are_bounded_and_stored() {
        let many: String = (0..4000).map(|n| format!("word{n}y ").repeat(1 + n % 3)).collect();
        let kept = print(&many);
        assert!(kept.heaviest.len() == HEAVIEST && kept.heaviest.iter().all(|c| c.1 == 3));
        let packed = postcard::to_stdvec(&kept).unwrap();
        assert_eq!(postcard::from_bytes::<KeywordPrint>(&packed).unwrap(), kept);
        assert!(print("the of").is_empty());
        let huge = KeywordPrint { sketch: vec![1; 900], heaviest: vec![(1, 1); 900] };
        let mut index = KeywordIndex::new(2);
        index.insert(&huge);
        assert_eq!(index.heaviest[0].len(), HEAVIEST);
    }
}
