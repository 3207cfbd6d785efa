//! Reading records back, all of a segment in turn.
//!
//! Works on gzip, zstd and plain segments alike, told apart by their first bytes. Whatever the file holds, each step
//! ends in a record, a typed error or the end; memory is bounded by [`ReadLimits`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;

use crate::dictionary;
use crate::error::{ArchiveError, ReadError};
use crate::record::{ReadLimits, Record, content_length, read_fields};
use crate::segment::{Segment, segments};

const BUFFER_BYTES: usize = 128 * 1024;
const MEMBER_BUFFER_BYTES: usize = 8 * 1024;
/// A block is never allocated at once by the length it claims.
pub(crate) const FIRST_ALLOCATION_BYTES: u64 = 1 << 20;

/// A reader that knows how far it is.
struct Counted<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
        self.at += n as u64;
    }
}

/// A record and where it lies in its file.
#[derive(Clone, Debug)]
pub struct PlacedRecord {
    pub offset: u64,
    pub length: u64,
    pub record: Record,
}

/// The records of one file, in order.
pub struct RecordReader<R> {
    input: Counted<R>,
    limits: ReadLimits,
    dictionary: Option<Vec<u8>>,
    failed: bool,
}

impl<R: BufRead> RecordReader<R> {
    /// Reads from `input`, whose first byte lies at `offset` of its file.
    pub fn new(input: R, offset: u64, limits: ReadLimits) -> Self {
        Self { input: Counted { inner: input, at: offset }, limits, dictionary: None, failed: false }
    }

    /// Decodes zstd frames with this dictionary; needed when reading does not start at the beginning of the file.
    pub fn with_dictionary(mut self, dictionary: Option<Vec<u8>>) -> Self {
        self.dictionary = dictionary;
        self
    }

    /// The next record, or none at the end.
    pub fn next_record(&mut self) -> Result<Option<PlacedRecord>, ReadError> {
        loop {
            let offset = self.input.at;
            let start = self.input.fill_buf().map_err(|e| damaged(offset, &e))?;
            let record = match start {
                [] => return Ok(None),
                [0x1f, ..] => {
                    let mut member =
                        BufReader::with_capacity(MEMBER_BUFFER_BYTES, GzDecoder::new(&mut self.input));
                    let record = read_member(&mut member, &self.limits, offset)?;
                    drain(&mut member, offset)?;
                    record
                }
                [0x28, ..] => {
                    let dictionary = self.dictionary.as_deref().unwrap_or_default();
                    let decoder = zstd::stream::read::Decoder::with_dictionary(&mut self.input, dictionary);
                    let mut member = BufReader::with_capacity(
                        MEMBER_BUFFER_BYTES,
                        decoder.map_err(|e| damaged(offset, &e))?.single_frame(),
                    );
                    let record = read_member(&mut member, &self.limits, offset)?;
                    drain(&mut member, offset)?;
                    record
                }
                [byte, ..] if (0x50..=0x5f).contains(byte) && dictionary::starts_skippable(start) => {
                    if let Some(found) = dictionary::read_skippable(&mut self.input, offset)? {
                        self.dictionary = Some(found);
                    }
                    continue;
                }
                _ => {
                    let record = read_member(&mut self.input, &self.limits, offset)?;
                    let length = self.input.at - offset;
                    self.skip_line_ends(offset)?;
                    return Ok(Some(PlacedRecord { offset, length, record }));
                }
            };
            let length = self.input.at - offset;
            return Ok(Some(PlacedRecord { offset, length, record }));
        }
    }

    /// The line ends between plain records, which belong to neither.
    fn skip_line_ends(&mut self, offset: u64) -> Result<(), ReadError> {
        for _ in 0..4 {
            match self.input.fill_buf().map_err(|e| damaged(offset, &e))? {
                [b'\r' | b'\n', ..] => self.input.consume(1),
                _ => break,
            }
        }
        Ok(())
    }

    /// Where the next record starts.
    pub fn offset(&self) -> u64 {
        self.input.at
    }
}

impl<R: BufRead> Iterator for RecordReader<R> {
    type Item = Result<PlacedRecord, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.next_record().transpose();
        self.failed = matches!(item, Some(Err(_)));
        item
    }
}

fn damaged(offset: u64, error: &io::Error) -> ReadError {
    ReadError::Damaged { offset, reason: error.to_string() }
}

/// Head and block of the one record in `input`.
fn read_member(input: &mut impl BufRead, limits: &ReadLimits, offset: u64) -> Result<Record, ReadError> {
    let head = read_head_bytes(input, limits.head_bytes, offset)?;
    let headers = read_fields(&head, offset)?;
    let length = content_length(&headers, offset)?;
    if length > limits.block_bytes {
        return Err(ReadError::BlockTooLarge { offset, limit: limits.block_bytes });
    }
    let mut block = Vec::with_capacity(length.min(FIRST_ALLOCATION_BYTES) as usize);
    let read = input.take(length).read_to_end(&mut block).map_err(|e| damaged(offset, &e))?;
    if read as u64 != length {
        return Err(ReadError::Damaged { offset, reason: format!("{read} of {length} bytes") });
    }
    Ok(Record { headers, block })
}

/// Everything up to and with the blank line.
fn read_head_bytes(input: &mut impl BufRead, limit: usize, offset: u64) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::with_capacity(512);
    loop {
        let left = (limit - head.len()) as u64;
        let read = input.take(left).read_until(b'\n', &mut head).map_err(|e| damaged(offset, &e))?;
        if !head.starts_with(b"WARC/") {
            return Err(ReadError::NotWarc { offset });
        }
        if head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n") {
            return Ok(head);
        }
        if head.len() >= limit {
            return Err(ReadError::HeadTooLarge { offset, limit });
        }
        if read == 0 {
            return Err(ReadError::Damaged { offset, reason: "the head is cut off".to_owned() });
        }
    }
}

/// Reads a member to its end, so that its checksum is verified. After the block only line ends may follow.
fn drain(member: &mut impl Read, offset: u64) -> Result<(), ReadError> {
    let mut rest = [0u8; 8];
    let mut seen = 0;
    loop {
        match member.read(&mut rest).map_err(|e| damaged(offset, &e))? {
            0 => return Ok(()),
            n => seen += n,
        }
        if seen > 4 {
            return Err(ReadError::Damaged {
                offset,
                reason: "the member goes on after its record".to_owned(),
            });
        }
    }
}

pub(crate) fn open_file(path: &Path) -> Result<File, ReadError> {
    File::open(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })
}

/// The records of one segment file.
pub fn read_segment(path: &Path, limits: ReadLimits) -> Result<RecordReader<BufReader<File>>, ReadError> {
    let file = open_file(path)?;
    Ok(RecordReader::new(BufReader::with_capacity(BUFFER_BYTES, file), 0, limits))
}

/// The records of all segments of a directory, in order. A damaged record ends its segment; the next one follows.
pub fn records(
    dir: &Path,
    limits: ReadLimits,
) -> Result<impl Iterator<Item = (Segment, Result<PlacedRecord, ReadError>)>, ArchiveError> {
    Ok(segments(dir)?.into_iter().flat_map(move |segment| {
        let (reader, failure) = match read_segment(&segment.path(), limits) {
            Ok(reader) => (Some(reader), None),
            Err(error) => (None, Some(Err(error))),
        };
        reader.into_iter().flatten().chain(failure).map(move |item| (segment.clone(), item))
    }))
}
