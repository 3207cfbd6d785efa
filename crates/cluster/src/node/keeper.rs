//! The keeper of one partition: opens it, loads it, hands out what arrives, writes what it is told, and lets go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lycosa_types::PartitionId;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::event::{Event, NodeError};
use super::shared::{HeldPartition, Shared};
use crate::bus::{Bus, BusError};
use crate::exchange::Inbox;
use crate::owner::load::Loaded;
use crate::owner::{Owner, OwnerError, PartitionState, Position, store_snapshot};
use crate::wire::{Change, SnapshotRef};

/// Commands that may wait for a keeper.
pub(super) const COMMANDS: usize = 64;
/// Between two looks whether the former owner has let go.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub enum Command {
    Append {
        changes: Vec<Change>,
        consumed: Option<u64>,
        reply: oneshot::Sender<Result<Position, NodeError>>,
    },
    /// Show that the partition is still ours.
    Prove { reply: oneshot::Sender<()> },
    /// The crawl is done with the partition.
    Release { reply: oneshot::Sender<()> },
}

/// What the table says about this keeper's partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is ours; `wait` for the former owner to let go.
    Ours { wait: bool },
    /// It is to be handed over.
    Leaving,
    /// It is somebody else's.
    Gone,
}

pub(super) struct Keeper<B: Bus, S> {
    pub bus: B,
    pub state: Arc<S>,
    pub shared: Arc<Shared>,
    pub partition: PartitionId,
    pub epoch: u64,
    pub standing: watch::Receiver<Standing>,
    pub events: mpsc::Sender<Event>,
}

impl<B: Bus, S: PartitionState> Keeper<B, S> {
    /// Keeps the partition until it is handed over or lost.
    pub async fn run(mut self) {
        let partition = self.partition;
        let Some((mut owner, planned)) = self.open().await else {
            return;
        };
        let loaded = match owner.load(&*self.state).await {
            Ok(loaded) => loaded,
            Err(OwnerError::Fenced { epoch, .. }) => {
                tracing::info!(%partition, epoch, "a partition was taken away while it was being loaded");
                self.shared.refusals.stale.fetch_add(1, Ordering::Relaxed);
                sleep(LOOK_AGAIN * 5).await;
                return;
            }
            Err(error) => {
                tracing::error!(%partition, %error, "a partition cannot be loaded; it is tried again");
                sleep(LOOK_AGAIN * 5).await;
                return;
            }
        };
        if !matches!(*self.standing.borrow(), Standing::Ours { .. }) {
            // Taken away while it was being loaded, before anybody worked on it.
            let _ = owner.close().await;
            return;
        }
        let (sender, commands) = mpsc::channel(COMMANDS);
        let held = HeldPartition {
            epoch: self.epoch,
            commands: sender,
            weight: 0,
            passive: false,
            activity: 0,
            consumed: owner.position().consumed,
            outstanding: VecDeque::new(),
        };
        self.shared.held().insert(partition, held);
        self.shared.refusals.stale.fetch_add(loaded.stale, Ordering::Relaxed);
        self.shared
            .refusals
            .malformed
            .fetch_add(loaded.unreadable + owner.take_unreadable(), Ordering::Relaxed);
        if self.announce(&owner, planned, loaded).await {
            self.serve(owner, commands).await;
        }
        self.shared.held().remove(&partition);
        let _ = self.events.send(Event::Lost { partition, epoch: self.epoch }).await;
    }

    async fn announce(&self, owner: &Owner<B>, planned: bool, loaded: Loaded) -> bool {
        let (partition, epoch, position) = (self.partition, self.epoch, owner.position());
        let arrived = Event::Arrived { partition, epoch, position, planned, loaded };
        self.events.send(arrived).await.is_ok()
    }

