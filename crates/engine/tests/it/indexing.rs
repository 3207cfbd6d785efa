//! The index follows what the crawl knows: replaced, removed, kept; while it runs and afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use lycosa_engine::indexing::{Follower, bring_up_to_date};
use lycosa_engine::{Config, CrawlReader};
use lycosa_frontier::order::Rank;
use lycosa_frontier::{Changes, Done, Store};
use lycosa_search::{Indexer, SearchIndex, index_dir, parse};
use lycosa_simweb::WorldConfig;
use lycosa_types::{Failure, Outcome, UrlId, UrlRecord};

use crate::site::Site;

/// URL and stored text of every page in the index.
fn texts(site: &Site) -> BTreeMap<String, String> {
    let index = SearchIndex::open(&index_dir(site.layout().path())).unwrap();
    let mut texts = BTreeMap::new();
    index
        .each_page(|page| {
            let url = page.url.clone();
            assert!(texts.insert(page.url, page.text).is_none(), "{url} is there twice");
        })
        .unwrap();
    assert_eq!(index.ranked(&parse("NOT qqqq").unwrap(), 10_000).unwrap().len(), texts.len());
    texts
}

fn update(site: &Site) -> lycosa_search::indexer::Fed {
    let reader = CrawlReader::open(site.layout()).unwrap();
    let mut indexer = Indexer::open(&index_dir(site.layout().path())).unwrap();
    bring_up_to_date(&reader, &mut indexer, None, &mut |_| {}).unwrap();
    indexer.finish().unwrap()
}

/// A later visit of a page, as the committer would hand it over.
fn done(id: UrlId, record: UrlRecord) -> Done {
    let origin = record.url.split('/').take(3).collect::<Vec<_>>().join("/");
    Done {
        slot: Store::slot(id.partition, &origin),
        key: id.key,
        rank: Rank { priority: 0, sequence: 0 },
        record,
        signatures: None,
        revisit: true,
        course: None,
    }
}

/// Three later visits: one page reads like another now, one is gone, one could not be reached.
fn revisit(store: &Store) -> (Vec<Done>, [String; 4]) {
    let pages: Vec<(UrlId, UrlRecord)> = store
        .urls()
        .map(Result::unwrap)
        .filter(|(_, record)| record.visit.as_ref().is_some_and(|facts| facts.content_type.contains("html")))
        .take(4)
        .collect();
    let [(changed_id, mut changed), (gone_id, mut gone), (lost_id, mut lost), (_, model)] =
        <[_; 4]>::try_from(pages).unwrap();
    let urls = [&changed, &gone, &lost, &model].map(|record| record.url.clone());
    changed.visit = model.visit;
    gone.outcome = Some(Outcome::Missing { status: 410 });
    lost.outcome = Some(Outcome::Failed(Failure::DnsError));
    (vec![done(changed_id, changed), done(gone_id, gone), done(lost_id, lost)], urls)
}

fn expect_revisited(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, urls: &[String; 4]) {
    let [changed, gone, lost, model] = urls;
    assert_ne!(before[changed], before[model]);
    assert_eq!(after[changed], before[model], "replaced");
    assert!(before.contains_key(gone) && !after.contains_key(gone), "removed");
    assert_eq!(after[lost], before[lost], "kept");
    assert_eq!(after.len(), before.len() - 1);
}

#[test]
fn bringing_up_to_date_replaces_and_removes() {
    let site = Site::start(WorldConfig::clean(31, 3, 120));
    site.crawl(site.config(), &site.world.seeds(1));
    let made = update(&site);
    let before = texts(&site);
    assert_eq!(made.put, before.len() as u64);
    assert_eq!(update(&site).put, 0, "nothing is left to do");
    let store = Store::open(&site.layout().state(), 32 << 20).unwrap();
    let (visits, urls) = revisit(&store);
    store.commit(&visits, &Changes::default(), &[]).unwrap();
    drop(store);
    let fed = update(&site);
    assert_eq!(fed.deleted, 1);
    expect_revisited(&before, &texts(&site), &urls);
}

#[test]
fn a_follower_replaces_and_removes() {
    let site = Site::start(WorldConfig::clean(32, 3, 120));
    let mut config: Config = site.config();
    config.index.during_crawl = true;
    config.index.commit_pages = 10;
    let end = site.crawl(config.clone(), &site.world.seeds(1));
    let followed = end.index.unwrap();
    assert_eq!((followed.failure, followed.unreadable), (None, 0));
    assert!(followed.fed.commits > 0);
    let before = texts(&site);
    assert_eq!(before.len() as u64, followed.fed.put);

    let store = Arc::new(Store::open(&site.layout().state(), 32 << 20).unwrap());
    let (visits, urls) = revisit(&store);
    store.commit(&visits, &Changes::default(), &[]).unwrap();
    let follower = Follower::start(&site.layout(), &config, Arc::clone(&store)).unwrap();
    let inbox = follower.inbox();
    inbox.send(visits).unwrap();
    drop(inbox);
    let followed = follower.finish();
    assert_eq!((followed.failure, followed.fed.put), (None, 1));
    expect_revisited(&before, &texts(&site), &urls);
}

#[test]
fn what_was_crawled_without_an_index_is_caught_up_with() {
    let site = Site::start(WorldConfig::clean(33, 3, 150));
    let mut config = site.config();
    config.limits.max_pages = 60;
    site.crawl(config, &site.world.seeds(1));
    let mut config = site.config();
    config.index.during_crawl = true;
    let end = site.crawl(config, &[]);
    let all = texts(&site);
    assert_eq!(end.index.unwrap().fed.put, all.len() as u64);
    assert!(all.len() >= 150, "{}", all.len());
}
