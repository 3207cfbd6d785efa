//! From what ended and what changed to operations on keys.
//!
//! All writes of a batch carry one sequence number, so each key is written once: what was found and finished within one
//! commit is written as finished alone, except into a log.

use foldhash::{HashMap, HashSet};
use lycosa_types::{UrlId, UrlKey, UrlRecord};

use super::operations::{Sink, Space, Step};
use super::{Changes, HostSlot, Moved, Store, StoreError, bundle, codec, keys};
use crate::frontier::Done;
use crate::host_queue::Entry;
use crate::order::Rank;

/// What goes into the queue.
struct Place<'c> {
    slot: HostSlot,
    /// The first rank in the row it goes into.
    row: Rank,
    rank: Rank,
    step: Step,
    what: What<'c>,
}

#[derive(Clone, Copy)]
enum What<'c> {
    Encoded(&'c [u8]),
    Entry(&'c Entry),
}

impl<'c> Place<'c> {
    fn of(slot: HostSlot, step: Step, entry: &'c Entry) -> Self {
        Self { slot, row: entry.rank, rank: entry.rank, step, what: What::Entry(entry) }
    }
}

impl Store {
    pub(super) fn collect<S: Sink>(
        &self,
        done: &[Done],
        changes: &Changes,
        sink: &mut S,
    ) -> Result<(), StoreError> {
        let ended: HashSet<UrlKey> = done.iter().map(|visit| visit.key).collect();
        self.collect_queue(&ended, changes, sink)?;
        if S::WANTS_OVERTAKEN {
            collect_overtaken(done, changes, sink)?;
        }
        self.collect_visits(done, changes, sink)?;
        for (partition, digest, page) in &changes.claims {
            sink.copy(Step::Found, Space::Claims, &keys::claim(*partition, *digest), &page.to_bytes())?;
        }
        for (slot, placement) in &changes.placements {
            sink.copy(Step::Found, Space::Placing, &keys::placement(*slot), &placement.encode())?;
        }
        for ((slot, url), what) in &changes.unplaced {
            let key = keys::unplaced(*slot, *url);
            match what {
                Some(what) => sink.copy(Step::Found, Space::Placing, &key, what)?,
                // It is elsewhere by then: where it was taken in is written in the step before, or on the bus.
                None => sink.remove(Step::Done, Space::Placing, &key)?,
            }
        }
        for (slot, record) in &changes.hosts {
            sink.put(Step::Done, Space::Hosts, &keys::host(*slot), codec::encode_host(record)?)?;
        }
        for (slot, record) in &changes.rules {
            sink.put(Step::Done, Space::Rules, &keys::host(*slot), codec::encode_rules(record)?)?;
        }
        Ok(())
    }

    /// What waits, and where.
    fn collect_queue<S: Sink>(
        &self,
        ended: &HashSet<UrlKey>,
        changes: &Changes,
        sink: &mut S,
    ) -> Result<(), StoreError> {
        // The last try counts.
        let retried: HashMap<UrlKey, &(HostSlot, Entry)> =
            changes.retried.iter().map(|retry| (retry.1.key, retry)).collect();
        let mut new: HashSet<UrlKey> = HashSet::default();
        let mut waiting: Vec<Place<'_>> = Vec::with_capacity(changes.queued.len());
        for entry in changes.queued.iter().filter(|entry| !ended.contains(&entry.key)) {
            if !retried.contains_key(&entry.key) && !changes.moved.contains_key(&entry.key) {
                let (slot, row, rank, what) = (entry.slot, entry.row, entry.rank, What::Encoded(entry.bytes));
                waiting.push(Place { slot, row, rank, step: Step::Found, what });
            } else if S::WANTS_OVERTAKEN {
                new.insert(entry.key);
            }
        }
        // What is new must have its place in the queue as soon as it is known.
        let step = |key: &UrlKey| if new.contains(key) { Step::Found } else { Step::Done };
        for (key, Moved { slot, from, entry }) in &changes.moved {
            if let Some(from) = from.filter(|&from| from != entry.rank || ended.contains(key)) {
                sink.remove(step(key), Space::Queue, &keys::queue(*slot, from))?;
            }
            // An entry that was also tried stands as it was left last: the later one knows of more tries.
            let tried_later = retried.get(key).is_some_and(|(_, tried)| tried.tries > entry.tries);
            if !ended.contains(key) && !tried_later {
                waiting.push(Place::of(*slot, step(key), entry));
            }
        }
        let moved_later = |entry: &Entry| {
            changes.moved.get(&entry.key).is_some_and(|moved| moved.entry.tries >= entry.tries)
        };
        for (slot, entry) in retried.values().filter(|(_, entry)| !ended.contains(&entry.key)) {
            if !moved_later(entry) {
                waiting.push(Place::of(*slot, step(&entry.key), entry));
            }
        }
        // In key order they go into the write buffer at half the cost: neighbours share the way there.
        let key = |place: &Place<'_>| (place.slot, place.row, place.rank);
        waiting.sort_unstable_by_key(key);
        // A bundle may have been read twice: before and after its partition was closed.
        waiting.dedup_by_key(|place| key(place));
        let (mut buffer, mut together) = (Vec::new(), Vec::new());
        for row in waiting.chunk_by(|a, b| (a.slot, a.row) == (b.slot, b.row)) {
            let Some(first) = row.first() else { continue };
            buffer.clear();
            let bytes = match (row, first.what) {
                ([_], What::Encoded(bytes)) => bytes,
                ([_], What::Entry(entry)) => {
                    codec::append_entry(entry, &mut buffer)?;
                    &buffer
                }
                _ => {
                    together.clear();
                    together.extend(row.iter().filter_map(|place| match place.what {
                        What::Encoded(bytes) => Some((place.rank, bytes)),
                        What::Entry(_) => None,
                    }));
                    bundle::append(&together, &mut buffer)?;
                    &buffer
                }
            };
            sink.copy(first.step, Space::Queue, &keys::queue(first.slot, first.rank), bytes)?;
        }
        Ok(())
    }

    /// What ended, and what became known about it since.
    fn collect_visits<S: Sink>(
        &self,
        done: &[Done],
        changes: &Changes,
        sink: &mut S,
    ) -> Result<(), StoreError> {
        // Each key once: what is amended in the batch of its own visit is written as it stands last.
        let mut amended_here: HashSet<UrlId> = HashSet::default();
        let mut removed: Vec<keys::QueueKey> = Vec::with_capacity(done.len());
        // In key order, as above.
        let mut ended: Vec<&Done> = done.iter().collect();
        ended.sort_by_key(|visit| (visit.slot.partition, visit.key));
        let mut told_here: HashSet<UrlId> = HashSet::default();
        for visit in ended {
            let id = UrlId { partition: visit.slot.partition, key: visit.key };
            let record = match changes.copies.get(&id) {
                Some(first) => {
                    told_here.insert(id);
                    codec::encode_url(&copy_of(visit.record.clone(), *first))?
                }
                None => codec::encode_url(&visit.record)?,
            };
            sink.put(Step::Done, Space::Urls, &id.to_bytes(), record)?;
            if let Some(signatures) = &visit.signatures {
                sink.copy(Step::Done, Space::Signatures, &id.to_bytes(), signatures)?;
            }
            if let Some(end) = &visit.course {
                let amended = changes.amended.get(&id).map(|amendment| {
                    amended_here.insert(id);
                    amendment.applied_to(end)
                });
                self.write_course(sink, id, amended.as_ref().unwrap_or(end))?;
            }
            if visit.revisit {
                // It had no place in the queue on disk.
                continue;
            }
            // Where it stood at the last commit, if it moved since and ended there.
            if changes.moved.get(&visit.key).and_then(|moved| moved.from) != Some(visit.rank) {
                removed.push(keys::queue(visit.slot, visit.rank));
            }
        }
        removed.sort_unstable();
        for key in removed {
            sink.remove(Step::Done, Space::Queue, &key)?;
        }
        for (id, amendment) in &changes.amended {
            if !amended_here.contains(id) {
                self.amend(sink, *id, amendment)?;
            }
        }
        for (id, first) in changes.copies.iter().filter(|(id, _)| !told_here.contains(id)) {
            if let Some(record) = self.url(*id)? {
                let record = codec::encode_url(&copy_of(record, *first))?;
                sink.put(Step::Done, Space::Urls, &id.to_bytes(), record)?;
            }
        }
        Ok(())
    }
}

/// A record that says which page it repeats, unless it says so already.
fn copy_of(mut record: UrlRecord, first: UrlId) -> UrlRecord {
    if let Some(visit) = &mut record.visit {
        visit.duplicate_of.get_or_insert(first);
    }
    record
}

/// URLs that were found and ended within the commit, as they were found: at the place in the queue that their end clears.
fn collect_overtaken<S: Sink>(done: &[Done], changes: &Changes, sink: &mut S) -> Result<(), StoreError> {
    let ended: HashMap<UrlKey, &Done> = done.iter().map(|visit| (visit.key, visit)).collect();
    for entry in changes.queued.iter() {
        let Some(visit) = ended.get(&entry.key) else { continue };
        sink.copy(Step::Overtaken, Space::Queue, &keys::queue(entry.slot, visit.rank), entry.bytes)?;
    }
    Ok(())
}
