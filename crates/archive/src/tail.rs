//! A file that only grows, with a buffer in front and a count of what lies where.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::ArchiveError;

/// Written to the file when this much is waiting.
const BUFFER_BYTES: usize = 256 * 1024;

/// The growing end of a file.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    pub(crate) file: File,
    buffer: Vec<u8>,
    /// End of what was given to the file.
    written: u64,
}

impl Tail {
    /// Opens `path`, cut to `length`; makes it if it is not there.
    pub fn open(path: &Path, length: u64) -> Result<Self, ArchiveError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .read(true)
            .open(path)
            .map_err(ArchiveError::io("opening", path))?;
        file.set_len(length).map_err(ArchiveError::io("truncating", path))?;
        file.seek(SeekFrom::Start(length)).map_err(ArchiveError::io("seeking in", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4),
            written: length,
        })
    }

    /// Where the next byte goes.
    pub fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.buffer.extend_from_slice(bytes);
        self.spill()
    }

    /// The buffer, for writing a line in place; follow with [`Tail::spill`].
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes out a full buffer.
    pub fn spill(&mut self) -> Result<(), ArchiveError> {
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> Result<(), ArchiveError> {
        self.file.write_all(&self.buffer).map_err(ArchiveError::io("writing", &self.path))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(4 * BUFFER_BYTES);
        Ok(())
    }

    pub fn sync(&mut self) -> Result<(), ArchiveError> {
        self.flush()?;
        self.file.sync_data().map_err(ArchiveError::io("syncing", &self.path))
    }
}
