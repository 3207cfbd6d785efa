//! What is crawled: *docs*, real manuals under one root; *syn*, generated pages, and *syn-long*, five times as many of them;
//! *sim*, the synthetic web of many hosts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::generated::Generated;
use crate::packages::{self, Manual};
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    Docs,
    Syn,
    SynLong,
    Sim,
}

/// The generated pages.
const SYN: Generated = Generated { pages: 50_000, seed: 0x4c79_636f_7361 };
/// Three times as many pages as the table of near-duplicates has room for by default.
const SYN_LONG: Generated = Generated { pages: 250_000, seed: 0x6c6f_6e67 };
/// Changes whenever the generator does, so that pages of an older one are not taken for these.
const SYN_EDITION: &str = "1";

impl Corpus {
    pub fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            "docs" => Self::Docs,
            "syn" => Self::Syn,
            "syn-long" => Self::SynLong,
            "sim" => Self::Sim,
            _ => bail!("no corpus {name}: there are docs, syn, syn-long and sim"),
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Docs => "docs",
            Self::Syn => "syn",
            Self::SynLong => "syn-long",
            Self::Sim => "sim",
        }
    }

    /// Puts the files in place and says where, and what they are.
    pub fn prepare(self, workspace: &Workspace) -> Result<(PathBuf, String)> {
        let root = work_dir(workspace).join(self.name());
        let about = match self {
            Self::Docs => packages::gather(workspace, &Manual::MEASURED, &root)?,
            Self::Syn => generate(SYN, &root)?,
            Self::SynLong => generate(SYN_LONG, &root)?,
            Self::Sim => String::new(),
        };
        Ok((root, about))
    }
}

/// Reads every file below a directory once, those behind links too, so that no program waits for the disk of the server
/// where the next one finds everything in memory. Returns the bytes read.
pub fn warm(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        // A manual may hold links to files that are in another package.
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.is_dir() {
            bytes += warm(&path)?;
        } else if meta.is_file() {
            bytes += std::io::copy(&mut fs::File::open(&path)?, &mut std::io::sink())?;
        }
    }
    Ok(bytes)
}

pub fn work_dir(workspace: &Workspace) -> PathBuf {
    workspace.root.join("bench").join("work")
}

fn generate(pages: Generated, root: &Path) -> Result<String> {
    let mark = root.join(".edition");
    if fs::read_to_string(&mark).is_ok_and(|edition| edition == SYN_EDITION) {
        return Ok(pages.about());
    }
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    pages.write(root)?;
    fs::write(mark, SYN_EDITION)?;
    Ok(pages.about())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warming_reads_everything_that_is_there() {
        let (dir, linked) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(linked.path().join("a"), "12345").unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/b"), "678").unwrap();
        std::os::unix::fs::symlink(linked.path(), dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("broken")).unwrap();
        assert_eq!(warm(dir.path()).unwrap(), 8);
    }
}
