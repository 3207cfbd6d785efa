//! Places in a text: phrases and NEAR, evaluated on the positions of terms.
//!
//! A span is a run of positions in one field of one page. Terms have spans of one position; a phrase joins spans that
//! touch; NEAR takes spans that do not overlap and are at most so many words apart, in either order.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

/// What is looked for; all terms are of one field.
#[derive(Clone, Debug)]
pub enum SpanNode {
    /// Any of the terms.
    Terms(Vec<Term>),
    /// One after the other without a gap.
    Phrase(Vec<SpanNode>),
    /// Any of them.
    Any(Vec<SpanNode>),
    /// Both, at most `distance` words apart, in either order.
    Near { distance: u32, left: Box<SpanNode>, right: Box<SpanNode> },
}

impl SpanNode {
    fn each_terms<'n>(&'n self, each: &mut dyn FnMut(&'n [Term])) {
        match self {
            Self::Terms(terms) => each(terms),
            Self::Phrase(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.each_terms(each)),
            Self::Near { left, right, .. } => {
                left.each_terms(each);
                right.each_terms(each);
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct SpanQuery {
    pub field: Field,
    pub node: SpanNode,
}

impl Query for SpanQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let bm25 = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                // Alternatives count once, as frequent as the most frequent of them.
                let mut weighed = Vec::new();
                let mut groups = Vec::new();
                self.node.each_terms(&mut |terms| groups.push(terms));
                for terms in groups {
                    let mut best: Option<(u64, &Term)> = None;
                    for term in terms {
                        let frequency = statistics_provider.doc_freq(term)?;
                        if best.is_none_or(|(most, _)| frequency > most) {
                            best = Some((frequency, term));
                        }
                    }
                    weighed.extend(best.map(|(_, term)| term.clone()));
                }
                if weighed.is_empty() {
                    None
                } else {
                    Some(Bm25Weight::for_terms(statistics_provider, &weighed)?)
                }
            }
            EnableScoring::Disabled { .. } => None,
        };
        Ok(Box::new(SpanWeight { field: self.field, node: self.node.clone(), bm25 }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.node.each_terms(&mut |terms| terms.iter().for_each(|term| visitor(term, true)));
    }
}

struct SpanWeight {
    field: Field,
    node: SpanNode,
    bm25: Option<Bm25Weight>,
}

impl SpanWeight {
    fn span_scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Option<SpanScorer>> {
        let Some(cursor) = Cursor::open(&self.node, self.field, reader)? else { return Ok(None) };
        let norms = match &self.bm25 {
            Some(_) => reader.get_fieldnorms_reader(self.field)?,
            None => FieldNormReader::constant(reader.max_doc(), 1),
        };
        let bm25 = self.bm25.as_ref().map(|bm25| bm25.boost_by(boost));
        let mut scorer =
            SpanScorer { cursor, norms, bm25, doc: 0, spans: Vec::new(), hint: reader.max_doc() / 16 };
        scorer.settle(0);
        Ok(Some(scorer))
    }
}

impl Weight for SpanWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(match self.span_scorer(reader, boost)? {
            Some(scorer) => Box::new(scorer),
            None => Box::new(EmptyScorer),
        })
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let missing = || TantivyError::InvalidArgument(format!("document {doc} does not match"));
        let mut scorer = self.span_scorer(reader, 1.0)?.ok_or_else(missing)?;
        if scorer.doc > doc || scorer.seek(doc) != doc {
            return Err(missing());
        }
        let mut explanation = Explanation::new("words in their places", scorer.score());
        explanation.add_const("places", scorer.spans.len() as Score);
        Ok(explanation)
    }
}

/// First position, and the one after the last.
type Span = (u32, u32);

struct SpanScorer {
    cursor: Cursor,
    norms: FieldNormReader,
    bm25: Option<Bm25Weight>,
    doc: DocId,
    spans: Vec<Span>,
    hint: u32,
}

