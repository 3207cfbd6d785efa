//! Walks the edge log beside a crawl, again and again, and lets pages hand on what reached them since they were fetched.

use std::path::Path;

use super::{Moved, OnlineImportance};
use crate::edge_log::{EdgeLogError, EdgeReader, PageEdges, read_edges};
use crate::weight::Weighting;

/// Pages to sweep for each page fetched. With one, the sweep would never come round, as the log grows just as fast.
pub const SWEPT_PER_FETCH: usize = 2;

#[derive(Debug)]
pub struct Sweeper {
    reader: EdgeReader,
    weighting: Weighting,
    page: PageEdges,
}

impl Sweeper {
    /// Starts at the beginning of the log, which another may be writing.
    pub fn open(log: &Path, weighting: Weighting) -> Result<Self, EdgeLogError> {
        Ok(Self { reader: read_edges(log)?, weighting, page: PageEdges::default() })
    }

    /// Sweeps up to `pages` pages and returns how many had something to hand on. Goes back to the start of the log at its
    /// end, and stops there, so that a short log is not swept twice in one call.
    pub fn run(
        &mut self,
        pages: usize,
        online: &mut OnlineImportance,
        moved: &mut Vec<Moved>,
    ) -> Result<usize, EdgeLogError> {
        let mut spent = 0;
        for _ in 0..pages {
            // Most have nothing to hand on: their links are not even read.
            if !self.reader.next_if(&mut self.page, |source| online.is_worth_sweeping(source))? {
                self.reader.rewind()?;
                break;
            }
            if self.page.edges.is_empty() {
                continue;
            }
            let weighting = self.weighting;
            let targets = self.page.edges.iter().map(|edge| (edge.target, weighting.of(edge.attributes)));
            spent += usize::from(online.sweep(self.page.source, targets, moved));
        }
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::OnlineOptions;
    use crate::{Edge, EdgeLog};

    #[test]
    fn a_log_that_grows_is_walked_round_and_round() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        log.sync().unwrap();
        let mut online = OnlineImportance::new(OnlineOptions::default());
        let mut sweeper = Sweeper::open(&path, Weighting::Plain).unwrap();
        let mut moved = Vec::new();
        // A ring of 100 pages: 1 → 2 → … → 100 → 1; the last link back reaches a page that was fetched first.
        for source in 1..=100u64 {
            let target = source % 100 + 1;
            log.append(&PageEdges { source, edges: vec![Edge { target, attributes: 0 }] }).unwrap();
            log.sync().unwrap();
            online.fetched(source, [target], &mut moved);
            sweeper.run(SWEPT_PER_FETCH, &mut online, &mut moved).unwrap();
        }
        let before = online.get(50).unwrap().importance;
        let mut swept = 0;
        for _ in 0..300 {
            swept += sweeper.run(SWEPT_PER_FETCH, &mut online, &mut moved).unwrap();
        }
        assert!(swept > 0);
        let ring = 0.85;
        assert!(before < ring && online.get(2).unwrap().importance > before);
        // In a ring all are worth the same: importance 0.85 each.
        assert!((online.get(2).unwrap().importance - ring).abs() < 0.15);
    }
}
