//! Partitions that come and go. A node of a cluster works on those it owns: they are opened when they arrive, and closed
//! when they leave or are lost. A crawl on one machine has none of this: everything is open from the start.
//!
//! Numbers of hosts are never used again, so a lease of an earlier stay of a partition cannot be taken for one of the
//! present: it finds its host closed and ends without a trace.

use foldhash::HashMap;
use lycosa_types::{PartitionId, UnixMs};

use super::{Frontier, FrontierOptions, LeaseKind, ReadRules};
use crate::host::{Host, Place};
use crate::host_queue::HostQueue;
use crate::schedule::HostIndex;
use crate::seen::SeenSet;
use crate::store::{HostRecord, HostSlot, Store, StoreError, StoredQueue};

/// A partition that is open here.
#[derive(Debug)]
pub(super) struct OpenPartition {
    /// Names this stay.
    pub(super) epoch: u64,
    /// Whether its pages may be requested now.
    pub(super) leasing: bool,
    /// It is about to leave: nothing new is taken in.
    leaving: bool,
    pub(super) waiting: u64,
    pub(super) leased: u64,
    pub(super) seen: SeenSet,
    /// Its last owner did not say when it last asked which host: since when none was asked for sure.
    pub(super) rest_from: Option<UnixMs>,
    /// Hosts whose turn came while nothing could be leased.
    pub(super) paused: Vec<HostIndex>,
}

pub(super) type Partitions = HashMap<PartitionId, OpenPartition>;

/// Where an open partition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionCounts {
    pub partition: PartitionId,
    pub epoch: u64,
    /// URLs that wait or are leased.
    pub waiting: u64,
    pub leased: u64,
    pub leaving: bool,
}

impl Frontier {
    /// A frontier of a cluster's node: nothing is open before [`Self::open_partition`].
    pub fn of_node(
        options: FrontierOptions,
        store: std::sync::Arc<Store>,
        read_rules: ReadRules,
    ) -> Result<Self, StoreError> {
        let mut frontier = Self::empty(options, store, read_rules);
        frontier.partitions = Some(Partitions::default());
        frontier.load_sequence()?;
        Ok(frontier)
    }

    pub(super) fn partition_mut(&mut self, partition: PartitionId) -> Option<&mut OpenPartition> {
        self.partitions.as_mut()?.get_mut(&partition)
    }

    /// Opens a partition whose state is in the store. `planned`: its last owner handed it over with nothing under way;
    /// if it did not, every host rests for its full pause first. Nothing is leased before [`Self::set_leasing`].
    pub fn open_partition(
        &mut self,
        partition: PartitionId,
        epoch: u64,
        planned: bool,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        self.close_partition(partition);
        let Some(open) = self.partitions.as_ref().map(HashMap::len) else { return Ok(()) };
        let mut seen = SeenSet::new(self.options.seen_bytes / (open + 1));
        for key in self.store.partition_url_keys(partition) {
            seen.insert(key?);
        }
        let (order, mut queues, mut last) = (self.options.order, Vec::new(), 0);
        self.store.partition_queues(
            partition,
            |rank| last = last.max(order.sequence_of(rank)),
            |queue| {
                queues.push(queue);
                Ok(())
            },
        )?;
        // Numbers given here must not meet those that others gave.
        self.sequence = self.sequence.max(last);
        self.taken_sequence = self.taken_sequence.max(last);
        let stay = OpenPartition {
            epoch,
            leasing: false,
            leaving: false,
            waiting: queues.iter().map(|queue| queue.waiting).sum(),
            leased: 0,
            seen,
            rest_from: (!planned).then_some(now),
            paused: Vec::new(),
        };
        self.waiting += stay.waiting;
        if let Some(partitions) = &mut self.partitions {
            partitions.insert(partition, stay);
        }
        self.share_seen_budget();
        for queue in queues {
            let slot = HostSlot { partition, host: queue.host };
            if let Some(host) = self.stored_host(slot, queue)? {
                let index = self.add_host(host)?;
                self.settle(index, now);
            }
        }
        Ok(())
    }

    /// A host as its queue and its record tell. The queue is what counts: its record may be of an earlier commit.
    fn stored_host(&self, slot: HostSlot, queue: StoredQueue) -> Result<Option<Host>, StoreError> {
        let record = match self.store.host(slot)? {
            Some(record) => record,
            None => match self.store.entry(slot, queue.first)? {
                Some(entry) => HostRecord { origin: entry.url.origin().to_owned(), ..HostRecord::default() },
                None => return Ok(None),
            },
        };
        Ok(Some(Host::from_record(slot, HostRecord { waiting: queue.waiting, ..record })))
    }

    /// All open partitions together keep to the budget.
    fn share_seen_budget(&mut self) {
        let Some(partitions) = &mut self.partitions else { return };
        let share = self.options.seen_bytes / partitions.len().max(1);
        partitions.values_mut().for_each(|open| open.seen.set_budget(share));
    }

