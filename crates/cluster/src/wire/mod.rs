//! The bytes that travel: batches of links and records of a partition's log. Layout: `docs/cluster.md`, "Wire format".
//!
//! | module | noun |
//! | --- | --- |
//! | [`batch`] | links and facts for one partition |
//! | [`record`] | what the owner of a partition did |
//! | [`frame`] | numbers, byte strings and the checksum, read with limits |
//!
//! Promise: any bytes are read or refused with a [`WireError`]; nothing panics, and nothing allocates more than the limits
//! allow.

pub mod batch;
pub mod frame;
pub mod record;

pub use batch::{Batch, BatchHeader, Link, Links};
pub use record::{Body, Change, Header, Piece, Record, SnapshotPart, SnapshotRef};

/// Largest message on the bus. NATS refuses more than 1 MiB unless told otherwise.
pub const MAX_MESSAGE_BYTES: usize = 960 << 10;

/// Why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("the message is shorter than it says")]
    Truncated,
    #[error("the message is not of this kind")]
    Kind,
    #[error("the message is of version {0}, which this node does not read; upgrade it")]
    Version(u8),
    #[error("the checksum of the message is wrong")]
    Checksum,
    #[error("a {0} in the message is larger than allowed")]
    Limit(&'static str),
    #[error("a {0} in the message makes no sense")]
    Nonsense(&'static str),
}
