//! Group commit. Archive and edge log are made durable first, then one atomic batch in the state, then the bookkeeper
//! is told. Disks may stall: this thread is the only one that waits for them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

use lycosa_archive::{Archive, ArchiveError, EncodedVisit};
use lycosa_cluster::NodeError;
use lycosa_frontier::store::{LeftOutNotes, Mark};
use lycosa_frontier::{Changes, Done, Store, StoreError};
use lycosa_graph::{EdgeLog, EdgeLogError, PageEdges};
use lycosa_types::PartitionId;

use crate::bookkeeper::Event;
use crate::cluster::{NodeCommitter, Stays};

/// Marks in the state.
pub const MARK_ARCHIVE_END: &str = "archive-end";
pub const MARK_EDGES_END: &str = "edges-end";

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Edges(#[from] EdgeLogError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("links that were put aside cannot be kept: {0}; free space or repair the disk")]
    Aside(std::io::Error),
    #[error("the cluster took no commit: {0}")]
    Node(#[from] NodeError),
}

/// A visit to be made durable.
#[derive(Debug)]
pub struct Ended {
    pub done: Done,
    pub encoded: Option<EncodedVisit>,
    pub edges: Option<PageEdges>,
}

/// What is committed together.
#[derive(Debug)]
pub struct Batch {
    pub ended: Vec<Ended>,
    /// Archive records that belong to no URL of the crawl: robots.txt.
    pub extra: Vec<EncodedVisit>,
    pub changes: Arc<Changes>,
    pub marks: Vec<Mark>,
    /// What was left out, for `why`.
    pub left_out: LeftOutNotes,
    /// The stays of partitions it belongs to, in a cluster.
    pub stays: Option<Stays>,
}

/// The writing ends of a crawl directory.
pub struct Committer {
    pub store: Arc<Store>,
    pub archive: Option<Archive>,
    pub edges: EdgeLog,
    /// Who indexes what is durable, if anybody.
    pub follower: Option<SyncSender<Vec<Done>>>,
    /// The way to the logs of partitions, in a cluster.
    pub node: Option<NodeCommitter>,
}

impl Committer {
    /// Commits batches until the bookkeeper hangs up, then seals the archive.
    pub fn run(mut self, batches: &Receiver<Batch>, events: &Sender<Event>) {
        for batch in batches {
            let epoch = batch.changes.epoch;
            let event = match self.commit(batch) {
                Ok(lost) => Event::Committed { epoch, lost },
                Err(error) => Event::CommitFailed(error),
            };
            let failed = matches!(event, Event::CommitFailed(_));
            if events.send(event).is_err() || failed {
                return;
            }
        }
        if let Some(archive) = &mut self.archive
            && let Err(error) = archive.seal()
        {
            let _ = events.send(Event::CommitFailed(error.into()));
        }
    }

    /// Tells the partitions that were lost on the way.
    fn commit(&mut self, batch: Batch) -> Result<BTreeSet<PartitionId>, CommitError> {
        let Batch { ended, extra, changes, mut marks, left_out, stays } = batch;
        let mut done = Vec::with_capacity(ended.len());
        for Ended { done: mut visit, encoded, edges } in ended {
            if let (Some(archive), Some(encoded)) = (&mut self.archive, encoded) {
                let span = archive.append(&encoded)?;
                let keeps_copy = visit.course.as_ref().is_some_and(|end| end.keeps_copy);
                if let Some(facts) = visit.record.visit.as_mut().filter(|_| !keeps_copy) {
                    facts.archived = Some(span);
                }
                if let Some(past) = visit.course.as_mut().and_then(|end| end.history.last_mut()) {
                    past.archived = Some(span);
                }
            }
            if let Some(edges) = edges {
                self.edges.append(&edges)?;
            }
            done.push(visit);
        }
        if let Some(archive) = &mut self.archive {
            for encoded in extra {
                archive.append(&encoded)?;
            }
            let end = archive.sync()?;
            let mut mark = end.segment.to_be_bytes().to_vec();
            mark.extend(end.offset.to_be_bytes());
            marks.push((MARK_ARCHIVE_END, mark));
        }
        let edges_end = self.edges.sync()?;
        marks.push((MARK_EDGES_END, edges_end.to_be_bytes().to_vec()));
        self.store.note_left_out(&left_out)?;
        let mut lost = BTreeSet::new();
        match (&self.node, &stays) {
            (Some(node), Some(stays)) => {
                lost = node.commit(&done, &changes, &marks, stays)?;
                done.retain(|visit| !lost.contains(&visit.slot.partition));
            }
            _ => self.store.commit(&done, &changes, &marks)?,
        }
        if let Some(follower) = &self.follower
            && follower.send(done).is_err()
        {
            // It says itself why it stopped; the crawl does not depend on it.
            self.follower = None;
        }
        Ok(lost)
    }
}
