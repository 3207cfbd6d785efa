//! Long values, beside the tables: a row tells where its value lies. In the tables a long value is written to the journal, to a
//! table, and again whenever tables are merged; here it is written once.
//!
//! Files are written from front to end and never changed. A value that was replaced stays until so much has gathered that
//! cleaning pays: then the oldest file is gone through, a part of it after each commit; what is still in use is written
//! again, and the file goes.
//!
//! What a row points to is durable before the row is. Where that is not so, after a crash amid rows that need not be durable, the
//! value is missing, never another one: each is stored with its key and a checksum.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use xxhash_rust::xxh3::Xxh3Default;

/// Bytes of a key: partition and URL key.
const KEY_BYTES: usize = 18;
/// Length and checksum, then the key.
const HEAD_BYTES: usize = 8 + KEY_BYTES;
/// Shorter values stay in their rows, and longer ones, if there should be any.
const LEAST_BYTES: usize = 128;
const MOST_BYTES: usize = 64 << 20;
/// The first byte of a row that tells a place: values begin with a version, or 0xFF.
const PLACE: u8 = 0;
/// What is gathered before it is written.
const BUFFER_BYTES: usize = 256 << 10;

/// When files end and when they are cleaned.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapLimits {
    /// A file that is longer is followed by another.
    pub file_bytes: u32,
    /// Less garbage than this is left alone.
    pub least_garbage: u64,
    /// How much of a file is cleaned at once, at least.
    pub step_bytes: usize,
}

impl Default for HeapLimits {
    fn default() -> Self {
        Self { file_bytes: 128 << 20, least_garbage: 64 << 20, step_bytes: 4 << 20 }
    }
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    file: u32,
    at: u32,
    len: u32,
}

/// A row's content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Held<'r> {
    Here(&'r [u8]),
    There(Place),
}

impl Place {
    pub fn to_row(self) -> [u8; 13] {
        let mut row = [PLACE; 13];
        row[1..5].copy_from_slice(&self.file.to_be_bytes());
        row[5..9].copy_from_slice(&self.at.to_be_bytes());
        row[9..].copy_from_slice(&self.len.to_be_bytes());
        row
    }

    /// Bytes in the file.
    pub fn stored_bytes(self) -> u64 {
        HEAD_BYTES as u64 + u64::from(self.len)
    }
}

impl<'r> Held<'r> {
    pub fn read(row: &'r [u8]) -> Self {
        let place = || {
            let (file, rest) = row.strip_prefix(&[PLACE])?.split_first_chunk()?;
            let (at, rest) = rest.split_first_chunk()?;
            let len = rest.try_into().ok()?;
            let [file, at, len] = [*file, *at, len].map(u32::from_be_bytes);
            Some(Place { file, at, len })
        };
        place().map_or(Self::Here(row), Self::There)
    }
}

/// A record of a file.
struct Record {
    key: [u8; KEY_BYTES],
    place: Place,
    value: Vec<u8>,
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut hash = Xxh3Default::new();
    hash.update(key);
    hash.update(value);
    hash.digest() as u32
}

/// Length, checksum and key at the beginning of a record.
fn read_head(head: &[u8]) -> Option<(u32, u32, [u8; KEY_BYTES])> {
    let (len, rest) = head.split_first_chunk()?;
    let (check, rest) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*len), u32::from_le_bytes(*check), *rest.first_chunk()?))
}

/// The record at the beginning of `bytes`, which lie at `at`; none if it is not whole.
fn read_record(bytes: &[u8], file: u32, at: u32) -> Option<Record> {
    let (len, check, key) = read_head(bytes)?;
    let value = bytes.get(HEAD_BYTES..HEAD_BYTES.checked_add(len as usize)?)?;
    (checksum(&key, value) == check).then(|| Record {
        key,
        place: Place { file, at, len },
        value: value.to_vec(),
    })
}

/// All files, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<u32, Arc<File>>);

impl Files {
    /// A value; none if it is not there.
    pub fn read(&self, key: &[u8], place: Place) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.0.get(&place.file).filter(|_| place.len as usize <= MOST_BYTES) else {
            return Ok(None);
        };
        let mut bytes = vec![0; place.stored_bytes() as usize];
        match file.read_exact_at(&mut bytes, place.at.into()) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let found = read_head(&bytes).is_some_and(|(len, check, at)| {
            let value = bytes.get(HEAD_BYTES..).unwrap_or_default();
            len == place.len && at.as_slice() == key && checksum(key, value) == check
        });
        Ok(found.then(|| bytes.split_off(HEAD_BYTES)))
    }

    /// Every value with its key and place, in the order they were written. What cannot be read of a file is left out.
    pub fn records(self) -> impl Iterator<Item = io::Result<(Vec<u8>, Place, Vec<u8>)>> {
        self.0.into_iter().flat_map(|(number, file)| {
            let mut reader = BufReader::with_capacity(1 << 20, Whole { file, at: 0 });
            let mut at = 0u32;
            std::iter::from_fn(move || {
                let record = next_record(&mut reader, number, at).transpose()?;
                if let Ok(record) = &record {
                    at += record.place.stored_bytes() as u32;
                }
                Some(record.map(|record| (record.key.to_vec(), record.place, record.value)))
            })
        })
    }
}

