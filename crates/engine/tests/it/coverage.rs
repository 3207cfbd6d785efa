use std::collections::BTreeSet;

use lycosa_engine::bookkeeper::Stop;
use lycosa_simweb::{Expect, TruthOptions, WorldConfig};
use lycosa_types::{Exclusion, Outcome};

use crate::site::Site;

#[test]
fn a_full_world_is_crawled_exactly_once() {
    crawl_a_full_world(1);
}

#[test]
fn a_full_world_is_crawled_exactly_once_with_requests_in_line() {
    crawl_a_full_world(4);
}

/// Fetched = reachable, each outcome as foretold, no repeats at the server, nothing forbidden requested.
fn crawl_a_full_world(pipeline: usize) {
    let mut world = WorldConfig::full(7, 60, 3000);
    world.features.faults = false;
    let site = Site::start(world);
    let seeds = site.world.seeds(1);
    let mut config = site.config();
    config.scope.depth = 20;
    config.traps.max_queries_per_path = 200;
    config.fetch.pipeline = pipeline;
    let end = site.crawl(config, &seeds);
    assert_eq!(end.stop, Stop::Exhausted);

    let options = TruthOptions { seeds, redirects_add_depth: false, ..TruthOptions::default() };
    let truth = site.world.truth(&options);
    let outcomes = site.outcomes();
    let (traps, found): (BTreeSet<&str>, BTreeSet<&str>) =
        outcomes.keys().map(String::as_str).filter(is_page).partition(|url| site.world.is_trap(url));
    let expected: BTreeSet<String> = truth.entries().iter().map(|entry| truth.url(entry)).collect();
    let missing: Vec<&String> = expected.iter().filter(|url| !found.contains(url.as_str())).take(5).collect();
    let surplus: Vec<&&str> = found.iter().filter(|url| !expected.contains(**url)).take(5).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:?}, surplus {surplus:?}");
    // Sessions end at the query budget, growing paths at the repeat rule, calendars at the depth.
    let mut per_host = std::collections::BTreeMap::new();
    for url in &traps {
        *per_host.entry(url.split('/').nth(2)).or_insert(0) += 1;
    }
    assert!(!per_host.is_empty() && per_host.values().all(|&urls| urls < 1500), "{per_host:?}");

    for entry in truth.entries() {
        let url = truth.url(entry);
        let agrees = match (entry.expect, &outcomes[&url]) {
            (
                Expect::Page | Expect::SoftNotFound | Expect::Document | Expect::Image,
                Outcome::Fetched { status },
            ) => *status == 200,
            (Expect::Redirect { status, .. }, Outcome::Redirected { status: got, .. }) => status == *got,
            (Expect::NotFound, Outcome::Missing { status }) => *status == 404,
            (Expect::Gone, Outcome::Missing { status }) => *status == 410,
            (Expect::Disallowed, Outcome::Excluded(Exclusion::Robots { .. })) => true,
            _ => false,
        };
        assert!(agrees, "{url}: expected {:?}, got {:?}", entry.expect, outcomes[&url]);
    }
    for url in truth.disallowed_urls() {
        assert_eq!(site.server.ledger.requested(&url), 0, "{url} is forbidden");
    }
    let repeats: Vec<_> =
        site.server.ledger.repeats().into_iter().filter(|(url, _)| !url.contains("robots")).collect();
    assert!(repeats.is_empty(), "{repeats:?}");
}

/// Feeds and sitemaps list pages that the truth knows, but are not in it themselves.
fn is_page(url: &&str) -> bool {
    !url.ends_with("/feed.xml") && !url.contains("/sitemap")
}

/// Exact duplicates are found, counted and referred to the first.
#[test]
fn duplicates_refer_to_their_first() {
    let mut world = WorldConfig::full(11, 20, 1500);
    world.features.faults = false;
    world.features.codings = false;
    let site = Site::start(world);
    let seeds = site.world.seeds(1);
    let end = site.crawl(site.config(), &seeds);
    let options = TruthOptions { seeds, redirects_add_depth: false, ..TruthOptions::default() };
    let truth = site.world.truth(&options);
    let groups = truth.duplicate_groups();
    let expected: usize = groups.iter().map(|group| group.len() - 1).sum();
    assert!(expected > 10, "the world has duplicates");
    let records = site.records();
    let found = records.values().filter_map(|record| record.visit.as_ref()?.duplicate_of).count();
    assert_eq!(end.report.totals.duplicates as usize, found);
    assert!(found >= expected, "{found} found, {expected} expected");
}

/// A crawl that is stopped by a limit goes on where it stopped.
#[test]
fn a_stopped_crawl_goes_on() {
    let site = Site::start(WorldConfig::clean(3, 10, 800));
    let seeds = site.world.seeds(1);
    let mut config = site.config();
    config.limits.max_pages = 100;
    let first = site.crawl(config, &seeds);
    assert_eq!(first.stop, Stop::MaxPages);
    assert_eq!(first.report.run.pages, 100);
    let second = site.crawl(site.config(), &[]);
    assert_eq!(second.stop, Stop::Exhausted);
    let truth = site.world.truth(&TruthOptions { seeds, ..TruthOptions::default() });
    let visited = site.outcomes().keys().map(String::as_str).filter(is_page).count();
    assert_eq!(visited, truth.entries().len());
    assert_eq!(second.report.totals.visits as usize, site.outcomes().len());
    let repeats: Vec<_> =
        site.server.ledger.repeats().into_iter().filter(|(url, _)| !url.contains("robots")).collect();
    assert!(repeats.is_empty(), "{repeats:?}");
}

/// Hosts that repeat another host's pages are recognised and left alone; near-duplicates refer to a page like them.
#[test]
fn mirrors_and_near_duplicates_are_recognised() {
    let mut world = WorldConfig::full(17, 40, 3000);
    world.features.faults = false;
    world.features.traps = false;
    // A mirror whose original is closed cannot be recognised.
    world.features.robots = false;
    let site = Site::start(world);
    let seeds = site.world.seeds(1);
    let mut config = site.config();
    config.judging.skip_mirrors = true;
    let end = site.crawl(config, &seeds);
    let options = TruthOptions { seeds, redirects_add_depth: false, ..TruthOptions::default() };
    let truth = site.world.truth(&options);
    let mirrors: BTreeSet<String> = truth
        .mirrors()
        .iter()
        .flat_map(|&(a, b)| [a, b])
        .map(|host| format!("http://{}/", site.world.hosts()[host.0 as usize].name))
        .collect();
    assert!(!mirrors.is_empty());
    let store = lycosa_frontier::Store::open(&site.layout().state(), 32 << 20).unwrap();
    let recognised: Vec<(String, String)> = store
        .hosts()
        .map(|host| host.unwrap().1)
        .filter_map(|host| Some((host.origin, host.mirror_of?)))
        .collect();
    assert!(!recognised.is_empty(), "no mirror was recognised");
    for (origin, of) in &recognised {
        assert!(
            mirrors.contains(&format!("{origin}/")) && mirrors.contains(&format!("{of}/")),
            "{origin} and {of}"
        );
    }
    assert!(end.report.totals.near_duplicates > 0);
}
