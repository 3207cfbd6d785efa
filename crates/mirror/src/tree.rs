//! The directory of a mirror. A file is written beside the others and then switched, so a reader sees the old page or the
//! new one. Nothing outside the directory is touched: below it no symbolic link is followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldhash::HashSet;
use lycosa_types::CanonUrl;

use crate::name::{path_of, url_of};

/// Files that are no part of the copy.
const OWN_DIR: &str = ".lycosa-mirror";

#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0} is a symbolic link; a mirror follows none, move it away")]
    SymbolicLink(PathBuf),
    #[error("{0} is no plain file; move it away")]
    NotAFile(PathBuf),
    #[error("{0} is no path of a mirror")]
    Outside(String),
}

/// What writing a file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    New,
    Changed,
    /// It was there with the same bytes and was not touched.
    Same,
}

/// A mirror's directory.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// Directories known to be directories.
    known: HashSet<PathBuf>,
}

impl Tree {
    /// The directory is made if it is missing.
    pub fn open(root: &Path) -> Result<Self, TreeError> {
        let own = root.join(OWN_DIR);
        fs::create_dir_all(&own).map_err(|source| TreeError::Io { path: own.clone(), source })?;
        Ok(Self { root: root.to_owned(), known: HashSet::default() })
    }

    /// Makes the file at `path` (with slashes) hold `bytes`.
    pub fn write(&mut self, path: &str, bytes: &[u8]) -> Result<Written, TreeError> {
        let at = self.place(path)?;
        let fail = |source| TreeError::Io { path: at.clone(), source };
        let written = match fs::symlink_metadata(&at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Written::New,
            Err(error) => return Err(fail(error)),
            Ok(found) if found.is_symlink() => return Err(TreeError::SymbolicLink(at)),
            Ok(found) if !found.is_file() => return Err(TreeError::NotAFile(at)),
            Ok(found) if found.len() == bytes.len() as u64 && fs::read(&at).map_err(fail)? == bytes => {
                return Ok(Written::Same);
            }
            Ok(_) => Written::Changed,
        };
        let fresh = self.root.join(OWN_DIR).join("fresh");
        // What an interrupted run left; a link there would be followed.
        let _ = fs::remove_file(&fresh);
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(&fresh).map_err(fail)?;
        file.write_all(bytes).map_err(fail)?;
        drop(file);
        fs::rename(&fresh, &at).map_err(fail)?;
        Ok(written)
    }

    /// Removes files of URLs that `keep` doesn't want; files that no mirror wrote stay. Returns how many went.
    pub fn remove_others(&mut self, keep: &dyn Fn(&str) -> bool) -> Result<u64, TreeError> {
        let mut removed = 0;
        self.remove_below("", keep, &mut removed)?;
        Ok(removed)
    }

    fn remove_below(
        &mut self,
        path: &str,
        keep: &dyn Fn(&str) -> bool,
        removed: &mut u64,
    ) -> Result<(), TreeError> {
        let dir = self.root.join(path);
        let fail = |source| TreeError::Io { path: dir.clone(), source };
        for entry in fs::read_dir(&dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() && name != OWN_DIR && name != ".lycosa" {
                self.remove_below(&path, keep, removed)?;
                // Only if nothing is left in it.
                if fs::remove_dir(entry.path()).is_ok() {
                    self.known.clear();
                }
            } else if kind.is_file() && path.contains('/') && is_ours(&path) && !keep(&path) {
                fs::remove_file(entry.path()).map_err(fail)?;
                *removed += 1;
            }
        }
        Ok(())
    }

    /// The file's place, its directories made. Every part is looked at: none may be a link.
    fn place(&mut self, path: &str) -> Result<PathBuf, TreeError> {
        let mut at = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            if part.is_empty()
                || part == "."
                || part == ".."
                || part == OWN_DIR
                || part.contains(['\0', '\\'])
            {
                return Err(TreeError::Outside(path.to_owned()));
            }
            at.push(part);
            if parts.peek().is_none() || self.known.contains(&at) {
                continue;
            }
            let fail = |source| TreeError::Io { path: at.clone(), source };
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_symlink() => return Err(TreeError::SymbolicLink(at)),
                Ok(found) if !found.is_dir() => return Err(TreeError::NotAFile(at)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&at).map_err(fail)?,
                Err(error) => return Err(fail(error)),
            }
            if self.known.len() < MAX_KNOWN {
                self.known.insert(at.clone());
            }
        }
        Ok(at)
    }
}

/// Directories that are remembered; others are looked at again.
const MAX_KNOWN: usize = 10_000;

/// Whether a mirror could have written a file there.
fn is_ours(path: &str) -> bool {
    let extension = path.rsplit_once("!e.").map(|(_, extension)| extension);
    let is_name = |url: String| path_of(&CanonUrl::from_canonical(url), extension) == path;
    path.contains("/!long/") || url_of(path).is_some_and(is_name)
}
