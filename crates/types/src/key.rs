//! Keys: fixed-size names for URLs, hosts and contents. All are xxh3, so they are stable on disk and on the wire.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::PartitionId;

/// The name of a canonical URL: xxh3-128 of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UrlKey(pub u128);

impl UrlKey {
    /// Key of a URL that is already in canonical form.
    pub fn of(canonical: &str) -> Self {
        Self(xxh3_128(canonical.as_bytes()))
    }

    /// Key of a URL that is crawled in a partition which is not its own. A node may have the URL's own partition as well,
    /// and within a node keys are unique. No canonical URL has a space.
    pub fn crossed(canonical: &str, partition: PartitionId) -> Self {
        Self::of(&format!("{canonical} {partition}"))
    }

    /// The low half: the fingerprint that in-memory tables keep.
    pub fn low(self) -> u64 {
        self.0 as u64
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Debug for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The name of a host queue: xxh3-64 of scheme and authority (`https://example.org:8443`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostKey(pub u64);

impl HostKey {
    /// Key of an origin such as `http://example.org` (what [`crate::CanonUrl::origin`] returns).
    pub fn of(origin: &str) -> Self {
        Self(xxh3_64(origin.as_bytes()))
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The 64-bit fingerprint of a document's payload, for the content-seen test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

impl Digest {
    pub fn of(payload: &[u8]) -> Self {
        Self(xxh3_64(payload))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stable_on_disk() {
        // Written into every state directory: a change of these values is a change of format.
        assert_eq!(UrlKey::of("http://example.org/").0, xxh3_128(b"http://example.org/"));
        assert_eq!(format!("{:?}", HostKey::of("")), "2d06800538d394c2");
        let key = UrlKey::of("http://example.org/a");
        assert_eq!(UrlKey::from_bytes(key.to_bytes()), key);
    }
}
