//! One commit of a crawl on one machine: what ended and what changed, as one atomic batch.

use fjall::OwnedWriteBatch;
use lycosa_types::UrlId;

use super::heap::Writer;
use super::operations::{Sink, Space, Step};
use super::{Changes, Mark, Store, StoreError};
use crate::frontier::Done;

/// Operations go straight into the batch, whatever their step.
struct BatchSink<'a> {
    store: &'a Store,
    batch: OwnedWriteBatch,
    writer: &'a mut Writer,
}

impl Sink for BatchSink<'_> {
    const WANTS_OVERTAKEN: bool = false;

    fn put(&mut self, step: Step, space: Space, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        if space == Space::Signatures {
            return self.copy(step, space, key, &value);
        }
        self.batch.insert(self.store.space(space).made()?, key, value);
        Ok(())
    }

    fn copy(&mut self, _: Step, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if space == Space::Signatures {
            return self.store.put_long(&mut self.batch, self.writer, key, value);
        }
        self.batch.insert(self.store.space(space).made()?, key, value);
        Ok(())
    }

    fn remove(&mut self, _: Step, space: Space, key: &[u8]) -> Result<(), StoreError> {
        self.batch.remove(self.store.space(space).made()?, key);
        Ok(())
    }
}

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
        let mut writer = self.heap.writer();
        for visit in done.iter().filter(|visit| visit.revisit && visit.signatures.is_some()) {
            let id = UrlId { partition: visit.slot.partition, key: visit.key };
            self.discard_long(&mut writer, &id.to_bytes())?;
        }
        let mut sink = BatchSink { store: self, batch: self.batch(size), writer: &mut writer };
        self.write_seen(&mut sink.batch, changes)?;
        self.collect(done, changes, &mut sink)?;
        let mut batch = sink.batch;
        for (digest, id) in &changes.prints {
            batch.insert(self.prints.made()?, digest.0.to_be_bytes().as_slice(), id.to_bytes().as_slice());
        }
        self.write_marks(&mut batch, changes, marks)?;
        self.commit_with_values(batch, &mut writer, true)
    }

    /// Writes marks alone, durable when this returns.
    pub fn commit_marks(&self, marks: &[Mark]) -> Result<(), StoreError> {
        self.guarded(|| {
            let mut batch = self.batch(marks.len());
            for (name, value) in marks {
                batch.insert(self.meta.made()?, *name, value.as_slice());
            }
            Ok(batch.commit()?)
        })
    }

    pub(super) fn write_marks(
        &self,
        batch: &mut OwnedWriteBatch,
        changes: &Changes,
        marks: &[Mark],
    ) -> Result<(), StoreError> {
        let meta = self.meta.made()?;
        batch.insert(meta, "sequence", changes.sequence.to_be_bytes().as_slice());
        for (name, value) in marks {
            batch.insert(meta, *name, value.as_slice());
        }
        Ok(())
    }
}
