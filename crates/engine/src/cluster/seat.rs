//! How a crawl joins a cluster, and what it holds while it is a member.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use lycosa_cluster::bus::Bus;
use lycosa_cluster::node::start;
use lycosa_cluster::{CrawlSettings, NodeConfig, NodeHandle};
use lycosa_frontier::Store;
use lycosa_types::CanonUrl;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::aside::Aside;
use super::briefing::follow_seeds;
use super::commit::NodeCommitter;
use super::custody::{LostArchive, Range, lost_archives, tell};
use super::state::PartitionStore;
use crate::bookkeeper::Event;

/// How long a node that is done waits for its good-bye to be heard.
const FAREWELL: Duration = Duration::from_secs(3);
/// Lists of seeds that may wait.
const SEED_LISTS: usize = 4;

/// What it takes to join. `node.settings` must be what [`lycosa_cluster::node::join`] returned.
#[derive(Debug)]
pub struct Joining<B> {
    pub bus: B,
    pub node: NodeConfig,
    /// Where the node runs. It needs threads of its own: beats must not wait for pages.
    pub runtime: Handle,
    /// The seeds known so far: they decide what is within scope.
    pub seeds: Vec<CanonUrl>,
}

/// What others archived and is lost.
type LostLook = Box<dyn Fn() -> BoxFuture<Vec<LostArchive>> + Send + Sync>;
/// Says which segments of this node's archive are safe; false if nobody heard.
pub type TellSafe = Box<dyn Fn(Vec<Range>) -> BoxFuture<bool> + Send>;
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The way to ask and to tell what is safe.
struct Custody {
    look: LostLook,
    tell: TellSafe,
}

impl std::fmt::Debug for Custody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Custody").finish_non_exhaustive()
    }
}

/// A member's side of the cluster.
#[derive(Debug)]
pub struct Seat {
    pub node: NodeHandle,
    pub runtime: Handle,
    pub settings: CrawlSettings,
    pub state: Arc<PartitionStore>,
    events: mpsc::Receiver<lycosa_cluster::Event>,
    seeds: mpsc::Receiver<Vec<CanonUrl>>,
    follower: AbortHandle,
    custody: Custody,
    /// Links to follow once nothing else is left, in link mode `cross`.
    pub aside: Option<Aside>,
}

/// What is left of a seat while the crawl runs: ends the membership when dropped, as a crash would.
#[derive(Debug)]
pub struct Membership {
    node: NodeHandle,
    runtime: Handle,
    tasks: Vec<AbortHandle>,
}

impl Seat {
    /// Starts the node. `archive` is the number of its archive.
    pub fn take<B: Bus>(joining: Joining<B>, store: Arc<Store>, archive: u32) -> Self {
        let Joining { bus, node, runtime, .. } = joining;
        let guard = runtime.enter();
        let state = Arc::new(PartitionStore::new(store));
        let (seeds_in, seeds) = mpsc::channel(SEED_LISTS);
        let follower = runtime.spawn(follow_seeds(bus.clone(), seeds_in)).abort_handle();
        let settings = node.settings.clone();
        let (node, events) = start(bus.clone(), node, Arc::clone(&state));
        let custody = custody(bus, &node, archive);
        drop(guard);
        Self { node, runtime, settings, state, events, seeds, follower, custody, aside: None }
    }

    pub fn committer(&self) -> NodeCommitter {
        let (node, runtime, state) = (self.node.clone(), self.runtime.clone(), Arc::clone(&self.state));
        NodeCommitter { node, runtime, state, aside: self.aside.as_ref().map(Aside::file) }
    }

    /// From now on everything the node tells reaches the bookkeeper. It is bounded by the node's own windows. Whether pages
    /// of others are lost matters only to crawls `with_central` archive. Returns the way to tell what is safe there.
    pub fn attend(self, to: Sender<Event>, with_central: bool) -> (Membership, TellSafe) {
        let Self { node, runtime, mut events, mut seeds, follower, custody, .. } = self;
        let Custody { look, tell } = custody;
        let asked = node.clone();
        let forward = runtime.spawn(async move {
            // All partitions of a node that died come with one table: what is lost is looked up once for them all.
            let mut known: Option<(u64, Vec<LostArchive>)> = None;
            loop {
                let event = tokio::select! {
                    Some(event) = events.recv() => Event::Cluster(event),
                    Some(seeds) = seeds.recv() => Event::Seeds(seeds),
                    else => return,
                };
                if let Event::Cluster(lycosa_cluster::Event::Arrived { partition, planned: false, .. }) =
                    &event
                    && with_central
                {
                    let version = asked.table().version;
                    let lost = match known.take() {
                        Some((at, lost)) if at == version => lost,
                        _ => look().await,
                    };
                    let _ = to.send(Event::LostArchives(*partition, lost.clone()));
                    known = Some((version, lost));
                }
                // Once nobody listens, the node is leaving and must not be held up.
                let _ = to.send(event);
            }
        });
        (Membership { node, runtime, tasks: vec![follower, forward.abort_handle()] }, tell)
    }
}

fn custody<B: Bus>(bus: B, node: &NodeHandle, archive: u32) -> Custody {
    let (asked, node) = (bus.clone(), node.clone());
    Custody {
        look: Box::new(move || {
            let (bus, node) = (asked.clone(), node.clone());
            Box::pin(async move { lost_archives(&bus, &node).await })
        }),
        tell: Box::new(move |safe| {
            let bus = bus.clone();
            Box::pin(async move { tell(&bus, archive, &safe).await })
        }),
    }
}

impl Membership {
    /// Says good-bye; what the bus cannot be told, others find out by themselves.
    pub fn leave(self) {
        let node = self.node.clone();
        let farewell = async move { tokio::time::timeout(FAREWELL, node.leave()).await };
        if self.runtime.block_on(farewell).is_err() {
            tracing::warn!("the cluster did not hear that this node leaves; it will find out");
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.node.kill();
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}
