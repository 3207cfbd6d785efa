//! Many indexes asked as one: every node of a cluster indexes its own partitions, any of them answers for all.
//!
//! | module | noun |
//! | --- | --- |
//! | [`message`] | what nodes say to each other, and its limits |
//! | [`shard`] | the part of one node |
//! | [`sketch`] | how alike two texts are, from a few numbers each |
//! | [`merge`] | the answers of all nodes made one |
//! | [`ask`] | asking all nodes within a time, over any [`Transport`] |
//!
//! Two rounds: first every node tells what the scores depend on (how many pages it has, how many of them have which
//! word), then every node works out its best pages by the sum of these numbers. So scores can be compared.
//!
//! Promise: what several indexes answer together is what one index over all their pages answers, in the same order up
//! to pages of equal score; a page that two of them have is told once. A node that does not answer in time, or not sensibly, is named in the answer.

pub mod ask;
pub mod merge;
pub mod message;
pub mod shard;
pub mod sketch;

pub use ask::{MAX_NODES, Transport, search_all};
pub use merge::{Joint, Silent, merge};
pub use message::{
    MAX_FEDERATED, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, MessageError, ShardRequest, ShardResponse,
    ShardResult, ShardResults,
};
pub use sketch::Sketch;