    /// Forgets a partition. What is on its way to the store stays on its way; leases that are out end without a trace.
    pub fn close_partition(&mut self, partition: PartitionId) {
        let Some(open) = self.partitions.as_mut().and_then(|open| open.remove(&partition)) else { return };
        self.waiting -= open.waiting;
        for host in self.hosts.iter_mut().filter(|host| host.slot.partition == partition) {
            if host.place == Place::Closed {
                continue;
            }
            host.place = Place::Closed;
            self.by_slot.remove(&host.slot);
            self.entries_in_memory -= host.queue.in_memory();
            host.queue = HostQueue::default();
            self.revisits.pending -= host.revisits.len();
            for entry in std::mem::take(&mut host.revisits).into_values() {
                self.revisits.keys.remove(&entry.key);
            }
            host.queries = HashMap::default();
        }
        let hosts = &self.hosts;
        let closed = |index: HostIndex| {
            hosts.get(index as usize).is_none_or(|host: &Host| host.place == Place::Closed)
        };
        let (revisits, lists) = (&mut self.revisits, &mut self.lists);
        self.delayed.retain(|_, (index, entry)| {
            let gone = closed(*index);
            revisits.pending -= usize::from(gone && entry.revisit);
            !gone
        });
        self.in_flight.retain(|key, index| {
            let gone = closed(*index);
            if gone {
                revisits.keys.remove(key);
            }
            !gone
        });
        self.tracked.retain(|_, standing| {
            let gone = closed(standing.host);
            if gone && let Some(lists) = lists {
                lists.leave(standing.rank);
            }
            !gone
        });
        self.share_seen_budget();
    }

    /// A partition is about to leave: nothing more is leased from it or taken into it.
    pub fn leave_partition(&mut self, partition: PartitionId) {
        if let Some(open) = self.partition_mut(partition) {
            open.leaving = true;
            open.leasing = false;
        }
    }

    /// Says whether pages of a partition may be requested.
    pub fn set_leasing(&mut self, partition: PartitionId, leasing: bool, now: UnixMs) {
        let Some(open) = self.partition_mut(partition) else { return };
        open.leasing = leasing && !open.leaving;
        if !open.leasing {
            return;
        }
        for index in std::mem::take(&mut open.paused) {
            if let Some(host) = self.hosts.get_mut(index as usize)
                && host.place == Place::Paused
            {
                host.place = Place::Idle;
                self.settle(index, now);
            }
        }
    }

    /// Whether URLs of a partition are taken in here.
    pub fn takes_in(&self, partition: PartitionId) -> bool {
        let partitions = self.partitions.as_ref();
        partitions.is_none_or(|open| open.get(&partition).is_some_and(|open| !open.leaving))
    }

    /// Where each open partition stands.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionCounts> + '_ {
        let open = self.partitions.iter().flatten();
        open.map(|(&partition, open)| PartitionCounts {
            partition,
            epoch: open.epoch,
            waiting: open.waiting,
            leased: open.leased,
            leaving: open.leaving,
        })
    }

    /// Whether a host's partition was closed since the host was leased.
    pub fn is_closed(&self, index: HostIndex) -> bool {
        self.hosts.get(index as usize).is_none_or(|host| host.place == Place::Closed)
    }

    /// A lease of a closed partition is over.
    pub fn abandon(&mut self, index: HostIndex, revisit: bool, now: UnixMs) {
        self.leased = self.leased.saturating_sub(1);
        self.revisits.pending = self.revisits.pending.saturating_sub(usize::from(revisit));
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        if self.options.politeness.ip_delay_ms > 0
            && let Some(address) = host.address
        {
            let pause = self.options.politeness.ip_delay_ms;
            self.schedule.leave_gate(address, now.plus_ms(pause));
        }
    }

    /// A lease comes back unused: no request was made.
    pub fn take_back(&mut self, index: HostIndex, kind: LeaseKind, now: UnixMs) {
        if self.is_closed(index) {
            return self.abandon(index, matches!(&kind, LeaseKind::Page(entry) if entry.revisit), now);
        }
        self.leased -= 1;
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        let (slot, address) = (host.slot, host.address);
        if host.place == Place::Busy {
            host.place = Place::Idle;
        }
        if let LeaseKind::Page(entry) = kind {
            self.in_flight.remove(&entry.key);
            let (key, rank) = (entry.key, entry.rank);
            if entry.revisit {
                host.revisits.insert(rank, *entry);
            } else {
                host.queue.put_back(*entry);
                self.entries_in_memory += 1;
                self.track(index, key, rank);
            }
        }
        if let Some(open) = self.partition_mut(slot.partition) {
            open.leased = open.leased.saturating_sub(1);
        }
        if self.options.politeness.ip_delay_ms > 0
            && let Some(address) = address
        {
            self.schedule.leave_gate(address, now);
        }
        self.settle(index, now);
    }
}
