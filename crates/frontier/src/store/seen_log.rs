//! Which URLs are known, for filling the seen-set when a crawl is opened: their fingerprints in the order they came.
//!
//! Each commit adds a row with those it made durable, under the last sequence number given out; rows are never changed.
//! They are part of the commit's batch, so a URL is in the log exactly if it is in the state: a fingerprint without its
//! URL would lose the URL for ever. Reading them back is one pass over eight bytes a URL.
//!
//! What the seen-set had no room for is also a key of its own in `known`, where it can be asked for.
//!
//! A node of a cluster keeps no log: its partitions' fingerprints are read from what waits and what was visited when a
//! partition is opened, since both travel with it. Its keys in `known` begin with the partition, and are its own: they
//! follow from the memory this node has, and are made anew wherever the partition goes.

use fjall::OwnedWriteBatch;
use lycosa_types::PartitionId;

use super::{Changes, Store, StoreError};

/// The last byte of a row's key: the fingerprints are in the log alone.
const LISTED: u8 = 0;
/// They are in `known` too.
const KNOWN: u8 = 1;

fn row(sequence: u64, kind: u8) -> [u8; 9] {
    let mut key = [kind; 9];
    key[..8].copy_from_slice(&sequence.to_be_bytes());
    key
}

pub(super) fn known_in(partition: PartitionId, print: u64) -> [u8; 10] {
    let mut key = [0; 10];
    key[..2].copy_from_slice(&partition.0.to_be_bytes());
    key[2..].copy_from_slice(&print.to_be_bytes());
    key
}

impl Store {
    pub(super) fn write_seen(
        &self,
        batch: &mut OwnedWriteBatch,
        changes: &Changes,
    ) -> Result<(), StoreError> {
        let seen = changes.seen.iter().flat_map(|print| print.to_be_bytes());
        let known = changes.known.iter().flat_map(|(_, print)| print.to_be_bytes());
        for (bytes, kind) in [(seen.collect::<Vec<u8>>(), LISTED), (known.collect(), KNOWN)] {
            if !bytes.is_empty() {
                batch.insert(self.seen.made()?, row(changes.sequence, kind).as_slice(), bytes);
            }
        }
        for (_, print) in &changes.known {
            batch.insert(self.known.made()?, print.to_be_bytes().as_slice(), [].as_slice());
        }
        Ok(())
    }

    /// How many URLs are known, roughly and not more: without those in the write buffers.
    pub fn seen_at_least(&self) -> usize {
        self.seen.there().map_or(0, |keyspace| (keyspace.disk_space() / 8) as usize)
    }

    /// Hands the fingerprints of all known URLs to `each`, many at a time and each as eight bytes, the highest first,
    /// and whether [`Self::knows`] would find them.
    pub fn each_seen(
        &self,
        mut each: impl FnMut(&[[u8; 8]], bool) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for guard in self.seen.iter() {
            let (key, prints) = guard.into_inner()?;
            let (prints, rest) = prints.as_chunks::<8>();
            if !rest.is_empty() {
                return Err(StoreError::Damaged("list of known URLs"));
            }
            each(prints, key.last() == Some(&KNOWN))?;
        }
        Ok(())
    }

    /// Whether a URL that the seen-set had no room for is known.
    pub fn knows(&self, print: u64) -> Result<bool, StoreError> {
        Ok(self.known.contains_key(print.to_be_bytes())?)
    }

    /// Makes fingerprints known that are in the log alone: the seen-set has become too small for them.
    pub fn add_known(&self, prints: &[u64]) -> Result<(), StoreError> {
        let mut batch = self.batch(prints.len());
        for print in prints {
            batch.insert(self.known.made()?, print.to_be_bytes().as_slice(), [].as_slice());
        }
        Ok(batch.commit()?)
    }

    /// The same as [`Self::knows`] for a URL of a cluster's partition.
    pub fn knows_in(&self, partition: PartitionId, print: u64) -> Result<bool, StoreError> {
        Ok(self.known.contains_key(known_in(partition, print))?)
    }

    /// Makes fingerprints of a partition known that its seen-set has no room for. They need not be durable: they are
    /// looked for again when the partition is opened.
    pub(super) fn add_known_in(&self, partition: PartitionId, prints: &[u64]) -> Result<(), StoreError> {
        let mut batch = self.batch(prints.len()).durability(None);
        for print in prints {
            batch.insert(self.known.made()?, known_in(partition, *print).as_slice(), [].as_slice());
        }
        Ok(batch.commit()?)
    }
}
