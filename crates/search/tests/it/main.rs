//! The crate from outside: an index is made, fed, broken off and asked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod federation;
mod feeding;
mod naive;
mod operators;
mod ranking;
