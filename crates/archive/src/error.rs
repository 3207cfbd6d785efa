//! What can go wrong with an archive, in two families: writing ([`ArchiveError`]) and reading ([`ReadError`]).

use std::io;
use std::path::PathBuf;

/// Why an archive could not be opened, written or exported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("an earlier write or sync of this archive failed; stop and open it again to repair it")]
    Poisoned,
    #[error("the segment prefix {0:?} is not usable; take 1 to 64 of the characters a-z A-Z 0-9 . _ -")]
    Prefix(String),
    #[error(
        "the visit was encoded for {visit} but the archive holds {archive}; encode with the archive's compression"
    )]
    Mixed { visit: &'static str, archive: &'static str },
    #[error(
        "a record of {bytes} bytes is too large for the archive, which takes {limit}; lower the body limit"
    )]
    TooLarge { bytes: u64, limit: u64 },
    #[error(
        "the visit and the archive do not have the same dictionary, or it is too large; give both the same"
    )]
    Dictionary,
    #[error(
        "segment {segment} ends at {actual} but {expected} bytes of it are known to be durable; the archive lost data"
    )]
    Lost { segment: u32, expected: u64, actual: u64 },
    #[error(
        "offset {offset} of segment {segment} is not the end of a record; the state and the archive do not belong together"
    )]
    NotABoundary { segment: u32, offset: u64 },
    #[error("segment numbers are used up; start a new archive directory")]
    OutOfSegments,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("writing the package {path}: {reason}")]
    Package { path: PathBuf, reason: String },
}

impl ArchiveError {
    /// For `map_err`: names what was done to which file.
    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// Why a record could not be read. An archive is outside input: every case is data, none is a panic.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("reading {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("there is no segment {0} in the archive")]
    NoSegment(u32),
    #[error("the record at {offset} is cut off or damaged: {reason}")]
    Damaged { offset: u64, reason: String },
    #[error("the record at {offset} does not start like a warc record")]
    NotWarc { offset: u64 },
    #[error("the record at {offset} has a head of more than {limit} bytes")]
    HeadTooLarge { offset: u64, limit: usize },
    #[error("the record at {offset} has a block of more than {limit} bytes; raise the limit to read it")]
    BlockTooLarge { offset: u64, limit: u64 },
    #[error("the record at {offset} has no usable content-length")]
    NoLength { offset: u64 },
    #[error("the record holds no http response: {0}")]
    NotHttp(&'static str),
    #[error("the payload is more than {limit} bytes when decoded; raise the limit to read it")]
    PayloadTooLarge { limit: u64 },
    #[error("the payload is not valid {coding}: {reason}")]
    Coding { coding: String, reason: String },
}
