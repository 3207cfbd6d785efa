//! Rows whose values lie in the heap: signatures.

use std::sync::atomic::Ordering;

use fjall::{OwnedWriteBatch, PersistMode, Readable as _, Snapshot};
use lycosa_types::UrlId;

use super::heap::{Files, Held, Writer};
use super::{MARK_HEAP, Store, StoreError};

/// Tries to read a value that is moved meanwhile.
const TRIES: usize = 3;

/// What a row holds, wherever its value lies.
pub(super) fn value_of(files: &Files, key: &[u8], row: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    match Held::read(row) {
        Held::Here(value) => Ok(Some(value.to_vec())),
        Held::There(place) => Ok(files.read(key, place).map_err(fjall::Error::Io)?),
    }
}

fn url_id(key: &[u8]) -> Result<UrlId, StoreError> {
    UrlId::from_bytes(key).ok_or(StoreError::Damaged("signature key"))
}

impl Store {
    /// The signatures of a page's last visit, as they were given.
    pub fn signatures(&self, id: UrlId) -> Result<Option<Vec<u8>>, StoreError> {
        let key = id.to_bytes();
        for _ in 0..TRIES {
            let Some(row) = self.signatures.get(key)? else { return Ok(None) };
            let place = match Held::read(&row) {
                Held::Here(value) => return Ok(Some(value.to_vec())),
                Held::There(place) => place,
            };
            if let Some(value) = self.heap.read(&key, place).map_err(fjall::Error::Io)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The signatures of every page: long ones in the order they were written.
    pub fn all_signatures(&self) -> impl Iterator<Item = Result<(UrlId, Vec<u8>), StoreError>> + '_ {
        let (moment, files, has_garbage) = {
            let writer = self.heap.writer();
            (self.db.snapshot(), self.heap.files(), writer.has_garbage())
        };
        let short = self.signatures.iter_at(&moment).filter_map(|guard| {
            let read = || {
                let (key, row) = guard.into_inner()?;
                match Held::read(&row) {
                    Held::Here(value) => Ok(Some((url_id(&key)?, value.to_vec()))),
                    Held::There(_) => Ok(None),
                }
            };
            read().transpose()
        });
        let long = files.records().filter_map(move |record| {
            let read = || {
                let (key, place, value) = record.map_err(fjall::Error::Io)?;
                let is_used = !has_garbage || self.row_at(&moment, &key)?.as_deref() == Some(&place.to_row());
                Ok(if is_used { Some((url_id(&key)?, value)) } else { None })
            };
            read().transpose()
        });
        short.chain(long)
    }

    fn row_at(&self, moment: &Snapshot, key: &[u8]) -> Result<Option<fjall::UserValue>, StoreError> {
        let Some(keyspace) = self.signatures.there() else { return Ok(None) };
        Ok(moment.get(keyspace, key)?)
    }

    /// Writes a row with a long value.
    pub(super) fn put_long(
        &self,
        batch: &mut OwnedWriteBatch,
        writer: &mut Writer,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        let keyspace = self.signatures.made()?;
        let put = self.heap.put(writer, key, value, |row| batch.insert(keyspace, key, row));
        put.map_err(|error| {
            // As a failed commit: what is written after it could lie anywhere.
            self.poisoned.store(true, Ordering::Release);
            fjall::Error::Io(error).into()
        })
    }

    /// Counts the value that a row points to as garbage: the row is about to change.
    pub(super) fn discard_long(&self, writer: &mut Writer, key: &[u8]) -> Result<(), StoreError> {
        if let Some(row) = self.signatures.get(key)?
            && let Held::There(place) = Held::read(&row)
        {
            writer.discard(place.stored_bytes());
        }
        Ok(())
    }

    /// Commits a batch after the values it points to. Whether those have to be durable, too, is told by `durable`.
    pub(super) fn commit_with_values(
        &self,
        mut batch: OwnedWriteBatch,
        writer: &mut Writer,
        durable: bool,
    ) -> Result<(), StoreError> {
        if durable { writer.sync() } else { writer.write_out() }.map_err(fjall::Error::Io)?;
        if let Some(mark) = writer.mark() {
            batch.insert(self.meta.made()?, MARK_HEAP, mark.as_slice());
        }
        batch.commit()?;
        self.clean(writer)
    }

    /// Goes through a part of the oldest file of values, if much of what is there is garbage.
    fn clean(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let Some(part) = self.heap.part_to_clean(writer).map_err(fjall::Error::Io)? else { return Ok(()) };
        let mut batch = self.batch(part.values.len() + 1);
        let mut unused = 0;
        for (key, place, value) in &part.values {
            if self.signatures.get(key)?.as_deref() == Some(&place.to_row()) {
                self.put_long(&mut batch, writer, key, value)?;
            } else {
                unused += place.stored_bytes();
            }
        }
        writer.sync().map_err(fjall::Error::Io)?;
        if let Some(mark) = writer.mark() {
            batch.insert(self.meta.made()?, MARK_HEAP, mark.as_slice());
        }
        batch.commit()?;
        // Rows that pointed to the file may have been written without being durable: the batch made them so.
        Ok(self.heap.cleaned(writer, &part, unused).map_err(fjall::Error::Io)?)
    }

    /// Makes everything durable that was written.
    pub(super) fn persist(&self) -> Result<(), StoreError> {
        self.heap.writer().sync().map_err(fjall::Error::Io)?;
        Ok(self.db.persist(PersistMode::SyncData)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::HEAP_DIR;
    use super::super::heap::HeapLimits;
    use super::super::operations::Space;
    use super::*;
    use lycosa_types::{PartitionId, UrlKey};
    use proptest::prelude::*;

    const LIMITS: HeapLimits = HeapLimits { file_bytes: 4000, least_garbage: 2000, step_bytes: 900 };

    fn open(dir: &Path) -> Store {
        Store::open_with(dir, 32 << 20, LIMITS).unwrap()
    }

    fn id(partition: u16, key: u8) -> UrlId {
        UrlId { partition: PartitionId(partition), key: UrlKey(key.into()) }
    }

    fn value(len: usize, seed: u8) -> Vec<u8> {
        (0..len).map(|at| (at as u8).wrapping_mul(31) ^ seed).map(|byte| byte | 4).collect()
    }

    /// Writes, or removes where there is no value, in one durable batch.
    fn write(store: &Store, partition: u16, values: &[(u8, Option<Vec<u8>>)]) {
        let key = |key: u8| [&[Space::Signatures as u8], &id(partition, key).to_bytes()[2..]].concat();
        let keys: Vec<Vec<u8>> = values.iter().map(|(number, _)| key(*number)).collect();
        let operations: Vec<(&[u8], Option<&[u8]>)> =
            keys.iter().zip(values).map(|(key, (_, value))| (key.as_slice(), value.as_deref())).collect();
        store.apply_partition(PartitionId(partition), &operations, Some(b"here")).unwrap();
    }

    fn all(store: &Store) -> BTreeMap<UrlId, Vec<u8>> {
        let mut all = BTreeMap::new();
        for entry in store.all_signatures() {
            let (id, value) = entry.unwrap();
            assert!(all.insert(id, value).is_none(), "each once");
        }
        all
    }

    fn heap_bytes(dir: &Path) -> u64 {
        let files = std::fs::read_dir(dir.join(HEAP_DIR)).into_iter().flatten();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    #[test]
    fn long_values_come_back_and_short_ones_stay_in_their_rows() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        write(&store, 3, &[(1, Some(value(10, 1)))]);
        assert_eq!(heap_bytes(dir.path()), 0);
        write(&store, 3, &[(2, Some(value(5000, 2))), (3, Some(vec![0; 13]))]);
        assert!(heap_bytes(dir.path()) > 3000);
        let expected =
            BTreeMap::from([(id(3, 1), value(10, 1)), (id(3, 2), value(5000, 2)), (id(3, 3), vec![0; 13])]);
        assert_eq!(all(&store), expected);
        drop(store);
        let store = open(dir.path());
        assert_eq!(all(&store), expected);
        assert_eq!(store.signatures(id(3, 3)).unwrap(), Some(vec![0; 13]));
        assert_eq!(store.signatures(id(4, 3)).unwrap(), None);
    }

    #[test]
    fn what_was_not_committed_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        write(&store, 0, &[(1, Some(value(500, 1)))]);
        let committed = heap_bytes(dir.path());
        {
            let mut writer = store.heap.writer();
            for _ in 0..20 {
                store.heap.put(&mut writer, &id(0, 2).to_bytes(), &value(900, 2), |_| ()).unwrap();
            }
            writer.write_out().unwrap();
        }
        assert!(heap_bytes(dir.path()) > committed);
        drop(store);
        let store = open(dir.path());
        assert_eq!(heap_bytes(dir.path()), committed);
        assert_eq!(all(&store), BTreeMap::from([(id(0, 1), value(500, 1))]));
        write(&store, 0, &[(2, Some(value(900, 3)))]);
        assert_eq!(store.signatures(id(0, 2)).unwrap(), Some(value(900, 3)));
    }

    #[test]
    fn a_damaged_value_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        write(&store, 0, &[(1, Some(value(500, 1))), (2, Some(value(500, 2)))]);
        drop(store);
        let path = std::fs::read_dir(dir.path().join(HEAP_DIR)).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let store = open(dir.path());
        assert_eq!(store.signatures(id(0, 1)).unwrap(), None);
        assert_eq!(store.signatures(id(0, 2)).unwrap(), Some(value(500, 2)));
        let (_, pairs) = store.dump_partition(PartitionId(0)).unwrap();
        assert_eq!(pairs.map(Result::unwrap).count(), 1);
        drop(store);
        bytes.truncate(200);
        std::fs::write(&path, &bytes).unwrap();
        let store = open(dir.path());
        assert_eq!((all(&store), store.signatures(id(0, 2)).unwrap()), (BTreeMap::new(), None));
        write(&store, 0, &[(2, Some(value(500, 3)))]);
        assert_eq!(store.signatures(id(0, 2)).unwrap(), Some(value(500, 3)));
    }

    #[test]
    fn pages_that_are_written_again_and_again_take_no_more_room() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let mut most = 0;
        for round in 0..200u8 {
            let values: Vec<_> = (0..10).map(|key| (key, Some(value(300, round ^ key)))).collect();
            write(&store, 1, &values);
            most = most.max(heap_bytes(dir.path()));
        }
        assert!(most < 20_000, "{most} bytes for 3,000");
        assert_eq!(all(&store).len(), 10);
        assert_eq!(store.signatures(id(1, 7)).unwrap(), Some(value(300, 199 ^ 7)));
        // A copy that is being read keeps what it reads.
        let (_, mut pairs) = store.dump_partition(PartitionId(1)).unwrap();
        pairs.next().unwrap().unwrap();
        store.clear_partition(PartitionId(1)).unwrap();
        for round in 0..50u8 {
            write(&store, 2, &[(round % 4, Some(value(700, round)))]);
        }
        assert_eq!(pairs.map(Result::unwrap).count(), 9);
        assert!(heap_bytes(dir.path()) < 20_000);
        assert_eq!(all(&store).len(), 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn it_holds_what_a_map_would_hold(
            steps in proptest::collection::vec(
                proptest::collection::btree_map(0u8..12, proptest::option::weighted(0.8, 0usize..1500), 1..6),
                1..40,
            ),
            reopened in proptest::collection::vec(0usize..40, 0..4),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut store = open(dir.path());
            let mut model = BTreeMap::new();
            for (at, step) in steps.iter().enumerate() {
                if reopened.contains(&at) {
                    drop(store);
                    store = open(dir.path());
                }
                let partition = at as u16 % 2;
                let values: Vec<_> =
                    step.iter().map(|(key, len)| (*key, len.map(|len| value(len, at as u8)))).collect();
                write(&store, partition, &values);
                for (key, value) in values {
                    match value {
                        Some(value) => model.insert(id(partition, key), value),
                        None => model.remove(&id(partition, key)),
                    };
                }
            }
            prop_assert_eq!(all(&store), model.clone());
            for (id, value) in &model {
                prop_assert_eq!(store.signatures(*id).unwrap(), Some(value.clone()));
            }
            let pairs: usize =
                (0..2).map(|partition| store.dump_partition(PartitionId(partition)).unwrap().1.count()).sum();
            prop_assert_eq!(pairs, model.len());
        }
    }
}
