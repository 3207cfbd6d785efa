//! Tests, each in a process of its own: once as the code is, noting what it reaches, and then once for each mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::tree::TestBinary;
use crate::program;
use crate::workspace::Workspace;

/// An unmutated test that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);
/// A mutated test may take so many times as long, and so much more.
const TIMES: u32 = 5;
const MORE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// A test that passes as the code is.
#[derive(Clone, Debug)]
pub struct Test {
    pub binary: TestBinary,
    pub name: String,
    pub took: Duration,
    pub reaches: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Caught,
    TimedOut,
    Survived,
    Unreached,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::TimedOut => "timed out",
            Self::Survived => "survived",
            Self::Unreached => "unreached",
        }
    }
}

/// Runs every test without a mutant; those that fail are named in the second list.
pub fn baseline(
    workspace: &Workspace,
    binaries: &[TestBinary],
    notes: &Path,
    jobs: usize,
) -> Result<(Vec<Test>, Vec<String>)> {
    let mut waiting = Vec::new();
    for binary in binaries {
        let listed = program::capture(Command::new(&binary.path).args(["--list", "--format", "terse"]))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        waiting.extend(names.map(|name| (binary, name.to_owned())));
    }
    eprintln!("{} tests", waiting.len());
    let done = Mutex::new((Vec::new(), Vec::new()));
    side_by_side(waiting.len(), jobs, |index| {
        let (binary, name) = &waiting[index];
        let dir = notes.join(index.to_string());
        std::fs::create_dir_all(&dir)?;
        let started = Instant::now();
        let passed = run(workspace, binary, name, ("LYCOSA_REACHED", &dir.display().to_string()), LONGEST)?;
        let took = started.elapsed();
        let reaches = std::fs::read_dir(&dir)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect::<BTreeSet<usize>>();
        let (tests, failed) = &mut *done.lock().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        match passed {
            Some(true) => tests.push(Test { binary: (*binary).clone(), name: name.clone(), took, reaches }),
            _ => failed.push(format!("{} {} {name}", binary.package, binary.name)),
        }
        Ok(())
    })?;
    let (mut tests, mut failed) = done.into_inner().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    tests.sort_by_key(|test| test.took);
    failed.sort();
    Ok((tests, failed))
}

/// Judges each mutant by the tests that reach it, the quickest first.
pub fn judge(
    workspace: &Workspace,
    tests: &[Test],
    mutants: &[usize],
    jobs: usize,
) -> Result<BTreeMap<usize, (Verdict, String)>> {
    let done = Mutex::new(BTreeMap::new());
    side_by_side(mutants.len(), jobs, |index| {
        let number = mutants[index];
        let mut verdict = (Verdict::Unreached, String::new());
        for test in tests.iter().filter(|test| test.reaches.contains(&number)) {
            let limit = test.took * TIMES + MORE;
            verdict = match run(
                workspace,
                &test.binary,
                &test.name,
                ("LYCOSA_MUTANT", &number.to_string()),
                limit,
            )? {
                Some(true) => (Verdict::Survived, String::new()),
                Some(false) => (Verdict::Caught, test.name.clone()),
                None => (Verdict::TimedOut, test.name.clone()),
            };
            if verdict.0 != Verdict::Survived {
                break;
            }
        }
        let mut done = done.lock().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        done.insert(number, verdict);
        if done.len() % 50 == 0 {
            eprintln!("{} of {} mutants", done.len(), mutants.len());
        }
        Ok(())
    })?;
    done.into_inner().map_err(|_| anyhow::anyhow!("a thread panicked"))
}

/// Does the work of each index, `jobs` at a time; the first error ends it.
fn side_by_side(count: usize, jobs: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let turn = || -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(());
            }
            work(index)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(turn)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?)
    })
}

/// Whether the test passed; none if it took too long. What it started ends with it.
fn run(
    workspace: &Workspace,
    binary: &TestBinary,
    name: &str,
    variable: (&str, &str),
    limit: Duration,
) -> Result<Option<bool>> {
    let mut command = Command::new(&binary.path);
    command.current_dir(&binary.dir).args(["--exact", name, "--test-threads", "1"]);
    command.env("LYCOSA_VENV", workspace.venv()).env(variable.0, variable.1).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("starting {}", binary.path.display()))?;
    let ended = wait(&mut child, limit)?;
    // Programs that the test started and left behind are of its group.
    killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL).ok();
    if ended.is_none() {
        child.wait()?;
    }
    Ok(ended.map(|status| status.success()))
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap()
    }

    #[test]
    fn what_takes_too_long_is_told_from_what_fails() {
        assert!(wait(&mut shell("exit 0"), LONGEST).unwrap().unwrap().success());
        assert!(!wait(&mut shell("exit 1"), LONGEST).unwrap().unwrap().success());
        let mut long = shell("sleep 60");
        assert!(wait(&mut long, Duration::ZERO).unwrap().is_none());
        long.kill().unwrap();
        long.wait().unwrap();
    }

    #[test]
    fn all_work_is_done_once_and_an_error_comes_through() {
        let sum = AtomicUsize::new(0);
        let add = |index| {
            sum.fetch_add(index, Ordering::Relaxed);
            Ok(())
        };
        side_by_side(100, 3, add).unwrap();
        assert_eq!(sum.into_inner(), 4950);
        assert!(side_by_side(3, 2, |_| anyhow::bail!("no")).is_err());
    }
}
