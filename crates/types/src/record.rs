//! What is remembered about a URL: the value stored under its key.

use serde::{Deserialize, Serialize};

use crate::{Digest, Outcome, UnixMs, UrlId};

/// Where a URL stands. Leases are kept in memory alone: after a crash, what was leased is `Queued` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UrlState {
    /// Waiting in its host queue (or leased by a running crawl).
    Queued,
    /// Visited, with an outcome that stands.
    Done,
}

/// Where a record lies in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArchiveSpan {
    pub segment: u32,
    pub offset: u64,
    pub length: u32,
}

/// Everything known about one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlRecord {
    pub url: String,
    pub state: UrlState,
    pub depth: u16,
    /// The page it was first found on; none for a seed.
    pub found_on: Option<UrlId>,
    pub found_at: UnixMs,
    pub tries: u16,
    /// The end of the last visit; none before the first.
    pub outcome: Option<Outcome>,
    pub visited_at: Option<UnixMs>,
    pub visit: Option<VisitFacts>,
    /// It was found as a requisite of a page ([`crate::requisite`]). The first byte of the stored record says so.
    #[serde(skip)]
    pub requisite: bool,
}

/// A page that reads nearly the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NearDuplicate {
    pub of: UrlId,
    /// Estimated share of common minutiae, in thousandths.
    pub resemblance_permille: u16,
}

/// What a visit that brought a response left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitFacts {
    /// Fingerprint of the decoded payload.
    pub digest: Option<Digest>,
    /// SHA-1 of the payload as archived, for revisit records.
    pub payload_sha1: Option<[u8; 20]>,
    /// The first URL with the same payload, if this is not the first.
    pub duplicate_of: Option<UrlId>,
    /// An earlier page with nearly the same text.
    pub near_duplicate: Option<NearDuplicate>,
    /// The response (or revisit) record; none when archiving is off.
    pub archived: Option<ArchiveSpan>,
    pub content_type: String,
    pub body_bytes: u64,
    pub title: String,
    pub language: String,
    pub links: u32,
    /// The page asks not to be indexed.
    pub noindex: bool,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub elapsed_ms: u32,
}

impl UrlRecord {
    /// A URL that was just accepted.
    pub fn queued(url: String, depth: u16, found_on: Option<UrlId>, found_at: UnixMs) -> Self {
        Self {
            url,
            state: UrlState::Queued,
            depth,
            found_on,
            found_at,
            tries: 0,
            outcome: None,
            visited_at: None,
            visit: None,
            requisite: false,
        }
    }
}
