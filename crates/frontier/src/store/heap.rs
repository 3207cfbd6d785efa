//! Long values, beside the tables: a row tells where its value lies. In the tables a long value is written to the journal, to a
//! table, and again whenever tables are merged; here it is written once.
//!
//! Files are written from front to end and never changed. A value that was replaced stays until most of its file is such: then
//! the file is cleaned, a part of it after each commit; what is still in use is written again, and the file goes.
//!
//! The state has a mark for each file: how long it is and how much of it is out of use. It is written in one batch with the rows
//! that it follows from, and what a row points to is durable before the row is. Where that is not so, after a crash amid
//! rows that need not be durable, the value is missing, never another one: each is stored with its key and a checksum.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub(super) use record::{Held, Place, Record};
use record::{Walk, append, is_for_heap, read_value};

/// What is gathered before it is written.
const BUFFER_BYTES: usize = 256 << 10;

/// When files end and when they are cleaned.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapLimits {
    /// A file that is longer is followed by another.
    pub file_bytes: u32,
    /// One that is shorter is not cleaned as long as it is written to.
    pub least_bytes: u32,
    /// How much of a file is cleaned at once, at least.
    pub step_bytes: u32,
}

impl Default for HeapLimits {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, least_bytes: 32 << 20, step_bytes: 4 << 20 }
    }
}

/// A file as the state knows it.
#[derive(Clone, Debug)]
struct Extent {
    file: Arc<File>,
    /// Bytes that are written, those in the buffer included.
    len: u32,
    /// Bytes that no row points to.
    unused: u32,
}

impl Extent {
    fn mark(&self) -> [u8; 8] {
        let mut mark = [0; 8];
        mark[..4].copy_from_slice(&self.len.to_be_bytes());
        mark[4..].copy_from_slice(&self.unused.to_be_bytes());
        mark
    }
}

/// The files at one moment. They can be read even when they are cleaned away later.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<u32, Extent>);

impl Files {
    /// A value; none if it is not there.
    pub fn read(&self, key: &[u8], place: Place) -> io::Result<Option<Vec<u8>>> {
        self.0.get(&place.file).map_or(Ok(None), |extent| read_value(&extent.file, key, place))
    }

    /// Whether all of a file is in use.
    pub fn is_all_used(&self, number: u32) -> bool {
        self.0.get(&number).is_some_and(|extent| extent.unused == 0)
    }

    /// Every value, in the order they were written.
    pub fn records(self) -> impl Iterator<Item = io::Result<Record>> {
        self.0.into_iter().flat_map(|(number, extent)| {
            let mut walk = Walk::new(number, extent.file, 0, extent.len);
            std::iter::from_fn(move || walk.next().transpose())
        })
    }
}

pub(super) struct Heap {
    dir: PathBuf,
    limits: HeapLimits,
    files: RwLock<Files>,
    writer: Mutex<Writer>,
}

/// The end that is written to. Whoever has it is the only one who writes rows that point here, from the first value to
/// the commit of the batch.
pub(super) struct Writer {
    /// The file that is written to, by number, and how long it is with what is in the buffer.
    newest: Option<(u32, Arc<File>)>,
    end: u32,
    /// The number of the last file there ever was.
    last: u32,
    buffer: Vec<u8>,
    /// Something was written that is not durable.
    is_unsynced: bool,
    /// Files whose mark changed since the last commit.
    changed: BTreeSet<u32>,
    cleaning: Option<Cleaning>,
    /// Files that cannot be cleaned, because what is in them cannot be told apart.
    stuck: BTreeSet<u32>,
    /// Bytes that were taken in since the last commit.
    taken_in: u32,
}

/// A file that is being cleaned.
#[derive(Clone, Copy)]
struct Cleaning {
    file: u32,
    /// How far it is.
    at: u32,
    /// No value up to there was damaged.
    is_whole: bool,
}

/// A part of the file that is being cleaned.
pub(super) struct Part {
    pub records: Vec<Record>,
    /// It is the last one.
    pub is_last: bool,
    /// How far the file is with it.
    after: Cleaning,
}

