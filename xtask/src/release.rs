//! `cargo xtask release`: the release binary, laid out and inlined by what training crawls do most (profile-guided
//! optimisation).
//!
//! A first binary counts how often each place in the code is passed; training crawls run it, and the compiler reads the
//! counts when it builds the second one. Training has pages of its own, so that the benchmark measures the second
//! binary on pages that it has never seen.

mod compiler;
mod training;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::program;
use crate::workspace::Workspace;

use self::compiler::Compiler;
use self::training::Training;

#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// Train nothing: use this profile, which an earlier run or llvm-profdata made
    #[arg(long, value_name = "FILE")]
    profile_data: Option<PathBuf>,
}

/// Name of a merged profile.
const PROFILE: &str = "lycosa.profdata";
/// What cargo puts between flags that it takes as they are.
const FLAG_END: &str = "\x1f";

/// What has been done so far, and how long each step took.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn run<T>(&mut self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("== {name}");
        let start = Instant::now();
        let result = step().context(name)?;
        self.0.push((name, start.elapsed()));
        Ok(result)
    }
}

pub fn run(workspace: &Workspace, args: &ReleaseArgs) -> Result<()> {
    let compiler = Compiler::ask(workspace)?;
    let mut steps = Steps::default();
    let profile = match &args.profile_data {
        Some(file) => std::path::absolute(file)?,
        None => train(workspace, &compiler, &mut steps)?,
    };
    let binary = steps.run("trained binary", || build_trained(workspace, &compiler, &profile))?;
    for (name, took) in &steps.0 {
        println!("{:>8.1} s  {name}", took.as_secs_f64());
    }
    let bytes = std::fs::metadata(&binary).with_context(|| binary.display().to_string())?.len();
    println!("{} ({:.1} MB)", binary.display(), bytes as f64 / 1e6);
    Ok(())
}

/// Builds the binary that counts, trains it, and says where the merged counts are.
fn train(workspace: &Workspace, compiler: &Compiler, steps: &mut Steps) -> Result<PathBuf> {
    let home = workspace.target.join("training");
    let counts = home.join("profiles");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)?;
    }
    std::fs::create_dir_all(&counts)?;
    // What may be missing on this machine comes before the build, which takes minutes.
    let profdata = compiler.profdata()?;
    let training = steps.run("training pages", || Training::prepare(workspace, &home))?;
    let binary = steps.run("counting binary", || {
        let mut flag = OsString::from("-Cprofile-generate=");
        flag.push(&counts);
        build(workspace, compiler, &home, &flag)
    })?;
    steps.run("training", || training.run(&binary))?;
    let profile = home.join(PROFILE);
    steps.run("merging of counts", || merge(&profdata, &counts, &profile))?;
    Ok(profile)
}

fn merge(profdata: &Path, counts: &Path, profile: &Path) -> Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(counts)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "profraw") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("the training crawls left no counts in {}", counts.display());
    }
    files.sort();
    program::run(Command::new(profdata).args(["merge", "-o"]).arg(profile).args(files))
}

/// Cargo takes what it built with one profile for what it would build with another of the same name, so that each
/// profile begins with an empty directory, where a copy of it stays.
fn build_trained(workspace: &Workspace, compiler: &Compiler, profile: &Path) -> Result<PathBuf> {
    let wanted = std::fs::read(profile).with_context(|| profile.display().to_string())?;
    let home = workspace.target.join("trained");
    let copy = home.join(PROFILE);
    if std::fs::read(&copy).ok().as_ref() != Some(&wanted) {
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&home)?;
        std::fs::write(&copy, wanted)?;
    }
    let mut flag = OsString::from("-Cprofile-use=");
    flag.push(&copy);
    build(workspace, compiler, &home, &flag)
}

/// Builds the crawler with one more flag. Naming the target keeps the flag away from build scripts and macros.
fn build(workspace: &Workspace, compiler: &Compiler, home: &Path, flag: &OsStr) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--package", "lycosa", "--target", &compiler.host, "--target-dir"]);
    let flags = flags(std::env::var_os("CARGO_ENCODED_RUSTFLAGS"), std::env::var("RUSTFLAGS").ok(), flag);
    program::run(cargo.arg(home).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    Ok(home.join(&compiler.host).join("release").join("lycosa"))
}

/// The flags that are set already, in the form in which paths may have spaces, and `flag`.
fn flags(encoded: Option<OsString>, plain: Option<String>, flag: &OsStr) -> OsString {
    let mut flags = encoded.unwrap_or_else(|| {
        let plain = plain.unwrap_or_default();
        plain.split_whitespace().collect::<Vec<_>>().join(FLAG_END).into()
    });
    if !flags.is_empty() {
        flags.push(FLAG_END);
    }
    flags.push(flag);
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_added_to_those_that_are_set() {
        let flags = |encoded: Option<&str>, plain: Option<&str>| {
            flags(encoded.map(OsString::from), plain.map(str::to_owned), OsStr::new("-Cx=a b"))
        };
        assert_eq!(flags(None, None), "-Cx=a b");
        assert_eq!(flags(None, Some(" -Cy  -Cz ")), "-Cy\x1f-Cz\x1f-Cx=a b");
        assert_eq!(flags(Some("-C\x1fy"), Some("-Cz")), "-C\x1fy\x1f-Cx=a b");
    }

    #[test]
    fn a_step_that_fails_is_named() {
        let mut steps = Steps::default();
        assert_eq!(steps.run("one", || Ok(1)).unwrap(), 1);
        let error = steps.run::<()>("two", || bail!("broken")).unwrap_err();
        assert_eq!(format!("{error:#}"), "two: broken");
        assert_eq!(steps.0.len(), 1);
    }

    #[test]
    fn crawls_without_counts_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("other"), "").unwrap();
        let error = merge(Path::new("true"), dir.path(), &dir.path().join("x")).unwrap_err().to_string();
        assert!(error.contains("no counts"), "{error}");
        std::fs::write(dir.path().join("a.profraw"), "").unwrap();
        merge(Path::new("true"), dir.path(), &dir.path().join("x")).unwrap();
    }
}
