//! The indexes of all segments as one sorted run of lines, without holding them in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};

use crate::error::ArchiveError;
use crate::repair::{sorted_lines, whole_end};
use crate::segment::Segment;

/// Longer index lines are refused; ours are bounded by the longest URL.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// Yields the lines of several indexes in byte order, each with its line end.
pub struct MergedIndex {
    sources: Vec<Box<dyn BufRead>>,
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl std::fmt::Debug for MergedIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergedIndex").field("sources", &self.sources.len()).finish()
    }
}

impl MergedIndex {
    /// Opens the indexes of these segments. A segment that is still open is walked, so that the lines are those of its
    /// whole records, no more and no fewer.
    pub fn open(segments: &[Segment]) -> Result<Self, ArchiveError> {
        let mut merged = Self { sources: Vec::with_capacity(segments.len()), heads: BinaryHeap::new() };
        for segment in segments {
            let source: Box<dyn BufRead> = if segment.open {
                let (_, lines) = whole_end(segment, 0, u64::MAX, Vec::new())?;
                Box::new(Cursor::new(sorted_lines(&lines).concat()))
            } else {
                let path = segment.index_path();
                let file = File::open(&path).map_err(ArchiveError::io("opening", &path))?;
                Box::new(BufReader::with_capacity(64 * 1024, file))
            };
            merged.sources.push(source);
            merged.refill(merged.sources.len() - 1)?;
        }
        Ok(merged)
    }

    fn refill(&mut self, which: usize) -> Result<(), ArchiveError> {
        let Some(source) = self.sources.get_mut(which) else {
            return Ok(());
        };
        let mut line = Vec::with_capacity(320);
        let path = std::path::Path::new("the index of a segment");
        source
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(ArchiveError::io("reading", path))?;
        if !line.is_empty() {
            self.heads.push(Reverse((line, which)));
        }
        Ok(())
    }

    /// The next line, or none at the end.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(Reverse((line, which))) = self.heads.pop() else {
            return Ok(None);
        };
        self.refill(which)?;
        Ok(Some(line))
    }
}