    /// Opens the partition as soon as that is allowed; none if it is no longer ours before.
    async fn open(&mut self) -> Option<(Owner<B>, bool)> {
        let mut failures = 0u64;
        loop {
            let Standing::Ours { wait } = *self.standing.borrow_and_update() else {
                return None;
            };
            match Owner::open(&self.bus, self.partition, self.epoch, &self.shared.config.node, wait).await {
                Ok(owner) => {
                    self.shared.ahead().remove(&self.partition);
                    return Some((owner, wait));
                }
                Err(OwnerError::Fenced { epoch, .. }) => {
                    self.shared.refusals.stale.fetch_add(1, Ordering::Relaxed);
                    // Either the next table says whose it is, or the table lags behind the log: then the coordinator must
                    // give the partition out in a term after the log's, which it learns from our heartbeats.
                    self.shared.ahead().insert(self.partition, epoch.max(self.epoch + 1));
                    sleep(LOOK_AGAIN * 5).await;
                    return None;
                }
                Err(OwnerError::Waiting(_)) => {}
                Err(error) => {
                    failures += 1;
                    if u64::is_power_of_two(failures) {
                        tracing::warn!(partition = %self.partition, %error, failures, "a partition cannot be opened; it is tried again")
                    }
                }
            }
            tokio::select! {
                biased;
                changed = self.standing.changed() => changed.ok()?,
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }

    async fn serve(&mut self, mut owner: Owner<B>, mut commands: mpsc::Receiver<Command>) {
        let partition = self.partition;
        let shared = self.shared.clone();
        let mut inbox = Inbox::new(
            self.bus.clone(),
            partition,
            shared.config.settings.print(),
            owner.position().consumed,
        );
        let mut snapshots: JoinSet<Result<SnapshotRef, OwnerError>> = JoinSet::new();
        let mut pending: Option<Event> = None;
        let mut leaving_told = false;
        loop {
            let standing = *self.standing.borrow_and_update();
            if standing == Standing::Gone {
                // Say so in the log, if we still can: the new owner need not wait.
                let _ = owner.close().await;
                return;
            }
            let leaving = standing == Standing::Leaving;
            if leaving && !leaving_told && pending.is_none() {
                pending = Some(Event::Leaving { partition, epoch: self.epoch });
                leaving_told = true;
            }
            let room =
                shared.held().get(&partition).is_some_and(|h| h.outstanding.len() < shared.config.window);
            tokio::select! {
                biased;
                changed = self.standing.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                command = commands.recv() => match command {
                    Some(Command::Append { changes, consumed, reply }) => {
                        // While the bus is silent an append is tried for ever; if the table has given the partition away
                        // meanwhile, nothing that is written may count any more.
                        let result = tokio::select! {
                            biased;
                            result = owner.append(&changes, consumed) => result,
                            () = gone(&mut self.standing) => {
                                Err(OwnerError::Fenced { partition, epoch: self.epoch })
                            }
                        };
                        if !self.answer(&owner, result, reply) {
                            return;
                        }
                    }
                    Some(Command::Prove { reply }) => {
                        let lost = matches!(owner.append(&[], None).await, Err(OwnerError::Fenced { .. }));
                        if lost {
                            shared.held().remove(&partition);
                        }
                        let _ = reply.send(());
                        if lost {
                            return;
                        }
                    }
                    Some(Command::Release { reply }) => {
                        let _ = owner.close().await;
                        shared.held().remove(&partition);
                        let _ = reply.send(());
                        return;
                    }
                    None => return,
                },
                Some(done) = snapshots.join_next() => {
                    if !self.note(&mut owner, done).await {
                        return;
                    }
                }
                permit = self.events.reserve(), if pending.is_some() => {
                    let (Ok(permit), Some(event)) = (permit, pending.take()) else { return };
                    permit.send(event);
                }
                (sequence, batch) = inbox.next(&shared.refusals), if pending.is_none() && room && !leaving => {
                    // A refused message is taken in as an empty batch: its sequence must be committed, too.
                    let batch = batch.unwrap_or_default();
                    shared.links_received.fetch_add(batch.links.len() as u64, Ordering::Relaxed);
                    shared.touch(partition, |held| held.outstanding.push_back(sequence));
                    pending = Some(Event::Links { partition, epoch: self.epoch, sequence, batch });
                }
            }
            shared.refusals.malformed.fetch_add(owner.take_unreadable(), Ordering::Relaxed);
            let (records, bytes) = owner.replay();
            let due = records >= shared.config.snapshot_records || bytes >= shared.config.snapshot_bytes;
            if due && snapshots.is_empty() && !leaving {
                let (bus, state) = (self.bus.clone(), self.state.clone());
                let (epoch, number) = (self.epoch, owner.next_snapshot());
                snapshots.spawn(async move { store_snapshot(&bus, &*state, partition, epoch, number).await });
            }
        }
    }

    /// Passes the outcome of an append on. False: the partition is lost.
    fn answer(
        &self,
        owner: &Owner<B>,
        result: Result<Position, OwnerError>,
        reply: oneshot::Sender<Result<Position, NodeError>>,
    ) -> bool {
        let partition = self.partition;
        let (answer, go_on) = match result {
            Ok(position) => {
                self.shared.touch(partition, |held| {
                    held.consumed = position.consumed;
                    while held.outstanding.front().is_some_and(|&sequence| sequence <= position.consumed) {
                        held.outstanding.pop_front();
                    }
                });
                (Ok(position), true)
            }
            Err(OwnerError::Change(error)) => (Err(error.into()), true),
            Err(OwnerError::Bus(BusError::Full(_))) => (Err(NodeError::LogFull(partition)), true),
            Err(error) => {
                tracing::info!(%partition, epoch = owner.epoch(), %error, "a partition is lost");
                self.shared.held().remove(&partition);
                (Err(NodeError::Lost(partition)), false)
            }
        };
        let _ = reply.send(answer);
        go_on
    }

    /// Notes a snapshot that was stored. False: the partition is lost.
    async fn note(
        &self,
        owner: &mut Owner<B>,
        stored: Result<Result<SnapshotRef, OwnerError>, tokio::task::JoinError>,
    ) -> bool {
        match stored {
            Ok(Ok(snapshot)) => match owner.note_snapshot(snapshot).await {
                Ok(()) => true,
                Err(OwnerError::Fenced { .. }) => false,
                Err(error) => {
                    tracing::warn!(partition = %self.partition, %error, "a snapshot was not noted");
                    true
                }
            },
            Ok(Err(error)) => {
                tracing::warn!(partition = %self.partition, %error, "a snapshot failed; another one follows");
                true
            }
            Err(_) => true,
        }
    }
}

/// Returns once the table says that the partition is another node's.
async fn gone(standing: &mut watch::Receiver<Standing>) {
    if standing.wait_for(|standing| *standing == Standing::Gone).await.is_err() {
        // The node is ending: so is this task.
        std::future::pending::<()>().await;
    }
}
