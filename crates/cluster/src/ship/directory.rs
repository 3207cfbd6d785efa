//! A central archive in a directory: another disk, or a network file system.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::ledger::Safe;
use super::{ShipError, checksum, file_error};

#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    pub fn new(root: PathBuf) -> Result<Self, ShipError> {
        std::fs::create_dir_all(&root).map_err(file_error(&root))?;
        Ok(Self { root })
    }

    /// Copies a segment: into a file beside its place, from where an earlier copy stopped; checked; then renamed.
    pub fn put(&self, path: &Path, safe: &Safe) -> Result<(), ShipError> {
        let place = self.root.join(&safe.segment);
        if place.exists() {
            let mut there = File::open(&place).map_err(file_error(&place))?;
            let found = checksum(&mut there).map_err(file_error(&place))?;
            let same = found == (safe.bytes, safe.sha256.clone());
            return if same { Ok(()) } else { Err(ShipError::Taken(safe.segment.clone())) };
        }
        let parent = place.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(parent).map_err(file_error(parent))?;
        let partial = PathBuf::from(format!("{}.part", place.display()));
        // What was copied before may be of another file: then all is copied again, once.
        for attempt in 0..2 {
            if attempt > 0 {
                std::fs::remove_file(&partial).map_err(file_error(&partial))?;
            }
            let copied = copy(path, &partial, safe.bytes).map_err(file_error(&partial))?;
            if copied == (safe.bytes, safe.sha256.clone()) {
                std::fs::rename(&partial, &place).map_err(file_error(&place))?;
                let dir = File::open(parent).map_err(file_error(parent))?;
                return dir.sync_all().map_err(file_error(parent));
            }
        }
        Err(ShipError::Changed(safe.segment.clone()))
    }
}

/// Completes a copy and returns what it is now.
fn copy(from: &Path, to: &Path, bytes: u64) -> std::io::Result<(u64, String)> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(to)?;
    let start = target.metadata()?.len().min(bytes);
    target.set_len(start)?;
    source.seek(SeekFrom::Start(start))?;
    target.seek(SeekFrom::Start(start))?;
    std::io::copy(&mut source.take(bytes - start), &mut target)?;
    target.flush()?;
    target.sync_all()?;
    target.seek(SeekFrom::Start(0))?;
    checksum(&mut target)
}
