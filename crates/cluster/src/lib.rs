//! Many nodes, one crawl: who owns which partition, how links reach their owners, how nothing is lost.
//!
//! | module | noun |
//! | --- | --- |
//! | [`plan`] | the pure function from members and loads to the table |
//! | [`bus`] | streams, keys and objects: in memory, or NATS JetStream |
//! | [`wire`] | the bytes that travel |
//! | [`membership`], [`leader`], [`coordinator`] | who is there, who coordinates, and what it does |
//! | [`owner`] | one partition: open, load, append, snapshot, close, and being fenced |
//! | [`exchange`] | links in batches, each about once |
//! | [`termination`] | when it is over |
//! | [`node`] | all of it joined; what the crawl calls and is told |
//! | [`ship`] | sealed segments go to the central archive |
//! | [`depot`] | the central archive at a parent node |
//! | [`name`] | crawls, nodes and their lives |
//!
//! Promises:
//! - A partition is written by one owner at a time: the bus refuses every other one.
//! - What was acknowledged survives every node, and the bus with it; a page's links are durable before the page is done.
//! - Nothing here knows what a page looks like: state is keys and values, a link is a URL with numbers.
//! - Every queue, message, batch and list has a limit; full queues push back. What cannot be read is refused and counted.

pub mod bus;
pub mod coordinator;
pub mod depot;
pub mod exchange;
pub mod leader;
pub mod membership;
pub mod name;
pub mod node;
pub mod owner;
pub mod plan;
pub mod ship;
pub mod termination;
pub mod wire;

pub use bus::asking::{AskError, Asking, Listener, Question};
pub use bus::memory::{MemoryBus, MemoryServer};
pub use bus::nats::{Credentials, NatsBus, NatsOptions};
pub use bus::{Bus, BusError};
pub use exchange::OutboxLimits;
pub use lycosa_types::Partitioner;
pub use membership::{Beat, Figures, Timing};
pub use name::{CrawlName, NodeId};
pub use node::{
    Commit, Committed, CrawlSettings, Event, NodeConfig, NodeError, NodeHandle, PartitionChanges,
    PartitionLoad,
};
pub use owner::{Dump, MemoryState, PartitionState, Position};
pub use plan::{Allocation, LinkMode, RegionError, RegionId, Regions, Route, Table};
pub use ship::{ParentOptions, S3Options, ShipOptions, Shipper};
pub use wire::{Batch, Change, Link, Links};
