//! Hosts that serve the same pages under the same paths.
//!
//! Of each host the pages with the smallest path hashes are kept as a sample: two mirrors sample the same paths, however
//! far their crawls have come. Hosts that share several pages (path and content) are compared; if nearly all paths that
//! both have sampled hold the same content, one mirrors the other. Memory is bounded by [`MAX_HOSTS`] × [`SAMPLE`].

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use xxhash_rust::xxh3::xxh3_64;

/// Hosts remembered; further ones are not judged.
pub const MAX_HOSTS: usize = 1 << 16;
/// Pages sampled per host.
pub const SAMPLE: usize = 32;
/// Hosts remembered for one page.
const MAX_HOLDERS: usize = 8;

/// When hosts are taken for mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MirrorConfig {
    /// Equal pages needed.
    pub least_equal: usize,
    /// Share of the paths that both have sampled which must hold the same content.
    pub least_share: f64,
}

impl Default for MirrorConfig {
    fn default() -> Self {
        Self { least_equal: 6, least_share: 0.8 }
    }
}

/// A host found to mirror another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mirror {
    pub host: u64,
    /// The host that was known longer.
    pub of: u64,
    /// Sampled paths with equal content.
    pub equal: usize,
    /// Sampled paths in common.
    pub paths: usize,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Host {
    /// Path hash → content digest; the smallest [`SAMPLE`].
    pages: BTreeMap<u64, u64>,
    /// Order of arrival.
    arrived: u32,
}

/// Recognises mirrors from the pages as they come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MirrorDetector {
    config: MirrorConfig,
    hosts: HashMap<u64, Host, FixedState>,
    /// Page (path and content) → hosts that hold it in their sample.
    holders: HashMap<u64, Vec<u64>, FixedState>,
}

impl MirrorDetector {
    pub fn new(config: MirrorConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// Hosts remembered.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Takes in that `host` serves content `digest` under `path` (with its query); whether that shows one of two hosts to be a mirror.
    pub fn note(&mut self, host: u64, path: &str, digest: u64) -> Option<Mirror> {
        let arrived = self.hosts.len() as u32;
        if !self.hosts.contains_key(&host) && self.hosts.len() >= MAX_HOSTS {
            return None;
        }
        let entry = self.hosts.entry(host).or_insert_with(|| Host { arrived, ..Host::default() });
        let place = xxh3_64(path.as_bytes());
        let full = entry.pages.len() >= SAMPLE;
        if full && entry.pages.last_key_value().is_some_and(|(&last, _)| place > last) {
            return None;
        }
        let replaced = entry.pages.insert(place, digest).map(|old| (place, old));
        let pushed_out = if entry.pages.len() > SAMPLE { entry.pages.pop_last() } else { None };
        for (path, content) in replaced.into_iter().chain(pushed_out) {
            self.forget(path, content, host);
        }
        let holders = self.holders.entry(page_key(place, digest)).or_default();
        if holders.len() < MAX_HOLDERS && !holders.contains(&host) {
            holders.push(host);
        }
        let others: Vec<u64> = holders.iter().copied().filter(|&h| h != host).collect();
        others.into_iter().filter_map(|other| self.judge(host, other)).max_by_key(|m| m.equal)
    }

    /// Whether one of two hosts mirrors the other, by their samples.
    fn judge(&self, host: u64, other: u64) -> Option<Mirror> {
        let (mine, its) = (self.hosts.get(&host)?, self.hosts.get(&other)?);
        // The one that was met first is the original.
        let (mirror, of) = if its.arrived > mine.arrived { (other, host) } else { (host, other) };
        // Beyond the end of a full sample a path may be missing by chance.
        let end = |h: &Host| {
            if h.pages.len() < SAMPLE { u64::MAX } else { h.pages.last_key_value().map_or(0, |l| *l.0) }
        };
        let both = mine
            .pages
            .range(..=end(mine).min(end(its)))
            .filter_map(|(path, content)| its.pages.get(path).map(|theirs| theirs == content));
        let (mut paths, mut equal) = (0, 0);
        for same in both {
            paths += 1;
            equal += usize::from(same);
        }
        let enough =
            equal >= self.config.least_equal && equal as f64 >= self.config.least_share * paths as f64;
        enough.then_some(Mirror { host: mirror, of, equal, paths })
    }

    fn forget(&mut self, path: u64, content: u64, host: u64) {
        let key = page_key(path, content);
        if let Some(holders) = self.holders.get_mut(&key) {
            holders.retain(|&h| h != host);
            if holders.is_empty() {
                self.holders.remove(&key);
            }
        }
    }
}

fn page_key(path: u64, content: u64) -> u64 {
    (path ^ content.rotate_left(32)).wrapping_mul(0x9fb2_1c65_1e98_df25)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_recognised_and_others_are_not() {
        let mut detector = MirrorDetector::default();
        let path = |n: u64| format!("/page/{n}");
        for n in 0..200 {
            assert_eq!(detector.note(1, &path(n), n), None);
            // The same site software, other content.
            assert_eq!(detector.note(2, &path(n), n + 1000), None);
        }
        let found: Vec<Mirror> = (0..200)
            .rev()
            .filter_map(|n| detector.note(3, &path(n), if n % 20 == 0 { 7 } else { n }))
            .collect();
        let last = found.last().copied().unwrap();
        assert!(last.of == 1 && last.equal >= 6 && last.equal * 10 >= last.paths * 8, "{last:?}");
    }

    #[test]
    fn a_few_shared_pages_make_no_mirror() {
        let mut detector = MirrorDetector::default();
        for n in 0..100u64 {
            let path = format!("/p{n}");
            assert_eq!(detector.note(1, &path, n), None);
            let content = if n % 2 == 0 { n } else { n + 500 };
            assert_eq!(detector.note(2, &path, content), None);
        }
    }

    #[test]
    fn memory_is_bounded_and_kept() {
        let mut detector = MirrorDetector::default();
        for n in 0..10_000u64 {
            detector.note(n % 3, &format!("/{n}"), n);
        }
        assert!(
            detector.holders.len() <= 3 * SAMPLE && detector.hosts.values().all(|h| h.pages.len() <= SAMPLE)
        );
        let packed = postcard::to_stdvec(&detector).unwrap();
        let again: MirrorDetector = postcard::from_bytes(&packed).unwrap();
        assert_eq!(again.len(), 3);
    }
}
