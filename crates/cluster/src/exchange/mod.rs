//! The exchange: links for other partitions, in batches, each link about once.
//!
//! | module | noun |
//! | --- | --- |
//! | [`sent`] | what was sent already, in bounded memory |
//! | [`outbox`] | batches on their way out |
//! | [`inbox`] | batches that arrive: read, checked, counted |
//!
//! Promises: a batch leaves when it has 500 links or is 0.1 s old. [`Outbox::flush`] returns when all that was given before
//! is durable on the bus, so a page may be called done. Memory is bounded; when the outbox is full, its users wait.

pub mod inbox;
pub mod outbox;
pub mod sent;

pub use inbox::{Inbox, Refusals};
pub use outbox::{Outbox, OutboxFull, OutboxLimits};
pub use sent::{SentMemory, Sighting};
