//! Many nodes, one crawl.
pub mod bus;
pub mod coordinator;
pub mod exchange;
pub mod leader;
pub mod membership;
pub mod name;
pub mod node;
pub mod owner;
pub mod plan;
pub mod termination;
pub mod wire;

pub use lycosa_types::Partitioner;
pub use node::CrawlSettings;
