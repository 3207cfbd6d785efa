//! The whole tree of a plan in one segment.

use tantivy::DocId;

use super::frame::{Bits, Frame};
use super::segment::Segment;
use super::span::SpanCursor;
use super::word::{BeginningCursor, DatesCursor, TagCursor, WordCursor};
use crate::error::SearchError;
use crate::plan::Plan;

/// The score of a page for a word known by its beginning alone.
const BEGINNING_SCORE: f32 = 1.0;

/// A part with a frame of its own.
pub(super) struct Part {
    pub(super) cursor: Cursor,
    pub(super) frame: Frame,
}

impl Part {
    fn new(cursor: Cursor) -> Self {
        Self { cursor, frame: Frame::new() }
    }

    fn fill(&mut self, start: DocId, wanted: &Bits) {
        self.cursor.fill(start, wanted, &mut self.frame);
    }
}

/// A [`Plan`] in one segment.
pub struct Cursor(pub(super) Kind);

pub(super) enum Kind {
    Nothing,
    All,
    Word(WordCursor),
    Beginning(BeginningCursor),
    Places(Vec<SpanCursor>),
    Tag(TagCursor),
    Dates(DatesCursor),
    Not(Box<Part>),
    And { parts: Vec<Part>, order: Vec<usize>, left: Bits },
    Or(Vec<Part>),
    Xor(Vec<Part>),
    List { conditions: Box<Part>, wanted: Vec<Part>, left: Bits, has_all: Bits },
}

impl Cursor {
    /// Opens the lists of a plan, which about `expected` pages are asked of.
    pub fn open(plan: &Plan, segment: &mut Segment<'_>, expected: u64) -> Result<Self, SearchError> {
        Ok(Self(match plan {
            Plan::Nothing => Kind::Nothing,
            Plan::All => Kind::All,
            Plan::Word(word) => Kind::Word(WordCursor::open(word, segment)?),
            Plan::Beginning(fields) => {
                Kind::Beginning(BeginningCursor::open(fields, BEGINNING_SCORE, segment)?)
            }
            Plan::Places(fields) => {
                let mut open = Vec::new();
                for field in fields {
                    open.extend(SpanCursor::open(field, segment, expected)?);
                }
                Kind::Places(open)
            }
            Plan::Tag(term) => Kind::Tag(TagCursor::open(term, segment)?),
            Plan::Dates { from, before } => Kind::Dates(DatesCursor {
                column: segment.reader.fast_fields().i64("date")?,
                from: *from,
                before: *before,
            }),
            Plan::Not(part) => Kind::Not(Box::new(Part::new(Self::open(part, segment, expected)?))),
            Plan::And(parts) => all_of(parts, segment, expected)?,
            Plan::Or(parts) => Kind::Or(open_each(parts, segment, expected)?),
            Plan::Xor(parts) => Kind::Xor(open_each(parts, segment, expected)?),
            Plan::List { conditions, wanted } => {
                let conditions = Self(all_of(conditions, segment, expected)?);
                let expected = conditions.size().map_or(expected, |size| size.min(expected));
                Kind::List {
                    conditions: Box::new(Part::new(conditions)),
                    wanted: open_each(wanted, segment, expected)?,
                    left: Bits::empty(),
                    has_all: Bits::empty(),
                }
            }
        }))
    }

    /// How many pages match at most; none if nobody knows.
    fn size(&self) -> Option<u64> {
        match &self.0 {
            Kind::Nothing => Some(0),
            Kind::All | Kind::Not(_) | Kind::Dates(_) => None,
            Kind::Word(word) => Some(word.size()),
            Kind::Beginning(list) => Some(list.size()),
            Kind::Tag(list) => Some(list.size()),
            Kind::Places(fields) => Some(fields.iter().map(SpanCursor::size).sum()),
            Kind::And { parts, .. } => parts.iter().filter_map(|part| part.cursor.size()).min(),
            Kind::Or(parts) | Kind::Xor(parts) => parts.iter().map(|part| part.cursor.size()).sum(),
            Kind::List { conditions, wanted, .. } => {
                let wanted: Option<u64> = wanted.iter().map(|part| part.cursor.size()).sum();
                conditions.cursor.size().into_iter().chain(wanted).min()
            }
        }
    }

