//! Shipping: sealed archive segments go to the central archive, and a ledger says which are safe there.
//!
//! | module | noun |
//! | --- | --- |
//! | [`ledger`] | which segments are safe, on disk |
//! | [`directory`] | a central archive in a directory |
//! | [`s3`] | a central archive in an S3-compatible object store |
//! | [`parent`] | a central archive at a parent node |
//!
//! Promises: a segment is called safe only after the archive holds all of it under its name with the checksum it has
//! here; an upload that broke off is taken up where it stopped; shipping a segment again does nothing.

pub mod directory;
pub mod ledger;
pub mod parent;
pub mod s3;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use url::Url;

use directory::Directory;
pub use ledger::{Ledger, Safe};
use parent::Parent;
pub use parent::ParentOptions;
use s3::S3;
pub use s3::S3Options;

/// Largest segment that is shipped.
pub const MAX_SEGMENT_BYTES: u64 = 64 << 30;
/// Longest name of a segment.
pub const MAX_SEGMENT_NAME: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum ShipError {
    #[error("{0:?} names no central archive; write file:///path, s3://bucket/path or https://parent:port/")]
    Address(String),
    #[error("{0:?} cannot be the name of a segment")]
    Name(String),
    #[error("the segment {name} has {bytes} bytes, at most {MAX_SEGMENT_BYTES} are shipped")]
    TooLarge { name: String, bytes: u64 },
    #[error("cannot use {path}: {error}")]
    File { path: PathBuf, error: std::io::Error },
    #[error("the segment {0} changed while it was shipped; only sealed segments may be shipped")]
    Changed(String),
    #[error("the central archive holds another {0} already; use another directory or prefix per node")]
    Taken(String),
    #[error("the parent node does not let us in: {0}; give it the token or a certificate")]
    Refused(String),
    #[error("the central archive failed: {0}; it is tried again")]
    Store(String),
}

pub(crate) fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ShipError {
    let path = path.to_owned();
    move |error| ShipError::File { path, error }
}

/// Where segments go.
#[derive(Debug)]
enum Central {
    Directory(Directory),
    S3(Box<S3>),
    Parent(Parent),
}

/// How to reach the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShipOptions {
    pub s3: S3Options,
    pub parent: ParentOptions,
}

/// Ships segments of one node, one after the other.
#[derive(Debug)]
pub struct Shipper {
    central: Central,
    ledger: Ledger,
}

impl Shipper {
    /// `address` is `file:///path`, `s3://bucket/prefix` or `https://parent:port/`; the ledger and what is needed to take up an upload lie in `dir`.
    pub fn open(address: &str, options: &ShipOptions, dir: &Path) -> Result<Self, ShipError> {
        let wrong = || ShipError::Address(address.chars().take(200).collect());
        let url = Url::parse(address).map_err(|_| wrong())?;
        let central = match url.scheme() {
            "file" => Central::Directory(Directory::new(url.to_file_path().map_err(|()| wrong())?)?),
            "s3" => Central::S3(Box::new(S3::new(&url, &options.s3, dir)?)),
            "https" => Central::Parent(Parent::new(&url, &options.parent)?),
            _ => return Err(wrong()),
        };
        Ok(Self { central, ledger: Ledger::open(dir)? })
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Ships a sealed segment and returns once it is safe. `name` is what it is called in the archive.
    pub async fn ship(&mut self, path: &Path, name: &str) -> Result<Safe, ShipError> {
        check_name(name)?;
        if let Some(safe) = self.ledger.get(name) {
            return Ok(safe.clone());
        }
        let safe = describe(path, name)?;
        match &self.central {
            Central::Directory(directory) => directory.put(path, &safe)?,
            Central::S3(s3) => s3.put(path, &safe).await?,
            Central::Parent(parent) => parent.put(path, &safe).await?,
        }
        self.ledger.add(safe.clone())?;
        Ok(safe)
    }
}

pub(crate) fn check_name(name: &str) -> Result<(), ShipError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/');
    let parts_fine = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if !name.is_empty() && name.len() <= MAX_SEGMENT_NAME && name.bytes().all(plain) && parts_fine {
        Ok(())
    } else {
        Err(ShipError::Name(name.chars().take(300).collect()))
    }
}

/// Size and checksum of a segment.
fn describe(path: &Path, name: &str) -> Result<Safe, ShipError> {
    let mut file = File::open(path).map_err(file_error(path))?;
    let (bytes, sha256) = checksum(&mut file).map_err(file_error(path))?;
    if bytes > MAX_SEGMENT_BYTES {
        return Err(ShipError::TooLarge { name: name.to_owned(), bytes });
    }
    Ok(Safe { segment: name.to_owned(), bytes, sha256 })
}

pub(crate) fn checksum(file: &mut impl Read) -> std::io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
    let hex = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_archive() {
        for good in ["a.warc.gz", "node-1/00001.warc.gz"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "../a", "a/../b", ".hidden", "a b", "a\\b", &"x".repeat(256)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn only_known_addresses_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        for bad in
            ["", "ftp://x/", "http://x/", "https://user@x/", "https://x/?q", "not a url", "file://host/x"]
        {
            let opened = Shipper::open(bad, &ShipOptions::default(), dir.path());
            assert!(matches!(opened, Err(ShipError::Address(_))), "{bad}");
        }
    }
}
