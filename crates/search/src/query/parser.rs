//! From tokens to the tree, by recursive descent; depth and number of words are bounded.
//!
//! From loosest to tightest: side by side, OR, XOR, AND, NEAR, NOT.

use super::ast::{Filter, Node};
use super::day::Day;
use super::error::{QueryError, QueryProblem};
use super::lexer::{FilterName, Token, tokens};
use super::{MAX_DEPTH, MAX_WORDS};

/// Parses a query.
pub fn parse(query: &str) -> Result<Node, QueryError> {
    let tokens = tokens(query)?;
    let mut parser = Parser { query, tokens: &tokens, next: 0, words: 0 };
    let node = parser.list(0)?;
    match (parser.peek(), node) {
        (Some(Token::Close), _) => Err(parser.error(QueryProblem::StrayParenthesis)),
        (_, Some(node)) => Ok(node),
        (_, None) => Err(parser.error(QueryProblem::Empty)),
    }
}

struct Parser<'q> {
    query: &'q str,
    tokens: &'q [(Token, usize)],
    next: usize,
    words: usize,
}

impl<'q> Parser<'q> {
    fn peek(&self) -> Option<&'q Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    /// Where the next token begins, or the end of the query.
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.query.len(), |(_, at)| *at)
    }

    fn error(&self, problem: QueryProblem) -> QueryError {
        QueryError::new(problem, self.query, self.at())
    }

    /// Parts side by side up to a closing parenthesis or the end; none if there is nothing.
    fn list(&mut self, depth: usize) -> Result<Option<Node>, QueryError> {
        if depth > MAX_DEPTH {
            return Err(self.error(QueryProblem::TooDeep));
        }
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some(Token::Close)) {
            parts.push(self.or(depth)?);
        }
        Ok(one_or(parts, Node::List))
    }

    fn or(&mut self, depth: usize) -> Result<Node, QueryError> {
        self.chain(&Token::Or, "OR", depth, Self::xor, Node::Or)
    }

    fn xor(&mut self, depth: usize) -> Result<Node, QueryError> {
        self.chain(&Token::Xor, "XOR", depth, Self::and, Node::Xor)
    }

    fn and(&mut self, depth: usize) -> Result<Node, QueryError> {
        self.chain(&Token::And, "AND", depth, Self::near, Node::And)
    }

    fn chain(
        &mut self,
        operator: &Token,
        name: &'static str,
        depth: usize,
        operand: fn(&mut Self, usize) -> Result<Node, QueryError>,
        join: fn(Vec<Node>) -> Node,
    ) -> Result<Node, QueryError> {
        let first = operand(self, depth)?;
        let mut parts = vec![first];
        while self.peek() == Some(operator) {
            self.operator(name)?;
            parts.push(operand(self, depth)?);
        }
        if parts.len() == 1
            && let Some(part) = parts.pop()
        {
            return Ok(part);
        }
        Ok(join(parts))
    }

    /// Steps over an operator that has something on its right.
    fn operator(&mut self, name: &'static str) -> Result<(), QueryError> {
        let is_last = matches!(
            self.tokens.get(self.next + 1).map(|(token, _)| token),
            None | Some(Token::Close | Token::And | Token::Or | Token::Xor | Token::Near(_))
        );
        if is_last {
            return Err(self.error(QueryProblem::NothingRight(name)));
        }
        self.next += 1;
        Ok(())
    }

    fn near(&mut self, depth: usize) -> Result<Node, QueryError> {
        let mut left_at = self.at();
        let mut left = self.unary(depth)?;
        let mut pairs = Vec::new();
        while let Some(Token::Near(distance)) = self.peek() {
            if !left.has_places() {
                return Err(QueryError::new(QueryProblem::NearOperand, self.query, left_at));
            }
            self.operator("NEAR")?;
            left_at = self.at();
            let right = self.unary(depth)?;
            if !right.has_places() {
                return Err(QueryError::new(QueryProblem::NearOperand, self.query, left_at));
            }
            let pair =
                Node::Near { distance: *distance, left: Box::new(left), right: Box::new(right.clone()) };
            pairs.push(pair);
            left = right;
        }
        Ok(one_or(pairs, Node::And).unwrap_or(left))
    }

    fn unary(&mut self, depth: usize) -> Result<Node, QueryError> {
        if depth > MAX_DEPTH {
            return Err(self.error(QueryProblem::TooDeep));
        }
        match self.peek() {
            Some(Token::Not | Token::Minus) => {
                self.operator("NOT")?;
                Ok(Node::Not(Box::new(self.unary(depth + 1)?)))
            }
            _ => self.primary(depth),
        }
    }

    fn primary(&mut self, depth: usize) -> Result<Node, QueryError> {
        let token = self.peek();
        let node = match token {
            Some(Token::Word(word)) => Node::Word(word.clone()),
            Some(Token::Prefix(word)) => Node::Prefix(word.clone()),
            Some(Token::Phrase(text)) => Node::Phrase(text.clone()),
            Some(Token::Open) => return self.group(depth),
            Some(Token::Field(field)) => {
                let missing = QueryProblem::NoValue(field.name(), "word");
                let takes = matches!(
                    self.tokens.get(self.next + 1).map(|(token, _)| token),
                    Some(
                        Token::Word(_)
                            | Token::Prefix(_)
                            | Token::Phrase(_)
                            | Token::Open
                            | Token::Field(_)
                            | Token::Filter(_)
                    )
                );
                if !takes {
                    return Err(self.error(missing));
                }
                if depth >= MAX_DEPTH {
                    return Err(self.error(QueryProblem::TooDeep));
                }
                self.next += 1;
                return Ok(Node::Field(*field, Box::new(self.primary(depth + 1)?)));
            }
            Some(Token::Filter(name)) => return self.filter(*name),
            Some(Token::And) => return Err(self.error(QueryProblem::NothingLeft("AND"))),
            Some(Token::Or) => return Err(self.error(QueryProblem::NothingLeft("OR"))),
            Some(Token::Xor) => return Err(self.error(QueryProblem::NothingLeft("XOR"))),
            Some(Token::Near(_)) => return Err(self.error(QueryProblem::NothingLeft("NEAR"))),
            Some(Token::Not | Token::Minus | Token::Close) | None => {
                return Err(self.error(QueryProblem::Empty));
            }
        };
        self.words += 1;
        if self.words > MAX_WORDS {
            return Err(self.error(QueryProblem::TooManyWords));
        }
        self.next += 1;
        Ok(node)
    }

    fn group(&mut self, depth: usize) -> Result<Node, QueryError> {
        let open = self.at();
        self.next += 1;
        let inner = self.list(depth + 1)?;
        if self.peek() != Some(&Token::Close) {
            return Err(QueryError::new(QueryProblem::OpenParenthesis, self.query, open));
        }
        self.next += 1;
        inner.ok_or_else(|| QueryError::new(QueryProblem::Empty, self.query, open))
    }

    fn filter(&mut self, name: FilterName) -> Result<Node, QueryError> {
        let (shown, example) = name.name();
        let value = match self.tokens.get(self.next + 1).map(|(token, _)| token) {
            Some(Token::Word(word) | Token::Phrase(word)) => word.trim(),
            _ => return Err(self.error(QueryProblem::NoValue(shown, example))),
        };
        let day = || {
            let at = self.tokens.get(self.next + 1).map_or(0, |(_, at)| *at);
            Day::parse(value)
                .ok_or_else(|| QueryError::new(QueryProblem::BadDate(value.to_owned()), self.query, at))
        };
        let plain = |text: &str| {
            let text = text.to_lowercase();
            let is_plain = text.chars().all(|c| c.is_alphanumeric() || "./_+-".contains(c));
            if is_plain && text.starts_with(char::is_alphanumeric) {
                Ok(text)
            } else {
                Err(self.error(QueryProblem::NoValue(shown, example)))
            }
        };
        let filter = match name {
            FilterName::Site => Filter::Site(plain(host(value))?),
            FilterName::Type => Filter::Type(plain(value)?),
            FilterName::Lang => Filter::Lang(plain(value)?.replace('_', "-")),
            FilterName::Before => Filter::Before(day()?),
            FilterName::After => Filter::After(day()?),
        };
        self.next += 2;
        Ok(Node::Filter(filter))
    }
}

/// The host of what was typed after `site:`, which may be a whole URL.
fn host(value: &str) -> &str {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    rest.rsplit_once(':').map_or(rest, |(host, _)| host).trim_matches('.')
}

fn one_or(mut parts: Vec<Node>, join: fn(Vec<Node>) -> Node) -> Option<Node> {
    if parts.len() > 1 { Some(join(parts)) } else { parts.pop() }
}

#[cfg(test)]
mod tests;
