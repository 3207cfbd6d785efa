//! The one thread that owns the frontier. It takes in finished visits, hands out leases, and decides when to commit and
//! when the crawl is over. It never waits for a disk or a server.

mod commits;
mod crossing;
mod handout;
mod intake;
mod locator;
mod mail;
mod member;
mod opener;
mod pace;
mod pictures;
mod placements;
mod placing;
mod prints;
mod progress;
mod routing;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};
use lycosa_archive::EncodedVisit;
use lycosa_cluster::{CrawlSettings, NodeHandle, Regions};
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::store::HostSlot;
use lycosa_frontier::{Frontier, Lease, Store};
use lycosa_page::MirrorDetector;
use lycosa_types::{CanonUrl, PartitionId, UrlKey};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::clock;
use crate::cluster::aside::Aside;
use crate::cluster::custody::LostArchive;
use crate::committer::{Batch, CommitError, Ended};
use crate::config::LimitConfig;
use crate::judge::{JudgeContext, Judged};
use crate::prospects::Prospects;
use crate::refresher::Refresher;
use crate::totals::{Progress, Totals};
use crate::worker::Finished;
pub use locator::{Addresses, Locator};
use member::Member;
pub(crate) use member::is_supported;
pub use opener::Opener;
use progress::Rate;

/// How long visits under way may take once the crawl is told to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long a node that is told to stop waits for others to take its partitions.
const LEAVE_GRACE: Duration = Duration::from_secs(20);

/// Marks in the state.
pub const MARK_TOTALS: &str = "totals";
pub const MARK_CLEAN: &str = "clean-stop";
/// When the refresh under way began; empty if none is.
pub const MARK_SWEEP: &str = "sweep";

/// What reaches the bookkeeper.
#[derive(Debug)]
pub enum Event {
    Finished {
        worker: usize,
        batch: Vec<Finished>,
    },
    Committed {
        epoch: u64,
        archived_bytes: u64,
        /// Partitions that were lost on the way: nothing of theirs is written.
        lost: BTreeSet<PartitionId>,
    },
    CommitFailed(CommitError),
    /// The node tells something.
    Cluster(lycosa_cluster::Event),
    /// Archives that are lost, for a partition that arrives next.
    LostArchives(PartitionId, Vec<LostArchive>),
    /// The seeds of the cluster's crawl, as they are now.
    Seeds(Vec<CanonUrl>),
    /// Where a host is that is to be placed.
    Located {
        slot: HostSlot,
        addresses: Addresses,
    },
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to do.
    Exhausted,
    MaxPages,
    MaxBytes,
    MaxTime,
    /// Somebody asked.
    Asked,
}

/// A page lease that is over.
struct PageResult {
    host: HostIndex,
    entry: Box<Entry>,
    judged: Box<Judged>,
}

/// Visits under way, per worker.
struct WorkerSlot {
    leases: UnboundedSender<Vec<Lease>>,
    in_flight: usize,
    outgoing: Vec<Lease>,
}

pub struct Bookkeeper {
    frontier: Frontier,
    prospects: Prospects,
    refresher: Refresher,
    store: Arc<Store>,
    context: Arc<JudgeContext>,
    inbox: PathBuf,
    mailbox: mail::Mailbox,
    pictures: pictures::Pictures,
    limits: LimitConfig,
    concurrency: usize,
    per_host: u32,
    /// Pages that suit the topic this well count as on topic.
    relevant_from: f32,
    /// Recognises hosts that repeat another one; none if that is not wanted.
    mirrors: Option<MirrorDetector>,
    workers: Vec<WorkerSlot>,
    events: Receiver<Event>,
    batches: SyncSender<Batch>,
    /// Pages on lease.
    leased: HashSet<UrlKey>,
    /// Duplicates whose original is still on its way: they are not committed before it.
    held: HashMap<UrlKey, Vec<PageResult>>,
    ended: Vec<Ended>,
    extra: Vec<EncodedVisit>,
    /// Commits under way.
    committing: usize,
    last_commit: Instant,
    totals: Totals,
    received_before: u64,
    pages_before: u64,
    started: Instant,
    seconds_before: f64,
    progress: Arc<Mutex<Progress>>,
    last_progress: Instant,
    rate: Rate,
    current: String,
    stop: Arc<AtomicBool>,
    /// Its place in a cluster; none on one machine.
    member: Option<Member>,
}

