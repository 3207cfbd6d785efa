//! PageRank by power iteration over the link lists, which pass by as a stream: memory is sixteen bytes a URL.
//!
//! ```text
//! rank(u) = (1 − d)/n + d × ( Σ over pages q that link to u of rank(q) × weight(q → u) / total weight(q)  +  dangling/n )
//! ```
//!
//! `dangling` is the rank of all URLs whose links are not known or that have none: it goes to everybody alike. A page's link
//! to itself does not count. Ranks sum to one. The iteration ends when the ranks change by less than the tolerance in
//! all (L1); what is then left of the error is at most d/(1 − d) times that.

use crate::link_list::LinkList;
use crate::weight::Weighting;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankOptions {
    /// The chance that a reader follows a link rather than going anywhere.
    pub damping: f64,
    /// Ends the iteration when all ranks together change by less.
    pub tolerance: f64,
    pub max_rounds: u32,
    pub weighting: Weighting,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-7, max_rounds: 200, weighting: Weighting::Attributes }
    }
}

/// Ranks by number, and how they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    pub ranks: Vec<f64>,
    pub rounds: u32,
    /// How much the last round changed.
    pub change: f64,
}

/// A graph whose lists can be walked again and again.
pub trait Lists {
    type Error;
    /// URLs; numbers are below it.
    fn nodes(&self) -> usize;
    /// Calls `each` with the links of every page.
    fn for_each_page(&self, each: impl FnMut(&LinkList)) -> Result<(), Self::Error>;
}

impl Lists for crate::link_index::LinkIndex {
    type Error = crate::error::GraphError;

    fn nodes(&self) -> usize {
        Self::nodes(self) as usize
    }

    fn for_each_page(&self, each: impl FnMut(&LinkList)) -> Result<(), Self::Error> {
        Self::for_each_page(self, each)
    }
}

/// Ranks a graph. `start` holds the ranks to begin with, as of an earlier run: any positive numbers; where there is
/// none for every URL, all begin alike.
pub fn pagerank<L: Lists>(
    lists: &L,
    options: &RankOptions,
    start: Option<Vec<f64>>,
) -> Result<Ranking, L::Error> {
    let n = lists.nodes();
    if n == 0 {
        return Ok(Ranking { ranks: Vec::new(), rounds: 0, change: 0.0 });
    }
    let even = 1.0 / n as f64;
    let start =
        start.filter(|ranks| ranks.len() == n && ranks.iter().all(|rank| rank.is_finite() && *rank >= 0.0));
    let mut ranks = start.unwrap_or_else(|| vec![even; n]);
    let total: f64 = ranks.iter().sum();
    if total > 0.0 {
        ranks.iter_mut().for_each(|rank| *rank /= total);
    } else {
        ranks.fill(even);
    }
    let mut next = vec![0.0; n];
    let (mut rounds, mut change) = (0, f64::INFINITY);
    while rounds < options.max_rounds && change >= options.tolerance {
        next.fill(0.0);
        let mut handed_on = 0.0;
        lists.for_each_page(|list| {
            let total = total_weight(list, options.weighting);
            let Some(rank) = ranks.get(list.owner as usize).filter(|_| total > 0.0) else { return };
            handed_on += rank;
            hand_on(list, options.weighting, rank / total, &mut next);
        })?;
        let base = (1.0 - options.damping) * even + options.damping * (1.0 - handed_on) * even;
        change = 0.0;
        for (rank, next) in ranks.iter_mut().zip(&next) {
            let new = base + options.damping * next;
            change += (new - *rank).abs();
            *rank = new;
        }
        rounds += 1;
    }
    // Rounding adds up over many rounds; the sum is what everything else is measured by.
    let total: f64 = ranks.iter().sum();
    ranks.iter_mut().for_each(|rank| *rank /= total);
    Ok(Ranking { ranks, rounds, change })
}

/// What all links of a page weigh, but for one to itself.
fn total_weight(list: &LinkList, weighting: Weighting) -> f64 {
    let own = list.others.binary_search(&list.owner).ok();
    match weighting {
        Weighting::Plain => (list.others.len() - usize::from(own.is_some())) as f64,
        Weighting::Attributes => {
            let all: f32 = list.attributes.iter().map(|&packed| weighting.of(packed)).sum();
            let own = own.and_then(|at| list.attributes.get(at)).map_or(0.0, |&packed| weighting.of(packed));
            f64::from(all - own)
        }
    }
}

