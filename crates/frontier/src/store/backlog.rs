//! Entries on their way to disk, in the order they came, and by host: a queue that is read back from disk asks for those
//! of its host, which must not cost a walk over all of them.
//!
//! They lie there as they will on disk, one behind the other: most are never looked at before they are written, and a piece of
//! memory for each would cost more than all the rest.
//!
//! Entries of a host that are left to the disk together share a row there, a [bundle](super::bundle), which is named by the
//! rank of its first. Promise: an entry that is in memory as well has a row of its own, because its end removes that row.

use foldhash::HashMap;
use lycosa_types::UrlKey;

use super::bundle::MAX_BUNDLED;
use super::keys::HostSlot;
use super::{StoreError, codec};
use crate::host_queue::Entry;
use crate::order::Rank;

/// No earlier entry of the same host.
const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub struct Backlog {
    items: Vec<Item>,
    bytes: Vec<u8>,
    /// The last entry of each host; each names the one before it.
    last: HashMap<HostSlot, u32>,
}

#[derive(Debug)]
struct Item {
    slot: HostSlot,
    key: UrlKey,
    rank: Rank,
    start: usize,
    end: usize,
    earlier: u32,
    row: Row,
}

/// The row that an entry will lie in.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// Its own.
    Own,
    /// One that others may join; it is the so-manieth in it.
    Shared { first: Rank, nth: u16 },
}

impl Item {
    fn row(&self) -> Rank {
        match self.row {
            Row::Own => self.rank,
            Row::Shared { first, .. } => first,
        }
    }
}

/// An entry as it will lie on disk.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'b> {
    pub slot: HostSlot,
    pub key: UrlKey,
    pub rank: Rank,
    /// The first rank in its row: its own, unless it is in a bundle.
    pub row: Rank,
    /// Whether others may be in its row.
    pub shares: bool,
    pub bytes: &'b [u8],
}

impl Encoded<'_> {
    pub fn decode(&self) -> Result<Entry, StoreError> {
        let entry = codec::decode_entry(self.slot.partition, self.rank, self.bytes)?;
        Ok(Entry { key: self.key, ..entry })
    }
}

impl Backlog {
    /// An empty one with room for about as much as another has.
    pub fn like(other: &Self) -> Self {
        Self {
            items: Vec::with_capacity(other.items.len()),
            bytes: Vec::with_capacity(other.bytes.len()),
            last: HashMap::default(),
        }
    }

    /// Adds an entry. If it is left to the disk, `line` is where its host's part on disk begins: then it may share a row.
    pub fn push(&mut self, slot: HostSlot, entry: &Entry, line: Option<Rank>) -> Result<(), StoreError> {
        let earlier = self.last.insert(slot, self.items.len() as u32).unwrap_or(NONE);
        let row = match line {
            None => Row::Own,
            Some(line) => self.row_with(earlier, entry.rank, line),
        };
        let start = self.bytes.len();
        codec::append_entry(entry, &mut self.bytes)?;
        let end = self.bytes.len();
        self.items.push(Item { slot, key: entry.key, rank: entry.rank, start, end, earlier, row });
        Ok(())
    }

    /// The row of an entry that comes after another one of its host.
    fn row_with(&self, earlier: u32, rank: Rank, line: Rank) -> Row {
        let begins = Row::Shared { first: rank, nth: 0 };
        let Some(before) = self.items.get(earlier as usize) else { return begins };
        match before.row {
            Row::Shared { first, nth }
                if first >= line
                    && before.rank < rank
                    && first.priority == rank.priority
                    && usize::from(nth) + 1 < MAX_BUNDLED =>
            {
                Row::Shared { first, nth: nth + 1 }
            }
            _ => begins,
        }
    }

    /// Gives entries of a host that come into memory rows of their own.
    pub fn part(&mut self, slot: HostSlot, is_within: impl Fn(Rank) -> bool) {
        let mut next = self.last.get(&slot).copied().unwrap_or(NONE);
        while let Some(item) = self.items.get_mut(next as usize) {
            if is_within(item.row()) {
                item.row = Row::Own;
            }
            next = item.earlier;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Encoded<'_>> {
        self.items.iter().map(|item| self.encoded(item))
    }

    /// The entries of one host, the latest first.
    pub fn of(&self, slot: HostSlot) -> impl Iterator<Item = Encoded<'_>> {
        let mut next = self.last.get(&slot).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let item = self.items.get(next as usize)?;
            next = item.earlier;
            Some(self.encoded(item))
        })
    }

    fn encoded(&self, item: &Item) -> Encoded<'_> {
        let bytes = self.bytes.get(item.start..item.end).unwrap_or_default();
        let shares = matches!(item.row, Row::Shared { .. });
        Encoded { slot: item.slot, key: item.key, rank: item.rank, row: item.row(), shares, bytes }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                late: rank.is_late(),
                refused: 0,
            };
            backlog.push(slot(n % 4), &entry, None).unwrap();
            assert_eq!(backlog.of(slot(n % 4)).next().unwrap().decode().unwrap(), entry);
        }
        for host in 0..5 {
            let found: Vec<u64> = backlog.of(slot(host)).map(|entry| entry.rank.sequence).collect();
            let expected: Vec<u64> = (0..30).rev().filter(|n| n % 4 == host).collect();
            assert_eq!(found, expected);
        }
        assert!(backlog.iter().map(|entry| entry.rank.sequence).eq(0..30));
    }
}
