//! Where hosts are placed, and what waits for it, on the way to the store. The frontier knows nothing of regions: whoever
//! decides tells it what to remember with the next commit.

use lycosa_types::{CanonUrl, UrlKey};

use super::Frontier;
use crate::store::{HostSlot, Placement};

impl Frontier {
    /// The number of the commit that the next changes go into.
    pub fn epoch(&self) -> u64 {
        self.changes.epoch
    }

    /// A host is placed, once and for all.
    pub fn place_host(&mut self, slot: HostSlot, placement: Placement) {
        if self.takes_in(slot.partition) {
            self.changes.placements.push((slot, placement));
        }
    }

    /// A URL waits until its host is placed.
    pub fn await_place(&mut self, slot: HostSlot, key: UrlKey, what: Vec<u8>) {
        if self.takes_in(slot.partition) {
            self.changes.unplaced.insert((slot, key), Some(what));
        }
    }

    /// A URL that waited has gone on to where its host was placed.
    pub fn has_place(&mut self, slot: HostSlot, key: UrlKey) {
        self.changes.unplaced.insert((slot, key), None);
    }

    /// URLs that came to wait, or went on, since the last commit was cut.
    pub fn unplaced_changes(&self) -> usize {
        self.changes.unplaced.len()
    }

    pub(super) fn slot_of(&self, url: &CanonUrl) -> HostSlot {
        let partitioner = self.options.partitioner;
        let slot = |partition| HostSlot { partition, host: url.host_key() };
        let home = slot(partitioner.partition_of(url));
        if partitioner.regions == 0 {
            return home;
        }
        // A host that was placed is known where it was placed.
        let mut places = partitioner.places_of(url).map(slot);
        places.find(|slot| self.hosts.at(*slot).is_some()).unwrap_or(home)
    }
}
