//! Every order fetches everything; what differs is what comes first. And: topics, submitted seeds.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use lycosa_engine::{Crawl, inbox};
use lycosa_frontier::{Order, ScopeKind};
use lycosa_simweb::WorldConfig;
use lycosa_types::{CanonRules, CanonUrl};

use crate::site::Site;

#[test]
fn every_order_fetches_everything_once() {
    let mut all: Option<BTreeSet<String>> = None;
    for order in Order::ALL {
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

/// A site of two subjects, below /a/ and /b/. Each page links to three pages on its own subject and one on the other.
fn two_subjects() -> std::net::SocketAddr {
    const SOLAR: &str =
        "Solar panels turn light into power; an inverter feeds the power of each panel into the grid. ";
    const FISH: &str =
        "Trout and pike live in cold rivers; anglers catch trout with flies in spring and autumn. ";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(2000).flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            let mut field = String::new();
            while reader.read_line(&mut field).is_ok_and(|bytes| bytes > 2) {
                field.clear();
            }
            let number = line.split(['/', ' ']).find_map(|word| word.parse::<u64>().ok()).unwrap_or(0);
            let (own, other) = if line.contains("/a/") { ("a", "b") } else { ("b", "a") };
            let text = if own == "a" { SOLAR } else { FISH }.repeat(20);
            let link = |n: u64| {
                let subject = if n == 4 { other } else { own };
                format!("<a href=/{subject}/{}>page {n}</a> ", number * 4 + n)
            };
            let links: String = (1..=4).map(link).collect();
            let body = format!("<html><title>{number}</title><p>{text}</p>{links}");
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length";
            write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).ok();
        }
    });
    address
}

#[test]
fn a_topic_brings_its_pages_first() {
    let harvest = |order: Order| {
        let address = two_subjects();
        let dir = tempfile::tempdir().unwrap();
        let mut config = lycosa_engine::Config::default();
        config.archive.requisites = false;
        config.fetch.allow_net = vec!["127.0.0.0/8".into()];
        config.fetch.concurrency = 1;
        config.politeness.delay_ms = 0;
        config.politeness.ip_delay_ms = 0;
        config.judging.near_duplicates = false;
        config.focus.topic = vec!["solar".into(), "panel".into(), "inverter".into()];
        config.order = order;
        config.limits.max_pages = 120;
        let seed = CanonUrl::parse(&format!("http://{address}/b/0"), &CanonRules::default()).unwrap();
        let crawl =
            Crawl::open(lycosa_engine::Layout::new(dir.path().join("crawl")), config, &[seed]).unwrap();
        crawl.run().unwrap().report.totals.on_topic
    };
    let (focused, plain) = (harvest(Order::Relevance), harvest(Order::BreadthFirst));
    assert!(focused * 4 > plain * 5, "{focused} against {plain} of 120");
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
