//! The files of a crawl directory.

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

    /// Whether a crawl lives here.
    pub fn exists(&self) -> bool {
        self.state().is_dir()
    }

    pub fn path(&self) -> &Path {
        &self.root
    }
}

/// Writes a file so that readers see the old or the new content, never half of it.
pub fn write_atomically(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let next = path.with_extension("next");
    std::fs::write(&next, content)?;
    std::fs::rename(&next, path)
}
