//! The store as the cluster sees it: partitions of keys and values, each with the position its log has reached.
//!
//! Promise: what a commit of an earlier stay has still to write is not written over what a later stay has loaded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use foldhash::{HashMap, HashSet};
use lycosa_cluster::owner::StateError;
use lycosa_cluster::{Change, Dump, PartitionState, Position};
use lycosa_frontier::store::{Mark, PartitionWrite};
use lycosa_frontier::{Changes, Store, StoreError};
use lycosa_types::PartitionId;

#[derive(Debug)]
pub struct PartitionStore {
    store: Arc<Store>,
    /// Partitions that are being loaded. Whoever writes to partitions holds this.
    loading: Mutex<HashSet<PartitionId>>,
}

/// A partition's share of a commit, to be written here.
#[derive(Debug)]
pub struct Share {
    pub partition: PartitionId,
    pub position: Position,
    /// Each key once.
    pub changes: Vec<Change>,
}

impl PartitionStore {
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, loading: Mutex::default() }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<PartitionId>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what the logs hold already, with what is the node's own. A share that a later stay has overtaken is left out.
    pub fn commit(&self, shares: &[Share], changes: &Changes, marks: &[Mark]) -> Result<(), StoreError> {
        let loading = self.lock();
        let mut operations = Vec::with_capacity(shares.len());
        for share in shares {
            let stored = self.store.position(share.partition)?.and_then(|bytes| decode(&bytes));
            let overtaken = stored.is_none_or(|stored| stored.log >= share.position.log);
            if overtaken || loading.contains(&share.partition) {
                tracing::debug!(partition = %share.partition, "a commit of an earlier stay is not written");
                continue;
            }
            let pairs: Vec<_> =
                share.changes.iter().map(|change| (&*change.key, change.value.as_deref())).collect();
            operations.push((share.partition, encode(share.position), pairs));
        }
        let writes: Vec<PartitionWrite<'_>> = operations
            .iter()
            .map(|(partition, position, operations)| PartitionWrite {
                partition: *partition,
                position,
                operations,
            })
            .collect();
        self.store.commit_partitions(&writes, changes, marks)
    }
}

fn encode(position: Position) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&position.log.to_be_bytes());
    out[8..].copy_from_slice(&position.consumed.to_be_bytes());
    out
}

fn decode(bytes: &[u8]) -> Option<Position> {
    let (log, consumed) = bytes.split_first_chunk::<8>()?;
    let consumed = <[u8; 8]>::try_from(consumed).ok()?;
    Some(Position { log: u64::from_be_bytes(*log), consumed: u64::from_be_bytes(consumed) })
}

/// The last change of each key: a batch must not write a key twice.
fn last_of_each(changes: &[Change]) -> Vec<(&[u8], Option<&[u8]>)> {
    let mut last: HashMap<&[u8], Option<&[u8]>> = HashMap::default();
    last.extend(changes.iter().map(|change| (&*change.key, change.value.as_deref())));
    last.into_iter().collect()
}

impl PartitionState for PartitionStore {
    fn position(&self, partition: PartitionId) -> Result<Option<Position>, StateError> {
        // Asked once, when a load begins.
        let mut loading = self.lock();
        loading.insert(partition);
        Ok(self.store.position(partition)?.and_then(|bytes| decode(&bytes)))
    }

    fn clear(&self, partition: PartitionId) -> Result<(), StateError> {
        let mut loading = self.lock();
        loading.insert(partition);
        Ok(self.store.clear_partition(partition)?)
    }

    fn apply(
        &self,
        partition: PartitionId,
        changes: &[Change],
        position: Option<Position>,
    ) -> Result<(), StateError> {
        let mut loading = self.lock();
        let position = position.map(encode);
        let position = position.as_ref().map(<[u8; 16]>::as_slice);
        self.store.apply_partition(partition, &last_of_each(changes), position)?;
        if position.is_some() {
            loading.remove(&partition);
        }
        Ok(())
    }

    fn dump(&self, partition: PartitionId) -> Result<Dump, StateError> {
        let (position, pairs) = self.store.dump_partition(partition)?;
        let position = position.and_then(|bytes| decode(&bytes)).unwrap_or_default();
        let pairs = pairs.map(|pair| {
            let (key, value) = pair?;
            Ok((Bytes::from(key), Bytes::from(value)))
        });
        Ok(Dump { position, pairs: Box::new(pairs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (tempfile::TempDir, PartitionStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&dir.path().join("state"), 32 << 20).unwrap());
        (dir, PartitionStore::new(store))
    }

    fn put(key: &str, value: &str) -> Change {
        // The first byte names the keyspace.
        let mut bytes = vec![1];
        bytes.extend(key.bytes());
        Change::put(bytes, value.as_bytes().to_vec())
    }

    fn pairs(state: &PartitionStore, partition: PartitionId) -> Vec<(Vec<u8>, Vec<u8>)> {
        let dump = state.dump(partition).unwrap();
        dump.pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
    }

    #[test]
    fn what_is_applied_is_dumped_and_partitions_do_not_mix() {
        let (_dir, state) = open();
        let (a, b) = (PartitionId(3), PartitionId(4));
        assert_eq!(state.position(a).unwrap(), None);
        let at = Position { log: 7, consumed: 2 };
        // The later change of a key wins.
        state.apply(a, &[put("x", "1"), put("x", "2"), put("y", "3")], Some(at)).unwrap();
        state.apply(b, &[put("x", "9")], Some(at)).unwrap();
        assert_eq!(state.position(a).unwrap(), Some(at));
        assert_eq!(
            pairs(&state, a),
            [(b"\x01x".to_vec(), b"2".to_vec()), (b"\x01y".to_vec(), b"3".to_vec())]
        );
        state.clear(a).unwrap();
        assert_eq!(state.position(a).unwrap(), None);
        assert!(pairs(&state, a).is_empty());
        assert_eq!(pairs(&state, b).len(), 1);
    }

    #[test]
    fn a_late_commit_does_not_undo_a_load() {
        let (_dir, state) = open();
        let partition = PartitionId(0);
        let at = |log| Position { log, consumed: 0 };
        let share = |log, value| Share { partition, position: at(log), changes: vec![put("x", value)] };
        let value = |state: &PartitionStore| pairs(state, partition)[0].1.clone();
        state.apply(partition, &[put("x", "loaded")], Some(at(5))).unwrap();
        state.commit(&[share(6, "next")], &Changes::default(), &[]).unwrap();
        assert_eq!(value(&state), b"next");
        state.commit(&[share(6, "again")], &Changes::default(), &[]).unwrap();
        assert_eq!(value(&state), b"next");
        // A load has begun: what comes from the stay before it is not written.
        state.position(partition).unwrap();
        state.commit(&[share(9, "late")], &Changes::default(), &[]).unwrap();
        assert_eq!(value(&state), b"next");
    }
}
