//! The answers of all nodes made one.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::Serialize;

use super::message::{ShardResult, ShardResults};
use crate::answer::{Answer, FacetCount, Facets, Found, Request};
use crate::collector::Sort;
use crate::query::Node;
use crate::searcher::{FACET_VALUES, HIDDEN_BELOW, MAX_ALSO_AT};

/// An answer of several nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    #[serde(flatten)]
    pub answer: Answer,
    /// Nodes that answered.
    pub answered: Vec<String>,
    /// Nodes that did not answer in time, or could not: the answer lacks their pages.
    pub silent: Vec<Silent>,
}

/// A node whose pages are missing from an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Silent {
    pub node: String,
    pub why: String,
}

/// Makes one answer of the nodes' own. `hidden` counts what each node hid and what was dropped here; a page that the others'
/// scores would hide, but that its node had no room to tell or told as a copy of a better one, is not among them.
pub fn merge(request: &Request, query: &Node, nodes: Vec<ShardResults>) -> Answer {
    let best = nodes.iter().map(|node| node.best).fold(0.0, f32::max);
    let floor = if request.all { 0.0 } else { best * HIDDEN_BELOW };
    let total = nodes.iter().map(|node| node.total).sum();
    let mut hidden: u64 = nodes.iter().map(|node| node.hidden).sum();
    let did_you_mean = better(&nodes);
    let mut facets = Facets::default();
    let mut results: Vec<ShardResult> = Vec::new();
    for node in nodes {
        facets.site.extend(node.facets.site);
        facets.language.extend(node.facets.language);
        facets.kind.extend(node.facets.kind);
        for result in node.results {
            if result.base >= floor {
                results.push(result);
            } else {
                hidden += 1 + result.found.also_at.len() as u64;
            }
        }
    }
    for values in [&mut facets.site, &mut facets.language, &mut facets.kind] {
        *values = added_up(std::mem::take(values));
    }
    results.sort_by(|a, b| compare(&a.found, &b.found, request.sort));
    let shown = collapse(results).into_iter().skip(request.offset).take(request.limit).collect();
    Answer { query: query.to_string(), total, hidden, results: shown, facets, did_you_mean, elapsed_us: 0 }
}

/// Better ones come first; equals by their addresses, so that pages of results do not overlap.
fn compare(a: &Found, b: &Found, sort: Sort) -> Ordering {
    let by_date = match sort {
        Sort::Date => b.date_s.cmp(&a.date_s),
        Sort::Score => Ordering::Equal,
    };
    by_date.then(b.has_all.cmp(&a.has_all)).then(b.score.total_cmp(&a.score)).then_with(|| a.url.cmp(&b.url))
}

fn collapse(results: Vec<ShardResult>) -> Vec<Found> {
    let mut shown: Vec<Found> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for ShardResult { found, group, .. } in results {
        match places.get(&group).and_then(|place| shown.get_mut(*place)) {
            Some(first) => {
                first.also_at.push(found.url);
                first.also_at.extend(found.also_at);
                first.also_at.truncate(MAX_ALSO_AT);
            }
            None => {
                places.insert(group, shown.len());
                shown.push(found);
            }
        }
    }
    shown
}

fn added_up(values: Vec<FacetCount>) -> Vec<FacetCount> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for FacetCount { value, count } in values {
        let sum = sums.entry(value).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut all: Vec<FacetCount> =
        sums.into_iter().map(|(value, count)| FacetCount { value, count }).collect();
    all.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    all.truncate(FACET_VALUES);
    all
}

/// What more than half of the nodes take for a slip: a word that is rare on one may be frequent on the others.
fn better(nodes: &[ShardResults]) -> Option<String> {
    let mut votes: HashMap<&str, usize> = HashMap::new();
    for node in nodes {
        if let Some(better) = &node.did_you_mean {
            *votes.entry(better).or_default() += 1;
        }
    }
    let (most, count) = votes.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)))?;
    (count * 2 > nodes.len()).then(|| most.to_owned())
}
