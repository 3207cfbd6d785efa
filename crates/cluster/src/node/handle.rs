//! The crawl's side of a node: what it calls, from any thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lycosa_types::PartitionId;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::event::NodeError;
use super::keeper::Command;
use super::shared::Shared;
use crate::exchange::OutboxFull;
use crate::exchange::outbox::OutboxTotals;
use crate::membership::{Beat, Figures};
use crate::name::NodeId;
use crate::owner::Position;
use crate::plan::{Route, Table, route};
use crate::wire::{Change, Link};

/// A partition's share of a commit.
#[derive(Clone, Debug, Default)]
pub struct PartitionChanges {
    /// The epoch in which the work was done, as [`Arrived`](super::Event::Arrived) told it. A partition may have been lost and
    /// come back meanwhile; what belongs to its former stay is not written.
    pub epoch: u64,
    pub changes: Vec<Change>,
    /// The last message of `in` that these changes take in.
    pub consumed: Option<u64>,
}

/// What is made durable together, in this order: links that were given to [`NodeHandle::send`] before, then what was
/// found for partitions of this node, then what was done. A page is done only after all its links are somewhere.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    pub found: Vec<(PartitionId, PartitionChanges)>,
    pub done: Vec<(PartitionId, PartitionChanges)>,
}

/// How a commit ended, per partition.
#[derive(Debug, Default)]
pub struct Committed {
    /// Where each partition is now: to be written with its changes into the working copy.
    pub positions: Vec<(PartitionId, Position)>,
    /// Partitions that are no longer here: their changes were not written and must not be written to the working copy.
    pub lost: Vec<PartitionId>,
    /// Something that was found went to a partition that is lost, so nothing was marked as done: give what was found to
    /// [`NodeHandle::send`] instead and commit again.
    pub withheld: bool,
}

/// What the crawl says about a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionLoad {
    pub partition: PartitionId,
    /// The epoch this is about.
    pub epoch: u64,
    /// Work, for the plan: pages waiting or fetched lately.
    pub weight: u64,
    /// Nothing waits and nothing is being fetched.
    pub idle: bool,
}

/// The crawl's side of a node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeHandle {
    pub(super) shared: Arc<Shared>,
    pub(super) task: AbortHandle,
    pub(super) stopped: watch::Receiver<bool>,
}

impl NodeHandle {
    pub fn node(&self) -> &NodeId {
        &self.shared.config.node
    }

    /// The table in force, as far as this node has heard.
    pub fn table(&self) -> Arc<Table> {
        self.shared.table.borrow().clone()
    }

    pub fn owns(&self, partition: PartitionId) -> bool {
        self.shared.held().contains_key(&partition)
    }

    /// Where a link to this partition goes.
    pub fn route(&self, partition: PartitionId) -> Route {
        let settings = &self.shared.config.settings;
        route(settings.allocation, settings.links, self.owns(partition))
    }

    /// Whether this node is in touch with the others.
    pub fn is_in_touch(&self) -> bool {
        self.shared.lease_is_good()
    }

    /// Whether pages of a partition may be requested. Ask before every request: a node that was cut off or stopped must
    /// not go on, because its partitions may be somebody else's.
    pub fn may_fetch(&self, partition: PartitionId, epoch: u64) -> bool {
        self.is_in_touch() && self.shared.held().get(&partition).is_some_and(|held| held.epoch == epoch)
    }

    pub fn has_room(&self) -> bool {
        self.shared.outbox.has_room()
    }

    /// Gives a link for a partition, unless the outbox is full.
    pub fn try_send(&self, partition: PartitionId, link: &Link<'_>) -> Result<(), OutboxFull> {
        self.shared.outbox.try_send(partition, link)
    }

    /// Gives a link for a partition, waiting for room.
    pub async fn send(&self, partition: PartitionId, link: &Link<'_>) {
        self.shared.outbox.send(partition, link).await;
    }

    /// Gives a fact of another kind, routed by a key of its own.
    pub fn try_send_fact(&self, partition: PartitionId, kind: u8, body: &[u8]) -> Result<(), OutboxFull> {
        self.shared.outbox.try_send_fact(partition, kind, body)
    }

    /// Returns when all links given before are durable on the bus.
    pub async fn flush(&self) {
        self.shared.outbox.flush().await;
    }

