//! Several engines in one process, on a bus in memory, crawl the synthetic web together.

mod crossing;
mod prints;
mod regions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_cluster::bus::memory::{Chances, Link, MemoryBus, MemoryServer};
use lycosa_cluster::node::join;
use lycosa_cluster::{CrawlSettings, NodeConfig, NodeHandle, NodeId, Partitioner, RegionId, Timing};
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::cluster::{Joining, briefing};
use lycosa_engine::{Config, Crawl, CrawlEnd, CrawlError, Handle, Layout};
use lycosa_frontier::Store;
use lycosa_simweb::{TruthOptions, WorldConfig};
use lycosa_types::{CanonUrl, UrlRecord, UrlState};
use tokio::runtime::Runtime;

use crate::site::Site;

/// No crawl here takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cluster's bus and the web it crawls.
struct Cluster {
    site: Site,
    server: Arc<MemoryServer>,
    settings: CrawlSettings,
    /// Runs what belongs to no node.
    runtime: Runtime,
}

/// An engine that runs, with all a test may do to it.
struct Member {
    node: NodeHandle,
    crawl: Handle,
    wire: Arc<Link>,
    layout: Layout,
    thread: JoinHandle<Result<CrawlEnd, CrawlError>>,
    _runtime: Runtime,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn settings() -> CrawlSettings {
    let mut settings = CrawlSettings::new(5);
    settings.partitioner = Partitioner { partitions: 16, ..Partitioner::default() };
    settings
}

impl Cluster {
    fn start(world: WorldConfig) -> Self {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        Self { site: Site::start(world), server, settings: settings(), runtime: runtime() }
    }

    fn config(&self) -> Config {
        let mut config = self.site.config();
        config.traps.max_queries_per_path = 200;
        config
    }

    fn submit(&self, seeds: &[String], config: &Config) {
        let bus = MemoryBus::new(self.server.clone(), Arc::default());
        let seeds: Vec<CanonUrl> = seeds.iter().map(|seed| CanonUrl::from_canonical(seed.clone())).collect();
        self.runtime.block_on(async {
            let settings = join(&bus, &self.settings).await.unwrap();
            let sender = NodeId::new("submit", 1).unwrap();
            briefing::submit(&bus, &settings, config, &sender, &seeds).await.unwrap();
        });
    }

    /// Two nodes that begin with the seeds.
    fn pair(&self, seeds: &[String], config: &Config) -> (Member, Member) {
        let pair = (self.member("a", config.clone()), self.member("b", config.clone()));
        self.submit(seeds, config);
        pair
    }

    fn member(&self, name: &str, config: Config) -> Member {
        self.member_in(None, name, config)
    }

    fn member_in(&self, region: Option<RegionId>, name: &str, config: Config) -> Member {
        let runtime = runtime();
        let wire = Arc::new(Link::default());
        let bus = MemoryBus::new(self.server.clone(), wire.clone());
        let settings = runtime.block_on(join(&bus, &self.settings)).unwrap();
        let mut node = NodeConfig::new(NodeId::new(name, 1).unwrap(), settings);
        node.timing = Timing {
            beat: Duration::from_millis(200),
            dead_after: Duration::from_secs(3),
            leader_after: Duration::from_secs(2),
            gather: Duration::from_secs(1),
            ..Timing::default()
        };
        node.region = region;
        // Often enough that takeovers meet snapshots as well as logs.
        node.snapshot_records = 40;
        let layout = Layout::new(self.site.dir.path().join(name));
        let joining = Joining { bus, node, runtime: runtime.handle().clone(), seeds: Vec::new() };
        let crawl = Crawl::join(layout.clone(), config, joining).unwrap();
        let (node, handle) = (crawl.node().unwrap().clone(), crawl.handle());
        let thread = std::thread::spawn(move || crawl.run());
        Member { node, crawl: handle, wire, layout, thread, _runtime: runtime }
    }

