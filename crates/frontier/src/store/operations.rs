//! What a commit writes, as a list of operations. A crawl on one machine writes them straight into one batch; in a
//! cluster they are sorted by partition first, because each partition has a log of its own.
//!
//! A partition's commit comes in two steps: what was found, then what was done. Between the two a node may die, so what
//! is found must be whole without what is done: a URL that was found and ended in one commit is found first all the same.

use std::collections::BTreeMap;

use lycosa_types::PartitionId;

use super::StoreError;

/// Bytes of a partition's number at the start of a key.
pub(super) const PARTITION_BYTES: usize = 2;

/// A keyspace whose keys begin with the partition. The numbers are written into logs and snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Urls = 1,
    Queue = 2,
    Hosts = 3,
    Rules = 4,
    Signatures = 5,
    Courses = 6,
    Due = 7,
    History = 8,
    Claims = 9,
    Placing = 10,
}

impl Space {
    pub(super) const ALL: [Self; 10] = [
        Self::Urls,
        Self::Queue,
        Self::Hosts,
        Self::Rules,
        Self::Signatures,
        Self::Courses,
        Self::Due,
        Self::History,
        Self::Claims,
        Self::Placing,
    ];

    pub(super) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|space| *space as u8 == tag)
    }
}

/// The step of a commit that an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Found,
    /// Found, and overtaken by what was done in the same commit: of no interest once both are written.
    Overtaken,
    Done,
}

/// Where operations go.
pub(super) trait Sink {
    /// Whether operations that are overtaken within the commit are wanted.
    const WANTS_OVERTAKEN: bool;

    fn put(&mut self, step: Step, space: Space, key: &[u8], value: Vec<u8>) -> Result<(), StoreError>;

    fn copy(&mut self, step: Step, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    fn remove(&mut self, step: Step, space: Space, key: &[u8]) -> Result<(), StoreError>;
}

/// A key with its new value, or none if it goes. The key is the keyspace's number and what follows the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
    /// Goes into the log alone: what is done in the same commit writes the key anew.
    pub overtaken: bool,
}

/// A partition's share of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionOperations {
    pub found: Vec<Operation>,
    pub done: Vec<Operation>,
}

/// A commit of a cluster's node, by partition.
pub type Operations = BTreeMap<PartitionId, PartitionOperations>;

/// Sorts operations by partition.
#[derive(Default)]
pub(super) struct PartitionSink {
    pub operations: Operations,
}

impl PartitionSink {
    fn add(&mut self, step: Step, space: Space, key: &[u8], value: Option<Vec<u8>>) {
        let Some((partition, rest)) = key.split_first_chunk::<PARTITION_BYTES>() else { return };
        let mut tagged = Vec::with_capacity(1 + rest.len());
        tagged.push(space as u8);
        tagged.extend_from_slice(rest);
        let part = self.operations.entry(PartitionId(u16::from_be_bytes(*partition))).or_default();
        let overtaken = step == Step::Overtaken;
        let list = if step == Step::Done { &mut part.done } else { &mut part.found };
        list.push(Operation { key: tagged, value, overtaken });
    }
}

impl Sink for PartitionSink {
    const WANTS_OVERTAKEN: bool = true;

    fn put(&mut self, step: Step, space: Space, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        self.add(step, space, key, Some(value));
        Ok(())
    }

    fn copy(&mut self, step: Step, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.add(step, space, key, Some(value.to_vec()));
        Ok(())
    }

    fn remove(&mut self, step: Step, space: Space, key: &[u8]) -> Result<(), StoreError> {
        self.add(step, space, key, None);
        Ok(())
    }
}
