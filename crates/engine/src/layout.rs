//! The files of a crawl directory.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `DIR`: one crawl.
#[derive(Clone, Debug)]
pub struct Layout {
    pub root: PathBuf,
}

impl Layout {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("lycosa.toml")
    }

    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    pub fn archive(&self) -> PathBuf {
        self.root.join("archive")
    }

    pub fn graph(&self) -> PathBuf {
        self.root.join("graph")
    }

    pub fn edges(&self) -> PathBuf {
        self.graph().join("edges.log")
    }

    pub fn report(&self) -> PathBuf {
        self.root.join("report.json")
    }

    /// Seeds submitted while the crawl runs.
    pub fn inbox(&self) -> PathBuf {
        self.root.join("inbox")
    }

    /// Rewritten every second by a running crawl.
    pub fn progress(&self) -> PathBuf {
        self.root.join("progress.json")
    }

    /// The name of the node that this directory belongs to.
    pub fn node(&self) -> PathBuf {
        self.root.join("node")
    }

    /// Which segments are safe in the central archive.
    pub fn shipped(&self) -> PathBuf {
        self.root.join("shipped")
    }

    /// Links to partitions of other nodes, in link mode `cross`.
    pub fn aside(&self) -> PathBuf {
        self.root.join("aside")
    }

    /// There while the state is made for the first time.
    pub fn making(&self) -> PathBuf {
        self.root.join("making")
    }

    /// Whether a crawl lives here.
    pub fn exists(&self) -> bool {
        self.state().is_dir()
    }

    /// Whether a crawl was begun here and ended before there was anything to go on with.
    pub fn is_unfinished(&self) -> bool {
        self.making().exists()
    }

    pub fn path(&self) -> &Path {
        &self.root
    }
}

/// Writes a file so that readers see the old or the new content, never half of it.
pub fn write_atomically(path: &Path, content: &[u8]) -> std::io::Result<()> {
    replace(path, content, false)
}

/// The same, and on disk when this returns.
pub fn write_durably(path: &Path, content: &[u8]) -> std::io::Result<()> {
    replace(path, content, true)
}

fn replace(path: &Path, content: &[u8], durable: bool) -> std::io::Result<()> {
    let next = path.with_extension("next");
    // Made anew: what lies there may be left over, or lead elsewhere.
    match std::fs::remove_file(&next) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&next)?;
    file.write_all(content)?;
    if durable {
        file.sync_all()?;
    }
    std::fs::rename(&next, path)
}

/// What a directory takes of the disk: files may be longer than what was written into them.
pub fn used_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let mut used = 0;
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(meta) if meta.is_dir() => used += used_bytes(&entry.path()),
            Ok(meta) => used += meta.blocks() * 512,
            // It was merged away meanwhile.
            Err(_) => {}
        }
    }
    used
}
