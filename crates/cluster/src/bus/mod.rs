//! The bus: streams with a fence, keys with revisions, objects with checksums.
//!
//! | module | noun |
//! | --- | --- |
//! | [`asking`] | questions to one node, and its answers |
//! | [`memory`] | a server in this process, with faults on demand and none by chance |
//! | [`nats`] | NATS JetStream |
//!
//! Both keep one contract, and one suite of tests runs against both:
//! - What was acknowledged is durable. What failed with [`BusError::Unavailable`] may or may not have happened.
//! - Sequences of a partition grow; both lanes count together. A reader sees a lane in order, without holes, and may see a
//!   message twice.
//! - [`Bus::append`] succeeds only if the expected sequence is that of the last record of the log: that is the fence.
//! - [`Bus::create`] and [`Bus::update`] succeed for one caller only.

pub mod asking;
pub mod memory;
pub mod nats;

use std::future::Future;

use bytes::Bytes;
use lycosa_types::PartitionId;

/// Largest object.
pub const MAX_OBJECT_BYTES: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("partition {partition} has another owner: its log went on after record {expected}")]
    Fenced { partition: PartitionId, expected: u64 },
    #[error("the key {0:?} was changed by somebody else")]
    Conflict(String),
    #[error("partition {0} takes in no more messages until its owner has caught up")]
    Full(PartitionId),
    #[error("the bus cannot be reached or did not answer ({0}); it is tried again")]
    Unavailable(String),
    #[error("no NATS server can be reached ({0}); check the address, or start the server first")]
    Unreachable(String),
    #[error("the object {0:?} is damaged: its checksum is wrong")]
    Damaged(String),
    #[error("the bus refuses this: {0}")]
    Refused(String),
}

impl BusError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Full(_))
    }
}

/// The two subjects of a partition's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Batches of links from anyone.
    In,
    /// What the owner did.
    Log,
}

impl Lane {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Log => "log",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub sequence: u64,
    pub body: Bytes,
}

/// A key's value, and the number that the next update must name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    pub value: Bytes,
    pub revision: u64,
}

/// A change of a key; no value if it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUpdate {
    pub key: String,
    pub value: Option<Bytes>,
    pub revision: u64,
}

/// Which keys are watched. Names are made of words with dots between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'a> {
    One(&'a str),
    /// All keys that start with this word and a dot.
    Under(&'a str),
}

impl Keys<'_> {
    pub fn matches(&self, key: &str) -> bool {
        match self {
            Self::One(one) => key == *one,
            Self::Under(word) => key.strip_prefix(word).is_some_and(|rest| rest.starts_with('.')),
        }
    }
}

/// Reads a lane. After an error it is dropped and another one asked for.
pub trait Reader: Send {
    /// The next message, as soon as there is one.
    fn next(&mut self) -> impl Future<Output = Result<Message, BusError>> + Send;
}

/// Watches keys: first all that are there, then every change. After an error it is dropped and another one asked for.
pub trait Watcher: Send {
    fn next(&mut self) -> impl Future<Output = Result<KeyUpdate, BusError>> + Send;
}

/// A connection to the bus of one crawl.
pub trait Bus: Clone + Send + Sync + 'static {
    type Reader: Reader;
    type Watcher: Watcher;

    /// Makes the streams and buckets of the crawl where they are missing.
    fn prepare(&self, partitions: u16) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Puts a message into `in`. The same `id` again within two minutes is taken once.
    fn publish(
        &self,
        partition: PartitionId,
        id: &str,
        body: Bytes,
    ) -> impl Future<Output = Result<u64, BusError>> + Send;

    /// Puts a record into `log` if `expected` is the sequence of its last one (0: it is empty).
    fn append(
        &self,
        partition: PartitionId,
        expected: u64,
        body: Bytes,
    ) -> impl Future<Output = Result<u64, BusError>> + Send;

    /// The last message of a lane, as the server that takes the writes knows it.
    fn last(
        &self,
        partition: PartitionId,
        lane: Lane,
    ) -> impl Future<Output = Result<Option<Message>, BusError>> + Send;

    /// One message by its sequence.
    fn message(
        &self,
        partition: PartitionId,
        sequence: u64,
    ) -> impl Future<Output = Result<Option<Message>, BusError>> + Send;

    /// Reads a lane from the first message whose sequence is at least `from`.
    fn read(
        &self,
        partition: PartitionId,
        lane: Lane,
        from: u64,
    ) -> impl Future<Output = Result<Self::Reader, BusError>> + Send;

    /// Drops the messages of a lane whose sequences are below.
    fn purge(
        &self,
        partition: PartitionId,
        lane: Lane,
        below: u64,
    ) -> impl Future<Output = Result<(), BusError>> + Send;

    fn get(&self, key: &str) -> impl Future<Output = Result<Option<KeyValue>, BusError>> + Send;

    fn create(&self, key: &str, value: Bytes) -> impl Future<Output = Result<u64, BusError>> + Send;

    fn update(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> impl Future<Output = Result<u64, BusError>> + Send;

    /// Sets a key that nobody else writes.
    fn put(&self, key: &str, value: Bytes) -> impl Future<Output = Result<u64, BusError>> + Send;

    fn delete(&self, key: &str) -> impl Future<Output = Result<(), BusError>> + Send;

    fn watch(&self, keys: Keys<'_>) -> impl Future<Output = Result<Self::Watcher, BusError>> + Send;

    fn put_object(&self, name: &str, body: Bytes) -> impl Future<Output = Result<(), BusError>> + Send;

    fn get_object(&self, name: &str) -> impl Future<Output = Result<Option<Bytes>, BusError>> + Send;

    /// Deletes an object; one that is not there is no error.
    fn delete_object(&self, name: &str) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Names of objects that start so.
    fn objects(&self, prefix: &str) -> impl Future<Output = Result<Vec<String>, BusError>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_whole() {
        assert!(Keys::Under("member").matches("member.a.1"));
        assert!(!Keys::Under("member").matches("members.a"));
        assert!(!Keys::Under("member").matches("member"));
        assert!(Keys::One("table").matches("table") && !Keys::One("table").matches("table.x"));
    }
}
