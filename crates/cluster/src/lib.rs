//! Many nodes, one crawl.
pub mod bus;
pub mod name;
pub mod plan;
pub mod wire;
