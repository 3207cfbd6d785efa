//! From the tree of a query to a query of the index, exactly: what matches is what `docs/query.md` says.

use std::collections::BTreeSet;
use std::ops::Bound;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, Query, RangeQuery, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use crate::error::SearchError;
use crate::language::Language;
use crate::list_query::ListQuery;
use crate::query::{Filter, Node, QueryError, QueryProblem, TextField};
use crate::schema::Fields;
use crate::span_query::{SpanNode, SpanQuery};
use crate::tokenizer::{QueryTerm, query_terms};
use crate::word_query::{FieldTerms, FieldWeight, WordQuery};
use crate::xor_query::XorQuery;

/// A beginning may stand for this many terms of a field.
pub const MAX_PREFIX_TERMS: usize = 10_000;
/// Neighbouring words of a query that are this near in the text add to the score.
const PROXIMITY_WORDS: u32 = 4;
/// What that adds, as a share of a phrase's score.
const PROXIMITY_WEIGHT: f32 = 0.4;
/// The score of a page for a word known by its beginning alone.
const PREFIX_SCORE: f32 = 1.0;

/// How much a match in a field counts, for words as for whatever stands in places.
const fn weight(weight: f32, b: f32) -> FieldWeight {
    FieldWeight { weight, b }
}
const TITLE: FieldWeight = weight(2.5, 0.3);
const HEADING: FieldWeight = weight(1.0, 0.3);
const MAIN: FieldWeight = weight(1.0, 0.4);
const OTHER: FieldWeight = weight(0.3, 0.4);
const ANCHOR: FieldWeight = weight(0.8, 0.3);
const URL: FieldWeight = weight(0.4, 0.3);
const AUTHOR: FieldWeight = weight(0.8, 0.3);

/// A query ready to run.
pub struct Compiled {
    pub query: Box<dyn Query>,
    /// More score for words that are near each other: asked of the best pages alone, because it is dear.
    pub nearness: Option<Box<dyn Query>>,
}

pub struct Compiler<'s> {
    pub searcher: &'s Searcher,
    pub fields: &'s Fields,
    /// The languages of the pages in the index.
    pub languages: &'s [Language],
    /// What was typed, for the places in errors.
    pub text: &'s str,
}

type Queries = Vec<(Occur, Box<dyn Query>)>;

