//! Ownership of one partition: open, load, append, snapshot, close; and being refused once somebody else has it.
//!
//! | module | noun |
//! | --- | --- |
//! | [`state`] | the working copy, behind a trait |
//! | [`load`] | snapshot and log become a working copy again |
//! | [`snapshot`] | a working copy becomes objects, and the log behind it goes |
//! | [`survey`] | what a stretch of the log holds, where its last record does not tell |
//!
//! The log is the truth. Opening a partition writes the first record of a new epoch, and every record names the one
//! before it; so from that moment on whoever owned it before is refused by the server, however late it comes back.

pub mod load;
mod snapshot;
pub mod state;
mod survey;

use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::time::sleep;

pub use snapshot::store_snapshot;
pub use state::{Dump, MemoryState, PartitionState, Position, StateError};

use crate::bus::{Bus, BusError, Lane};
use crate::name::NodeId;
use crate::wire::record::split;
use crate::wire::{Body, Change, Header, Piece, Record, SnapshotRef, WireError};
use survey::survey;

/// First and longest pause before a call that failed is made again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error("partition {partition} belongs to somebody else since epoch {epoch}; stop working on it")]
    Fenced { partition: PartitionId, epoch: u64 },
    #[error("partition {0} is still being handed over by its former owner")]
    Waiting(PartitionId),
    #[error("the note of the snapshot of partition {partition} cannot be read: {error}")]
    Damaged { partition: PartitionId, error: WireError },
    #[error(
        "the snapshot of partition {partition} lacks its part {part}, or it is damaged; restore the bucket"
    )]
    Snapshot { partition: PartitionId, part: usize },
    #[error("the change cannot travel: {0}")]
    Change(#[from] WireError),
    #[error("the state of the partition failed: {0}")]
    State(StateError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// Pauses that grow, for calls that are made until they succeed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Backoff {
    pub async fn pause(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

/// An open partition.
#[derive(Debug)]
pub struct Owner<B> {
    bus: B,
    partition: PartitionId,
    epoch: u64,
    /// Sequence of the last record of the log.
    last: u64,
    /// Records written in this epoch.
    number: u64,
    consumed: u64,
    /// Sequence of the record that notes the latest snapshot.
    snapshot_record: u64,
    snapshot: Option<SnapshotRef>,
    /// Snapshots made in this epoch.
    snapshots: u64,
    /// What a takeover would have to replay.
    replay_records: u64,
    replay_bytes: u64,
    /// Messages of the log that are no records and were passed over.
    unreadable: u64,
}

impl<B: Bus> Owner<B> {
    /// Opens a partition in an epoch that the table gave to this node. `wait` for the former owner to close it.
    pub async fn open(
        bus: &B,
        partition: PartitionId,
        epoch: u64,
        node: &NodeId,
        wait: bool,
    ) -> Result<Self, OwnerError> {
        let mut backoff = Backoff::default();
        loop {
            let last = match bus.last(partition, Lane::Log).await {
                Ok(last) => last,
                Err(error) if error.is_transient() => {
                    backoff.pause().await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let mut owner = Self {
                bus: bus.clone(),
                partition,
                epoch,
                last: 0,
                number: 0,
                consumed: 0,
                snapshot_record: 0,
                snapshot: None,
                snapshots: 0,
                replay_records: 0,
                replay_bytes: 0,
                unreadable: 0,
            };
            if let Some(message) = last {
                owner.last = message.sequence;
                let found = match Record::decode(&message.body) {
                    Ok(record) if record.header.epoch != epoch => Some((message.sequence, record)),
                    // No record, or one of the very term that is to be opened: the log tells more.
                    _ => {
                        let survey = survey(bus, partition, 0, message.sequence, epoch).await?;
                        owner.unreadable += survey.unreadable;
                        if survey.opener.is_some_and(|opener| opener != node.to_string()) {
                            return Err(OwnerError::Fenced { partition, epoch });
                        }
                        survey.last
                    }
                };
                if let Some((sequence, record)) = found {
                    owner.consumed = record.header.consumed;
                    owner.snapshot_record = match &record.body {
                        Body::Snapshot(_) => sequence,
                        _ => record.header.snapshot,
                    };
                    if record.header.epoch > epoch {
                        return Err(OwnerError::Fenced { partition, epoch: record.header.epoch });
                    }
                    if record.header.epoch == epoch {
                        // Our own term: the answer to an earlier try was lost, or we lost the partition and nobody else
                        // was given it.
                        owner.number = record.header.number + 1;
                        let opened = record.body == Body::Opened { node: node.to_string() };
                        if opened && sequence == message.sequence {
                            return Ok(owner);
                        }
                    } else if wait && record.body != Body::Closed {
                        return Err(OwnerError::Waiting(partition));
                    }
                }
            }
            let body = owner.encode(Body::Opened { node: node.to_string() }, owner.consumed)?;
            match bus.append(partition, owner.last, body).await {
                Ok(sequence) => {
                    owner.last = sequence;
                    owner.number += 1;
                    return Ok(owner);
                }
                // Somebody wrote, or the answer to our own try was lost: the log tells.
                Err(BusError::Fenced { .. }) => {}
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error.into()),
            }
            backoff.pause().await;
        }
    }

    pub fn partition(&self) -> PartitionId {
        self.partition
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn position(&self) -> Position {
        Position { log: self.last, consumed: self.consumed }
    }

    /// Records and bytes that a new owner would have to replay: when to take a snapshot.
    pub fn replay(&self) -> (u64, u64) {
        (self.replay_records, self.replay_bytes)
    }

    /// The number under which the next snapshot of this epoch is stored.
    pub fn next_snapshot(&self) -> u64 {
        self.snapshots + 1
    }

    /// How many messages of the log were passed over, because they are no records, since this was asked last.
    pub fn take_unreadable(&mut self) -> u64 {
        std::mem::take(&mut self.unreadable)
    }

    fn encode(&self, body: Body, consumed: u64) -> Result<Bytes, OwnerError> {
        let header =
            Header { epoch: self.epoch, number: self.number, consumed, snapshot: self.snapshot_record };
        Ok(Record { header, body }.encode()?)
    }

    /// Makes changes durable, and with them that `in` was taken in up to `consumed`. All of it or, after a crash,
    /// none of it. Tries until it knows: [`OwnerError::Fenced`] means that nothing was written and never will be.
    pub async fn append(
        &mut self,
        changes: &[Change],
        consumed: Option<u64>,
    ) -> Result<Position, OwnerError> {
        let after = consumed.unwrap_or(0).max(self.consumed);
        let pieces = split(changes)?;
        for (index, &piece) in pieces.iter().enumerate() {
            let consumed = if index + 1 == pieces.len() { after } else { self.consumed };
            let body = Body::Changes { changes: piece.to_vec(), piece: Piece::of(index, pieces.len()) };
            let body = self.encode(body, consumed)?;
            self.write(body).await?;
        }
        self.consumed = after;
        Ok(self.position())
    }

    /// Says that this node is done with the partition; the next owner may have it at once.
    pub async fn close(mut self) -> Result<(), OwnerError> {
        let body = self.encode(Body::Closed, self.consumed)?;
        self.write(body).await
    }

    /// Writes one record behind the last one.
    async fn write(&mut self, body: Bytes) -> Result<(), OwnerError> {
        let mut backoff = Backoff::default();
        let bytes = body.len() as u64;
        let sequence = loop {
            match self.bus.append(self.partition, self.last, body.clone()).await {
                Ok(sequence) => break sequence,
                Err(BusError::Fenced { .. }) => match self.who_wrote(&body).await? {
                    Wrote::We(sequence) => break sequence,
                    Wrote::Nobody => backoff.pause().await,
                    Wrote::NoRecord { sequence, unreadable } => {
                        tracing::error!(partition = %self.partition, sequence, unreadable, "the log holds bytes that are no record; they are passed over");
                        self.last = sequence;
                        self.unreadable += unreadable;
                    }
                    Wrote::Another { epoch } => {
                        return Err(OwnerError::Fenced { partition: self.partition, epoch });
                    }
                },
                Err(error @ BusError::Full(_)) => return Err(error.into()),
                Err(error) if error.is_transient() => backoff.pause().await,
                Err(error) => return Err(error.into()),
            }
        };
        self.last = sequence;
        self.number += 1;
        self.replay_records += 1;
        self.replay_bytes += bytes;
        Ok(())
    }

    /// After a refusal: who wrote behind our last record. The server also refuses while an earlier try of ours is on its way
    /// through Raft: then nobody has written yet, and the same append is to be made again until it is decided.
    async fn who_wrote(&self, body: &Bytes) -> Result<Wrote, OwnerError> {
        let mut backoff = Backoff::default();
        loop {
            match self.bus.last(self.partition, Lane::Log).await {
                // An older one is an answer of a server that is behind.
                Ok(Some(message)) if message.sequence <= self.last => return Ok(Wrote::Nobody),
                Ok(Some(message)) if message.body == *body => return Ok(Wrote::We(message.sequence)),
                Ok(Some(message)) => match Record::decode(&message.body) {
                    Ok(record) => return Ok(Wrote::Another { epoch: record.header.epoch }),
                    Err(_) => return self.behind_no_record(message.sequence, body).await,
                },
                Ok(None) => return Ok(Wrote::Nobody),
                Err(error) if error.is_transient() => backoff.pause().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The last message of the log, `sequence`, is no record: what stands between it and our last record tells.
    async fn behind_no_record(&self, sequence: u64, body: &Bytes) -> Result<Wrote, OwnerError> {
        let survey = survey(&self.bus, self.partition, self.last + 1, sequence, self.epoch).await?;
        let unreadable = survey.unreadable;
        match survey.last {
            None => Ok(Wrote::NoRecord { sequence, unreadable }),
            // Our own record had landed before those bytes: later records go behind them.
            Some((_, record)) if record.encode().is_ok_and(|bytes| bytes == *body) => Ok(Wrote::We(sequence)),
            Some((_, record)) => Ok(Wrote::Another { epoch: record.header.epoch }),
        }
    }
}

/// Who wrote the record behind our last one.
enum Wrote {
    We(u64),
    Nobody,
    /// Bytes that are no record, up to that sequence: no owner wrote them, so they fence nobody.
    NoRecord {
        sequence: u64,
        unreadable: u64,
    },
    Another {
        epoch: u64,
    },
}

#[cfg(test)]
mod tests;
