//! Phrases and NEAR, worked out on the positions of terms.
//!
//! A span is a run of positions in one field of one page. Terms have spans of one position; a phrase joins spans that
//! touch; NEAR takes spans that do not overlap and are at most so many words apart, in either order. The common shapes, which
//! are phrases and pairs of terms, are counted on positions alone.

use tantivy::DocId;
use tantivy::directory::OwnedBytes;
use tantivy::schema::Field;

use super::frame::{Bits, FRAME, Frame};
use super::places::{Places, Runs};
use super::segment::Segment;
use crate::error::SearchError;
use crate::plan::{PlacesNode, PlacesPlan};

/// First position, and the one after the last.
pub(super) type Span = (u32, u32);

/// A [`PlacesNode`] in one segment. Buffers are kept from page to page.
enum Spans {
    Terms(Places),
    Phrase { parts: Vec<Spans>, order: Vec<usize>, buffers: [Vec<Span>; 2] },
    Any(Vec<Spans>),
    Near { distance: u32, pair: Box<[Spans; 2]>, buffers: [Vec<Span>; 2], edges: [Vec<u32>; 2] },
}

impl Spans {
    /// None where the segment cannot have such a span.
    fn open(
        node: &PlacesNode,
        field: Field,
        segment: &mut Segment<'_>,
        expected: u64,
    ) -> Result<Option<Self>, SearchError> {
        Ok(match node {
            PlacesNode::Terms { terms, .. } => {
                Places::open(terms, field, segment, expected)?.map(Self::Terms)
            }
            PlacesNode::Phrase(parts) => {
                let parts: Vec<&PlacesNode> = parts.iter().collect();
                let Some(parts) = Self::open_all(&parts, field, segment, expected)? else {
                    return Ok(None);
                };
                let mut order: Vec<usize> = (0..parts.len()).collect();
                order.sort_by_key(|place| parts.get(*place).map_or(0, Self::size));
                Some(Self::Phrase { parts, order, buffers: Default::default() })
            }
            PlacesNode::Any(parts) => {
                let mut open = Vec::new();
                for part in parts {
                    open.extend(Self::open(part, field, segment, expected)?);
                }
                (!open.is_empty()).then_some(Self::Any(open))
            }
            PlacesNode::Near { distance, left, right } => {
                let Some(parts) = Self::open_all(&[left, right], field, segment, expected)? else {
                    return Ok(None);
                };
                let Ok(pair) = <Box<[Self; 2]>>::try_from(parts) else { return Ok(None) };
                Some(Self::Near {
                    distance: *distance,
                    pair,
                    buffers: Default::default(),
                    edges: Default::default(),
                })
            }
        })
    }

    /// All of them, each knowing how few pages the rarest leaves to look at.
    fn open_all(
        nodes: &[&PlacesNode],
        field: Field,
        segment: &mut Segment<'_>,
        expected: u64,
    ) -> Result<Option<Vec<Self>>, SearchError> {
        let inverted = segment.inverted(field)?;
        let mut fewest = expected;
        for node in nodes {
            if let PlacesNode::Terms { terms, .. } = node {
                let mut pages = 0;
                for term in terms {
                    pages += u64::from(inverted.doc_freq(term)?);
                }
                fewest = fewest.min(pages);
            }
        }
        let mut open = Vec::new();
        for node in nodes {
            let Some(part) = Self::open(node, field, segment, fewest)? else { return Ok(None) };
            open.push(part);
        }
        Ok((!open.is_empty()).then_some(open))
    }

    fn size(&self) -> u64 {
        match self {
            Self::Terms(places) => places.size(),
            Self::Phrase { parts, .. } => parts.iter().map(Self::size).min().unwrap_or(0),
            Self::Any(parts) => parts.iter().map(Self::size).sum(),
            Self::Near { pair, .. } => pair.iter().map(Self::size).min().unwrap_or(0),
        }
    }

    /// Pages that may have a span.
    fn fill(&mut self, start: DocId, wanted: &Bits, bits: &mut Bits) {
        match self {
            Self::Terms(places) => places.fill(start, wanted, bits),
            Self::Any(parts) => parts.iter_mut().for_each(|part| part.fill(start, wanted, bits)),
            Self::Phrase { parts, order, .. } => {
                fill_all(parts, order, start, wanted, bits);
            }
            Self::Near { pair, .. } => {
                let order = if pair[0].size() <= pair[1].size() { [0, 1] } else { [1, 0] };
                fill_all(&mut pair[..], &order, start, wanted, bits);
            }
        }
    }

    fn load(&mut self, start: DocId, bits: &Bits) {
        match self {
            Self::Terms(places) => places.load(start, bits),
            Self::Any(parts) | Self::Phrase { parts, .. } => {
                parts.iter_mut().for_each(|part| part.load(start, bits))
            }
            Self::Near { pair, .. } => pair.iter_mut().for_each(|part| part.load(start, bits)),
        }
    }

    /// Two words of a phrase, or of a NEAR with its distance.
    fn pair(&self, start: DocId) -> Option<(Runs<'_>, Runs<'_>, Option<u32>)> {
        let (pair, distance) = match self {
            Self::Phrase { parts, .. } => (parts.as_slice(), None),
            Self::Near { distance, pair, .. } => (&pair[..], Some(*distance)),
            Self::Terms(_) | Self::Any(_) => return None,
        };
        let [Self::Terms(left), Self::Terms(right)] = pair else { return None };
        Some((left.runs(start), right.runs(start), distance))
    }

