//! Whole crawls of the synthetic web, judged from the server's side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budgets;
mod cluster;
mod coverage;
mod endless;
mod handmade;
mod hostile;
mod incomplete;
mod indexing;
mod kill;
mod limits;
mod moved;
mod orders;
mod politeness;
mod ranks;
mod refresh;
mod requisites;
mod scripted;
mod sections;
mod site;
mod watched;
