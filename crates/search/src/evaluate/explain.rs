//! How the score of one page came about.

use serde::{Deserialize, Serialize};
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader};

use super::cursor::Cursor;
use super::frame::{Bits, FRAME, Frame};
use super::segment::Segment;
use super::span::SpanCursor;
use crate::error::SearchError;
use crate::plan::{K1, PlacesPlan, Plan, WordPlan};

/// A part of a score, and what it is made of.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Explanation {
    pub what: String,
    pub value: f32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Explanation>,
}

impl Explanation {
    fn new(what: impl Into<String>, value: f32, parts: Vec<Self>) -> Self {
        Self { what: what.into(), value, parts }
    }

    /// How the words' part of a page's score came about; none if the page does not match.
    pub fn of(plan: &Plan, reader: &SegmentReader, doc: DocId) -> Result<Option<Self>, SearchError> {
        let sum = |name: &str, parts: &[Plan]| -> Result<Option<Self>, SearchError> {
            let mut each = Vec::new();
            for part in parts {
                each.extend(Self::of(part, reader, doc)?);
            }
            let value = each.iter().map(|part| part.value).sum();
            Ok(Some(Self::new(name, value, each)))
        };
        match plan {
            Plan::Word(word) => of_word(word, reader, doc),
            Plan::Places(fields) => {
                let mut each = Vec::new();
                for field in fields {
                    each.extend(of_places(field, reader, doc)?);
                }
                let value = each.iter().map(|part| part.value).sum();
                Ok((!each.is_empty())
                    .then(|| Self::new("words in their places, over the fields", value, each)))
            }
            _ if !matches(plan, reader, doc)? => Ok(None),
            Plan::Beginning(_) => {
                let mut segment = segment(reader, doc);
                let mut frame = Frame::new();
                let (start, slot, wanted) = place_of(doc);
                Cursor::open(plan, &mut segment, 1)?.fill(start, &wanted, &mut frame);
                Ok(Some(Self::new("words that begin so, over the fields", frame.sums[slot], Vec::new())))
            }
            Plan::And(parts) => sum("all of", parts),
            Plan::Or(parts) => sum("any of", parts),
            Plan::Xor(parts) => sum("an odd number of", parts),
            Plan::List { wanted, .. } => sum("sum over the words", wanted),
            Plan::Nothing | Plan::All | Plan::Not(_) | Plan::Tag(_) | Plan::Dates { .. } => {
                Ok(Some(Self::new("a condition, without a score", 0.0, Vec::new())))
            }
        }
    }
}

fn place_of(doc: DocId) -> (DocId, usize, Bits) {
    let slot = doc as usize % FRAME;
    let mut wanted = Bits::empty();
    wanted.set(slot);
    (doc - slot as DocId, slot, wanted)
}

fn segment(reader: &SegmentReader, doc: DocId) -> Segment<'_> {
    Segment::new(reader, doc, doc.saturating_add(1))
}

fn matches(plan: &Plan, reader: &SegmentReader, doc: DocId) -> Result<bool, SearchError> {
    let (start, slot, wanted) = place_of(doc);
    let mut frame = Frame::new();
    Cursor::open(plan, &mut segment(reader, doc), 1)?.fill(start, &wanted, &mut frame);
    Ok(frame.bits.has(slot))
}

fn of_word(word: &WordPlan, reader: &SegmentReader, doc: DocId) -> Result<Option<Explanation>, SearchError> {
    let mut parts = Vec::new();
    for field in &word.fields {
        let inverted = reader.inverted_index(field.field)?;
        let lengths = reader.get_fieldnorms_reader(field.field)?;
        for term in &field.terms {
            let Some(mut list) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else {
                continue;
            };
            if list.doc() == doc || (list.doc() < doc && list.seek(doc) == doc) {
                let name = reader.schema().get_field_name(field.field);
                let text = term.value().as_str().unwrap_or_default().to_owned();
                let times = list.term_freq();
                let value = field.table[usize::from(lengths.fieldnorm_id(doc))] * times as f32;
                let what = format!("{name}: «{text}» {times} times, by weight and length");
                parts.push(Explanation::new(what, value, Vec::new()));
            }
        }
    }
    let sum: f32 = parts.iter().map(|part| part.value).sum();
    let is_there = !parts.is_empty();
    parts.insert(0, Explanation::new("rarity (idf)", word.idf, Vec::new()));
    let value = word.factor() * sum / (K1 + sum);
    Ok(is_there.then(|| Explanation::new("word: rarity × damped sum over fields", value, parts)))
}

fn of_places(
    plan: &PlacesPlan,
    reader: &SegmentReader,
    doc: DocId,
) -> Result<Option<Explanation>, SearchError> {
    let (start, slot, _) = place_of(doc);
    let Some(mut cursor) = SpanCursor::open(plan, &mut segment(reader, doc), 1)? else { return Ok(None) };
    let Some((value, places)) = cursor.places(start, slot) else { return Ok(None) };
    let name = reader.schema().get_field_name(plan.field);
    let times = if places == 1 { "once".to_owned() } else { format!("{places} times") };
    Ok(Some(Explanation::new(format!("{name}: {times}, by rarity, weight and length"), value, Vec::new())))
}
