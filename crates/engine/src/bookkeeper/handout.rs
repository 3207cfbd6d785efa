//! Handing out leases: as many as may be under way, each to the worker that suits it.

use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{Done, LeaseKind, StoreError};
use lycosa_types::{UnixMs, requisite};

use super::Bookkeeper;
use crate::committer::Ended;

/// Ended visits that may wait for a commit; beyond, no lease is handed out.
const MAX_UNCOMMITTED: usize = 4096;

impl Bookkeeper {
    /// Leases as much as may be under way, in one message per worker.
    pub(super) fn hand_out(&mut self, now: UnixMs) -> Result<(), StoreError> {
        if self.member.as_ref().is_some_and(|member| !member.has_room()) {
            return Ok(());
        }
        self.prospects.settle(&mut self.frontier)?;
        let mut dropped: Vec<Done> = Vec::new();
        while self.may_lease() {
            self.frontier.hold_pages(!self.has_room_for_pages(), now);
            let Some(lease) = self.frontier.lease(now, &mut dropped)? else { break };
            if let LeaseKind::Page(entry) = &lease.kind {
                self.leased.insert(entry.key);
                self.leased_requisites += usize::from(requisite::is_marked(entry.redirects));
            }
            let worker = self.choose_worker(lease.host);
            let slot = &mut self.workers[worker];
            slot.in_flight += 1;
            slot.outgoing.push(lease);
        }
        for mut done in dropped {
            if done.revisit {
                self.keep_what_is_known(&mut done)?;
            }
            self.end_visit(Ended { done, encoded: None, edges: None });
        }
        for slot in &mut self.workers {
            if !slot.outgoing.is_empty() {
                // A worker hangs up only if its thread died; then the crawl ends by its grace period.
                let _ = slot.leases.send(std::mem::take(&mut slot.outgoing));
            }
        }
        Ok(())
    }

    pub(super) fn may_lease(&self) -> bool {
        let under_way: usize = self.workers.iter().map(|slot| slot.in_flight).sum();
        // A look-up takes no request's place.
        let room = under_way.saturating_sub(self.frontier.lookups()) < self.concurrency
            && self.ended.len() < MAX_UNCOMMITTED;
        room && (self.has_room_for_pages() || self.awaits_requisites())
    }

    /// Whether the limit of pages leaves room for another one.
    fn has_room_for_pages(&self) -> bool {
        let under_way = self.leased.len().saturating_sub(self.leased_requisites) as u64;
        let pages = self.totals.pages + self.totals.revisits - self.pages_before + under_way;
        self.limits.max_pages == 0 || pages < self.limits.max_pages
    }

    /// Whether requisites of pages that were fetched are still to come. Those of a node may be with another one, so there the
    /// limit of pages ends the run.
    pub(super) fn awaits_requisites(&self) -> bool {
        let left = self.totals.requisites_found > self.totals.requisite_visits;
        let can_come = self.frontier.counts().leased > 0 || self.frontier.next_due().is_some();
        self.member.is_none() && left && can_come
    }

    /// A host stays with one worker, where its connection is, unless that one has more to do than others; sooner if
    /// hosts are asked several times at once, since a single host must keep all of them busy then.
    fn choose_worker(&self, host: HostIndex) -> usize {
        let count = self.workers.len();
        let home = host as usize % count;
        let lightest = (0..count).min_by_key(|&worker| self.workers[worker].in_flight).unwrap_or(home);
        let least = self.workers[lightest].in_flight;
        let fair = if self.per_host > 1 { least + 2 } else { 2 * least + 8 };
        if self.workers[home].in_flight > fair { lightest } else { home }
    }
}
