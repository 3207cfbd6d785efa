//! Regions: servers on different addresses are crawled by the nodes near them, whatever the nodes' name servers say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use lycosa_cluster::bus::memory::{Chances, MemoryServer};
use lycosa_cluster::{Partitioner, RegionId};
use lycosa_engine::Config;
use lycosa_engine::bookkeeper::Stop;
use lycosa_simweb::{ServerConfig, WorldConfig};
use lycosa_types::{CanonUrl, Granularity, Outcome, UrlRecord, UrlState};

use super::{Cluster, Member, PATIENCE, check_all_done, merge, runtime, settings, slowed, world};
use crate::site::Site;

const EAST: RegionId = RegionId(0);
const WEST: RegionId = RegionId(1);

/// Hosts stand in the east, in the west, and in no region, in turn.
fn start(world: WorldConfig, granularity: Granularity) -> Cluster {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let site = Site::start_on(world, ServerConfig::loopbacks(3));
    let mut settings = settings();
    settings.partitioner = Partitioner { partitions: 18, regions: 2, granularity, seed: 0 };
    Cluster { site, server, settings, runtime: runtime() }
}

impl Cluster {
    fn regional(&self, turn: usize) -> Config {
        let mut config = self.config();
        config.partitions.count = self.settings.partitioner.partitions;
        let net = |text: &str| vec![text.to_owned()];
        config.partitions.regions = BTreeMap::from([
            ("east".to_owned(), net("127.0.0.2/32")),
            ("west".to_owned(), net("127.0.0.3/32")),
        ]);
        let port = self.site.server.port();
        let hosts = self.site.world.hosts().iter().enumerate();
        config.fetch.resolve =
            hosts.map(|(n, host)| format!("{}:80:127.0.0.{}:{port}", host.name, address(n + turn))).collect();
        config
    }

    /// A node in each region, which begin with the seeds once the partitions of the regions are theirs.
    fn east_and_west(&self, seeds: &[String], of_east: Config, of_west: Config) -> (Member, Member) {
        let east = self.member_in(Some(EAST), "east", of_east.clone());
        let west = self.member_in(Some(WEST), "west", of_west);
        self.wait_for_owners(&east, &west);
        self.submit(seeds, &of_east);
        (east, west)
    }

