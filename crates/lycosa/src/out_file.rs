//! A file that a command writes: whole or not at all, and never through a symbolic link into another file.
//!
//! It is written under another name beside its place and moved there when it is complete and on disk. What is there already
//! and is no file (a device, a pipe) is written to as it is.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A file under way. Dropped before [`OutFile::finish`], it leaves nothing.
#[derive(Debug)]
pub struct OutFile {
    place: PathBuf,
    /// Where it lies until it is complete; none for what is no file.
    aside: Option<PathBuf>,
    file: BufWriter<File>,
}

impl OutFile {
    pub fn create(place: &Path) -> Result<Self> {
        let named = || place.display().to_string();
        let buffered = |file| BufWriter::with_capacity(1 << 20, file);
        match std::fs::symlink_metadata(place) {
            Ok(there) if there.is_symlink() => bail!(
                "{} is a symbolic link, and nothing is written through one; name the file itself, or `-` for standard output",
                named()
            ),
            Ok(there) if there.is_dir() => bail!("{} is a directory; name a file in it", named()),
            Ok(there) if !there.is_file() => {
                let options = nix::libc::O_NOFOLLOW;
                let file =
                    OpenOptions::new().write(true).custom_flags(options).open(place).with_context(named)?;
                return Ok(Self { place: place.to_owned(), aside: None, file: buffered(file) });
            }
            _ => {}
        }
        let name = place.file_name().with_context(|| format!("{} names no file", named()))?;
        for attempt in 0..u32::MAX {
            let mut own = std::ffi::OsString::from(".");
            own.push(name);
            own.push(format!(".{}-{attempt}.part", std::process::id()));
            let aside = place.with_file_name(own);
            match OpenOptions::new().write(true).create_new(true).open(&aside) {
                Ok(file) => {
                    return Ok(Self { place: place.to_owned(), aside: Some(aside), file: buffered(file) });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(named),
            }
        }
        bail!("{}: no name is free beside it", named())
    }

    /// Where it lies while it is written, for those who write by name.
    pub fn path(&self) -> &Path {
        self.aside.as_deref().unwrap_or(&self.place)
    }

    /// Moves it to its place; when this returns it is on disk.
    pub fn finish(self) -> Result<()> {
        self.end(true)
    }

    /// The same without waiting for the disk, for one of many files.
    pub fn finish_quickly(self) -> Result<()> {
        self.end(false)
    }

    fn end(mut self, durable: bool) -> Result<()> {
        let named = || self.place.display().to_string();
        self.file.flush().with_context(named)?;
        let Some(aside) = &self.aside else { return Ok(()) };
        if durable {
            // By its name: a package was written by others.
            File::open(aside).and_then(|file| file.sync_all()).with_context(named)?;
        }
        std::fs::rename(aside, &self.place).with_context(named)?;
        if durable {
            let dir = self.place.parent().filter(|dir| !dir.as_os_str().is_empty());
            File::open(dir.unwrap_or(Path::new("."))).and_then(|dir| dir.sync_all()).with_context(named)?;
        }
        self.aside = None;
        Ok(())
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            let _ = std::fs::remove_file(aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("out");
        let mut file = OutFile::create(&place).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::fs::write(&place, "old").unwrap();
        let mut file = OutFile::create(&place).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_not_written_through_and_devices_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, link) = (dir.path().join("precious"), dir.path().join("link"));
        std::fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        let error = OutFile::create(&link).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
        let mut null = OutFile::create(Path::new("/dev/null")).unwrap();
        null.write_all(b"x").unwrap();
        null.finish().unwrap();
        assert!(OutFile::create(dir.path()).is_err());
    }
}
