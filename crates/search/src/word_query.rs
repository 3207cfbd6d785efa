//! A word, wherever it stands in a page: BM25 over weighted fields (BM25F, Robertson and others 2004).
//!
//! How often the word stands in each field is weighed and set against the field's length; only the sum is damped. So a
//! word in title and text is one word said twice, not two words. The forms a word takes in several languages count as one.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

use crate::window::Window;

/// How soon repeating a word stops to count.
pub const K1: f32 = 0.9;

/// How a field counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeight {
    pub weight: f32,
    /// How much longer texts are held against a page: 0 not at all, 1 in full.
    pub b: f32,
}

/// The forms of a word in one field.
#[derive(Clone, Debug)]
pub struct FieldTerms {
    pub field: Field,
    pub weight: FieldWeight,
    pub terms: Vec<Term>,
}

#[derive(Clone, Debug)]
pub struct WordQuery {
    pub fields: Vec<FieldTerms>,
}

impl Query for WordQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let mut fields = Vec::new();
        let mut idf = 1.0;
        if let EnableScoring::Enabled { statistics_provider, .. } = scoring {
            let pages = statistics_provider.total_num_docs()?;
            let mut frequency = 0;
            for FieldTerms { field, weight, terms } in &self.fields {
                let mut here = 0;
                for term in terms {
                    here += statistics_provider.doc_freq(term)?;
                }
                frequency = frequency.max(here.min(pages));
                let average = statistics_provider.total_num_tokens(*field)? as f32 / pages.max(1) as f32;
                fields.push(WeighedField {
                    field: *field,
                    terms: terms.clone(),
                    table: table(*weight, average),
                });
            }
            let (pages, frequency) = (pages as f32, frequency as f32);
            idf = (1.0 + (pages - frequency + 0.5) / (frequency + 0.5)).ln();
        } else {
            let flat = Arc::new([1.0; 256]);
            fields.extend(self.fields.iter().map(|part| WeighedField {
                field: part.field,
                terms: part.terms.clone(),
                table: Arc::clone(&flat),
            }));
        }
        Ok(Box::new(WordWeight { fields, idf }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.fields.iter().flat_map(|part| &part.terms).for_each(|term| visitor(term, false));
    }
}

/// What one occurrence counts in a field of each length that the index tells apart.
fn table(weight: FieldWeight, average: f32) -> Arc<[f32; 256]> {
    let mut table = [0.0; 256];
    for (code, value) in (0..=u8::MAX).zip(&mut table) {
        let length = FieldNormReader::id_to_fieldnorm(code) as f32 / average.max(f32::MIN_POSITIVE);
        *value = weight.weight / (1.0 - weight.b + weight.b * length);
    }
    Arc::new(table)
}

struct WeighedField {
    field: Field,
    terms: Vec<Term>,
    table: Arc<[f32; 256]>,
}

impl WeighedField {
    fn cursor(&self, term: &Term, reader: &SegmentReader) -> tantivy::Result<Option<Cursor>> {
        let inverted = reader.inverted_index(self.field)?;
        let Some(postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else {
            return Ok(None);
        };
        let norms = reader.get_fieldnorms_reader(self.field)?;
        Ok(Some(Cursor { postings, norms, table: Arc::clone(&self.table) }))
    }
}

struct WordWeight {
    fields: Vec<WeighedField>,
    idf: f32,
}

impl WordWeight {
    fn cursors(&self, reader: &SegmentReader) -> tantivy::Result<Vec<Cursor>> {
        let mut cursors = Vec::new();
        for field in &self.fields {
            for term in &field.terms {
                cursors.extend(field.cursor(term, reader)?);
            }
        }
        Ok(cursors)
    }

    fn factor(&self) -> f32 {
        self.idf * (K1 + 1.0)
    }
}

impl Weight for WordWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let cursors = self.cursors(reader)?;
        if cursors.is_empty() {
            return Ok(Box::new(EmptyScorer));
        }
        let hint = cursors.iter().map(|cursor| cursor.postings.size_hint()).max().unwrap_or(0);
        let mut scorer =
            WordScorer { cursors, factor: self.factor() * boost, window: Window::new(), doc: 0, hint };
        scorer.refill(0);
        Ok(Box::new(scorer))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut parts = Vec::new();
        for field in &self.fields {
            for term in &field.terms {
                let Some(mut cursor) = field.cursor(term, reader)? else { continue };
                if cursor.postings.doc() == doc
                    || (cursor.postings.doc() < doc && cursor.postings.seek(doc) == doc)
                {
                    let name = reader.schema().get_field_name(field.field).to_owned();
                    let text = term.value().as_str().unwrap_or_default().to_owned();
                    parts.push((name, text, cursor.postings.term_freq(), cursor.value()));
                }
            }
        }
        if parts.is_empty() {
            return Err(TantivyError::InvalidArgument(format!("document {doc} does not match")));
        }
        let sum: f32 = parts.iter().map(|(_, _, _, value)| value).sum();
        let mut explanation =
            Explanation::new("word: rarity × damped sum over fields", self.factor() * sum / (K1 + sum));
        explanation.add_const("rarity (idf)", self.idf);
        for (field, text, times, value) in parts {
            explanation.add_detail(Explanation::new_with_string(
                format!("{field}: «{text}» {times} times, by weight and length"),
                value,
            ));
        }
        Ok(explanation)
    }
}

struct Cursor {
    postings: SegmentPostings,
    norms: FieldNormReader,
    table: Arc<[f32; 256]>,
}

impl Cursor {
    /// What the word counts in the field of the page it stands at.
    #[inline]
    fn value(&self) -> f32 {
        let code = self.norms.fieldnorm_id(self.postings.doc());
        self.table[usize::from(code)] * self.postings.term_freq() as f32
    }
}

struct WordScorer {
    cursors: Vec<Cursor>,
    factor: f32,
    window: Window,
    doc: DocId,
    hint: u32,
}

impl WordScorer {
    /// Goes to the first page from `target` on, which lies behind the window.
    fn refill(&mut self, target: DocId) -> DocId {
        let mut start = TERMINATED;
        self.cursors.retain_mut(|cursor| {
            let at = cursor.postings.doc();
            let at = if at < target { cursor.postings.seek(target) } else { at };
            start = start.min(at);
            at != TERMINATED
        });
        self.doc = start;
        if start == TERMINATED {
            return TERMINATED;
        }
        self.window.restart(start);
        let end = self.window.end();
        for cursor in &mut self.cursors {
            let mut doc = cursor.postings.doc();
            while doc < end {
                self.window.add(doc, cursor.value());
                doc = cursor.postings.advance();
            }
        }
        start
    }
}

impl DocSet for WordScorer {
    #[inline]
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED {
            return TERMINATED;
        }
        match self.window.next(self.doc + 1) {
            Some(doc) => {
                self.doc = doc;
                doc
            }
            None => self.refill(self.window.end()),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target {
            return self.doc;
        }
        match self.window.next(target) {
            Some(doc) => {
                self.doc = doc;
                doc
            }
            None => self.refill(target.max(self.window.end())),
        }
    }

    #[inline]
    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.hint
    }
}

impl Scorer for WordScorer {
    #[inline]
    fn score(&mut self) -> Score {
        let sum = self.window.sum(self.doc);
        self.factor * sum / (K1 + sum)
    }
}
