//! Admitting: the seen-test, then into the host queue.

use lycosa_types::{CanonUrl, PartitionId, UnixMs, UrlId, UrlRecord, UrlState, requisite};

use super::domains::path_key;
use super::dormant::ROOM_SHARE;
use super::{Admission, Discovered, Frontier};
use crate::host::Host;
use crate::host_queue::Entry;
use crate::order::{Rank, Signals};
use crate::schedule::HostIndex;
use crate::seen::Seen;
use crate::store::{HostSlot, StoreError};

/// A host keeps up to this many entries in memory when others are left to the disk; fewer if there are many hosts.
const KEEP_PER_HOST: usize = 64;
/// Paths whose queries are counted, all hosts in memory together; beyond, no new path is counted.
const MAX_COUNTED_PATHS: usize = 1 << 20;

impl Frontier {
    /// Takes in a URL that is within scope.
    pub fn admit(&mut self, found: Discovered<'_>, now: UnixMs) -> Result<Admission, StoreError> {
        let seen = self.seen.insert(found.key);
        if seen == Seen::Before {
            return Ok(Admission::SeenBefore);
        }
        let url = self.url_of(&found);
        let slot = self.slot_of(&url);
        self.admit_unseen(found, url, slot, seen, now)
    }

    /// Takes in a URL of a partition, if that is open here.
    pub fn admit_to(
        &mut self,
        partition: PartitionId,
        found: Discovered<'_>,
        now: UnixMs,
    ) -> Result<Admission, StoreError> {
        if !self.takes_in(partition) {
            return Ok(Admission::Elsewhere);
        }
        let Some(open) = self.partition_mut(partition) else { return self.admit(found, now) };
        let seen = open.seen.insert(found.key);
        if seen == Seen::Before {
            return Ok(Admission::SeenBefore);
        }
        let url = self.url_of(&found);
        let slot = HostSlot { partition, host: url.host_key() };
        self.admit_unseen(found, url, slot, seen, now)
    }

    /// In memory that is used again: most URLs go to disk, and there alone.
    fn url_of(&mut self, found: &Discovered<'_>) -> CanonUrl {
        let mut text = std::mem::take(&mut self.url_buffer);
        text.clear();
        text.push_str(found.url);
        CanonUrl::from_canonical(text)
    }

    fn admit_unseen(
        &mut self,
        found: Discovered<'_>,
        url: CanonUrl,
        slot: HostSlot,
        seen: Seen,
        now: UnixMs,
    ) -> Result<Admission, StoreError> {
        if seen == Seen::Unknown {
            let print = found.key.low();
            if self.known_uncommitted.contains(&print) || self.is_known(slot.partition, print)? {
                return Ok(Admission::SeenBefore);
            }
        }
        let index = self.host_at(slot, &url)?;
        if let Some(refused) = self.budget_used_up(index, found.listed) {
            if seen == Seen::New {
                // It may be found again when there is room.
                match self.partition_mut(slot.partition) {
                    Some(open) => open.seen.take_back(found.key),
                    None => self.seen.take_back(found.key),
                }
            }
            return Ok(refused);
        }
        let limit = self.options.max_queries_per_path;
        let raise = self.options.raise_queries;
        let Some(host) = self.hosts.get_mut(index) else {
            return Ok(Admission::SeenBefore);
        };
        if url.query().is_some() {
            let before = host.queries.len();
            let room = self.counted_paths < MAX_COUNTED_PATHS;
            let within = host.take_query(path_key(url.path()), limit, room) || raise;
            self.counted_paths += host.queries.len() - before;
            if !within {
                return Ok(Admission::QueryBudget);
            }
        }
        host.listed += u64::from(found.listed);
        if seen == Seen::Unknown {
            self.known_uncommitted.insert(found.key.low());
            self.changes.known.push((slot.partition, found.key.low()));
        } else if self.partitions.is_none() {
            self.changes.seen.push(found.key.low());
        }
        self.sequence += 1;
        let entry = Entry {
            rank: if requisite::is_marked(found.redirects) {
                // Before all pages: a page without its requisites is half.
                Rank { priority: 0, sequence: self.sequence }
            } else {
                self.options.order.rank(found.url, &found.signals, self.sequence)
            },
            key: found.key,
            url,
            depth: found.signals.depth,
            tries: 0,
            redirects: found.redirects,
            found_on: found.found_on,
            found_at: now,
            revisit: false,
            late: false,
            refused: 0,
        };
        self.enqueue(index, entry, now)?;
        Ok(Admission::Queued)
    }

