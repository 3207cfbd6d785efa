//! The world judged from outside: bytes, sockets, ledger and truth.

mod generation;
mod ledger;
mod support;
mod truth;
mod wire;
