//! Link mode `cross`: nodes send each other nothing, and still find everything.

use lycosa_cluster::LinkMode;
use lycosa_engine::bookkeeper::Stop;

use super::{Cluster, check_all_done, merge, slowed, world};

/// Every page is found although no link is sent. A page is asked for once by its owner, and once by each node
/// that crossed over.
#[test]
fn nodes_that_cross_over_find_everything() {
    let mut cluster = Cluster::start(world(36, 1200));
    cluster.settings.links = LinkMode::Cross;
    let seeds = cluster.site.world.seeds(1);
    let (a, b) = cluster.pair(&seeds, &cluster.config());
    let ((a_end, mut all), (b_end, of_b)) = (a.finish(), b.finish());
    assert_eq!((a_end.stop, b_end.stop), (Stop::Exhausted, Stop::Exhausted));
    for end in [&a_end, &b_end] {
        assert_eq!(end.report.cluster.as_ref().unwrap().links_sent, 0);
    }
    merge(&mut all, of_b);
    check_all_done(&all, &cluster.expected(seeds));
    let repeats = cluster.repeats();
    assert!(repeats.iter().all(|(_, count)| *count <= 3), "{repeats:?}");
}

/// A node that leaves sends what it has put aside to the owners.
#[test]
fn what_was_put_aside_is_not_lost_with_a_node_that_leaves() {
    let mut cluster = Cluster::start(world(37, 1200));
    cluster.settings.links = LinkMode::Cross;
    let seeds = cluster.site.world.seeds(1);
    let mut config = slowed(cluster.config(), 10);
    config.politeness.ip_delay_ms = 0;
    let (a, b) = cluster.pair(&seeds, &config);
    // One of them has the seed, and with it all there is to do at first.
    while a.crawl.progress().totals.pages + b.crawl.progress().totals.pages < 40 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let a_leads = a.crawl.progress().totals.pages > b.crawl.progress().totals.pages;
    let (leaves, stays) = if a_leads { (a, b) } else { (b, a) };
    leaves.crawl.stop();
    let (end, mut all) = leaves.finish();
    assert_eq!(end.stop, Stop::Asked);
    assert!(end.report.cluster.as_ref().unwrap().links_sent > 0);
    let (end, of_other) = stays.finish();
    assert_eq!(end.stop, Stop::Exhausted);
    merge(&mut all, of_other);
    check_all_done(&all, &cluster.expected(seeds));
}
