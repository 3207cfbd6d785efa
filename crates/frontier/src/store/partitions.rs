//! Partitions as wholes: written with a position of their own, forgotten, read out, counted. Only nodes of a cluster
//! need this; a crawl on one machine has all partitions all the time.
//!
//! A position says how far a partition's log is in this store. It is written in one batch with what it stands for.

use fjall::{OwnedWriteBatch, Readable};
use lycosa_types::{PartitionId, UrlId, UrlRecord};

use super::heap::Writer;
use super::long_rows::value_of;
use super::operations::{Operations, PARTITION_BYTES, PartitionSink, Space};
use super::seen_log::known_in;
use super::{Changes, Mark, Store, StoreError, codec};
use crate::frontier::Done;

/// Keys removed in one batch when a partition is forgotten.
const CLEAR_BATCH: usize = 16_384;

/// What is written for one partition: its operations and the position they lead to.
#[derive(Clone, Copy, Debug)]
pub struct PartitionWrite<'a> {
    pub partition: PartitionId,
    pub position: &'a [u8],
    /// Keys as in [`super::Operation`], each once.
    pub operations: &'a [(&'a [u8], Option<&'a [u8]>)],
}

/// All pairs of a partition at one instant.
pub type Pairs = Box<dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>> + Send>;

fn position_key(partition: PartitionId) -> [u8; 11] {
    let mut key = *b"position/__";
    key[9..].copy_from_slice(&partition.0.to_be_bytes());
    key
}

fn full_key(partition: PartitionId, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(PARTITION_BYTES + rest.len());
    key.extend(partition.0.to_be_bytes());
    key.extend_from_slice(rest);
    key
}

/// The keyspace of an operation, and its key without the partition.
fn untagged(key: &[u8]) -> Option<(Space, &[u8])> {
    let (tag, rest) = key.split_first()?;
    Some((Space::from_tag(*tag)?, rest))
}

fn check_keys(operations: &[(&[u8], Option<&[u8]>)]) -> Result<(), StoreError> {
    let are_good = operations.iter().all(|(key, _)| untagged(key).is_some());
    are_good.then_some(()).ok_or(StoreError::Damaged("key of a partition"))
}

impl Store {
    /// What [`Store::commit`] would write, by partition. Prints and marks are the node's own and not in it.
    pub fn operations(&self, done: &[Done], changes: &Changes) -> Result<Operations, StoreError> {
        let mut sink = PartitionSink::default();
        self.collect(done, changes, &mut sink)?;
        Ok(sink.operations)
    }

    /// Writes the shares of several partitions, and what is the node's own, in one atomic, durable batch. Prints of
    /// pages in other partitions, and what is known of those, are left out: they are not done here.
    pub fn commit_partitions(
        &self,
        writes: &[PartitionWrite<'_>],
        changes: &Changes,
        marks: &[Mark],
    ) -> Result<(), StoreError> {
        for write in writes {
            check_keys(write.operations)?;
        }
        let size = writes.iter().map(|write| write.operations.len() + 1).sum::<usize>() + 8;
        let mut batch = self.batch(size);
        let here = |partition: PartitionId| writes.iter().any(|write| write.partition == partition);
        self.guarded(|| {
            let mut writer = self.heap.writer();
            for write in writes {
                self.write_partition(&mut batch, &mut writer, write)?;
            }
            for (digest, id) in changes.prints.iter().filter(|(_, id)| here(id.partition)) {
                let (digest, id) = (digest.0.to_be_bytes(), id.to_bytes());
                batch.insert(self.prints.made()?, digest.as_slice(), id.as_slice());
            }
            for &(partition, print) in changes.known.iter().filter(|(partition, _)| here(*partition)) {
                batch.insert(self.known.made()?, known_in(partition, print).as_slice(), [].as_slice());
            }
            self.write_marks(&mut batch, changes, marks)?;
            self.commit_with_values(batch, &mut writer, true)
        })
    }

    /// Writes operations of one partition. With a position: durable when this returns.
    pub fn apply_partition(
        &self,
        partition: PartitionId,
        operations: &[(&[u8], Option<&[u8]>)],
        position: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        // What comes from elsewhere is looked at before anything is written: a key that cannot be is no failed write.
        check_keys(operations)?;
        let mut batch = self.batch(operations.len() + 1);
        self.guarded(|| {
            let mut writer = self.heap.writer();
            match position {
                Some(position) => {
                    let write = PartitionWrite { partition, position, operations };
                    self.write_partition(&mut batch, &mut writer, &write)?;
                }
                None => {
                    batch = batch.durability(None);
                    self.write_operations(&mut batch, &mut writer, partition, operations)?;
                }
            }
            self.commit_with_values(batch, &mut writer, position.is_some())
        })
    }

    fn write_partition(
        &self,
        batch: &mut OwnedWriteBatch,
        writer: &mut Writer,
        write: &PartitionWrite<'_>,
    ) -> Result<(), StoreError> {
        self.write_operations(batch, writer, write.partition, write.operations)?;
        batch.insert(self.meta.made()?, position_key(write.partition).as_slice(), write.position);
        Ok(())
    }

    fn write_operations(
        &self,
        batch: &mut OwnedWriteBatch,
        writer: &mut Writer,
        partition: PartitionId,
        operations: &[(&[u8], Option<&[u8]>)],
    ) -> Result<(), StoreError> {
        for (key, value) in operations {
            let Some((space, rest)) = untagged(key) else { continue };
            let key = full_key(partition, rest);
            if space == Space::Signatures {
                self.discard_long(writer, &key)?;
            }
            match value {
                Some(value) if space == Space::Signatures => self.put_long(batch, writer, &key, value)?,
                Some(value) => batch.insert(self.space(space).made()?, key, *value),
                None => batch.remove(self.space(space).made()?, key),
            }
        }
        Ok(())
    }

    /// How far a partition has come; none if this store has no complete copy of it.
    pub fn position(&self, partition: PartitionId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.meta.get(position_key(partition))?.map(|bytes| bytes.to_vec()))
    }

