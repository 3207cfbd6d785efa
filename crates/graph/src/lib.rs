//! The link graph of a crawl.
//!
//! | module | noun |
//! | --- | --- |
//! | [`edge_log`] | every page's links in the order pages were committed: writer and reader |
//! | [`in_links`] | how many links point to each URL |
//! | [`link_index`] | page → its links, link → the pages it appears on, counts by URL |
//! | [`link_list`] | links of a page, compressed |
//! | [`pagerank`], [`ranks`] | what pages are worth, computed from all links; kept on disk |
//! | [`names`] | from ids to the keys under which the state knows URLs |
//! | [`curve`] | how soon a crawl gathered the best pages |
//! | [`seed_set`] | where to start the next crawl |
//! | [`online`] | what pages are worth as far as the crawl has come |
//! | [`weight`] | what a link weighs |
//! | [`error`] | what can go wrong |
//!
//! Promise: no network; what the log says up to its durable end survives, and can be rebuilt from the archive. Everything
//! else is made from the log.

pub mod curve;
pub mod edge_log;
pub mod error;
pub mod in_links;
pub mod link_index;
pub mod link_list;
pub mod names;
pub mod online;
pub mod pagerank;
pub mod ranks;
pub mod seed_set;
pub mod weight;

pub use curve::Curve;
pub use edge_log::{Edge, EdgeLog, EdgeLogError, PageEdges, read_edges};
pub use error::GraphError;
pub use in_links::most_linked;
pub use link_index::{BuildOptions, Direction, LinkIndex};
pub use names::Names;
pub use online::OnlineImportance;
pub use pagerank::{RankOptions, Ranking, pagerank};
pub use ranks::Ranks;
pub use weight::Weighting;
