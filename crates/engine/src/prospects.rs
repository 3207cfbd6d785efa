//! What is known about waiting URLs while the crawl runs: on-line importance, links to them, links expected on them.
//! The frontier's orders turn it into ranks; this module keeps it current as pages come in.
//!
//! Only orders that ask for it pay for it: breadth-first and depth-first keep no tables here.

use std::path::Path;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use lycosa_frontier::{Frontier, Order, Signals, StoreError};
use lycosa_graph::online::{Moved, OnlineImportance, OnlineOptions, SWEPT_PER_FETCH, Sweeper};
use lycosa_graph::weight::Weighting;
use lycosa_graph::{EdgeLogError, PageEdges};
use lycosa_types::{CanonUrl, HostKey, UrlKey};

/// Importance of a seed: ahead of everything that was only found.
const SEED_IMPORTANCE: f32 = 1e9;
/// Importance of a URL that no link led to: named by a sitemap or a feed.
const LISTED_IMPORTANCE: f32 = 1e-3;

/// What a URL is to the one who names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Links from a seed.
    pub depth: u16,
    /// Named by the user.
    pub seed: bool,
    /// How well it suits the topic, 0 to 1; 0 without a topic.
    pub relevance: f32,
}

#[derive(Debug)]
pub struct Prospects {
    order: Order,
    online: Option<OnlineImportance>,
    forward: Option<ForwardLinks>,
    /// Lets pages fetched earlier hand on what has reached them since.
    sweeper: Option<Sweeper>,
    moved: Vec<Moved>,
    /// Waiting URLs, by the low half of their keys, about which more is known than their ranks say. They move together, so
    /// that a URL moves once, however many links have led to it meanwhile.
    stale: Vec<u64>,
    pages: u64,
    settled: (u64, Instant),
}

/// Stale URLs that are settled at once.
const MAX_STALE: usize = 1 << 18;
/// They are settled after each such part of the crawl so far, ...
const SETTLE_PART: u64 = 32;
/// ... but not more often than after so many pages, ...
const SETTLE_PAGES: u64 = 32;
/// ... and at the latest after this time.
const SETTLE_AFTER: Duration = Duration::from_secs(1);

impl Prospects {
    /// Stands where the pages in the edge log left it.
    pub fn open(order: Order, memory_bytes: usize, edge_log: &Path) -> Result<Self, EdgeLogError> {
        let online = order
            .counts_links()
            .then(|| OnlineImportance::new(OnlineOptions { memory_bytes, ..OnlineOptions::default() }));
        let forward = matches!(order, Order::Pvalue | Order::ForwardLink).then(ForwardLinks::default);
        let mut prospects = Self {
            order,
            online,
            forward,
            sweeper: None,
            moved: Vec::new(),
            stale: Vec::new(),
            pages: 0,
            settled: (0, Instant::now()),
        };
        if let Some(online) = &mut prospects.online {
            online.replay(edge_log, Weighting::Attributes)?;
            if order == Order::BestFirst {
                prospects.sweeper = Some(Sweeper::open(edge_log, Weighting::Attributes)?);
            }
        }
        Ok(prospects)
    }

    /// What is known about a URL that is about to be queued.
    pub fn signals(&self, url: &str, key: UrlKey, found: Found) -> Signals {
        let known = self.online.as_ref().and_then(|online| online.get(key.low()));
        let importance = match known {
            _ if found.seed => SEED_IMPORTANCE,
            Some(known) if known.importance > 0.0 => known.importance,
            _ => LISTED_IMPORTANCE,
        };
        Signals {
            depth: found.depth,
            importance,
            backlinks: known.map_or(0, |known| known.in_links),
            forward_links: self.forward.as_ref().map_or(0.0, |forward| forward.estimate(url)),
            relevance: if found.seed { 1.0 } else { found.relevance },
        }
    }

    /// What a page is worth, as far as links tell; the same for all pages if they are not counted.
    pub fn importance(&self, key: UrlKey) -> f32 {
        let known = self.online.as_ref().and_then(|online| online.get(key.low()));
        known.map_or(1.0, |known| known.importance)
    }

    /// A page was fetched for the first time, with these links; none if it turned out to be missing.
    pub fn page(&mut self, url: &CanonUrl, edges: Option<&PageEdges>) {
        if let Some(forward) = &mut self.forward {
            forward.count(url.as_str(), edges.map_or(0, |edges| edges.edges.len()));
        }
        if let (Some(online), Some(edges)) = (&mut self.online, edges) {
            let links =
                edges.edges.iter().map(|edge| (edge.target, Weighting::Attributes.of(edge.attributes)));
            online.fetched_weighted(edges.source, links, &mut self.moved);
            if let Some(sweeper) = &mut self.sweeper
                && let Err(error) = sweeper.run(SWEPT_PER_FETCH, online, &mut self.moved)
            {
                tracing::warn!(%error, "the edge log cannot be swept; importance stays as links were first met");
                self.sweeper = None;
            }
        }
    }

