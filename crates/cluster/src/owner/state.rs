//! A partition's state, as this crate sees it: keys and values, and how far the log has been taken in.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lycosa_types::PartitionId;

use crate::wire::Change;

/// How far a state has come: the last record of `log` and the last message of `in` that are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub log: u64,
    pub consumed: u64,
}

/// An error of the state's own.
pub type StateError = Box<dyn std::error::Error + Send + Sync>;

/// All pairs of a partition at one instant, with the position they belong to.
pub struct Dump {
    pub position: Position,
    pub pairs: Box<dyn Iterator<Item = Result<(Bytes, Bytes), StateError>> + Send>,
}

impl std::fmt::Debug for Dump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dump").field("position", &self.position).finish_non_exhaustive()
    }
}

/// The working copy of the partitions of one node. Keys begin where the partition's own begin: the partition's number
/// need not be in them.
///
/// The log is the truth; this copy is what is worked with. It must never hold what is not in the log: changes are
/// written here after [`append`](crate::owner::Owner::append) has returned, in one atomic step with the position it returned.
pub trait PartitionState: Send + Sync + 'static {
    /// How far the copy of this partition has come; none if there is no complete one.
    fn position(&self, partition: PartitionId) -> Result<Option<Position>, StateError>;

    /// Forgets the partition, position first.
    fn clear(&self, partition: PartitionId) -> Result<(), StateError>;

    /// Writes changes. With a position: atomically with it, durable when this returns. Without: part of a load that is
    /// under way; the position stays what it was, or missing.
    fn apply(
        &self,
        partition: PartitionId,
        changes: &[Change],
        position: Option<Position>,
    ) -> Result<(), StateError>;

    /// Everything the partition holds, as of now, whatever is written meanwhile.
    fn dump(&self, partition: PartitionId) -> Result<Dump, StateError>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Copy {
    pairs: BTreeMap<Bytes, Bytes>,
    position: Option<Position>,
}

/// A state in memory, for tests and for roles that keep no disk.
#[derive(Debug, Default)]
pub struct MemoryState {
    copies: Mutex<BTreeMap<PartitionId, Copy>>,
}

impl MemoryState {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PartitionId, Copy>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, partition: PartitionId, key: &[u8]) -> Option<Bytes> {
        self.lock().get(&partition)?.pairs.get(key).cloned()
    }

    /// All pairs of a partition, in order.
    pub fn pairs(&self, partition: PartitionId) -> Vec<(Bytes, Bytes)> {
        let copies = self.lock();
        let pairs = copies.get(&partition).map(|copy| copy.pairs.iter());
        pairs.into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

impl PartitionState for MemoryState {
    fn position(&self, partition: PartitionId) -> Result<Option<Position>, StateError> {
        Ok(self.lock().get(&partition).and_then(|copy| copy.position))
    }

    fn clear(&self, partition: PartitionId) -> Result<(), StateError> {
        self.lock().remove(&partition);
        Ok(())
    }

    fn apply(
        &self,
        partition: PartitionId,
        changes: &[Change],
        position: Option<Position>,
    ) -> Result<(), StateError> {
        let mut copies = self.lock();
        let copy = copies.entry(partition).or_default();
        for change in changes {
            match &change.value {
                Some(value) => copy.pairs.insert(change.key.clone(), value.clone()),
                None => copy.pairs.remove(&change.key),
            };
        }
        copy.position = position.or(copy.position);
        Ok(())
    }

    fn dump(&self, partition: PartitionId) -> Result<Dump, StateError> {
        let copy = self.lock().get(&partition).cloned().unwrap_or_default();
        Ok(Dump {
            position: copy.position.unwrap_or_default(),
            pairs: Box::new(copy.pairs.into_iter().map(Ok)),
        })
    }
}
