//! A file that only grows, with what waits to be written in front and a count of what lies where.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::ArchiveError;

/// Written to the file when this much is waiting.
const BUFFER_BYTES: usize = 256 * 1024;
/// As many pieces at most: more than the system takes at once.
const MAX_PIECES: usize = 1024;

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
        Ok(Self { path: path.to_owned(), file, buffer: Vec::new(), written: length })
    }

    /// Where the next byte goes.
    pub fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
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

/// The growing end of a file of large pieces, which are written from where they lie.
#[derive(Debug)]
pub(crate) struct Pieces {
    tail: Tail,
    waiting: Vec<Bytes>,
    waiting_bytes: usize,
}

impl Pieces {
    pub fn open(path: &Path, length: u64) -> Result<Self, ArchiveError> {
        Ok(Self { tail: Tail::open(path, length)?, waiting: Vec::new(), waiting_bytes: 0 })
    }

    /// Where the next byte goes.
    pub fn end(&self) -> u64 {
        self.tail.end() + self.waiting_bytes as u64
    }

    pub fn push(&mut self, piece: Bytes) -> Result<(), ArchiveError> {
        self.waiting_bytes += piece.len();
        self.waiting.push(piece);
        if self.waiting_bytes >= BUFFER_BYTES || self.waiting.len() >= MAX_PIECES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArchiveError> {
        let mut slices: Vec<IoSlice<'_>> = self.waiting.iter().map(|piece| IoSlice::new(piece)).collect();
        write_all(&mut self.tail.file, &mut slices).map_err(ArchiveError::io("writing", &self.tail.path))?;
        self.tail.written += self.waiting_bytes as u64;
        self.waiting_bytes = 0;
        self.waiting.clear();
        Ok(())
    }

    pub fn sync(&mut self) -> Result<(), ArchiveError> {
        self.flush()?;
        self.tail.sync()
    }

    #[cfg(test)]
    pub fn replace_file(&mut self, file: File) {
        self.tail.file = file;
    }
}

/// Writes all of `slices`, with as few calls as the system lets pass.
fn write_all(file: &mut File, mut slices: &mut [IoSlice<'_>]) -> std::io::Result<()> {
    // Empty ones in front would look like a file that takes nothing.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(Error::from(ErrorKind::WriteZero)),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
