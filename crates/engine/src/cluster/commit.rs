//! A commit of a cluster's node: the ends of archive and edges are marked, links are on the bus, what was found is in the
//! logs, what was done is in the logs, and only then is any of it written here.
//!
//! A page is done only after all its links are somewhere. So if a partition that links were found for was lost on the way,
//! those links go to its new owner through the exchange before anything counts as done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::{Change, Commit, Link, NodeError, NodeHandle, PartitionChanges, Position};
use lycosa_frontier::store::{Mark, Operation};
use lycosa_frontier::{Changes, Done, StoreError};
use lycosa_types::PartitionId;
use tokio::runtime::Handle;

use super::note::Note;
use super::state::{PartitionStore, Share};
use crate::committer::{CommitError, MARK_ARCHIVE_END, MARK_EDGES_END};

/// Between two tries while a log is full.
const LOG_FULL_PAUSE: Duration = Duration::from_millis(200);

/// The stays of partitions that a commit belongs to.
#[derive(Clone, Debug, Default)]
pub struct Stays {
    pub epochs: BTreeMap<PartitionId, u64>,
    /// The last message of each partition's `in` that the commit takes in.
    pub consumed: BTreeMap<PartitionId, u64>,
}

/// Commits through the node.
#[derive(Clone, Debug)]
pub struct NodeCommitter {
    pub node: NodeHandle,
    pub runtime: Handle,
    pub state: Arc<PartitionStore>,
    /// Links put aside, in link mode `cross`: durable before their pages are done.
    pub aside: Option<Arc<File>>,
}

/// A partition's share, on its way.
#[derive(Debug, Default)]
struct Part {
    found: Vec<Change>,
    done: Vec<Change>,
    /// What both come to.
    together: Vec<Change>,
}

impl Part {
    fn take(&mut self, found: Vec<Operation>, done: Vec<Operation>) {
        for (list, operations) in [(&mut self.found, found), (&mut self.done, done)] {
            for Operation { key, value, overtaken } in operations {
                let change = Change { key: Bytes::from(key), value: value.map(Bytes::from) };
                if !overtaken {
                    self.together.push(change.clone());
                }
                list.push(change);
            }
        }
    }
}

