//! Near-duplicates by winnowing: the minutiae of a text, and what two texts have in common.
//!
//! White space and punctuation are dropped, letters made small, every run of K characters hashed, and of each window of
//! W neighbouring hashes the smallest recorded, the rightmost if several are, each place once. So any stretch that two
//! texts share of at least W + K − 1 characters (after dropping) leaves a minutia in both, wherever it stands.
//! What counts as a character is [`char::is_alphanumeric`]; combining marks are dropped with the punctuation.
//!
//! The fast hash is a polynomial over 64 bits, rolled from one character to the next and mixed at the end; MD5 takes the
//! first eight bytes of the digest of the run in UTF-8. Minutiae of different settings cannot be compared.

use md5::{Digest, Md5};

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
    /// K = 25 is some four words, so that idioms do not match; W = 40 keeps one hash in twenty.
    fn default() -> Self {
        Self { k: 25, w: 40, hash: WinnowHash::Fast }
    }
}

/// Finds minutiae, keeping its buffers between texts.
#[derive(Debug, Clone)]
pub struct Winnower {
    config: WinnowConfig,
    /// base^k, to take out the character that leaves.
    leaving: u64,
    codes: Vec<u8>,
    wide: Vec<u32>,
    hashes: Vec<u64>,
    chosen: Vec<u64>,
}

const BASE: u64 = 0x5851_f42d_4c95_7f2d;

/// What becomes of an ASCII character: its small form, or 0 if it is dropped.
static SMALL: [u8; 128] = {
    let mut table = [0u8; 128];
    let mut c = 0u8;
    while c < 128 {
        if c.is_ascii_alphanumeric() {
            table[c as usize] = c.to_ascii_lowercase();
        }
        c += 1;
    }
    table
};

impl Winnower {
    /// K and W outside their bounds are moved to the nearest.
    pub fn new(config: WinnowConfig) -> Self {
        let config = WinnowConfig { k: config.k.clamp(1, MAX_K), w: config.w.clamp(1, MAX_W), ..config };
        let leaving = (0..config.k).fold(1u64, |power, _| power.wrapping_mul(BASE));
        Self { config, leaving, codes: Vec::new(), wide: Vec::new(), hashes: Vec::new(), chosen: Vec::new() }
    }

    pub fn config(&self) -> WinnowConfig {
        self.config
    }

    /// The minutiae of `text`, sorted, each once. A text shorter than K has one: the hash of all of it, if any.
    pub fn minutiae(&mut self, text: &str) -> &[u64] {
        self.hash_runs(text);
        self.chosen.clear();
        choose(&self.hashes, self.config.w, &mut self.chosen);
        self.chosen.sort_unstable();
        self.chosen.dedup();
        &self.chosen
    }

    fn hash_runs(&mut self, text: &str) {
        self.hashes.clear();
        if text.is_ascii() {
            keep_ascii(text.as_bytes(), &mut self.codes);
            match self.config.hash {
                WinnowHash::Fast => roll(&self.codes, self.config.k, self.leaving, &mut self.hashes),
                WinnowHash::Md5 => {
                    let k = self.config.k.min(self.codes.len()).max(1);
                    self.hashes.extend(self.codes.windows(k).map(md5_of));
                }
            }
        } else {
            keep_wide(text, &mut self.wide);
            match self.config.hash {
                WinnowHash::Fast => roll(&self.wide, self.config.k, self.leaving, &mut self.hashes),
                WinnowHash::Md5 => {
                    let k = self.config.k.min(self.wide.len()).max(1);
                    let mut run = String::with_capacity(4 * k);
                    for codes in self.wide.windows(k) {
                        run.clear();
                        run.extend(codes.iter().filter_map(|&c| char::from_u32(c)));
                        self.hashes.push(md5_of(run.as_bytes()));
                    }
                }
            }
        }
    }
}

fn md5_of(run: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(run).into();
    digest.first_chunk().map_or(0, |c| u64::from_be_bytes(*c))
}

/// The kept characters, without a branch per byte: what is dropped is written over by the next.
fn keep_ascii(bytes: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.resize(bytes.len(), 0);
    let mut n = 0;
    for &byte in bytes {
        let small = SMALL[(byte & 127) as usize];
        out[n] = small;
        n += usize::from(small != 0);
    }
    out.truncate(n);
}

