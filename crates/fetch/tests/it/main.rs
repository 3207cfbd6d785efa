//! The fetch crate against servers that do what they should not.

// Everything here is test code, its scaffolding included.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decoding;
mod dns;
mod doubt;
mod framing;
mod incomplete;
mod limits;
mod line;
mod network;
mod pool;
mod robots_length;
mod robots_oracle;
mod server;
mod tls;
