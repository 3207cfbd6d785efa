//! Where hosts were placed, as far as this node remembers: a table of fixed size in front of the state, and of the way to
//! a host's home.
//!
//! Direct-mapped and forgetful: losing an entry only means that the state, or the host's home, is asked once more. A
//! region in it was durable at the host's home before anybody learnt of it, and never changes. That a host stays at home is
//! believed only for as long as the same stay of its home lasts.

use lycosa_frontier::store::{HostSlot, Placement};

const SLOTS: usize = 1 << 17;

#[derive(Debug)]
pub(super) struct Placements {
    slots: Vec<Option<(HostSlot, Placement)>>,
}

impl Default for Placements {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS] }
    }
}

impl Placements {
    fn at(slot: HostSlot) -> usize {
        let mixed = slot.host.0 ^ u64::from(slot.partition.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 24) as usize & (SLOTS - 1)
    }

    pub fn get(&self, slot: HostSlot) -> Option<Placement> {
        let (known, placement) = self.slots[Self::at(slot)]?;
        (known == slot).then_some(placement)
    }

    pub fn learn(&mut self, slot: HostSlot, placement: Placement) {
        self.slots[Self::at(slot)] = Some((slot, placement));
    }

    /// A partition comes: what an earlier stay decided and did not write is void.
    pub fn forget_homes(&mut self) {
        for entry in &mut self.slots {
            if matches!(entry, Some((_, Placement::Home))) {
                *entry = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{HostKey, PartitionId, RegionId};

    #[test]
    fn what_is_remembered_is_true_and_homes_are_forgotten() {
        let slot =
            |host: u64| HostSlot { partition: PartitionId((host % 5) as u16), host: HostKey(host << 20) };
        let placement = |host: u64| match host % 3 {
            0 => Placement::Home,
            region => Placement::Region(RegionId(region as u16)),
        };
        let mut table = Placements::default();
        (0..200_000).for_each(|host| table.learn(slot(host), placement(host)));
        let known = |table: &Placements| (0..200_000).filter(|&host| table.get(slot(host)).is_some()).count();
        assert!(known(&table) > SLOTS / 4, "{}", known(&table));
        for host in 0..200_000 {
            assert!(table.get(slot(host)).is_none_or(|found| found == placement(host)));
        }
        assert_eq!(table.get(HostSlot { partition: PartitionId(7), ..slot(199_999) }), None);
        table.forget_homes();
        assert!((0..200_000).all(|host| table.get(slot(host)) != Some(Placement::Home)));
        assert!(known(&table) > 0);
    }
}
