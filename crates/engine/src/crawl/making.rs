//! The state of a new crawl, made so that a process killed in the middle leaves nothing that stands in the way: a file beside
//! it says that it is not finished, and the next process makes it anew.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lycosa_frontier::StoreError;

use super::CrawlError;
use crate::layout::Layout;

/// A state under way. The file is locked for as long as this lives.
#[derive(Debug)]
pub(super) struct Making {
    path: PathBuf,
    _locked: File,
}

impl Making {
    /// None if the state is there and whole.
    pub fn begin(layout: &Layout) -> Result<Option<Self>, CrawlError> {
        let path = layout.making();
        let failed = |source| CrawlError::Io { path: layout.making(), source };
        let is_new = !layout.exists();
        let (file, is_own) = match open(&path, is_new).map_err(failed)? {
            Some(opened) => opened,
            None => return Ok(None),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse(layout.root.display().to_string()).into());
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Another process may have ended its making before the lock was had: then the state is whole.
        if !is_same(&file, &path) {
            return Ok(None);
        }
        let making = Self { path, _locked: file };
        if is_own && layout.exists() {
            making.end().map_err(failed)?;
            return Ok(None);
        }
        if layout.exists() {
            std::fs::remove_dir_all(layout.state())
                .map_err(|source| CrawlError::Io { path: layout.state(), source })?;
        }
        Ok(Some(making))
    }

    /// The state is whole.
    pub fn end(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// The file, and whether it is our own; none if there is none and none is wanted.
fn open(path: &Path, is_new: bool) -> io::Result<Option<(File, bool)>> {
    if is_new {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => return Ok(Some((file, true))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => Ok(Some((file, false))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the path still leads to the open file.
fn is_same(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}
