//! A crawl's records as one WARC file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use bytes::BytesMut;

use crate::compress::{Compression, Effort, Packer};
use crate::error::ArchiveError;
use crate::reader::read_segment;
use crate::record::{ReadLimits, Record};
use crate::repair::whole_end;
use crate::segment::{Segment, segments};

/// The length of a segment's whole records: all of it once sealed.
pub(crate) fn whole_length(segment: &Segment) -> Result<u64, ArchiveError> {
    if segment.open {
        return Ok(whole_end(segment, 0, u64::MAX, Vec::new())?.0);
    }
    let path = segment.path();
    Ok(std::fs::metadata(&path).map_err(ArchiveError::io("reading", &path))?.len())
}

/// Copies a segment's whole records as they are.
pub(crate) fn copy_segment(segment: &Segment, out: &mut impl Write) -> Result<u64, ArchiveError> {
    let path = segment.path();
    let length = whole_length(segment)?;
    let file = File::open(&path).map_err(ArchiveError::io("opening", &path))?;
    io::copy(&mut file.take(length), out).map_err(ArchiveError::io("copying", &path))
}

/// Writes all records of an archive directory to `out`, one segment after the other. Segments that already have this
/// compression are copied byte for byte; the records of others are packed anew. Returns the number of bytes written.
pub fn export_warc(dir: &Path, compression: Compression, out: &mut impl Write) -> Result<u64, ArchiveError> {
    let mut written = 0;
    let mut packer = Packer::new(compression, None);
    for segment in segments(dir)? {
        let same = segment.name.ends_with(&format!(".{}", compression.extension()));
        // Frames made with a dictionary mean nothing without it, so zstd is always unpacked.
        if same && !matches!(compression, Compression::Zstd(_)) {
            written += copy_segment(&segment, out)?;
            continue;
        }
        let path = segment.path();
        for placed in read_segment(&path, ReadLimits::default())? {
            let placed = match placed {
                Ok(placed) => placed,
                // What follows the last whole record of an open segment was never promised to anyone.
                Err(_) if segment.open => break,
                Err(error) => return Err(error.into()),
            };
            let mut member = BytesMut::new();
            packer
                .pack(&plain(&placed.record), Effort::Dense, &mut member)
                .map_err(|e| ArchiveError::io("packing", &path)(io::Error::other(e)))?;
            out.write_all(&member).map_err(ArchiveError::io("exporting", &path))?;
            written += member.len() as u64;
        }
    }
    Ok(written)
}

/// A record in the form it has in a plain file.
fn plain(record: &Record) -> Vec<u8> {
    let mut out = b"WARC/1.1\r\n".to_vec();
    for (name, value) in &record.headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&record.block);
    out.extend_from_slice(b"\r\n\r\n");
    out
}
