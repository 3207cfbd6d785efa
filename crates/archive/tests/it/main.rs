//! The archive as others use it: written, torn, repaired, read back, and shown to the public tools.

#![allow(clippy::unwrap_used)] // a test that cannot go on may stop

mod hostile;
mod mutated;
mod round_trip;
mod sample;
mod tools;
mod torn;