impl SpanScorer {
    /// Goes to the first page from `target` on that has a span.
    fn settle(&mut self, mut target: DocId) -> DocId {
        loop {
            let doc = self.cursor.seek(target);
            if doc == TERMINATED {
                self.doc = TERMINATED;
                return TERMINATED;
            }
            self.spans.clear();
            self.cursor.spans(doc, &mut self.spans);
            if !self.spans.is_empty() {
                self.doc = doc;
                return doc;
            }
            target = doc + 1;
        }
    }
}

impl DocSet for SpanScorer {
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED { TERMINATED } else { self.settle(self.doc + 1) }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target { self.doc } else { self.settle(target) }
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.hint
    }
}

impl Scorer for SpanScorer {
    fn score(&mut self) -> Score {
        let frequency = u32::try_from(self.spans.len()).unwrap_or(u32::MAX);
        self.bm25.as_ref().map_or(1.0, |bm25| bm25.score(self.norms.fieldnorm_id(self.doc), frequency))
    }
}

/// A [`SpanNode`] in one segment. Buffers are kept from page to page.
enum Cursor {
    Terms { postings: Vec<SegmentPostings>, places: Vec<u32> },
    Phrase { parts: Vec<Cursor>, buffers: [Vec<Span>; 2] },
    Any(Vec<Cursor>),
    Near { distance: u32, pair: Box<[Cursor; 2]>, buffers: [Vec<Span>; 2], edges: [Vec<u32>; 2] },
}

impl Cursor {
    /// None where the segment cannot have such a span.
    fn open(node: &SpanNode, field: Field, reader: &SegmentReader) -> tantivy::Result<Option<Self>> {
        Ok(match node {
            SpanNode::Terms(terms) => {
                let inverted = reader.inverted_index(field)?;
                let mut postings = Vec::new();
                for term in terms {
                    postings.extend(inverted.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?);
                }
                (!postings.is_empty()).then_some(Self::Terms { postings, places: Vec::new() })
            }
            SpanNode::Phrase(parts) => {
                let mut cursors = Vec::new();
                for part in parts {
                    let Some(cursor) = Self::open(part, field, reader)? else { return Ok(None) };
                    cursors.push(cursor);
                }
                (!cursors.is_empty()).then_some(Self::Phrase { parts: cursors, buffers: Default::default() })
            }
            SpanNode::Any(parts) => {
                let mut cursors = Vec::new();
                for part in parts {
                    cursors.extend(Self::open(part, field, reader)?);
                }
                (!cursors.is_empty()).then_some(Self::Any(cursors))
            }
            SpanNode::Near { distance, left, right } => {
                match (Self::open(left, field, reader)?, Self::open(right, field, reader)?) {
                    (Some(left), Some(right)) => Some(Self::Near {
                        distance: *distance,
                        pair: Box::new([left, right]),
                        buffers: Default::default(),
                        edges: Default::default(),
                    }),
                    _ => None,
                }
            }
        })
    }

    /// The first page from `target` on that may have a span.
    fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Self::Terms { postings, .. } => {
                let mut first = TERMINATED;
                for posting in postings {
                    let doc = if posting.doc() < target { posting.seek(target) } else { posting.doc() };
                    first = first.min(doc);
                }
                first
            }
            Self::Any(cursors) => {
                cursors.iter_mut().map(|cursor| cursor.seek(target)).min().unwrap_or(TERMINATED)
            }
            Self::Phrase { parts, .. } => seek_all(parts, target),
            Self::Near { pair, .. } => seek_all(&mut pair[..], target),
        }
    }

    /// Appends the spans in a page that [`Cursor::seek`] has gone to.
    fn spans(&mut self, doc: DocId, out: &mut Vec<Span>) {
        match self {
            Self::Terms { postings, places } => {
                places.clear();
                for posting in postings.iter_mut().filter(|posting| posting.doc() == doc) {
                    posting.append_positions_with_offset(0, places);
                }
                out.extend(places.iter().map(|&place| (place, place + 1)));
            }
            Self::Any(cursors) => cursors.iter_mut().for_each(|cursor| cursor.spans(doc, out)),
            Self::Phrase { parts, buffers: [before, next] } => {
                let begin = out.len();
                for (number, part) in parts.iter_mut().enumerate() {
                    if number == 0 {
                        part.spans(doc, out);
                    } else {
                        next.clear();
                        part.spans(doc, next);
                        before.clear();
                        before.extend(out.drain(begin..));
                        join(before, next, out);
                    }
                    if out.len() == begin {
                        return;
                    }
                }
            }
            Self::Near { distance, pair, buffers: [lefts, rights], edges } => {
                let [left, right] = &mut **pair;
                lefts.clear();
                rights.clear();
                left.spans(doc, lefts);
                right.spans(doc, rights);
                near(lefts, rights, *distance, edges, out);
            }
        }
    }
}

