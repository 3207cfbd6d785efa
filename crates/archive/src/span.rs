//! Reading one record back by its span.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use lycosa_types::ArchiveSpan;

use crate::dictionary;
use crate::error::ReadError;
use crate::reader::{FIRST_ALLOCATION_BYTES, RecordReader, open_file};
use crate::record::{ReadLimits, Record};
use crate::segment::segments;

/// Reads single records of one archive directory, for which it keeps the last segment open.
#[derive(Debug)]
pub struct SpanReader {
    dir: PathBuf,
    limits: ReadLimits,
    current: Option<OpenSegment>,
}

#[derive(Debug)]
struct OpenSegment {
    number: u32,
    path: PathBuf,
    file: File,
    dictionary: Option<Vec<u8>>,
}

impl SpanReader {
    pub fn new(dir: &Path, limits: ReadLimits) -> Self {
        Self { dir: dir.to_owned(), limits, current: None }
    }

    /// The record at `span`.
    pub fn read(&mut self, span: ArchiveSpan) -> Result<Record, ReadError> {
        let limits = self.limits;
        let segment = self.segment(span.segment)?;
        let io = |source| ReadError::Io { path: segment.path.clone(), source };
        segment.file.seek(SeekFrom::Start(span.offset)).map_err(io)?;
        let mut bytes = Vec::with_capacity(u64::from(span.length).min(FIRST_ALLOCATION_BYTES) as usize);
        (&segment.file).take(u64::from(span.length)).read_to_end(&mut bytes).map_err(io)?;
        let mut reader = RecordReader::new(bytes.as_slice(), span.offset, limits)
            .with_dictionary(segment.dictionary.clone());
        let placed = reader.next_record()?;
        placed.map(|p| p.record).ok_or_else(|| ReadError::Damaged {
            offset: span.offset,
            reason: "the segment ends before it".to_owned(),
        })
    }

    fn segment(&mut self, number: u32) -> Result<&mut OpenSegment, ReadError> {
        let current = match self.current.take() {
            Some(current) if current.number == number => current,
            _ => open_numbered(&self.dir, number)?,
        };
        Ok(self.current.insert(current))
    }
}

/// Opens a segment under whichever of its names it has. Sealing renames it, so a miss is looked up once more.
fn open_numbered(dir: &Path, number: u32) -> Result<OpenSegment, ReadError> {
    let mut result = Err(ReadError::NoSegment(number));
    for _ in 0..2 {
        let found = segments(dir).map_err(|_| ReadError::NoSegment(number))?;
        let Some(segment) = found.into_iter().find(|s| s.number == number) else {
            continue;
        };
        let path = segment.path();
        match open_file(&path) {
            Ok(mut file) => {
                let dictionary = dictionary::read_from(&mut file, &path)?;
                return Ok(OpenSegment { number, path, file, dictionary });
            }
            Err(error) => result = Err(error),
        }
    }
    result
}

/// The record at `span`; for many records keep a [`SpanReader`].
pub fn read_span(dir: &Path, span: ArchiveSpan) -> Result<Record, ReadError> {
    SpanReader::new(dir, ReadLimits::default()).read(span)
}
