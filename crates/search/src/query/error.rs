//! What is wrong with a query, and where.

use super::{MAX_DEPTH, MAX_NEAR, MAX_QUERY_BYTES, MAX_WORDS};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryProblem {
    #[error("there is nothing to search for; type a word")]
    Empty,
    #[error("the query is longer than {MAX_QUERY_BYTES} bytes; shorten it")]
    TooLong,
    #[error("parentheses, fields or NOTs are nested more than {MAX_DEPTH} deep; simplify the query")]
    TooDeep,
    #[error("the query has more than {MAX_WORDS} words; leave some out")]
    TooManyWords,
    #[error("this quotation mark is never closed; add a second one")]
    OpenQuote,
    #[error("this parenthesis is never closed; add a `)`")]
    OpenParenthesis,
    #[error("this parenthesis closes nothing; remove it")]
    StrayParenthesis,
    #[error("{0} needs something to search for on its left")]
    NothingLeft(&'static str),
    #[error("{0} needs something to search for on its right")]
    NothingRight(&'static str),
    #[error("`{0}` needs a value, as in `{0}{1}`")]
    NoValue(&'static str, &'static str),
    #[error("`{0}` is not a date; write 2024, 2024-05 or 2024-05-31")]
    BadDate(String),
    #[error("NEAR takes a distance of 1 to {MAX_NEAR} words, as in NEAR/5")]
    BadDistance,
    #[error("NEAR takes words and phrases, or such joined by OR in parentheses")]
    NearOperand,
    #[error("`{0}*` is the beginning of more than {1} words; type more letters")]
    WidePrefix(String, usize),
}

/// A problem at a place in the query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at character {})", self.character)]
pub struct QueryError {
    pub problem: QueryProblem,
    /// The byte at which it begins.
    pub at: usize,
    /// The same place in characters, counted from 1.
    pub character: usize,
}

impl QueryError {
    pub(crate) fn new(problem: QueryProblem, query: &str, at: usize) -> Self {
        let before = query.char_indices().take_while(|(place, _)| *place < at).count();
        Self { problem, at, character: before + 1 }
    }

    /// The query with a mark under the place.
    pub fn pointed(&self, query: &str) -> String {
        let line: String = query.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{line}\n{}^", " ".repeat(self.character.saturating_sub(1)))
    }
}
