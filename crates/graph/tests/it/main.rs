//! Files of the graph, from the log to the ranks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod index;
mod networkx;
