//! `report.json`: the figures of a crawl, documented in `docs/formats.md` and stable.

use std::collections::BTreeMap;

use lycosa_types::UnixMs;
use serde::{Deserialize, Serialize};

use crate::bookkeeper::Stop;
use crate::crawl::moved::MovedSeed;
use crate::left_out::LeftOut;
use crate::seeds::SeedFigures;
use crate::totals::Totals;

/// The version of the report's fields.
pub const REPORT_VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub version: u32,
    pub lycosa: String,
    pub finished_at: UnixMs,
    /// `exhausted`, `max-pages`, `max-bytes`, `max-time` or `asked`.
    pub stopped_by: String,
    /// Over all runs of this crawl.
    pub totals: Totals,
    /// What was left out over all runs, and by whose will.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Hosts that end the crawl forbidden because robots.txt could not be had, as far as they are listed.
    #[serde(default)]
    pub robots_failing: Vec<String>,
    /// Pages that failed, by section of a host (the beginning of their path) and by failure, as far as they are listed.
    #[serde(default)]
    pub broken: BTreeMap<String, u64>,
    /// Seeds that redirect to another host, whose pages are in scope because of that: the first thousand by name, and all.
    #[serde(default)]
    pub moved: Vec<MovedSeed>,
    #[serde(default)]
    pub moved_count: u64,
    /// URLs still waiting.
    pub waiting: u64,
    pub hosts: u64,
    /// URLs known.
    pub known: u64,
    /// Of the last run.
    pub run: RunFigures,
    /// How the seeds ended, if nothing was left to fetch; empty otherwise and in a cluster.
    #[serde(default)]
    pub seeds: SeedFigures,
    /// Of the last run, if it was part of a cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ExchangeFigures>,
}

/// What went out to other nodes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ExchangeFigures {
    /// Links to partitions of other nodes, each as often as it was met.
    pub links_met: u64,
    pub links_sent: u64,
    pub batches: u64,
    /// On the bus.
    pub bytes_sent: u64,
    /// Messages that were malformed, foreign, stale or repeated.
    pub refused: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunFigures {
    pub seconds: f64,
    pub pages: u64,
    pub pages_per_s: f64,
    /// Visits to pages that had been visited before, and what they showed.
    #[serde(default)]
    pub revisits: u64,
    #[serde(default)]
    pub changes: BTreeMap<String, u64>,
    pub received_bytes: u64,
    pub received_bytes_per_s: f64,
    /// Servers that left in doubt where a response ends, by bytes that nobody had asked for or fields that contradict
    /// each other; each request to them gets a connection of its own.
    #[serde(default)]
    pub doubtful_servers: u64,
    /// CPU time of the process, user and system together.
    pub cpu_s: f64,
    pub cpu_ms_per_page: f64,
    pub peak_rss_bytes: u64,
    pub state_bytes: u64,
}

/// The report's word for why a crawl stopped.
pub fn stop_word(stop: Stop) -> &'static str {
    match stop {
        Stop::Exhausted => "exhausted",
        Stop::MaxPages => "max-pages",
        Stop::MaxBytes => "max-bytes",
        Stop::MaxTime => "max-time",
        Stop::Asked => "asked",
        Stop::Superseded => "superseded",
    }
}

/// CPU seconds and peak resident bytes of this process, as far as the system tells.
pub fn process_figures() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields are counted after the command name, which may contain anything but ends in the last `)`.
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11);
    let ticks = |field: Option<&str>| field.and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    let cpu_s = (ticks(fields.next()) + ticks(fields.next())) / 100.0;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0);
    (cpu_s, peak_kib * 1024)
}
