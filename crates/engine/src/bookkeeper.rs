//! The one thread that owns the frontier. It takes in finished visits, hands out leases, and decides when to commit and
//! when the crawl is over. It never waits for a disk or a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};
use lycosa_archive::EncodedVisit;
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{Admission, Discovered, Done, Frontier, Lease, LeaseKind, StoreError};
use lycosa_types::{CanonUrl, Outcome, UnixMs, UrlId, UrlKey};
use tokio::sync::mpsc::UnboundedSender;

use crate::clock;
use crate::committer::{Batch, CommitError, Ended};
use crate::config::LimitConfig;
use crate::judge::Judged;
use crate::outlinks::Outlinks;
use crate::totals::{Progress, Totals};
use crate::worker::Finished;

/// A commit is started at least this often while there is something to commit.
const COMMIT_EVERY: Duration = Duration::from_millis(100);
/// Ended visits that may wait for a commit; beyond, no lease is handed out.
const MAX_UNCOMMITTED: usize = 4096;
/// Ended visits that start a commit before its time.
const COMMIT_VISITS: usize = 1024;
/// Longest sleep of the loop.
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// How long visits under way may take once the crawl is told to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Marks in the state.
pub const MARK_TOTALS: &str = "totals";
pub const MARK_CLEAN: &str = "clean-stop";

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
    },
    CommitFailed(CommitError),
    /// Seeds added while the crawl runs.
    Submit(Vec<CanonUrl>),
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

/// Visits under way, per worker.
struct WorkerSlot {
    leases: UnboundedSender<Vec<Lease>>,
    in_flight: usize,
    outgoing: Vec<Lease>,
}

pub struct Bookkeeper {
    frontier: Frontier,
    limits: LimitConfig,
    concurrency: usize,
    per_host: u32,
    workers: Vec<WorkerSlot>,
    events: Receiver<Event>,
    batches: SyncSender<Batch>,
    /// Pages on lease.
    leased: HashSet<UrlKey>,
    /// Duplicates whose original is still on its way: they are not committed before it.
    held: HashMap<UrlKey, Vec<(HostIndex, Box<Entry>, Box<Judged>)>>,
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
}

/// Pages and bytes per second over the last few seconds.
struct Rate {
    at: Instant,
    pages: u64,
    bytes: u64,
    pages_per_s: f64,
    bytes_per_s: f64,
}

/// What a bookkeeper is made of.
pub struct Parts {
    pub frontier: Frontier,
    pub limits: LimitConfig,
    pub concurrency: usize,
    pub per_host: u32,
    pub workers: Vec<UnboundedSender<Vec<Lease>>>,
    pub events: Receiver<Event>,
    pub batches: SyncSender<Batch>,
    pub totals: Totals,
    pub progress: Arc<Mutex<Progress>>,
    pub stop: Arc<AtomicBool>,
}

impl Bookkeeper {
    pub fn new(parts: Parts) -> Self {
        let now = Instant::now();
        let slot = |leases| WorkerSlot { leases, in_flight: 0, outgoing: Vec::new() };
        Self {
            frontier: parts.frontier,
            limits: parts.limits,
            concurrency: parts.concurrency,
            per_host: parts.per_host,
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
            pages_before: parts.totals.pages,
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
        }
    }

