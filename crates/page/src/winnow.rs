//! Near-duplicates by winnowing: the minutiae of a text, and what two texts have in common.
//!
//! White space and punctuation are dropped, letters made small, every run of K characters hashed, and of each window of
//! W neighbouring hashes the smallest recorded, the rightmost if several are, each place once. So any stretch that two
//! texts share of at least W + K − 1 characters (after dropping) leaves a minutia in both, wherever it stands.
//! What counts as a character is [`char::is_alphanumeric`]; combining marks are dropped with the punctuation.
//!
//! The fast hash is a cyclic polynomial over 64 bits (each character a random number, turned by one bit per place),
//! rolled from one character to the next; MD5 takes the first eight bytes of the digest of the run in UTF-8. Minutiae of different settings cannot be compared.

mod letters;
mod likeness;
mod rolling;

use letters::{Letters, keep_wide};
pub use likeness::Likeness;
pub(crate) use likeness::common;
use md5::{Digest, Md5};
use rolling::{SYMBOLS, roll, roll_low, symbol};

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
    /// Rolling polynomial, mixed.
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
///
/// Work is saved by looking only at hashes below a limit that nearly every window holds some of; the few stretches
/// without any are hashed again and looked at in full.
#[derive(Debug, Clone)]
pub struct Winnower {
    config: WinnowConfig,
    /// The number of a leaving ASCII character, already turned.
    leaving: Box<[u64; 256]>,
    letters: Letters,
    wide: Vec<u32>,
    symbols: Vec<u64>,
    /// Low hashes and their places.
    low: Vec<(u64, u32)>,
    stack: Vec<(u64, u32)>,
    gap: Vec<u64>,
    chosen: Vec<u64>,
}

/// Hashes below the limit that an average window holds.
const LOW_PER_WINDOW: u64 = 4;

impl Winnower {
    /// K and W outside their bounds are moved to the nearest.
    pub fn new(config: WinnowConfig) -> Self {
        let config = WinnowConfig { k: config.k.clamp(1, MAX_K), w: config.w.clamp(1, MAX_W), ..config };
        let turn = (config.k % 64) as u32;
        Self {
            config,
            leaving: Box::new(std::array::from_fn(|code| SYMBOLS[code].rotate_left(turn))),
            letters: Letters::default(),
            wide: Vec::new(),
            symbols: Vec::new(),
            low: Vec::new(),
            stack: Vec::new(),
            gap: Vec::new(),
            chosen: Vec::new(),
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
            self.symbols.clear();
            self.symbols.extend(self.wide.iter().map(|&code| symbol(code)));
            self.wide.len()
        };
        self.chosen.clear();
        if length == 0 {
            return &self.chosen;
        }
        let k = self.config.k.min(length);
        let count = length - k + 1;
        let w = self.config.w.min(count);
        let limit = low_limit(w);
        let (codes, wide) = (self.letters.codes(), &self.wide);
        match (self.config.hash, narrow) {
            (WinnowHash::Fast, true) if k == self.config.k => {
                let leaving = &self.leaving;
                let (enters, leaves) = (|c| SYMBOLS[c as usize], |c| leaving[c as usize]);
                roll_low(codes, k, enters, leaves, limit, &mut self.low, &mut self.stack);
            }
            (WinnowHash::Fast, false) => {
                let turn = (k % 64) as u32;
                let (low, later) = (&mut self.low, &mut self.stack);
                roll_low(&self.symbols, k, |s| s, |s| s.rotate_left(turn), limit, low, later);
            }
            (hash, _) => {
                hash_all(hash, narrow, codes, wide, k, &mut self.gap);
                self.low.clear();
                let low = self.gap.iter().enumerate().filter(|(_, h)| **h < limit);
                self.low.extend(low.map(|(at, &h)| (h, at as u32)));
            }
        }
        choose_low(&self.low, count, w, &mut self.stack, &mut self.chosen);
        // Windows without a low hash lie between two of them, or before the first, or after the last.
        let mut from = 0;
        for place in self.low.iter().map(|l| l.1 as usize).chain([count]) {
            if place - from >= w {
                let run = from..place + k - 1;
                let (codes, wide) = (codes.get(run.clone()).unwrap_or(b""), wide.get(run).unwrap_or(&[]));
                hash_all(self.config.hash, narrow, codes, wide, k, &mut self.gap);
                choose(&self.gap, w, &mut self.chosen);
            }
            from = place + 1;
        }
        sort(&mut self.chosen, limit, &mut self.gap);
        self.chosen.dedup();
        &self.chosen
    }
}

/// The hashes of all runs.
fn hash_all(hash: WinnowHash, narrow: bool, codes: &[u8], wide: &[u32], k: usize, out: &mut Vec<u64>) {
    match (hash, narrow) {
        (WinnowHash::Fast, true) => roll(codes, k, |c| SYMBOLS[c as usize], out),
        (WinnowHash::Fast, false) => roll(wide, k, symbol, out),
        (WinnowHash::Md5, true) => {
            out.clear();
            out.extend(codes.windows(k).map(md5_of));
        }
        (WinnowHash::Md5, false) => {
            out.clear();
            let mut run = String::with_capacity(4 * k);
            for codes in wide.windows(k) {
                run.clear();
                run.extend(codes.iter().filter_map(|&c| char::from_u32(c)));
                out.push(md5_of(run.as_bytes()));
            }
        }
    }
}

fn md5_of(run: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(run).into();
    digest.first_chunk().map_or(0, |c| u64::from_be_bytes(*c))
}

/// Below it lies the smallest hash of nearly every window.
fn low_limit(w: usize) -> u64 {
    (u64::MAX / w as u64).saturating_mul(LOW_PER_WINDOW)
}

