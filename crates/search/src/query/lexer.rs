//! Tokens of a query, each with the byte at which it begins.
//!
//! Pieces without a letter or digit mean nothing to the index and are skipped, so that every word stands for something.

use super::ast::TextField;
use super::error::{QueryError, QueryProblem};
use super::{DEFAULT_NEAR, MAX_NEAR, MAX_QUERY_BYTES};
use crate::tokenizer::is_searchable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterName {
    Site,
    Type,
    Lang,
    Before,
    After,
}

impl FilterName {
    const ALL: [Self; 5] = [Self::Site, Self::Type, Self::Lang, Self::Before, Self::After];

    /// The name with its colon, and a value for example.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Site => ("site:", "example.org"),
            Self::Type => ("type:", "html"),
            Self::Lang => ("lang:", "en"),
            Self::Before => ("before:", "2024-05-31"),
            Self::After => ("after:", "2024-05-31"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Open,
    Close,
    Minus,
    Not,
    And,
    Or,
    Xor,
    Near(u32),
    Word(String),
    Prefix(String),
    Phrase(String),
    Field(TextField),
    Filter(FilterName),
}

/// Cuts a query into tokens.
pub fn tokens(query: &str) -> Result<Vec<(Token, usize)>, QueryError> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(QueryError::new(QueryProblem::TooLong, query, MAX_QUERY_BYTES));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = query.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let start = at;
        at += first.len_utf8();
        match first {
            '(' => tokens.push((Token::Open, start)),
            ')' => tokens.push((Token::Close, start)),
            '-' if rest.chars().nth(1).is_some_and(|next| !next.is_whitespace() && next != ')') => {
                tokens.push((Token::Minus, start));
            }
            _ if is_quote(first) => {
                let inside = query.get(at..).unwrap_or_default();
                let Some((end, mark)) = inside.char_indices().find(|(_, c)| is_quote(*c)) else {
                    return Err(QueryError::new(QueryProblem::OpenQuote, query, start));
                };
                let text = inside.get(..end).unwrap_or_default();
                if is_searchable(text) {
                    tokens.push((Token::Phrase(text.to_owned()), start));
                }
                at += end + mark.len_utf8();
            }
            _ if first.is_whitespace() => {}
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || is_quote(c) || matches!(c, '(' | ')'));
                let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                at = start + word.len();
                if let Some((token, length)) = named(word) {
                    tokens.push((token, start));
                    at = start + length;
                } else if let Some(token) = word_token(word, query, start)? {
                    tokens.push((token, start));
                }
            }
        }
    }
    Ok(tokens)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„')
}

/// `title:` at the beginning of a word, and its length.
fn named(word: &str) -> Option<(Token, usize)> {
    let starts = |name: &str| word.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    let field = TextField::ALL.into_iter().find(|field| starts(field.name()));
    if let Some(field) = field {
        return Some((Token::Field(field), field.name().len()));
    }
    let filter = FilterName::ALL.into_iter().find(|filter| starts(filter.name().0))?;
    Some((Token::Filter(filter), filter.name().0.len()))
}

fn word_token(word: &str, query: &str, start: usize) -> Result<Option<Token>, QueryError> {
    Ok(Some(match word {
        "AND" => Token::And,
        "OR" => Token::Or,
        "XOR" => Token::Xor,
        "NOT" => Token::Not,
        "NEAR" => Token::Near(DEFAULT_NEAR),
        _ => {
            if let Some(number) = word.strip_prefix("NEAR/") {
                let distance = number.parse().ok().filter(|n| (1..=MAX_NEAR).contains(n));
                let distance =
                    distance.ok_or_else(|| QueryError::new(QueryProblem::BadDistance, query, start))?;
                return Ok(Some(Token::Near(distance)));
            }
            let stem = word.trim_end_matches('*');
            if !is_searchable(stem) {
                return Ok(None);
            }
            if stem.len() < word.len() {
                Token::Prefix(stem.to_owned())
            } else {
                Token::Word(word.to_owned())
            }
        }
    }))
}
