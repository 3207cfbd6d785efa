//! A value in a file of the heap: its head, its place, and the way from one to the next.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Default;

/// Bytes of a key: partition and URL key.
const KEY_BYTES: usize = 18;
/// Length and checksum, then the key.
const HEAD_BYTES: u32 = 8 + KEY_BYTES as u32;
/// Shorter values stay in their rows, and longer ones, if there should be any.
const LEAST_BYTES: usize = 128;
const MOST_BYTES: usize = 64 << 20;
/// The first byte of a row that tells a place: values begin with a version, or 0xFF.
const PLACE: u8 = 0;
/// Bytes of such a row.
const ROW_BYTES: usize = 13;
/// What is read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Place {
    pub file: u32,
    pub at: u32,
    pub len: u32,
}

impl Place {
    pub fn to_row(self) -> [u8; ROW_BYTES] {
        let mut row = [PLACE; ROW_BYTES];
        row[1..5].copy_from_slice(&self.file.to_be_bytes());
        row[5..9].copy_from_slice(&self.at.to_be_bytes());
        row[9..].copy_from_slice(&self.len.to_be_bytes());
        row
    }

    /// Bytes in the file.
    pub fn stored_bytes(self) -> u32 {
        HEAD_BYTES.saturating_add(self.len)
    }

    pub fn end(self) -> u64 {
        u64::from(self.at) + u64::from(self.stored_bytes())
    }
}

/// A row's content.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Held<'r> {
    Here(&'r [u8]),
    There(Place),
}

impl<'r> Held<'r> {
    pub fn read(row: &'r [u8]) -> Self {
        let place = || {
            let (file, rest) = row.strip_prefix(&[PLACE])?.split_first_chunk()?;
            let (at, rest) = rest.split_first_chunk()?;
            let [file, at, len] = [*file, *at, rest.try_into().ok()?].map(u32::from_be_bytes);
            Some(Place { file, at, len })
        };
        place().map_or(Self::Here(row), Self::There)
    }
}

/// A value with its key and where it lies; none if it is damaged.
pub(in crate::store) struct Record {
    pub key: [u8; KEY_BYTES],
    pub place: Place,
    pub value: Option<Vec<u8>>,
}

/// Whether a value lies in the heap; others stay in their rows, but none there may look like a place.
pub(super) fn is_for_heap(key: &[u8], value: &[u8]) -> bool {
    let is_long = (LEAST_BYTES..=MOST_BYTES).contains(&value.len());
    key.len() == KEY_BYTES && (is_long || matches!(Held::read(value), Held::There(_)))
}

/// Appends a value to what is about to be written.
pub(super) fn append(key: &[u8], value: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(&(value.len() as u32).to_le_bytes());
    to.extend_from_slice(&checksum(key, value).to_le_bytes());
    to.extend_from_slice(key);
    to.extend_from_slice(value);
}

/// Whether a value in a file can be so long.
fn is_possible(len: u32) -> bool {
    len == ROW_BYTES as u32 || (LEAST_BYTES..=MOST_BYTES).contains(&(len as usize))
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

pub(super) fn read_value(file: &File, key: &[u8], place: Place) -> io::Result<Option<Vec<u8>>> {
    if place.len as usize > MOST_BYTES {
        return Ok(None);
    }
    let mut bytes = vec![0; place.stored_bytes() as usize];
    match file.read_exact_at(&mut bytes, place.at.into()) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let value = bytes.split_off(HEAD_BYTES as usize);
    let is_it = |(len, check, of): (u32, u32, [u8; KEY_BYTES])| {
        len == place.len && of.as_slice() == key && checksum(key, &value) == check
    };
    Ok(read_head(&bytes).is_some_and(is_it).then_some(value))
}

/// A way through a file.
pub(super) struct Walk {
    number: u32,
    reader: BufReader<Bytes>,
    pub at: u32,
    end: u32,
    /// What lies ahead cannot be told apart.
    pub is_lost: bool,
}

/// The bytes of a file from a place on, wherever others read it.
struct Bytes {
    file: Arc<File>,
    at: u64,
}

impl io::Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Walk {
    pub fn new(number: u32, file: Arc<File>, at: u32, end: u32) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, Bytes { file, at: at.into() });
        Self { number, reader, at, end, is_lost: false }
    }

    pub fn next(&mut self) -> io::Result<Option<Record>> {
        if self.at >= self.end || self.is_lost {
            return Ok(None);
        }
        // Until it is known where the next one begins.
        self.is_lost = true;
        let mut bytes = Vec::new();
        self.reader.by_ref().take(HEAD_BYTES.into()).read_to_end(&mut bytes)?;
        let Some((len, check, key)) = read_head(&bytes) else {
            // The file is shorter than it should be: nothing lies behind its end.
            (self.at, self.is_lost) = (self.end, false);
            return Ok(None);
        };
        let place = Place { file: self.number, at: self.at, len };
        if !is_possible(len) || place.end() > self.end.into() {
            return Ok(None);
        }
        bytes.clear();
        self.reader.by_ref().take(len.into()).read_to_end(&mut bytes)?;
        (self.at, self.is_lost) = (self.at + place.stored_bytes(), false);
        let is_whole = bytes.len() == len as usize && checksum(&key, &bytes) == check;
        Ok(Some(Record { key, place, value: is_whole.then_some(bytes) }))
    }
}