    /// The way to the keeper that has the partition open in this epoch.
    fn commands(&self, partition: PartitionId, epoch: u64) -> Option<mpsc::Sender<Command>> {
        let held = self.shared.held();
        held.get(&partition).filter(|held| held.epoch == epoch).map(|held| held.commands.clone())
    }

    /// Makes changes of one partition durable, and with them how far `in` was taken in.
    pub async fn append(
        &self,
        partition: PartitionId,
        changes: PartitionChanges,
    ) -> Result<Position, NodeError> {
        let PartitionChanges { epoch, changes, consumed } = changes;
        let commands = self.commands(partition, epoch).ok_or(NodeError::Lost(partition))?;
        let (reply, answer) = oneshot::channel();
        let command = Command::Append { changes, consumed, reply };
        commands.send(command).await.map_err(|_| NodeError::Lost(partition))?;
        answer.await.map_err(|_| NodeError::Lost(partition))?
    }

    /// Commits in the order that loses nothing. See [`Commit`].
    pub async fn commit(&self, commit: Commit) -> Result<Committed, NodeError> {
        self.flush().await;
        let mut committed = Committed::default();
        self.append_all(commit.found, &mut committed).await?;
        if committed.lost.is_empty() {
            self.append_all(commit.done, &mut committed).await?;
        } else {
            committed.withheld = true;
        }
        Ok(committed)
    }

    /// [`commit`](Self::commit) for a thread of its own, with the runtime that the node runs on.
    pub fn commit_blocking(
        &self,
        runtime: &tokio::runtime::Handle,
        commit: Commit,
    ) -> Result<Committed, NodeError> {
        runtime.block_on(self.commit(commit))
    }

    async fn append_all(
        &self,
        parts: Vec<(PartitionId, PartitionChanges)>,
        committed: &mut Committed,
    ) -> Result<(), NodeError> {
        let mut tasks = JoinSet::new();
        for (partition, changes) in parts {
            let handle = self.clone();
            tasks.spawn(async move { (partition, handle.append(partition, changes).await) });
        }
        while let Some(ended) = tasks.join_next().await {
            match ended.map_err(|_| NodeError::Stopped)? {
                (partition, Ok(position)) => committed.positions.push((partition, position)),
                (partition, Err(NodeError::Lost(_))) => committed.lost.push(partition),
                (_, Err(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that the crawl is done with a partition that is [leaving](super::Event::Leaving).
    pub async fn release(&self, partition: PartitionId, epoch: u64) {
        let commands = self.commands(partition, epoch);
        let (reply, done) = oneshot::channel();
        if let Some(commands) = commands
            && commands.send(Command::Release { reply }).await.is_ok()
        {
            let _ = done.await;
        }
    }

    /// Says how busy the node is and what each partition has to do. Once a second is enough; once more whenever the last
    /// partition runs dry.
    pub fn report(&self, load_percent: u8, figures: Figures, partitions: &[PartitionLoad]) {
        *self.shared.reported() = super::shared::Reported { load_percent, figures };
        let mut held = self.shared.held();
        for load in partitions {
            if let Some(held) = held.get_mut(&load.partition).filter(|held| held.epoch == load.epoch) {
                held.weight = load.weight;
                // What was handed out and not yet committed is work that the crawl may not have counted.
                held.passive = load.idle && held.outstanding.is_empty();
            }
        }
    }

    /// What this node last said about itself, as others see it.
    pub fn beat(&self) -> Beat {
        self.shared.beat(0)
    }

    pub fn exchange_totals(&self) -> OutboxTotals {
        self.shared.outbox.totals()
    }

    /// Malformed, foreign, stale and repeated messages that were refused.
    pub fn refusals(&self) -> [u64; 4] {
        self.shared.refusals.counts()
    }

    /// Hands all partitions over, says good-bye and stops. The crawl must answer every
    /// [`Leaving`](super::Event::Leaving) while this waits.
    pub async fn leave(&self) {
        self.shared.leaving.store(true, Ordering::SeqCst);
        let mut stopped = self.stopped.clone();
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// Stops at once, as a crash would.
    pub fn kill(&self) {
        self.task.abort();
    }

    /// Whether the node has stopped.
    pub fn is_stopped(&self) -> bool {
        self.task.is_finished()
    }
}
