//! Pages visited again: what changed is found and stored, what did not costs a question.

use std::collections::BTreeMap;

use lycosa_engine::{Crawl, CrawlReader, clock};
use lycosa_simweb::{ChangeConfig, ChangeKind, Expect, Node, TruthOptions, WorldConfig};
use lycosa_types::{Change, PastVisit, UnixMs, VisitFacts};

use crate::site::Site;

const DAY_MS: u64 = 86_400_000;

fn lively(seed: u64) -> WorldConfig {
    WorldConfig { change: ChangeConfig::lively(), ..WorldConfig::clean(seed, 8, 500) }
}

fn refresh(site: &Site, max_pages: u64) -> lycosa_engine::CrawlEnd {
    let mut config = site.config();
    config.limits.max_pages = max_pages;
    Crawl::refresh(site.layout(), config, UnixMs(clock::now().0 + 1)).unwrap().run().unwrap()
}

/// Images are asked for only where the page itself shows nothing, and a changed one changes the page.
#[test]
fn images_are_the_last_step() {
    let site = Site::start(lively(9));
    let seeds = site.world.seeds(1);
    let mut config = site.config();
    config.judging.images = 16;
    site.crawl(config.clone(), &seeds);
    let before_ms = site.world.now_ms();
    site.world.advance_ms(20 * DAY_MS);
    let after_ms = site.world.now_ms();
    Crawl::refresh(site.layout(), config, UnixMs(clock::now().0 + 1)).unwrap().run().unwrap();
    let truth = site.world.truth(&TruthOptions { seeds, ..TruthOptions::default() });
    let histories = histories(&site);
    let mut found = 0;
    for entry in truth.entries().iter().filter(|entry| entry.expect == Expect::Page) {
        let Node::Page(page) = entry.node else { continue };
        let visits = &histories[&truth.url(entry)];
        let kind = site.world.difference(page, before_ms, after_ms);
        let is_image = visits[1].change == Change::Image;
        assert_eq!(is_image, kind == ChangeKind::Image, "{} {:?}", truth.url(entry), visits[1]);
        found += u32::from(is_image);
    }
    assert!(found > 3, "{found} images changed");
}

fn histories(site: &Site) -> BTreeMap<String, Vec<PastVisit>> {
    let reader = CrawlReader::open(site.layout()).unwrap();
    let records: Vec<_> = reader.store.urls().map(|record| record.unwrap().1).collect();
    records.iter().map(|record| (record.url.clone(), reader.history(record).unwrap())).collect()
}

#[test]
fn what_changed_is_found_and_what_did_not_is_not_stored_again() {
    let site = Site::start(lively(5));
    let seeds = site.world.seeds(1);
    let first = site.crawl(site.config(), &seeds);
    let before_ms = site.world.now_ms();
    site.world.advance_ms(10 * DAY_MS);
    let after_ms = site.world.now_ms();
    let end = refresh(&site, 0);
    assert_eq!(end.report.stopped_by, "exhausted");
    assert_eq!(end.report.run.revisits, first.report.totals.visits);
    let truth = site.world.truth(&TruthOptions { seeds, ..TruthOptions::default() });
    let mut seen: BTreeMap<(ChangeKind, Change), u32> = BTreeMap::new();
    let histories = histories(&site);
    for entry in truth.entries().iter().filter(|entry| entry.expect == Expect::Page) {
        let Node::Page(page) = entry.node else { continue };
        let visits = &histories[&truth.url(entry)];
        assert_eq!((visits.len(), visits[0].change), (2, Change::First));
        let kind = site.world.difference(page, before_ms, after_ms);
        *seen.entry((kind, visits[1].change)).or_default() += 1;
    }
    let expected = |(kind, change): &(ChangeKind, Change)| match kind {
        ChangeKind::None | ChangeKind::Image => matches!(change, Change::Unchanged | Change::Noise),
        ChangeKind::Noise => *change == Change::Noise,
        ChangeKind::Text => *change == Change::Text,
        ChangeKind::Structure => *change == Change::Structure,
    };
    let wrong: Vec<_> = seen.iter().filter(|(pair, _)| !expected(pair)).collect();
    assert!(wrong.is_empty(), "{wrong:?} of {seen:?}");
    for kind in [ChangeKind::None, ChangeKind::Noise, ChangeKind::Text, ChangeKind::Structure] {
        assert!(seen.keys().any(|(found, _)| *found == kind), "no {kind:?} in {seen:?}");
    }
    // Both copies of a page that changed can be read, and differ.
    let reader = CrawlReader::open(site.layout()).unwrap();
    let (url, visits) = histories.iter().find(|(_, visits)| visits[1].change == Change::Text).unwrap();
    let record = reader.find(url).unwrap();
    let body = |visit| reader.archived_visit(&record, visit).unwrap().decode().unwrap().payload;
    assert_ne!(body(&visits[0]), body(&visits[1]));
    assert_eq!(body(&visits[1]), reader.archived(&record).unwrap().decode().unwrap().payload);
    // One that did not change still has the copy of its first visit.
    let (url, visits) = histories.iter().find(|(_, visits)| visits[1].change == Change::Unchanged).unwrap();
    let record = reader.find(url).unwrap();
    assert_eq!(body_of(&reader, url), {
        let page = reader.archived_visit(&record, &visits[0]).unwrap();
        page.decode().unwrap().payload
    });
}

