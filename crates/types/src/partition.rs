//! Which partition owns a URL: a stable hash of its assignment key.
//!
//! The assignment key is chosen by [`Granularity`]. The same URL gives the same partition on every node and in every
//! run, as long as the crawl's granularity, partition count and number of regions stay what they were when the crawl was
//! made.
//!
//! Where a crawl has regions, its partitions are cut into blocks: one for each region, and the last for all the rest. A
//! URL's home is in the last block; a URL whose server stands in a region is crawled in the block of that region, at a
//! place that follows from the same key.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{CanonUrl, Digest, UrlKey};

/// Partitions a crawl has unless told otherwise.
pub const DEFAULT_PARTITIONS: u16 = 64;
/// Upper limit on the number of partitions of a crawl.
pub const MAX_PARTITIONS: u16 = 16_384;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionId(pub u16);

/// A URL by partition and key: enough to find its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UrlId {
    pub partition: PartitionId,
    pub key: UrlKey,
}

impl UrlId {
    pub fn to_bytes(self) -> [u8; 18] {
        let mut out = [0; 18];
        out[..2].copy_from_slice(&self.partition.0.to_be_bytes());
        out[2..].copy_from_slice(&self.key.to_bytes());
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (partition, key) = bytes.split_first_chunk::<2>()?;
        Some(Self {
            partition: PartitionId(u16::from_be_bytes(*partition)),
            key: UrlKey::from_bytes(key.try_into().ok()?),
        })
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A region of a crawl, by its place in the list of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId(pub u16);

/// What part of a URL decides its partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// The host name: a host is never split.
    #[default]
    Host,
    /// The registered domain: `a.example.org` and `b.example.org` stay together.
    Domain,
    /// The first label of the host, for crawling one giant site on many nodes.
    SubSite,
    /// The whole URL.
    Page,
    /// The URL mixed with the crawl's seed, so that two crawls split differently.
    Random,
}

/// URL → partition, for one crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitioner {
    pub granularity: Granularity,
    pub partitions: u16,
    /// Used by [`Granularity::Random`] alone.
    pub seed: u64,
    /// Regions that have partitions of their own; must be fewer than partitions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub regions: u16,
}

fn is_zero(count: &u16) -> bool {
    *count == 0
}

impl Default for Partitioner {
    fn default() -> Self {
        Self { granularity: Granularity::Host, partitions: DEFAULT_PARTITIONS, seed: 0, regions: 0 }
    }
}

impl Partitioner {
    pub fn id_of(&self, url: &CanonUrl) -> UrlId {
        UrlId { partition: self.partition_of(url), key: url.key() }
    }

    /// A URL's home: where it is crawled, unless its server stands in a region.
    pub fn partition_of(&self, url: &CanonUrl) -> PartitionId {
        let hash = self.hash(url);
        match self.regions {
            0 => PartitionId(reduce(hash, self.partitions.max(1))),
            rest => self.within(rest, hash),
        }
    }

    /// Where a URL is crawled whose server stands in a region.
    pub fn partition_in(&self, url: &CanonUrl, region: RegionId) -> PartitionId {
        self.within(region.0.min(self.regions), self.hash(url))
    }

    /// The region that a partition was set aside for.
    pub fn region_of_partition(&self, partition: PartitionId) -> Option<RegionId> {
        (0..self.regions).find(|&block| self.block(block).contains(&partition.0)).map(RegionId)
    }

    /// For every partition, the region it was set aside for; empty where there are no regions.
    pub fn regions_of_partitions(&self) -> Vec<Option<RegionId>> {
        let partitions = if self.regions == 0 { 0 } else { self.partitions };
        (0..partitions).map(|number| self.region_of_partition(PartitionId(number))).collect()
    }