    /// Asked later than what costs less for a page.
    fn is_dear(&self) -> bool {
        match &self.0 {
            Kind::Places(_) => true,
            Kind::Not(part) => part.cursor.is_dear(),
            Kind::And { parts, .. } | Kind::Or(parts) | Kind::Xor(parts) => {
                parts.iter().any(|part| part.cursor.is_dear())
            }
            Kind::List { wanted, .. } => wanted.iter().any(|part| part.cursor.is_dear()),
            _ => false,
        }
    }

    /// Pages of the list that have all that is wanted, in the frame that was filled last; none where there is no list.
    pub fn has_all(&self) -> Option<&Bits> {
        match &self.0 {
            Kind::List { wanted, has_all, .. } if wanted.len() > 1 => Some(has_all),
            _ => None,
        }
    }

    /// Which of the wanted pages of a frame match, and with what score.
    pub fn fill(&mut self, start: DocId, wanted: &Bits, out: &mut Frame) {
        match &mut self.0 {
            Kind::Nothing => out.clear(),
            Kind::All => {
                out.clear();
                out.bits.copy(wanted);
            }
            Kind::Word(word) => word.fill(start, wanted, out),
            Kind::Beginning(list) => list.fill(start, wanted, out),
            Kind::Tag(list) => list.fill(start, wanted, out),
            Kind::Dates(dates) => dates.fill(start, wanted, out),
            Kind::Places(fields) => {
                out.clear();
                fields.iter_mut().for_each(|field| field.add(start, wanted, out));
            }
            Kind::Not(part) => {
                part.fill(start, wanted);
                out.clear();
                out.bits.copy(wanted);
                out.bits.minus(&part.frame.bits);
            }
            Kind::And { parts, order, left } => {
                left.copy(wanted);
                out.clear();
                for place in order.iter() {
                    let Some(part) = parts.get_mut(*place) else { continue };
                    part.fill(start, left);
                    left.copy(&part.frame.bits);
                    if left.is_empty() {
                        return;
                    }
                }
                // In the order of the query, so that a page has the same score wherever it lies.
                parts.iter().for_each(|part| out.add_sums(&part.frame));
                parts.iter().for_each(|part| out.bits.or(&part.frame.bits));
                out.keep(left);
            }
            Kind::Or(parts) => {
                out.clear();
                for part in parts {
                    part.fill(start, wanted);
                    out.add_sums(&part.frame);
                    out.bits.or(&part.frame.bits);
                }
            }
            Kind::Xor(parts) => {
                out.clear();
                let mut odd = Bits::empty();
                for part in parts {
                    part.fill(start, wanted);
                    out.add_sums(&part.frame);
                    out.bits.or(&part.frame.bits);
                    odd.xor(&part.frame.bits);
                }
                out.keep(&odd);
            }
            Kind::List { conditions, wanted: parts, left, has_all } => {
                conditions.fill(start, wanted);
                left.copy(&conditions.frame.bits);
                has_all.copy(left);
                out.clear();
                if left.is_empty() {
                    return;
                }
                for part in parts.iter_mut() {
                    part.fill(start, left);
                    out.add_sums(&part.frame);
                    out.bits.or(&part.frame.bits);
                    has_all.and(&part.frame.bits);
                }
                if parts.is_empty() {
                    out.bits.copy(left);
                }
            }
        }
    }
}

fn open_each(plans: &[Plan], segment: &mut Segment<'_>, expected: u64) -> Result<Vec<Part>, SearchError> {
    plans.iter().map(|plan| Ok(Part::new(Cursor::open(plan, segment, expected)?))).collect()
}

/// All of the plans; what costs much is opened last, knowing how few pages the others leave.
fn all_of(plans: &[Plan], segment: &mut Segment<'_>, expected: u64) -> Result<Kind, SearchError> {
    if plans.is_empty() {
        return Ok(Kind::All);
    }
    let mut expected = expected;
    let mut open: Vec<Option<Part>> = plans.iter().map(|_| None).collect();
    for is_last in [false, true] {
        for (plan, slot) in
            plans.iter().zip(&mut open).filter(|(plan, _)| matches!(plan, Plan::Places(_)) == is_last)
        {
            let cursor = Cursor::open(plan, segment, expected)?;
            expected = cursor.size().map_or(expected, |size| size.min(expected));
            *slot = Some(Part::new(cursor));
        }
    }
    let parts: Vec<Part> = open.into_iter().flatten().collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|place| {
        parts.get(*place).map(|part| (part.cursor.is_dear(), part.cursor.size().unwrap_or(u64::MAX)))
    });
    Ok(Kind::And { parts, order, left: Bits::empty() })
}
