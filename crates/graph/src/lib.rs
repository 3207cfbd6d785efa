//! The link graph of a crawl.
//!
//! | module | noun |
//! | --- | --- |
//! | [`edge_log`] | every page's links in the order pages were committed: writer and reader |
//! | [`in_links`] | how many links point to each URL |
//! | [`online`] | what pages are worth as far as the crawl has come |
//! | [`weight`] | what a link weighs |
//!
//! Promise: no network; what the log says up to its durable end survives, and can be rebuilt from the archive.

pub mod edge_log;
pub mod in_links;
pub mod online;
pub mod weight;

pub use edge_log::{Edge, EdgeLog, EdgeLogError, PageEdges, read_edges};
pub use in_links::most_linked;
pub use online::OnlineImportance;
pub use weight::Weighting;
