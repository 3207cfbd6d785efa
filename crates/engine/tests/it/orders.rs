//! Every order fetches everything; what differs is what comes first. And: topics, submitted seeds.

use std::collections::{BTreeMap, BTreeSet};

use lycosa_engine::{Crawl, inbox};
use lycosa_frontier::{Order, ScopeKind};
use lycosa_simweb::WorldConfig;
use lycosa_types::{CanonRules, CanonUrl};

use crate::site::Site;

const ORDERS: [Order; 8] = [
    Order::BreadthFirst,
    Order::DepthFirst,
    Order::BestFirst,
    Order::Pvalue,
    Order::Backlink,
    Order::ForwardLink,
    Order::Location,
    Order::Relevance,
];

#[test]
fn every_order_fetches_everything_once() {
    let mut all: Option<BTreeSet<String>> = None;
    for order in ORDERS {
        let site = Site::start(WorldConfig::clean(31, 12, 700));
        let mut config = site.config();
        config.order = order;
        // Little room in memory: waiting URLs move on disk too.
        config.memory.budget_mib = 64;
        let end = site.crawl(config, &site.world.seeds(1));
        assert_eq!(end.report.stopped_by, "exhausted", "{order:?}");
        let found: BTreeSet<String> = site.records().into_keys().collect();
        assert_eq!(end.report.totals.visits, found.len() as u64, "{order:?}");
        match &all {
            None => all = Some(found),
            Some(all) => assert_eq!(&found, all, "{order:?}"),
        }
    }
}

/// The pages with the most links to them come early, also across a restart in between.
#[test]
fn best_first_finds_the_important_pages_early() {
    let in_links_of_first = |order: Order| {
        let site = Site::start(WorldConfig::clean(32, 60, 6000));
        let mut config = site.config();
        config.order = order;
        config.fetch.concurrency = 8;
        config.limits.max_pages = 300;
        site.crawl(config.clone(), &site.world.seeds(1));
        site.crawl(config.clone(), &[]);
        let fetched: BTreeSet<u64> = site
            .records()
            .values()
            .filter(|record| record.visit.is_some())
            .map(|record| CanonUrl::from_canonical(record.url.clone()).key().low())
            .collect();
        config.limits.max_pages = 0;
        site.crawl(config, &[]);
        let (mut counts, mut page) = (std::collections::BTreeMap::new(), lycosa_graph::PageEdges::default());
        let mut edges = lycosa_graph::read_edges(&site.layout().edges()).unwrap();
        while edges.next_into(&mut page).unwrap() {
            for edge in &page.edges {
                *counts.entry(edge.target).or_insert(0u64) += 1;
            }
        }
        fetched.iter().filter_map(|page| counts.get(page)).sum::<u64>()
    };
    let (best, breadth) = (in_links_of_first(Order::BestFirst), in_links_of_first(Order::BreadthFirst));
    assert!(best * 10 > breadth * 11, "{best} against {breadth}");
}

#[test]
fn a_topic_brings_its_pages_first() {
    let on_topic = |focused: bool| {
        let site = Site::start(WorldConfig::clean(33, 120, 4000));
        let hosts = site.world.hosts();
        let kind = |host: &lycosa_simweb::Host| (host.topic, host.lang);
        // The kind with the most hosts among those that breadth does not meet at once.
        let mut counts: BTreeMap<(u32, &str), Vec<&lycosa_simweb::Host>> = BTreeMap::new();
        for host in hosts.iter().skip(5) {
            counts.entry((host.topic, host.lang.code())).or_default().push(host);
        }
        let wanted = counts.values().max_by_key(|hosts| hosts.len()).unwrap();
        let home = wanted[0];
        let mut seeds = site.world.seeds(1);
        seeds.push(format!("http://{}/", home.name));
        let mut config = site.config();
        config.fetch.concurrency = 8;
        config.limits.max_pages = 600;
        if focused {
            config.focus.topic = lycosa_simweb::Lexicon::new(home.lang).topic_words(home.topic);
            config.order = Order::Relevance;
        }
        site.crawl(config, &seeds);
        let records = site.records();
        let fetched = records.iter().filter(|(_, record)| record.visit.is_some());
        let is_wanted = |url: &str| {
            let url = CanonUrl::from_canonical(url.to_owned());
            hosts.iter().find(|host| *host.name == *url.host()).is_some_and(|host| kind(host) == kind(home))
        };
        fetched.filter(|(url, _)| is_wanted(url)).count()
    };
    let (focused, plain) = (on_topic(true), on_topic(false));
    assert!(focused * 2 > plain * 3, "{focused} against {plain}");
}

#[test]
fn seeds_can_be_submitted() {
    let site = Site::start(WorldConfig::clean(34, 6, 300));
    let mut config = site.config();
    config.scope.kind = ScopeKind::Host;
    let hosts: Vec<String> =
        site.world.hosts().iter().take(2).map(|host| format!("http://{}/", host.name)).collect();
    let urls: Vec<CanonUrl> =
        hosts.iter().map(|url| CanonUrl::parse(url, &CanonRules::default()).unwrap()).collect();
    let crawl = Crawl::open(site.layout(), config, &urls[..1]).unwrap();
    inbox::submit(&site.layout().inbox(), &urls[1..]).unwrap();
    crawl.run().unwrap();
    let records = site.records();
    for host in &hosts {
        // Not the seed alone: what it leads to is within scope now.
        let pages = records.keys().filter(|url| url.starts_with(host.as_str())).count();
        assert!(pages > 3, "{pages} of {host}");
    }
    assert_eq!(std::fs::read_dir(site.layout().inbox()).unwrap().count(), 0, "what is taken in is removed");
}
