//! A query as the index understands it: terms of fields instead of words, and how much each counts.
//!
//! A plan is made by [`crate::compile`], weighed by [`Plan::weigh`] with what is known of all pages, and run by
//! [`crate::evaluate`] on each segment.

use std::sync::Arc;

use tantivy::Term;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;

use crate::statistics::Statistics;

/// How soon repeating a word stops to count.
pub const K1: f32 = 0.9;
/// The same for what stands in places, such as a phrase.
const PLACES_K1: f32 = 1.2;
/// How much longer texts are held against a page there.
const PLACES_B: f32 = 0.75;

/// How a field counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeight {
    pub weight: f32,
    /// How much longer texts are held against a page: 0 not at all, 1 in full.
    pub b: f32,
}

/// For each length that the index tells apart, a number.
pub type ByLength = Arc<[f32; 256]>;

/// A part of a query.
#[derive(Clone, Debug)]
pub enum Plan {
    Nothing,
    All,
    Word(WordPlan),
    /// Words known by their beginning: the same score wherever they stand in a field.
    Beginning(Vec<FieldTerms>),
    /// Something with places, in each of several fields by itself.
    Places(Vec<PlacesPlan>),
    /// Pages that carry a tag.
    Tag(Term),
    /// Pages dated within, in seconds since 1970; either end may be open.
    Dates {
        from: Option<i64>,
        before: Option<i64>,
    },
    Not(Box<Plan>),
    And(Vec<Plan>),
    Or(Vec<Plan>),
    /// An odd number of the parts.
    Xor(Vec<Plan>),
    /// Parts side by side: all conditions, and at least one of what is wanted.
    List {
        conditions: Vec<Plan>,
        wanted: Vec<Plan>,
    },
}

/// The forms of a word in one field.
#[derive(Clone, Debug)]
pub struct FieldTerms {
    pub field: Field,
    pub weight: FieldWeight,
    pub terms: Vec<Term>,
    /// What one occurrence counts in a text of each length.
    pub table: ByLength,
}

impl FieldTerms {
    pub fn new(field: Field, weight: FieldWeight, terms: Vec<Term>) -> Self {
        Self { field, weight, terms, table: flat() }
    }
}

/// A word, wherever it stands in a page: BM25 over weighted fields (BM25F, Robertson and others 2004).
///
/// How often the word stands in each field is weighed and set against the field's length; only the sum is damped. So a
/// word in title and text is one word said twice, not two words. The forms a word takes in several languages count as one.
#[derive(Clone, Debug)]
pub struct WordPlan {
    pub fields: Vec<FieldTerms>,
    /// The terms are what this index happens to hold of a beginning, which is one character of a dense script.
    pub is_beginning: bool,
    /// How rare the word is.
    pub idf: f32,
}

impl WordPlan {
    pub fn factor(&self) -> f32 {
        self.idf * (K1 + 1.0)
    }
}

/// Something with places in the texts of one field, scored by BM25.
#[derive(Clone, Debug)]
pub struct PlacesPlan {
    pub field: Field,
    pub weight: f32,
    pub node: PlacesNode,
    /// Rarity, weight and what BM25 multiplies by.
    pub factor: f32,
    /// What is added to the number of places before it divides them, for each length.
    pub table: ByLength,
}

impl PlacesPlan {
    pub fn new(field: Field, weight: f32, node: PlacesNode) -> Self {
        Self { field, weight, node, factor: 1.0, table: flat() }
    }

    pub fn score(&self, length_code: u8, places: u32) -> f32 {
        let places = places as f32;
        self.factor * places / (places + self.table[usize::from(length_code)])
    }
}

/// What is looked for; all terms are of one field.
#[derive(Clone, Debug)]
pub enum PlacesNode {
    /// Any of the terms; those of a beginning are what this index happens to hold.
    Terms { terms: Vec<Term>, is_beginning: bool },
    /// One after the other without a gap.
    Phrase(Vec<PlacesNode>),
    /// Any of them.
    Any(Vec<PlacesNode>),
    /// Both, at most `distance` words apart, in either order.
    Near { distance: u32, left: Box<PlacesNode>, right: Box<PlacesNode> },
}

