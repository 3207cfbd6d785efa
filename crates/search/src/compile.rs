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
use crate::query::{Filter, Node, QueryError, QueryProblem, TextField};
use crate::schema::Fields;
use crate::span_query::{SpanNode, SpanQuery};
use crate::tokenizer::{QueryTerm, query_terms};
use crate::xor_query::XorQuery;

/// A beginning may stand for this many terms of a field.
pub const MAX_PREFIX_TERMS: usize = 10_000;
/// Neighbouring words of a query that are this near in the text add to the score.
const PROXIMITY_WORDS: u32 = 4;
/// What that adds, as a share of a phrase's score.
const PROXIMITY_WEIGHT: f32 = 0.4;
/// The score of a page for a word known by its beginning alone.
const PREFIX_SCORE: f32 = 1.0;

/// How much a match in a field counts.
pub fn field_weight(field: TextField) -> f32 {
    match field {
        TextField::Title => 2.0,
        TextField::Heading => 0.6,
        TextField::Text => 1.0,
        TextField::Anchor => 0.8,
        TextField::Url => 0.4,
        TextField::Author => 0.6,
    }
}

/// A query ready to run.
pub struct Compiled {
    pub query: Box<dyn Query>,
    /// Pages that have all the parts that stand side by side; none where there is one part.
    pub all: Option<Box<dyn Query>>,
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
        let mut query = self.node(node, None)?;
        let mut all = None;
        if let Node::List(parts) = node {
            let wanted: Vec<&Node> = parts.iter().filter(|part| !part.is_condition()).collect();
            if wanted.len() > 1 {
                let each = wanted.iter().map(|part| self.node(part, None)).collect::<Result<_, _>>()?;
                all = Some(Box::new(BooleanQuery::intersection(each)) as Box<dyn Query>);
                let mut clauses: Queries = vec![(Occur::Must, query)];
                for pair in wanted.windows(2) {
                    clauses.extend(self.proximity(pair)?.map(|near| (Occur::Should, near)));
                }
                query = Box::new(BooleanQuery::new(clauses));
            }
        }
        Ok(Compiled { query, all })
    }

    /// More score for two words that are near each other in the text; such pages match already.
    fn proximity(&self, pair: &[&Node]) -> Result<Option<Box<dyn Query>>, SearchError> {
        let [left @ Node::Word(_), right @ Node::Word(_)] = pair else { return Ok(None) };
        let field = self.field(TextField::Text);
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
            Node::List(parts) => {
                let mut clauses = Vec::new();
                let mut wanted = Vec::new();
                for part in parts {
                    if part.is_condition() {
                        clauses.push(self.condition(part, field)?);
                    } else {
                        wanted.push(self.node(part, field)?);
                    }
                }
                if !wanted.is_empty() {
                    clauses.push((Occur::Must, Box::new(BooleanQuery::union(wanted)) as Box<dyn Query>));
                }
                self.all_of(clauses)
            }
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
        Box::new(BooleanQuery::new(clauses))
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
        let fields: &[TextField] = named.as_ref().map_or(&TextField::ALL, |one| one);
        let mut each: Vec<Box<dyn Query>> = Vec::new();
        for &field in fields {
            let index_field = self.field(field);
            let query: Box<dyn Query> = match self.span(node, index_field)? {
                SpanNode::Terms(terms) if terms.is_empty() => continue,
                SpanNode::Terms(terms) if matches!(node, Node::Prefix(_)) => {
                    Box::new(ConstScoreQuery::new(Box::new(TermSetQuery::new(terms)), PREFIX_SCORE))
                }
                SpanNode::Terms(terms) => BooleanQueryOf(terms).into_query(),
                node => Box::new(SpanQuery { field: index_field, node }),
            };
            each.push(Box::new(BoostQuery::new(query, field_weight(field))));
        }
        Ok(match each.len() {
            0 => Box::new(EmptyQuery),
            _ => Box::new(BooleanQuery::union(each)),
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

    fn field(&self, field: TextField) -> Field {
        match field {
            TextField::Title => self.fields.title,
            TextField::Heading => self.fields.headings,
            TextField::Text => self.fields.body,
            TextField::Anchor => self.fields.anchor,
            TextField::Url => self.fields.url,
            TextField::Author => self.fields.author,
        }
    }
}

/// Any of some terms.
struct BooleanQueryOf(Vec<Term>);

impl BooleanQueryOf {
    fn into_query(self) -> Box<dyn Query> {
        let mut each: Vec<Box<dyn Query>> = self
            .0
            .into_iter()
            .map(|term| Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>)
            .collect();
        match each.len() {
            1 => each.pop().unwrap_or_else(|| Box::new(EmptyQuery)),
            _ => Box::new(BooleanQuery::union(each)),
        }
    }
}
