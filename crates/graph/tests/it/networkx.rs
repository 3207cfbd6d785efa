//! Ranks agree with those of networkx, on the links of a synthetic web as a crawl logs them.
//!
//! It comes from PyPI. `LYCOSA_VENV` names a Python environment that has `networkx`; where it is not set this test says so and
//! passes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use lycosa_graph::{
    BuildOptions, Edge, EdgeLog, LinkIndex, PageEdges, RankOptions, Ranks, Weighting, pagerank,
};
use lycosa_simweb::{TruthOptions, World, WorldConfig};
use lycosa_types::{LinkAttributes, UrlKey};

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

fn log(path: &Path) -> Vec<PageEdges> {
    let world = World::new(WorldConfig::full(3, 40, 3000));
    let truth = world.truth(&TruthOptions::default());
    let ids: Vec<u64> = truth.entries().iter().map(|entry| UrlKey::of(&truth.url(entry)).low()).collect();
    let mut pages: HashMap<u32, Vec<Edge>> = HashMap::new();
    truth.for_each_edge(|from, to| {
        let (visibility, position, distance) =
            (1 + (from + to) as u8 % 3, 1 + to as u8 % 3, 1 + from as u8 % 5);
        let attributes = LinkAttributes { visibility, position, distance }.pack();
        pages.entry(from).or_default().push(Edge { target: ids[to as usize], attributes });
    });
    let mut log = EdgeLog::open(path, None).unwrap();
    let pages = pages.into_iter().map(|(from, edges)| {
        let mut page = PageEdges { source: ids[from as usize], edges };
        page.settle();
        log.append(&page).unwrap();
        page
    });
    let pages = pages.collect();
    log.sync().unwrap();
    pages
}

#[test]
fn ranks_agree_with_networkx() {
    let Some(venv) = std::env::var_os("LYCOSA_VENV") else {
        eprintln!("skipped: LYCOSA_VENV names no environment with networkx");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let log_path = dir.path().join("edges.log");
    let pages = log(&log_path);
    let index =
        LinkIndex::open_current(&log_path, &dir.path().join("links"), &BuildOptions::default()).unwrap();
    assert!(index.edges() > 20_000);
    for weighting in [Weighting::Attributes, Weighting::Plain] {
        let mut lines = String::new();
        for page in &pages {
            for edge in &page.edges {
                let weight = weighting.of(edge.attributes);
                writeln!(lines, "{} {} {weight}", page.source, edge.target).unwrap();
            }
        }
        let edges = dir.path().join("edges.txt");
        std::fs::write(&edges, lines).unwrap();
        let python = Path::new(&venv).join("bin/python");
        let output = Command::new(python).arg("-c").arg(SCRIPT).arg(&edges).output().unwrap();
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
        // Pages without links, and linked by none, are in our index alone.
        assert!(count > 2500 && count <= ids.len());
        assert!(distance < 1e-6, "{weighting:?}: {distance:e}");
    }
}