impl Writer {
    /// Hands what is in the buffer to the system.
    pub fn write_out(&mut self) -> io::Result<()> {
        if let Some((_, file)) = &self.newest
            && !self.buffer.is_empty()
        {
            let start = u64::from(self.end) - self.buffer.len() as u64;
            self.is_unsynced = true;
            file.write_all_at(&self.buffer, start)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Makes everything durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.write_out()?;
        if let Some((_, file)) = &self.newest
            && self.is_unsynced
        {
            file.sync_data()?;
            self.is_unsynced = false;
        }
        Ok(())
    }
}

impl Heap {
    /// Opens the files in `dir` that have marks; others, and what lies behind the end of one, were never committed.
    pub fn open(dir: &Path, marks: &BTreeMap<u32, [u8; 8]>, limits: HeapLimits) -> io::Result<Self> {
        for number in numbers(dir)? {
            if !marks.contains_key(&number) {
                std::fs::remove_file(path(dir, number))?;
            }
        }
        let mut files = BTreeMap::new();
        for (&number, mark) in marks {
            let [len, unused] = [0, 4].map(|at| {
                mark.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
            });
            let file = match File::options().read(true).write(true).open(path(dir, number)) {
                // Its values are missing.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => Arc::new(file?),
            };
            if file.metadata()?.len() > len.into() {
                file.set_len(len.into())?;
            }
            files.insert(number, Extent { file, len, unused: unused.min(len) });
        }
        let writer = Writer {
            // What is written from now on goes into another file: one that a crash left with a gap could not be read behind it.
            newest: None,
            end: 0,
            last: marks.keys().next_back().copied().unwrap_or(0),
            buffer: Vec::new(),
            is_unsynced: false,
            changed: BTreeSet::new(),
            cleaning: None,
            stuck: BTreeSet::new(),
            taken_in: 0,
        };
        Ok(Self { dir: dir.to_owned(), limits, files: RwLock::new(Files(files)), writer: Mutex::new(writer) })
    }

    /// The end that is written to.
    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        // A panic elsewhere leaves it whole: what was appended without a row is not in use.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn files(&self) -> Files {
        self.files.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_files<T>(&self, change: impl FnOnce(&mut BTreeMap<u32, Extent>) -> T) -> T {
        change(&mut self.files.write().unwrap_or_else(PoisonError::into_inner).0)
    }

    pub fn total_bytes(&self) -> u64 {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.0.values().map(|extent| u64::from(extent.len)).sum()
    }

    pub fn read(&self, key: &[u8], place: Place) -> io::Result<Option<Vec<u8>>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let file = files.0.get(&place.file).map(|extent| Arc::clone(&extent.file));
        drop(files);
        file.map_or(Ok(None), |file| read_value(&file, key, place))
    }

    /// Takes a value in and hands what its row is to hold to `row`: where it lies, or itself if it is short.
    pub fn put<T>(
        &self,
        writer: &mut Writer,
        key: &[u8],
        value: &[u8],
        row: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        if !is_for_heap(key, value) {
            return Ok(row(value));
        }
        let file = match &writer.newest {
            Some((number, _)) if writer.end < self.limits.file_bytes => *number,
            _ => self.start_file(writer)?,
        };
        let place = Place { file, at: writer.end, len: value.len() as u32 };
        append(key, value, &mut writer.buffer);
        writer.end += place.stored_bytes();
        writer.taken_in = writer.taken_in.saturating_add(place.stored_bytes());
        if writer.buffer.len() >= BUFFER_BYTES {
            writer.write_out()?;
        }
        Ok(row(&place.to_row()))
    }

    fn start_file(&self, writer: &mut Writer) -> io::Result<u32> {
        writer.sync()?;
        self.note_end(writer);
        std::fs::create_dir_all(&self.dir)?;
        let number = writer.last + 1;
        let path = path(&self.dir, number);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        for dir in [Some(self.dir.as_path()), self.dir.parent()].into_iter().flatten() {
            File::open(dir)?.sync_all()?;
        }
        let file = Arc::new(file);
        let extent = Extent { file: Arc::clone(&file), len: 0, unused: 0 };
        self.change_files(|files| files.insert(number, extent));
        writer.changed.insert(number);
        (writer.newest, writer.last, writer.end) = (Some((number, file)), number, 0);
        Ok(number)
    }

    /// Writes down how long the newest file is.
    fn note_end(&self, writer: &mut Writer) {
        let Some((number, _)) = &writer.newest else { return };
        let grew = self.change_files(|files| {
            files
                .get_mut(number)
                .is_some_and(|extent| std::mem::replace(&mut extent.len, writer.end) != writer.end)
        });
        if grew {
            writer.changed.insert(*number);
        }
    }