fn body_of(reader: &CrawlReader, url: &str) -> Vec<u8> {
    reader.archived(&reader.find(url).unwrap()).unwrap().decode().unwrap().payload
}

#[test]
fn an_unchanged_site_costs_a_tenth_at_most() {
    let site = Site::start(WorldConfig::clean(4, 1, 400));
    let first = site.crawl(site.config(), &site.world.seeds(1));
    let has_validator = |facts: &VisitFacts| facts.etag.is_some() || facts.last_modified.is_some();
    let records = site.records();
    let with = records.values().filter(|record| record.visit.as_ref().is_some_and(has_validator)).count();
    assert!(with * 100 >= records.len() * 98, "{with} of {}: choose another world", records.len());
    site.world.advance_ms(DAY_MS);
    let end = refresh(&site, 0);
    assert_eq!(end.report.run.revisits, first.report.totals.visits);
    let (again, all) = (end.report.run.received_bytes, first.report.run.received_bytes);
    assert!(again * 10 <= all, "{again} bytes against {all}");
    assert_eq!(end.report.run.changes.keys().collect::<Vec<_>>(), ["unchanged"]);
}

#[test]
fn an_interrupted_refresh_goes_on_where_it_stopped() {
    let site = Site::start(lively(7));
    let first = site.crawl(site.config(), &site.world.seeds(1));
    site.world.advance_ms(DAY_MS);
    let mut visited = 0;
    for _ in 0..3 {
        let end = refresh(&site, 100);
        assert_eq!(end.report.stopped_by, "max-pages");
        visited += end.report.run.revisits;
    }
    visited += refresh(&site, 0).report.run.revisits;
    assert_eq!(visited, first.report.totals.visits, "no page twice, none left out");
    // And the next one begins anew.
    assert_eq!(refresh(&site, 0).report.run.revisits, first.report.totals.visits);
}

#[test]
fn a_continuous_crawl_comes_back_when_pages_are_due() {
    let site = Site::start(WorldConfig::clean(8, 3, 60));
    let mut config = site.config();
    config.refresh.continuous = true;
    config.refresh.budget_per_s = 1e6;
    config.refresh.min_interval_s = 1;
    config.refresh.max_interval_s = 1;
    config.limits.max_pages = 400;
    let end = site.crawl(config, &site.world.seeds(1));
    assert_eq!(end.report.stopped_by, "max-pages");
    let totals = &end.report.totals;
    assert!(totals.pages >= 60 && totals.revisits >= 300, "{} and {}", totals.pages, totals.revisits);
    // Every page had its turn.
    let histories = histories(&site);
    assert!(histories.values().all(|visits| visits.len() >= 2), "{:?}", histories.len());
}