/// The first page from `target` on that every cursor may have.
fn seek_all(cursors: &mut [Cursor], target: DocId) -> DocId {
    let mut target = target;
    loop {
        let mut furthest = target;
        for cursor in cursors.iter_mut() {
            furthest = cursor.seek(furthest);
            if furthest == TERMINATED {
                return TERMINATED;
            }
        }
        if furthest == target {
            return target;
        }
        target = furthest;
    }
}

/// Appends the spans of `before` prolonged by those of `next` that begin where they end.
fn join(before: &[Span], next: &mut [Span], out: &mut Vec<Span>) {
    next.sort_unstable();
    for &(start, end) in before {
        let from = next.partition_point(|&(begin, _)| begin < end);
        out.extend(
            next[from..].iter().take_while(|&&(begin, _)| begin == end).map(|&(_, last)| (start, last)),
        );
    }
}

/// Appends the spans of `lefts` that have one of `rights` before or behind them, at most `distance` words away.
fn near(lefts: &[Span], rights: &[Span], distance: u32, edges: &mut [Vec<u32>; 2], out: &mut Vec<Span>) {
    let [starts, ends] = edges;
    starts.clear();
    ends.clear();
    starts.extend(rights.iter().map(|&(start, _)| start));
    ends.extend(rights.iter().map(|&(_, end)| end));
    starts.sort_unstable();
    ends.sort_unstable();
    for &(start, end) in lefts {
        let behind = starts.get(starts.partition_point(|&begin| begin < end));
        let is_behind = behind.is_some_and(|&begin| begin < end.saturating_add(distance));
        let before = ends.partition_point(|&last| last <= start).checked_sub(1).and_then(|at| ends.get(at));
        let is_before = before.is_some_and(|&last| last.saturating_add(distance) > start);
        if is_behind || is_before {
            out.push((start, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_has_no_order_and_no_overlap() {
        let of = |lefts: &[Span], rights: &[Span], distance| {
            let mut out = Vec::new();
            near(lefts, rights, distance, &mut Default::default(), &mut out);
            out.len()
        };
        assert_eq!(of(&[(5, 6)], &[(6, 7)], 1), 1);
        assert_eq!(of(&[(6, 7)], &[(5, 6)], 1), 1);
        assert_eq!(of(&[(5, 6)], &[(7, 8)], 1), 0);
        assert_eq!(of(&[(7, 8)], &[(5, 6)], 1), 0);
        assert_eq!(of(&[(7, 8)], &[(5, 6)], 2), 1);
        assert_eq!(of(&[(5, 6)], &[(5, 6)], 9), 0);
        assert_eq!(of(&[(5, 8)], &[(6, 7)], 9), 0);
    }

    #[test]
    fn phrases_join_what_touches() {
        let mut out = vec![(9, 9)];
        join(&[(0, 1), (4, 5)], &mut [(5, 6), (2, 3)], &mut out);
        assert_eq!(out, [(9, 9), (4, 6)]);
    }
}
