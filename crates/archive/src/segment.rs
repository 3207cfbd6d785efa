//! The files of an archive directory and their names.
//!
//! `PREFIX-00001.warc.gz` is a sealed segment, which never changes again, and `PREFIX-00001.cdxj` its sorted index. While
//! a segment is written both names end in `.open`, and the index is in the order of writing. Numbers only grow.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::compress::Compression;
use crate::error::ArchiveError;

/// Marks a file that is being written.
pub const OPEN_SUFFIX: &str = ".open";
/// Longest segment prefix.
pub const MAX_PREFIX_BYTES: usize = 64;
const EXTENSIONS: [&str; 3] = ["warc.gz", "warc.zst", "warc"];

/// One segment found in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    pub number: u32,
    /// The file name once sealed, which is also the name in the index.
    pub name: String,
    pub open: bool,
    pub dir: PathBuf,
}

impl Segment {
    pub(crate) fn new(dir: &Path, prefix: &str, number: u32, compression: Compression) -> Self {
        Self {
            number,
            name: format!("{prefix}-{number:05}.{}", compression.extension()),
            open: true,
            dir: dir.to_owned(),
        }
    }

    /// Bytes between its records that belong to none.
    pub(crate) fn gap_bytes(&self) -> u64 {
        if self.name.ends_with(".warc") { u64::from(Compression::None.gap_bytes()) } else { 0 }
    }

    /// Where the records are now.
    pub fn path(&self) -> PathBuf {
        if self.open { self.open_path() } else { self.sealed_path() }
    }

    pub(crate) fn sealed_path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    pub(crate) fn open_path(&self) -> PathBuf {
        self.dir.join(format!("{}{OPEN_SUFFIX}", self.name))
    }

    /// `PREFIX-00001`.
    fn stem(&self) -> &str {
        EXTENSIONS
            .iter()
            .find_map(|extension| self.name.strip_suffix(extension)?.strip_suffix('.'))
            .unwrap_or(&self.name)
    }

    /// Where the index is now.
    pub fn index_path(&self) -> PathBuf {
        if self.open { self.open_index_path() } else { self.sealed_index_path() }
    }

    pub(crate) fn sealed_index_path(&self) -> PathBuf {
        self.dir.join(format!("{}.cdxj", self.stem()))
    }

    pub(crate) fn open_index_path(&self) -> PathBuf {
        self.dir.join(format!("{}.cdxj{OPEN_SUFFIX}", self.stem()))
    }
}

/// All segments of a directory by number; a missing directory has none. Files with other names are passed over.
pub fn segments(dir: &Path) -> Result<Vec<Segment>, ArchiveError> {
    let mut found: Vec<Segment> = Vec::new();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(ArchiveError::io("listing", dir)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(ArchiveError::io("listing", dir))?;
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else {
            continue;
        };
        let (name, open) = match file_name.strip_suffix(OPEN_SUFFIX) {
            Some(name) => (name, true),
            None => (file_name, false),
        };
        let Some(number) = number_of(name) else { continue };
        found.push(Segment { number, name: name.to_owned(), open, dir: dir.to_owned() });
    }
    found.sort();
    Ok(found)
}

/// The number in `PREFIX-00001.warc.gz`.
fn number_of(name: &str) -> Option<u32> {
    let stem = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension)?.strip_suffix('.'))?;
    let (_, digits) = stem.rsplit_once('-')?;
    let plain = digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

pub(crate) fn check_prefix(prefix: &str) -> Result<(), ArchiveError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let fits = (1..=MAX_PREFIX_BYTES).contains(&prefix.len()) && !prefix.starts_with('.');
    if fits && prefix.bytes().all(plain) { Ok(()) } else { Err(ArchiveError::Prefix(prefix.to_owned())) }
}

/// Makes renames and new names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), ArchiveError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(ArchiveError::io("syncing", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(number_of("a-b-00012.warc.gz"), Some(12));
        assert_eq!(number_of("a-123456.warc"), Some(123_456));
        for other in ["a-00012.cdxj", "a.warc.gz", "a-12.warc", "00012.warc", "a-99999999999.warc.zst"] {
            assert_eq!(number_of(other), None, "{other}");
        }
        let segment = Segment::new(Path::new("d"), "x", 3, Compression::Gzip(1));
        assert_eq!(segment.path(), Path::new("d/x-00003.warc.gz.open"));
        assert_eq!(segment.sealed_index_path(), Path::new("d/x-00003.cdxj"));
        assert!(check_prefix("lycosa").is_ok() && check_prefix("../x").is_err() && check_prefix("").is_err());
    }
}