/// A file read from its beginning, wherever others read it.
struct Whole {
    file: Arc<File>,
    at: u64,
}

impl io::Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn next_record(reader: &mut impl io::Read, file: u32, at: u32) -> io::Result<Option<Record>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    let Some((len, ..)) = read_head(&bytes) else { return Ok(None) };
    reader.by_ref().take(len.into()).read_to_end(&mut bytes)?;
    Ok(read_record(&bytes, file, at))
}

pub(super) struct Heap {
    dir: PathBuf,
    limits: HeapLimits,
    files: RwLock<Files>,
    writer: Mutex<Writer>,
}

/// The end that is written to. Whoever has it is the only one who writes rows that point here.
pub(super) struct Writer {
    /// The newest file and its number, once there is one.
    newest: Option<(u32, Arc<File>)>,
    /// Where the next value goes, what is in the buffer included.
    end: u32,
    buffer: Vec<u8>,
    /// Something was written that is not durable.
    unsynced: bool,
    /// Its mark is not in the state.
    changed: bool,
    /// Bytes of all files.
    total: u64,
    /// Bytes of values that no row points to, about.
    garbage: u64,
    /// How far the oldest file is cleaned.
    cleaned: u32,
    /// Bytes that were taken in since the last commit.
    taken_in: usize,
}

/// What is still in use of a part of the oldest file.
pub(super) struct Part {
    number: u32,
    pub values: Vec<(Vec<u8>, Place, Vec<u8>)>,
    is_last: bool,
}

impl Writer {
    /// Values of so many bytes are replaced or removed.
    pub fn discard(&mut self, bytes: u64) {
        self.garbage = (self.garbage + bytes).min(self.total);
        self.changed |= bytes > 0;
    }

    pub fn has_garbage(&self) -> bool {
        self.garbage > 0
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// What has to be in the state beside rows that point here, if it changed.
    pub fn mark(&mut self) -> Option<[u8; 16]> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut mark = [0; 16];
        mark[..8].copy_from_slice(&self.garbage.to_be_bytes());
        mark[8..12].copy_from_slice(&self.newest.as_ref().map_or(0, |(number, _)| *number).to_be_bytes());
        mark[12..].copy_from_slice(&self.end.to_be_bytes());
        Some(mark)
    }

    /// Hands what is in the buffer to the system.
    pub fn write_out(&mut self) -> io::Result<()> {
        if let Some((_, file)) = &self.newest
            && !self.buffer.is_empty()
        {
            let start = u64::from(self.end) - self.buffer.len() as u64;
            file.write_all_at(&self.buffer, start)?;
            self.buffer.clear();
            self.unsynced = true;
        }
        Ok(())
    }

    /// Makes everything durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.write_out()?;
        if let Some((_, file)) = &self.newest
            && std::mem::take(&mut self.unsynced)
        {
            file.sync_data()?;
        }
        Ok(())
    }
}

impl Heap {
    /// Opens the files in `dir` as they were when `mark` was made: what was written after that is of no use.
    pub fn open(dir: &Path, mark: Option<&[u8]>, limits: HeapLimits) -> io::Result<Self> {
        let (mut garbage, mut newest, mut end) = (0, 0, 0);
        if let Some((first, rest)) = mark.and_then(|mark| mark.split_first_chunk::<8>()) {
            let number = |at: usize| rest.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            garbage = u64::from_be_bytes(*first);
            newest = number(0).map_or(0, u32::from_be_bytes);
            end = number(4).map_or(0, u32::from_be_bytes).into();
        }
        let (mut files, mut total) = (BTreeMap::new(), 0);
        for number in numbers(dir)? {
            let path = path(dir, number);
            if number > newest {
                std::fs::remove_file(path)?;
                continue;
            }
            let file = File::options().read(true).write(true).open(path)?;
            let mut len = file.metadata()?.len();
            if number == newest && len > end {
                file.set_len(end)?;
                len = end;
            }
            total += len;
            files.insert(number, (Arc::new(file), len));
        }
        let last =
            files.last_key_value().map(|(number, (file, len))| (*number, Arc::clone(file), *len as u32));
        let (end, last) = last.map_or((0, None), |(number, file, len)| (len, Some((number, file))));
        let files = files.into_iter().map(|(number, (file, _))| (number, file)).collect();
        let writer = Writer {
            newest: last,
            end,
            buffer: Vec::new(),
            unsynced: false,
            changed: false,
            total,
            garbage: garbage.min(total),
            cleaned: 0,
            taken_in: 0,
        };
        Ok(Self { dir: dir.to_owned(), limits, files: RwLock::new(Files(files)), writer: Mutex::new(writer) })
    }

