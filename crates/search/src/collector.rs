//! Going over all matches once: the best ones, the number of them, and the facets.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tantivy::columnar::Column;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::columns::{Columns, Unpacked};
use crate::copies::NAMES;
use crate::error::SearchError;
use crate::evaluate::{Bits, FRAME, Frame};
use crate::ranking::factors;

/// What results are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// See [`crate::copies`].
    pub names: [u64; NAMES],
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

/// What is wanted of all matches.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub sort: Sort,
    /// How many of the best.
    pub window: usize,
    pub facets: bool,
}

/// What the matches of a range of pages bring.
#[derive(Debug)]
pub struct Harvest {
    /// The best, in order.
    pub hits: Vec<Hit>,
    /// The scores of all matches, in no order.
    pub scores: Vec<Score>,
    /// For each of [`FACETS`], how many matches have which value, by the value's number in the segment.
    pub facets: [Vec<u32>; 3],
    pub ordinal: SegmentOrdinal,
}

pub struct Collector<'s> {
    ordinal: SegmentOrdinal,
    columns: &'s Columns,
    factors: &'static [f32],
    group: Column<u64>,
    date: Column<i64>,
    facets: [Vec<u32>; 3],
    with_facets: bool,
    best: Best,
    scores: Vec<Score>,
    /// The scores of a frame's matches, in order.
    buffer: Box<[Score; FRAME]>,
}

impl<'s> Collector<'s> {
    pub fn new(
        ordinal: SegmentOrdinal,
        segment: &SegmentReader,
        columns: &'s Columns,
        wanted: Wanted,
    ) -> Result<Self, SearchError> {
        let fast = segment.fast_fields();
        let counts = |column: &Unpacked| vec![0; if wanted.facets { column.values() } else { 0 }];
        Ok(Self {
            ordinal,
            columns,
            factors: factors(),
            group: fast.u64("group")?,
            date: fast.i64("date")?,
            facets: columns.facets.each_ref().map(counts),
            with_facets: wanted.facets,
            best: Best::new(wanted.window, wanted.sort),
            scores: Vec::new(),
            buffer: Box::new([0.0; FRAME]),
        })
    }

    /// Takes in the matches of a frame that begins at `start` and has `len` pages.
    pub fn collect(&mut self, start: DocId, len: usize, frame: &Frame, has_all: Option<&Bits>) {
        let count = frame.bits.count() as usize;
        if count == 0 {
            return;
        }
        // One by one where they are few, else by way of the unpacked column.
        let is_dense = count * 4 > len;
        let from = start as usize;
        let codes =
            if is_dense { self.columns.prior.all().and_then(|all| all.get(from..from + len)) } else { None };
        let Self { columns, factors, buffer, best, date, group, ordinal, .. } = self;
        let by_date = best.sort == Sort::Date;
        let mut limits = best.limits();
        let mut at = 0;
        frame.bits.each(|slot| {
            let doc = start + slot as DocId;
            let code = match codes.and_then(|codes| codes.get(slot)) {
                Some(code) => usize::from(*code),
                None => columns.prior.get(doc).unwrap_or_default() as usize,
            };
            let factor = factors.get(code).copied().unwrap_or(1.0);
            let sum = frame.sums[slot % FRAME];
            // Conditions alone have no score: then importance decides.
            let score = if sum == 0.0 { factor } else { sum * factor };
            buffer[at % FRAME] = score;
            at += 1;
            let has_all = has_all.is_none_or(|bits| bits.has(slot));
            if score >= limits[usize::from(has_all)] && (!by_date || !best.is_older(date.first(doc))) {
                best.push(Hit {
                    has_all,
                    base: score,
                    score,
                    date: date.first(doc),
                    names: names_of(group, doc),
                    address: DocAddress::new(*ordinal, doc),
                });
                limits = best.limits();
            }
        });
        self.scores.extend_from_slice(self.buffer.get(..at).unwrap_or_default());
        if self.with_facets {
            for (column, counts) in self.columns.facets.iter().zip(&mut self.facets) {
                count_values(column, counts, start, is_dense, &frame.bits, count as u32);
            }
        }
    }

    pub fn harvest(self) -> Harvest {
        let Self { facets, scores, ordinal, .. } = self;
        Harvest { hits: self.best.sorted(), scores, facets, ordinal }
    }
}

/// Those that a page does not have are its own once more.
fn names_of(group: &Column<u64>, doc: DocId) -> [u64; NAMES] {
    let mut names = [group.first(doc).unwrap_or_default(); NAMES];
    for (slot, name) in names.iter_mut().zip(group.values_for_doc(doc)) {
        *slot = name;
    }
    names
}

/// Counts the values of a column in the matches of a frame.
fn count_values(
    column: &Unpacked,
    counts: &mut [u32],
    start: DocId,
    is_dense: bool,
    bits: &Bits,
    matches: u32,
) {
    let mut add = |value: usize, more: u32| {
        if let Some(count) = counts.get_mut(value) {
            *count += more;
        }
    };
    if let Some(value) = column.constant() {
        return add(value as usize, matches);
    }
    let all = if is_dense { column.all().and_then(|all| all.get(start as usize..)) } else { None };
    match all {
        Some(all) => bits.each(|slot| {
            if let Some(value) = all.get(slot) {
                add(usize::from(*value), 1);
            }
        }),
        None => bits.each(|slot| {
            if let Some(value) = column.get(start + slot as DocId) {
                add(value as usize, 1);
            }
        }),
    }
}

/// The best of what is pushed, in memory for twice the window.
pub(crate) struct Best {
    hits: Vec<Hit>,
    window: usize,
    sort: Sort,
    /// The last that was kept when the others were dropped: what is worse need not be looked at.
    last: Option<Hit>,
}

impl Best {
    pub(crate) fn new(window: usize, sort: Sort) -> Self {
        Self { hits: Vec::new(), window, sort, last: None }
    }

    /// The scores from which on a page may be among the best: of those that lack words, and of those that have all.
    fn limits(&self) -> [Score; 2] {
        match &self.last {
            Some(last) if self.sort == Sort::Score && last.has_all => [Score::INFINITY, last.score],
            Some(last) if self.sort == Sort::Score => [last.score, Score::NEG_INFINITY],
            _ => [Score::NEG_INFINITY; 2],
        }
    }

    fn is_older(&self, date: Option<i64>) -> bool {
        self.last.as_ref().is_some_and(|last| date < last.date)
    }

    pub(crate) fn push(&mut self, hit: Hit) {
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

    pub(crate) fn sorted(mut self) -> Vec<Hit> {
        self.shrink();
        let sort = self.sort;
        self.hits.sort_unstable_by(|a, b| a.compare(b, sort));
        self.hits
    }
}
