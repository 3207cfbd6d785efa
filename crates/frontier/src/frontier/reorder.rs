//! Moving: a waiting URL changes its place because more is known about it.

use lycosa_types::{PartitionId, UrlKey, requisite};
use std::collections::hash_map::Entry as Slot;

use super::Frontier;
use crate::host::{Host, Place};
use crate::host_queue::Entry;
use crate::order::{Rank, Signals};
use crate::schedule::HostIndex;
use crate::store::{HostSlot, Moved, StoreError};

/// URLs from disk that are remembered for [`Frontier::take_loaded`]; the others keep the places they had.
const MAX_LOADED: usize = 1 << 18;

/// Where a waiting URL stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) host: HostIndex,
    /// In a cluster; on one machine it is of no interest.
    pub(super) partition: PartitionId,
    pub(super) rank: Rank,
}

impl Frontier {
    pub(super) fn touch(&mut self, index: HostIndex) {
        if let Some(host) = self.hosts.get_mut(index)
            && !host.dirty
        {
            host.dirty = true;
            self.dirty.push(index);
        }
    }

    /// More is known about the URLs whose keys end in these. Those that wait and whose rank changes enough, move. URLs that
    /// are leased, done, or beyond [`crate::FrontierOptions::max_tracked`] stay as they are. Returns how many moved.
    pub fn reorder(&mut self, known: impl IntoIterator<Item = (u64, Signals)>) -> Result<usize, StoreError> {
        let order = self.options.order;
        // Most stay. To find those that do not is little work for each, but each waits for memory: a loop that does nothing
        // else lets many wait at once.
        let moves: Vec<(u64, Signals)> = known
            .into_iter()
            .filter(|(low, signals)| {
                self.tracked.get(low).is_some_and(|&Standing { rank, .. }| {
                    // No order under which URLs move looks at the URL itself.
                    let new = order.rank("", signals, order.sequence_of(rank));
                    new.priority.abs_diff(rank.priority) >= order.least_move()
                })
            })
            .collect();
        let mut moved = 0;
        for (low, signals) in moves {
            moved += usize::from(self.reorder_by(low, |_| signals)?);
        }
        Ok(moved)
    }

    /// The same, but a URL never falls back.
    pub fn raise(&mut self, low: u64, signals: &Signals) -> Result<bool, StoreError> {
        let Some(&Standing { rank, .. }) = self.tracked.get(&low) else { return Ok(false) };
        let order = self.options.order;
        if order.rank("", signals, order.sequence_of(rank)) < rank {
            return self.reorder_by(low, |_| *signals);
        }
        Ok(false)
    }

    /// The same where the signals depend on the URL.
    pub fn reorder_by(
        &mut self,
        low: u64,
        signals: impl FnOnce(&str) -> Signals,
    ) -> Result<bool, StoreError> {
        let Some(&Standing { host: index, partition, rank }) = self.tracked.get(&low) else {
            return Ok(false);
        };
        let order = self.options.order;
        let Some(host) = self.hosts.get_mut(index) else { return Ok(false) };
        let slot = host.slot;
        let in_memory = host.queue.take(rank);
        let was_in_memory = usize::from(in_memory.is_some());
        let found = match in_memory {
            Some(entry) => Some((entry, Vec::new())),
            None => self.store.entry(slot, rank)?.map(|(entry, bundle)| (Box::new(entry), bundle)),
        };
        // What the disk is about to learn, it does not know yet.
        let is_known = |entry: &Entry| was_in_memory > 0 || !self.moving.contains_key(&entry.key);
        let Some((entry, bundle)) = found.filter(|(entry, _)| is_known(entry)) else {
            // Left to the disk before it got there: it keeps its rank.
            return Ok(false);
        };
        let signals = signals(entry.url.as_str());
        let new = order.rank_again(&entry, &signals);
        if new == rank {
            if was_in_memory > 0 {
                host.queue.stand(rank, entry);
            }
            return Ok(false);
        }
        self.part(slot, &bundle)?;
        let Some(host) = self.hosts.get_mut(index) else { return Ok(false) };
        self.tracked.insert(low, Standing { host: index, partition, rank: new });
        if let Some(lists) = &mut self.lists {
            lists.leave(rank);
            lists.enter(new);
        }
        self.entries_in_memory -= was_in_memory;
        if host.queue.leaves_to_disk(new) {
            host.queue.expect(new);
            self.move_on_disk(slot, *entry, new);
            return Ok(true);
        }
        host.queue.stand(new, entry);
        self.entries_in_memory += 1;
        self.improve(index, new);
        Ok(true)
    }

