//! Regions with real processes and a real NATS server: servers on different addresses are crawled by the machines near them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lycosa_simweb::{Server as Web, ServerConfig, TruthOptions, World, WorldConfig};
use lycosa_testkit::Server;
use serde_json::Value;

use crate::binary::{Run, command, finish, lycosa};

const PATIENCE: Duration = Duration::from_secs(60);
const PARTITIONS: u16 = 18;

/// A process that ends with the test, however that ends.
struct Running(Option<Child>);

impl Running {
    fn finish(mut self) -> Run {
        finish(self.0.take().unwrap())
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A web whose hosts stand in no region, in the east and in the west, in turn.
struct Cluster {
    web: Web,
    nats: Server,
    dir: tempfile::TempDir,
}

impl Cluster {
    fn start(world: WorldConfig, delay_ms: u64) -> Self {
        let nats = Server::start();
        let web = Web::start_with(Arc::new(World::new(world)), ServerConfig::loopbacks(3)).unwrap();
        let cluster = Self { web, nats, dir: tempfile::tempdir().unwrap() };
        std::fs::write(cluster.dir("config"), cluster.config(delay_ms)).unwrap();
        cluster
    }

    fn config(&self, delay_ms: u64) -> String {
        let mut resolve = String::new();
        for (number, host) in self.web.world().hosts().iter().enumerate() {
            write!(resolve, "\"{}:80:127.0.0.{}:{}\",", host.name, address(number), self.web.port()).unwrap();
        }
        format!(
            "[scope]\nkind = \"any\"\n[archive]\nrequisites = false\n[politeness]\ndelay_ms = {delay_ms}\nip_delay_ms = 0\nretry_ms = 50\n\
             [fetch]\nallow_net = [\"127.0.0.0/8\"]\nresolve = [{resolve}]\n\
             [partitions]\ncount = {PARTITIONS}\n[partitions.regions]\n\
             east = [\"127.0.0.2/32\"]\nwest = [\"127.0.0.3/32\"]\n"
        )
    }

    fn dir(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn coordinator(&self) -> Running {
        let (url, config) = (self.nats.url(), self.dir("config"));
        let args = ["coordinator", "--nats", &url, "--crawl", "test", "--config", &config];
        Running(Some(command(&args).spawn().unwrap()))
    }

    fn node(&self, region: &str) -> Running {
        let (url, dir) = (self.nats.url(), self.dir(region));
        let named = ["--node", region, "--region", region, "-d", &dir, "--quiet"];
        let mut args = vec!["node", "--nats", &url, "--crawl", "test"];
        args.extend(named);
        Running(Some(command(&args).spawn().unwrap()))
    }

    /// None before the crawl is made.
    fn status(&self) -> Option<Value> {
        let run = lycosa(&["status", "--nats", &self.nats.url(), "--crawl", "test", "--json"]);
        (run.code == 0).then(|| run.json())
    }

    /// Waits until every partition has an owner, and both nodes have those of their regions at least.
    fn wait_for_owners(&self) {
        let started = Instant::now();
        let blocks = u64::from(PARTITIONS) / 3;
        loop {
            assert!(started.elapsed() < PATIENCE, "not every partition gets its owner");
            let Some(status) = self.status() else { continue };
            let nodes: Vec<&Value> = status["nodes"].as_array().unwrap().iter().collect();
            let near = |region: &str| {
                let node = nodes.iter().find(|node| node["region"] == region);
                node.is_some_and(|node| node["node"] == region && node["partitions"].as_u64() >= Some(blocks))
            };
            if status["unowned"] == 0 && near("east") && near("west") {
                return;
            }
        }
    }

    fn submit(&self) {
        let seed = self.web.world().seeds(1).remove(0);
        lycosa(&["submit", &seed, "--nats", &self.nats.url(), "--crawl", "test"]).expect_code(0);
    }

    fn wait_for_requests(&self, address: usize, count: usize) {
        let started = Instant::now();
        let address: std::net::IpAddr = format!("127.0.0.{address}").parse().unwrap();
        while self.web.ledger.entries().iter().filter(|entry| entry.local_ip == address).count() < count {
            assert!(started.elapsed() < PATIENCE, "the crawl does not get going");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn fetched(&self, node: &str) -> BTreeSet<String> {
        let dir = self.dir(node);
        let lines = lycosa(&["export", "-d", &dir, "-f", "urls"]).expect_code(0).json_lines();
        let done = lines.iter().filter(|line| line["outcome"] == "fetched");
        let urls = done.map(|line| line["url"].as_str().unwrap().to_owned());
        urls.filter(|url| !url.ends_with("/feed.xml")).collect()
    }

    /// What one machine alone would fetch.
    fn expected(&self) -> BTreeSet<String> {
        self.web.world().truth(&TruthOptions::default()).fetchable_urls().collect()
    }

    /// Where the servers of these pages stand.
    fn addresses(&self, urls: &BTreeSet<String>) -> BTreeSet<usize> {
        let hosts = self.web.world().hosts();
        let of = |url: &String| {
            let name = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
            address(hosts.iter().position(|host| *host.name == *name).unwrap())
        };
        urls.iter().map(of).collect()
    }

    fn repeats(&self) -> Vec<(String, u32)> {
        let repeats = self.web.ledger.repeats().into_iter();
        repeats.filter(|(url, _)| !url.ends_with("/robots.txt")).collect()
    }
}

/// 127.0.0.1 in no region, 127.0.0.2 in the east, 127.0.0.3 in the west.
fn address(number: usize) -> usize {
    number % 3 + 1
}

/// Every page is fetched once, by a machine of the region its server stands in, and nothing is missing.
#[test]
fn machines_crawl_the_servers_of_their_region() {
    let cluster = Cluster::start(WorldConfig::clean(71, 24, 600), 5);
    let coordinator = cluster.coordinator();
    let (east, west) = (cluster.node("east"), cluster.node("west"));
    cluster.wait_for_owners();
    cluster.submit();
    for process in [east, west, coordinator] {
        process.finish().expect_code(0);
    }
    let (of_east, of_west) = (cluster.fetched("east"), cluster.fetched("west"));
    assert_eq!(of_east.union(&of_west).cloned().collect::<BTreeSet<_>>(), cluster.expected());
    let (near_east, near_west) = (cluster.addresses(&of_east), cluster.addresses(&of_west));
    assert!(near_east.contains(&2) && !near_east.contains(&3), "{near_east:?}");
    assert!(near_west.contains(&3) && !near_west.contains(&2), "{near_west:?}");
    assert_eq!(cluster.repeats(), Vec::new());
    let text = lycosa(&["status", "--nats", &cluster.nats.url(), "--crawl", "test"]).expect_code(0).out;
    assert!(text.contains("test: done"), "{text}");
}

/// A region whose only machine is killed is crawled by the others.
#[test]
fn a_region_without_machines_is_crawled_by_others() {
    let cluster = Cluster::start(WorldConfig::clean(72, 24, 800), 40);
    let coordinator = cluster.coordinator();
    let (mut east, west) = (cluster.node("east"), cluster.node("west"));
    cluster.wait_for_owners();
    cluster.submit();
    cluster.wait_for_requests(2, 60);
    east.kill();
    for process in [west, coordinator] {
        process.finish().expect_code(0);
    }
    assert_eq!(cluster.fetched("west"), cluster.expected());
    let repeats = cluster.repeats();
    assert!(repeats.iter().all(|(_, count)| *count == 2), "{repeats:?}");
}

/// What cannot be is refused with what to do.
#[test]
fn regions_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let refused = |code: i32, regions: &str, more: &[&str]| {
        let set = format!("partitions.regions={regions}");
        let mut args = vec!["crawl", "http://127.0.0.1:9/", "-d", data, "--set", &set];
        args.extend(more);
        lycosa(&args).expect_code(code).err
    };
    let east = "{ east = [\"10.0.0.0/8\"] }";
    assert!(refused(1, east, &[]).contains("--nats"));
    assert!(refused(2, "{ east = [\"10.0.0.0\"] }", &[]).contains("192.0.2.0/24"));
    let twice = refused(2, "{ east = [\"10.0.0.0/8\"], west = [\"10.0.0.0/8\"] }", &[]);
    assert!(twice.contains("longest prefix wins"), "{twice}");
    assert!(refused(2, east, &["--set", "partitions.region=north"]).contains("one of east"));
    assert!(refused(2, east, &["--set", "partitions.count=1"]).contains("partitions.count to 2"));
    lycosa(&["crawl", "http://127.0.0.1:9/", "-d", data, "--region", "east"]).expect_code(2);
    let nats = Server::start();
    let url = nats.url();
    let cluster = ["--nats", &url, "--crawl", "test", "--region"];
    let err = refused(2, east, &[&cluster[..], &["north"]].concat());
    assert!(err.contains("no region \"north\"") && err.contains("one of east"), "{err}");
    let err = refused(1, east, &["--nats", &url, "--crawl", "other", "--links", "drop"]);
    assert!(err.contains("--links exchange"), "{err}");
}