impl PlacesNode {
    fn each_terms<'n>(&'n self, each: &mut dyn FnMut(&'n [Term], bool)) {
        match self {
            Self::Terms { terms, is_beginning } => each(terms, *is_beginning),
            Self::Phrase(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.each_terms(each)),
            Self::Near { left, right, .. } => {
                left.each_terms(each);
                right.each_terms(each);
            }
        }
    }
}

impl Plan {
    /// Calls for every term whose number of pages the scores depend on.
    pub fn each_term<'p>(&'p self, each: &mut dyn FnMut(&'p Term)) {
        match self {
            Self::Word(word) if word.is_beginning => {}
            Self::Word(word) => word.fields.iter().flat_map(|field| &field.terms).for_each(each),
            Self::Places(fields) => {
                for places in fields {
                    places.node.each_terms(&mut |terms, is_beginning| {
                        terms.iter().filter(|_| !is_beginning).for_each(&mut *each);
                    });
                }
            }
            Self::Not(part) => part.each_term(each),
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => {
                parts.iter().for_each(|part| part.each_term(each));
            }
            Self::List { conditions, wanted } => {
                conditions.iter().chain(wanted).for_each(|part| part.each_term(each));
            }
            Self::Nothing | Self::All | Self::Beginning(_) | Self::Tag(_) | Self::Dates { .. } => {}
        }
    }

    /// Fills in what depends on how many pages there are and how many have which term. The query and the statistics say it
    /// all: what this index holds of a beginning must not matter, or nodes would give equal pages different scores.
    pub fn weigh(&mut self, statistics: &Statistics) {
        match self {
            Self::Word(word) => {
                let mut frequency = 0;
                for field in &mut word.fields {
                    let here: u64 = field.terms.iter().map(|term| statistics.pages_with(term)).sum();
                    frequency = frequency.max(here.min(statistics.pages));
                    let FieldWeight { weight, b } = field.weight;
                    field.table = by_length(statistics.average_length(field.field), |length| {
                        weight / (1.0 - b + b * length)
                    });
                }
                word.idf = statistics.idf(if word.is_beginning { statistics.pages / 2 } else { frequency });
            }
            Self::Places(fields) => {
                for places in fields {
                    let mut idf = 0.0;
                    places.node.each_terms(&mut |terms, is_beginning| {
                        // Forms count once, as frequent as the most frequent of them; a beginning counts like a word
                        // that half of the pages have, because how many have it is not counted. It counts so even where
                        // this index holds no word that begins so: another node may, and its pages are compared with ours.
                        let most = if is_beginning {
                            statistics.pages / 2
                        } else {
                            terms.iter().map(|term| statistics.pages_with(term)).max().unwrap_or(0)
                        };
                        idf += statistics.idf(most);
                    });
                    places.factor = places.weight * idf * (PLACES_K1 + 1.0);
                    places.table = by_length(statistics.average_length(places.field), |length| {
                        PLACES_K1 * (1.0 - PLACES_B + PLACES_B * length)
                    });
                }
            }
            Self::Not(part) => part.weigh(statistics),
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => {
                parts.iter_mut().for_each(|part| part.weigh(statistics));
            }
            Self::List { conditions, wanted } => {
                conditions.iter_mut().chain(wanted).for_each(|part| part.weigh(statistics));
            }
            Self::Nothing | Self::All | Self::Beginning(_) | Self::Tag(_) | Self::Dates { .. } => {}
        }
    }
}

fn flat() -> ByLength {
    Arc::new([1.0; 256])
}

/// A number for each length, given as a share of the average.
fn by_length(average: f32, value: impl Fn(f32) -> f32) -> ByLength {
    let mut table = [0.0; 256];
    for (code, slot) in (0..=u8::MAX).zip(&mut table) {
        *slot = value(FieldNormReader::id_to_fieldnorm(code) as f32 / average.max(f32::MIN_POSITIVE));
    }
    Arc::new(table)
}
