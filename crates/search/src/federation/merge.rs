//! The answers of all nodes made one.
//!
//! A page that moved from one node to another may lie in both their indexes: the one with the better score is taken.
//! Copies of a page are told by the nodes' own judgement and, between nodes, by their texts.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::message::{ShardResult, ShardResults};
use super::sketch::Sketch;
use crate::answer::{Answer, FacetCount, Facets, Found, Request};
use crate::collector::Sort;
use crate::copies::firsts;
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

/// A result, and which of the answers it is from.
struct Told {
    result: ShardResult,
    from: usize,
}

/// Makes one answer of the nodes' own. `hidden` counts what each node hid and what was dropped here; a page that the others'
/// scores would hide, but that its node had no room to tell or told as a copy of a better one, is not among them. Pages that
/// two nodes have count once as far as both told them.
pub fn merge(request: &Request, query: &Node, nodes: Vec<ShardResults>) -> Answer {
    let best = nodes.iter().map(|node| node.best).fold(0.0, f32::max);
    let floor = if request.all { 0.0 } else { best * HIDDEN_BELOW };
    let mut total: u64 = nodes.iter().fold(0, |sum, node| sum.saturating_add(node.total));
    let mut hidden: u64 = nodes.iter().fold(0, |sum, node| sum.saturating_add(node.hidden));
    let did_you_mean = better(&nodes);
    let mut facets = Facets::default();
    let mut results: Vec<Told> = Vec::new();
    for (from, node) in nodes.into_iter().enumerate() {
        facets.site.extend(node.facets.site);
        facets.language.extend(node.facets.language);
        facets.kind.extend(node.facets.kind);
        results.extend(node.results.into_iter().map(|result| Told { result, from }));
    }
    results.sort_by(|a, b| compare(&a.result.found, &b.result.found, request.sort));
    let (repeats, also) = drop_repeats(&mut results);
    total = total.saturating_sub(repeats.len() as u64 + also);
    let repeated = |value: fn(&Found) -> &String| repeats.iter().map(value);
    facets.site = added_up(facets.site, repeated(|found| &found.site));
    facets.language = added_up(facets.language, repeated(|found| &found.language));
    facets.kind = added_up(facets.kind, repeated(|found| &found.kind));
    results.retain(|Told { result, .. }| {
        let is_shown = result.base >= floor;
        hidden += if is_shown { 0 } else { 1 + result.found.also_at.len() as u64 };
        is_shown
    });
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

/// Takes out what was told before under the same address: the results, and how many addresses of copies.
fn drop_repeats(results: &mut Vec<Told>) -> (Vec<Found>, u64) {
    let mut seen: HashSet<String> = HashSet::new();
    let (mut repeats, mut also) = (Vec::new(), 0);
    let mut kept = Vec::with_capacity(results.len());
    for mut told in results.drain(..) {
        if !seen.insert(told.result.found.url.clone()) {
            repeats.push(told.result.found);
            continue;
        }
        let copies = &mut told.result.found.also_at;
        let before = copies.len();
        copies.retain(|url| seen.insert(url.clone()));
        also += (before - copies.len()) as u64;
        kept.push(told);
    }
    *results = kept;
    (repeats, also)
}

/// A page with its copies.
struct Group {
    found: Found,
    sketch: Sketch,
    from: usize,
}

/// Where a group is found again.
#[derive(Default)]
struct Places {
    by_first: HashMap<usize, usize>,
    by_number: HashMap<u32, Vec<usize>>,
}

impl Places {
    /// The group that a result belongs to, whose first copy stands at `first`. A node has judged its own pages itself.
    fn find(&self, told: &Told, first: usize, groups: &[Group]) -> Option<usize> {
        let known = self.by_first.get(&first).copied();
        known.or_else(|| {
            let numbers = told.result.sketch.numbers().iter();
            let mut near: Vec<usize> =
                numbers.filter_map(|number| self.by_number.get(number)).flatten().copied().collect();
            near.sort_unstable();
            near.dedup();
            let is_copy =
                |group: &Group| group.from != told.from && group.sketch.is_like(&told.result.sketch);
            near.into_iter().find(|place| groups.get(*place).is_some_and(is_copy))
        })
    }
}

fn collapse(results: Vec<Told>) -> Vec<Found> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places = Places::default();
    let firsts = firsts(results.iter().map(|told| told.result.names.as_slice()));
    for (told, first) in results.into_iter().zip(firsts) {
        let place = places.find(&told, first, &groups);
        let Told { result: ShardResult { found, sketch, .. }, from } = told;
        match place.and_then(|place| groups.get_mut(place)) {
            Some(group) => {
                let also_at = &mut group.found.also_at;
                also_at.push(found.url);
                also_at.extend(found.also_at);
                also_at.truncate(MAX_ALSO_AT);
            }
            None => {
                for number in sketch.numbers() {
                    places.by_number.entry(*number).or_default().push(groups.len());
                }
                groups.push(Group { found, sketch, from });
            }
        }
        places.by_first.entry(first).or_insert(place.unwrap_or(groups.len() - 1));
    }
    groups.into_iter().map(|group| group.found).collect()
}

/// The values of all nodes, less those of pages that were counted twice.
fn added_up<'r>(values: Vec<FacetCount>, repeated: impl Iterator<Item = &'r String>) -> Vec<FacetCount> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for FacetCount { value, count } in values {
        let sum = sums.entry(value).or_default();
        *sum = sum.saturating_add(count);
    }
    for value in repeated {
        if let Some(sum) = sums.get_mut(value) {
            *sum = sum.saturating_sub(1);
        }
    }
    let mut all: Vec<FacetCount> =
        sums.into_iter().map(|(value, count)| FacetCount { value, count }).collect();
    all.retain(|facet| facet.count > 0);
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
