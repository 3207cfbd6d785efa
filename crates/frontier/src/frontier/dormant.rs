//! Hosts that leave memory and come back. Beyond [`crate::FrontierOptions::max_hosts_in_memory`] those that were not
//! asked for longest are dropped once their record is on disk, whether URLs wait for them or not. They come back when a
//! link leads to them, and in the order of their keys whenever there is room; while any wait outside, a few in memory
//! make room every second, so that none waits for ever.
//!
//! Entries leave memory likewise, beyond [`crate::FrontierOptions::max_entries_in_memory`]: those of hosts that were not asked lately.
//!
//! Promise: a host that comes back has its pace, its failures and its queue as it left them.

use lycosa_types::{HostKey, PartitionId, UnixMs};

use super::Frontier;
use crate::host::{Host, Place, RulesState};
use crate::schedule::HostIndex;
use crate::store::{HostRecord, HostSlot, StoreError};

/// Hosts looked at for one that comes in.
const LOOK_AT: usize = 8;
/// Records of hosts read in one go.
const STRETCH: usize = 256;
/// Fewer hosts than this may be asked now: more are brought in at once.
const FEW_READY: usize = 64;
/// Otherwise, more are brought in this often.
const LOOK_EVERY_MS: u64 = 20;
/// Hosts in memory make room for others at this pace.
const TURN_EVERY_MS: u64 = 1000;
/// One in so many per turn: all have had theirs after a quarter of an hour.
const TURN_SHARE: usize = 1024;

/// This part of the memory for entries is kept free for those that are read: new ones are left to the disk.
pub(super) const ROOM_SHARE: usize = 8;

/// What is not in memory, and where the search for it stands.
#[derive(Debug, Default)]
pub(super) struct Dormant {
    /// Hosts on disk alone for which URLs wait.
    pub(super) count: u64,
    cursor: Option<HostSlot>,
    next_look: UnixMs,
    next_turn: UnixMs,
    /// The last look brought in some.
    found: bool,
}

impl Dormant {
    /// When to look again, if there is anything to look for.
    pub(super) fn next_due(&self) -> Option<UnixMs> {
        (self.count > 0).then(|| self.next_look.min(self.next_turn))
    }
}

impl Frontier {
    /// A host from its record: never asked before what the record says, nor before what the start of this run asks for.
    pub(super) fn wake(&mut self, slot: HostSlot, record: HostRecord) -> HostIndex {
        self.add_rested(Host::from_record(slot, record))
    }

    pub(super) fn add_rested(&mut self, host: Host) -> HostIndex {
        let index = self.hosts.add(host);
        self.let_rest(index);
        index
    }