fn hand_on(list: &LinkList, weighting: Weighting, share: f64, next: &mut [f64]) {
    let others = list.others.iter().zip(&list.attributes).filter(|(other, _)| **other != list.owner);
    for (&other, &packed) in others {
        if let Some(next) = next.get_mut(other as usize) {
            *next += share * f64::from(weighting.of(packed));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists in memory.
    pub struct Plain {
        pub nodes: usize,
        pub lists: Vec<LinkList>,
    }

    impl Lists for Plain {
        type Error = std::convert::Infallible;

        fn nodes(&self) -> usize {
            self.nodes
        }

        fn for_each_page(&self, each: impl FnMut(&LinkList)) -> Result<(), Self::Error> {
            self.lists.iter().for_each(each);
            Ok(())
        }
    }

    fn graph(nodes: usize, edges: &[(u32, u32, u8)]) -> Plain {
        let lists = (0..nodes as u32).map(|owner| {
            let mut links: Vec<(u32, u8)> =
                edges.iter().filter(|edge| edge.0 == owner).map(|edge| (edge.1, edge.2)).collect();
            links.sort_unstable();
            links.dedup_by_key(|link| link.0);
            let mut list = LinkList::default();
            list.fill(owner, &links);
            list
        });
        Plain { nodes, lists: lists.collect() }
    }

    /// The definition, written as a dense matrix and multiplied out until nothing moves.
    fn oracle(graph: &Plain, damping: f64, weighting: Weighting) -> Vec<f64> {
        let n = graph.nodes;
        let mut matrix = vec![vec![1.0 / n as f64; n]; n];
        for list in &graph.lists {
            let links: Vec<(usize, f64)> = list
                .others
                .iter()
                .zip(&list.attributes)
                .filter(|(other, _)| **other != list.owner)
                .map(|(other, packed)| (*other as usize, f64::from(weighting.of(*packed))))
                .collect();
            let total: f64 = links.iter().map(|link| link.1).sum();
            if total > 0.0 {
                matrix[list.owner as usize] = vec![0.0; n];
                links.iter().for_each(|(to, weight)| matrix[list.owner as usize][*to] += weight / total);
            }
        }
        let mut ranks = vec![1.0 / n as f64; n];
        for _ in 0..400 {
            let step = |to: usize| (0..n).map(|from| ranks[from] * matrix[from][to]).sum::<f64>();
            ranks = (0..n).map(|to| (1.0 - damping) / n as f64 + damping * step(to)).collect();
        }
        ranks
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
    }

    #[test]
    fn the_six_pages_of_langville_and_meyer() {
        // Deeper Inside PageRank, section 5: page 2 dangles; damping 0.9.
        let edges = [(1, 2), (1, 3), (3, 1), (3, 2), (3, 5), (4, 5), (4, 6), (5, 4), (5, 6), (6, 4)];
        let edges: Vec<(u32, u32, u8)> = edges.iter().map(|(from, to)| (from - 1, to - 1, 0)).collect();
        let options = RankOptions { damping: 0.9, tolerance: 1e-12, ..RankOptions::default() };
        let ranking = pagerank(&graph(6, &edges), &options, None).unwrap();
        let published = [0.03721, 0.05396, 0.04151, 0.3751, 0.206, 0.2862];
        for (rank, published) in ranking.ranks.iter().zip(published) {
            assert!((rank - published).abs() < 5.1e-5, "{:?}", ranking.ranks);
        }
    }

    #[test]
    fn an_earlier_ranking_saves_rounds_and_changes_nothing() {
        let edges: Vec<(u32, u32, u8)> = (0..300).map(|i| (i % 60, i * i % 97, (i % 200) as u8)).collect();
        let (graph, options) = (graph(97, &edges), RankOptions::default());
        let cold = pagerank(&graph, &options, None).unwrap();
        let warm =
            pagerank(&graph, &options, Some(cold.ranks.iter().map(|rank| rank * 97.0).collect())).unwrap();
        assert!(warm.rounds <= 3 && cold.rounds > 10);
        assert!(distance(&cold.ranks, &warm.ranks) < 1e-6);
        for useless in [vec![0.0; 97], vec![f64::NAN; 97], vec![1.0]] {
            let ranking = pagerank(&graph, &options, Some(useless)).unwrap();
            assert!(distance(&cold.ranks, &ranking.ranks) < 1e-6);
        }
    }

    #[test]
    fn no_pages_and_no_links_are_no_trouble() {
        let options = RankOptions::default();
        assert!(pagerank(&graph(0, &[]), &options, None).unwrap().ranks.is_empty());
        assert_eq!(pagerank(&graph(4, &[]), &options, None).unwrap().ranks, [0.25; 4]);
        assert_eq!(pagerank(&graph(1, &[(0, 0, 1)]), &options, None).unwrap().ranks, [1.0]);
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_definition(
            edges in prop::collection::vec((0u32..12, 0u32..12, any::<u8>()), 0..60),
            damping in 0.0..0.95f64,
            plain: bool,
        ) {
            let graph = graph(12, &edges);
            let weighting = if plain { Weighting::Plain } else { Weighting::Attributes };
            let options = RankOptions { damping, tolerance: 1e-10, max_rounds: 1000, weighting };
            let ranking = pagerank(&graph, &options, None).unwrap();
            prop_assert!((ranking.ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(distance(&ranking.ranks, &oracle(&graph, damping, weighting)) < 1e-6);
        }
    }
}
