//! When to commit, and the last commit of a run.

use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use lycosa_frontier::StoreError;
use lycosa_frontier::store::Mark;
use lycosa_types::PartitionId;

use super::{Bookkeeper, Event, MARK_CLEAN, MARK_SWEEP, MARK_TOTALS, Stop};
use crate::cluster::aside::{Aside, MARK_ASIDE};
use crate::committer::{Batch, CommitError};
use crate::totals::Totals;

/// A commit is started at least this often while there is something to commit.
const COMMIT_EVERY: Duration = Duration::from_millis(100);
/// The same in a cluster, where a commit is a synced record in the log of every partition that changed.
const COMMIT_EVERY_IN_CLUSTER: Duration = Duration::from_millis(300);
/// Ended visits that start a commit before its time.
const COMMIT_VISITS: usize = 1024;

impl Bookkeeper {
    /// Starts a commit if it is time for one and none is under way.
    pub(super) fn commit_if_due(&mut self) -> Result<(), CommitError> {
        let waiting = self.ended.len();
        let every = if self.member.is_some() { COMMIT_EVERY_IN_CLUSTER } else { COMMIT_EVERY };
        let mut due = waiting >= COMMIT_VISITS || self.last_commit.elapsed() >= every;
        let mut nothing = waiting == 0
            && !self.frontier.has_changes()
            && self.mailbox.mark.is_none()
            && self.left_out.is_empty();
        if let Some(member) = &self.member {
            due = (due || member.wants_commit()) && member.may_commit();
            let failed = member.aside.as_ref().is_some_and(Aside::has_failed);
            nothing &= !member.has_consumed() && !failed;
        }
        if !due || self.committing > 0 || nothing {
            return Ok(());
        }
        self.send_batch(Vec::new())
    }

    fn send_batch(&mut self, mut marks: Vec<Mark>) -> Result<(), CommitError> {
        let archived = self.ended.iter().filter_map(|visit| visit.encoded.as_ref()).chain(&self.extra);
        self.totals.archived_bytes += archived.map(|encoded| encoded.bytes.len() as u64).sum::<u64>();
        self.totals.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        marks.push((MARK_TOTALS, serde_json::to_vec(&self.totals).unwrap_or_default()));
        let changes = self.frontier.take_changes();
        marks.extend(self.mail_mark(changes.epoch));
        if self.totals.revisits > 0 {
            marks.extend(self.refresher.mark());
        }
        if let Some(aside) = self.member.as_mut().and_then(|member| member.aside.as_mut()) {
            aside.flush().map_err(CommitError::Aside)?;
            marks.push((MARK_ASIDE, aside.mark()));
        }
        let stays = self.member.as_mut().map(|member| member.cut(changes.epoch));
        // As many as last time will come again.
        let next = Vec::with_capacity(self.ended.len());
        let batch = Batch {
            stays,
            ended: std::mem::replace(&mut self.ended, next),
            extra: std::mem::take(&mut self.extra),
            changes,
            marks,
            left_out: std::mem::take(&mut self.left_out),
        };
        self.last_commit = Instant::now();
        self.committing += 1;
        // There is room, as no commit is under way; and if the committer has ended, it has said why.
        Ok(self.batches.try_send(batch).map_err(|_| StoreError::Poisoned)?)
    }

    /// A commit is durable, except in partitions that were lost on the way.
    pub(super) fn take_commit(&mut self, epoch: u64, lost: &BTreeSet<PartitionId>) {
        self.committing -= 1;
        self.frontier.committed(epoch);
        self.mail_committed(epoch);
        if let Some(member) = &mut self.member {
            member.commit_done(epoch);
            if let Some(placing) = &mut member.placing {
                placing.committed(epoch, lost);
            }
        }
    }

    /// The last commit: everything that ended, and the mark of a clean stop.
    pub(super) fn finish(mut self, reason: Stop, events: &Receiver<Event>) -> Result<Totals, CommitError> {
        self.wait_for_commits(events)?;
        if !self.drain_links() {
            // Without its links a page is not done: what ended last is made again.
            tracing::warn!("the bus takes no links; pages that ended last are fetched again");
            return Ok(self.totals);
        }
        let mut marks = vec![(MARK_CLEAN, vec![1])];
        match self.frontier.sweep_under_way() {
            Some(before) if reason != Stop::Exhausted => {
                marks.push((MARK_SWEEP, before.0.to_be_bytes().to_vec()));
            }
            // It is through, whatever else waits: the next refresh begins anew.
            _ => marks.push((MARK_SWEEP, Vec::new())),
        }
        self.send_batch(marks)?;
        self.wait_for_commits(events)?;
        self.show_progress(true);
        Ok(self.totals)
    }

    fn wait_for_commits(&mut self, events: &Receiver<Event>) -> Result<(), CommitError> {
        while self.committing > 0 {
            match events.recv() {
                Ok(Event::Committed { epoch, lost }) => {
                    self.take_commit(epoch, &lost);
                }
                Ok(Event::CommitFailed(error)) => return Err(error),
                // A visit that outlived the grace period: it stays queued and is made again.
                Ok(_) => {}
                Err(_) => return Err(StoreError::Poisoned.into()),
            }
        }
        Ok(())
    }
}