    /// If nobody knows when the host was last asked: it rests as if that had been at the start of this run, or when its
    /// partition came here.
    pub(super) fn let_rest(&mut self, index: HostIndex) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        let from = match &self.partitions {
            None => self.rest_from,
            Some(open) => open.get(&host.slot.partition).and_then(|open| open.rest_from),
        };
        if let Some(from) = from {
            let pause = self.options.politeness.pause_ms(host.rules_delay_ms(), 0);
            host.ready_at = host.ready_at.max(from.plus_ms(pause));
        }
    }

    /// A host of a partition came into memory.
    pub(super) fn no_longer_dormant(&mut self, partition: PartitionId) {
        self.dormant.count = self.dormant.count.saturating_sub(1);
        if let Some(open) = self.partition_mut(partition) {
            open.dormant = open.dormant.saturating_sub(1);
        }
    }

    /// Makes room for a host that came in beyond the limit, as far as that is possible now.
    pub(super) fn make_room(&mut self, except: HostIndex) {
        let limit = self.options.max_hosts_in_memory.max(1);
        for _ in 0..LOOK_AT {
            if self.hosts.len() <= limit {
                return;
            }
            let Some(index) = self.hosts.next_in_ring() else { return };
            let Some(host) = self.hosts.get_mut(index) else { return };
            if !std::mem::take(&mut host.asked) && index != except {
                self.put_to_rest(index);
            }
        }
    }

    /// Before memory is full, hosts that were not asked lately leave what they hold to the disk: what was read for one
    /// that is asked again and again would be dropped otherwise, and read again.
    pub(super) fn make_room_for_entries(&mut self, except: HostIndex, wanted: usize) {
        let most = self.options.max_entries_in_memory;
        for _ in 0..wanted * 2 {
            if self.entries_in_memory <= most - most / ROOM_SHARE {
                return;
            }
            let Some(index) = self.hosts.next_in_ring() else { return };
            let Some(host) = self.hosts.get_mut(index) else { return };
            if !std::mem::take(&mut host.asked) && index != except {
                self.leave_to_disk(index, 0);
            }
        }
    }

    /// Leaves all but the best `keep` entries of a host to the disk.
    pub(super) fn leave_to_disk(&mut self, index: HostIndex, keep: usize) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        let slot = host.slot;
        let mut moved = Vec::new();
        self.entries_in_memory -= host.queue.shrink_to(keep, |rank, entry| moved.push((rank, entry)));
        moved.into_iter().for_each(|(rank, entry)| self.move_on_disk(slot, *entry, rank));
    }

    /// Brings in hosts that wait on disk, if there is room; and lets some take turns.
    pub(super) fn bring_in(&mut self, now: UnixMs) -> Result<(), StoreError> {
        if self.dormant.count == 0 {
            return Ok(());
        }
        let limit = self.options.max_hosts_in_memory.max(1);
        if now >= self.dormant.next_turn {
            self.dormant.next_turn = now.plus_ms(TURN_EVERY_MS);
            for _ in 0..limit / TURN_SHARE + 1 {
                if let Some(index) = self.hosts.next_in_ring() {
                    self.put_to_rest(index);
                }
            }
        }
        let hungry = self.schedule.ready_len() < FEW_READY;
        let found = std::mem::take(&mut self.dormant.found);
        if now < self.dormant.next_look && !(hungry && found) {
            self.dormant.found = found;
            return Ok(());
        }
        self.dormant.next_look = now.plus_ms(LOOK_EVERY_MS);
        if hungry && self.hosts.len() >= limit {
            self.dismiss_idle();
        }
        let room = limit.saturating_sub(self.hosts.len());
        if room == 0 {
            return Ok(());
        }
        let stretch = self.store.hosts_after(self.dormant.cursor, STRETCH)?;
        let at_end = stretch.len() < STRETCH;
        let mut brought_in = 0;
        for (slot, record) in stretch {
            if brought_in == room {
                return Ok(());
            }
            if !self.is_open(slot.partition) {
                // A copy of what another node has now: none of it concerns us.
                self.dormant.cursor = Some(HostSlot { host: HostKey(u64::MAX), ..slot });
                return Ok(());
            }
            self.dormant.cursor = Some(slot);
            if record.waiting > 0 && self.hosts.at(slot).is_none() {
                self.no_longer_dormant(slot.partition);
                let index = self.wake(slot, record);
                self.settle(index, now);
                brought_in += 1;
                self.dormant.found = true;
            }
        }
        if at_end {
            self.dormant.cursor = None;
        }
        Ok(())
    }

    /// Drops hosts for which nothing waits.
    fn dismiss_idle(&mut self) {
        for _ in 0..STRETCH.min(self.hosts.len()) {
            let Some(index) = self.hosts.next_in_ring() else { return };
            if self.hosts.get(index).is_some_and(|host| host.place == Place::Idle) {
                self.put_to_rest(index);
            }
        }
    }

    /// Drops a host from memory if the disk knows all of it.
    fn put_to_rest(&mut self, index: HostIndex) {
        let committed = self.committed_epoch;
        let Some(host) = self.hosts.get(index) else { return };
        let saved = !host.dirty && host.saved_in.is_none_or(|epoch| Some(epoch) <= committed);
        let at_rest = host.in_flight == 0 && host.delayed == 0 && host.revisits.is_empty();
        let placed = matches!(host.place, Place::Idle | Place::Waiting | Place::Ready);
        let settled = host.rules_tries == 0 && host.rules_moved_to.is_none() && host.guests == 0;
        // What waits for a host that is given up ends soon.
        let alive = !matches!(host.rules, RulesState::Dead(_));
        if !(saved && at_rest && placed && settled && (alive || host.waiting == 0)) {
            return;
        }
        if let Some(host) = self.hosts.remove(index) {
            self.entries_in_memory -= host.queue.in_memory();
            self.counted_paths -= host.queries.len();
            if host.waiting > 0 {
                self.dormant.count += 1;
                if let Some(open) = self.partition_mut(host.slot.partition) {
                    open.dormant += 1;
                }
            }
        }
        self.schedule.forget_stale(self.hosts.len(), |index| self.hosts.get(index).is_some());
    }
}
