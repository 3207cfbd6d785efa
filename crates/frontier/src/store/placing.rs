//! Where hosts were placed, and the URLs that wait until theirs is: facts of a host's home partition, in crawls with regions.
//!
//! Promise: a host that was placed once stays where it is; what the store says here was durable in the partition's log
//! before.

use std::ops::Bound;

use lycosa_types::{HostKey, RegionId, UrlKey};

use super::{HostSlot, Store, StoreError, keys};

const VERSION: u8 = 1;
/// The version, and 0 for home or a region's number and 1.
const PLACEMENT_BYTES: usize = 3;

/// Where the URLs of a host are crawled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In their home partitions.
    Home,
    /// In the partitions of a region.
    Region(RegionId),
}

impl Placement {
    pub(super) fn encode(self) -> [u8; PLACEMENT_BYTES] {
        let number = match self {
            Self::Home => 0,
            Self::Region(region) => region.0.saturating_add(1),
        };
        let [high, low] = number.to_be_bytes();
        [VERSION, high, low]
    }

    fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let &[VERSION, high, low] = bytes else { return Err(StoreError::Damaged("placement")) };
        Ok(match u16::from_be_bytes([high, low]) {
            0 => Self::Home,
            number => Self::Region(RegionId(number - 1)),
        })
    }
}

/// A URL that waits, as whoever put it there wrote it.
pub type UnplacedUrl = (UrlKey, Vec<u8>);

impl Store {
    /// Where a host was placed; none if that is not decided.
    pub fn placement(&self, slot: HostSlot) -> Result<Option<Placement>, StoreError> {
        self.placing.get(keys::placement(slot))?.map(|bytes| Placement::decode(&bytes)).transpose()
    }

    /// Whether a URL waits for its host to be placed.
    pub fn is_unplaced(&self, slot: HostSlot, key: UrlKey) -> Result<bool, StoreError> {
        Ok(self.placing.contains_key(keys::unplaced(slot, key))?)
    }

    /// Up to `limit` URLs that wait for their host to be placed, after `after`.
    pub fn unplaced(
        &self,
        slot: HostSlot,
        after: Option<UrlKey>,
        limit: usize,
    ) -> Result<Vec<UnplacedUrl>, StoreError> {
        let from = match after {
            Some(key) => Bound::Excluded(keys::unplaced(slot, key)),
            None => Bound::Included(keys::unplaced(slot, UrlKey(0))),
        };
        let range = (from, Bound::Included(keys::unplaced(slot, UrlKey(u128::MAX))));
        let read = |guard: fjall::Guard| {
            let (key, value) = guard.into_inner()?;
            let (_, key) = keys::read_unplaced(&key).ok_or(StoreError::Damaged("unplaced key"))?;
            Ok((key, value.to_vec()))
        };
        self.placing.range(range).take(limit).map(read).collect()
    }

    /// The next host of a partition for which URLs wait to be placed, after `after`, with one of them.
    pub fn unplaced_host(
        &self,
        partition: lycosa_types::PartitionId,
        after: Option<HostKey>,
    ) -> Result<Option<(HostSlot, Vec<u8>)>, StoreError> {
        let key = |host, url| keys::unplaced(HostSlot { partition, host }, UrlKey(url));
        let from = match after {
            Some(host) => Bound::Excluded(key(host, u128::MAX)),
            None => Bound::Included(key(HostKey(0), 0)),
        };
        let range = (from, Bound::Included(key(HostKey(u64::MAX), u128::MAX)));
        let Some(guard) = self.placing.range(range).next() else { return Ok(None) };
        let (key, value) = guard.into_inner()?;
        let (slot, _) = keys::read_unplaced(&key).ok_or(StoreError::Damaged("unplaced key"))?;
        Ok(Some((slot, value.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Changes;
    use lycosa_types::PartitionId;

    #[test]
    fn hosts_are_found_one_after_the_other_with_what_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("state"), 32 << 20).unwrap();
        let slot = |partition, host| HostSlot { partition: PartitionId(partition), host: HostKey(host) };
        let mut changes = Changes::default();
        changes.placements.push((slot(3, 1), Placement::Home));
        changes.placements.push((slot(3, u64::MAX), Placement::Region(RegionId(7))));
        for (host, url) in [(1, 5), (1, u128::MAX), (9, 0), (u64::MAX, 1)] {
            changes.unplaced.insert((slot(3, host), UrlKey(url)), Some(vec![host as u8]));
        }
        changes.unplaced.insert((slot(4, 2), UrlKey(2)), Some(vec![2]));
        assert!(!changes.is_empty());
        store.commit(&[], &changes, &[]).unwrap();
        assert_eq!(store.placement(slot(3, 1)).unwrap(), Some(Placement::Home));
        assert_eq!(store.placement(slot(3, u64::MAX)).unwrap(), Some(Placement::Region(RegionId(7))));
        assert_eq!(store.placement(slot(4, 1)).unwrap(), None);
        let mut hosts = Vec::new();
        while let Some((found, value)) =
            store.unplaced_host(PartitionId(3), hosts.last().map(|slot: &HostSlot| slot.host)).unwrap()
        {
            assert_eq!(value, [found.host.0 as u8]);
            hosts.push(found);
        }
        assert_eq!(hosts, [slot(3, 1), slot(3, 9), slot(3, u64::MAX)]);
        let keys = |after| -> Vec<u128> {
            store.unplaced(slot(3, 1), after, 10).unwrap().into_iter().map(|(key, _)| key.0).collect()
        };
        assert_eq!(keys(None), [5, u128::MAX]);
        assert_eq!(keys(Some(UrlKey(5))), [u128::MAX]);
        let mut changes = Changes::default();
        changes.unplaced.insert((slot(3, 9), UrlKey(0)), None);
        store.commit(&[], &changes, &[]).unwrap();
        assert!(store.unplaced(slot(3, 9), None, 10).unwrap().is_empty());
        assert!(store.is_unplaced(slot(3, 1), UrlKey(5)).unwrap());
        assert!(!store.is_unplaced(slot(3, 9), UrlKey(0)).unwrap());
        // A partition that leaves takes all of it along.
        let (_, pairs) = store.dump_partition(PartitionId(3)).unwrap();
        assert_eq!(pairs.count(), 5);
        store.clear_partition(PartitionId(3)).unwrap();
        assert_eq!(store.placement(slot(3, 1)).unwrap(), None);
        assert!(store.unplaced_host(PartitionId(3), None).unwrap().is_none());
        assert!(store.unplaced_host(PartitionId(4), None).unwrap().is_some());
    }
}
