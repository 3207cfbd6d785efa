//! Parting: entries that share a row on disk get rows of their own, because they come into memory, where each of them can
//! end or move by itself.
//!
//! Promise: the end of an entry removes no other. An entry is in memory only if it has a row of its own on disk, or one is
//! among the changes that are not committed yet; the first one's takes the bundle's place.

use lycosa_types::PartitionId;

use super::Frontier;
use crate::order::Rank;
use crate::store::{HostSlot, Lying, StoreError};

impl Frontier {
    /// Parts the bundles that these entries of a host were read from, unless that is under way.
    pub(super) fn part(&mut self, slot: HostSlot, entries: &[Lying]) -> Result<(), StoreError> {
        for bundle in entries.chunk_by(|a, b| a.bundle == b.bundle) {
            let Some(row) = bundle.first().and_then(|lying| lying.bundle) else { continue };
            if self.parted.contains_key(&(slot, row)) {
                continue;
            }
            self.parted.insert((slot, row), self.changes.epoch);
            self.changes.parted.push((slot, row));
            for Lying { entry, .. } in bundle {
                self.changes.queued.push(slot, entry, None)?;
            }
        }
        Ok(())
    }

    /// The same for those on their way to disk whose row is within a stretch that comes into memory.
    pub(super) fn part_uncommitted(
        &mut self,
        slot: HostSlot,
        is_within: impl Fn(Rank) -> bool,
    ) -> Result<(), StoreError> {
        let mut shared = Vec::new();
        for (changes, _) in &self.uncommitted {
            for entry in changes.queued.of(slot).filter(|entry| entry.shares && is_within(entry.row)) {
                shared.push(Lying { bundle: Some(entry.row), entry: entry.decode()? });
            }
        }
        shared.sort_unstable_by_key(|lying| (lying.bundle, lying.entry.rank));
        self.changes.queued.part(slot, is_within);
        self.part(slot, &shared)
    }

    /// The changes of `epoch`, in which these bundles were parted, are on disk.
    pub(super) fn parting_committed(&mut self, bundles: &[(HostSlot, Rank)], epoch: u64) {
        for bundle in bundles {
            if self.parted.get(bundle) == Some(&epoch) {
                self.parted.remove(bundle);
            }
        }
    }

    /// A partition is closed: what happens to it from now on is not seen here.
    pub(super) fn forget_parted(&mut self, partition: PartitionId) {
        self.parted.retain(|(slot, _), _| slot.partition != partition);
    }
}
