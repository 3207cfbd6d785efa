//! "Did you mean": words of the index that look like a word that is missing or rare in it, and words that begin like it.
//!
//! Of several words that look alike, the ones that share pages with the rest of the query are likelier to be meant.

use std::collections::HashMap;
use std::sync::OnceLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};
use tantivy_fst::Automaton;

use crate::error::SearchError;
use crate::indexer::clip;
use crate::language::Language;
use crate::query::{MAX_QUERY_BYTES, Node};
use crate::searcher::SearchIndex;
use crate::tokenizer::query_terms;

/// Words up to this many letters may differ by one edit, longer ones by two.
const SHORT_WORD: usize = 4;
/// Shorter words are never corrected: everything is near them.
const MIN_WORD: usize = 3;
/// A word this many times as frequent as the one typed is taken for what was meant.
const FREQUENCY_RATIO: u64 = 20;
/// What an edit costs, in powers of e of frequency.
const EDIT_COST: f64 = 6.0;
/// What a changed first letter costs on top: few slip there.
const FIRST_LETTER_COST: f64 = 1.0;
/// What it is worth that a word shares pages with the rest of the query, in powers of e of frequency.
const CONTEXT_WORTH: f64 = 4.0;
/// Words that are looked at together with the rest of the query.
const IN_CONTEXT: usize = 8;
/// Words that are looked at while completing a beginning.
const MAX_COMPLETED: usize = 20_000;

/// Built once: building costs more than asking.
#[derive(Default)]
pub(crate) struct Automata {
    one: OnceLock<LevenshteinAutomatonBuilder>,
    two: OnceLock<LevenshteinAutomatonBuilder>,
}

impl Automata {
    fn get(&self, edits: u8) -> &LevenshteinAutomatonBuilder {
        let cell = if edits == 1 { &self.one } else { &self.two };
        cell.get_or_init(|| LevenshteinAutomatonBuilder::new(edits, true))
    }
}

/// Accepts the words within the automaton's distance.
struct Near(DFA);

impl Automaton for Near {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

/// A word of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    pub word: String,
    /// Pages that have it.
    pub pages: u64,
}

impl SearchIndex {
    /// Words like `word`, the likeliest first; the word itself is not among them.
    pub fn similar_words(&self, word: &str, limit: usize) -> Result<Vec<Suggestion>, SearchError> {
        self.similar(&self.searcher(), word, &[], limit)
    }

    fn similar(
        &self,
        searcher: &Searcher,
        word: &str,
        context: &[String],
        limit: usize,
    ) -> Result<Vec<Suggestion>, SearchError> {
        let Some(word) = one_term(word) else { return Ok(Vec::new()) };
        let letters = word.chars().count();
        if letters < MIN_WORD {
            return Ok(Vec::new());
        }
        let mut scored = Vec::new();
        for edits in if letters <= SHORT_WORD { 1..=1 } else { 1..=2 } {
            let mut found: HashMap<String, u64> = HashMap::new();
            for segment in searcher.segment_readers() {
                let inverted = segment.inverted_index(self.fields.word)?;
                let automaton = Near(self.automata.get(edits).build_dfa(&word));
                let mut stream = inverted.terms().search(automaton).into_stream()?;
                while stream.advance() {
                    if let Ok(term) = std::str::from_utf8(stream.key()) {
                        *found.entry(term.to_owned()).or_default() += u64::from(stream.value().doc_freq);
                    }
                }
            }
            found.remove(&word);
            for (other, pages) in found {
                let is_known = scored.iter().any(|(_, known): &(f64, Suggestion)| known.word == other);
                if is_known || other.chars().count() < MIN_WORD {
                    continue;
                }
                let slip = if other.chars().next() == word.chars().next() { 0.0 } else { FIRST_LETTER_COST };
                let score = (pages as f64).ln_1p() - EDIT_COST * f64::from(edits) - slip;
                scored.push((score, Suggestion { word: other, pages }));
            }
        }
        let by_score = |a: &(f64, Suggestion), b: &(f64, Suggestion)| {
            b.0.total_cmp(&a.0).then_with(|| a.1.word.cmp(&b.1.word))
        };
        scored.sort_by(by_score);
        if scored.len() > 1 && !context.is_empty() {
            scored.truncate(IN_CONTEXT);
            for (score, suggestion) in &mut scored {
                let shared = self.shared(searcher, &suggestion.word, context)?;
                *score += CONTEXT_WORTH * shared as f64 / suggestion.pages.max(1) as f64;
            }
            scored.sort_by(by_score);
        }
        Ok(scored.into_iter().take(limit).map(|(_, suggestion)| suggestion).collect())
    }

