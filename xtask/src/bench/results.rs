//! What a run of the benchmark found, as it is written to `results.json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::measure::Cost;

use super::machine::Machine;
use super::peers::Peer;

#[derive(Serialize)]
pub struct Results {
    pub machine: Machine,
    pub notes: Vec<String>,
    pub versions: BTreeMap<String, String>,
    pub corpora: Vec<CorpusResult>,
}

#[derive(Serialize)]
pub struct CorpusResult {
    pub name: &'static str,
    pub about: String,
    /// Distinct pages that any of the programs found.
    pub reachable: u64,
    pub turns: Vec<Turn>,
    pub limit: Option<Limit>,
}

/// One program's turn.
#[derive(Clone, Serialize)]
pub struct Turn {
    pub program: &'static str,
    pub does: &'static str,
    pub round: usize,
    pub pages: u64,
    /// Requests of any kind, broken links and repeats included.
    pub requests: u64,
    /// Share of the reachable pages.
    pub coverage: f64,
    pub pages_per_s: f64,
    pub cpu_s_per_1000_pages: f64,
    pub stored_bytes: u64,
    /// Shortest time between two requests to one host, where politeness was on.
    pub shortest_gap_ms: Option<f64>,
    pub cost: Cost,
}

/// What the server gives a client that only fetches.
#[derive(Serialize)]
pub struct Limit {
    pub requests_per_s: f64,
    pub cpu_s_per_1000_requests: f64,
    pub version: String,
}

impl Results {
    pub fn new(machine: Machine, notes: Vec<String>) -> Self {
        Self { machine, notes, versions: BTreeMap::new(), corpora: Vec::new() }
    }
}

impl CorpusResult {
    pub fn new(name: &'static str, about: String) -> Self {
        Self { name, about, reachable: 0, turns: Vec::new(), limit: None }
    }

    /// Fills in what can only be said once all have run.
    pub fn settle(&mut self, reachable: u64) {
        self.reachable = reachable;
        for turn in &mut self.turns {
            turn.coverage = turn.pages as f64 / reachable.max(1) as f64;
        }
    }

    /// The turns by program, in the order of their first turn.
    pub fn programs(&self) -> Vec<Vec<&Turn>> {
        let mut programs: Vec<Vec<&Turn>> = Vec::new();
        for turn in &self.turns {
            match programs.iter_mut().find(|turns| turns.iter().any(|t| t.program == turn.program)) {
                Some(turns) => turns.push(turn),
                None => programs.push(vec![turn]),
            }
        }
        programs
    }

    /// How many times the pages per second of `rival`, as the median over rounds in which both had their turn.
    pub fn ratio(&self, program: &str, rival: &str) -> Option<f64> {
        let rate = |name: &str, round: usize| {
            self.turns.iter().find(|t| t.program == name && t.round == round).map(|t| t.pages_per_s)
        };
        let ratios = self.turns.iter().filter(|t| t.program == program).filter_map(|turn| {
            rate(rival, turn.round).filter(|rate| *rate > 0.0).map(|rate| turn.pages_per_s / rate)
        });
        median(ratios)
    }
}

impl Turn {
    pub fn new(peer: Peer, round: usize, cost: Cost, pages: u64, requests: u64, stored_bytes: u64) -> Self {
        let cpu = cost.user_s + cost.system_s;
        Self {
            program: peer.name(),
            does: peer.does(),
            round,
            pages,
            requests,
            coverage: 0.0,
            pages_per_s: pages as f64 / cost.seconds.max(1e-9),
            cpu_s_per_1000_pages: cpu * 1000.0 / pages.max(1) as f64,
            stored_bytes,
            shortest_gap_ms: None,
            cost,
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.cost.cut { " (cut)" } else { "" };
        write!(
            f,
            "{}: {} pages in {:.1} s{cut}, {:.0} pages/s, {:.3} ms of CPU per page, {} MiB",
            self.program,
            self.pages,
            self.cost.seconds,
            self.pages_per_s,
            self.cpu_s_per_1000_pages,
            self.cost.peak_rss_bytes >> 20
        )
    }
}

pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn turn(peer: Peer, round: usize, seconds: f64, pages: u64) -> Turn {
        let cost = Cost {
            seconds,
            user_s: 1.0,
            system_s: 1.0,
            peak_rss_bytes: 1 << 20,
            middle_rss_bytes: 1 << 20,
            end_rss_bytes: 1 << 20,
            cut: false,
            exit_code: Some(0),
        };
        Turn::new(peer, round, cost, pages, pages, 10)
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut result = CorpusResult::new("syn", String::new());
        result.turns.push(turn(Peer::Lycosa, 1, 1.0, 100));
        result.turns.push(turn(Peer::Wget2, 1, 2.0, 100));
        result.turns.push(turn(Peer::Lycosa, 2, 10.0, 100));
        result.turns.push(turn(Peer::Wget2, 2, 40.0, 100));
        result.settle(200);
        assert_eq!(result.ratio("lycosa", "wget2"), Some(3.0));
        assert_eq!(result.ratio("lycosa", "scrapy"), None);
        assert_eq!(result.turns[0].coverage, 0.5);
        assert_eq!(result.programs().len(), 2);
    }

    #[test]
    fn the_median_of_few_values() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([9.0, 1.0, 2.0]), Some(2.0));
    }
}
