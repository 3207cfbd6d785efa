//! Near-duplicates by winnowing: the minutiae of a text, and what two texts have in common.
//!
//! White space and punctuation are dropped, letters made small, every run of K characters hashed, and of each window of
//! W neighbouring hashes the smallest recorded, the rightmost if several are, each place once. So any stretch that two
//! texts share of at least W + K − 1 characters (after dropping) leaves a minutia in both, wherever it stands.
//! What counts as a character is [`char::is_alphanumeric`]; combining marks are dropped with the punctuation.
//!
//! With the fast hash, windows choose by a lot of sixteen bits that is quick to find at every place ([`lot`]), and what is
//! recorded is xxh3 of the chosen run in UTF-8; MD5 does both with the first eight bytes of the digest of that, turned before
//! they are recorded so that small ones are not preferred. Minutiae of different settings cannot be compared.

mod choice;
mod letters;
mod likeness;
mod lot;

use choice::Choice;
use letters::{Letters, keep_wide};
pub use likeness::Likeness;
pub(crate) use likeness::common;
use lot::{LotDrawer, number};
use md5::{Digest, Md5};
use xxhash_rust::xxh3::xxh3_64;

/// How minutiae are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WinnowConfig {
    /// Characters hashed together (1 to [`MAX_K`]): shorter matches are never found.
    pub k: usize,
    /// Hashes in a window (1 to [`MAX_W`]): matches of `w + k - 1` characters are always found.
    pub w: usize,
    pub hash: WinnowHash,
}

/// The hash of a run of K characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WinnowHash {
    /// A polynomial to choose by, xxh3 to record.
    Fast,
    /// As in the paper.
    Md5,
}

pub const MAX_K: usize = 256;
pub const MAX_W: usize = 1024;

impl Default for WinnowConfig {
    /// K = 25 is some four words, so that idioms do not match; W = 60 keeps one hash in thirty and finds every shared
    /// stretch of 84 letters, about a sentence. Smaller windows cost more and told near-duplicates apart no better.
    fn default() -> Self {
        Self { k: 25, w: 60, hash: WinnowHash::Fast }
    }
}

/// Finds minutiae, keeping its buffers between texts.
#[derive(Debug, Clone)]
pub struct Winnower {
    config: WinnowConfig,
    letters: Letters,
    wide: Vec<u32>,
    drawer: LotDrawer,
    lots: Vec<u16>,
    digests: Vec<u64>,
    choice: Choice,
    chosen: Vec<u64>,
    sorted: Vec<u64>,
}

impl Winnower {
    /// K and W outside their bounds are moved to the nearest.
    pub fn new(config: WinnowConfig) -> Self {
        let config = WinnowConfig { k: config.k.clamp(1, MAX_K), w: config.w.clamp(1, MAX_W), ..config };
        Self {
            config,
            letters: Letters::default(),
            wide: Vec::new(),
            drawer: LotDrawer::default(),
            lots: Vec::new(),
            digests: Vec::new(),
            choice: Choice::default(),
            chosen: Vec::new(),
            sorted: Vec::new(),
        }
    }

    pub fn config(&self) -> WinnowConfig {
        self.config
    }

    /// The minutiae of `text`, sorted, each once. A text shorter than K has one: the hash of all of it, if any.
    pub fn minutiae(&mut self, text: &str) -> &[u64] {
        let narrow = self.letters.read(text);
        let length = if narrow {
            self.letters.codes().len()
        } else {
            keep_wide(text, &mut self.wide);
            self.wide.len()
        };
        self.chosen.clear();
        if length == 0 {
            return &self.chosen;
        }
        let (k, w) = (self.config.k.min(length), self.config.w);
        let runs = if narrow { Runs::Narrow(self.letters.codes(), k) } else { Runs::Wide(&self.wide, k) };
        match self.config.hash {
            WinnowHash::Fast => {
                match runs {
                    Runs::Narrow(codes, _) => {
                        self.drawer.draw(codes, k, |c| number(u32::from(c)), &mut self.lots);
                    }
                    Runs::Wide(codes, _) => self.drawer.draw(codes, k, number, &mut self.lots),
                }
                let places = self.choice.of(&self.lots, w);
                runs.hash(places.iter().map(|&at| at as usize), xxh3_64, &mut self.chosen);
                sort(&mut self.chosen, &mut self.sorted);
            }
            WinnowHash::Md5 => {
                self.digests.clear();
                runs.hash(0..length - k + 1, md5_of, &mut self.digests);
                let places = self.choice.of(&self.digests, w);
                let digests = places.iter().filter_map(|&at| self.digests.get(at as usize));
                self.chosen.extend(digests.map(|&digest| turned(digest)));
                self.chosen.sort_unstable();
            }
        }
        self.chosen.dedup();
        &self.chosen
    }
}