    /// Pages that have a word and at least one of the others.
    fn shared(&self, searcher: &Searcher, word: &str, others: &[String]) -> Result<u64, SearchError> {
        let of = |word: &str| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(self.fields.word, word), IndexRecordOption::Basic))
        };
        let any = BooleanQuery::union(others.iter().map(|other| of(other)).collect());
        let both = BooleanQuery::intersection(vec![of(word), Box::new(any)]);
        Ok(both.count(searcher)? as u64)
    }

    /// What was typed, its last word completed in the likeliest ways. Words before it say what is likely.
    pub fn suggest(&self, typed: &str, limit: usize) -> Result<Vec<String>, SearchError> {
        let typed = clip(typed, MAX_QUERY_BYTES);
        let at = typed.rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | ':' | '-'));
        let (before, last) =
            typed.split_at(at.map_or(0, |at| at + typed[at..].chars().next().map_or(0, char::len_utf8)));
        let context: Vec<String> = before.split_whitespace().filter_map(one_term).collect();
        let mut words = self.completions(last, limit.max(IN_CONTEXT))?;
        if !context.is_empty() {
            let searcher = self.searcher();
            let mut scored = Vec::new();
            for word in words.into_iter().take(limit.max(IN_CONTEXT)) {
                scored.push((self.shared(&searcher, &word.word, &context)?, word));
            }
            scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.pages.cmp(&a.1.pages)));
            words = scored.into_iter().map(|(_, word)| word).collect();
        }
        Ok(words.into_iter().take(limit).map(|word| format!("{before}{}", word.word)).collect())
    }

    /// Words that begin so, the most frequent first: suggestions while somebody types.
    pub fn completions(&self, beginning: &str, limit: usize) -> Result<Vec<Suggestion>, SearchError> {
        let Some(beginning) = one_term(beginning) else { return Ok(Vec::new()) };
        let mut found: HashMap<String, u64> = HashMap::new();
        for segment in self.searcher().segment_readers() {
            let inverted = segment.inverted_index(self.fields.word)?;
            let mut stream = inverted.terms().range().ge(beginning.as_bytes()).into_stream()?;
            while found.len() < MAX_COMPLETED
                && stream.advance()
                && stream.key().starts_with(beginning.as_bytes())
            {
                if let Ok(term) = std::str::from_utf8(stream.key()) {
                    *found.entry(term.to_owned()).or_default() += u64::from(stream.value().doc_freq);
                }
            }
        }
        let mut words: Vec<Suggestion> =
            found.into_iter().map(|(word, pages)| Suggestion { word, pages }).collect();
        words.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.word.cmp(&b.word)));
        words.truncate(limit);
        Ok(words)
    }

    /// The query with its misspelt words put right; none where there is nothing better.
    pub(crate) fn better_query(
        &self,
        searcher: &Searcher,
        node: &Node,
        matches: u64,
    ) -> Result<Option<String>, SearchError> {
        let mut better = node.clone();
        let mut words = Vec::new();
        each_word(node, &mut |word| words.extend(one_term(word)));
        let asked = Asked { searcher, words, matches };
        let is_changed = self.correct(&asked, &mut better)?;
        Ok(is_changed.then(|| better.to_string()))
    }

    fn correct(&self, asked: &Asked<'_>, node: &mut Node) -> Result<bool, SearchError> {
        Ok(match node {
            Node::Word(word) => match self.better_word(asked, word)? {
                Some(better) => {
                    *word = better;
                    true
                }
                None => false,
            },
            Node::Field(_, inner) => self.correct(asked, inner)?,
            Node::Near { left, right, .. } => self.correct(asked, left)? | self.correct(asked, right)?,
            Node::And(parts) | Node::Or(parts) | Node::Xor(parts) | Node::List(parts) => {
                let mut is_changed = false;
                for part in parts {
                    is_changed |= self.correct(asked, part)?;
                }
                is_changed
            }
            Node::Prefix(_) | Node::Phrase(_) | Node::Filter(_) | Node::Not(_) => false,
        })
    }

    fn better_word(&self, asked: &Asked<'_>, word: &str) -> Result<Option<String>, SearchError> {
        let Some(term) = one_term(word) else { return Ok(None) };
        let pages = asked.searcher.doc_freq(&Term::from_field_text(self.fields.word, &term))?;
        // A word that many pages have is meant; looking for a better one would cost every query.
        let is_number = term.chars().all(|c| c.is_ascii_digit());
        if pages > 0 && (pages > asked.matches / FREQUENCY_RATIO + 3 || is_number) {
            return Ok(None);
        }
        let others: Vec<String> = asked.words.iter().filter(|other| **other != term).cloned().collect();
        let best = self.similar(asked.searcher, word, &others, 1)?.pop();
        Ok(best.filter(|best| best.pages > pages.saturating_mul(FREQUENCY_RATIO)).map(|best| best.word))
    }
}

/// A query that may be misspelt.
struct Asked<'s> {
    searcher: &'s Searcher,
    /// Its words, folded.
    words: Vec<String>,
    /// Pages that it found.
    matches: u64,
}

fn each_word(node: &Node, each: &mut dyn FnMut(&str)) {
    match node {
        Node::Word(word) => each(word),
        Node::Field(_, inner) => each_word(inner, each),
        Node::Near { left, right, .. } => {
            each_word(left, each);
            each_word(right, each);
        }
        Node::And(parts) | Node::Or(parts) | Node::Xor(parts) | Node::List(parts) => {
            parts.iter().for_each(|part| each_word(part, each));
        }
        Node::Prefix(_) | Node::Phrase(_) | Node::Filter(_) | Node::Not(_) => {}
    }
}

/// The folded form of a text that is one word.
fn one_term(text: &str) -> Option<String> {
    let mut terms = query_terms(Language::NONE, text);
    if terms.len() == 1 { terms.pop().map(|term| term.text) } else { None }
}