    /// Runs the crawl to its end. Everything that ended is committed when this returns without an error.
    pub fn run(mut self) -> Result<(Stop, Totals), CommitError> {
        let mut stopping: Option<(Stop, Instant)> = None;
        loop {
            self.receive(stopping.is_some())?;
            let now = clock::now();
            if stopping.is_none() {
                if let Some(reason) = self.reason_to_stop() {
                    stopping = Some((reason, Instant::now()));
                } else {
                    self.hand_out(now)?;
                }
            }
            self.commit_if_due(false)?;
            self.show_progress(stopping.is_some());
            if stopping.is_none() && self.is_over() {
                stopping = Some((Stop::Exhausted, Instant::now()));
            }
            if let Some((reason, since)) = stopping {
                let idle = self.frontier.counts().leased == 0;
                if idle || since.elapsed() > STOP_GRACE {
                    self.finish()?;
                    return Ok((reason, self.totals));
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.frontier.is_exhausted() && self.held.is_empty()
    }

    fn reason_to_stop(&self) -> Option<Stop> {
        let over = |limit: u64, value: u64| limit > 0 && value >= limit;
        if self.stop.load(Ordering::Relaxed) {
            return Some(Stop::Asked);
        }
        if over(self.limits.max_pages, self.totals.pages - self.pages_before) {
            return Some(Stop::MaxPages);
        }
        if over(self.limits.max_bytes, self.totals.received_bytes - self.received_before) {
            return Some(Stop::MaxBytes);
        }
        over(self.limits.max_time_s, self.started.elapsed().as_secs()).then_some(Stop::MaxTime)
    }

    /// Waits for something to happen and takes in everything that has.
    fn receive(&mut self, stopping: bool) -> Result<(), CommitError> {
        let mut sleep = MAX_SLEEP;
        if !stopping && let Some(due) = self.frontier.next_due() {
            sleep = sleep.min(Duration::from_millis(due.since_ms(clock::now())));
        }
        let mut next = match self.events.recv_timeout(sleep) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => None,
        };
        let now = clock::now();
        while let Some(event) = next {
            match event {
                Event::Finished { worker, batch } => {
                    if let Some(slot) = self.workers.get_mut(worker) {
                        slot.in_flight = slot.in_flight.saturating_sub(batch.len());
                    }
                    for finished in batch {
                        self.take_in(finished, now)?;
                    }
                }
                Event::Committed { epoch, archived_bytes } => {
                    self.committing -= 1;
                    self.totals.archived_bytes += archived_bytes;
                    self.frontier.committed(epoch);
                }
                Event::CommitFailed(error) => return Err(error),
                Event::Submit(seeds) => {
                    for seed in seeds {
                        self.admit_one(seed.as_str(), seed.key(), 0, 0, None, now)?;
                    }
                }
            }
            next = self.events.try_recv().ok();
        }
        Ok(())
    }

    fn take_in(&mut self, finished: Finished, now: UnixMs) -> Result<(), StoreError> {
        match finished {
            Finished::Page { host, entry, judged, received_bytes } => {
                self.totals.received_bytes += received_bytes;
                self.leased.remove(&entry.key);
                let key = entry.key;
                let original = judged.end.visit.as_ref().and_then(|visit| visit.duplicate_of);
                if let Some(original) = original.filter(|id| self.leased.contains(&id.key)) {
                    self.held.entry(original.key).or_default().push((host, entry, judged));
                    return Ok(());
                }
                self.end_page(host, entry, judged, now)?;
                for (host, entry, judged) in self.held.remove(&key).unwrap_or_default() {
                    self.end_page(host, entry, judged, now)?;
                }
            }
            Finished::Rules { host, end, sitemaps, address, elapsed_ms, encoded } => {
                self.extra.extend(encoded);
                self.frontier.finish_rules(host, end, address, elapsed_ms, now);
                for url in sitemaps {
                    self.admit_one(url.as_str(), url.key(), 0, 0, None, now)?;
                }
            }
            Finished::Resolve { host, address } => {
                self.frontier.finish_resolve(host, address, now);
            }
        }
        Ok(())
    }

    fn end_page(
        &mut self,
        host: HostIndex,
        entry: Box<Entry>,
        judged: Box<Judged>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let Judged { end, outlinks, edges, encoded, counts } = *judged;
        self.totals.count_links(&counts);
        let duplicate = end.visit.as_ref().is_some_and(|visit| visit.duplicate_of.is_some());
        let body_bytes = end.visit.as_ref().map_or(0, |visit| visit.body_bytes);
        let fetched = matches!(end.outcome, Outcome::Fetched { .. });
        if fetched {
            self.current.clear();
            self.current.push_str(entry.url.as_str());
        }
        let key = entry.key;
        match self.frontier.finish_page(host, *entry, end, now) {
            Some(done) => {
                if fetched {
                    self.totals.pages += 1;
                    self.totals.body_bytes += body_bytes;
                    self.totals.duplicates += u64::from(duplicate);
                }
                let found_on = UrlId { partition: done.slot.partition, key };
                self.end_visit(Ended { done, encoded, edges });
                self.admit(&outlinks, found_on, now)?;
            }
            None => self.totals.retries += 1,
        }
        Ok(())
    }

    fn end_visit(&mut self, ended: Ended) {
        if let Some(outcome) = &ended.done.record.outcome {
            self.totals.count_outcome(outcome);
        }
        self.ended.push(ended);
    }

    fn admit(&mut self, outlinks: &Outlinks, found_on: UrlId, now: UnixMs) -> Result<(), StoreError> {
        for (url, key) in outlinks.iter() {
            self.admit_one(url, key, outlinks.depth, outlinks.redirects, Some(found_on), now)?;
        }
        Ok(())
    }

    fn admit_one(
        &mut self,
        url: &str,
        key: UrlKey,
        depth: u16,
        redirects: u8,
        found_on: Option<UrlId>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        match self.frontier.admit(Discovered { url, key, depth, redirects, found_on }, now)? {
            Admission::Queued => self.totals.accepted += 1,
            Admission::SeenBefore => {}
            Admission::QueryBudget => self.totals.count_rejected("query-budget"),
        }
        Ok(())
    }

    /// Leases as much as may be under way, in one message per worker.
    fn hand_out(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let mut dropped: Vec<Done> = Vec::new();
        while self.may_lease() {
            let Some(lease) = self.frontier.lease(now, &mut dropped)? else { break };
            if let LeaseKind::Page(entry) = &lease.kind {
                self.leased.insert(entry.key);
            }
            let worker = self.choose_worker(lease.host);
            let slot = &mut self.workers[worker];
            slot.in_flight += 1;
            slot.outgoing.push(lease);
        }
        for done in dropped {
            self.end_visit(Ended { done, encoded: None, edges: None });
        }
        for slot in &mut self.workers {
            if !slot.outgoing.is_empty() {
                // A worker hangs up only if its thread died; then the crawl ends by its grace period.
                let _ = slot.leases.send(std::mem::take(&mut slot.outgoing));
            }
        }
        Ok(())
    }

    fn may_lease(&self) -> bool {
        let under_way: usize = self.workers.iter().map(|slot| slot.in_flight).sum();
        let room = under_way < self.concurrency && self.ended.len() < MAX_UNCOMMITTED;
        let pages = self.totals.pages - self.pages_before + self.leased.len() as u64;
        room && (self.limits.max_pages == 0 || pages < self.limits.max_pages)
    }

    /// A host stays with one worker, where its connection is; a host that is asked many times at once is spread.
    fn choose_worker(&self, host: HostIndex) -> usize {
        let count = self.workers.len();
        let home = host as usize % count;
        let lightest = (0..count).min_by_key(|&worker| self.workers[worker].in_flight).unwrap_or(home);
        let overloaded = self.workers[home].in_flight > 2 * self.workers[lightest].in_flight + 8;
        if self.per_host > 1 || overloaded { lightest } else { home }
    }

    fn commit_if_due(&mut self, force: bool) -> Result<(), CommitError> {
        let waiting = self.ended.len();
        let due = waiting >= COMMIT_VISITS || self.last_commit.elapsed() >= COMMIT_EVERY;
        if !force && (!due || self.committing > 0) {
            return Ok(());
        }
        if !force && waiting == 0 && !self.frontier.has_changes() {
            return Ok(());
        }
        self.send_batch(Vec::new())
    }

    fn send_batch(&mut self, mut marks: Vec<lycosa_frontier::store::Mark>) -> Result<(), CommitError> {
        self.totals.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        marks.push((MARK_TOTALS, serde_json::to_vec(&self.totals).unwrap_or_default()));
        let batch = Batch {
            ended: std::mem::take(&mut self.ended),
            extra: std::mem::take(&mut self.extra),
            changes: self.frontier.take_changes(),
            marks,
        };
        self.last_commit = Instant::now();
        self.committing += 1;
        match self.batches.try_send(batch) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                // At the end of a crawl a second batch may follow at once: wait for the committer.
                if self.batches.send(batch).is_err() {
                    self.wait_for_commits()?;
                }
                Ok(())
            }
        }
    }