    fn is_known(&self, partition: PartitionId, print: u64) -> Result<bool, StoreError> {
        match &self.partitions {
            None => self.store.knows(print),
            Some(_) => self.store.knows_in(partition, print),
        }
    }

    /// Takes in a page once more that was done: its copy is lost.
    pub fn requeue(&mut self, id: UrlId, record: UrlRecord, now: UnixMs) -> Result<(), StoreError> {
        if record.state != UrlState::Done || self.in_flight.contains_key(&id.key) {
            return Ok(());
        }
        let url = CanonUrl::from_canonical(record.url);
        let index = self.host_at(HostSlot { partition: id.partition, host: url.host_key() }, &url)?;
        self.sequence += 1;
        let signals = Signals { depth: record.depth, ..Signals::default() };
        let entry = Entry {
            rank: self.options.order.rank(url.as_str(), &signals, self.sequence),
            key: id.key,
            url,
            depth: record.depth,
            tries: 0,
            redirects: if record.requisite { requisite::marked(0) } else { 0 },
            found_on: record.found_on,
            found_at: record.found_at,
            revisit: false,
            late: false,
            refused: 0,
        };
        self.enqueue(index, entry, now)
    }

    /// Takes in a URL once more whose last visit failed, and gives its host another chance.
    pub fn try_again(&mut self, id: UrlId, record: UrlRecord, now: UnixMs) -> Result<(), StoreError> {
        let url = CanonUrl::from_canonical(record.url.clone());
        let index = self.host_at(HostSlot { partition: id.partition, host: url.host_key() }, &url)?;
        if let Some(host) = self.hosts.get_mut(index) {
            host.failures_in_row = 0;
        }
        self.requeue(id, record, now)
    }

    fn enqueue(&mut self, index: HostIndex, entry: Entry, now: UnixMs) -> Result<(), StoreError> {
        let hosts = self.hosts.len().max(1);
        let most = self.options.max_entries_in_memory;
        let Some(host) = self.hosts.get_mut(index) else { return Ok(()) };
        if self.entries_in_memory > most - most / ROOM_SHARE {
            // It would drive out another one, and leave soon.
            host.queue.draw_line_before(entry.rank);
        }
        self.changes.queued.push(host.slot, &entry, host.queue.line_before(entry.rank))?;
        host.waiting += 1;
        host.accepted += 1;
        self.waiting += 1;
        self.domains.add(host.domain, 1);
        let partition = host.slot.partition;
        let (key, rank, moves) = (entry.key, entry.rank, !requisite::is_marked(entry.redirects));
        let mut keep = None;
        if host.queue.leaves_to_disk(rank) {
            host.queue.expect(rank);
        } else {
            self.entries_in_memory += host.queue.push(Box::new(entry.clone()));
            keep = (self.entries_in_memory > most)
                .then(|| (most / hosts).clamp(1, KEEP_PER_HOST).max(host.queue.in_memory() / 2));
        }
        self.url_buffer = entry.url.into_string();
        if let Some(keep) = keep {
            self.leave_to_disk(index, keep);
            self.make_room_for_entries(index, 1);
        }
        if let Some(open) = self.partition_mut(partition) {
            open.waiting += 1;
        }
        if moves {
            self.track(index, key, rank);
        }
        self.touch(index);
        self.settle(index, now);
        self.improve(index, rank);
        Ok(())
    }

    /// The host of a URL, from memory, from the store, or new.
    pub(super) fn host_at(&mut self, slot: HostSlot, url: &CanonUrl) -> Result<HostIndex, StoreError> {
        if let Some(index) = self.hosts.at(slot) {
            return Ok(index);
        }
        let index = match self.store.host(slot)? {
            Some(record) => {
                if record.waiting > 0 {
                    self.no_longer_dormant(slot.partition);
                }
                self.wake(slot, record)
            }
            // It may have been asked by a run that died before it was written.
            None => self.add_rested(Host::new(slot, url.origin())),
        };
        self.make_room(index);
        Ok(index)
    }
}