    /// Waits until every partition has an owner, and those of a region one of its own.
    fn wait_for_owners(&self, east: &Member, west: &Member) {
        let regions = self.settings.partitioner.regions_of_partitions();
        let started = Instant::now();
        let is_right = || {
            let table = west.node.table();
            table.slots.iter().zip(&regions).all(|(slot, region)| match (&slot.owner, region) {
                (None, _) => false,
                (Some(owner), Some(EAST)) => owner == east.node.node(),
                (Some(owner), Some(_)) => owner == west.node.node(),
                (Some(_), None) => true,
            })
        };
        while !is_right() {
            assert!(started.elapsed() < PATIENCE, "{:?}", west.node.table());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The number of a URL's host.
    fn host_number(&self, url: &str) -> usize {
        let url = CanonUrl::from_canonical(url.to_owned());
        let hosts = self.site.world.hosts();
        hosts.iter().position(|host| *host.name == *url.host()).unwrap()
    }
}

/// 1 in no region, 2 in the east, 3 in the west.
fn address(number: usize) -> usize {
    number % 3 + 1
}

fn fetched(records: &BTreeMap<String, UrlRecord>) -> BTreeSet<&str> {
    let fetched = |record: &&UrlRecord| matches!(record.outcome, Some(Outcome::Fetched { .. }));
    records.values().filter(fetched).map(|record| record.url.as_str()).collect()
}

/// Every page is fetched once, by a node of the region its server stands in.
#[test]
fn servers_are_crawled_by_the_nodes_near_them() {
    let cluster = start(world(61, 1500), Granularity::Host);
    let seeds = cluster.site.world.seeds(1);
    let (east, west) = cluster.east_and_west(&seeds, cluster.regional(0), cluster.regional(0));
    let ((east_end, of_east), (west_end, of_west)) = (east.finish(), west.finish());
    assert_eq!((east_end.stop, west_end.stop), (Stop::Exhausted, Stop::Exhausted));
    for (records, near, far) in [(&of_east, 2, 3), (&of_west, 3, 2)] {
        let addresses: Vec<usize> =
            fetched(records).iter().map(|url| address(cluster.host_number(url))).collect();
        assert!(addresses.contains(&near), "{} pages", addresses.len());
        assert!(!addresses.contains(&far), "{} pages", addresses.len());
    }
    let mut all = of_east;
    merge(&mut all, of_west);
    check_all_done(&all, &cluster.expected(seeds));
    assert!(all.values().all(|record| record.state == UrlState::Done));
    cluster.check_no_repeats();
}

/// Name servers tell every node something else. The home of a host decides, so no page is asked for twice.
#[test]
fn nodes_that_are_told_different_addresses_agree() {
    for (seed, granularity) in [(62, Granularity::Host), (63, Granularity::Page)] {
        let cluster = start(world(seed, 1000), granularity);
        let seeds = cluster.site.world.seeds(1);
        let config = cluster.regional(0);
        let east = cluster.member_in(Some(EAST), "east", config.clone());
        let west = cluster.member_in(Some(WEST), "west", cluster.regional(1));
        let other = cluster.member("other", cluster.regional(2));
        cluster.submit(&seeds, &config);
        let mut all = BTreeMap::new();
        for member in [east, west, other] {
            let (end, records) = member.finish();
            assert_eq!(end.stop, Stop::Exhausted);
            merge(&mut all, records);
        }
        check_all_done(&all, &cluster.expected(seeds));
        cluster.check_no_repeats();
    }
}

/// The only node of a region dies, with name servers that say something else to the one that takes over.
#[test]
fn a_region_whose_only_node_dies_is_crawled_by_others() {
    let cluster = start(world(64, 1500), Granularity::Host);
    let seeds = cluster.site.world.seeds(1);
    let slow = |turn: usize| slowed(cluster.regional(turn), 10);
    let (east, west) = cluster.east_and_west(&seeds, slow(0), slow(1));
    east.wait_for_pages(60);
    east.node.kill();
    east.wire.set_cut(true);
    let (end, records) = west.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    check_all_done(&records, &cluster.expected(seeds));
    let repeats = cluster.repeats();
    assert!(repeats.iter().all(|(_, count)| *count <= 2), "{repeats:?}");
}

/// A region gets its first node in the middle of the crawl, and loses it again as planned: nothing is asked for twice.
#[test]
fn the_block_of_a_region_follows_its_nodes() {
    let cluster = start(world(65, 1500), Granularity::Host);
    let seeds = cluster.site.world.seeds(1);
    let mut config = slowed(cluster.regional(0), 20);
    config.politeness.max_delay_ms = 20;
    let west = cluster.member_in(Some(WEST), "west", config.clone());
    cluster.submit(&seeds, &config);
    west.wait_for_pages(60);
    let east = cluster.member_in(Some(EAST), "east", config);
    east.wait_for_pages(60);
    cluster.wait_for_owners(&east, &west);
    east.crawl.stop();
    let (end, mut all) = east.finish();
    assert_eq!(end.stop, Stop::Asked);
    let (end, of_west) = west.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    merge(&mut all, of_west);
    check_all_done(&all, &cluster.expected(seeds));
    cluster.check_no_repeats();
    for (host, gap_us) in cluster.site.server.ledger.min_gap_us_per_host() {
        assert!(gap_us >= 20_000, "{host} was asked again after {gap_us} µs");
    }
}

/// A host that has no address stays at home, and its URLs end there as they do elsewhere.
#[test]
fn hosts_without_an_address_end_at_home() {
    let cluster = start(world(66, 300), Granularity::Host);
    let mut seeds = cluster.site.world.seeds(1);
    let expected = cluster.expected(seeds.clone());
    // Private, and not opened; and an address written out, in the east.
    let private = "http://10.1.2.3/".to_owned();
    let literal = "http://127.0.0.2/".to_owned();
    seeds.extend([private.clone(), literal.clone()]);
    let mut config = cluster.regional(0);
    config.politeness.max_tries = 1;
    let (east, west) = cluster.east_and_west(&seeds, config.clone(), config);
    let ((_, of_east), (_, of_west)) = (east.finish(), west.finish());
    assert!(of_east.contains_key(&literal) && !of_west.contains_key(&literal));
    let mut all = of_east;
    merge(&mut all, of_west);
    check_all_done(&all, &expected);
    assert!(matches!(all[&private].outcome, Some(Outcome::Failed(_))), "{:?}", all[&private]);
    assert!(matches!(all[&literal].outcome, Some(Outcome::Failed(_))), "{:?}", all[&literal]);
}
