//! The writing end of an archive: one thread appends, groups of visits are made durable together.
//!
//! Promise: after [`Archive::sync`] returned, every span handed out before can be read back, whatever happens to the
//! machine. After a failed write or sync nothing more is written: what the disk holds then is unknown, so the archive is
//! opened and repaired afresh. Sealed segments never change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, mem};

use lycosa_types::{ArchiveSpan, UnixMs};

use crate::cdxj::push_place;
use crate::compress::Compression;
use crate::dictionary::{MAX_DICTIONARY_BYTES, dictionary_id, skippable};
use crate::encode::{EncodedVisit, Encoder, EncoderOptions};
use crate::error::ArchiveError;
use crate::repair;
use crate::segment::{Segment, check_prefix, segments, sync_dir};
use crate::tail::{Pieces, Tail};

/// How segments are written.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// A segment is sealed once it is this long; the last visit may exceed it.
    pub rotate_bytes: u64,
    /// The start of segment names.
    pub prefix: String,
    /// The number of the first segment; those that are there are gone on from.
    pub first_segment: u32,
    pub compression: Compression,
    /// For zstd: written at the start of each segment; encoders must have the same. At most
    /// [`crate::dictionary::MAX_DICTIONARY_BYTES`] long.
    pub dictionary: Option<Arc<[u8]>>,
    /// Fields of the warcinfo record, in addition to `format` and `conformsTo`: `software`, `operator`, `robots`, …
    pub info: Vec<(String, String)>,
}

impl Default for ArchiveOptions {
    fn default() -> Self {
        Self {
            rotate_bytes: 1 << 30,
            prefix: "lycosa".to_owned(),
            first_segment: 1,
            compression: Compression::default(),
            dictionary: None,
            info: vec![("software".to_owned(), concat!("lycosa/", env!("CARGO_PKG_VERSION")).to_owned())],
        }
    }
}

/// A place up to which an archive is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurableEnd {
    pub segment: u32,
    pub offset: u64,
}

/// The single writer of an archive directory.
#[derive(Debug)]
pub struct Archive {
    dir: PathBuf,
    options: ArchiveOptions,
    encoder: Encoder,
    dictionary_id: u64,
    current: Option<Current>,
    /// The number of the last segment there is, open or sealed.
    last: u32,
    /// The length of segment `last` when it is not open.
    last_length: u64,
    poisoned: bool,
}

#[derive(Debug)]
struct Current {
    segment: Segment,
    records: Pieces,
    index: Tail,
}

impl Archive {
    /// Opens or makes an archive. An open segment is walked from its start: a torn tail is cut, its index written anew.
    pub fn open(dir: &Path, options: ArchiveOptions) -> Result<Self, ArchiveError> {
        Self::open_at(dir, options, None)
    }

    /// Opens an archive whose durable end the caller knows from its own records: everything after it in segments that
    /// are not sealed is cut, without walking what lies before. Sealed segments are left whole.
    pub fn open_at(
        dir: &Path,
        options: ArchiveOptions,
        known: Option<DurableEnd>,
    ) -> Result<Self, ArchiveError> {
        check_prefix(&options.prefix)?;
        if options.dictionary.as_ref().is_some_and(|d| d.len() as u64 > MAX_DICTIONARY_BYTES) {
            return Err(ArchiveError::Dictionary);
        }
        fs::create_dir_all(dir).map_err(ArchiveError::io("creating", dir))?;
        let opened = repair::repair(dir, known)?;
        let found = segments(dir)?;
        let last = found.last().map_or(0, |s| s.number).max(known.map_or(0, |k| k.segment));
        let last = last.max(options.first_segment.saturating_sub(1));
        let mut archive = Self {
            dir: dir.to_owned(),
            encoder: Encoder::new(EncoderOptions {
                compression: options.compression,
                dictionary: options.dictionary.clone(),
            }),
            dictionary_id: dictionary_id(options.dictionary.as_deref()),
            options,
            current: None,
            last,
            last_length: 0,
            poisoned: false,
        };
        if let Some(sealed) = found.iter().rfind(|s| !s.open) {
            let path = sealed.path();
            archive.last_length = fs::metadata(&path).map_err(ArchiveError::io("reading", &path))?.len();
        }
        if let Some(repaired) = opened {
            let extension = format!(".{}", archive.options.compression.extension());
            let same_kind = repaired.segment.name.ends_with(&extension)
                && dictionary_id(repaired.dictionary.as_deref()) == archive.dictionary_id;
            let current = Current {
                records: Pieces::open(&repaired.segment.open_path(), repaired.end)?,
                index: Tail::open(&repaired.segment.open_index_path(), repaired.index_end)?,
                segment: repaired.segment,
            };
            archive.current = Some(current);
            if !same_kind {
                archive.seal()?;
            }
        }
        Ok(archive)
    }

