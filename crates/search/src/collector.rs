//! Going over all matches once: the best ones, the number of them, and the facets.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, ColumnValues, StrColumn};
use tantivy::query::{Scorer, Weight};
use tantivy::{DocAddress, DocId, DocSet, Score, SegmentOrdinal, SegmentReader};

use crate::ranking::{Statics, static_factor};

/// What results are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Score,
    /// Newest first; pages without a date come last.
    Date,
}

/// One match.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// It has all the words.
    pub has_all: bool,
    pub score: Score,
    pub date: Option<i64>,
    pub group: u64,
    pub address: DocAddress,
}

impl Hit {
    /// Better ones come first; equals stand in the order of the index, so that pages of results do not overlap.
    fn compare(&self, other: &Self, sort: Sort) -> Ordering {
        let by_date = match sort {
            Sort::Date => other.date.cmp(&self.date),
            Sort::Score => Ordering::Equal,
        };
        by_date
            .then(other.has_all.cmp(&self.has_all))
            .then(other.score.total_cmp(&self.score))
            .then(self.address.cmp(&other.address))
    }
}

/// The names of the facet columns.
pub const FACETS: [&str; 3] = ["site", "lang", "type"];

/// What one pass brings.
#[derive(Debug, Default)]
pub struct Harvest {
    /// The best, in order.
    pub hits: Vec<Hit>,
    /// The scores of all matches, in no order.
    pub scores: Vec<Score>,
    /// For each of [`FACETS`], how many matches have which value.
    pub facets: [HashMap<String, u64>; 3],
}

pub struct RankCollector {
    /// Pages that have all the words.
    pub all: Option<Box<dyn Weight>>,
    pub sort: Sort,
    /// How many of the best are wanted.
    pub window: usize,
}

impl Collector for RankCollector {
    type Fruit = Harvest;
    type Child = SegmentRank;

    fn for_segment(&self, ordinal: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentRank> {
        let columns = segment.fast_fields();
        let mut facets = Vec::new();
        for name in FACETS {
            let column = columns.str(name)?;
            let counts = vec![0; column.as_ref().map_or(0, |column| column.num_terms())];
            facets.push(Facet { column, counts });
        }
        Ok(SegmentRank {
            ordinal,
            all: self.all.as_ref().map(|all| all.scorer(segment, 1.0)).transpose()?,
            rank: columns.column_first_or_default("rank")?,
            depth: columns.column_first_or_default("depth")?,
            group: columns.column_first_or_default("group")?,
            date: columns.i64("date")?,
            facets,
            best: Best { hits: Vec::new(), window: self.window, sort: self.sort },
            scores: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Harvest>) -> tantivy::Result<Harvest> {
        let mut merged = Harvest::default();
        let mut best = Best { hits: Vec::new(), window: self.window, sort: self.sort };
        for fruit in fruits {
            fruit.hits.into_iter().for_each(|hit| best.push(hit));
            merged.scores.extend(fruit.scores);
            for (all, some) in merged.facets.iter_mut().zip(fruit.facets) {
                for (value, count) in some {
                    *all.entry(value).or_default() += count;
                }
            }
        }
        merged.hits = best.sorted();
        Ok(merged)
    }
}

struct Facet {
    column: Option<StrColumn>,
    counts: Vec<u64>,
}

pub struct SegmentRank {
    ordinal: SegmentOrdinal,
    all: Option<Box<dyn Scorer>>,
    rank: Arc<dyn ColumnValues<f64>>,
    depth: Arc<dyn ColumnValues<u64>>,
    group: Arc<dyn ColumnValues<u64>>,
    date: Column<i64>,
    facets: Vec<Facet>,
    best: Best,
    scores: Vec<Score>,
}

impl SegmentCollector for SegmentRank {
    type Fruit = Harvest;

    fn collect(&mut self, doc: DocId, score: Score) {
        let statics = Statics { rank: self.rank.get_val(doc), depth: self.depth.get_val(doc) };
        // Conditions alone have no score: then importance decides.
        let score = if score > 0.0 { score } else { 1.0 } * static_factor(statics);
        let has_all = self.all.as_mut().is_some_and(|all| {
            let at = all.doc();
            at == doc || (at < doc && all.seek(doc) == doc)
        });
        self.scores.push(score);
        for facet in &mut self.facets {
            if let Some(value) = facet.column.as_ref().and_then(|column| column.term_ords(doc).next())
                && let Some(count) = usize::try_from(value).ok().and_then(|value| facet.counts.get_mut(value))
            {
                *count += 1;
            }
        }
        self.best.push(Hit {
            has_all,
            score,
            date: self.date.first(doc),
            group: self.group.get_val(doc),
            address: DocAddress::new(self.ordinal, doc),
        });
    }

    fn harvest(self) -> Harvest {
        let mut harvest = Harvest { hits: self.best.sorted(), scores: self.scores, ..Harvest::default() };
        for (names, facet) in harvest.facets.iter_mut().zip(self.facets) {
            let Some(column) = facet.column else { continue };
            for (value, count) in facet.counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                let mut name = String::new();
                // A value that cannot be read back is counted under the empty name.
                let _ = column.ord_to_str(value as u64, &mut name);
                *names.entry(name).or_default() += count;
            }
        }
        harvest
    }
}

/// The best of what is pushed, in memory for twice the window.
struct Best {
    hits: Vec<Hit>,
    window: usize,
    sort: Sort,
}

impl Best {
    fn push(&mut self, hit: Hit) {
        self.hits.push(hit);
        if self.hits.len() >= 2 * self.window.max(1) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let sort = self.sort;
        if self.hits.len() > self.window && self.window > 0 {
            self.hits.select_nth_unstable_by(self.window - 1, |a, b| a.compare(b, sort));
        }
        self.hits.truncate(self.window);
    }

    fn sorted(mut self) -> Vec<Hit> {
        self.shrink();
        let sort = self.sort;
        self.hits.sort_unstable_by(|a, b| a.compare(b, sort));
        self.hits
    }
}
