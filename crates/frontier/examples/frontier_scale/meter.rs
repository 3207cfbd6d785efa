//! What the process costs, asked of the system: memory, CPU time by thread, bytes on disk.

use std::collections::BTreeMap;
use std::path::Path;

/// Ticks of CPU time per second in /proc, on every Linux there is.
const TICKS_PER_S: f64 = 100.0;
const MIB: f64 = (1u64 << 20) as f64;

/// Resident memory now and at most, in MiB.
pub fn memory_mib() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|n| n.parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    };
    (field("VmRSS:"), field("VmHWM:"))
}

/// CPU seconds so far of all threads alive, summed by thread name.
pub fn cpu_seconds() -> BTreeMap<String, f64> {
    let mut threads = BTreeMap::new();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return threads };
    for task in tasks.flatten() {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The name stands in brackets and may hold anything.
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { continue };
        let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
        *threads.entry(stat[open + 1..close].to_owned()).or_insert(0.0) +=
            (ticks(11) + ticks(12)) / TICKS_PER_S;
    }
    threads
}

/// Bytes of all files below `dir`, in MiB.
pub fn disk_mib(dir: &Path) -> f64 {
    fn walk(dir: &Path) -> u64 {
        let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
        let size = |entry: std::fs::DirEntry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => walk(&entry.path()),
            Ok(facts) => facts.len(),
            Err(_) => 0,
        };
        entries.flatten().map(size).sum()
    }
    walk(dir) as f64 / MIB
}
