//! Keys in the store. Big-endian throughout, partition first, so that a partition is one range and a host's queue is
//! read in the order it is served.

use lycosa_types::{Digest, HostKey, PartitionId, UnixMs, UrlId, UrlKey};

use crate::order::Rank;

/// A host within a partition: what a queue belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostSlot {
    pub partition: PartitionId,
    pub host: HostKey,
}

pub(super) fn host(slot: HostSlot) -> [u8; 10] {
    let mut out = [0; 10];
    out[..2].copy_from_slice(&slot.partition.0.to_be_bytes());
    out[2..].copy_from_slice(&slot.host.0.to_be_bytes());
    out
}

pub(super) fn read_host(bytes: &[u8]) -> Option<HostSlot> {
    let partition = PartitionId(u16::from_be_bytes(bytes.get(..2)?.try_into().ok()?));
    let host = HostKey(u64::from_be_bytes(bytes.get(2..)?.try_into().ok()?));
    Some(HostSlot { partition, host })
}

pub(super) fn claim(partition: PartitionId, digest: Digest) -> [u8; 10] {
    let mut key = [0; 10];
    key[..2].copy_from_slice(&partition.0.to_be_bytes());
    key[2..].copy_from_slice(&digest.0.to_be_bytes());
    key
}

/// Before the host, so that what waits can be walked without what was placed.
const PLACED: u8 = 0;
const UNPLACED: u8 = 1;

/// Where a host was placed.
pub(super) fn placement(slot: HostSlot) -> [u8; 11] {
    let mut out = [0; 11];
    out[..2].copy_from_slice(&slot.partition.0.to_be_bytes());
    out[2] = PLACED;
    out[3..].copy_from_slice(&slot.host.0.to_be_bytes());
    out
}

/// A URL that waits for its host to be placed.
pub(super) fn unplaced(slot: HostSlot, url: UrlKey) -> [u8; 27] {
    let mut out = [0; 27];
    out[..2].copy_from_slice(&slot.partition.0.to_be_bytes());
    out[2] = UNPLACED;
    out[3..11].copy_from_slice(&slot.host.0.to_be_bytes());
    out[11..].copy_from_slice(&url.to_bytes());
    out
}

pub(super) fn read_unplaced(bytes: &[u8]) -> Option<(HostSlot, UrlKey)> {
    let partition = PartitionId(u16::from_be_bytes(bytes.get(..2)?.try_into().ok()?));
    let host = HostKey(u64::from_be_bytes(bytes.get(3..11)?.try_into().ok()?));
    let url = UrlKey::from_bytes(bytes.get(11..)?.try_into().ok()?);
    Some((HostSlot { partition, host }, url)).filter(|_| bytes.get(2) == Some(&UNPLACED))
}

/// A place in a host's queue. The store keeps keys of up to 20 bytes without a piece of memory for each, and every row
/// is merged a dozen times: so a sequence has 48 bits.
pub(super) type QueueKey = [u8; 20];

pub(super) fn queue(slot: HostSlot, rank: Rank) -> QueueKey {
    let mut out = [0; 20];
    out[..10].copy_from_slice(&host(slot));
    out[10..14].copy_from_slice(&rank.priority.to_be_bytes());
    out[14..].copy_from_slice(&rank.sequence.min(Rank::LAST.sequence).to_be_bytes()[2..]);
    out
}

/// A page by the time its next visit is due, within its partition.
pub(super) fn due(id: UrlId, at: UnixMs) -> [u8; 26] {
    let mut out = [0; 26];
    out[..2].copy_from_slice(&id.partition.0.to_be_bytes());
    out[2..10].copy_from_slice(&at.0.to_be_bytes());
    out[10..].copy_from_slice(&id.key.0.to_be_bytes());
    out
}

pub(super) fn read_due(bytes: &[u8]) -> Option<(UrlId, UnixMs)> {
    let partition = PartitionId(u16::from_be_bytes(bytes.get(..2)?.try_into().ok()?));
    let at = UnixMs(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?));
    let key = UrlKey(u128::from_be_bytes(bytes.get(10..)?.try_into().ok()?));
    Some((UrlId { partition, key }, at))
}

/// A visit in a page's history.
pub(super) fn past_visit(id: UrlId, at: UnixMs) -> Vec<u8> {
    let mut out = id.to_bytes().to_vec();
    out.extend(at.0.to_be_bytes());
    out
}

pub(super) fn read_rank(bytes: &[u8]) -> Option<Rank> {
    let priority = u32::from_be_bytes(bytes.get(10..14)?.try_into().ok()?);
    let mut sequence = [0; 8];
    sequence[2..].copy_from_slice(bytes.get(14..20)?);
    Some(Rank { priority, sequence: u64::from_be_bytes(sequence) })
}
