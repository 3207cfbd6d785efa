//! The one owner of the frontier. It takes in finished visits, hands out leases, and decides when to commit and when the
//! crawl is over. It never waits for a server or a commit. Threads take turns at it ([`desk`]).

mod commits;
mod crossing;
mod desk;
mod handout;
mod intake;
mod left_out;
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
mod turns;

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
use lycosa_frontier::store::{HostSlot, LeftOutNotes};
use lycosa_frontier::{Frontier, Lease, Store};
use lycosa_page::MirrorDetector;
use lycosa_types::{CanonUrl, PartitionId, UnixMs, UrlKey};
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
pub use desk::{Desk, Visitor};
pub use locator::{Addresses, Locator};
use member::Member;
pub(crate) use member::is_supported;
pub use opener::Opener;
use progress::Rate;

/// Longest sleep of the bookkeeper's own thread.
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// How long visits under way may take once the crawl is told to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long a node that is told to stop waits for others to take its partitions.
const LEAVE_GRACE: Duration = Duration::from_secs(20);

/// Marks in the state.
pub const MARK_TOTALS: &str = "totals";
pub const MARK_CLEAN: &str = "clean-stop";
/// When the refresh under way began; empty if none is.
pub const MARK_SWEEP: &str = "sweep";

/// What a worker brings.
#[derive(Debug)]
pub struct Results {
    worker: usize,
    batch: Vec<Finished>,
}

/// What reaches the bookkeeper's own thread.
#[derive(Debug)]
pub enum Event {
    /// Somebody else was at the books and came upon what is for this thread.
    Wanted,
    Committed {
        epoch: u64,
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
    /// In a cluster: another process has taken this node's name.
    Superseded,
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
    results: Receiver<Results>,
    batches: SyncSender<Batch>,
    /// Pages on lease.
    leased: HashSet<UrlKey>,
    /// How many of them are requisites of pages.
    leased_requisites: usize,
    /// Duplicates whose original is still on its way: they are not committed before it.
    held: HashMap<UrlKey, Vec<PageResult>>,
    ended: Vec<Ended>,
    /// What was left out since the last commit.
    left_out: LeftOutNotes,
    /// Links noted in this run.
    left_out_notes: u64,
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
    /// What was said about the wall clock, and about times that it spoiled.
    told_drift_ms: i64,
    told_cut: u64,
    rate: Rate,
    current: String,
    stop: Arc<AtomicBool>,
    /// Why the crawl ends, and since when.
    stopping: Option<(Stop, Instant)>,
    /// What went wrong while a worker was at the books.
    failed: Option<CommitError>,
    /// When its own thread looks again.
    looks_at: UnixMs,
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
    pub results: Receiver<Results>,
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
            results: parts.results,
            batches: parts.batches,
            leased: HashSet::default(),
            leased_requisites: 0,
            held: HashMap::default(),
            ended: Vec::new(),
            left_out: LeftOutNotes::default(),
            left_out_notes: 0,
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
            told_drift_ms: 0,
            told_cut: 0,
            current: String::new(),
            stop: parts.stop,
            stopping: None,
            failed: None,
            looks_at: UnixMs(0),
            member: parts.node.map(Member::new),
        }
    }

    /// Takes in what workers brought and hands out leases, on whatever thread. True if its own thread must look.
    fn serve_workers(&mut self) -> bool {
        if self.failed.is_none() {
            self.failed = self.take_in_and_hand_out().err();
        }
        self.failed.is_some() || self.frontier.counts().leased == 0 || self.next_lease() < self.looks_at
    }

    fn take_in_and_hand_out(&mut self) -> Result<(), CommitError> {
        self.take_results()?;
        if self.stopping.is_none() && self.reason_to_stop().is_none() {
            self.hand_out(clock::now())?;
        }
        self.commit_if_due()
    }

    /// One turn of the bookkeeper's own thread; tells why the crawl is to be finished, when it is.
    fn turn(&mut self) -> Result<Option<Stop>, CommitError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.take_results()?;
        let now = clock::now();
        self.tend_partitions(now)?;
        self.cross_over(self.stopping.map(|(reason, _)| reason), now)?;
        if self.stopping.is_none() {
            if let Some(reason) = self.reason_to_stop() {
                self.stopping = Some((reason, Instant::now()));
                self.start_leaving();
            } else {
                if self.member.is_none() {
                    self.look_for_mail(self.is_over())?;
                }
                self.hand_out(now)?;
            }
        }
        self.commit_if_due()?;
        self.show_progress(self.stopping.is_some());
        if self.stopping.is_none() && self.is_over() {
            self.stopping = Some((Stop::Exhausted, Instant::now()));
        }
        Ok(self.end())
    }

    /// Why the crawl ends, once nothing is left to be waited for.
    fn end(&self) -> Option<Stop> {
        let (reason, since) = self.stopping?;
        let idle = self.frontier.counts().leased == 0;
        let grace = if self.member.is_some() { LEAVE_GRACE } else { STOP_GRACE };
        ((idle && self.has_left(reason, since)) || since.elapsed() > grace).then_some(reason)
    }

    /// How long its own thread may sleep if nothing happens.
    fn sleep(&mut self) -> Duration {
        let now = clock::now();
        let sleep = MAX_SLEEP.min(Duration::from_millis(self.next_lease().since_ms(now)));
        self.looks_at = UnixMs(now.0 + sleep.as_millis() as u64);
        sleep
    }

    /// When a lease can be handed out next, as far as that is a matter of time.
    fn next_lease(&self) -> UnixMs {
        let due = if self.stopping.is_none() && self.may_lease() { self.frontier.next_due() } else { None };
        due.unwrap_or(UnixMs(u64::MAX))
    }

    fn is_over(&self) -> bool {
        if let Some(member) = &self.member {
            return member.is_finished();
        }
        self.frontier.is_exhausted() && self.held.is_empty()
    }

    fn reason_to_stop(&self) -> Option<Stop> {
        let over = |limit: u64, value: u64| limit > 0 && value >= limit;
        if self.member.as_ref().is_some_and(|member| member.superseded) {
            return Some(Stop::Superseded);
        }
        if self.stop.load(Ordering::Relaxed) {
            return Some(Stop::Asked);
        }
        if over(self.limits.max_pages, self.totals.pages + self.totals.revisits - self.pages_before)
            && !self.awaits_requisites()
        {
            return Some(Stop::MaxPages);
        }
        if over(self.limits.max_bytes, self.totals.received_bytes - self.received_before) {
            return Some(Stop::MaxBytes);
        }
        over(self.limits.max_time_s, self.started.elapsed().as_secs()).then_some(Stop::MaxTime)
    }
}