    /// The last commit: everything that ended, and the mark of a clean stop.
    fn finish(&mut self) -> Result<(), CommitError> {
        self.wait_for_commits()?;
        self.send_batch(vec![(MARK_CLEAN, vec![1])])?;
        self.wait_for_commits()?;
        // The archived bytes of the last batch are known only now.
        self.send_batch(vec![(MARK_CLEAN, vec![1])])?;
        self.wait_for_commits()?;
        self.show_progress(true);
        Ok(())
    }

    fn wait_for_commits(&mut self) -> Result<(), CommitError> {
        while self.committing > 0 {
            match self.events.recv() {
                Ok(Event::Committed { epoch, archived_bytes }) => {
                    self.committing -= 1;
                    self.totals.archived_bytes += archived_bytes;
                    self.frontier.committed(epoch);
                }
                Ok(Event::CommitFailed(error)) => return Err(error),
                // A visit that outlived the grace period: it stays queued and is made again.
                Ok(_) => {}
                Err(_) => return Err(StoreError::Poisoned.into()),
            }
        }
        Ok(())
    }

    fn show_progress(&mut self, stopping: bool) {
        if self.last_progress.elapsed() < PROGRESS_EVERY && !stopping {
            return;
        }
        self.last_progress = Instant::now();
        self.rate.update(&self.totals);
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.at = clock::now();
        progress.totals.clone_from(&self.totals);
        progress.totals.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        progress.set_counts(self.frontier.counts());
        progress.pages_per_s = self.rate.pages_per_s;
        progress.bytes_per_s = self.rate.bytes_per_s;
        progress.current.clone_from(&self.current);
        progress.stopping = stopping;
    }
}

impl Rate {
    /// Smooths over about five seconds.
    fn update(&mut self, totals: &Totals) {
        let seconds = self.at.elapsed().as_secs_f64();
        if seconds < 0.1 {
            return;
        }
        let weight = if self.pages_per_s == 0.0 { 1.0 } else { (seconds / 5.0).min(1.0) };
        let pages_per_s = (totals.pages - self.pages) as f64 / seconds;
        let bytes_per_s = (totals.received_bytes - self.bytes) as f64 / seconds;
        self.pages_per_s += (pages_per_s - self.pages_per_s) * weight;
        self.bytes_per_s += (bytes_per_s - self.bytes_per_s) * weight;
        self.at = Instant::now();
        self.pages = totals.pages;
        self.bytes = totals.received_bytes;
    }
}
