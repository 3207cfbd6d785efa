//! One commit: what ended and what changed, as one atomic batch.

use fjall::PersistMode;
use foldhash::{HashMap, HashSet};
use lycosa_types::{UrlId, UrlKey};

use super::{Changes, HostSlot, Mark, Moved, Store, StoreError, codec, keys};
use crate::frontier::Done;
use crate::host_queue::Entry;

impl Store {
    pub(super) fn write_batch(
        &self,
        done: &[Done],
        changes: &Changes,
        marks: &[Mark],
    ) -> Result<(), StoreError> {
        let size = done.len() * 2
            + changes.queued.len()
            + changes.known.len()
            + changes.hosts.len()
            + changes.prints.len()
            + 8;
        let mut batch = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), size)
            .durability(Some(PersistMode::SyncData));
        // All writes of a batch carry one sequence number, so each key must be written once: what was found and
        // finished within one batch is written as finished alone.
        let ended: HashSet<UrlKey> = done.iter().map(|visit| visit.key).collect();
        // The last try counts.
        let retried: HashMap<UrlKey, &(HostSlot, Entry)> =
            changes.retried.iter().map(|retry| (retry.1.key, retry)).collect();
        let mut waiting: Vec<([u8; 22], &Entry)> = Vec::with_capacity(changes.queued.len());
        for (slot, entry) in changes.queued.iter().filter(|(_, entry)| !ended.contains(&entry.key)) {
            if !retried.contains_key(&entry.key) && !changes.moved.contains_key(&entry.key) {
                waiting.push((keys::queue(slot, entry.rank), entry));
            }
        }
        self.write_seen(&mut batch, changes);
        for (key, Moved { slot, from, entry }) in &changes.moved {
            if let Some(from) = from.filter(|&from| from != entry.rank || ended.contains(key)) {
                batch.remove(&self.queue, keys::queue(*slot, from).as_slice());
            }
            // An entry that was also tried stands as it was left last: the later one knows of more tries.
            let tried_later = retried.get(key).is_some_and(|(_, tried)| tried.tries > entry.tries);
            if !ended.contains(key) && !tried_later {
                waiting.push((keys::queue(*slot, entry.rank), entry));
            }
        }
        let moved_later = |entry: &Entry| {
            changes.moved.get(&entry.key).is_some_and(|moved| moved.entry.tries >= entry.tries)
        };
        for (slot, entry) in retried.values().filter(|(_, entry)| !ended.contains(&entry.key)) {
            if moved_later(entry) {
                continue;
            }
            waiting.push((keys::queue(*slot, entry.rank), entry));
        }
        // In key order they go into the write buffer at half the cost: neighbours share the way there.
        waiting.sort_unstable_by_key(|(key, _)| *key);
        let mut buffer = Vec::new();
        for (key, entry) in waiting {
            codec::encode_entry(entry, &mut buffer)?;
            batch.insert(&self.queue, key.as_slice(), buffer.as_slice());
        }
        // Each key once: what is amended in the batch of its own visit is written as it stands last.
        let mut amended_here: HashSet<UrlId> = HashSet::default();
        for visit in done {
            let id = UrlId { partition: visit.slot.partition, key: visit.key };
            batch.insert(&self.urls, id.to_bytes().as_slice(), codec::encode_url(&visit.record)?);
            if let Some(signatures) = &visit.signatures {
                batch.insert(&self.signatures, id.to_bytes().as_slice(), signatures.as_slice());
            }
            if let Some(end) = &visit.course {
                let amended = changes.amended.get(&id).map(|amendment| {
                    amended_here.insert(id);
                    amendment.applied_to(end)
                });
                self.write_course(&mut batch, id, amended.as_ref().unwrap_or(end))?;
            }
            if visit.revisit {
                // It had no place in the queue on disk.
                continue;
            }
            // Where it stood at the last commit, if it moved since and ended there.
            if changes.moved.get(&visit.key).and_then(|moved| moved.from) != Some(visit.rank) {
                batch.remove(&self.queue, keys::queue(visit.slot, visit.rank).as_slice());
            }
        }
        for (id, amendment) in &changes.amended {
            if !amended_here.contains(id) {
                self.amend(&mut batch, *id, amendment)?;
            }
        }
        for (slot, record) in &changes.hosts {
            batch.insert(&self.hosts, keys::host(*slot).as_slice(), codec::encode_host(record)?);
        }
        for (slot, record) in &changes.rules {
            batch.insert(&self.rules, keys::host(*slot).as_slice(), codec::encode_rules(record)?);
        }
        for (digest, id) in &changes.prints {
            batch.insert(&self.prints, digest.0.to_be_bytes().as_slice(), id.to_bytes().as_slice());
        }
        batch.insert(&self.meta, "sequence", changes.sequence.to_be_bytes().as_slice());
        for (name, value) in marks {
            batch.insert(&self.meta, *name, value.as_slice());
        }
        Ok(batch.commit()?)
    }
}
