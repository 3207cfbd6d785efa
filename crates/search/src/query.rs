//! The query language: from what somebody typed to a tree. The grammar is in `docs/query.md`.
//!
//! | module | noun |
//! | --- | --- |
//! | [`lexer`] | tokens with their places |
//! | [`ast`] | the tree, and its canonical text |
//! | [`parser`] | from tokens to the tree |
//! | [`day`] | the dates of `before:` and `after:` |
//! | [`error`] | what is wrong, and where |
//!
//! Promises: parsing ends on any text with a tree or an error that names a place in it; the canonical text of a tree
//! parses to the same tree.

pub mod ast;
pub mod day;
pub mod error;
pub mod lexer;
pub mod parser;

pub use ast::{Filter, Node, TextField};
pub use day::Day;
pub use error::{QueryError, QueryProblem};
pub use parser::parse;

/// Longer queries are refused.
pub const MAX_QUERY_BYTES: usize = 4096;
/// Deeper nesting of parentheses, fields and NOT is refused.
pub const MAX_DEPTH: usize = 32;
/// More words than this are refused.
pub const MAX_WORDS: usize = 128;
/// The distance that NEAR means without a number.
pub const DEFAULT_NEAR: u32 = 10;
/// The largest number that NEAR takes.
pub const MAX_NEAR: u32 = 1000;
