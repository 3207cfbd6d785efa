//! One module per command.

pub mod crawl;
pub mod seeds;
pub mod settings;