    /// Forgets a partition, its position first.
    pub fn clear_partition(&self, partition: PartitionId) -> Result<(), StoreError> {
        self.guarded(|| {
            let mut batch = self.batch(1);
            batch.remove(self.meta.made()?, position_key(partition).as_slice());
            batch.commit()?;
            let spaces = Space::ALL
                .iter()
                .filter_map(|space| Some((self.space(*space).there()?, *space == Space::Signatures)));
            for (keyspace, is_long) in spaces.chain(self.known.there().map(|known| (known, false))) {
                loop {
                    let mut writer = self.heap.writer();
                    let keys = keyspace.prefix(partition.0.to_be_bytes()).take(CLEAR_BATCH);
                    let keys = keys.map(|guard| guard.key()).collect::<Result<Vec<_>, _>>()?;
                    let mut batch = self.batch(keys.len()).durability(None);
                    let count = keys.len();
                    for key in keys {
                        if is_long {
                            self.discard_long(&mut writer, &key)?;
                        }
                        batch.remove(keyspace, key);
                    }
                    self.commit_with_values(batch, &mut writer, false)?;
                    if count < CLEAR_BATCH {
                        break;
                    }
                }
            }
            self.persist()
        })
    }

    /// Everything a partition holds and the position it belongs to, as of now, whatever is written meanwhile.
    pub fn dump_partition(&self, partition: PartitionId) -> Result<(Option<Vec<u8>>, Pairs), StoreError> {
        let (snapshot, files) = {
            let _writer = self.heap.writer();
            (self.db.snapshot(), self.heap.files())
        };
        let position = snapshot.get(self.meta.made()?, position_key(partition))?.map(|bytes| bytes.to_vec());
        let prefix = partition.0.to_be_bytes();
        let spaces =
            Space::ALL.into_iter().filter_map(|space| Some((space, self.space(space).there()?.clone())));
        let spaces: Vec<_> = spaces.collect();
        let pairs = spaces.into_iter().flat_map(move |(space, keyspace)| {
            let files = files.clone();
            snapshot.prefix(&keyspace, prefix).filter_map(move |guard| {
                let pair = || {
                    let (key, row) = guard.into_inner()?;
                    let rest = key.get(PARTITION_BYTES..).ok_or(StoreError::Damaged("key of a partition"))?;
                    let mut tagged = Vec::with_capacity(1 + rest.len());
                    tagged.push(space as u8);
                    tagged.extend_from_slice(rest);
                    let value = match space {
                        Space::Signatures => value_of(&files, &key, &row)?,
                        _ => Some(row.to_vec()),
                    };
                    Ok(value.map(|value| (tagged, value)))
                };
                pair().transpose()
            })
        });
        Ok((position, Box::new(pairs)))
    }

    /// Every visited URL of a partition.
    pub fn partition_urls(
        &self,
        partition: PartitionId,
    ) -> impl Iterator<Item = Result<(UrlId, UrlRecord), StoreError>> + '_ {
        self.urls.prefix(partition.0.to_be_bytes()).map(|guard| {
            let (key, value) = guard.into_inner()?;
            let id = UrlId::from_bytes(&key).ok_or(StoreError::Damaged("url key"))?;
            Ok((id, codec::decode_url(&value)?))
        })
    }
}
