//! Loading: the latest snapshot and the records behind it become a working copy; or, where this node's own copy is a
//! beginning of the log that still connects to it, only what is missing is replayed.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use xxhash_rust::xxh3::xxh3_64;

use super::snapshot::{object_epoch, object_name, object_prefix};
use super::{Backoff, Owner, OwnerError, PartitionState, Position};
use crate::bus::{Bus, BusError, Lane, Reader};
use crate::wire::frame::Reader as FrameReader;
use crate::wire::record::take_changes;
use crate::wire::{Body, Change, Piece, Record, SnapshotRef};

/// A reader that says nothing for so long, although there is more, is replaced.
const READ_PATIENCE: Duration = Duration::from_secs(3);

/// How a partition was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The node's own copy was taken as it was and completed.
    pub resumed: bool,
    /// Pairs that came from the snapshot.
    pub from_snapshot: u64,
    /// Records replayed.
    pub replayed: u64,
    /// Records that were refused because their epoch was over.
    pub stale: u64,
    /// Messages of the log that are no records, and were passed over.
    pub unreadable: u64,
}

/// Takes records in order and applies them when complete.
struct Replay<'a, S> {
    state: &'a S,
    pieces: Vec<Change>,
    epoch: u64,
    loaded: Loaded,
}

impl<S: PartitionState> Replay<'_, S> {
    fn take<B: Bus>(&mut self, owner: &Owner<B>, body: &Bytes) -> Result<(), OwnerError> {
        let partition = owner.partition;
        let record = match Record::decode(body) {
            Ok(record) => record,
            Err(error) => {
                // Not written by an owner, or damaged. To stop here would block the partition for ever.
                self.loaded.unreadable += 1;
                tracing::error!(%partition, %error, "the log holds a message that is no record; it is passed over");
                return Ok(());
            }
        };
        if record.header.epoch < self.epoch {
            self.loaded.stale += 1;
            return Ok(());
        }
        self.epoch = record.header.epoch;
        self.loaded.replayed += 1;
        let Body::Changes { changes, piece } = record.body else {
            self.pieces.clear();
            return Ok(());
        };
        if matches!(piece, Piece::Whole | Piece::First) {
            self.pieces.clear();
        }
        self.pieces.extend(changes);
        if matches!(piece, Piece::Whole | Piece::Last) {
            // Without a position: until the load is proved complete, the copy counts for what it was before.
            self.state.apply(partition, &self.pieces, None).map_err(OwnerError::State)?;
            self.pieces.clear();
        }
        Ok(())
    }
}

