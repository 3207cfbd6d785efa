//! What a node tells the crawl, and how it is set up.

use lycosa_types::{Granularity, PartitionId, Partitioner};
use serde::{Deserialize, Serialize};

use crate::bus::BusError;
use crate::exchange::OutboxLimits;
use crate::membership::Timing;
use crate::name::{NameError, NodeId};
use crate::owner::Position;
use crate::owner::load::Loaded;
use crate::plan::{Allocation, LinkMode, RegionId};
use crate::wire::Batch;

/// What a node tells the crawl. All events of a partition come in order.
#[derive(Debug)]
pub enum Event {
    /// The partition is here and its state is loaded: it may be worked on.
    Arrived {
        partition: PartitionId,
        epoch: u64,
        position: Position,
        /// Handed over by its former owner, with nothing in flight. If not, what its former owner had in flight is
        /// fetched again, and hosts rest for their interval first: the last requests of the former owner are not in the
        /// state.
        planned: bool,
        loaded: Loaded,
    },
    /// Another node is to have the partition: lease nothing more from it, commit what is in flight, then call
    /// [`release`](super::NodeHandle::release).
    Leaving { partition: PartitionId, epoch: u64 },
    /// The partition is gone. Nothing more is written; what was in flight is somebody else's now.
    Lost { partition: PartitionId, epoch: u64 },
    /// Links from other nodes. Their sequence goes along with the commit that takes them in.
    Links { partition: PartitionId, epoch: u64, sequence: u64, batch: Batch },
    /// Every queue in the cluster is empty and nothing is on its way.
    Finished,
    /// Another process has taken this node's name: this one must stop. Its partitions are given to others.
    Superseded,
}

/// What all nodes of a crawl must agree on. Written once, when the crawl is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlSettings {
    pub partitioner: Partitioner,
    pub allocation: Allocation,
    pub links: LinkMode,
    /// Tells crawls of one name apart: a working copy of another one is worthless.
    pub id: u64,
}

impl CrawlSettings {
    pub fn new(id: u64) -> Self {
        Self {
            partitioner: Partitioner::default(),
            allocation: Allocation::Static,
            links: LinkMode::Exchange,
            id,
        }
    }

    /// Whether two nodes may work together; the id is whoever's made the crawl.
    pub fn agrees(&self, other: &Self) -> bool {
        Self { id: 0, ..self.clone() } == Self { id: 0, ..other.clone() }
    }

    /// A print that travels with every batch.
    pub fn print(&self) -> u32 {
        let granularity = match self.partitioner.granularity {
            Granularity::Host => 0u8,
            Granularity::Domain => 1,
            Granularity::SubSite => 2,
            Granularity::Page => 3,
            Granularity::Random => 4,
        };
        let mut bytes = vec![granularity];
        bytes.extend(self.partitioner.partitions.to_be_bytes());
        bytes.extend(self.partitioner.seed.to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        if self.partitioner.regions > 0 {
            bytes.extend(self.partitioner.regions.to_be_bytes());
        }
        xxhash_rust::xxh3::xxh3_64(&bytes) as u32
    }
}

/// How one node takes part.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    pub node: NodeId,
    pub settings: CrawlSettings,
    /// What this node can do, relative to others. 0: it owns nothing (a coordinator).
    pub capacity: u32,
    /// Where it stands: it gets the partitions of its region before others do.
    pub region: Option<RegionId>,
    /// Whether this node may coordinate.
    pub candidate: bool,
    pub load_aware: bool,
    /// Whether the crawl ends when nothing is left to do.
    pub ends: bool,
    pub timing: Timing,
    pub outbox: OutboxLimits,
    /// Batches published side by side.
    pub publishers: usize,
    /// Batches of a partition handed out and not yet committed.
    pub window: usize,
    /// A snapshot is taken after so many records, or …
    pub snapshot_records: u64,
    /// … so many bytes of them.
    pub snapshot_bytes: u64,
}

impl NodeConfig {
    pub fn new(node: NodeId, settings: CrawlSettings) -> Self {
        Self {
            node,
            settings,
            capacity: 100,
            region: None,
            candidate: true,
            load_aware: true,
            ends: true,
            timing: Timing::default(),
            outbox: OutboxLimits::default(),
            publishers: 8,
            window: 64,
            snapshot_records: 5_000,
            snapshot_bytes: 64 << 20,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("the crawl was made with other settings ({found}); use them, or another name for this crawl")]
    Settings { found: String },
    #[error(
        "a node named {name:?} is in this crawl already ({life}) and sends heartbeats; give this one another name with --node"
    )]
    NameTaken { name: String, life: NodeId },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("partition {0} is not owned by this node, or no longer")]
    Lost(PartitionId),
    #[error("the node has stopped")]
    Stopped,
    #[error("the log of partition {0} is full and its snapshot is not done; try again in a moment")]
    LogFull(PartitionId),
    #[error("the change cannot travel: {0}")]
    Change(#[from] crate::wire::WireError),
    #[error(transparent)]
    Bus(#[from] BusError),
}
