//! Moving: a waiting URL changes its place because more is known about it.

use lycosa_types::{PartitionId, UrlKey};

use super::Frontier;
use crate::host::Place;
use crate::host_queue::Entry;
use crate::order::{Rank, Signals};
use crate::schedule::HostIndex;
use crate::store::{Moved, StoreError};

/// Where a waiting URL stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) host: HostIndex,
    /// In a cluster; on one machine it is of no interest.
    pub(super) partition: PartitionId,
    pub(super) rank: Rank,
}

impl Frontier {
    /// More is known about the URL whose key ends in `low`. If it waits and its rank changes, it moves. URLs that are
    /// leased, done, or beyond [`crate::FrontierOptions::max_tracked`] stay as they are. Returns whether it moved.
    pub fn reorder(&mut self, low: u64, signals: &Signals) -> Result<bool, StoreError> {
        let Some(&Standing { rank, .. }) = self.tracked.get(&low) else { return Ok(false) };
        let order = self.options.order;
        // No order under which URLs move looks at the URL itself.
        if order.rank("", signals, order.sequence_of(rank)).priority == rank.priority {
            return Ok(false);
        }
        self.reorder_by(low, |_| *signals)
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
        let was_in_memory = in_memory.is_some();
        let found = match in_memory {
            Some(entry) => Some(entry),
            None => self.store.entry(slot, rank)?.map(Box::new),
        };
        let Some(mut entry) = found else {
            // Left to the disk before it got there: it keeps its rank.
            return Ok(false);
        };
        let signals = signals(entry.url.as_str());
        let (key, new) = (entry.key, order.rank_again(&entry, &signals));
        if new == rank {
            if was_in_memory {
                host.queue.put_back(entry);
            }
            return Ok(false);
        }
        self.entries_in_memory -= usize::from(was_in_memory);
        entry.rank = new;
        // What was found since the last commit has no place on disk yet.
        let from = (order.sequence_of(rank) <= self.taken_sequence).then_some(rank);
        self.changes
            .moved
            .entry(key)
            .and_modify(|moved| moved.entry = (*entry).clone())
            .or_insert_with(|| Moved { slot, from, entry: (*entry).clone() });
        self.changes.moved_hosts.insert(slot);
        self.moving.insert(key, new);
        self.tracked.insert(low, Standing { host: index, partition, rank: new });
        if let Some(lists) = &mut self.lists {
            lists.leave(rank);
            lists.enter(new);
        }
        self.entries_in_memory += host.queue.push(entry);
        let best = host.best_rank(order);
        if host.place == Place::Ready && best < host.ready_rank {
            host.ready_rank = best;
            self.schedule.push_ready(best, index);
        }
        Ok(true)
    }

    /// An entry waits at `rank`.
    pub(super) fn track(&mut self, index: HostIndex, key: UrlKey, rank: Rank) {
        if !self.options.order.moves() {
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
        for entry in entries {
            self.track(index, entry.key, entry.rank);
        }
    }

    /// An entry no longer waits.
    pub(super) fn untrack(&mut self, key: UrlKey, rank: Rank) {
        if !self.options.order.moves() {
            return;
        }
        self.tracked.remove(&key.low());
        if let Some(lists) = &mut self.lists {
            lists.leave(rank);
        }
    }
}
