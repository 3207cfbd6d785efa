//! Values in the store: one version byte, then postcard.

use std::net::IpAddr;

use lycosa_types::{PartitionId, PastVisit, UnixMs, UrlId, UrlKey, UrlRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::course::Course;
use crate::host_queue::Entry;
use crate::order::Rank;

const VALUE_VERSION: u8 = 1;
/// Before the record of a URL that was found as a requisite.
const REQUISITE: u8 = 2;
/// Of host records: the first version has no pace.
const HOST_VERSION: u8 = 2;
/// Before a queue entry of a URL that is crawled in a partition which is not its own: its key is [`UrlKey::crossed`].
const CROSSED: u8 = 2;

/// What is remembered about a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// `https://example.org`
    pub origin: String,
    /// URLs that wait or are leased.
    pub waiting: u64,
    /// Where the best of them stood, or a little before.
    pub next: Rank,
    pub accepted: u64,
    pub fetched: u64,
    pub failures_in_row: u32,
    /// Not to be asked before this time.
    pub ready_at: UnixMs,
    pub address: Option<IpAddr>,
    /// The origin whose pages it repeats.
    pub mirror_of: Option<String>,
    /// Requests per 1000 s that it bears; 0: as many as the settings allow.
    pub per_ks: u32,
}

/// A host's robots.txt as it was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesRecord {
    pub fetched_at: UnixMs,
    /// HTTP status; 0 when the host could not be reached.
    pub status: u16,
    pub body: Vec<u8>,
}

/// A queue entry without its rank, which is in the row's key, and without its URL's key, which the URL tells.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredEntry<'a> {
    pub depth: u16,
    pub tries: u16,
    pub redirects: u8,
    pub found_on: Option<UrlId>,
    pub found_at: UnixMs,
    pub url: &'a str,
}

fn encode<T: Serialize>(value: &T, what: &'static str) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::with_capacity(160);
    out.push(VALUE_VERSION);
    postcard::to_extend(value, out).map_err(|_| StoreError::Damaged(what))
}

fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T, StoreError> {
    postcard::from_bytes(versioned(bytes, what)?).map_err(|_| StoreError::Damaged(what))
}

fn versioned<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a [u8], StoreError> {
    match bytes.split_first() {
        Some((&VALUE_VERSION, rest)) => Ok(rest),
        _ => Err(StoreError::Damaged(what)),
    }
}

pub(super) fn encode_url(record: &UrlRecord) -> Result<Vec<u8>, StoreError> {
    let mut bytes = encode(record, "url record")?;
    if record.requisite
        && let Some(version) = bytes.first_mut()
    {
        *version = REQUISITE;
    }
    Ok(bytes)
}

pub(super) fn decode_url(bytes: &[u8]) -> Result<UrlRecord, StoreError> {
    match bytes.split_first() {
        Some((&REQUISITE, rest)) => {
            let record = postcard::from_bytes(rest).map_err(|_| StoreError::Damaged("url record"))?;
            Ok(UrlRecord { requisite: true, ..record })
        }
        _ => decode(bytes, "url record"),
    }
}

pub(super) fn encode_host(record: &HostRecord) -> Result<Vec<u8>, StoreError> {
    let mut bytes = encode(record, "host record")?;
    if let Some(version) = bytes.first_mut() {
        *version = HOST_VERSION;
    }
    Ok(bytes)
}

pub(super) fn decode_host(bytes: &[u8]) -> Result<HostRecord, StoreError> {
    let damaged = || StoreError::Damaged("host record");
    match bytes.split_first() {
        Some((&HOST_VERSION, rest)) => postcard::from_bytes(rest).map_err(|_| damaged()),
        // It ends before the pace: none.
        Some((&VALUE_VERSION, rest)) => postcard::from_bytes(&[rest, &[0]].concat()).map_err(|_| damaged()),
        _ => Err(damaged()),
    }
}

pub(super) fn encode_rules(record: &RulesRecord) -> Result<Vec<u8>, StoreError> {
    encode(record, "rules record")
}

pub(super) fn decode_rules(bytes: &[u8]) -> Result<RulesRecord, StoreError> {
    decode(bytes, "rules record")
}

pub(super) fn encode_course(course: &Course) -> Result<Vec<u8>, StoreError> {
    encode(course, "course")
}

pub(super) fn decode_course(bytes: &[u8]) -> Result<Course, StoreError> {
    decode(bytes, "course")
}

pub(super) fn encode_past_visit(visit: &PastVisit) -> Result<Vec<u8>, StoreError> {
    let bytes = encode(visit, "past visit")?;
    if visit.kept_lines.is_empty() {
        return Ok(bytes);
    }
    postcard::to_extend(&visit.kept_lines, bytes).map_err(|_| StoreError::Damaged("past visit"))
}

pub(super) fn decode_past_visit(bytes: &[u8]) -> Result<PastVisit, StoreError> {
    let damaged = |_| StoreError::Damaged("past visit");
    let (mut visit, rest): (PastVisit, _) =
        postcard::take_from_bytes(versioned(bytes, "past visit")?).map_err(damaged)?;
    // Rows of visits that kept no lines end here.
    if !rest.is_empty() {
        visit.kept_lines = postcard::from_bytes(rest).map_err(damaged)?;
    }
    Ok(visit)
}

/// Behind what a buffer holds: there are many.
pub(super) fn append_entry(entry: &Entry, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let stored = StoredEntry {
        depth: entry.depth,
        tries: entry.tries,
        redirects: entry.redirects,
        found_on: entry.found_on,
        found_at: entry.found_at,
        url: entry.url.as_str(),
    };
    let mut bytes = std::mem::take(out);
    let is_crossed = entry.key != UrlKey::of(entry.url.as_str());
    bytes.push(if is_crossed { CROSSED } else { VALUE_VERSION });
    *out = postcard::to_extend(&stored, bytes).map_err(|_| StoreError::Damaged("queue entry"))?;
    Ok(())
}

/// An entry that waits in a partition.
pub(super) fn decode_entry(partition: PartitionId, rank: Rank, bytes: &[u8]) -> Result<Entry, StoreError> {
    let (is_crossed, stored) = read_entry(bytes)?;
    Ok(Entry {
        rank,
        key: key_of(stored.url, is_crossed, partition),
        depth: stored.depth,
        tries: stored.tries,
        redirects: stored.redirects,
        found_on: stored.found_on,
        found_at: stored.found_at,
        revisit: false,
        late: rank.is_late(),
        refused: 0,
        url: lycosa_types::CanonUrl::from_canonical(stored.url.to_owned()),
    })
}

/// An entry as it lies on disk, and whether it is crossed.
pub(super) fn read_entry(bytes: &[u8]) -> Result<(bool, StoredEntry<'_>), StoreError> {
    let damaged = || StoreError::Damaged("queue entry");
    let (version, rest) = bytes.split_first().ok_or_else(damaged)?;
    let is_crossed = match *version {
        VALUE_VERSION => false,
        CROSSED => true,
        _ => return Err(damaged()),
    };
    Ok((is_crossed, postcard::from_bytes(rest).map_err(|_| damaged())?))
}

/// The key of a URL that waits in a partition.
pub(super) fn key_of(url: &str, is_crossed: bool, partition: PartitionId) -> UrlKey {
    if is_crossed { UrlKey::crossed(url, partition) } else { UrlKey::of(url) }
}

#[cfg(test)]
mod tests;
