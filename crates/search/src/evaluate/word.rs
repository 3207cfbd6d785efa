//! A word in all its fields, and other plain lists: tags, beginnings, dates.

use tantivy::columnar::Column;
use tantivy::directory::OwnedBytes;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, TERMINATED, Term};

use super::frame::{Bits, FRAME, Frame};
use super::segment::Segment;
use crate::error::SearchError;
use crate::plan::{ByLength, FieldTerms, K1, WordPlan};

/// Goes through a list within a frame: `each` gets the pages and how often each has the term, block by block, as long as
/// wanted pages lie ahead.
#[inline]
fn each_block(
    list: &mut BlockSegmentPostings,
    start: DocId,
    wanted: &Bits,
    mut each: impl FnMut(&[DocId], &[u32]),
) {
    let end = start.saturating_add(FRAME as DocId).min(TERMINATED);
    let mut slot = 0;
    while let Some(next) = wanted.next(slot) {
        let from = list.seek(start + next as DocId);
        let docs = list.docs();
        let Some(last) = docs.last().copied().filter(|_| from < docs.len()) else { return };
        let to = if last < end { docs.len() } else { docs.partition_point(|doc| *doc < end) };
        let (Some(docs), Some(freqs)) = (docs.get(from..to), list.freqs().get(from..to)) else { return };
        each(docs, freqs);
        if last >= end {
            return;
        }
        slot = (last + 1 - start) as usize;
    }
}

struct TermCursor {
    list: BlockSegmentPostings,
    lengths: OwnedBytes,
    table: ByLength,
}

/// A word: see [`WordPlan`].
pub struct WordCursor {
    terms: Vec<TermCursor>,
    factor: f32,
}

impl WordCursor {
    pub fn open(plan: &WordPlan, segment: &Segment<'_>) -> Result<Self, SearchError> {
        let mut terms = Vec::new();
        for FieldTerms { field, terms: forms, table, .. } in &plan.fields {
            for term in forms {
                if let Some(list) = segment.list(term, IndexRecordOption::WithFreqs)? {
                    terms.push(TermCursor { list, lengths: segment.lengths(*field)?, table: table.clone() });
                }
            }
        }
        Ok(Self { terms, factor: plan.factor() })
    }

    /// How many pages there are at most.
    pub fn size(&self) -> u64 {
        self.terms.iter().map(|term| u64::from(term.list.doc_freq())).sum()
    }

    pub fn fill(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        out.clear();
        for TermCursor { list, lengths, table } in &mut self.terms {
            let lengths = lengths.as_slice().get(start as usize..).unwrap_or_default();
            each_block(list, start, wanted, |docs, freqs| {
                for (doc, freq) in docs.iter().zip(freqs) {
                    let slot = (doc - start) as usize % FRAME;
                    let length = lengths.get(slot).copied().unwrap_or(0);
                    out.sums[slot] += table[usize::from(length)] * *freq as f32;
                }
                out.bits.set_ascending(docs.iter().map(|doc| (doc - start) as usize % FRAME));
            });
        }
        if self.terms.is_empty() {
            return;
        }
        let factor = self.factor;
        for sum in out.sums.iter_mut() {
            *sum = factor * *sum / (K1 + *sum);
        }
        out.keep(wanted);
    }
}

/// Pages in a list, without a score.
pub struct TagCursor(Option<Box<BlockSegmentPostings>>);

impl TagCursor {
    pub fn open(term: &Term, segment: &Segment<'_>) -> Result<Self, SearchError> {
        Ok(Self(segment.list(term, IndexRecordOption::Basic)?.map(Box::new)))
    }

    pub fn size(&self) -> u64 {
        self.0.as_ref().map_or(0, |list| u64::from(list.doc_freq()))
    }

    pub fn fill(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        out.clear();
        let Some(list) = &mut self.0 else { return };
        let end = start.saturating_add(FRAME as DocId).min(TERMINATED);
        let mut slot = 0;
        // Like `each_block`, but such a list has no frequencies.
        while let Some(next) = wanted.next(slot) {
            let from = list.seek(start + next as DocId);
            let docs = list.docs();
            let Some(last) = docs.last().copied().filter(|_| from < docs.len()) else { break };
            let met = docs.get(from..).unwrap_or_default().iter().take_while(|doc| **doc < end);
            out.bits.set_ascending(met.map(|doc| (doc - start) as usize));
            if last >= end {
                break;
            }
            slot = (last + 1 - start) as usize;
        }
        out.bits.and(wanted);
    }
}

/// Words known by their beginning, in several fields: all lists are read beforehand, because there may be thousands.
pub struct BeginningCursor {
    from: DocId,
    fields: Vec<(f32, Vec<u64>)>,
    size: u64,
}

impl BeginningCursor {
    pub fn open(fields: &[FieldTerms], score: f32, segment: &Segment<'_>) -> Result<Self, SearchError> {
        let words = (segment.to.saturating_sub(segment.from) as usize).div_ceil(FRAME) * (FRAME / 64);
        let mut out = Vec::new();
        let mut size = 0;
        for FieldTerms { field, weight, terms, .. } in fields {
            let inverted = segment.inverted(*field)?;
            let mut bits = vec![0_u64; words];
            let mut list: Option<BlockSegmentPostings> = None;
            for term in terms {
                let Some(info) = inverted.get_term_info(term)? else { continue };
                let list = match &mut list {
                    Some(list) => {
                        inverted.reset_block_postings_from_terminfo(&info, list)?;
                        list
                    }
                    none => none
                        .insert(inverted.read_block_postings_from_terminfo(&info, IndexRecordOption::Basic)?),
                };
                size += u64::from(info.doc_freq);
                let mut from = list.seek(segment.from);
                while !list.docs().is_empty() {
                    for doc in list.docs().get(from..).unwrap_or_default() {
                        let at = (doc - segment.from) as usize;
                        if let Some(word) = bits.get_mut(at / 64) {
                            *word |= 1 << (at % 64);
                        }
                    }
                    if list.docs().last().is_some_and(|last| *last >= segment.to) {
                        break;
                    }
                    list.advance();
                    from = 0;
                }
            }
            out.push((score * weight.weight, bits));
        }
        Ok(Self { from: segment.from, fields: out, size })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn fill(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        out.clear();
        let first = (start - self.from) as usize / 64;
        for (score, bits) in &self.fields {
            for (at, word) in bits.iter().skip(first).take(FRAME / 64).enumerate() {
                let mut word = *word;
                while word != 0 {
                    let slot = at * 64 + word.trailing_zeros() as usize;
                    out.sums[slot % FRAME] += score;
                    out.bits.set(slot);
                    word &= word - 1;
                }
            }
        }
        out.keep(wanted);
    }
}

/// Pages dated within.
pub struct DatesCursor {
    pub column: Column<i64>,
    pub from: Option<i64>,
    pub before: Option<i64>,
}

impl DatesCursor {
    pub fn fill(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        out.clear();
        wanted.each(|slot| {
            let date = self.column.first(start + slot as DocId);
            let is_within =
                |date| self.from.is_none_or(|from| date >= from) && self.before.is_none_or(|end| date < end);
            if date.is_some_and(is_within) {
                out.bits.set(slot);
            }
        });
    }
}
