//! Snapshots: a working copy in objects of a few megabytes each, and a record in the log that says so.
//!
//! Order: objects durable, then the record (through the fence), then the log and `in` are purged up to what the snapshot
//! holds, then the former snapshot goes. A crash anywhere leaves a log that can be loaded.

use bytes::Bytes;
use lycosa_types::PartitionId;
use xxhash_rust::xxh3::xxh3_64;

use super::{Backoff, Owner, OwnerError, PartitionState};
use crate::bus::{Bus, Lane};
use crate::wire::record::{MAX_CHANGES, MAX_PARTS, put_changes};
use crate::wire::{Body, Change, SnapshotPart, SnapshotRef, WireError};

/// Size of a snapshot's part.
const PART_BYTES: usize = 4 << 20;

pub(super) fn object_prefix(partition: PartitionId) -> String {
    format!("p{partition}.e")
}

pub(super) fn object_name(partition: PartitionId, epoch: u64, number: u64, part: usize) -> String {
    format!("p{partition}.e{epoch}.n{number}.{part}")
}

/// The epoch in which an object was made.
pub(super) fn object_epoch(partition: PartitionId, name: &str) -> Option<u64> {
    name.strip_prefix(&object_prefix(partition))?.split('.').next()?.parse().ok()
}

/// Stores a snapshot of a partition's working copy. It counts only once [`Owner::note_snapshot`] has noted it; until then
/// the partition is worked on as before.
pub async fn store_snapshot<B: Bus, S: PartitionState>(
    bus: &B,
    state: &S,
    partition: PartitionId,
    epoch: u64,
    number: u64,
) -> Result<SnapshotRef, OwnerError> {
    let dump = state.dump(partition).map_err(OwnerError::State)?;
    let mut parts = Vec::new();
    let mut changes: Vec<Change> = Vec::new();
    let mut size = 0;
    let mut pairs = dump.pairs;
    loop {
        let pair = pairs.next().transpose().map_err(OwnerError::State)?;
        let full = size >= PART_BYTES || changes.len() >= MAX_CHANGES;
        if full || (pair.is_none() && !changes.is_empty()) {
            let mut body = Vec::with_capacity(size + 16);
            put_changes(&mut body, &changes)?;
            changes.clear();
            size = 0;
            let body = Bytes::from(body);
            if parts.len() >= MAX_PARTS {
                return Err(WireError::Limit("snapshot").into());
            }
            let name = object_name(partition, epoch, number, parts.len());
            put(bus, &name, &body).await?;
            parts.push(SnapshotPart { bytes: body.len() as u64, print: xxh3_64(&body) });
        }
        let Some((key, value)) = pair else {
            break;
        };
        let change = Change { key, value: Some(value) };
        size += change.bytes();
        changes.push(change);
    }
    let position = dump.position;
    Ok(SnapshotRef { epoch, number, covers: position.log, consumed: position.consumed, parts })
}

async fn put<B: Bus>(bus: &B, name: &str, body: &Bytes) -> Result<(), OwnerError> {
    let mut backoff = Backoff::default();
    loop {
        match bus.put_object(name, body.clone()).await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_transient() => backoff.pause().await,
            Err(error) => return Err(error.into()),
        }
    }
}

impl<B: Bus> Owner<B> {
    /// Notes a stored snapshot in the log and lets go of what it replaces.
    pub async fn note_snapshot(&mut self, snapshot: SnapshotRef) -> Result<(), OwnerError> {
        let body = self.encode(Body::Snapshot(snapshot.clone()), self.consumed)?;
        self.write(body).await?;
        self.snapshots = self.snapshots.max(snapshot.number);
        self.snapshot_record = self.last;
        self.replay_records = 0;
        self.replay_bytes = 0;
        let former = self.snapshot.replace(snapshot.clone());
        // What follows frees space. If it fails, the next snapshot does it.
        let _ = self.bus.purge(self.partition, Lane::Log, snapshot.covers + 1).await;
        let _ = self.bus.purge(self.partition, Lane::In, snapshot.consumed + 1).await;
        if let Some(former) = former {
            for part in 0..former.parts.len() {
                let name = object_name(self.partition, former.epoch, former.number, part);
                let _ = self.bus.delete_object(&name).await;
            }
        }
        Ok(())
    }
}
