//! The queue as it lies on disk: rows of one entry, or of several that were left to it together.

use lycosa_types::{CanonUrl, UrlId, UrlRecord};

use super::keys::{self, HostSlot};
use super::{Store, StoreError, bundle};
use crate::host_queue::Entry;
use crate::order::Rank;

/// Rows looked at for the bundle that an entry is in: others may have come to stand behind its first.
const LOOK_BACK: usize = 4;

/// Some entries that wait for a host, and where reading them ended.
#[derive(Debug, Default)]
pub struct Stretch {
    pub entries: Vec<Lying>,
    /// The last row, if there may be more.
    pub read_to: Option<Rank>,
}

/// An entry on disk.
#[derive(Debug)]
pub struct Lying {
    /// The first rank of the bundle it is in, if it is in one.
    pub bundle: Option<Rank>,
    pub entry: Entry,
}

impl Store {
    /// What is known of a URL that was visited or waits; what waits is found by walking its host's queue.
    pub fn visited_or_waiting(&self, id: UrlId, url: &CanonUrl) -> Result<Option<UrlRecord>, StoreError> {
        if let Some(record) = self.url(id)? {
            return Ok(Some(record));
        }
        let slot = HostSlot { partition: id.partition, host: url.host_key() };
        let mut found = None;
        for guard in self.queue.prefix(keys::host(slot)) {
            read_row(guard, |_, lying| {
                if lying.entry.key == id.key {
                    found = Some(lying.entry.into_record());
                }
            })?;
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// About `limit` entries waiting for a host, in rows from `from` upwards: each row is read whole.
    pub fn waiting(&self, slot: HostSlot, from: Rank, limit: usize) -> Result<Stretch, StoreError> {
        let range = keys::queue(slot, from)..=keys::queue(slot, Rank::LAST);
        let mut stretch = Stretch::default();
        let mut last_row = None;
        for guard in self.queue.range(range) {
            if stretch.entries.len() >= limit {
                stretch.read_to = last_row;
                break;
            }
            last_row = Some(read_row(guard, |_, lying| stretch.entries.push(lying))?);
        }
        Ok(stretch)
    }

    /// The entry that waits at `rank`, if it is committed, and all of its bundle, if it is in one.
    pub fn entry(&self, slot: HostSlot, rank: Rank) -> Result<Option<(Entry, Vec<Lying>)>, StoreError> {
        let upwards = keys::queue(slot, Rank { sequence: 0, ..rank })..=keys::queue(slot, rank);
        for guard in self.queue.range(upwards).rev().take(LOOK_BACK) {
            let (mut found, mut bundle) = (None, Vec::new());
            read_row(guard, |_, lying| {
                if lying.entry.rank == rank {
                    found = Some(lying.entry.clone());
                }
                bundle.extend(lying.bundle.is_some().then_some(lying));
            })?;
            if let Some(found) = found {
                return Ok(Some((found, bundle)));
            }
        }
        Ok(None)
    }

    /// Entries waiting anywhere, counted by walking them: for tests and repair, not for a crawl.
    pub fn count_waiting(&self) -> Result<u64, StoreError> {
        let mut count = 0;
        for guard in self.queue.iter() {
            read_row(guard, |_, _| count += 1)?;
        }
        Ok(count)
    }
}

/// Reads a row of the queue, entry by entry. Returns its rank.
pub(super) fn read_row(
    guard: fjall::Guard,
    mut take: impl FnMut(HostSlot, Lying),
) -> Result<Rank, StoreError> {
    let (key, value) = guard.into_inner()?;
    let damaged = || StoreError::Damaged("queue key");
    let slot = key.get(..10).and_then(keys::read_host).ok_or_else(damaged)?;
    let rank = keys::read_rank(&key).ok_or_else(damaged)?;
    let bundle = bundle::is_bundle(&value).then_some(rank);
    bundle::read_row(slot.partition, rank, &value, |entry| take(slot, Lying { bundle, entry }))?;
    Ok(rank)
}
