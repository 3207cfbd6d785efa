//! This node's place in a cluster: the same engine, with partitions that come and go.
//!
//! | module | noun |
//! | --- | --- |
//! | [`seat`] | how a crawl joins, and what it holds while it is a member |
//! | [`state`] | the store as the cluster sees it: partitions with positions |
//! | [`commit`] | a commit that goes to the logs of partitions first, then to disk |
//! | [`note`] | what travels with a link besides its URL |
//! | [`answering`] | questions to the nodes' indexes, and their answers |
//! | [`aside`] | links that wait to be followed by the node that found them |
//! | [`archive_number`] | whose archive a page lies in |
//! | [`custody`] | which archived pages are safe, and which are lost with a node |
//! | [`unplaced`] | links that wait until their host is placed, in a crawl with regions |
//! | [`briefing`] | what all nodes must know before they crawl: settings and seeds |
//!
//! Payloads are claimed in the partition that their value belongs to, so that copies are told across nodes, a little later
//! than on one machine. Tables of near-duplicates are per node.

pub mod answering;
pub mod archive_number;
pub mod aside;
pub mod briefing;
pub mod commit;
pub mod custody;
pub mod note;
pub mod seat;
pub mod state;
pub mod unplaced;

pub use answering::{Answering, AskingError};
pub use briefing::{Briefing, BriefingError};
pub use commit::{NodeCommitter, Stays};
pub use seat::{Joining, Seat};
pub use state::PartitionStore;