/// The runs of so many letters.
#[derive(Clone, Copy)]
enum Runs<'a> {
    Narrow(&'a [u8], usize),
    Wide(&'a [u32], usize),
}

impl Runs<'_> {
    /// The hashes of the runs at some places, all of which there are.
    fn hash(self, places: impl Iterator<Item = usize>, hash: impl Fn(&[u8]) -> u64, out: &mut Vec<u64>) {
        match self {
            Self::Narrow(codes, k) => {
                out.extend(places.filter_map(|at| codes.get(at..at + k)).map(hash));
            }
            Self::Wide(codes, k) => {
                let mut run = String::with_capacity(4 * k);
                out.extend(places.filter_map(|at| codes.get(at..at + k)).map(|codes| {
                    run.clear();
                    run.extend(codes.iter().filter_map(|&code| char::from_u32(code)));
                    hash(run.as_bytes())
                }));
            }
        }
    }
}

fn md5_of(run: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(run).into();
    digest.first_chunk().map_or(0, |c| u64::from_be_bytes(*c))
}

/// Windows choose small digests; turned, they lie evenly.
fn turned(digest: u64) -> u64 {
    digest.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Hashes that share a bucket and are still put in order one by one.
const CROWD: u32 = 16;

/// Sorts hashes, which lie evenly: into buckets by their highest byte first, so that little is left to compare.
fn sort(hashes: &mut [u64], buffer: &mut Vec<u64>) {
    let bucket = |hash: u64| (hash >> 56) as usize;
    let mut starts = [0u32; 256];
    for &hash in hashes.iter() {
        starts[bucket(hash)] += 1;
    }
    // However unevenly they lie, it ends soon.
    if starts.iter().max().is_some_and(|&most| most > CROWD) {
        hashes.sort_unstable();
        return;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    buffer.clear();
    buffer.resize(hashes.len(), 0);
    for &hash in hashes.iter() {
        let place = &mut starts[bucket(hash)];
        buffer[*place as usize] = hash;
        *place += 1;
    }
    for at in 1..buffer.len() {
        let hash = buffer[at];
        let mut to = at;
        while to > 0 && buffer[to - 1] > hash {
            buffer[to] = buffer[to - 1];
            to -= 1;
        }
        buffer[to] = hash;
    }
    hashes.copy_from_slice(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn likeness_of_sets() {
        let l = Likeness::of(&[1, 2, 3, 4], &[3, 4, 5]);
        assert_eq!((l.common, l.contained, l.resemblance), (2, 0.5, 0.4));
        assert_eq!(Likeness::of(&[], &[]).resemblance, 1.0);
        assert_eq!(Likeness::of(&[], &[1]).resemblance, 0.0);
    }

    #[test]
    fn short_texts_have_one_minutia() {
        let mut winnower = Winnower::new(WinnowConfig::default());
        assert_eq!(winnower.minutiae("Wolf!").len(), 1);
        assert_eq!(winnower.minutiae(" .,").len(), 0);
        let wolf = winnower.minutiae("Wolf!").to_vec();
        assert_eq!(winnower.minutiae("w-o l.f"), wolf);
        assert_ne!(winnower.minutiae("wolv"), wolf);
    }

    #[test]
    fn wide_and_narrow_texts_agree() {
        let mut winnower = Winnower::new(WinnowConfig { k: 3, w: 2, hash: WinnowHash::Fast });
        let narrow = winnower.minutiae("spiders").to_vec();
        assert_eq!(winnower.minutiae("spiders — …"), narrow);
        let mut md5 = Winnower::new(WinnowConfig { k: 3, w: 2, hash: WinnowHash::Md5 });
        let narrow = md5.minutiae("spiders").to_vec();
        assert_eq!(md5.minutiae("SPIDERS — …"), narrow);
    }

    proptest! {
        #[test]
        fn sorting(hashes in prop::collection::vec(any::<u64>(), 0..700), shift in 0u32..64) {
            let mut sorted: Vec<u64> = hashes.iter().map(|h| h >> shift).collect();
            let mut expected = sorted.clone();
            expected.sort_unstable();
            sort(&mut sorted, &mut Vec::new());
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn minutiae_are_as_defined(text in "[a-d é]{0,300}", k in 1usize..6, w in 1usize..40, md5: bool) {
            let hash = if md5 { WinnowHash::Md5 } else { WinnowHash::Fast };
            let mut winnower = Winnower::new(WinnowConfig { k, w, hash });
            let found = winnower.minutiae(&text).to_vec();
            let letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
            let runs: Vec<String> =
                letters.windows(k.min(letters.len()).max(1)).map(|run| run.iter().collect()).collect();
            let lots: Vec<u64> = runs.iter().map(|run| if md5 { md5_of(run.as_bytes()) } else { lot_of(run) }).collect();
            let mut expected: Vec<u64> = choice::plainly(&lots, w)
                .into_iter()
                .map(|at| if md5 { turned(lots[at]) } else { xxh3_64(runs[at].as_bytes()) })
                .collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }

    fn lot_of(run: &str) -> u64 {
        let codes: Vec<u32> = run.chars().map(u32::from).collect();
        let mut lots = Vec::new();
        LotDrawer::default().draw(&codes, codes.len(), number, &mut lots);
        u64::from(lots[0])
    }
}