    /// Every partition that a URL may be crawled in, its home first.
    pub fn places_of(&self, url: &CanonUrl) -> impl Iterator<Item = PartitionId> + '_ {
        let hash = self.hash(url);
        let home = self.partition_of(url);
        std::iter::once(home).chain((0..self.regions).map(move |block| self.within(block, hash)))
    }

    /// The partitions of a region; those of the rest if `block` is the number of regions.
    fn block(&self, block: u16) -> std::ops::Range<u16> {
        let blocks = usize::from(self.regions) + 1;
        let cut = |at: usize| (usize::from(self.partitions.max(1)) * at / blocks) as u16;
        cut(usize::from(block))..cut(usize::from(block) + 1)
    }

    fn within(&self, block: u16, hash: u64) -> PartitionId {
        let block = self.block(block);
        PartitionId(block.start + reduce(hash, (block.end - block.start).max(1)))
    }

    fn hash(&self, url: &CanonUrl) -> u64 {
        match self.granularity {
            Granularity::Host => xxh3_64(url.host().as_bytes()),
            Granularity::Domain => xxh3_64(url.domain().as_bytes()),
            Granularity::SubSite => xxh3_64(url.host().split('.').next().unwrap_or_default().as_bytes()),
            Granularity::Page => xxh3_64(url.as_str().as_bytes()),
            Granularity::Random => {
                xxh3_64(url.as_str().as_bytes()) ^ self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            }
        }
    }
}

impl Partitioner {
    /// The partition where a payload is claimed: by its value, whoever fetched it.
    pub fn partition_of_print(&self, digest: Digest) -> PartitionId {
        PartitionId(reduce(xxh3_64(&digest.0.to_be_bytes()), self.partitions.max(1)))
    }
}

/// Maps a hash onto `0..n` without the bias or cost of a division.
fn reduce(hash: u64, n: u16) -> u16 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CanonRules;

    fn url(s: &str) -> CanonUrl {
        CanonUrl::parse(s, &CanonRules::default()).unwrap()
    }

    #[test]
    fn granularity_decides_what_stays_together() {
        let by = |granularity| Partitioner { granularity, partitions: 1024, seed: 7, regions: 0 };
        let (a, b) = (url("http://a.example.org/1"), url("http://a.example.org/2"));
        let other = url("http://b.example.org/1");
        assert_eq!(by(Granularity::Host).partition_of(&a), by(Granularity::Host).partition_of(&b));
        assert_eq!(by(Granularity::Domain).partition_of(&a), by(Granularity::Domain).partition_of(&other));
        assert_ne!(by(Granularity::Host).partition_of(&a), by(Granularity::Host).partition_of(&other));
        assert_ne!(by(Granularity::Page).partition_of(&a), by(Granularity::Page).partition_of(&b));
        let same_label = url("https://a.other.net/x");
        assert_eq!(
            by(Granularity::SubSite).partition_of(&a),
            by(Granularity::SubSite).partition_of(&same_label)
        );
    }

    #[test]
    fn every_url_has_a_home_and_one_place_in_each_region() {
        for (partitions, regions) in [(2, 1), (16, 2), (64, 5), (7, 6), (1024, 256)] {
            for granularity in [Granularity::Host, Granularity::Domain, Granularity::Page] {
                let by = Partitioner { granularity, partitions, seed: 0, regions };
                let blocks = by.regions_of_partitions();
                assert_eq!(blocks.len(), usize::from(partitions));
                for region in (0..regions).map(|number| Some(RegionId(number))).chain([None]) {
                    let size = blocks.iter().filter(|found| **found == region).count();
                    let fair = usize::from(partitions) / (usize::from(regions) + 1);
                    assert!((fair..=fair + 1).contains(&size), "{region:?} has {size} of {partitions}");
                }
                for i in 0..200 {
                    let url = url(&format!("http://h{i}.test/{i}"));
                    assert_eq!(by.region_of_partition(by.partition_of(&url)), None);
                    let places: Vec<PartitionId> = by.places_of(&url).collect();
                    assert_eq!(places.len(), usize::from(regions) + 1);
                    for (number, place) in places[1..].iter().enumerate() {
                        let region = RegionId(number as u16);
                        assert_eq!(by.partition_in(&url, region), *place);
                        assert_eq!(by.region_of_partition(*place), Some(region));
                    }
                }
            }
        }
    }

    #[test]
    fn without_regions_nothing_is_set_aside() {
        let by = Partitioner::default();
        assert!(by.regions_of_partitions().is_empty());
        let url = url("http://a.test/");
        assert_eq!(by.places_of(&url).collect::<Vec<_>>(), [by.partition_of(&url)]);
    }

    #[test]
    fn every_partition_gets_its_share() {
        let partitioner = Partitioner::default();
        let mut counts = vec![0u32; usize::from(DEFAULT_PARTITIONS)];
        for i in 0..64_000 {
            counts[usize::from(partitioner.partition_of(&url(&format!("http://h{i}.test/"))).0)] += 1;
        }
        assert!(counts.iter().all(|&n| (800..1200).contains(&n)), "{counts:?}");
    }
}
