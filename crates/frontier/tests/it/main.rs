//! The frontier as a whole, against a model of a small web, with time as an argument and crashes at any commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crawl;
mod pace;
mod partitions;
