//! The built binary, run on small inputs: what it prints, leaves and returns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod binary;
mod canon;
mod cluster;
mod cluster_search;
mod compare;
mod crawl;
mod demo;
mod first_steps;
mod fixtures;
mod graph;
mod hostile_output;
mod inspect;
mod mirror;
mod read_only;
mod regions;
mod robots;
mod rough_ends;
mod search;
mod search_crash;
mod serving;
mod site;
mod stop;
mod usage;
