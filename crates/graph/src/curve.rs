//! How soon a crawl gathered what counts: the rank of its pages in the order they were fetched.
//!
//! The edge log is written in that order, so a crawl that is over can be judged by the ranks of its whole graph, or by those of
//! another crawl of the same pages. Visits without links to log (pictures, documents, errors) are not counted.

use std::path::Path;

use foldhash::HashSet;

use crate::edge_log::{PageEdges, read_edges};
use crate::error::GraphError;
use crate::ranks::Ranks;

/// Ranks of pages in the order they were first fetched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Rank gathered after each page; one more entry than there are pages, the first is 0.
    gathered: Vec<f64>,
}

impl Curve {
    /// The pages of `log`, each counted once. One that has no rank counts nothing.
    pub fn of_log(log: &Path, ranks: &Ranks) -> Result<Self, GraphError> {
        let (mut reader, mut page) = (read_edges(log)?, PageEdges::default());
        let mut seen: HashSet<u64> = HashSet::default();
        let mut curve = Self { gathered: vec![0.0] };
        while reader.next_into(&mut page)? {
            if seen.insert(page.source) {
                curve.push(f64::from(ranks.rank_of(page.source).unwrap_or(0.0)));
            }
        }
        Ok(curve)
    }

    /// The same from ranks in order.
    pub fn of_ranks(ranks: impl IntoIterator<Item = f64>) -> Self {
        let mut curve = Self { gathered: vec![0.0] };
        ranks.into_iter().for_each(|rank| curve.push(rank));
        curve
    }

    /// The pages of this curve as an order that knows all ranks, and may fetch any page, would have fetched them.
    pub fn ideal(&self) -> Self {
        let mut ranks: Vec<f64> = self.gathered.windows(2).map(|pair| pair[1] - pair[0]).collect();
        ranks.sort_unstable_by(|a, b| b.total_cmp(a));
        Self::of_ranks(ranks)
    }

    fn push(&mut self, rank: f64) {
        self.gathered.push(self.total() + rank);
    }

    pub fn pages(&self) -> usize {
        self.gathered.len().saturating_sub(1)
    }

    /// The rank of all pages together.
    pub fn total(&self) -> f64 {
        self.gathered.last().copied().unwrap_or(0.0)
    }

    /// The rank gathered after so many pages.
    pub fn after(&self, pages: usize) -> f64 {
        self.gathered.get(pages).copied().unwrap_or_else(|| self.total())
    }

    /// The average rank of the pages from one to another; 0 if there are none.
    pub fn average(&self, from: usize, until: usize) -> f64 {
        let until = until.min(self.pages());
        if from >= until { 0.0 } else { (self.after(until) - self.after(from)) / (until - from) as f64 }
    }
}

/// One point of a comparison: after a share of the crawl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Share of the pages of the reference.
    pub crawl: f64,
    /// Share of the rank of the reference.
    pub mass: f64,
    /// Average rank since the point before, where the average of the reference is 1.
    pub average: f64,
}

/// A curve as shares of a reference: itself, or the crawl whose ranks judge it.
pub fn points(curve: &Curve, reference: &Curve, shares: &[f64]) -> Vec<CurvePoint> {
    let (pages, total) = (reference.pages(), reference.total());
    let mean = if pages > 0 { total / pages as f64 } else { 0.0 };
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let mut from = 0;
    shares
        .iter()
        .map(|&crawl| {
            let until = (crawl * pages as f64).round() as usize;
            let average = ratio(curve.average(from, until), mean);
            from = until;
            CurvePoint { crawl, mass: ratio(curve.after(until), total), average }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_pages_and_of_rank() {
        let curve = Curve::of_ranks([6.0, 2.0, 1.0, 1.0]);
        let points = points(&curve, &curve, &[0.25, 0.5, 1.0]);
        assert_eq!(points.iter().map(|point| point.mass).collect::<Vec<_>>(), [0.6, 0.8, 1.0]);
        assert_eq!(points.iter().map(|point| point.average).collect::<Vec<_>>(), [2.4, 0.8, 0.4]);
        assert_eq!(curve.average(4, 9), 0.0);
    }

    #[test]
    fn a_shorter_crawl_is_measured_by_the_longer_one() {
        let (short, long) = (Curve::of_ranks([5.0]), Curve::of_ranks([1.0, 5.0, 4.0]));
        let ends: Vec<f64> =
            points(&short, &long, &[1.0 / 3.0, 1.0]).iter().map(|point| point.mass).collect();
        assert_eq!(ends, [0.5, 0.5]);
        assert_eq!(long.ideal(), Curve::of_ranks([5.0, 4.0, 1.0]));
        assert_eq!(points(&Curve::default(), &Curve::default(), &[0.5])[0].mass, 0.0);
    }

    #[test]
    fn the_log_is_read_in_its_order_and_each_page_counts_once() {
        use crate::{Edge, EdgeLog, RankOptions, Ranking};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        for source in [2, 1, 2, 9] {
            let edges = vec![Edge { target: 1, attributes: 0 }];
            log.append(&PageEdges { source, edges }).unwrap();
        }
        log.sync().unwrap();
        let ranking = Ranking { ranks: vec![0.75, 0.25], rounds: 1, change: 0.0 };
        let ranks = Ranks::new(&[1, 2], &ranking, &RankOptions::default(), 0);
        assert_eq!(Curve::of_log(&path, &ranks).unwrap(), Curve::of_ranks([0.5, 1.5, 0.0]));
    }
}
