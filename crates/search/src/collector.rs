//! Going over all matches once: the best ones, the number of them, and the facets.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Cardinality, Column, ColumnValues, StrColumn};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::ranking::factors;

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
    /// By the words and the page's importance.
    pub base: Score,
    /// The same with what nearness adds.
    pub score: Score,
    pub date: Option<i64>,
    pub group: u64,
    pub address: DocAddress,
}

impl Hit {
    /// Better ones come first; equals stand in the order of the index, so that pages of results do not overlap.
    pub(crate) fn compare(&self, other: &Self, sort: Sort) -> Ordering {
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
            facets.push(Facet::new(column));
        }
        Ok(SegmentRank {
            ordinal,
            prior: columns.column_first_or_default("prior")?,
            factors: factors(),
            group: columns.column_first_or_default("group")?,
            date: columns.i64("date")?,
            facets,
            best: Best::new(self.window, self.sort),
            scores: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Harvest>) -> tantivy::Result<Harvest> {
        let mut merged = Harvest::default();
        let mut best = Best::new(self.window, self.sort);
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

/// Counts the values of a column.
struct Facet {
    column: Option<StrColumn>,
    /// The places of the values, where every page has one.
    dense: Option<Arc<dyn ColumnValues<u64>>>,
    /// Every page has the same value.
    is_constant: bool,
    counts: Vec<u64>,
}

impl Facet {
    fn new(column: Option<StrColumn>) -> Self {
        let values = column.as_ref().map_or(0, |column| column.num_terms());
        let is_full =
            column.as_ref().is_some_and(|column| column.ords().get_cardinality() == Cardinality::Full);
        let dense = column.as_ref().filter(|_| is_full).map(|column| Arc::clone(&column.ords().values));
        Self { column, dense, is_constant: is_full && values == 1, counts: vec![0; values] }
    }

    #[inline]
    fn count(&mut self, doc: DocId) {
        let value = match (&self.dense, &self.column) {
            _ if self.is_constant => Some(0),
            (Some(dense), _) => Some(dense.get_val(doc)),
            (None, column) => column.as_ref().and_then(|column| column.term_ords(doc).next()),
        };
        if let Some(count) = value.and_then(|value| self.counts.get_mut(value as usize)) {
            *count += 1;
        }
    }
}

pub struct SegmentRank {
    ordinal: SegmentOrdinal,
    prior: Arc<dyn ColumnValues<u64>>,
    factors: &'static [f32],
    group: Arc<dyn ColumnValues<u64>>,
    date: Column<i64>,
    facets: Vec<Facet>,
    best: Best,
    scores: Vec<Score>,
}

impl SegmentCollector for SegmentRank {
    type Fruit = Harvest;

    fn collect(&mut self, doc: DocId, score: Score) {
        let factor = self.factors.get(self.prior.get_val(doc) as usize).copied().unwrap_or(1.0);
        // Pages that lack a part have a negative score.
        let has_all = score >= 0.0;
        // Conditions alone have no score: then importance decides.
        let score = if score == 0.0 { factor } else { score.abs() * factor };
        self.scores.push(score);
        for facet in &mut self.facets {
            facet.count(doc);
        }
        let date = if self.best.sort == Sort::Date { self.date.first(doc) } else { None };
        if self.best.is_worse(has_all, score, date) {
            return;
        }
        self.best.push(Hit {
            has_all,
            base: score,
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
            let met: Vec<(u64, u64)> = (0..).zip(facet.counts).filter(|(_, count)| *count > 0).collect();
            let places: Vec<u64> = met.iter().map(|(place, _)| *place).collect();
            let mut counts = met.iter().map(|(_, count)| *count);
            // All names in one pass: looking each up by itself took longer than the search. A dictionary that cannot be
            // read has no names to tell.
            let _ = column.dictionary().sorted_ords_to_term_cb(&places, |name| {
                let name = String::from_utf8_lossy(name).into_owned();
                *names.entry(name).or_default() += counts.next().unwrap_or_default();
            });
        }
        harvest
    }
}

/// The best of what is pushed, in memory for twice the window.
struct Best {
    hits: Vec<Hit>,
    window: usize,
    sort: Sort,
    /// The last that was kept when the others were dropped: what is worse need not be looked at.
    last: Option<Hit>,
}

impl Best {
    fn new(window: usize, sort: Sort) -> Self {
        Self { hits: Vec::new(), window, sort, last: None }
    }

    #[inline]
    fn is_worse(&self, has_all: bool, score: Score, date: Option<i64>) -> bool {
        let Some(last) = &self.last else { return false };
        match self.sort {
            Sort::Score => (has_all, score) < (last.has_all, last.score),
            Sort::Date => date < last.date,
        }
    }

    fn push(&mut self, hit: Hit) {
        self.hits.push(hit);
        if self.hits.len() >= 2 * self.window.max(1) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let sort = self.sort;
        if self.hits.len() > self.window && self.window > 0 {
            let (_, last, _) = self.hits.select_nth_unstable_by(self.window - 1, |a, b| a.compare(b, sort));
            self.last = Some(*last);
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
