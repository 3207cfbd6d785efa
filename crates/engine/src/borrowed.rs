//! A crawl directory that may be read but not written into, as on another's disk or a snapshot: it is read through a
//! directory of our own, which holds copies of the few files that the state writes when it is opened and links to the rest.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::layout::Layout;

/// Tables of the state: never changed, and most of its bytes.
const TABLES: &str = "tables";
/// What the state is locked with.
const LOCK: &str = "lock";

/// The directory of our own, removed with this.
#[derive(Debug)]
pub struct Borrowed {
    dir: PathBuf,
}

/// What stands in the way of reading.
#[derive(Debug)]
pub enum Refusal {
    /// A process writes into it.
    InUse,
    Io(PathBuf, io::Error),
}

impl Borrowed {
    /// None if the crawl's directory can be written into, and is opened as it is.
    pub fn of_crawl(layout: &Layout) -> Result<Option<(Self, Layout)>, Refusal> {
        let lock = layout.state().join(LOCK);
        if !is_closed(OpenOptions::new().write(true).open(&lock)) {
            return Ok(None);
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Refusal::Io(path, source)
        };
        // For as long as it is copied nobody may write; the lock is had by reading, too.
        let file = File::open(&lock).map_err(failed(&lock))?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Refusal::InUse),
            Err(TryLockError::Error(source)) => return Err(Refusal::Io(lock, source)),
        }
        let borrowed = Self::make().map_err(failed(&std::env::temp_dir()))?;
        let own = Layout::new(&borrowed.dir);
        copy(&layout.state(), &own.state()).map_err(failed(&layout.state()))?;
        std::fs::create_dir(own.graph()).map_err(failed(&own.graph()))?;
        let index = borrowed.dir.join("index");
        for entry in std::fs::read_dir(&layout.root).map_err(failed(&layout.root))? {
            let name = entry.map_err(failed(&layout.root))?.file_name();
            let to = borrowed.dir.join(&name);
            if to.exists() || to == index {
                continue;
            }
            link(&layout.root.join(&name), &to).map_err(failed(&to))?;
        }
        if layout.edges().exists() {
            link(&layout.edges(), &own.edges()).map_err(failed(&own.edges()))?;
        }
        Ok(Some((borrowed, own)))
    }

    /// The same for a directory whose files are read as they are, beside a lock that is made there.
    pub fn of_files(dir: &Path) -> io::Result<Option<Self>> {
        let probe = dir.join(format!(".probe-{}", std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).open(&probe);
        if !is_closed(made) {
            let _ = std::fs::remove_file(&probe);
            return Ok(None);
        }
        let borrowed = Self::make()?;
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            // Locks are made anew.
            if !entry.file_name().to_string_lossy().ends_with(".lock") {
                link(&entry.path(), &borrowed.dir.join(entry.file_name()))?;
            }
        }
        Ok(Some(borrowed))
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// A new directory for nobody but us.
    fn make() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let dir = std::env::temp_dir().join(format!("lycosa-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(Self { dir }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Whether writing was refused because of where the file lies or whose it is.
fn is_closed(opened: io::Result<File>) -> bool {
    opened.is_err_and(|error| {
        matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
    })
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    symlink(std::path::absolute(from)?, to)
}

/// Copies a directory; tables are linked to.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir(to)?;
    let are_tables = from.file_name().is_some_and(|name| name == TABLES);
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &to)?;
        } else if are_tables {
            link(&path, &to)?;
        } else {
            // Not by `fs::copy`, which makes the copy as closed as the file.
            io::copy(&mut File::open(&path)?, &mut File::create_new(&to)?)?;
        }
    }
    Ok(())
}
