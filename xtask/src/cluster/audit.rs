//! The requests as the server saw them. Each node has a name of its own as its user agent, so the ledger says who asked.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// One request.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    pub arrived_us: u64,
    pub arrived_unix_ms: u64,
    pub host: String,
    pub path: String,
    pub user_agent: String,
}

impl Request {
    pub fn is_page(&self) -> bool {
        self.path != "/robots.txt"
    }

    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }

    /// The product's name before the slash.
    pub fn node(&self) -> &str {
        self.user_agent.split(['/', ' ']).next().unwrap_or_default()
    }
}

/// A page that was asked for again.
#[derive(Clone, Debug)]
pub struct Repeat {
    pub url: String,
    /// Who asked for it before, and when.
    pub before: String,
    pub before_ms: u64,
    pub again_ms: u64,
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: by {} at {}, again at {}", self.url, self.before, self.before_ms, self.again_ms)
    }
}

/// All requests, in the order they arrived.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub requests: Vec<Request>,
}

impl Ledger {
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let requests = text.lines().map(serde_json::from_str).collect::<Result<Vec<Request>, _>>()?;
        let mut ledger = Self { requests };
        ledger.requests.sort_by_key(|request| request.arrived_us);
        Ok(ledger)
    }

    pub fn pages(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(|request| request.is_page())
    }

    /// Pages by who asked for them.
    pub fn pages_by_node(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        self.pages().for_each(|request| *counts.entry(request.node()).or_insert(0) += 1);
        counts
    }

    /// The busiest node's pages over the mean of `nodes` nodes.
    pub fn balance(&self, nodes: usize) -> f64 {
        let counts = self.pages_by_node();
        let (most, total) = (counts.values().max().copied().unwrap_or(0), counts.values().sum::<u64>());
        most as f64 * nodes as f64 / total.max(1) as f64
    }

    /// Pages that were asked for more than once.
    pub fn repeats(&self) -> Vec<Repeat> {
        let mut seen: HashMap<String, &Request> = HashMap::new();
        let mut repeats = Vec::new();
        for request in self.pages() {
            if let Some(before) = seen.insert(request.url(), request) {
                repeats.push(Repeat {
                    url: request.url(),
                    before: before.node().to_owned(),
                    before_ms: before.arrived_unix_ms,
                    again_ms: request.arrived_unix_ms,
                });
            }
        }
        repeats
    }

    /// Requests that came to a host sooner after the one before than `least_us`: host, gap, and the two nodes.
    pub fn too_soon(&self, least_us: u64) -> Vec<String> {
        let mut last: HashMap<&str, &Request> = HashMap::new();
        let mut found = Vec::new();
        for request in &self.requests {
            if let Some(before) = last.insert(&request.host, request) {
                let gap = request.arrived_us - before.arrived_us;
                if gap < least_us {
                    let (host, a, b) = (&request.host, before.node(), request.node());
                    found.push(format!(
                        "{host}: {gap} µs between {a} ({}) and {b} ({})",
                        before.path, request.path
                    ));
                }
            }
        }
        found
    }

    /// Requests per second of those that `who` chooses, between two times.
    pub fn rate(&self, from_ms: u64, until_ms: u64, who: impl Fn(&str) -> bool) -> f64 {
        let within = |request: &&Request| (from_ms..until_ms).contains(&request.arrived_unix_ms);
        let count = self.requests.iter().filter(within).filter(|request| who(request.node())).count();
        count as f64 * 1000.0 / (until_ms - from_ms).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at_ms: u64, host: &str, path: &str, node: &str) -> Request {
        let (host, path) = (host.to_owned(), path.to_owned());
        let user_agent = format!("{node}/0.1");
        Request { arrived_us: at_ms * 1000, arrived_unix_ms: at_ms, host, path, user_agent }
    }

    #[test]
    fn the_ledger_tells_repeats_gaps_and_rates() {
        let requests = vec![
            request(0, "x", "/robots.txt", "a"),
            request(100, "x", "/1", "a"),
            request(120, "y", "/1", "b"),
            request(150, "x", "/2", "a"),
            request(900, "y", "/robots.txt", "a"),
            request(1000, "y", "/1", "a"),
        ];
        let ledger = Ledger { requests };
        assert_eq!(ledger.pages_by_node(), [("a", 3), ("b", 1)].into());
        assert!((ledger.balance(2) - 1.5).abs() < 1e-9);
        let repeats = ledger.repeats();
        assert_eq!(repeats.len(), 1);
        assert_eq!((&*repeats[0].url, repeats[0].before_ms, repeats[0].again_ms), ("http://y/1", 120, 1000));
        assert_eq!(ledger.too_soon(60_000).len(), 1);
        assert!((ledger.rate(0, 1000, |node| node == "a") - 4.0).abs() < 1e-9);
    }
}