impl NodeCommitter {
    /// Makes a commit durable. Returns the partitions that were lost on the way: nothing of theirs is done.
    pub fn commit(
        &self,
        done: &[Done],
        changes: &Changes,
        marks: &[Mark],
        stays: &Stays,
    ) -> Result<BTreeSet<PartitionId>, CommitError> {
        let mut parts: BTreeMap<PartitionId, Part> = BTreeMap::new();
        for (partition, operations) in self.state.store().operations(done, changes)? {
            parts.entry(partition).or_default().take(operations.found, operations.done);
        }
        for partition in stays.consumed.keys() {
            parts.entry(*partition).or_default();
        }
        // What a log says is done must be in the archive after any crash, and the archive is cut at its mark then.
        let is_end = |(name, _): &&Mark| [MARK_ARCHIVE_END, MARK_EDGES_END].contains(name);
        let ends: Vec<Mark> = marks.iter().filter(is_end).cloned().collect();
        self.state.store().commit_marks(&ends)?;
        if let Some(aside) = &self.aside {
            aside.sync_data().map_err(CommitError::Aside)?;
        }
        let mut lost = BTreeSet::new();
        let mut positions: BTreeMap<PartitionId, Position> = BTreeMap::new();
        let mut commit = build(&parts, stays);
        loop {
            let committed = match self.node.commit_blocking(&self.runtime, commit.clone()) {
                Ok(committed) => committed,
                Err(NodeError::LogFull(partition)) => {
                    // Written twice is written once: every change says what stands, not what to add.
                    tracing::info!(%partition, "a log is full; the commit waits for its snapshot");
                    std::thread::sleep(LOG_FULL_PAUSE);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for (partition, position) in committed.positions {
                let known = positions.entry(partition).or_default();
                *known = (*known).max(position);
            }
            let gone: BTreeSet<PartitionId> = committed.lost.into_iter().collect();
            if committed.withheld {
                self.send_again(changes, &gone)?;
            }
            lost.extend(gone);
            if !committed.withheld {
                break;
            }
            commit.found.clear();
            commit.done.retain(|(partition, _)| !lost.contains(partition));
        }
        let shares: Vec<Share> = parts
            .into_iter()
            .filter(|(partition, _)| !lost.contains(partition))
            .filter_map(|(partition, part)| {
                let position = *positions.get(&partition)?;
                Some(Share { partition, position, changes: part.together })
            })
            .collect();
        self.state.commit(&shares, changes, marks)?;
        Ok(lost)
    }

    /// Links that were taken in for partitions that are gone are sent to whoever has them now.
    fn send_again(&self, changes: &Changes, gone: &BTreeSet<PartitionId>) -> Result<(), StoreError> {
        let mut note = Vec::new();
        for encoded in changes.queued.iter().filter(|entry| gone.contains(&entry.slot.partition)) {
            let entry = encoded.decode()?;
            let what = Note { redirects: entry.redirects, found_on: entry.found_on, ..Note::default() };
            what.encode(&mut note);
            let link = Link { note: &note, ..Link::new(entry.url.as_str(), entry.depth) };
            self.runtime.block_on(self.node.send(encoded.slot.partition, &link));
        }
        Ok(())
    }
}

fn build(parts: &BTreeMap<PartitionId, Part>, stays: &Stays) -> Commit {
    // Within one partition a record is atomic: no order is needed.
    let alone = parts.len() == 1;
    let mut commit = Commit::default();
    for (&partition, part) in parts {
        let epoch = stays.epochs.get(&partition).copied().unwrap_or(0);
        let consumed = stays.consumed.get(&partition).copied();
        let share = |changes: &[Change], consumed| {
            (partition, PartitionChanges { epoch, changes: changes.to_vec(), consumed })
        };
        if alone {
            commit.done.push(share(&part.together, consumed));
            continue;
        }
        // What arrived is taken in with the last record: only then all of it is written.
        let last_is_found = part.done.is_empty();
        if !part.found.is_empty() || last_is_found {
            commit.found.push(share(&part.found, consumed.filter(|_| last_is_found)));
        }
        if !last_is_found {
            commit.done.push(share(&part.done, consumed));
        }
    }
    commit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(key: u8, overtaken: bool) -> Operation {
        Operation { key: vec![1, key], value: Some(vec![key]), overtaken }
    }

    #[test]
    fn what_arrived_is_taken_in_by_the_last_record_of_a_partition() {
        let (a, b) = (PartitionId(1), PartitionId(2));
        let mut parts: BTreeMap<PartitionId, Part> = BTreeMap::new();
        parts.entry(a).or_default().take(vec![operation(1, true)], vec![operation(1, false)]);
        parts.entry(b).or_default().take(vec![operation(2, false)], Vec::new());
        let stays = Stays { epochs: [(a, 4), (b, 5)].into(), consumed: [(a, 10), (b, 20)].into() };
        let commit = build(&parts, &stays);
        let seen = |list: &[(PartitionId, PartitionChanges)]| -> Vec<_> {
            list.iter().map(|(p, part)| (p.0, part.epoch, part.changes.len(), part.consumed)).collect()
        };
        assert_eq!(seen(&commit.found), [(1, 4, 1, None), (2, 5, 1, Some(20))]);
        assert_eq!(seen(&commit.done), [(1, 4, 1, Some(10))]);
        // What was overtaken is in the log, not here.
        assert_eq!(parts[&a].together.len(), 1);
        parts.remove(&b);
        assert_eq!(seen(&build(&parts, &stays).done), [(1, 4, 1, Some(10))]);
    }
}