    /// Appends a visit and says where its response record is. Not durable before [`Archive::sync`].
    pub fn append(&mut self, visit: &EncodedVisit) -> Result<ArchiveSpan, ArchiveError> {
        if self.poisoned {
            return Err(ArchiveError::Poisoned);
        }
        let result = self.try_append(visit);
        self.poisoned |= matches!(result, Err(ArchiveError::Io { .. }));
        result
    }

    fn try_append(&mut self, visit: &EncodedVisit) -> Result<ArchiveSpan, ArchiveError> {
        if mem::discriminant(&visit.compression) != mem::discriminant(&self.options.compression) {
            return Err(ArchiveError::Mixed {
                visit: visit.compression.extension(),
                archive: self.options.compression.extension(),
            });
        }
        if visit.dictionary_id != self.dictionary_id {
            return Err(ArchiveError::Dictionary);
        }
        let length = visit.members().next().map_or(0, |first| first.length);
        let span_length = u32::try_from(length)
            .map_err(|_| ArchiveError::TooLarge { bytes: length, limit: u64::from(u32::MAX) })?;
        if self.current.as_ref().is_some_and(|c| c.records.end() >= self.options.rotate_bytes) {
            self.seal_current()?;
        }
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.start_segment(visit.at)?,
        };
        let offset = current.records.end();
        let pushed = current.push(visit, offset, length);
        let segment = current.segment.number;
        self.current = Some(current);
        pushed?;
        Ok(ArchiveSpan { segment, offset, length: span_length })
    }

    fn start_segment(&mut self, at: UnixMs) -> Result<Current, ArchiveError> {
        let number = self.last.checked_add(1).ok_or(ArchiveError::OutOfSegments)?;
        let segment = Segment::new(&self.dir, &self.options.prefix, number, self.options.compression);
        let mut fields = vec![
            ("format".to_owned(), "WARC File Format 1.1".to_owned()),
            (
                "conformsTo".to_owned(),
                "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/".to_owned(),
            ),
        ];
        fields.extend(self.options.info.iter().cloned());
        let info = self.encoder.warcinfo(at, &segment.name, &fields).map_err(|e| ArchiveError::Io {
            action: "encoding the warcinfo of",
            path: segment.open_path(),
            source: std::io::Error::other(e),
        })?;
        let mut records = Pieces::open(&segment.open_path(), 0)?;
        let index = Tail::open(&segment.open_index_path(), 0)?;
        sync_dir(&self.dir)?;
        if let (Compression::Zstd(_), Some(dictionary)) = (self.options.compression, &self.options.dictionary)
        {
            records.push(skippable(dictionary).into())?;
        }
        records.push(info)?;
        self.last = number;
        self.last_length = 0;
        Ok(Current { segment, records, index })
    }

    /// Makes everything appended so far durable. Returns the end up to which the archive now is.
    pub fn sync(&mut self) -> Result<DurableEnd, ArchiveError> {
        if self.poisoned {
            return Err(ArchiveError::Poisoned);
        }
        if let Some(current) = &mut self.current
            && let Err(error) = current.records.sync().and_then(|()| current.index.sync())
        {
            self.poisoned = true;
            return Err(error);
        }
        Ok(self.end())
    }

    /// The end of what was appended, durable or not.
    pub fn end(&self) -> DurableEnd {
        DurableEnd {
            segment: self.last,
            offset: self.current.as_ref().map_or(self.last_length, |c| c.records.end()),
        }
    }

    /// Closes the current segment for good; the next visit starts a new one.
    pub fn seal(&mut self) -> Result<(), ArchiveError> {
        if self.poisoned {
            return Err(ArchiveError::Poisoned);
        }
        let result = self.seal_current();
        self.poisoned |= result.is_err();
        result
    }

    fn seal_current(&mut self) -> Result<(), ArchiveError> {
        let Some(mut current) = self.current.take() else {
            return Ok(());
        };
        current.records.sync()?;
        current.index.flush()?;
        self.last_length = current.records.end();
        repair::seal(&current.segment)
    }
}

