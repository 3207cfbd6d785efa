//! The machine, the moment and the commit of a run.

use std::process::Command;

use serde::Serialize;

use crate::program;
use crate::workspace::Workspace;

use super::peers::first_line;

#[derive(Serialize)]
pub struct Machine {
    /// UTC, as `2026-01-31T12-30`.
    pub date: String,
    pub commit: String,
    pub cores: usize,
    pub cpu: String,
    pub memory_mib: u64,
    pub kernel: String,
    /// Load of the last minute when the run began: above zero, others were at work.
    pub load_before: f64,
    pub nginx: String,
    pub rustc: String,
}

pub fn describe(workspace: &Workspace) -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let memory_kib: u64 = memory.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
    let load = read("/proc/loadavg");
    Machine {
        date: first_line(Command::new("date").args(["-u", "+%Y-%m-%dT%H-%M"])),
        commit: commit(workspace),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        cpu: field(&read("/proc/cpuinfo"), "model name"),
        memory_mib: memory_kib / 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        load_before: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
        nginx: program::find("nginx")
            .map(|path| first_line(Command::new(path).arg("-v")))
            .unwrap_or_default(),
        rustc: first_line(Command::new("rustc").arg("--version")),
    }
}

fn commit(workspace: &Workspace) -> String {
    let git = |arguments: &[&str]| {
        program::capture(Command::new("git").args(arguments).current_dir(&workspace.root)).unwrap_or_default()
    };
    let changed = !git(&["status", "--porcelain", "--", "crates", "Cargo.lock"]).trim().is_empty();
    format!("{}{}", git(&["rev-parse", "--short", "HEAD"]).trim(), if changed { " with changes" } else { "" })
}
