//! From the tree of a query to a query of the index, exactly: what matches is what `docs/query.md` says.

use std::collections::BTreeSet;

use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::error::SearchError;
use crate::language::Language;
use crate::plan::{FieldTerms, FieldWeight, PlacesNode, PlacesPlan, Plan, WordPlan};
use crate::query::{Filter, Node, QueryError, QueryProblem, TextField};
use crate::schema::Fields;
use crate::tokenizer::{QueryTerm, query_terms};

/// A beginning may stand for this many terms of a field.
pub const MAX_PREFIX_TERMS: usize = 10_000;
/// Neighbouring words of a query that are this near in the text add to the score.
const PROXIMITY_WORDS: u32 = 4;
/// What that adds, as a share of a phrase's score.
const PROXIMITY_WEIGHT: f32 = 0.4;

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

/// A query ready to be weighed and run.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub plan: Plan,
    /// More score for words that are near each other: asked of the best pages alone, because it is dear.
    pub nearness: Option<Plan>,
}

pub struct Compiler<'s> {
    pub searcher: &'s Searcher,
    pub fields: &'s Fields,
    /// The languages of the pages in the index.
    pub languages: &'s [Language],
    /// What was typed, for the places in errors.
    pub text: &'s str,
}

impl Compiler<'_> {
    pub fn compile(&self, node: &Node) -> Result<Compiled, SearchError> {
        let mut near = Vec::new();
        if let Node::List(parts) = node {
            let wanted: Vec<&Node> = parts.iter().filter(|part| !part.is_condition()).collect();
            for pair in wanted.windows(2) {
                near.extend(self.proximity(pair)?);
            }
        }
        let nearness = (!near.is_empty()).then_some(Plan::Places(near));
        Ok(Compiled { plan: self.node(node, None)?, nearness })
    }

    /// More score for two words that are near each other in the text; such pages match already.
    fn proximity(&self, pair: &[&Node]) -> Result<Option<PlacesPlan>, SearchError> {
        let [left @ Node::Word(_), right @ Node::Word(_)] = pair else { return Ok(None) };
        let field = self.fields.body;
        let near = PlacesNode::Near {
            distance: PROXIMITY_WORDS,
            left: Box::new(self.span(left, field)?),
            right: Box::new(self.span(right, field)?),
        };
        Ok(Some(PlacesPlan::new(field, PROXIMITY_WEIGHT, near)))
    }

    fn node(&self, node: &Node, field: Option<TextField>) -> Result<Plan, SearchError> {
        let each = |parts: &[Node]| parts.iter().map(|part| self.node(part, field)).collect::<Result<_, _>>();
        Ok(match node {
            Node::Word(_) | Node::Prefix(_) | Node::Phrase(_) | Node::Near { .. } => {
                self.places(node, field)?
            }
            Node::Filter(filter) => self.filter(filter),
            Node::Field(inner_field, inner) => self.node(inner, Some(*inner_field))?,
            Node::Not(inner) => Plan::Not(Box::new(self.node(inner, field)?)),
            Node::And(parts) => Plan::And(each(parts)?),
            Node::Or(parts) => Plan::Or(each(parts)?),
            Node::Xor(parts) => Plan::Xor(each(parts)?),
            Node::List(parts) => {
                let (mut conditions, mut wanted) = (Vec::new(), Vec::new());
                for part in parts {
                    let plan = self.node(part, field)?;
                    if part.is_condition() { conditions.push(plan) } else { wanted.push(plan) }
                }
                Plan::List { conditions, wanted }
            }
        })
    }

    fn filter(&self, filter: &Filter) -> Plan {
        let tag = |tag: String| Plan::Tag(Term::from_field_text(self.fields.tag, &tag));
        match filter {
            Filter::Site(site) => tag(format!("site:{site}")),
            Filter::Type(name) => tag(format!("type:{name}")),
            Filter::Lang(code) => tag(format!("lang:{code}")),
            Filter::Before(day) => Plan::Dates { from: None, before: Some(day.start_s()) },
            Filter::After(day) => Plan::Dates { from: Some(day.start_s()), before: None },
        }
    }

    /// Something with places in a text, in one field or in any.
    fn places(&self, node: &Node, field: Option<TextField>) -> Result<Plan, SearchError> {
        let named = field.map(|field| [field]);
        let named: &[TextField] = named.as_ref().map_or(&TextField::ALL, |one| one);
        let mut plain = Vec::new();
        let mut placed = Vec::new();
        let mut is_part = false;
        for (field, weight) in named.iter().flat_map(|field| self.index_fields(*field)) {
            match self.span(node, field)? {
                PlacesNode::Terms { terms, .. } if terms.is_empty() => {}
                PlacesNode::Terms { terms, is_beginning } => {
                    is_part |= is_beginning;
                    plain.push(FieldTerms::new(field, weight, terms));
                }
                node => placed.push(PlacesPlan::new(field, weight.weight, node)),
            }
        }
        let plain = match plain.is_empty() {
            true => None,
            false if matches!(node, Node::Prefix(_)) => Some(Plan::Beginning(plain)),
            false => Some(Plan::Word(WordPlan { fields: plain, is_beginning: is_part, idf: 1.0 })),
        };
        let placed = (!placed.is_empty()).then_some(Plan::Places(placed));
        Ok(match (placed, plain) {
            (None, None) => Plan::Nothing,
            (Some(only), None) | (None, Some(only)) => only,
            (Some(placed), Some(plain)) => Plan::Or(vec![placed, plain]),
        })
    }

    fn span(&self, node: &Node, field: Field) -> Result<PlacesNode, SearchError> {
        Ok(match node {
            Node::Word(text) | Node::Phrase(text) => self.text(text, field, false)?,
            Node::Prefix(text) => self.text(text, field, true)?,
            Node::Or(parts) => {
                PlacesNode::Any(parts.iter().map(|part| self.span(part, field)).collect::<Result<_, _>>()?)
            }
            Node::Near { distance, left, right } => PlacesNode::Near {
                distance: *distance,
                left: Box::new(self.span(left, field)?),
                right: Box::new(self.span(right, field)?),
            },
            // The parser lets nothing else near a NEAR.
            _ => PlacesNode::Any(Vec::new()),
        })
    }

    /// A text: one word as its terms, more as a phrase. A word stands for its stems in every language; where a text is cut
    /// into words does not depend on the language.
    fn text(&self, text: &str, field: Field, is_prefix: bool) -> Result<PlacesNode, SearchError> {
        let mut words: Vec<BTreeSet<QueryTerm>> = Vec::new();
        for &language in self.languages {
            let mut terms = query_terms(language, text);
            if is_prefix && let Some(last) = terms.last_mut() {
                last.is_beginning |= language == Language::NONE;
            }
            words.resize(words.len().max(terms.len()), BTreeSet::new());
            for (word, term) in words.iter_mut().zip(terms) {
                word.insert(term);
            }
        }
        let mut parts = Vec::new();
        for word in &words {
            let mut terms = BTreeSet::new();
            for term in word {
                self.terms_of(term, field, &mut terms)?;
            }
            let is_beginning = word.iter().any(|term| term.is_beginning);
            parts.push(PlacesNode::Terms { terms: terms.into_iter().collect(), is_beginning });
        }
        Ok(match parts.pop() {
            Some(only) if parts.is_empty() => only,
            Some(last) => {
                parts.push(last);
                PlacesNode::Phrase(parts)
            }
            None => PlacesNode::Any(Vec::new()),
        })
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
