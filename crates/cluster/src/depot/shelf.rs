//! The segments of a depot, on disk: `NAME` with `NAME.sha256` beside it, or `NAME.part` with the checksum of what it is to
//! become in `NAME.part.sha256`.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ship::{ShipError, check_name, checksum, file_error};

/// Longest checksum file that is read.
const MAX_SUM_BYTES: u64 = 128;

/// A piece of a segment: where it begins, how long it is, and how long the whole is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub from: u64,
    pub length: u64,
    pub all: u64,
}

/// Where a segment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it is here; `new` since now.
    Whole { bytes: u64, new: bool },
    /// So much of it is here.
    Partly { bytes: u64 },
    /// The piece does not follow what is here.
    OutOfStep { bytes: u64 },
    /// Another segment has the name.
    Taken,
    /// What arrived is not what was announced; it was thrown away.
    Broken,
    /// Somebody else is at it.
    Busy,
    /// It was not said where the piece belongs.
    Unclear,
}

/// The directory.
#[derive(Debug)]
pub struct Shelf {
    root: PathBuf,
    /// Names that are being written to.
    busy: Mutex<BTreeSet<String>>,
}

/// Lets go of a name when dropped.
struct Held<'a> {
    shelf: &'a Shelf,
    name: &'a str,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shelf.busy().remove(self.name);
    }
}

/// The files of one segment.
struct Files {
    whole: PathBuf,
    sum: PathBuf,
    part: PathBuf,
    part_sum: PathBuf,
}

impl Shelf {
    pub fn open(root: &Path) -> Result<Self, ShipError> {
        std::fs::create_dir_all(root).map_err(file_error(root))?;
        Ok(Self { root: root.to_owned(), busy: Mutex::default() })
    }

    fn busy(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold<'a>(&'a self, name: &'a str) -> Option<Held<'a>> {
        self.busy().insert(name.to_owned()).then(|| Held { shelf: self, name })
    }

    fn files(&self, name: &str) -> Result<Files, ShipError> {
        check_name(name)?;
        let file = |end: &str| self.root.join(format!("{name}{end}"));
        Ok(Files {
            whole: file(""),
            sum: file(".sha256"),
            part: file(".part"),
            part_sum: file(".part.sha256"),
        })
    }

    /// How much of a segment is here.
    pub fn look(&self, name: &str, sha256: &str) -> Result<Standing, ShipError> {
        let files = self.files(name)?;
        let Some(_held) = self.hold(name) else { return Ok(Standing::Busy) };
        if let Some(standing) = whole(&files, sha256)? {
            return Ok(standing);
        }
        let same = read_sum(&files.part_sum)?.is_some_and(|sum| sum == sha256);
        Ok(Standing::Partly { bytes: if same { length(&files.part)?.unwrap_or(0) } else { 0 } })
    }

    /// Adds a piece. The last one makes the segment whole, if its checksum is `sha256`.
    pub fn add(&self, name: &str, sha256: &str, piece: Piece, body: &[u8]) -> Result<Standing, ShipError> {
        let files = self.files(name)?;
        let Some(_held) = self.hold(name) else { return Ok(Standing::Busy) };
        if let Some(standing) = whole(&files, sha256)? {
            return Ok(standing);
        }
        if let Some(parent) = files.whole.parent() {
            std::fs::create_dir_all(parent).map_err(file_error(parent))?;
        }
        if read_sum(&files.part_sum)?.is_none_or(|sum| sum != sha256) {
            // A new upload, or one of something else: what is here does not count.
            remove(&files.part)?;
            write_sum(&files.part_sum, sha256)?;
        }
        let here = length(&files.part)?.unwrap_or(0);
        if piece.from != here || piece.length != body.len() as u64 {
            return Ok(Standing::OutOfStep { bytes: here });
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&files.part);
        let mut file = opened.map_err(file_error(&files.part))?;
        if let Err(error) = file.seek(SeekFrom::Start(here)).and_then(|_| file.write_all(body)) {
            // Half a piece is no piece.
            let _ = file.set_len(here);
            return Err(file_error(&files.part)(error));
        }
        let bytes = here + piece.length;
        if bytes < piece.all {
            return Ok(Standing::Partly { bytes });
        }
        file.sync_all().map_err(file_error(&files.part))?;
        file.seek(SeekFrom::Start(0)).map_err(file_error(&files.part))?;
        let found = checksum(&mut file).map_err(file_error(&files.part))?;
        if found != (piece.all, sha256.to_owned()) {
            remove(&files.part)?;
            remove(&files.part_sum)?;
            return Ok(Standing::Broken);
        }
        // The checksum first: a segment that has its name has it, too.
        write_sum(&files.sum, sha256)?;
        std::fs::rename(&files.part, &files.whole).map_err(file_error(&files.whole))?;
        let parent = files.whole.parent().unwrap_or(&self.root);
        File::open(parent).and_then(|dir| dir.sync_all()).map_err(file_error(parent))?;
        remove(&files.part_sum)?;
        Ok(Standing::Whole { bytes, new: true })
    }
}

/// Where a segment stands if something has its name.
fn whole(files: &Files, sha256: &str) -> Result<Option<Standing>, ShipError> {
    let Some(bytes) = length(&files.whole)? else { return Ok(None) };
    let known = match read_sum(&files.sum)? {
        Some(sum) => sum,
        // Put here by other means.
        None => {
            let mut file = File::open(&files.whole).map_err(file_error(&files.whole))?;
            checksum(&mut file).map_err(file_error(&files.whole))?.1
        }
    };
    Ok(Some(if known == sha256 { Standing::Whole { bytes, new: false } } else { Standing::Taken }))
}

fn length(path: &Path) -> Result<Option<u64>, ShipError> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(path)(error)),
    }
}