/// What a bookkeeper is made of.
pub struct Parts {
    pub frontier: Frontier,
    pub prospects: Prospects,
    pub refresher: Refresher,
    pub store: Arc<Store>,
    pub context: Arc<JudgeContext>,
    pub inbox: PathBuf,
    pub limits: LimitConfig,
    pub concurrency: usize,
    pub per_host: u32,
    pub relevant_from: f32,
    pub skip_mirrors: bool,
    pub workers: Vec<UnboundedSender<Vec<Lease>>>,
    pub events: Receiver<Event>,
    pub batches: SyncSender<Batch>,
    pub totals: Totals,
    pub progress: Arc<Mutex<Progress>>,
    pub stop: Arc<AtomicBool>,
    /// The node and where it runs, in a cluster.
    pub node: Option<NodeParts>,
}

/// What a bookkeeper needs in a cluster.
pub struct NodeParts {
    pub node: NodeHandle,
    pub runtime: Handle,
    pub settings: CrawlSettings,
    pub opener: Opener,
    /// Links to follow once nothing else is left, in link mode `cross`.
    pub aside: Option<Aside>,
    /// Where servers stand and how to find out, in a crawl with regions.
    pub regions: Option<(Regions, Locator)>,
}

impl Bookkeeper {
    pub fn new(parts: Parts) -> Self {
        let now = Instant::now();
        let slot = |leases| WorkerSlot { leases, in_flight: 0, outgoing: Vec::new() };
        Self {
            frontier: parts.frontier,
            prospects: parts.prospects,
            refresher: parts.refresher,
            store: parts.store,
            context: parts.context,
            inbox: parts.inbox,
            mailbox: mail::Mailbox::default(),
            pictures: pictures::Pictures::default(),
            limits: parts.limits,
            concurrency: parts.concurrency,
            per_host: parts.per_host,
            relevant_from: parts.relevant_from,
            mirrors: parts.skip_mirrors.then(MirrorDetector::default),
            workers: parts.workers.into_iter().map(slot).collect(),
            events: parts.events,
            batches: parts.batches,
            leased: HashSet::default(),
            held: HashMap::default(),
            ended: Vec::new(),
            extra: Vec::new(),
            committing: 0,
            last_commit: now,
            received_before: parts.totals.received_bytes,
            pages_before: parts.totals.pages + parts.totals.revisits,
            seconds_before: parts.totals.seconds,
            rate: Rate {
                at: now,
                pages: parts.totals.pages,
                bytes: parts.totals.received_bytes,
                pages_per_s: 0.0,
                bytes_per_s: 0.0,
            },
            totals: parts.totals,
            started: now,
            progress: parts.progress,
            last_progress: now,
            current: String::new(),
            stop: parts.stop,
            member: parts.node.map(Member::new),
        }
    }

    /// Runs the crawl to its end. Everything that ended is committed when this returns without an error.
    pub fn run(mut self) -> Result<(Stop, Totals), CommitError> {
        let mut stopping: Option<(Stop, Instant)> = None;
        loop {
            let now = clock::now();
            self.tend_partitions(now)?;
            self.cross_over(stopping.map(|(reason, _)| reason), now)?;
            if stopping.is_none() {
                if let Some(reason) = self.reason_to_stop() {
                    stopping = Some((reason, Instant::now()));
                    self.start_leaving();
                } else {
                    if self.member.is_none() {
                        self.look_for_mail(self.is_over())?;
                    }
                    self.hand_out(now)?;
                }
            }
            self.commit_if_due()?;
            self.show_progress(stopping.is_some());
            if stopping.is_none() && self.is_over() {
                stopping = Some((Stop::Exhausted, Instant::now()));
            }
            if let Some((reason, since)) = stopping {
                let idle = self.frontier.counts().leased == 0;
                let grace = if self.member.is_some() { LEAVE_GRACE } else { STOP_GRACE };
                if (idle && self.has_left(reason, since)) || since.elapsed() > grace {
                    self.finish(reason)?;
                    return Ok((reason, self.totals));
                }
            }
            self.receive(stopping.is_some())?;
        }
    }

    fn is_over(&self) -> bool {
        if let Some(member) = &self.member {
            return member.is_finished();
        }
        self.frontier.is_exhausted() && self.held.is_empty()
    }

    fn reason_to_stop(&self) -> Option<Stop> {
        let over = |limit: u64, value: u64| limit > 0 && value >= limit;
        if self.stop.load(Ordering::Relaxed) {
            return Some(Stop::Asked);
        }
        if over(self.limits.max_pages, self.totals.pages + self.totals.revisits - self.pages_before) {
            return Some(Stop::MaxPages);
        }
        if over(self.limits.max_bytes, self.totals.received_bytes - self.received_before) {
            return Some(Stop::MaxBytes);
        }
        over(self.limits.max_time_s, self.started.elapsed().as_secs()).then_some(Stop::MaxTime)
    }
}
