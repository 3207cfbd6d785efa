//! Runs one program and writes down what it cost: time, CPU of its whole process tree, peak memory.
//!
//! A process of its own per measurement, since the kernel's account of children (`getrusage`) only grows: here it holds
//! exactly the one program. CPU is that of all descendants that were waited for; the peak is of the largest of them. What the
//! program itself held in the middle of its time and at the end is looked up while it runs: the medians of what was seen in
//! the middle fifth of the time and in the last, since a single look sees what one page takes.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// How long a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);
/// How often a program's memory is looked up.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub seconds: f64,
    pub user_s: f64,
    pub system_s: f64,
    pub peak_rss_bytes: u64,
    /// Median over the middle fifth of the time.
    pub middle_rss_bytes: u64,
    /// Median over the last fifth.
    pub end_rss_bytes: u64,
    /// The time limit ended it.
    pub cut: bool,
    pub exit_code: Option<i32>,
}

/// Inside the measuring process: runs `line`, then writes the cost to `out`.
pub fn run(line: &[String], limit: Duration, out: &Path) -> Result<()> {
    let (program, arguments) = line.split_first().context("no program to measure")?;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    let group = Pid::from_raw(i32::try_from(child.id()).context("a process id")?);

    // The guard ends the program at the limit; a message, or the end of the channel, tells it that it need not.
    let (done, waiting) = mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let timed_out = |time| waiting.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        let mut held = Vec::new();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if !timed_out(left.min(LOOK_EVERY)) {
                return (false, held);
            }
            if left.is_zero() {
                break;
            }
            held.extend(resident_bytes(group));
        }
        killpg(group, Signal::SIGTERM).ok();
        if timed_out(GRACE) {
            killpg(group, Signal::SIGKILL).ok();
        }
        (true, held)
    });
    let status = child.wait()?;
    let elapsed = start.elapsed();
    drop(done);
    let (cut, held) = guard.join().unwrap_or((true, Vec::new()));

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    let cost = Cost {
        // What a program does while it is being ended is not counted as working time.
        seconds: if cut { limit.as_secs_f64().min(elapsed.as_secs_f64()) } else { elapsed.as_secs_f64() },
        user_s: seconds(usage.user_time()),
        system_s: seconds(usage.system_time()),
        peak_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        middle_rss_bytes: median_of_fifth(&held, 2),
        end_rss_bytes: median_of_fifth(&held, 4),
        cut,
        exit_code: status.code(),
    };
    std::fs::write(out, serde_json::to_vec(&cost)?)?;
    Ok(())
}

/// The median of one fifth of what was seen, counted from 0.
fn median_of_fifth(seen: &[u64], fifth: usize) -> u64 {
    let (from, to) = (seen.len() * fifth / 5, (seen.len() * (fifth + 1)).div_ceil(5));
    let mut part = seen.get(from..to).unwrap_or_default().to_vec();
    part.sort_unstable();
    part.get(part.len() / 2).copied().unwrap_or(0)
}

/// What a process holds in memory now; nothing once it has ended.
fn resident_bytes(process: Pid) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Measures a command from outside: its output goes to a file beside the result.
pub fn measure(command: &Command, limit: Duration, scratch: &Path) -> Result<(Cost, String)> {
    let (out, log) = (scratch.with_extension("cost"), scratch.with_extension("log"));
    let output = std::fs::File::create(&log)?;
    let mut outer = Command::new(std::env::current_exe()?);
    outer.args(["measure", "--limit-seconds", &limit.as_secs_f64().to_string(), "--out"]).arg(&out).arg("--");
    outer.arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        outer.current_dir(dir);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let status = outer.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).status()?;
    let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    if !status.success() {
        anyhow::bail!("measuring {:?} failed: {said}", command.get_program());
    }
    let cost = serde_json::from_slice(&std::fs::read(&out)?)?;
    Ok((cost, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifths_of_the_time() {
        let seen: Vec<u64> = (0..100).collect();
        assert_eq!((median_of_fifth(&seen, 2), median_of_fifth(&seen, 4)), (50, 90));
        assert_eq!(median_of_fifth(&[7], 2), 7);
        assert_eq!(median_of_fifth(&[7, 9], 4), 9);
        assert_eq!(median_of_fifth(&[], 4), 0);
    }

    #[test]
    fn cost_of_a_program_and_of_one_that_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("cost");
        let line = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        run(&line(&["sh", "-c", "exit 3"]), Duration::from_secs(60), &out).unwrap();
        let cost: Cost = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert_eq!((cost.exit_code, cost.cut), (Some(3), false));
        assert!(cost.peak_rss_bytes > 0);
        run(&line(&["sleep", "60"]), Duration::from_millis(50), &out).unwrap();
        let cost: Cost = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert!(cost.cut);
        assert_eq!(cost.exit_code, None);
        run(&line(&["sleep", "0.4"]), Duration::from_secs(60), &out).unwrap();
        let cost: Cost = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert!(cost.middle_rss_bytes > 0 && cost.end_rss_bytes > 0);
    }
}
