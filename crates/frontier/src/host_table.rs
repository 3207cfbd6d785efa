//! The hosts in memory, by number and by slot. A number is given once in a run: whatever still names a host that left
//! memory (an alarm, a place among the ready) finds nothing, and never another host.

use std::collections::VecDeque;

use foldhash::HashMap;
use lycosa_types::PartitionId;

use crate::host::Host;
use crate::schedule::HostIndex;
use crate::store::HostSlot;

#[derive(Debug, Default)]
pub struct HostTable {
    hosts: HashMap<HostIndex, Box<Host>>,
    by_slot: HashMap<HostSlot, HostIndex>,
    /// Every host once (and some that left), the one to be looked at next in front.
    ring: VecDeque<HostIndex>,
    next: HostIndex,
}

impl HostTable {
    pub fn add(&mut self, host: Host) -> HostIndex {
        while self.hosts.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let index = self.next;
        self.next = self.next.wrapping_add(1);
        self.by_slot.insert(host.slot, index);
        self.hosts.insert(index, Box::new(host));
        self.ring.push_back(index);
        index
    }

    pub fn remove(&mut self, index: HostIndex) -> Option<Box<Host>> {
        let host = self.hosts.remove(&index)?;
        self.by_slot.remove(&host.slot);
        Some(host)
    }

    pub fn get(&self, index: HostIndex) -> Option<&Host> {
        self.hosts.get(&index).map(|host| &**host)
    }

    pub fn get_mut(&mut self, index: HostIndex) -> Option<&mut Host> {
        self.hosts.get_mut(&index).map(|host| &mut **host)
    }

    pub fn at(&self, slot: HostSlot) -> Option<HostIndex> {
        self.by_slot.get(&slot).copied()
    }

    /// The hosts of a partition, by walking all of them.
    pub fn of_partition(&self, partition: PartitionId) -> Vec<HostIndex> {
        let here = self.hosts.iter().filter(|(_, host)| host.slot.partition == partition);
        here.map(|(index, _)| *index).collect()
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Goes one host further round, and shows it.
    pub fn next_in_ring(&mut self) -> Option<HostIndex> {
        while let Some(index) = self.ring.pop_front() {
            if self.hosts.contains_key(&index) {
                self.ring.push_back(index);
                return Some(index);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::HostKey;

    #[test]
    fn numbers_are_never_given_twice_and_the_ring_shows_everyone() {
        let slot = |host| HostSlot { partition: PartitionId(0), host: HostKey(host) };
        let mut table = HostTable::default();
        let numbers: Vec<HostIndex> =
            (0..10).map(|n| table.add(Host::new(slot(n), "http://a.test"))).collect();
        assert!(table.remove(numbers[3]).is_some());
        assert!(table.remove(numbers[9]).is_some());
        assert_eq!(table.at(slot(3)), None);
        let back = table.add(Host::new(slot(3), "http://a.test"));
        assert!(!numbers.contains(&back));
        assert_eq!(table.at(slot(3)), Some(back));
        let mut shown: Vec<HostIndex> = (0..table.len()).filter_map(|_| table.next_in_ring()).collect();
        shown.sort_unstable();
        shown.dedup();
        assert_eq!(shown.len(), 9);
    }
}