    /// No row will point there any more.
    pub fn discard(&self, writer: &mut Writer, place: Place) {
        let counted = self.change_files(|files| {
            let extent = files.get_mut(&place.file).filter(|extent| place.end() <= extent.len.into())?;
            extent.unused = extent.unused.saturating_add(place.stored_bytes()).min(extent.len);
            Some(())
        });
        if counted.is_some() {
            writer.changed.insert(place.file);
        }
    }

    /// The marks that changed since they were asked for last.
    pub fn changed_marks(&self, writer: &mut Writer) -> Vec<(u32, [u8; 8])> {
        self.note_end(writer);
        let changed = std::mem::take(&mut writer.changed);
        self.change_files(|files| {
            changed.into_iter().filter_map(|number| Some((number, files.get(&number)?.mark()))).collect()
        })
    }

    /// The next part of the file that is cleaned, if there is one that is mostly out of use.
    pub fn part_to_clean(&self, writer: &mut Writer) -> io::Result<Option<Part>> {
        let taken_in = std::mem::take(&mut writer.taken_in);
        let start = |file| Cleaning { file, at: 0, is_whole: true };
        let next = writer.cleaning.or_else(|| self.file_to_clean(writer).map(start));
        let Some(Cleaning { file: number, at, mut is_whole }) = next else { return Ok(None) };
        if writer.newest.as_ref().is_some_and(|(newest, _)| *newest == number) {
            self.start_file(writer)?;
        }
        let Some(extent) = self.files.read().unwrap_or_else(PoisonError::into_inner).0.get(&number).cloned()
        else {
            writer.cleaning = None;
            return Ok(None);
        };
        let mut walk = Walk::new(number, extent.file, at, extent.len);
        let mut records = Vec::new();
        // Faster than the heap grows.
        let until = at.saturating_add(self.limits.step_bytes.max(taken_in.saturating_mul(2)));
        while walk.at < until
            && let Ok(Some(record)) = walk.next()
        {
            is_whole &= record.value.is_some();
            records.push(record);
        }
        if walk.is_lost || walk.at < until.min(extent.len) {
            self.keep(writer, number);
            return Ok(None);
        }
        let after = Cleaning { file: number, at: walk.at, is_whole };
        Ok(Some(Part { records, is_last: walk.at >= extent.len, after }))
    }

    fn file_to_clean(&self, writer: &Writer) -> Option<u32> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let newest = writer.newest.as_ref().map(|(number, _)| *number);
        let is_worth_it = |(number, extent): &(&u32, &Extent)| {
            let is_open = Some(**number) == newest && extent.len < self.limits.least_bytes;
            extent.unused > extent.len / 2 && !is_open && !writer.stuck.contains(number)
        };
        files.0.iter().find(is_worth_it).map(|(number, _)| *number)
    }

    /// Whether a file can go after this part of it. Where a length is damaged, some values may have been passed over: it
    /// goes only if nothing is left in use.
    pub fn may_go(&self, part: &Part) -> bool {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let is_unused = || files.0.get(&part.after.file).is_some_and(|extent| extent.unused == extent.len);
        part.is_last && (part.after.is_whole || is_unused())
    }

    /// A file is kept although most of it is out of use.
    pub fn keep(&self, writer: &mut Writer, number: u32) {
        tracing::warn!("{} cannot be read as a whole; it is kept", path(&self.dir, number).display());
        writer.stuck.insert(number);
        writer.cleaning = None;
    }

    /// What is in use of a part lies elsewhere now, durably.
    pub fn cleaned(&self, writer: &mut Writer, part: &Part) -> io::Result<()> {
        writer.taken_in = 0;
        if !part.is_last {
            writer.cleaning = Some(part.after);
            return Ok(());
        }
        writer.cleaning = None;
        writer.changed.remove(&part.file());
        self.change_files(|files| files.remove(&part.file()));
        std::fs::remove_file(path(&self.dir, part.file()))
    }
}

impl Part {
    pub fn file(&self) -> u32 {
        self.after.file
    }
}

fn path(dir: &Path, number: u32) -> PathBuf {
    dir.join(name(number))
}

fn name(number: u32) -> String {
    format!("{number:08}")
}

/// The numbers of the files in a directory.
fn numbers(dir: &Path) -> io::Result<Vec<u32>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry?.file_name();
        let number = entry.to_str().and_then(|entry| entry.parse().ok());
        numbers.extend(number.filter(|number| entry.to_str() == Some(&name(*number))));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests;
