//! `cargo xtask fixtures`: small crawl directories as today's binary writes them, and what it answers about them.
//!
//! They lie under crates/lycosa/tests/fixtures, one directory for each set. The tests of the binary open every set and
//! expect the recorded answers, so that a later version that cannot read what an earlier one wrote is noticed. A set is
//! made once and then stays as it is; `--answers` records answers anew where they are meant to change. The worlds and
//! settings follow from this file; times, and what follows from them, are those of the run.
//!
//! | module | noun |
//! | --- | --- |
//! | [`questions`] | what is asked of a crawl, and the file with the answers |
//! | [`recipe`] | how each crawl of a set is made |

mod questions;
mod recipe;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cluster::Programs;
use crate::program;
use crate::workspace::Workspace;

/// All sets together may not be larger.
const MAX_BYTES: u64 = 2 << 20;

#[derive(Debug, Args)]
pub struct FixturesArgs {
    /// The name of the set to make: the version of the formats that it shows
    #[arg(long, default_value = "state-5")]
    set: String,
    /// Keep the directories of all sets and only record the answers anew
    #[arg(long)]
    answers: bool,
}

pub fn run(workspace: &Workspace, args: &FixturesArgs) -> Result<()> {
    let root = workspace.root.join("crates/lycosa/tests/fixtures");
    let programs = Programs::find(workspace, false, None)?;
    if args.answers {
        for set in directories(&root)? {
            record(&programs.lycosa, &set)?;
        }
    } else {
        let set = root.join(&args.set);
        if set.exists() {
            bail!("{} is there: sets are kept as they are; name a new one, or remove it", set.display());
        }
        make(&programs, &set)?;
        record(&programs.lycosa, &set)?;
        let mut messages = workspace.cargo();
        messages.args(["test", "--quiet", "-p", "lycosa-cluster", "--test", "it", "messages"]);
        program::run(messages.env("LYCOSA_MESSAGES", &args.set))?;
    }
    let bytes = size(&root)?;
    println!("{} bytes in {}", bytes, workspace.relative(&root).display());
    if bytes > MAX_BYTES {
        bail!("the fixtures are larger than {MAX_BYTES} bytes");
    }
    Ok(())
}

/// Crawls every recipe into a directory of its own and packs it.
fn make(programs: &Programs, set: &Path) -> Result<()> {
    std::fs::create_dir_all(set)?;
    for recipe in recipe::ALL {
        let work = tempfile::tempdir()?;
        recipe.crawl(programs, work.path()).with_context(|| format!("making {}", recipe.name))?;
        pack(work.path(), &set.join(format!("{}.tar.gz", recipe.name)))?;
    }
    Ok(())
}

/// Empty directories and holes in files are part of what was written, so the directory is kept as an archive.
fn pack(work: &Path, to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--sparse", "-cf"]);
    let plain = to.with_extension("");
    program::run(tar.arg(&plain).arg("-C").arg(work).arg("crawl"))?;
    program::run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(plain))
}

/// Asks everything of every packed crawl of a set, each on a copy of its own.
fn record(lycosa: &Path, set: &Path) -> Result<()> {
    for packed in files(set, ".tar.gz")? {
        let work = tempfile::tempdir()?;
        program::run(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(work.path()))?;
        let name = packed.file_name().map(|name| name.to_string_lossy().replace(".tar.gz", ""));
        let name = name.with_context(|| format!("{} has no name", packed.display()))?;
        let answers = questions::ask(lycosa, work.path())?;
        std::fs::write(set.join(format!("{name}.answers")), answers)?;
        println!("{name}: {} bytes", std::fs::metadata(&packed)?.len());
    }
    Ok(())
}

fn directories(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).with_context(|| format!("reading {}", root.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn files(dir: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_file() && path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn size(root: &Path) -> Result<u64> {
    let mut bytes = 0;
    for set in directories(root)? {
        for file in files(&set, "")? {
            bytes += std::fs::metadata(file)?.len();
        }
    }
    Ok(bytes)
}