    /// The number of spans in a page.
    fn count(&mut self, start: DocId, slot: usize, spans: &mut Vec<Span>) -> u32 {
        match self {
            Self::Terms(places) => places.of(start, slot).count_all() as u32,
            Self::Phrase { parts, .. } if matches!(parts.as_slice(), [Self::Terms(_), Self::Terms(_)]) => {
                let [Self::Terms(left), Self::Terms(right)] = parts.as_mut_slice() else { return 0 };
                left.of(start, slot).touching(right.of(start, slot))
            }
            Self::Near { distance, pair, .. } if matches!(&**pair, [Self::Terms(_), Self::Terms(_)]) => {
                let [Self::Terms(left), Self::Terms(right)] = &mut **pair else { return 0 };
                left.of(start, slot).close(right.of(start, slot), *distance)
            }
            _ => {
                spans.clear();
                self.append(start, slot, spans);
                u32::try_from(spans.len()).unwrap_or(u32::MAX)
            }
        }
    }

    /// Appends the spans in a page.
    fn append(&mut self, start: DocId, slot: usize, out: &mut Vec<Span>) {
        match self {
            Self::Terms(places) => {
                let places = places.of(start, slot);
                out.extend(places.iter().map(|place| (place, place.saturating_add(1))));
            }
            Self::Any(parts) => parts.iter_mut().for_each(|part| part.append(start, slot, out)),
            Self::Phrase { parts, buffers: [before, next], .. } => {
                let begin = out.len();
                for (number, part) in parts.iter_mut().enumerate() {
                    if number == 0 {
                        part.append(start, slot, out);
                    } else {
                        next.clear();
                        part.append(start, slot, next);
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
                left.append(start, slot, lefts);
                right.append(start, slot, rights);
                near(lefts, rights, *distance, edges, out);
            }
        }
    }
}

/// Pages that all of them may have; the rarest is asked first, the others about what is left.
fn fill_all(parts: &mut [Spans], order: &[usize], start: DocId, wanted: &Bits, bits: &mut Bits) {
    let mut left = wanted.clone();
    let mut next = Bits::empty();
    for place in order {
        let Some(part) = parts.get_mut(*place) else { continue };
        next.clear();
        part.fill(start, &left, &mut next);
        std::mem::swap(&mut left, &mut next);
        if left.is_empty() {
            return;
        }
    }
    bits.or(&left);
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

/// A [`PlacesPlan`] in one segment.
pub struct SpanCursor {
    spans: Spans,
    lengths: OwnedBytes,
    plan: PlacesPlan,
    candidates: Bits,
    buffer: Vec<Span>,
}

impl SpanCursor {
    /// `expected` is how many pages may be asked about.
    pub fn open(
        plan: &PlacesPlan,
        segment: &mut Segment<'_>,
        expected: u64,
    ) -> Result<Option<Self>, SearchError> {
        let Some(spans) = Spans::open(&plan.node, plan.field, segment, expected)? else { return Ok(None) };
        let lengths = segment.lengths(plan.field)?;
        Ok(Some(Self { spans, lengths, plan: plan.clone(), candidates: Bits::empty(), buffer: Vec::new() }))
    }

    pub fn size(&self) -> u64 {
        self.spans.size()
    }

    /// Adds the pages of the frame that have a span, with their scores.
    pub fn add(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        self.candidates.clear();
        self.spans.fill(start, wanted, &mut self.candidates);
        if self.candidates.is_empty() {
            return;
        }
        self.spans.load(start, &self.candidates);
        let lengths = self.lengths.as_slice().get(start as usize..).unwrap_or_default();
        let Self { spans, plan, candidates, buffer, .. } = self;
        let mut add = |slot: usize, places: u32| {
            if places > 0 {
                out.bits.set(slot);
                out.sums[slot % FRAME] += plan.score(lengths.get(slot).copied().unwrap_or(0), places);
            }
        };
        let is_done = match spans.pair(start) {
            Some((left, right, None)) => {
                left.each_pair(right, |slot, left, right| add(slot, left.touching(right)))
            }
            Some((left, right, Some(distance))) => {
                left.each_pair(right, |slot, left, right| add(slot, left.close(right, distance)))
            }
            None => false,
        };
        if !is_done {
            candidates.each(|slot| add(slot, spans.count(start, slot, buffer)));
        }
    }

    /// The spans in a page, for an explanation.
    pub fn places(&mut self, start: DocId, slot: usize) -> Option<(f32, u32)> {
        let mut wanted = Bits::empty();
        wanted.set(slot);
        let mut frame = Frame::new();
        self.add(start, &wanted, &mut frame);
        frame.bits.has(slot).then(|| (frame.sums[slot], self.spans.count(start, slot, &mut self.buffer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::positions::{LANES, Positions};

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

    proptest::proptest! {
        #[test]
        fn positions_alone_say_the_same_as_spans(
            left in proptest::collection::btree_set(0_u32..40, 0..12),
            right in proptest::collection::btree_set(0_u32..40, 0..12),
            distance in 1_u32..12,
        ) {
            let (left, right): (Vec<u32>, Vec<u32>) = (left.into_iter().collect(), right.into_iter().collect());
            let spans = |places: &[u32]| places.iter().map(|place| (*place, place + 1)).collect::<Vec<_>>();
            let mut out = Vec::new();
            near(&spans(&left), &spans(&right), distance, &mut Default::default(), &mut out);
            let padded = |places: &[u32]| [places, &[0; LANES]].concat();
            let (one, other) = (padded(&left), padded(&right));
            let one = Positions::new(&one, left.len(), 0);
            let other = Positions::new(&other, right.len(), 0);
            proptest::prop_assert_eq!(one.close(other, distance) as usize, out.len());
            out.clear();
            join(&spans(&left), &mut spans(&right), &mut out);
            proptest::prop_assert_eq!(one.touching(other) as usize, out.len());
        }
    }
}
