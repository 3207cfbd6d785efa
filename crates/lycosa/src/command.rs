//! One module per command.

pub mod canon;
pub mod cat;
pub mod compare;
pub mod crawl;
pub mod demo;
pub mod diff;
pub mod eval;
pub mod export;
pub mod history;
pub mod index;
pub mod inspect;
pub mod links;
pub mod place;
pub mod rank;
pub mod refresh;
pub mod report;
pub mod robots;
pub mod search;
pub mod seeds;
pub mod seeds_from;
pub mod settings;
pub mod status;
pub mod submit;
pub mod topic;
pub mod why;
