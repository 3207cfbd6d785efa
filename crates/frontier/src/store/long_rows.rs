//! Rows whose values lie in the heap: signatures.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use fjall::{OwnedWriteBatch, PersistMode, Readable as _, Snapshot};
use lycosa_types::UrlId;

use super::heap::{Files, Held, Writer};
use super::rows::Rows;
use super::{Store, StoreError};

/// What the name of a mark begins with that a file of the heap has; its number follows.
const MARK: &[u8] = b"heap/";
/// Tries to read a value that is moved meanwhile.
const TRIES: usize = 3;

fn mark_key(number: u32) -> Vec<u8> {
    [MARK, &number.to_be_bytes()].concat()
}

/// The marks of the heap's files.
pub(super) fn heap_marks(meta: &Rows) -> Result<BTreeMap<u32, [u8; 8]>, StoreError> {
    let read = |guard: fjall::Guard| {
        let (key, mark) = guard.into_inner()?;
        let number = key.strip_prefix(MARK).and_then(|number| number.try_into().ok());
        let mark = <[u8; 8]>::try_from(&*mark).ok();
        number.map(u32::from_be_bytes).zip(mark).ok_or(StoreError::Damaged("mark of the heap"))
    };
    meta.prefix(MARK).map(read).collect()
}

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
        let (moment, files) = {
            let _writer = self.heap.writer();
            (self.db.snapshot(), self.heap.files())
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
        let known = files.clone();
        let long = files.records().filter_map(move |record| {
            let read = || {
                let record = record.map_err(fjall::Error::Io)?;
                let is_used = known.is_all_used(record.place.file)
                    || self.row_at(&moment, &record.key)?.as_deref() == Some(&record.place.to_row());
                let Some(value) = record.value.filter(|_| is_used) else { return Ok(None) };
                Ok(Some((url_id(&record.key)?, value)))
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
        if self.poisoned.load(Ordering::Acquire) {
            return Err(StoreError::Poisoned);
        }
        let keyspace = self.signatures.made()?;
        let put = self.heap.put(writer, key, value, |row| batch.insert(keyspace, key, row));
        put.map_err(|error| {
            // As a failed commit: nothing is written after a write whose fate is unknown.
            self.poisoned.store(true, Ordering::Release);
            fjall::Error::Io(error).into()
        })
    }

    /// The row of this key is about to change: what it points to will be out of use.
    pub(super) fn discard_long(&self, writer: &mut Writer, key: &[u8]) -> Result<(), StoreError> {
        if let Some(row) = self.signatures.get(key)?
            && let Held::There(place) = Held::read(&row)
        {
            self.heap.discard(writer, place);
        }
        Ok(())
    }

    /// Commits a batch after the values it points to. Whether those have to be durable, too, is told by `durable`.
    pub(super) fn commit_with_values(
        &self,
        batch: OwnedWriteBatch,
        writer: &mut Writer,
        durable: bool,
    ) -> Result<(), StoreError> {
        // It may have failed while the writer was waited for.
        if self.poisoned.load(Ordering::Acquire) {
            return Err(StoreError::Poisoned);
        }
        let result = self.write_with_values(batch, writer, durable).and_then(|()| self.clean(writer));
        if result.is_err() {
            // Before anybody else has the writer.
            self.poisoned.store(true, Ordering::Release);
        }
        result
    }

    fn write_with_values(
        &self,
        mut batch: OwnedWriteBatch,
        writer: &mut Writer,
        durable: bool,
    ) -> Result<(), StoreError> {
        if durable { writer.sync() } else { writer.write_out() }.map_err(fjall::Error::Io)?;
        for (number, mark) in self.heap.changed_marks(writer) {
            batch.insert(self.meta.made()?, mark_key(number), mark.as_slice());
        }
        Ok(batch.commit()?)
    }

    /// Goes through a part of a file of the heap, if most of one is out of use.
    fn clean(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let Some(part) = self.heap.part_to_clean(writer).map_err(fjall::Error::Io)? else { return Ok(()) };
        let meta = self.meta.made()?;
        let mut batch = self.batch(part.records.len() + 2);
        for record in &part.records {
            if self.signatures.get(record.key)?.as_deref() == Some(&record.place.to_row()) {
                match &record.value {
                    Some(value) => self.put_long(&mut batch, writer, &record.key, value)?,
                    None => batch.remove(self.signatures.made()?, record.key),
                }
                self.heap.discard(writer, record.place);
            }
        }
        writer.sync().map_err(fjall::Error::Io)?;
        let goes = self.heap.may_go(&part).then(|| part.file());
        for (number, mark) in self.heap.changed_marks(writer) {
            if Some(number) != goes {
                batch.insert(meta, mark_key(number), mark.as_slice());
            }
        }
        if let Some(number) = goes {
            batch.remove(meta, mark_key(number));
        }
        // Durable, and with it whatever was committed before without being so: no row points to a file that goes.
        batch.commit()?;
        if part.is_last && goes.is_none() {
            self.heap.keep(writer, part.file());
            return Ok(());
        }
        Ok(self.heap.cleaned(writer, &part).map_err(fjall::Error::Io)?)
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

    const LIMITS: HeapLimits = HeapLimits { file_bytes: 4000, least_bytes: 2000, step_bytes: 900 };

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

    fn only_file(dir: &Path) -> std::path::PathBuf {
        let mut files = std::fs::read_dir(dir.join(HEAP_DIR)).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }

    #[test]
    fn a_damaged_value_is_missing_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let values: Vec<_> = (1..6).map(|key| (key, Some(value(500, key)))).collect();
        write(&store, 0, &values);
        drop(store);
        let path = only_file(dir.path());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let store = open(dir.path());
        assert_eq!(store.signatures(id(0, 1)).unwrap(), None);
        assert_eq!(store.signatures(id(0, 2)).unwrap(), Some(value(500, 2)));
        assert_eq!(all(&store).len(), 4);
        let (_, pairs) = store.dump_partition(PartitionId(0)).unwrap();
        assert_eq!(pairs.map(Result::unwrap).count(), 4);
        // It is cleaned around the damage.
        write(&store, 0, &[(3, None), (4, None), (5, Some(value(400, 5)))]);
        for _ in 0..5 {
            write(&store, 1, &[]);
        }
        assert!(!path.exists());
        assert_eq!(all(&store), BTreeMap::from([(id(0, 2), value(500, 2)), (id(0, 5), value(400, 5))]));
    }

    #[test]
    fn a_file_that_cannot_be_read_as_a_whole_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        write(&store, 0, &[(1, Some(value(500, 1))), (2, Some(value(500, 2))), (3, Some(value(900, 3)))]);
        drop(store);
        let path = only_file(dir.path());
        let mut bytes = std::fs::read(&path).unwrap();
        // The length of the first.
        bytes[0] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let store = open(dir.path());
        write(&store, 0, &[(1, None), (3, None)]);
        for round in 4..20u8 {
            write(&store, 0, &[(3, Some(value(900, round)))]);
        }
        assert!(path.exists());
        assert_eq!(store.signatures(id(0, 2)).unwrap(), Some(value(500, 2)));
        assert_eq!(store.signatures(id(0, 3)).unwrap(), Some(value(900, 19)));
    }

    #[test]
    fn a_file_that_lost_its_end_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        write(&store, 0, &[(1, Some(value(500, 1))), (2, Some(value(500, 2)))]);
        drop(store);
        let path = only_file(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..800]).unwrap();
        let store = open(dir.path());
        let mut expected = BTreeMap::from([(id(0, 1), value(500, 1))]);
        assert_eq!((all(&store), store.signatures(id(0, 2)).unwrap()), (expected.clone(), None));
        for round in 3..40u8 {
            write(&store, 0, &[(2, Some(value(500, round))), (3, Some(value(900, round)))]);
            expected.extend([(id(0, 2), value(500, round)), (id(0, 3), value(900, round))]);
            assert_eq!(all(&store), expected);
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes[..800]);
        write(&store, 0, &[(1, None)]);
        expected.remove(&id(0, 1));
        for round in 40..60u8 {
            write(&store, 0, &[(2, Some(value(500, round)))]);
        }
        expected.insert(id(0, 2), value(500, 59));
        assert_eq!(all(&store), expected);
        assert!(!path.exists());
        drop(store);
        assert_eq!(all(&open(dir.path())), expected);
    }

    #[test]
    fn what_is_refused_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let key = [&[Space::Signatures as u8], &id(0, 1).to_bytes()[2..]].concat();
        let value = value(500, 1);
        let refused = store.apply_partition(PartitionId(0), &[(&key, Some(&value)), (b"?", None)], None);
        assert!(matches!(refused, Err(StoreError::Damaged(_))));
        write(&store, 0, &[(2, Some(value.clone()))]);
        assert_eq!(all(&store), BTreeMap::from([(id(0, 2), value)]));
    }

    #[test]
    fn directories_from_before_the_heap_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let key = id(0, 1).to_bytes();
        store.signatures.made().unwrap().insert(key, value(700, 1)).unwrap();
        store.meta.made().unwrap().insert("format", super::super::FORMAT_BEFORE.to_be_bytes()).unwrap();
        store.persist().unwrap();
        drop(store);
        let store = open(dir.path());
        assert_eq!(all(&store), BTreeMap::from([(id(0, 1), value(700, 1))]));
        assert_eq!(store.mark("format").unwrap().unwrap(), super::super::FORMAT_VERSION.to_be_bytes());
        write(&store, 0, &[(1, Some(value(700, 2)))]);
        assert_eq!(all(&store), BTreeMap::from([(id(0, 1), value(700, 2))]));
        store.meta.made().unwrap().insert("format", 6u32.to_be_bytes()).unwrap();
        store.persist().unwrap();
        drop(store);
        assert!(matches!(
            Store::open_with(dir.path(), 32 << 20, LIMITS),
            Err(StoreError::Format { found: 6 })
        ));
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
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

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
                prop_assert_eq!(all(&store), model.clone());
                let used: u64 = model.values().map(|value| value.len() as u64 + 26).sum();
                prop_assert!(store.heap.total_bytes() <= 4 * used + 20_000);
            }
            for (id, value) in &model {
                prop_assert_eq!(store.signatures(*id).unwrap(), Some(value.clone()));
            }
            let pairs: usize =
                (0..2).map(|partition| store.dump_partition(PartitionId(partition)).unwrap().1.count()).sum();
            prop_assert_eq!(pairs, model.len());
        }
    }
}
