//! The index against a plain map of what the log says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lycosa_graph::{BuildOptions, Direction, Edge, EdgeLog, GraphError, LinkIndex, PageEdges};
use proptest::prelude::*;

/// Spreads small numbers over all ids, as hashes are.
fn id(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn write(path: &Path, pages: &[(u64, Vec<(u64, u8)>)]) {
    let mut log = EdgeLog::open(path, None).unwrap();
    for (source, links) in pages {
        let edges = links.iter().map(|&(target, attributes)| Edge { target: id(target), attributes });
        let mut page = PageEdges { source: id(*source), edges: edges.collect() };
        page.settle();
        log.append(&page).unwrap();
    }
    log.sync().unwrap();
}

type Links = BTreeMap<u64, BTreeMap<u64, u8>>;

/// What the last visit of each page says.
fn expected(pages: &[(u64, Vec<(u64, u8)>)]) -> (Links, Links) {
    let mut out = Links::new();
    for (source, links) in pages {
        let own = out.entry(id(*source)).or_default();
        own.clear();
        for &(target, attributes) in links {
            let kept = own.entry(id(target)).or_insert(attributes);
            *kept = (*kept).max(attributes);
        }
    }
    let mut back = Links::new();
    for (source, links) in &out {
        for (target, attributes) in links {
            back.entry(*target).or_default().insert(*source, *attributes);
        }
    }
    (out, back)
}

fn as_map(edges: Vec<Edge>) -> BTreeMap<u64, u8> {
    edges.into_iter().map(|edge| (edge.target, edge.attributes)).collect()
}

fn check(pages: &[(u64, Vec<(u64, u8)>)], bucket_bytes: usize) {
    let dir = tempfile::tempdir().unwrap();
    let (log, path) = (dir.path().join("edges.log"), dir.path().join("links"));
    write(&log, pages);
    let index = LinkIndex::open_current(&log, &path, &BuildOptions { bucket_bytes }).unwrap();
    let (out, back) = expected(pages);
    let known: BTreeSet<u64> = out.keys().chain(back.keys()).copied().collect();
    assert_eq!(index.nodes() as usize, known.len());
    assert_eq!(index.pages() as usize, out.len());
    assert_eq!(index.edges() as usize, out.values().map(BTreeMap::len).sum::<usize>());
    for url in known {
        let node = index.node(url).unwrap().unwrap();
        let (links, linked) = (out.get(&url), back.get(&url));
        assert_eq!(node.is_visited(), links.is_some());
        assert_eq!(node.out_links as usize, links.map_or(0, BTreeMap::len));
        assert_eq!(node.in_links as usize, linked.map_or(0, BTreeMap::len));
        let all = |direction| as_map(index.links(&node, direction, usize::MAX).unwrap());
        assert_eq!(all(Direction::Out), links.cloned().unwrap_or_default());
        assert_eq!(all(Direction::In), linked.cloned().unwrap_or_default());
        assert!(index.links(&node, Direction::In, 1).unwrap().len() <= 1);
        assert_eq!(index.id(node.number).unwrap(), url);
        assert!(index.node(url ^ 1).unwrap().is_none());
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_index_says_what_the_log_says(
        pages in prop::collection::vec((0u64..40, prop::collection::vec((0u64..60, any::<u8>()), 0..20)), 0..60),
        small_buckets: bool,
    ) {
        check(&pages, if small_buckets { 64 } else { 1 << 20 });
    }
}

#[test]
fn many_urls_use_the_directory() {
    let pages: Vec<_> =
        (0..3000u64).map(|p| (p, (0..5).map(|i| ((p * 7 + i * 131) % 5000, 1)).collect())).collect();
    check(&pages, 1 << 20);
    check(&pages, 1000);
}

#[test]
fn a_grown_log_makes_a_new_index_and_damage_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let (log, path) = (dir.path().join("edges.log"), dir.path().join("links"));
    write(&log, &[(1, vec![(2, 9)])]);
    let open = || LinkIndex::open_current(&log, &path, &BuildOptions::default()).unwrap();
    assert_eq!(open().pages(), 1);
    let end = std::fs::metadata(&log).unwrap().len();
    let mut more = EdgeLog::open(&log, Some(end)).unwrap();
    more.append(&PageEdges { source: id(2), edges: Vec::new() }).unwrap();
    more.sync().unwrap();
    assert_eq!(open().pages(), 2);
    let whole = std::fs::read(&path).unwrap();
    for cut in [0, 50, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(matches!(LinkIndex::open(&path), Err(GraphError::Damaged(_))));
        assert_eq!(open().pages(), 2);
    }
}

#[test]
fn no_damage_does_harm() {
    let dir = tempfile::tempdir().unwrap();
    let (log, path) = (dir.path().join("edges.log"), dir.path().join("links"));
    write(&log, &[(1, vec![(2, 9), (3, 1)]), (2, vec![(1, 4)])]);
    lycosa_graph::link_index::build(&log, &path, &BuildOptions::default()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for value in [0, 1, 127, 255] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            std::fs::write(&path, &bytes).unwrap();
            // Any answer will do, as long as there is one.
            let Ok(index) = LinkIndex::open(&path) else { continue };
            let _ = index.for_each_page(|_| {});
            if let Ok(Some(node)) = index.node(id(1)) {
                let _ = index.links(&node, Direction::Out, 10);
                let _ = index.links(&node, Direction::In, 10);
            }
        }
    }
}