impl Current {
    fn push(&mut self, visit: &EncodedVisit, offset: u64, length: u64) -> Result<(), ArchiveError> {
        self.records.push(visit.bytes.clone())?;
        let line = self.index.buffer();
        line.extend_from_slice(&visit.line);
        push_place(line, length, offset, &self.segment.name);
        self.index.spill()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Exchange;
    use lycosa_types::CanonUrl;

    fn visit() -> EncodedVisit {
        visit_in(EncoderOptions::default().compression)
    }

    fn visit_in(compression: Compression) -> EncodedVisit {
        let url = CanonUrl::from_canonical("http://example.org/".to_owned());
        let exchange = Exchange {
            url: &url,
            at: UnixMs(0),
            ip: None,
            request_head: b"",
            response_head: b"HTTP/1.1 200 OK\r\n\r\n",
            raw_body: b"body",
            revisit_of: None,
            payload_digest: None,
            truncated: None,
            protocol: None,
            metadata: &[],
        };
        Encoder::new(EncoderOptions { compression, dictionary: None }).encode(&exchange).unwrap()
    }

    /// A disk that is full shows in the sync, or in an append that spills; from then on nothing is taken.
    #[cfg(target_os = "linux")]
    #[test]
    fn after_a_failed_sync_nothing_is_written() {
        for records_fail in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut archive = Archive::open(dir.path(), ArchiveOptions::default()).unwrap();
            let span = archive.append(&visit()).unwrap();
            let durable = archive.sync().unwrap();
            archive.append(&visit()).unwrap();
            let full = || fs::File::options().write(true).open("/dev/full").unwrap();
            let current = archive.current.as_mut().unwrap();
            if records_fail {
                current.records.replace_file(full());
            } else {
                current.index.file = full();
            }
            assert!(matches!(archive.sync(), Err(ArchiveError::Io { .. })));
            assert!(matches!(archive.append(&visit()), Err(ArchiveError::Poisoned)));
            assert!(matches!(archive.sync(), Err(ArchiveError::Poisoned)));
            assert!(matches!(archive.seal(), Err(ArchiveError::Poisoned)));
            drop(archive);
            let mut again = Archive::open_at(dir.path(), ArchiveOptions::default(), Some(durable)).unwrap();
            assert_eq!(again.append(&visit()).unwrap().offset, durable.offset);
            again.sync().unwrap();
            crate::span::read_span(dir.path(), span).unwrap();
        }
    }

    #[test]
    fn a_dictionary_may_be_as_long_as_the_limit() {
        let opened = |bytes: u64| {
            let dir = tempfile::tempdir().unwrap();
            let dictionary = Some(vec![7; usize::try_from(bytes).unwrap()].into());
            Archive::open(dir.path(), ArchiveOptions { dictionary, ..ArchiveOptions::default() }).map(drop)
        };
        assert!(opened(MAX_DICTIONARY_BYTES).is_ok());
        assert!(matches!(opened(MAX_DICTIONARY_BYTES + 1), Err(ArchiveError::Dictionary)));
    }

    /// Not compressed, so that two archives of the same visits are equally long.
    #[test]
    fn a_segment_is_full_at_its_limit_and_numbers_begin_where_they_should() {
        let plain = |rotate_bytes| ArchiveOptions {
            compression: Compression::None,
            first_segment: 7,
            rotate_bytes,
            ..ArchiveOptions::default()
        };
        let write = |rotate_bytes| {
            let dir = tempfile::tempdir().unwrap();
            let mut archive = Archive::open(dir.path(), plain(rotate_bytes)).unwrap();
            let first = archive.append(&visit_in(Compression::None)).unwrap().segment;
            let end = archive.end().offset;
            (end, [first, archive.append(&visit_in(Compression::None)).unwrap().segment])
        };
        let (full, segments) = write(u64::MAX);
        assert_eq!(segments, [7, 7]);
        assert_eq!(write(full), (full, [7, 8]));
        assert_eq!(write(full + 1), (full, [7, 7]));
    }

    #[test]
    fn an_archive_that_was_never_written_ends_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(dir.path(), ArchiveOptions::default()).unwrap();
        let end = archive.sync().unwrap();
        assert_eq!((end.segment, end.offset), (0, 0));
        archive.seal().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        // Whatever a crash left in the first segment was never durable.
        archive.append(&visit()).unwrap();
        archive.sync().unwrap();
        let archive = Archive::open_at(dir.path(), ArchiveOptions::default(), Some(end)).unwrap();
        assert_eq!(archive.end(), end);
    }
}
