//! The cluster as a whole: one contract for both buses, a model crawl under faults, and a real server.

mod contract;
mod crawl;
mod model;
mod real;
mod server;
mod ship;
mod takeover;