    /// A URL of a host came to stand at `rank`: if the host is among the ready and this is better than what it stands there for,
    /// it moves ahead.
    pub(super) fn improve(&mut self, index: HostIndex, rank: Rank) {
        let Some(host) = self.hosts.get_mut(index).filter(|host| host.place == Place::Ready) else { return };
        let best = self.options.order.among_hosts(rank, host.accepted, host.fetched);
        if best < host.ready_rank {
            host.ready_rank = best;
            self.schedule.push_ready(best, index);
        }
    }

    /// Gives an entry that is not in memory another place on disk.
    pub(super) fn move_on_disk(&mut self, slot: HostSlot, mut entry: Entry, to: Rank) {
        // What was found since the last commit has no place on disk yet.
        let is_written = self.options.order.sequence_of(entry.rank) <= self.taken_sequence;
        let from = is_written.then_some(entry.rank);
        entry.rank = to;
        self.changes.moved_hosts.insert(slot);
        self.moving.insert(entry.key, to);
        match self.changes.moved.entry(entry.key) {
            Slot::Occupied(mut moved) => moved.get_mut().entry = entry,
            Slot::Vacant(vacant) => drop(vacant.insert(Moved { slot, from, entry })),
        }
    }

    /// Whether the entry read from disk is in memory already, where more is known about it.
    pub(super) fn stands_elsewhere(&self, host: &Host, key: UrlKey, rank: Rank) -> bool {
        let standing = self.tracked.get(&key.low());
        standing.is_some_and(|standing| standing.rank != rank && host.queue.holds(standing.rank))
    }

    /// An entry waits at `rank`.
    pub(super) fn track(&mut self, index: HostIndex, key: UrlKey, rank: Rank) {
        // What comes late stays behind, however much is learnt about it.
        if !self.options.order.moves() || rank.is_late() {
            return;
        }
        let known = self.tracked.contains_key(&key.low());
        if !known && let Some(lists) = &mut self.lists {
            lists.enter(rank);
        }
        if known || self.tracked.len() < self.options.max_tracked {
            let host = self.partitions.as_ref().and_then(|_| self.hosts.get(index));
            let partition = host.map_or(PartitionId(0), |host| host.slot.partition);
            self.tracked.insert(key.low(), Standing { host: index, partition, rank });
        }
    }

    pub(super) fn track_all(&mut self, index: HostIndex, entries: &[Entry]) {
        if self.options.order.counts_links() && self.loaded.len() < MAX_LOADED {
            self.loaded.extend(entries.iter().map(|entry| entry.key.low()));
        }
        for entry in entries.iter().filter(|entry| !requisite::is_marked(entry.redirects)) {
            self.track(index, entry.key, entry.rank);
        }
    }

    /// An entry no longer waits.
    pub(super) fn untrack(&mut self, entry: &Entry) {
        if !self.options.order.moves() || entry.late || requisite::is_marked(entry.redirects) {
            return;
        }
        let standing = self.tracked.remove(&entry.key.low());
        if let Some(lists) = &mut self.lists {
            lists.leave(standing.map_or(entry.rank, |standing| standing.rank));
        }
    }

    /// URLs, by the low half of their keys, that came from disk since the last call: their places there may be older than
    /// what is known about them.
    pub fn take_loaded(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.loaded)
    }
}
