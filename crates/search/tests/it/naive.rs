//! The plainest way to answer a query: look at every page, word by word. The oracle of the operators.

use std::collections::BTreeMap;

use lycosa_search::PageDoc;
use lycosa_search::language::Language;
use lycosa_search::query::{Filter, Node, TextField};
use lycosa_search::schema::tags;
use lycosa_search::tokenizer::{index_terms, query_terms};

/// A page as positions of terms.
pub struct Page<'d> {
    doc: &'d PageDoc,
    texts: Vec<(TextField, BTreeMap<u32, String>)>,
}

impl<'d> Page<'d> {
    pub fn new(doc: &'d PageDoc) -> Self {
        let language = Language::of_tag(&doc.language);
        let mut texts = Vec::new();
        for (field, values, language) in [
            (TextField::Title, vec![doc.title.as_str()], language),
            (TextField::Heading, doc.headings.lines().collect(), language),
            (TextField::Text, vec![doc.text.as_str()], language),
            (TextField::Text, doc.other.split("\n\n").collect(), language),
            (TextField::Anchor, doc.anchors.iter().map(String::as_str).collect(), language),
            (TextField::Url, vec![doc.url.as_str()], language),
            (TextField::Author, vec![doc.author.as_str()], Language::NONE),
        ] {
            let mut places = BTreeMap::new();
            let mut at = 0;
            for (number, value) in values.into_iter().enumerate() {
                // The texts of two links, or of two headings, do not touch.
                at += u32::from(number > 0);
                index_terms(language, value, |term, _| {
                    places.insert(at, term.to_owned());
                    at += 1;
                });
            }
            texts.push((field, places));
        }
        Self { doc, texts }
    }

    pub fn matches(&self, node: &Node, field: Option<TextField>, languages: &[Language]) -> bool {
        let of = |part: &Node| self.matches(part, field, languages);
        match node {
            Node::Word(_) | Node::Prefix(_) | Node::Phrase(_) | Node::Near { .. } => self
                .texts
                .iter()
                .filter(|(f, _)| field.is_none_or(|only| only == *f))
                .any(|(_, text)| !spans(node, text, languages).is_empty()),
            Node::Filter(filter) => self.passes(filter),
            Node::Field(inner_field, inner) => self.matches(inner, Some(*inner_field), languages),
            Node::Not(inner) => !of(inner),
            Node::And(parts) => parts.iter().all(of),
            Node::Or(parts) => parts.iter().any(of),
            Node::Xor(parts) => parts.iter().filter(|part| of(part)).count() % 2 == 1,
            Node::List(parts) => {
                let (conditions, wanted): (Vec<&Node>, Vec<&Node>) =
                    parts.iter().partition(|part| part.is_condition());
                conditions.into_iter().all(of) && (wanted.is_empty() || wanted.into_iter().any(of))
            }
        }
    }

    fn passes(&self, filter: &Filter) -> bool {
        let tags = tags(&self.doc.site, &self.doc.content_type, &self.doc.language);
        let has = |tag: String| tags.contains(&tag);
        match filter {
            Filter::Site(site) => has(format!("site:{site}")),
            Filter::Type(name) => has(format!("type:{name}")),
            Filter::Lang(code) => has(format!("lang:{code}")),
            Filter::Before(day) => self.doc.date_s().is_some_and(|date| date < day.start_s()),
            Filter::After(day) => self.doc.date_s().is_some_and(|date| date >= day.start_s()),
        }
    }
}

fn spans(node: &Node, text: &BTreeMap<u32, String>, languages: &[Language]) -> Vec<(u32, u32)> {
    match node {
        Node::Word(words) | Node::Phrase(words) | Node::Prefix(words) => {
            let readings: Vec<_> = languages.iter().map(|language| query_terms(*language, words)).collect();
            let length = readings[0].len();
            let mut out = Vec::new();
            for &start in text.keys() {
                let fits = (0..length).all(|place| {
                    // A word stands for its stems in every language.
                    languages.iter().zip(&readings).any(|(language, terms)| {
                        let term = &terms[place];
                        let is_beginning = term.is_beginning
                            || (place + 1 == length
                                && *language == Language::NONE
                                && matches!(node, Node::Prefix(_)));
                        text.get(&(start + place as u32)).is_some_and(|there| {
                            *there == term.text || (is_beginning && there.starts_with(&term.text))
                        })
                    })
                });
                if fits && length > 0 {
                    out.push((start, start + length as u32));
                }
            }
            out
        }
        Node::Or(parts) => parts.iter().flat_map(|part| spans(part, text, languages)).collect(),
        Node::Near { distance, left, right } => {
            let (lefts, rights) = (spans(left, text, languages), spans(right, text, languages));
            let is_near = |&(start, end): &(u32, u32)| {
                rights.iter().any(|&(begin, last)| {
                    (begin >= end && begin - (end - 1) <= *distance)
                        || (start >= last && start - (last - 1) <= *distance)
                })
            };
            lefts.into_iter().filter(is_near).collect()
        }
        _ => unreachable!("the parser lets nothing else near a NEAR"),
    }
}
