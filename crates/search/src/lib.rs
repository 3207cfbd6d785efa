//! Full-text search over crawled pages: index, query language, ranking, spelling, evaluation. Knows nothing of crawling:
//! whoever has pages feeds them as [`PageDoc`].
//!
//! | module | noun |
//! | --- | --- |
//! | [`page_doc`], [`indexer`], [`schema`] | what goes in, how it is written, the fields |
//! | [`tokenizer`], [`fold`], [`language`] | from text to terms |
//! | [`query`] | from what was typed to a tree; grammar in `docs/query.md` |
//! | [`compile`], [`word_query`], [`list_query`], [`span_query`], [`xor_query`] | from the tree to a query of the index |
//! | [`searcher`], [`collector`], [`ranking`] | questions and answers, the best first |
//! | [`snippet`], [`answer_html`] | the part of a page that shows why it was found; answers as HTML |
//! | [`spelling`] | "did you mean", and suggestions while typing |
//! | [`stored`] | all pages and words of an index |
//! | [`evaluation`] | recall, precision, MAP, nDCG from judgements |
//!
//! Invariant: a query finds exactly the pages that a scan of all pages by the grammar's meaning finds.

pub mod answer_html;
pub mod collector;
pub mod compile;
pub mod error;
pub mod evaluation;
pub mod fold;
pub mod indexer;
pub mod language;
pub mod list_query;
pub mod page_doc;
pub mod query;
pub mod ranking;
pub mod schema;
pub mod searcher;
pub mod snippet;
pub mod span_query;
pub mod spelling;
pub mod stored;
pub mod tokenizer;
mod window;
pub mod word_query;
pub mod xor_query;

pub use collector::Sort;
pub use error::SearchError;
pub use indexer::{Fed, Indexer, Mark, Versions, disk_bytes, index_dir};
pub use page_doc::{Change, PageDoc, PageKey};
pub use query::{QueryError, parse};
pub use searcher::{Answer, Found, Request, SearchIndex};
pub use snippet::Snippet;
pub use spelling::Suggestion;
pub use stored::StoredPage;