fn keep_wide(text: &str, out: &mut Vec<u32>) {
    out.clear();
    out.reserve(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            let small = SMALL[c as usize];
            if small != 0 {
                out.push(u32::from(small));
            }
        } else if c.is_alphanumeric() {
            out.extend(c.to_lowercase().map(u32::from));
        }
    }
}

/// The hash of every run of `k` codes.
fn roll<C: Copy + Into<u64>>(codes: &[C], k: usize, leaving: u64, out: &mut Vec<u64>) {
    let step = |hash: u64, code: C| hash.wrapping_mul(BASE).wrapping_add(code.into() + 1);
    let (first, rest) = codes.split_at(k.min(codes.len()));
    if first.is_empty() {
        return;
    }
    let mut hash = first.iter().fold(0, |hash, &code| step(hash, code));
    out.reserve(rest.len() + 1);
    out.push(mix(hash));
    // What leaves does not depend on the hash, so that only one multiplication per character is in the chain.
    out.extend(rest.iter().zip(codes).map(|(&entering, &left)| {
        let out = (left.into() + 1).wrapping_mul(leaving);
        hash = hash.wrapping_mul(BASE).wrapping_add((entering.into() + 1).wrapping_sub(out));
        mix(hash)
    }));
}

/// Low bits of a polynomial over 2^64 know few characters: spread the high ones over all.
#[inline(always)]
fn mix(hash: u64) -> u64 {
    let x = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Of each window the smallest hash, rightmost on ties, each place once. Fewer hashes than a window holds are one.
fn choose(hashes: &[u64], w: usize, out: &mut Vec<u64>) {
    let first = &hashes[..w.min(hashes.len())];
    let Some(mut at) = rightmost_smallest(first, 0) else { return };
    let mut smallest = hashes[at];
    out.push(smallest);
    let mut end = first.len();
    while end < hashes.len() {
        // Until the smallest falls out of the window, only a newcomer can take its place.
        let last = (at + w).min(hashes.len());
        match hashes[end..last].iter().position(|&h| h <= smallest) {
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
        smallest = hashes[at];
        out.push(smallest);
    }
}

fn rightmost_smallest(hashes: &[u64], from: usize) -> Option<usize> {
    let smallest = hashes.iter().copied().min()?;
    hashes.iter().rposition(|&h| h == smallest).map(|n| from + n)
}

/// What two sets of minutiae (sorted, each once) have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    pub common: usize,
    /// Share of the first text's minutiae found in the second.
    pub contained: f64,
    /// Share of the second text's minutiae found in the first.
    pub containing: f64,
    /// Common minutiae among all of both.
    pub resemblance: f64,
}

impl Likeness {
    /// Two texts without minutiae are alike; one without is unlike any other.
    pub fn of(a: &[u64], b: &[u64]) -> Self {
        let common = common(a, b);
        let share =
            |of: usize| if of == 0 { f64::from(a.len() == b.len()) } else { common as f64 / of as f64 };
        Self {
            common,
            contained: share(a.len()),
            containing: share(b.len()),
            resemblance: share(a.len() + b.len() - common),
        }
    }
}

/// How many values two sorted lists share.
pub(crate) fn common<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        n += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    n
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
        fn windows_choose_as_defined(hashes in prop::collection::vec(0u64..20, 0..120), w in 1usize..12) {
            let mut chosen = Vec::new();
            choose(&hashes, w, &mut chosen);
            prop_assert_eq!(chosen, plainly(&hashes, w));
        }

        #[test]
        fn rolling_is_hashing_anew(codes in prop::collection::vec(any::<u8>(), 1..80), k in 1usize..12) {
            let leaving = (0..k).fold(1u64, |p, _| p.wrapping_mul(BASE));
            let mut rolled = Vec::new();
            roll(&codes, k, leaving, &mut rolled);
            let anew: Vec<u64> = codes.windows(k.min(codes.len())).map(|run| {
                mix(run.iter().fold(0u64, |h, &c| h.wrapping_mul(BASE).wrapping_add(u64::from(c) + 1)))
            }).collect();
            prop_assert_eq!(rolled, anew);
        }
    }
}