    /// What one link has given a URL on average: the owner of the URL adds up what all of them did. 0 if links are not
    /// counted.
    pub fn share(&self, key: UrlKey) -> f32 {
        let known = self.online.as_ref().and_then(|online| online.get(key.low()));
        known.map_or(0.0, |known| known.importance / known.in_links.max(1) as f32)
    }

    /// Other nodes met a URL on pages of theirs; what those gave it counts as what pages here give.
    pub fn heard(&mut self, key: UrlKey, importance: f32, backlinks: u32) {
        let Some(online) = &mut self.online else { return };
        let moves = online.receive(key.low(), importance, backlinks);
        if moves || matches!(self.order, Order::Backlink | Order::Pvalue) {
            self.stale.push(key.low());
        }
    }

    /// Notes the waiting URLs that the page last taken in says something about. To be called after its links were
    /// admitted: those that are new stand where they belong already.
    pub fn note(&mut self, edges: Option<&PageEdges>) {
        self.pages += 1;
        match self.order {
            Order::BestFirst => {
                self.stale.extend(self.moved.iter().filter(|moved| moved.before.is_some()).map(|m| m.url));
            }
            // Counts change with every link, not only where the importance changes its class.
            Order::Backlink | Order::Pvalue => {
                self.stale.extend(edges.iter().flat_map(|edges| &edges.edges).map(|edge| edge.target));
            }
            _ => {}
        }
        self.moved.clear();
    }

    /// Moves every waiting URL about which more is known now to its place, if it is time to. To be called before URLs
    /// are leased.
    pub fn settle(&mut self, frontier: &mut Frontier) -> Result<(), StoreError> {
        let Some(online) = &self.online else { return Ok(()) };
        let (pages, at) = self.settled;
        let part = (self.pages / SETTLE_PART).max(SETTLE_PAGES);
        if self.pages < pages + part && self.stale.len() < MAX_STALE && at.elapsed() < SETTLE_AFTER {
            return Ok(());
        }
        self.settled = (self.pages, Instant::now());
        self.stale.extend(frontier.take_loaded());
        self.stale.sort_unstable();
        self.stale.dedup();
        let known = self.stale.drain(..).filter_map(|low| {
            let known = online.get(low).filter(|known| !known.fetched)?;
            let counts =
                Signals { importance: known.importance, backlinks: known.in_links, ..Signals::default() };
            Some((low, counts))
        });
        match &self.forward {
            Some(forward) => {
                for (low, counts) in known {
                    let signals =
                        |waiting: &str| Signals { forward_links: forward.estimate(waiting), ..counts };
                    frontier.reorder_by(low, signals)?;
                }
            }
            None => {
                frontier.reorder(known)?;
            }
        }
        Ok(())
    }
}

/// Links that pages of a directory have on average: what a page not fetched yet is expected to have.
#[derive(Debug, Default)]
struct ForwardLinks {
    directories: HashMap<u64, Mean>,
    hosts: HashMap<u64, Mean>,
    all: Mean,
}

/// Directories, and hosts, whose pages are averaged; beyond, the next larger whole stands in.
const MAX_MEANS: usize = 1 << 17;

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    pages: u32,
    links: u64,
}

impl Mean {
    fn count(&mut self, links: usize) {
        self.pages = self.pages.saturating_add(1);
        self.links += links as u64;
    }

    fn value(self) -> Option<f32> {
        (self.pages > 0).then(|| self.links as f32 / self.pages as f32)
    }
}

impl ForwardLinks {
    fn count(&mut self, url: &str, links: usize) {
        let (host, directory) = places(url);
        for (table, key) in [(&mut self.hosts, host), (&mut self.directories, directory)] {
            if table.len() < MAX_MEANS || table.contains_key(&key) {
                table.entry(key).or_default().count(links);
            }
        }
        self.all.count(links);
    }

    fn estimate(&self, url: &str) -> f32 {
        let (host, directory) = places(url);
        let mean = |table: &HashMap<u64, Mean>, key| table.get(&key).and_then(|mean| mean.value());
        mean(&self.directories, directory)
            .or_else(|| mean(&self.hosts, host))
            .or_else(|| self.all.value())
            .unwrap_or(0.0)
    }
}

/// Hashes of a URL's origin and of its directory.
fn places(url: &str) -> (u64, u64) {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let root = path.find("://").and_then(|at| path[at + 3..].find('/').map(|slash| at + 3 + slash));
    let host = HostKey::of(&path[..root.unwrap_or(path.len())]).0;
    let directory = HostKey::of(&path[..path.rfind('/').unwrap_or(path.len())]).0;
    (host, directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_tell_how_many_links_to_expect() {
        let mut forward = ForwardLinks::default();
        assert_eq!(forward.estimate("http://a.org/x/1"), 0.0);
        forward.count("http://a.org/x/1", 10);
        forward.count("http://a.org/x/2?q=1", 20);
        forward.count("http://a.org/y/1", 60);
        forward.count("http://b.org/", 2);
        assert_eq!(forward.estimate("http://a.org/x/3"), 15.0);
        assert_eq!(forward.estimate("http://a.org/z/3"), 30.0);
        assert_eq!(forward.estimate("http://c.org/"), 23.0);
    }
}