    /// What a crawl of this web must find.
    fn expected(&self, seeds: Vec<String>) -> Vec<String> {
        let options = TruthOptions { seeds, redirects_add_depth: false, ..TruthOptions::default() };
        let truth = self.site.world.truth(&options);
        let mut urls: Vec<String> = truth.entries().iter().map(|entry| truth.url(entry)).collect();
        urls.sort();
        urls
    }

    /// Requests that were made more than once, robots.txt left out.
    fn repeats(&self) -> Vec<(String, u32)> {
        let repeats = self.site.server.ledger.repeats().into_iter();
        repeats.filter(|(url, _)| !url.contains("robots")).collect()
    }

    fn check_no_repeats(&self) {
        let repeats = self.repeats();
        assert!(
            repeats.is_empty(),
            "{} repeats: {:?}",
            repeats.len(),
            repeats.iter().take(5).collect::<Vec<_>>()
        );
    }
}

impl Member {
    fn wait_for_pages(&self, pages: u64) {
        let started = Instant::now();
        while self.crawl.progress().totals.pages < pages {
            assert!(started.elapsed() < PATIENCE, "{} does not get to {pages} pages", self.node.node());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it says about itself, for a test that fails.
    fn standing(&self) -> String {
        format!("{:?} {:?}", self.node.beat(), self.crawl.progress())
    }

    /// Waits for the end and returns what the node knows.
    fn finish(self) -> (CrawlEnd, BTreeMap<String, UrlRecord>) {
        let started = Instant::now();
        while !self.thread.is_finished() {
            assert!(started.elapsed() < PATIENCE, "{} does not end: {}", self.node.node(), self.standing());
            std::thread::sleep(Duration::from_millis(20));
        }
        let end = self.thread.join().unwrap().unwrap();
        drop(self._runtime);
        (end, records(&self.layout))
    }
}

fn records(layout: &Layout) -> BTreeMap<String, UrlRecord> {
    let started = Instant::now();
    let store = loop {
        match Store::open(&layout.state(), 32 << 20) {
            Ok(store) => break store,
            Err(error) => assert!(started.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    store.urls().map(|record| record.unwrap().1).map(|record| (record.url.clone(), record)).collect()
}

/// What two nodes know together: a copy of a partition that left is behind.
fn merge(all: &mut BTreeMap<String, UrlRecord>, more: BTreeMap<String, UrlRecord>) {
    for (url, record) in more {
        if record.state == UrlState::Done || !all.contains_key(&url) {
            all.insert(url, record);
        }
    }
}

fn check_all_done(records: &BTreeMap<String, UrlRecord>, expected: &[String]) {
    let done = |url: &&String| records.get(*url).is_some_and(|record| record.state == UrlState::Done);
    let missing: Vec<&String> = expected.iter().filter(|url| !done(url)).take(5).collect();
    assert!(missing.is_empty(), "{} known, missing {missing:?}", records.len());
}

/// Slow enough to be interrupted: one request at a time to a host, and a pause after it.
fn slowed(mut config: Config, delay_ms: u64) -> Config {
    config.politeness.delay_ms = delay_ms;
    config.politeness.per_host = 1;
    config
}

fn world(seed: u64, pages: u32) -> WorldConfig {
    let mut world = WorldConfig::full(seed, 40, pages);
    world.features.faults = false;
    world.features.traps = false;
    world
}

/// Two nodes find what one finds, each page is requested once, and the end is noticed.
#[test]
fn two_nodes_share_a_crawl() {
    let cluster = Cluster::start(world(31, 2000));
    let seeds = cluster.site.world.seeds(1);
    let (a, b) = cluster.pair(&seeds, &cluster.config());
    let ((a_end, mut all), (b_end, of_b)) = (a.finish(), b.finish());
    assert_eq!((a_end.stop, b_end.stop), (Stop::Exhausted, Stop::Exhausted));
    let (a_pages, b_pages) = (a_end.report.run.pages, b_end.report.run.pages);
    assert!(a_pages > 0 && b_pages > 0, "{a_pages} and {b_pages} pages");
    merge(&mut all, of_b);
    check_all_done(&all, &cluster.expected(seeds));
    cluster.check_no_repeats();
}

/// A node dies in the middle. The other has everything in the end, and repeats only what was under way.
#[test]
fn a_node_that_dies_is_replaced() {
    let cluster = Cluster::start(world(32, 2000));
    let seeds = cluster.site.world.seeds(1);
    let (a, b) = cluster.pair(&seeds, &slowed(cluster.config(), 10));
    a.wait_for_pages(150);
    a.node.kill();
    a.wire.set_cut(true);
    let (end, records) = b.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    check_all_done(&records, &cluster.expected(seeds));
    let repeats = cluster.repeats();
    assert!(repeats.iter().all(|(_, count)| *count <= 2), "{repeats:?}");
}

/// A node is asked to stop in the middle. Its partitions are handed over: nothing is repeated, and hosts rest as they should.
#[test]
fn a_node_that_leaves_hands_over() {
    let cluster = Cluster::start(world(33, 1500));
    let seeds = cluster.site.world.seeds(1);
    let mut config = slowed(cluster.config(), 20);
    config.politeness.max_delay_ms = 20;
    let (a, b) = cluster.pair(&seeds, &config);
    a.wait_for_pages(100);
    a.crawl.stop();
    let (a_end, _) = a.finish();
    assert_eq!(a_end.stop, Stop::Asked);
    let (end, records) = b.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    check_all_done(&records, &cluster.expected(seeds));
    cluster.check_no_repeats();
    for (host, gap_us) in cluster.site.server.ledger.min_gap_us_per_host() {
        assert!(gap_us >= 20_000, "{host} was asked again after {gap_us} µs");
    }
}

/// A node joins late and gets its share.
#[test]
fn a_node_that_joins_takes_its_share() {
    let cluster = Cluster::start(world(34, 1500));
    let seeds = cluster.site.world.seeds(1);
    let config = slowed(cluster.config(), 20);
    let a = cluster.member("a", config.clone());
    cluster.submit(&seeds, &config);
    a.wait_for_pages(100);
    let b = cluster.member("b", config);
    let ((_, mut all), (b_end, of_b)) = (a.finish(), b.finish());
    assert!(b_end.report.run.pages > 0);
    // What moved is in both: the later copy counts.
    for (url, record) in of_b {
        let entry = all.entry(url).or_insert_with(|| record.clone());
        if record.state == UrlState::Done {
            *entry = record;
        }
    }
    check_all_done(&all, &cluster.expected(seeds));
    cluster.check_no_repeats();
}

/// A node dies with pages in segments that nobody else has: they are fetched again, and in the end every page can be read here
/// or in the central archive.
#[test]
fn what_was_not_shipped_is_fetched_again() {
    let cluster = Cluster::start(world(35, 1200));
    let seeds = cluster.site.world.seeds(1);
    let central = cluster.site.dir.path().join("central");
    let mut config = slowed(cluster.config(), 10);
    config.archive.central = format!("file://{}", central.display());
    config.archive.segment_bytes = 100_000;
    let (a, b) = cluster.pair(&seeds, &config);
    a.wait_for_pages(150);
    a.node.kill();
    a.wire.set_cut(true);
    let archive = b.layout.archive();
    let (end, records) = b.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    check_all_done(&records, &cluster.expected(seeds));
    let numbers = |dir: &std::path::Path| -> BTreeSet<u32> {
        lycosa_archive::segments(dir).unwrap().into_iter().map(|segment| segment.number).collect()
    };
    let mut safe = numbers(&archive);
    for node in ["a", "b"] {
        safe.extend(numbers(&central.join(node)));
    }
    for record in records.values() {
        let Some(span) = record.visit.as_ref().and_then(|visit| visit.archived) else { continue };
        assert!(safe.contains(&span.segment), "{} lies in segment {}", record.url, span.segment);
    }
}
