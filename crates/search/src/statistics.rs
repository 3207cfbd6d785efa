//! What scores depend on besides a page itself: how many pages there are, how long their texts are, and how many have
//! which term. Those of several indexes add up, so that their scores can be compared.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::error::SearchError;
use crate::language::Language;
use crate::plan::Plan;
use crate::schema::Fields;

/// A field by its place in the schema.
pub type FieldNumber = u32;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    pub pages: u64,
    /// The languages that pages are in, by their codes.
    pub languages: BTreeSet<String>,
    /// Words in each field.
    pub tokens: HashMap<FieldNumber, u64>,
    /// Pages with each term that was asked for.
    pub frequencies: HashMap<FieldNumber, HashMap<String, u64>>,
}

impl Statistics {
    /// Looks up the terms of a plan.
    pub fn gather(
        searcher: &Searcher,
        fields: &Fields,
        plans: &[&Plan],
        languages: &[Language],
    ) -> Result<Self, SearchError> {
        let languages = languages.iter().map(|language| language.code().to_owned()).collect();
        let mut found = Self { languages, ..Self::default() };
        let mut terms: Vec<&Term> = Vec::new();
        plans.iter().for_each(|plan| plan.each_term(&mut |term| terms.push(term)));
        // Pages that were replaced but not yet cleared away count in a term's frequency, so they count here.
        found.pages = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
        for field in fields.texts() {
            let mut tokens = 0;
            for segment in searcher.segment_readers() {
                tokens += segment.inverted_index(field)?.total_num_tokens();
            }
            found.tokens.insert(field.field_id(), tokens);
        }
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let mut pages = 0;
            for segment in searcher.segment_readers() {
                pages += u64::from(segment.inverted_index(term.field())?.doc_freq(term)?);
            }
            if pages > 0 {
                let text = term.value().as_str().unwrap_or_default().to_owned();
                found.frequencies.entry(term.field().field_id()).or_default().insert(text, pages);
            }
        }
        Ok(found)
    }

    /// Those of both.
    pub fn add(&mut self, other: Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.languages.extend(other.languages);
        for (field, tokens) in other.tokens {
            let sum = self.tokens.entry(field).or_default();
            *sum = sum.saturating_add(tokens);
        }
        for (field, terms) in other.frequencies {
            let sums = self.frequencies.entry(field).or_default();
            for (term, pages) in terms {
                let sum = sums.entry(term).or_default();
                *sum = sum.saturating_add(pages);
            }
        }
    }

    pub fn languages(&self) -> Vec<Language> {
        let mut known = vec![Language::NONE];
        for code in &self.languages {
            let language = Language::of_tag(code);
            if !known.contains(&language) {
                known.push(language);
            }
        }
        known
    }

    pub(crate) fn pages_with(&self, term: &Term) -> u64 {
        let terms = self.frequencies.get(&term.field().field_id());
        let text = term.value();
        terms.zip(text.as_str()).and_then(|(terms, text)| terms.get(text)).copied().unwrap_or(0)
    }

    pub(crate) fn average_length(&self, field: Field) -> f32 {
        let tokens = self.tokens.get(&field.field_id()).copied().unwrap_or(0);
        tokens as f32 / self.pages.max(1) as f32
    }

    /// How rare something is that so many pages have.
    pub(crate) fn idf(&self, pages: u64) -> f32 {
        let (all, pages) = (self.pages as f32, pages.min(self.pages) as f32);
        (1.0 + (all - pages + 0.5) / (pages + 0.5)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_two_indexes_add_up() {
        let mut one = Statistics { pages: 3, ..Statistics::default() };
        one.tokens.insert(1, 10);
        one.frequencies.entry(1).or_default().insert("web".into(), 2);
        let mut other = Statistics { pages: u64::MAX, ..Statistics::default() };
        other.languages.insert("en".into());
        other.tokens.insert(2, 5);
        other.frequencies.entry(1).or_default().insert("web".into(), 4);
        one.add(other);
        assert_eq!((one.pages, one.tokens[&1], one.tokens[&2]), (u64::MAX, 10, 5));
        assert_eq!(one.frequencies[&1]["web"], 6);
        assert_eq!(one.languages(), [Language::NONE, Language::of_tag("en")]);
        assert!(one.idf(1) > one.idf(100) && one.idf(u64::MAX) >= 0.0);
    }
}
