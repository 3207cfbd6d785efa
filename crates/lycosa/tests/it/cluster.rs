//! Several processes and a real NATS server: nodes that share, die, and are stopped for a while.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::{Duration, Instant};

use lycosa_simweb::{TruthOptions, WorldConfig};
use lycosa_testkit::Server;

use nix::sys::signal::Signal;

use crate::binary::{command, finish, lycosa, send};
use crate::site::Site;

const PATIENCE: Duration = Duration::from_secs(60);

struct Cluster {
    site: Site,
    nats: Server,
}

impl Cluster {
    fn start(world: WorldConfig) -> Self {
        Self { nats: Server::start(), site: Site::start(world) }
    }

    fn dir(&self, name: &str) -> String {
        self.site.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn spawn(&self, name: &str, first: &[&str], more: &[&str]) -> Child {
        let (url, dir) = (self.nats.url(), self.dir(name));
        let mut args = first.to_vec();
        args.extend(["--nats", &url, "--crawl", "test", "--node", name, "-d", &dir, "--quiet"]);
        args.extend(more);
        command(&args).spawn().unwrap()
    }

    /// Makes the crawl and takes part in it.
    fn crawl(&self, name: &str, delay: &str) -> Child {
        self.crawl_with(name, delay, &[])
    }

    fn crawl_with(&self, name: &str, delay: &str, options: &[&str]) -> Child {
        let seed = self.site.seed();
        let mut more = vec!["--scope", "any", "--ip-delay", "0", "--delay", delay];
        more.extend(options);
        more.extend(["--set", "politeness.retry_ms=50", "--set", "partitions.count=16"]);
        more.push("--no-requisites");
        more.extend(self.site.net());
        self.spawn(name, &["crawl", &seed], &more)
    }

    fn node(&self, name: &str) -> Child {
        self.spawn(name, &["node"], &[])
    }

    fn wait_for_requests(&self, count: usize) {
        let started = Instant::now();
        while self.site.server.ledger.len() < count {
            assert!(started.elapsed() < PATIENCE, "the crawl does not get going");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the nodes fetched, together.
    fn fetched(&self, nodes: &[&str]) -> BTreeSet<String> {
        let mut fetched = BTreeSet::new();
        for node in nodes {
            let dir = self.dir(node);
            let lines = lycosa(&["export", "-d", &dir, "-f", "urls"]).expect_code(0).json_lines();
            let done = lines.iter().filter(|line| line["outcome"] == "fetched");
            let urls = done.map(|line| line["url"].as_str().unwrap().to_owned());
            fetched.extend(urls.filter(|url| !url.ends_with("/feed.xml")));
        }
        fetched
    }

    fn expected(&self) -> BTreeSet<String> {
        self.site.server.world().truth(&TruthOptions::default()).fetchable_urls().collect()
    }

    /// Pages that were asked for more than once.
    fn repeats(&self) -> Vec<(String, u32)> {
        let repeats = self.site.server.ledger.repeats().into_iter();
        repeats.filter(|(url, _)| !url.ends_with("/robots.txt")).collect()
    }
}

#[test]
fn two_machines_share_a_crawl() {
    let cluster = Cluster::start(WorldConfig::clean(51, 20, 400));
    let (a, b) = (cluster.crawl("a", "10ms"), cluster.node("b"));
    cluster.wait_for_requests(100);
    let url = cluster.nats.url();
    let status = lycosa(&["status", "--nats", &url, "--crawl", "test", "--json"]).expect_code(0).json();
    assert_eq!(status["nodes"].as_array().unwrap().len(), 2, "{status}");
    finish(a).expect_code(0);
    finish(b).expect_code(0);
    assert_eq!(cluster.fetched(&["a", "b"]), cluster.expected());
    assert_eq!(cluster.repeats(), Vec::new());
    let status = lycosa(&["status", "--nats", &url, "--crawl", "test", "--json"]).expect_code(0).json();
    assert_eq!(status["state"], "done", "{status}");
}

#[test]
fn a_killed_machine_is_replaced() {
    let cluster = Cluster::start(WorldConfig::clean(52, 20, 600));
    let (a, mut b) = (cluster.crawl("a", "50ms"), cluster.node("b"));
    cluster.wait_for_requests(150);
    b.kill().unwrap();
    b.wait().unwrap();
    finish(a).expect_code(0);
    assert_eq!(cluster.fetched(&["a"]), cluster.expected());
    let repeats = cluster.repeats();
    assert!(repeats.iter().all(|(_, count)| *count == 2), "{repeats:?}");
}

/// The name of the machine is the default, so two processes on one machine, or two cloned containers, have the same.
#[test]
fn a_second_machine_of_one_name_is_refused_and_may_start_again_later() {
    let cluster = Cluster::start(WorldConfig::clean(55, 20, 400));
    let mut a = cluster.crawl("a", "30ms");
    cluster.wait_for_requests(50);
    let (url, dir) = (cluster.nats.url(), cluster.dir("twin"));
    let twin = ["node", "--nats", &url, "--crawl", "test", "--node", "a", "-d", &dir, "--quiet"];
    let refused = lycosa(&twin).expect_code(1);
    assert!(refused.err.contains("--node"), "{}", refused.err);
    // Killed and started again, with its directory: it goes on.
    a.kill().unwrap();
    a.wait().unwrap();
    finish(cluster.node("a")).expect_code(0);
    assert_eq!(cluster.fetched(&["a"]), cluster.expected());
}

/// Stopped for longer than it takes to be replaced, and continued: it writes nothing that is not its own any more, and is a
/// member again.
#[test]
fn a_machine_that_sleeps_comes_back() {
    let cluster = Cluster::start(WorldConfig::clean(53, 20, 800));
    let (a, b) = (cluster.crawl("a", "80ms"), cluster.node("b"));
    cluster.wait_for_requests(100);
    send(&b, Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(9));
    send(&b, Signal::SIGCONT);
    finish(a).expect_code(0);
    finish(b).expect_code(0);
    assert_eq!(cluster.fetched(&["a", "b"]), cluster.expected());
    for (host, gap_us) in cluster.site.server.ledger.min_gap_us_per_host() {
        assert!(gap_us >= 80_000, "{host} was asked again after {gap_us} µs");
    }
}

#[test]
fn a_machine_that_is_asked_to_stop_hands_over() {
    let cluster = Cluster::start(WorldConfig::clean(54, 20, 600));
    let (a, b) = (cluster.crawl("a", "50ms"), cluster.node("b"));
    cluster.wait_for_requests(150);
    send(&b, Signal::SIGINT);
    finish(b).expect_code(3);
    finish(a).expect_code(0);
    assert_eq!(cluster.fetched(&["a"]), cluster.expected());
    assert_eq!(cluster.repeats(), Vec::new());
}

/// Every machine for itself: both have all pages, and all pages were asked for twice.
#[test]
fn independent_machines_share_nothing_but_the_order_to_crawl() {
    let cluster = Cluster::start(WorldConfig::clean(55, 10, 100));
    let a = cluster.crawl_with("a", "5ms", &["--allocation", "independent"]);
    let b = cluster.node("b");
    finish(a).expect_code(0);
    finish(b).expect_code(0);
    for node in ["a", "b"] {
        assert_eq!(cluster.fetched(&[node]), cluster.expected());
    }
    assert!(cluster.repeats().iter().all(|(_, count)| *count == 2));
    assert!(cluster.repeats().len() >= cluster.expected().len());
}
