//! Where things are: the checkout, the build directory, the Python environment, the crawler's binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program;

pub struct Workspace {
    pub root: PathBuf,
    pub target: PathBuf,
}

impl Workspace {
    pub fn locate() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("xtask lies inside the workspace")?.to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => std::path::absolute(dir)?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// The Python environment, at the place where the tests look for it.
    pub fn venv(&self) -> PathBuf {
        lycosa_testkit::environment()
    }

    /// Builds the crawler with the profile of the tests and says where it is. Examples are named because they bring in the
    /// dependencies of tests: with the same features as in `cargo test --workspace`, nothing is built twice.
    pub fn build_tested(&self) -> Result<PathBuf> {
        program::run(self.cargo().args(["build", "--workspace", "--bins", "--examples", "--quiet"]))?;
        Ok(self.target.join("debug").join("lycosa"))
    }

    /// Every file below `dir` that ends with `.ext`, sorted; build output and hidden directories are left out.
    pub fn files(&self, dir: &str, ext: &str) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.root.join(dir)];
        while let Some(dir) = waiting.pop() {
            let entries = std::fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))?;
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if entry.file_type()?.is_dir() {
                    if !name.starts_with('.') && !["target", "node_modules", "work"].contains(&&*name) {
                        waiting.push(entry.path());
                    }
                } else if entry.path().extension().is_some_and(|e| e == ext) {
                    found.push(entry.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}