fn read_sum(path: &Path) -> Result<Option<String>, ShipError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error(path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_SUM_BYTES).read_to_end(&mut bytes).map_err(file_error(path))?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

fn write_sum(path: &Path, sha256: &str) -> Result<(), ShipError> {
    let mut file = File::create(path).map_err(file_error(path))?;
    file.write_all(sha256.as_bytes()).and_then(|()| file.sync_all()).map_err(file_error(path))
}

fn remove(path: &Path) -> Result<(), ShipError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_error(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_comes_in_pieces_and_has_its_name_only_when_whole() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(dir.path()).unwrap();
        let bytes = b"0123456789".to_vec();
        let (_, sum) = checksum(&mut &bytes[..]).unwrap();
        let add = |sum: &str, from: usize, to: usize| {
            let piece = Piece { from: from as u64, length: (to - from) as u64, all: 10 };
            shelf.add("n/a", sum, piece, &bytes[from..to]).unwrap()
        };
        assert_eq!(shelf.look("n/a", &sum).unwrap(), Standing::Partly { bytes: 0 });
        assert_eq!(add(&sum, 4, 10), Standing::OutOfStep { bytes: 0 });
        assert_eq!(add(&sum, 0, 4), Standing::Partly { bytes: 4 });
        assert_eq!(add(&sum, 0, 4), Standing::OutOfStep { bytes: 4 });
        assert!(!dir.path().join("n/a").exists());
        // Another segment of that name begins anew, and is not what it says it is.
        let other = "0".repeat(64);
        assert_eq!(shelf.look("n/a", &other).unwrap(), Standing::Partly { bytes: 0 });
        assert_eq!(add(&other, 0, 10), Standing::Broken);
        assert_eq!(shelf.look("n/a", &sum).unwrap(), Standing::Partly { bytes: 0 });
        assert_eq!(add(&sum, 0, 7), Standing::Partly { bytes: 7 });
        assert_eq!(shelf.look("n/a", &sum).unwrap(), Standing::Partly { bytes: 7 });
        assert_eq!(add(&sum, 7, 10), Standing::Whole { bytes: 10, new: true });
        assert_eq!(std::fs::read(dir.path().join("n/a")).unwrap(), bytes);
        assert_eq!(add(&sum, 0, 4), Standing::Whole { bytes: 10, new: false });
        assert_eq!(add(&other, 0, 4), Standing::Taken);
        assert_eq!(shelf.look("n/a", &other).unwrap(), Standing::Taken);
        let left: Vec<_> =
            std::fs::read_dir(dir.path().join("n")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(shelf.look("../n/a", &sum).is_err());
    }

    #[test]
    fn one_at_a_time_and_empty_ones_too() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(dir.path()).unwrap();
        let (_, sum) = checksum(&mut &b""[..]).unwrap();
        let nothing = Piece { from: 0, length: 0, all: 0 };
        let held = shelf.hold("a");
        assert_eq!(shelf.add("a", &sum, nothing, b"").unwrap(), Standing::Busy);
        drop(held);
        assert_eq!(shelf.add("a", &sum, nothing, b"").unwrap(), Standing::Whole { bytes: 0, new: true });
    }
}