    /// The end that is written to. A panic elsewhere leaves it whole: what was appended without a row is garbage.
    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files as they are now; they can be read even when they are cleaned away later.
    pub fn files(&self) -> Files {
        self.files.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn read(&self, key: &[u8], place: Place) -> io::Result<Option<Vec<u8>>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let file = files.0.get(&place.file).map(Arc::clone);
        drop(files);
        file.map_or(Ok(None), |file| Files(BTreeMap::from([(place.file, file)])).read(key, place))
    }

    /// Takes a value in and hands what its row is to hold to `row`: where it lies, or itself if it is short.
    pub fn put<T>(
        &self,
        writer: &mut Writer,
        key: &[u8],
        value: &[u8],
        row: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        // Nothing that stays in its row may look like a place.
        let is_long = (LEAST_BYTES..=MOST_BYTES).contains(&value.len());
        if !is_long && matches!(Held::read(value), Held::Here(_)) {
            return Ok(row(value));
        }
        let Some(key) = key.first_chunk::<KEY_BYTES>().filter(|_| key.len() == KEY_BYTES) else {
            return Ok(row(value));
        };
        let file = match &writer.newest {
            Some((number, _)) if writer.end < self.limits.file_bytes => *number,
            newest => {
                let number = newest.as_ref().map_or(1, |(number, _)| number + 1);
                self.start_file(writer, number)?;
                number
            }
        };
        let place = Place { file, at: writer.end, len: value.len() as u32 };
        writer.buffer.extend_from_slice(&place.len.to_le_bytes());
        writer.buffer.extend_from_slice(&checksum(key, value).to_le_bytes());
        writer.buffer.extend_from_slice(key);
        writer.buffer.extend_from_slice(value);
        writer.end += place.stored_bytes() as u32;
        writer.total += place.stored_bytes();
        writer.taken_in += place.stored_bytes() as usize;
        writer.changed = true;
        if writer.buffer.len() >= BUFFER_BYTES {
            writer.write_out()?;
        }
        Ok(row(&place.to_row()))
    }

    fn start_file(&self, writer: &mut Writer, number: u32) -> io::Result<()> {
        writer.sync()?;
        std::fs::create_dir_all(&self.dir)?;
        let path = path(&self.dir, number);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        for dir in [Some(self.dir.as_path()), self.dir.parent()].into_iter().flatten() {
            File::open(dir)?.sync_all()?;
        }
        let file = Arc::new(file);
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        files.0.insert(number, Arc::clone(&file));
        writer.newest = Some((number, file));
        writer.end = 0;
        Ok(())
    }

    /// The next part of the oldest file, if cleaning pays.
    pub fn part_to_clean(&self, writer: &mut Writer) -> io::Result<Option<Part>> {
        let taken_in = std::mem::take(&mut writer.taken_in);
        let pays = writer.garbage > self.limits.least_garbage && writer.garbage > writer.total / 2;
        if !pays && writer.cleaned == 0 {
            return Ok(None);
        }
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let Some((number, file)) =
            files.0.first_key_value().map(|(number, file)| (*number, Arc::clone(file)))
        else {
            return Ok(None);
        };
        drop(files);
        if writer.newest.as_ref().is_some_and(|(newest, _)| *newest == number) {
            // What is written next goes elsewhere, so that this one can be cleaned as well.
            self.start_file(writer, number + 1)?;
        }
        let mut reader = BufReader::with_capacity(1 << 20, Whole { file, at: writer.cleaned.into() });
        let mut part = Part { number, values: Vec::new(), is_last: false };
        // Faster than it grows.
        let step = self.limits.step_bytes.max(2 * taken_in);
        let mut bytes = 0;
        while bytes < step {
            let Some(record) = next_record(&mut reader, number, writer.cleaned)? else {
                part.is_last = true;
                break;
            };
            bytes += record.place.stored_bytes() as usize;
            writer.cleaned += record.place.stored_bytes() as u32;
            part.values.push((record.key.to_vec(), record.place, record.value));
        }
        Ok(Some(part))
    }

    /// A part's values that are in use lie elsewhere now, durably: of those that were not, so many bytes are garbage no more.
    pub fn cleaned(&self, writer: &mut Writer, part: &Part, unused: u64) -> io::Result<()> {
        writer.garbage = writer.garbage.saturating_sub(unused);
        writer.changed = true;
        writer.taken_in = 0;
        if !part.is_last {
            return Ok(());
        }
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.0.remove(&part.number) {
            writer.total = writer.total.saturating_sub(file.metadata()?.len());
        }
        writer.garbage = writer.garbage.min(writer.total);
        writer.cleaned = 0;
        std::fs::remove_file(path(&self.dir, part.number))
    }
}

fn path(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number:08}"))
}

/// The numbers of the files in a directory.
fn numbers(dir: &Path) -> io::Result<Vec<u32>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(numbers)
}
