//! Payloads that several nodes fetched: told apart as on one machine.

use std::collections::{BTreeMap, BTreeSet};

use lycosa_engine::cluster::archive_number::archive_of;
use lycosa_types::UrlRecord;

use super::{Cluster, check_all_done, merge, world};

fn fetched_by(record: &UrlRecord) -> Option<u32> {
    record.visit.as_ref()?.archived.map(|span| archive_of(span.segment))
}

/// Of all pages with one payload, all but one refer to another one of them.
#[test]
fn copies_are_told_across_nodes() {
    let cluster = Cluster::start(world(38, 1500));
    let seeds = cluster.site.world.seeds(1);
    let mut config = cluster.config();
    // Both hosts of a mirror are crawled to their end.
    config.judging.skip_mirrors = false;
    let (a, b) = cluster.pair(&seeds, &config);
    let ((_, mut all), (_, of_b)) = (a.finish(), b.finish());
    let is_copy =
        |record: &UrlRecord| record.visit.as_ref().is_some_and(|visit| visit.duplicate_of.is_some());
    // A copy of a partition that left does not know what became known later.
    let known: Vec<UrlRecord> = all.values().filter(|record| is_copy(record)).cloned().collect();
    merge(&mut all, of_b);
    all.extend(known.into_iter().map(|record| (record.url.clone(), record)));
    check_all_done(&all, &cluster.expected(seeds));
    let mut groups: BTreeMap<u64, Vec<&UrlRecord>> = BTreeMap::new();
    for record in all.values() {
        if let Some(digest) = record.visit.as_ref().and_then(|visit| visit.digest) {
            groups.entry(digest.0).or_default().push(record);
        }
    }
    let mut across = 0;
    for group in groups.values().filter(|group| group.len() > 1) {
        let firsts: Vec<&str> =
            group.iter().filter(|record| !is_copy(record)).map(|record| &*record.url).collect();
        assert_eq!(firsts.len(), 1, "{firsts:?} of {}", group.len());
        // Partitions may have moved since: who fetched a page is told by the archive it lies in.
        let archives: BTreeSet<u32> = group.iter().filter_map(|record| fetched_by(record)).collect();
        across += usize::from(archives.len() > 1);
    }
    assert!(across > 0, "no payload was fetched by both");
}
