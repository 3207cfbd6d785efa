//! Which partition owns a URL: a stable hash of its assignment key.
//!
//! The assignment key is chosen by [`Granularity`]. The same URL gives the same partition on every node and in every
//! run, as long as the crawl's granularity and partition count stay what they were when the crawl was made.

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
}

impl Default for Partitioner {
    fn default() -> Self {
        Self { granularity: Granularity::Host, partitions: DEFAULT_PARTITIONS, seed: 0 }
    }
}

impl Partitioner {
    pub fn id_of(&self, url: &CanonUrl) -> UrlId {
        UrlId { partition: self.partition_of(url), key: url.key() }
    }

    pub fn partition_of(&self, url: &CanonUrl) -> PartitionId {
        let hash = match self.granularity {
            Granularity::Host => xxh3_64(url.host().as_bytes()),
            Granularity::Domain => xxh3_64(url.domain().as_bytes()),
            Granularity::SubSite => xxh3_64(url.host().split('.').next().unwrap_or_default().as_bytes()),
            Granularity::Page => xxh3_64(url.as_str().as_bytes()),
            Granularity::Random => {
                xxh3_64(url.as_str().as_bytes()) ^ self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            }
        };
        PartitionId(reduce(hash, self.partitions.max(1)))
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
        let by = |granularity| Partitioner { granularity, partitions: 1024, seed: 7 };
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
    fn every_partition_gets_its_share() {
        let partitioner = Partitioner::default();
        let mut counts = vec![0u32; usize::from(DEFAULT_PARTITIONS)];
        for i in 0..64_000 {
            counts[usize::from(partitioner.partition_of(&url(&format!("http://h{i}.test/"))).0)] += 1;
        }
        assert!(counts.iter().all(|&n| (800..1200).contains(&n)), "{counts:?}");
    }
}
