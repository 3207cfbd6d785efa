//! Partitions that come and go. A node of a cluster works on those it owns: they are opened when they arrive, and closed
//! when they leave or are lost. A crawl on one machine has none of this: everything is open from the start.
//!
//! Numbers of hosts are never used again, so a lease of an earlier stay of a partition cannot be taken for one of the
//! present: it finds its host gone and ends without a trace.
//!
//! Memory is bounded as on one machine, all open partitions together: hosts beyond the limit wait on disk, entries
//! beyond theirs too, and the partitions share the budget of the seen-set.

use foldhash::{HashMap, HashSet};
use lycosa_types::{PartitionId, UnixMs};

use super::{Frontier, FrontierOptions, LeaseKind, ReadRules};
use crate::host::Place;
use crate::host::domain_of;
use crate::order::Order;
use crate::schedule::HostIndex;
use crate::seen::SeenSet;
use crate::store::{PartitionPicture, Store, StoreError, StoredHost};

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
    /// Leases that ended.
    pub(super) ended: u64,
    pub(super) seen: SeenSet,
    /// Its last owner did not say when it last asked which host: since when none was asked for sure.
    pub(super) rest_from: Option<UnixMs>,
    /// Hosts whose turn came while nothing could be leased.
    pub(super) paused: Vec<HostIndex>,
    /// Hosts on disk alone for which URLs wait.
    pub(super) dormant: u64,
}

/// What a picture of a partition needs to know of the frontier that will open it.
#[derive(Clone, Copy, Debug)]
pub struct PictureWanted {
    order: Order,
    seen_bytes: usize,
    /// Hosts that may come into memory.
    room: usize,
}

impl PictureWanted {
    /// Reads the partition. Nobody may write to it before it is opened.
    pub fn take(self, store: &Store, partition: PartitionId) -> Result<PartitionPicture, StoreError> {
        store.picture(partition, self.order, self.seen_bytes, self.room)
    }
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
    /// Leases that ended since it was opened.
    pub ended: u64,
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
        let picture = self.picture_wanted(1).take(&self.store, partition)?;
        self.open_pictured(picture, epoch, planned, now);
        Ok(())
    }

    /// What a picture of a partition needs to know, if `coming` partitions are about to be opened. Taking it needs the
    /// store alone, so that the frontier can go on meanwhile.
    pub fn picture_wanted(&self, coming: usize) -> PictureWanted {
        let open = self.partitions.as_ref().map_or(0, HashMap::len);
        let room = self.options.max_hosts_in_memory.saturating_sub(self.hosts.len());
        PictureWanted {
            order: self.options.order,
            seen_bytes: self.options.seen_bytes / (open + coming.max(1)),
            room: room / coming.max(1),
        }
    }

    /// Opens a partition as it was read; nothing was written to it since.
    pub fn open_pictured(&mut self, picture: PartitionPicture, epoch: u64, planned: bool, now: UnixMs) {
        let partition = picture.partition;
        self.close_partition(partition);
        let Some(partitions) = &mut self.partitions else { return };
        // Numbers given here must not meet those that others gave.
        self.sequence = self.sequence.max(picture.last_sequence);
        self.taken_sequence = self.taken_sequence.max(picture.last_sequence);
        self.waiting += picture.waiting;
        self.dormant.count += picture.dormant;
        let stay = OpenPartition {
            epoch,
            leasing: false,
            leaving: false,
            waiting: picture.waiting,
            leased: 0,
            ended: 0,
            seen: picture.seen,
            rest_from: (!planned).then_some(now),
            paused: Vec::new(),
            dormant: picture.dormant,
        };
        partitions.insert(partition, stay);
        self.share_seen_budget();
        for StoredHost { slot, record, torn } in picture.hosts {
            self.domains.add(domain_of(&record.origin), record.waiting);
            let index = self.wake(slot, record);
            if torn {
                self.touch(index);
            }
            self.settle(index, now);
        }
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
        self.dormant.count = self.dormant.count.saturating_sub(open.dormant);
        let gone: HashSet<HostIndex> = self.hosts.of_partition(partition).into_iter().collect();
        for index in &gone {
            let Some(host) = self.hosts.remove(*index) else { continue };
            self.entries_in_memory -= host.queue.in_memory();
            self.counted_paths -= host.queries.len();
            self.domains.remove(host.domain, host.waiting);
            self.revisits.pending -= host.revisits.len();
            for entry in host.revisits.values() {
                self.revisits.keys.remove(&entry.key);
            }
            if let Some(address) = host.address.filter(|_| host.in_flight > 0) {
                self.left_at.insert(*index, address);
            }
        }
        let (revisits, lists) = (&mut self.revisits, &mut self.lists);
        self.delayed.retain(|_, (index, entry)| {
            let gone = gone.contains(index);
            revisits.pending -= usize::from(gone && entry.revisit);
            !gone
        });
        self.in_flight.retain(|key, index| {
            let gone = gone.contains(index);
            if gone {
                revisits.keys.remove(key);
            }
            !gone
        });
        self.tracked.retain(|_, standing| {
            let gone = standing.partition == partition;
            if gone && let Some(lists) = lists {
                lists.leave(standing.rank);
            }
            !gone
        });
        self.schedule.forget_stale(self.hosts.len(), |index| self.hosts.get(index).is_some());
        self.claimed.retain(|(claimed_in, _), _| *claimed_in != partition);
        self.forget_parted(partition);
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
            if let Some(host) = self.hosts.get_mut(index)
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
            ended: open.ended,
            leaving: open.leaving,
        })
    }

    pub(super) fn is_open(&self, partition: PartitionId) -> bool {
        self.partitions.as_ref().is_none_or(|open| open.contains_key(&partition))
    }

    /// Whether a host's partition was closed since the host was leased: hosts with a lease out leave in no other way.
    pub fn is_closed(&self, index: HostIndex) -> bool {
        self.hosts.get(index).is_none()
    }

    /// A lease of a closed partition is over.
    pub fn abandon(&mut self, index: HostIndex, revisit: bool, now: UnixMs) {
        self.leased = self.leased.saturating_sub(1);
        self.revisits.pending = self.revisits.pending.saturating_sub(usize::from(revisit));
        if self.options.politeness.ip_delay_ms > 0
            && let Some(address) = self.left_at.remove(&index)
        {
            let pause = self.options.politeness.ip_delay_ms;
            self.schedule.leave_gate(address, now.plus_ms(pause), now);
        }
    }

    /// A lease comes back unused: no request was made.
    pub fn take_back(&mut self, index: HostIndex, kind: LeaseKind, now: UnixMs) {
        if matches!(kind, LeaseKind::Resolve) {
            self.end_lookup(index, now);
        }
        if self.is_closed(index) {
            return self.abandon(index, matches!(&kind, LeaseKind::Page(entry) if entry.revisit), now);
        }
        self.leased -= 1;
        let Some(host) = self.hosts.get_mut(index) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        let (slot, address) = (host.slot, host.address);
        if host.place == Place::Busy {
            host.place = Place::Idle;
        }
        if let LeaseKind::Page(entry) = kind {
            self.in_flight.remove(&entry.key);
            self.wait_again(index, entry);
        }
        if let Some(open) = self.partition_mut(slot.partition) {
            open.leased = open.leased.saturating_sub(1);
        }
        if self.options.politeness.ip_delay_ms > 0
            && let Some(address) = address
        {
            self.schedule.leave_gate(address, now, now);
        }
        self.settle(index, now);
    }
}
