use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lycosa_archive::{ReadLimits, SpanReader};
use lycosa_engine::{Config, Crawl, Layout};
use lycosa_frontier::Store;
use lycosa_simweb::{TruthOptions, WorldConfig};
use lycosa_types::{CanonUrl, Outcome, UrlState};

use crate::site::Site;

const KILLS: u64 = 100;
const CHILD_DIR: &str = "LYCOSA_TEST_KILL_DIR";

/// Not a test of its own: [`a_hundred_kills_lose_nothing`] runs this test binary again with a directory, and kills it.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let layout = Layout::new(dir);
    let config = Config::load(&layout.config()).unwrap();
    Crawl::open(layout, config, &[]).unwrap().run().unwrap();
}

fn start_child(dir: &std::path::Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The crawl is killed at a hundred random instants. What was done stays done, what was not is made again, the archive is
/// whole, and the end is the same as if nothing had happened.
#[test]
fn a_hundred_kills_lose_nothing() {
    let mut world = WorldConfig::full(21, 40, 6000);
    world.features.faults = false;
    world.features.traps = false;
    let site = Site::start(world);
    let seeds = site.world.seeds(1);
    let dir = site.layout().root;
    let mut config = site.config();
    // Slow enough to be killed often, in the middle of everything.
    config.politeness.delay_ms = 10;
    config.politeness.per_host = 1;
    config.politeness.max_delay_ms = 10;
    config.archive.segment_bytes = 300_000;
    // Makes the crawl with its seeds, fetching nothing.
    let seed_urls: Vec<CanonUrl> = seeds.iter().map(|seed| CanonUrl::from_canonical(seed.clone())).collect();
    drop(Crawl::open(site.layout(), config, &seed_urls).unwrap());

    let mut done = BTreeSet::new();
    let mut checked = 0;
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut kills = 0;
    while kills < KILLS {
        let mut child = start_child(&dir);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(60 + (random >> 33) % 240));
        let finished = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        checked = check_requests(&site, &done, checked);
        if finished {
            break;
        }
        kills += 1;
        done = done_urls(&site);
    }
    let mut child = start_child(&dir);
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(300), "the last run does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    check_requests(&site, &done, checked);
    println!("{kills} kills, {} requests", site.server.ledger.len());
    assert_eq!(kills, KILLS, "the crawl ended before it was killed often enough");

    for (host, gap_us) in site.server.ledger.min_gap_us_per_host() {
        assert!(gap_us >= 10_000, "{host} was asked again after {gap_us} µs");
    }
    let options = TruthOptions { seeds, redirects_add_depth: false, ..TruthOptions::default() };
    let truth = site.world.truth(&options);
    let expected: BTreeSet<String> = truth.entries().iter().map(|entry| truth.url(entry)).collect();
    let records = site.records();
    let missing: Vec<&String> = expected.iter().filter(|url| !records.contains_key(*url)).take(5).collect();
    let failed =
        records.values().filter(|record| matches!(record.outcome, Some(Outcome::Failed(_)) | None)).take(5);
    assert!(missing.is_empty(), "missing {missing:?}; not fetched {:?}", failed.collect::<Vec<_>>());
    check_archive(&site);
}

fn done_urls(site: &Site) -> BTreeSet<String> {
    let records = site.records().into_iter();
    records.filter(|(_, record)| record.state == UrlState::Done).map(|(url, _)| url).collect()
}

/// No request since `from` went to a URL that was done before.
fn check_requests(site: &Site, done: &BTreeSet<String>, from: usize) -> usize {
    let entries = site.server.ledger.entries();
    for entry in &entries[from..] {
        assert!(!done.contains(&entry.url()), "{} was fetched again after it was done", entry.url());
    }
    entries.len()
}

/// Every page that counts as fetched can be read back from the archive, and no segment is torn.
fn check_archive(site: &Site) {
    let dir = site.layout().archive();
    for (segment, record) in lycosa_archive::records(&dir, ReadLimits::default()).unwrap() {
        record.unwrap_or_else(|error| panic!("{segment:?}: {error}"));
    }
    let mut reader = SpanReader::new(&dir, ReadLimits::default());
    let store = Store::open(&site.layout().state(), 32 << 20).unwrap();
    let mut read = 0;
    for record in store.urls() {
        let (_, record) = record.unwrap();
        let Some(span) = record.visit.as_ref().and_then(|visit| visit.archived) else { continue };
        let archived = reader.read(span).unwrap();
        assert_eq!(archived.target(), Some(record.url.as_str()));
        read += 1;
    }
    assert!(read > 1000, "{read} records read back");
}
