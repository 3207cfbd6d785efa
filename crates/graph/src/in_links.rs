//! How many pages link to each URL, counted from the edge log.

use std::path::Path;

use foldhash::HashMap;

use crate::edge_log::{EdgeLogError, PageEdges, read_edges};

/// The `count` most linked targets with their number of linking pages, best first; ties by id, so that the answer is
/// the same every time. A page's link to itself does not count.
pub fn most_linked(log: &Path, count: usize) -> Result<Vec<(u64, u64)>, EdgeLogError> {
    let (mut reader, mut page) = (read_edges(log)?, PageEdges::default());
    let mut links: HashMap<u64, u64> = HashMap::default();
    while reader.next_into(&mut page)? {
        for edge in page.edges.iter().filter(|edge| edge.target != page.source) {
            *links.entry(edge.target).or_default() += 1;
        }
    }
    let mut ranked: Vec<(u64, u64)> = links.into_iter().collect();
    ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.truncate(count);
    Ok(ranked)
}