impl Compiler<'_> {
    pub fn compile(&self, node: &Node) -> Result<Compiled, SearchError> {
        let Node::List(parts) = node else {
            return Ok(Compiled { query: self.node(node, None)?, nearness: None });
        };
        let wanted: Vec<&Node> = parts.iter().filter(|part| !part.is_condition()).collect();
        let mut near: Vec<Box<dyn Query>> = Vec::new();
        for pair in wanted.windows(2) {
            near.extend(self.proximity(pair)?);
        }
        let query = self.list(parts, None, |parts| Box::new(ListQuery { parts }))?;
        let nearness = (!near.is_empty()).then(|| Box::new(BooleanQuery::union(near)) as Box<dyn Query>);
        Ok(Compiled { query, nearness })
    }

    /// Parts side by side; `join` makes one of those that are wanted.
    fn list(
        &self,
        parts: &[Node],
        field: Option<TextField>,
        join: impl FnOnce(Vec<Box<dyn Query>>) -> Box<dyn Query>,
    ) -> Result<Box<dyn Query>, SearchError> {
        let mut clauses: Queries = Vec::new();
        let mut wanted = Vec::new();
        for part in parts {
            if part.is_condition() {
                clauses.push(self.condition(part, field)?);
            } else {
                wanted.push(self.node(part, field)?);
            }
        }
        if wanted.len() > 1 {
            clauses.push((Occur::Must, join(wanted)));
        } else {
            clauses.extend(wanted.into_iter().map(|only| (Occur::Must, only)));
        }
        Ok(self.all_of(clauses))
    }

    /// More score for two words that are near each other in the text; such pages match already.
    fn proximity(&self, pair: &[&Node]) -> Result<Option<Box<dyn Query>>, SearchError> {
        let [left @ Node::Word(_), right @ Node::Word(_)] = pair else { return Ok(None) };
        let field = self.fields.body;
        let near = SpanNode::Near {
            distance: PROXIMITY_WORDS,
            left: Box::new(self.span(left, field)?),
            right: Box::new(self.span(right, field)?),
        };
        let query = Box::new(SpanQuery { field, node: near });
        Ok(Some(Box::new(BoostQuery::new(query, PROXIMITY_WEIGHT))))
    }

    fn node(&self, node: &Node, field: Option<TextField>) -> Result<Box<dyn Query>, SearchError> {
        Ok(match node {
            Node::Word(_) | Node::Prefix(_) | Node::Phrase(_) | Node::Near { .. } => {
                self.places(node, field)?
            }
            Node::Filter(filter) => Box::new(ConstScoreQuery::new(self.filter(filter), 0.0)),
            Node::Field(inner_field, inner) => self.node(inner, Some(*inner_field))?,
            Node::Not(inner) => self.all_of(vec![(Occur::MustNot, self.node(inner, field)?)]),
            Node::And(parts) => {
                let clauses =
                    parts.iter().map(|part| self.condition(part, field)).collect::<Result<_, _>>()?;
                self.all_of(clauses)
            }
            Node::Or(parts) => {
                let each = parts.iter().map(|part| self.node(part, field)).collect::<Result<_, _>>()?;
                Box::new(BooleanQuery::union(each))
            }
            Node::Xor(parts) => {
                let parts = parts.iter().map(|part| self.node(part, field)).collect::<Result<_, _>>()?;
                Box::new(XorQuery { parts })
            }
            Node::List(parts) => self.list(parts, field, |parts| Box::new(BooleanQuery::union(parts)))?,
        })
    }

    /// A part that must match, or must not.
    fn condition(
        &self,
        node: &Node,
        field: Option<TextField>,
    ) -> Result<(Occur, Box<dyn Query>), SearchError> {
        Ok(match node {
            Node::Not(inner) => (Occur::MustNot, self.node(inner, field)?),
            Node::Field(inner_field, inner) => self.condition(inner, Some(*inner_field))?,
            _ => (Occur::Must, self.node(node, field)?),
        })
    }

    fn all_of(&self, mut clauses: Queries) -> Box<dyn Query> {
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 0.0))));
        }
        match clauses.pop() {
            Some((Occur::Must, only)) if clauses.is_empty() => only,
            last => {
                clauses.extend(last);
                Box::new(BooleanQuery::new(clauses))
            }
        }
    }

    fn filter(&self, filter: &Filter) -> Box<dyn Query> {
        let tag = |tag: String| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(self.fields.tag, &tag), IndexRecordOption::Basic))
        };
        let date = |second| Term::from_field_i64(self.fields.date, second);
        match filter {
            Filter::Site(site) => tag(format!("site:{site}")),
            Filter::Type(name) => tag(format!("type:{name}")),
            Filter::Lang(code) => tag(format!("lang:{code}")),
            Filter::Before(day) => {
                Box::new(RangeQuery::new(Bound::Unbounded, Bound::Excluded(date(day.start_s()))))
            }
            Filter::After(day) => {
                Box::new(RangeQuery::new(Bound::Included(date(day.start_s())), Bound::Unbounded))
            }
        }
    }

    /// Something with places in a text, in one field or in any.
    fn places(&self, node: &Node, field: Option<TextField>) -> Result<Box<dyn Query>, SearchError> {
        let named = field.map(|field| [field]);
        let named: &[TextField] = named.as_ref().map_or(&TextField::ALL, |one| one);
        let mut word = WordQuery { fields: Vec::new() };
        let mut each: Vec<Box<dyn Query>> = Vec::new();
        for (field, weight) in named.iter().flat_map(|field| self.index_fields(*field)) {
            let query: Box<dyn Query> = match self.span(node, field)? {
                SpanNode::Terms(terms) if terms.is_empty() => continue,
                SpanNode::Terms(terms) if matches!(node, Node::Prefix(_)) => {
                    Box::new(ConstScoreQuery::new(Box::new(TermSetQuery::new(terms)), PREFIX_SCORE))
                }
                SpanNode::Terms(terms) => {
                    word.fields.push(FieldTerms { field, weight, terms });
                    continue;
                }
                node => Box::new(SpanQuery { field, node }),
            };
            each.push(Box::new(BoostQuery::new(query, weight.weight)));
        }
        if !word.fields.is_empty() {
            each.push(Box::new(word));
        }
        Ok(match each.pop() {
            None => Box::new(EmptyQuery),
            Some(only) if each.is_empty() => only,
            Some(last) => {
                each.push(last);
                Box::new(BooleanQuery::union(each))
            }
        })
    }

    fn span(&self, node: &Node, field: Field) -> Result<SpanNode, SearchError> {
        Ok(match node {
            Node::Word(text) | Node::Phrase(text) => self.text(text, field, false)?,
            Node::Prefix(text) => self.text(text, field, true)?,
            Node::Or(parts) => {
                SpanNode::Any(parts.iter().map(|part| self.span(part, field)).collect::<Result<_, _>>()?)
            }
            Node::Near { distance, left, right } => SpanNode::Near {
                distance: *distance,
                left: Box::new(self.span(left, field)?),
                right: Box::new(self.span(right, field)?),
            },
            // The parser lets nothing else near a NEAR.
            _ => SpanNode::Any(Vec::new()),
        })
    }

    /// A text in every language: as terms where it is one word, else as phrases.
    fn text(&self, text: &str, field: Field, is_prefix: bool) -> Result<SpanNode, SearchError> {
        let mut readings: BTreeSet<Vec<QueryTerm>> = BTreeSet::new();
        for &language in self.languages {
            let mut terms = query_terms(language, text);
            if is_prefix && let Some(last) = terms.last_mut() {
                last.is_beginning |= language == Language::NONE;
            }
            readings.insert(terms);
        }
        let mut single = BTreeSet::new();
        let mut phrases = Vec::new();
        for reading in &readings {
            match reading.as_slice() {
                [] => {}
                [term] => self.terms_of(term, field, &mut single)?,
                many => {
                    let mut parts = Vec::new();
                    for term in many {
                        let mut terms = BTreeSet::new();
                        self.terms_of(term, field, &mut terms)?;
                        parts.push(SpanNode::Terms(terms.into_iter().collect()));
                    }
                    phrases.push(SpanNode::Phrase(parts));
                }
            }
        }
        let single = SpanNode::Terms(single.into_iter().collect());
        if phrases.is_empty() {
            return Ok(single);
        }
        phrases.push(single);
        Ok(SpanNode::Any(phrases))
    }

    fn terms_of(&self, term: &QueryTerm, field: Field, out: &mut BTreeSet<Term>) -> Result<(), SearchError> {
        if !term.is_beginning {
            out.insert(Term::from_field_text(field, &term.text));
            return Ok(());
        }
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(field)?;
            let mut stream = inverted.terms().range().ge(term.text.as_bytes()).into_stream()?;
            while stream.advance() && stream.key().starts_with(term.text.as_bytes()) {
                if let Ok(text) = std::str::from_utf8(stream.key()) {
                    out.insert(Term::from_field_text(field, text));
                }
                if out.len() > MAX_PREFIX_TERMS {
                    let at = self.text.find(&term.text).unwrap_or(0);
                    let problem = QueryProblem::WidePrefix(term.text.clone(), MAX_PREFIX_TERMS);
                    return Err(QueryError::new(problem, self.text, at).into());
                }
            }
        }
        Ok(())
    }

    /// The fields of the index behind a field of the language.
    fn index_fields(&self, field: TextField) -> Vec<(Field, FieldWeight)> {
        let fields = self.fields;
        match field {
            TextField::Title => vec![(fields.title, TITLE)],
            TextField::Heading => vec![(fields.headings, HEADING)],
            TextField::Text => vec![(fields.body, MAIN), (fields.other, OTHER)],
            TextField::Anchor => vec![(fields.anchor, ANCHOR)],
            TextField::Url => vec![(fields.url, URL)],
            TextField::Author => vec![(fields.author, AUTHOR)],
        }
    }
}
