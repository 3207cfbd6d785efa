//! Ranks agree with those of networkx, on the links of a crawl as it logged them.
//!
//! networkx comes from PyPI; `cargo xtask setup` installs it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;

use lycosa_graph::{BuildOptions, LinkIndex, PageEdges, RankOptions, Ranks, Weighting, pagerank, read_edges};
use lycosa_simweb::WorldConfig;
use lycosa_testkit::python_with;

use crate::site::Site;

const SCRIPT: &str = "
import sys, networkx
graph = networkx.DiGraph()
for line in open(sys.argv[1]):
    source, target, weight = line.split()
    graph.add_node(source); graph.add_node(target)
    if source != target:
        graph.add_edge(source, target, weight=float(weight))
ranks = networkx.pagerank(graph, alpha=0.85, tol=1e-13, max_iter=1000, weight='weight')
for node, rank in ranks.items():
    print(node, repr(rank))
";

#[test]
fn ranks_of_a_crawl_agree_with_networkx() {
    let python = python_with("networkx");
    let site = Site::start(WorldConfig::full(3, 40, 3000));
    site.crawl(site.config(), &site.world.seeds(1));
    let log = site.layout().edges();
    let dir = tempfile::tempdir().unwrap();
    let index = LinkIndex::open_current(&log, &dir.path().join("links"), &BuildOptions::default()).unwrap();
    assert!(index.edges() > 20_000, "{}", index.edges());
    for weighting in [Weighting::Attributes, Weighting::Plain] {
        let (mut lines, mut page) = (String::new(), PageEdges::default());
        let mut pages = read_edges(&log).unwrap();
        while pages.next_into(&mut page).unwrap() {
            // A link to itself adds the page to networkx's graph, and is left out of its edges as it is of ours.
            writeln!(lines, "{0} {0} 1", page.source).unwrap();
            for edge in &page.edges {
                writeln!(lines, "{} {} {}", page.source, edge.target, weighting.of(edge.attributes)).unwrap();
            }
        }
        let edges = dir.path().join("edges.txt");
        std::fs::write(&edges, lines).unwrap();
        let output = Command::new(&python).arg("-c").arg(SCRIPT).arg(&edges).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();

        let options = RankOptions { weighting, ..RankOptions::default() };
        let ranking = pagerank(&index, &options, None).unwrap();
        let ids = index.ids().unwrap();
        let ours: HashMap<u64, f64> = ids.iter().copied().zip(ranking.ranks.iter().copied()).collect();
        let stored = Ranks::new(&ids, &ranking, &options, 0);
        let (mut distance, mut count) = (0.0, 0);
        for line in text.lines() {
            let (id, rank) = line.split_once(' ').unwrap();
            let (id, rank): (u64, f64) = (id.parse().unwrap(), rank.parse().unwrap());
            distance += (ours[&id] - rank).abs();
            count += 1;
            let scaled = f64::from(stored.rank_of(id).unwrap());
            assert!((scaled / (rank * ids.len() as f64) - 1.0).abs() < 1e-3, "{id}");
        }
        eprintln!("{weighting:?}: {count} URLs, L1 distance {distance:e}, {} rounds", ranking.rounds);
        assert_eq!(count, ids.len());
        assert!(distance < 1e-6, "{weighting:?}: {distance:e}");
    }
}
