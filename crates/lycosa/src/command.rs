//! One module per command.

pub mod crawl;
pub mod place;
pub mod report;
pub mod seeds;
pub mod settings;
pub mod status;
pub mod why;
