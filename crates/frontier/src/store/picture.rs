//! A partition as it lies in the store, read in one pass so that it can be opened: what is known, what waits, for whom.
//! Reading takes as long as the partition is big, so it is done apart from the frontier, on any thread; taking the
//! picture over takes as long as there are hosts that come into memory.
//!
//! What waits is counted by walking it, because host records may be of an earlier commit than the queue: a node can die
//! between the two steps of a commit. Hosts whose record is wrong come into memory, however many there are, and are
//! written anew with the next commit; so whatever is left on disk can be trusted like the hosts of a crawl on one machine.

use lycosa_types::{PartitionId, UrlId};

use super::queue::read_row;
use super::{HostRecord, HostSlot, Store, StoreError, codec, keys};
use crate::order::{Order, Rank};
use crate::seen::{Seen, SeenSet};

/// Fingerprints beyond the seen-set's budget, written in one go.
const MAX_BEYOND: usize = 1 << 14;

/// What [`Store::picture`] found.
#[derive(Debug)]
pub struct PartitionPicture {
    pub partition: PartitionId,
    pub(crate) seen: SeenSet,
    /// URLs that wait, all hosts together.
    pub(crate) waiting: u64,
    /// The highest sequence number in the queue.
    pub(crate) last_sequence: u64,
    /// Hosts that come into memory.
    pub(crate) hosts: Vec<StoredHost>,
    /// Hosts for which URLs wait, and that stay on disk.
    pub(crate) dormant: u64,
}

#[derive(Debug)]
pub(crate) struct StoredHost {
    pub slot: HostSlot,
    pub record: HostRecord,
    /// The store has another record, or none.
    pub torn: bool,
}

/// The queue of one host while it is being walked.
struct Walked {
    slot: HostSlot,
    waiting: u64,
    first: Rank,
}

impl Store {
    /// Reads a partition that nobody writes to. Up to `room` hosts come into memory.
    pub fn picture(
        &self,
        partition: PartitionId,
        order: Order,
        seen_bytes: usize,
        room: usize,
    ) -> Result<PartitionPicture, StoreError> {
        let mut picture = PartitionPicture {
            partition,
            seen: SeenSet::new(seen_bytes),
            waiting: 0,
            last_sequence: 0,
            hosts: Vec::new(),
            dormant: 0,
        };
        let mut beyond = Beyond { store: self, partition, prints: Vec::new() };
        let prefix = partition.0.to_be_bytes();
        let moment = self.db.snapshot();
        for guard in self.urls.prefix_at(&moment, prefix) {
            let id = UrlId::from_bytes(&guard.key()?).ok_or(StoreError::Damaged("url key"))?;
            beyond.add(picture.seen.insert(id.key), id.key.low())?;
        }
        let mut hosts = Hosts { store: self, room, found: Vec::new(), dormant: 0, waiting: 0 };
        let mut records = self.hosts.prefix_at(&moment, prefix).map(|guard| {
            let (key, value) = guard.into_inner()?;
            let slot = keys::read_host(&key).ok_or(StoreError::Damaged("host key"))?;
            Ok::<_, StoreError>((slot, codec::decode_host(&value)?))
        });
        // Both are in the order of their hosts.
        let mut next: Option<(HostSlot, HostRecord)> = records.next().transpose()?;
        let mut take = |walked: Walked| -> Result<(), StoreError> {
            while next.as_ref().is_some_and(|(slot, _)| slot.host < walked.slot.host) {
                next = records.next().transpose()?;
            }
            let record = next.as_ref().filter(|(slot, _)| *slot == walked.slot);
            hosts.take(&walked, record.map(|(_, record)| record))
        };
        let mut current: Option<Walked> = None;
        let mut row = Vec::new();
        for guard in self.queue.prefix_at(&moment, prefix) {
            row.clear();
            let first = read_row(guard, |slot, lying| row.push((slot, lying.entry)))?;
            for (slot, entry) in row.drain(..) {
                let print = entry.key.low();
                picture.last_sequence = picture.last_sequence.max(order.sequence_of(entry.rank));
                beyond.add(picture.seen.insert_print(print), print)?;
                match &mut current {
                    Some(walked) if walked.slot == slot => walked.waiting += 1,
                    other => {
                        if let Some(walked) = other.replace(Walked { slot, waiting: 1, first }) {
                            take(walked)?;
                        }
                    }
                }
            }
        }
        current.map_or(Ok(()), take)?;
        (picture.hosts, picture.dormant, picture.waiting) = (hosts.found, hosts.dormant, hosts.waiting);
        beyond.write()?;
        Ok(picture)
    }
}

/// The hosts that were walked.
struct Hosts<'a> {
    store: &'a Store,
    room: usize,
    found: Vec<StoredHost>,
    dormant: u64,
    waiting: u64,
}

impl Hosts<'_> {
    fn take(&mut self, walked: &Walked, record: Option<&HostRecord>) -> Result<(), StoreError> {
        let (slot, waiting) = (walked.slot, walked.waiting);
        self.waiting += waiting;
        let torn = record.is_none_or(|record| record.waiting != waiting);
        if !torn && self.found.len() >= self.room {
            self.dormant += 1;
            return Ok(());
        }
        let record = match record {
            Some(record) => record.clone(),
            None => {
                let first = self.store.entry(slot, walked.first)?;
                let (first, _) = first.ok_or(StoreError::Damaged("queue of a partition"))?;
                HostRecord { origin: first.url.origin().to_owned(), ..HostRecord::default() }
            }
        };
        self.found.push(StoredHost { slot, record: HostRecord { waiting, ..record }, torn });
        Ok(())
    }
}

/// What the seen-set has no room for must be found on disk.
struct Beyond<'a> {
    store: &'a Store,
    partition: PartitionId,
    prints: Vec<u64>,
}

impl Beyond<'_> {
    fn add(&mut self, seen: Seen, print: u64) -> Result<(), StoreError> {
        if seen == Seen::Unknown {
            self.prints.push(print);
            if self.prints.len() >= MAX_BEYOND {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let prints = std::mem::take(&mut self.prints);
        if prints.is_empty() { Ok(()) } else { self.store.add_known_in(self.partition, &prints) }
    }
}