/// What windows with a low hash choose. A hash is chosen if a window has room between the nearest smaller hash on its
/// left and the nearest one on its right that is not larger. Written without a branch on the choice, which nobody could
/// predict.
fn choose_low(low: &[(u64, u32)], count: usize, w: usize, stack: &mut Vec<(u64, u32)>, out: &mut Vec<u64>) {
    // Places are counted from 1; the first entry of the stack is the edge.
    stack.clear();
    stack.resize(low.len() + 2, (0, 0));
    let from = out.len();
    out.resize(from + low.len() + 1, 0);
    let chosen = &mut out[from..];
    let (mut top, mut n) = (0, 0);
    let w = w as u32;
    for &(hash, place) in low {
        while top > 0 && stack[top].0 >= hash {
            chosen[n] = stack[top].0;
            top -= 1;
            n += usize::from(place + 1 - stack[top].1 > w);
        }
        top += 1;
        stack[top] = (hash, place + 1);
    }
    while top > 0 {
        chosen[n] = stack[top].0;
        top -= 1;
        n += usize::from(count as u32 + 1 - stack[top].1 > w);
    }
    out.truncate(from + n);
}

/// Buckets for sorting, a power of two.
const BUCKETS: usize = 256;

/// Sorts hashes that lie evenly below `limit`, but for a few above: into buckets by value first, so that little is left
/// to compare.
fn sort(hashes: &mut [u64], limit: u64, buffer: &mut Vec<u64>) {
    if hashes.len() < BUCKETS / 4 {
        hashes.sort_unstable();
        return;
    }
    let scale = limit / BUCKETS as u64 + 1;
    // The shift that comes nearest to dividing by the scale; what lies beyond shares the last bucket.
    let shift = scale.ilog2();
    let bucket = |hash: u64| ((hash >> shift) as usize).min(2 * BUCKETS - 1);
    let mut starts = [0u32; 2 * BUCKETS + 1];
    for &hash in hashes.iter() {
        starts[bucket(hash) + 1] += 1;
    }
    for at in 0..2 * BUCKETS {
        starts[at + 1] += starts[at];
    }
    buffer.clear();
    buffer.resize(hashes.len(), 0);
    for &hash in hashes.iter() {
        let place = &mut starts[bucket(hash)];
        buffer[*place as usize] = hash;
        *place += 1;
    }
    // Insertion sort: nothing is far from its place, but for what shares the last bucket.
    let evenly = starts[2 * BUCKETS - 2] as usize;
    for at in 1..evenly {
        let hash = buffer[at];
        let mut to = at;
        while to > 0 && buffer[to - 1] > hash {
            buffer[to] = buffer[to - 1];
            to -= 1;
        }
        buffer[to] = hash;
    }
    buffer[evenly..].sort_unstable();
    hashes.copy_from_slice(buffer);
}

/// Of each window the smallest hash, rightmost on ties, each place once; all hashes looked at.
fn choose(hashes: &[u64], w: usize, out: &mut Vec<u64>) {
    let first = &hashes[..w.min(hashes.len())];
    let Some(mut at) = rightmost_smallest(first, 0) else { return };
    out.push(hashes[at]);
    let mut end = first.len();
    while end < hashes.len() {
        // Until the smallest falls out of the window, only a newcomer can take its place.
        let last = (at + w).min(hashes.len());
        match hashes[end..last].iter().position(|&h| h <= hashes[at]) {
            Some(n) => {
                at = end + n;
                end = at + 1;
            }
            None if last == hashes.len() => return,
            None => {
                end = last + 1;
                at = rightmost_smallest(&hashes[at + 1..end], at + 1).unwrap_or(at + 1);
            }
        }
        out.push(hashes[at]);
    }
}

fn rightmost_smallest(hashes: &[u64], from: usize) -> Option<usize> {
    let smallest = hashes.iter().copied().min()?;
    hashes.iter().rposition(|&h| h == smallest).map(|n| from + n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word for word.
    fn plainly(hashes: &[u64], w: usize) -> Vec<u64> {
        let mut places = Vec::new();
        for (from, window) in hashes.windows(w.min(hashes.len()).max(1)).enumerate() {
            let at = (0..window.len()).rev().min_by_key(|&i| window[i]).map(|i| from + i);
            if places.last() != at.as_ref() {
                places.extend(at);
            }
        }
        places.into_iter().map(|at| hashes[at]).collect()
    }

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
        fn sorting(hashes in prop::collection::vec(any::<u64>(), 0..700), limit in any::<u64>(), shift in 0u32..64) {
            let mut sorted: Vec<u64> = hashes.iter().map(|h| h >> shift).collect();
            let mut expected = sorted.clone();
            expected.sort_unstable();
            sort(&mut sorted, limit, &mut Vec::new());
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn windows_choose_as_defined(hashes in prop::collection::vec(0u64..20, 0..120), w in 1usize..12) {
            let mut chosen = Vec::new();
            choose(&hashes, w, &mut chosen);
            prop_assert_eq!(chosen, plainly(&hashes, w));
        }

        /// The short cut over low hashes comes to the same.
        #[test]
        fn minutiae_are_as_defined(text in "[a-d é]{0,300}", k in 1usize..6, w in 1usize..40, md5: bool) {
            let hash = if md5 { WinnowHash::Md5 } else { WinnowHash::Fast };
            let mut winnower = Winnower::new(WinnowConfig { k, w, hash });
            let found = winnower.minutiae(&text).to_vec();
            let mut wide = Vec::new();
            keep_wide(&text, &mut wide);
            let mut hashes = Vec::new();
            if !wide.is_empty() {
                hash_all(hash, false, &[], &wide, k.min(wide.len()), &mut hashes);
            }
            let mut expected = plainly(&hashes, w);
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }
}
