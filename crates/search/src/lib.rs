//! Full-text search over crawled pages: index, query language, ranking, spelling, evaluation. Knows nothing of crawling:
//! whoever has pages feeds them as [`PageDoc`].
//!
//! | module | noun |
//! | --- | --- |
//! | [`page_doc`], [`indexer`], [`schema`] | what goes in, how it is written, the fields |
//! | [`tokenizer`], [`fold`], [`language`] | from text to terms |
//! | [`query`] | from what was typed to a tree; grammar in `docs/query.md` |
//! | [`compile`], [`plan`], [`statistics`] | from the tree to terms, and how much each counts |
//! | [`evaluate`], [`collector`], [`columns`], [`ranking`] | which pages match, with what score, the best first |
//! | [`searcher`], [`answer`] | questions and answers |
//! | [`snippet`], [`answer_html`] | the part of a page that shows why it was found; answers as HTML |
//! | [`spelling`] | "did you mean", and suggestions while typing |
//! | [`stored`] | all pages and words of an index |
//! | [`federation`] | many indexes asked as one |
//! | [`evaluation`] | recall, precision, MAP, nDCG from judgements |
//!
//! Invariant: a query finds exactly the pages that a scan of all pages by the grammar's meaning finds.

pub mod answer;
pub mod answer_html;
pub mod collector;
pub mod columns;
pub mod compile;
mod copies;
pub mod error;
pub mod evaluate;
pub mod evaluation;
pub mod federation;
pub mod fold;
pub mod indexer;
pub mod language;
pub mod page_doc;
pub mod plan;
pub mod query;
pub mod ranking;
mod run;
pub mod schema;
pub mod searcher;
mod snapshot;
pub mod snippet;
pub mod spelling;
pub mod statistics;
pub mod stored;
pub mod tokenizer;

pub use answer::{Answer, FacetCount, Found, Request};
pub use collector::Sort;
pub use error::SearchError;
pub use indexer::{Fed, Indexer, Mark, Versions, disk_bytes, index_dir};
pub use page_doc::{Change, PageDoc, PageKey};
pub use query::{QueryError, parse};
pub use searcher::SearchIndex;
pub use snippet::Snippet;
pub use spelling::Suggestion;
pub use statistics::Statistics;
pub use stored::StoredPage;
