//! Entries on their way to disk, in the order they came, and by host: a queue that is read back from disk asks for those
//! of its host, which must not cost a walk over all of them.

use foldhash::HashMap;

use super::keys::HostSlot;
use crate::host_queue::Entry;

/// No earlier entry of the same host.
const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub struct Backlog {
    entries: Vec<Item>,
    /// The last entry of each host; each names the one before it.
    last: HashMap<HostSlot, u32>,
}

#[derive(Debug)]
struct Item {
    slot: HostSlot,
    entry: Entry,
    earlier: u32,
}

impl Backlog {
    pub fn push(&mut self, slot: HostSlot, entry: Entry) {
        let earlier = self.last.insert(slot, self.entries.len() as u32).unwrap_or(NONE);
        self.entries.push(Item { slot, entry, earlier });
    }

    pub fn iter(&self) -> impl Iterator<Item = (HostSlot, &Entry)> {
        self.entries.iter().map(|item| (item.slot, &item.entry))
    }

    /// The entries of one host, the latest first.
    pub fn of(&self, slot: HostSlot) -> impl Iterator<Item = &Entry> {
        let mut next = self.last.get(&slot).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let item = self.entries.get(next as usize)?;
            next = item.earlier;
            Some(&item.entry)
        })
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Rank;
    use lycosa_types::{CanonUrl, HostKey, PartitionId, UnixMs};

    #[test]
    fn each_host_finds_its_own() {
        let slot = |host| HostSlot { partition: PartitionId(0), host: HostKey(host) };
        let mut backlog = Backlog::default();
        for n in 0..30u64 {
            let url = CanonUrl::from_canonical(format!("http://h{}.test/{n}", n % 4));
            let rank = Rank { priority: 0, sequence: n };
            let (key, found_at) = (url.key(), UnixMs(0));
            let entry = Entry {
                rank,
                key,
                url,
                depth: 0,
                tries: 0,
                redirects: 0,
                found_on: None,
                found_at,
                revisit: false,
            };
            backlog.push(slot(n % 4), entry);
        }
        for host in 0..5 {
            let found: Vec<u64> = backlog.of(slot(host)).map(|entry| entry.rank.sequence).collect();
            let expected: Vec<u64> = (0..30).rev().filter(|n| n % 4 == host).collect();
            assert_eq!(found, expected);
        }
        assert!(backlog.iter().map(|(_, entry)| entry.rank.sequence).eq(0..30));
    }
}
