//! What the tests of several crates share: where the programs of others are, a NATS server to run, and damaged inputs for
//! parsers.
//!
//! A test that needs a program asks for it here. Where it is missing the test fails, with the program's name and the command
//! that installs it: a test that did not run must not count as passed.
#![allow(clippy::unwrap_used, clippy::panic)]

mod environment;
mod mutations;
mod nats;

pub use environment::{environment, missing, python_with, tool};
pub use mutations::{Mutations, ROUNDS};
pub use nats::{Server, free_port};
