//! Names that hostile URLs get, links between files, and the directory they lie in.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "it/copies.rs"]
mod copies;
#[path = "it/names.rs"]
mod names;
