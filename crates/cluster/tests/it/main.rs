//! The cluster as a whole: one contract for both buses, a model crawl under faults, and a real server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that cannot go on may stop

mod asking;
mod contract;
mod crawl;
mod depot;
mod messages;
mod model;
mod real;
mod ship;
mod takeover;