impl<B: Bus> Owner<B> {
    /// Brings the working copy to where the log is.
    pub async fn load<S: PartitionState>(&mut self, state: &S) -> Result<Loaded, OwnerError> {
        self.snapshot = self.find_snapshot().await?;
        let base = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.covers);
        let local = state.position(self.partition).map_err(OwnerError::State)?;
        let mut loaded = Loaded::default();
        let from = match local.filter(|local| local.log >= base && local.log <= self.last) {
            Some(local) => {
                loaded.resumed = true;
                local.log
            }
            None => {
                state.clear(self.partition).map_err(OwnerError::State)?;
                loaded.from_snapshot = self.load_snapshot(state).await?;
                base
            }
        };
        let mut replay = Replay { state, pieces: Vec::new(), epoch: 0, loaded };
        self.replay_from(from + 1, &mut replay).await?;
        let loaded = replay.loaded;
        self.replay_records = loaded.replayed;
        self.drop_leftovers().await;
        // Only the owner purges. Passing the fence once more proves that it was us all the while, so that nothing was
        // missing from what was read.
        self.append(&[], None).await?;
        state.apply(self.partition, &[], Some(self.position())).map_err(OwnerError::State)?;
        Ok(loaded)
    }

    async fn replay_from<S: PartitionState>(
        &mut self,
        from: u64,
        replay: &mut Replay<'_, S>,
    ) -> Result<(), OwnerError> {
        let mut next = from;
        let mut backoff = Backoff::default();
        while next <= self.last {
            let mut reader = match self.bus.read(self.partition, Lane::Log, next).await {
                Ok(reader) => reader,
                Err(error) if error.is_transient() => {
                    backoff.pause().await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            while next <= self.last {
                match timeout(READ_PATIENCE, reader.next()).await {
                    Ok(Ok(message)) if message.sequence < next => {}
                    // Written behind our opening: somebody else is the owner, and may have purged what we wanted to read.
                    Ok(Ok(message)) if message.sequence > self.last => {
                        let epoch = Record::decode(&message.body).map_or(self.epoch, |r| r.header.epoch);
                        return Err(OwnerError::Fenced { partition: self.partition, epoch });
                    }
                    Ok(Ok(message)) => {
                        replay.take(self, &message.body)?;
                        self.replay_bytes += message.body.len() as u64;
                        next = message.sequence + 1;
                    }
                    Ok(Err(error)) if !error.is_transient() => return Err(error.into()),
                    Ok(Err(_)) | Err(_) => {
                        backoff.pause().await;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn find_snapshot(&self) -> Result<Option<SnapshotRef>, OwnerError> {
        if self.snapshot_record == 0 {
            return Ok(None);
        }
        let partition = self.partition;
        let message = self.retry(|| self.bus.message(partition, self.snapshot_record)).await?;
        let message = message.ok_or(OwnerError::Snapshot { partition, part: 0 })?;
        match Record::decode(&message.body) {
            Ok(Record { body: Body::Snapshot(snapshot), .. }) => Ok(Some(snapshot)),
            Ok(_) => Err(OwnerError::Snapshot { partition, part: 0 }),
            Err(error) => Err(OwnerError::Damaged { partition, error }),
        }
    }

    async fn load_snapshot<S: PartitionState>(&self, state: &S) -> Result<u64, OwnerError> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(0);
        };
        let mut pairs = 0;
        for (part, expected) in snapshot.parts.iter().enumerate() {
            let missing = OwnerError::Snapshot { partition: self.partition, part };
            let name = object_name(self.partition, snapshot.epoch, snapshot.number, part);
            let Some(body) = self.retry(|| self.bus.get_object(&name)).await? else {
                return Err(missing);
            };
            if body.len() as u64 != expected.bytes || xxh3_64(&body) != expected.print {
                return Err(missing);
            }
            let mut reader = FrameReader::new(&body);
            let changes = take_changes(&mut reader, &body)?;
            pairs += changes.len() as u64;
            state.apply(self.partition, &changes, None).map_err(OwnerError::State)?;
        }
        let position = Position { log: snapshot.covers, consumed: snapshot.consumed };
        state.apply(self.partition, &[], Some(position)).map_err(OwnerError::State)?;
        Ok(pairs)
    }

    /// Deletes objects of snapshots that an earlier owner began and never noted. Failing here costs space, not state.
    async fn drop_leftovers(&self) {
        let Ok(names) = self.bus.objects(&object_prefix(self.partition)).await else {
            return;
        };
        let keep = |name: &str| {
            self.snapshot.as_ref().is_some_and(|s| {
                (0..s.parts.len()).any(|part| name == object_name(self.partition, s.epoch, s.number, part))
            })
        };
        // Never those of a later epoch: whoever made them may have taken the partition from us already.
        let is_older =
            |name: &str| object_epoch(self.partition, name).is_some_and(|epoch| epoch < self.epoch);
        for name in names.iter().filter(|name| is_older(name) && !keep(name)) {
            let _ = self.bus.delete_object(name).await;
        }
    }

    pub(super) async fn retry<T, F: Future<Output = Result<T, BusError>>>(
        &self,
        mut call: impl FnMut() -> F,
    ) -> Result<T, OwnerError> {
        let mut backoff = Backoff::default();
        loop {
            match call().await {
                Err(error) if error.is_transient() => backoff.pause().await,
                other => return Ok(other?),
            }
        }
    }
}
