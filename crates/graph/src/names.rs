//! From the id of a URL (the low half of its key) to the whole key and the partition, under which the state knows it.
//!
//! One file, `graph/names`; little-endian:
//!
//! ```text
//! file = "LYCNAME1" stamp:u64 count:u64 (low:u64 high:u64 partition:u16){count}    by low
//! ```
//!
//! The stamp says which state of the crawl the file was made from. Ids are hashes and so spread evenly: a name is found by
//! guessing its place and looking there, in two or three reads.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use lycosa_types::{PartitionId, UrlId, UrlKey};

use crate::error::GraphError;

const MAGIC: &[u8; 8] = b"LYCNAME1";
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 18;
/// Records read at a time.
const WINDOW: u64 = 128;

#[derive(Debug)]
pub struct Names {
    path: PathBuf,
    file: File,
    stamp: u64,
    count: u64,
}

type Record = [u8; RECORD_BYTES];

impl Names {
    /// Opens the names at `path`; if they are missing, damaged or of another stamp, they are made from `ids` first.
    pub fn open_current<E: From<GraphError>>(
        path: &Path,
        stamp: u64,
        ids: impl Iterator<Item = Result<UrlId, E>>,
    ) -> Result<Self, E> {
        match Self::open(path) {
            Ok(names) if names.stamp == stamp => return Ok(names),
            Ok(_) | Err(GraphError::Damaged(_)) => {}
            Err(GraphError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        let records: Result<Vec<(u64, u64, u16)>, E> =
            ids.map(|id| id.map(|id| (id.key.low(), (id.key.0 >> 64) as u64, id.partition.0))).collect();
        let mut records = records?;
        records.sort_unstable();
        write(path, stamp, &records)?;
        Ok(Self::open(path)?)
    }

    pub fn open(path: &Path) -> Result<Self, GraphError> {
        let io = GraphError::io(path);
        let file = File::open(path).map_err(&io)?;
        let length = file.metadata().map_err(&io)?.len();
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0).map_err(&io)?;
        let (words, _) = header.as_chunks::<8>();
        let [magic, stamp, count] = words else { return Err(GraphError::Damaged(path.to_owned())) };
        let (stamp, count) = (u64::from_le_bytes(*stamp), u64::from_le_bytes(*count));
        let expected =
            count.checked_mul(RECORD_BYTES as u64).and_then(|bytes| bytes.checked_add(HEADER_BYTES as u64));
        if magic != MAGIC || expected != Some(length) {
            return Err(GraphError::Damaged(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), file, stamp, count })
    }

    /// The URL with this id, if the crawl knows it.
    pub fn find(&self, id: u64) -> Result<Option<UrlId>, GraphError> {
        let (mut from, mut until) = (0, self.count);
        // The ids just outside the stretch that is left, to guess from.
        let (mut below, mut above) = (0u64, u64::MAX);
        let mut bytes = Vec::new();
        while from < until {
            let share = (u128::from(id - below) << 32) / (u128::from(above - below) + 1);
            let guess = from + ((u128::from(until - from) * share) >> 32) as u64;
            let start = guess.saturating_sub(WINDOW / 2).max(from);
            let end = (start + WINDOW).min(until);
            bytes.resize((end - start) as usize * RECORD_BYTES, 0);
            let at = HEADER_BYTES as u64 + start * RECORD_BYTES as u64;
            self.file.read_exact_at(&mut bytes, at).map_err(GraphError::io(&self.path))?;
            let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
            let (Some(first), Some(last)) = (records.first().map(low), records.last().map(low)) else {
                return Ok(None);
            };
            if id < first {
                (until, above) = (start, first.max(below));
            } else if id > last {
                (from, below) = (end, last.min(above));
            } else {
                return Ok(records.iter().find(|record| low(record) == id).map(name));
            }
            if id < below || id > above {
                // Only a file that is out of order leads here.
                return Err(GraphError::Damaged(self.path.clone()));
            }
        }
        Ok(None)
    }
}

fn low(record: &Record) -> u64 {
    record.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn name(record: &Record) -> UrlId {
    let high = record[8..16].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let key = UrlKey(u128::from(high) << 64 | u128::from(low(record)));
    UrlId { partition: PartitionId(u16::from_le_bytes([record[16], record[17]])), key }
}

fn write(path: &Path, stamp: u64, records: &[(u64, u64, u16)]) -> Result<(), GraphError> {
    let next = path.with_extension("next");
    let write = || {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&next)?);
        out.write_all(MAGIC)?;
        out.write_all(&stamp.to_le_bytes())?;
        out.write_all(&(records.len() as u64).to_le_bytes())?;
        for (low, high, partition) in records {
            out.write_all(&low.to_le_bytes())?;
            out.write_all(&high.to_le_bytes())?;
            out.write_all(&partition.to_le_bytes())?;
        }
        out.flush()?;
        std::fs::rename(&next, path)
    };
    write().map_err(GraphError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> UrlId {
        UrlId { partition: PartitionId(number as u16 % 64), key: UrlKey::of(&number.to_string()) }
    }

    fn ids(count: u64) -> impl Iterator<Item = Result<UrlId, GraphError>> {
        (0..count).map(|number| Ok(id(number)))
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names");
        for (stamp, count) in [(1, 0), (2, 1), (3, 300), (4, 5000)] {
            let names = Names::open_current(&path, stamp, ids(count)).unwrap();
            for number in 0..count {
                assert_eq!(names.find(id(number).key.low()).unwrap(), Some(id(number)));
            }
            for number in count..count + 100 {
                assert_eq!(names.find(id(number).key.low()).unwrap(), None);
            }
            for edge in [0, u64::MAX] {
                assert_eq!(names.find(edge).unwrap(), None);
            }
        }
        let kept = Names::open_current(&path, 4, ids(1)).unwrap();
        assert_eq!(kept.count, 5000, "the same stamp: not made again");
    }

    #[test]
    fn ids_that_crowd_together_are_found_too() {
        let dir = tempfile::tempdir().unwrap();
        let crowd = |number: u64| UrlId { partition: PartitionId(1), key: UrlKey(u128::from(number)) };
        let all = (0..2000u64).map(|number| Ok::<_, GraphError>(crowd(number)));
        let names = Names::open_current(&dir.path().join("names"), 1, all).unwrap();
        assert!((0..2000).all(|number| names.find(number).unwrap() == Some(crowd(number))));
        assert_eq!(names.find(2000).unwrap(), None);
    }

    #[test]
    fn damage_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names");
        Names::open_current(&path, 1, ids(1000)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 10, 23, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(matches!(Names::open(&path), Err(GraphError::Damaged(_))));
        }
        let mut mixed = whole.clone();
        mixed[HEADER_BYTES..].chunks_mut(7).for_each(<[u8]>::reverse);
        std::fs::write(&path, &mixed).unwrap();
        let names = Names::open(&path).unwrap();
        (0..200).for_each(|number| drop(names.find(id(number).key.low())));
    }
}
