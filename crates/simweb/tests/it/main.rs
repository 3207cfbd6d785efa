//! The world judged from outside: bytes, sockets, ledger and truth.

// Helpers of tests fail the way tests do; clippy's leave for tests covers only test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod generation;
mod ledger;
mod life;
mod support;
mod thin;
mod truth;
mod wire;
