//! The crawl loop without a network: one bookkeeper, one committer, one worker that makes up pages.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{
    Admission, Changes, Discovered, Done, Frontier, LeaseKind, PageEnd, RulesEnd, RulesRecord, Signals, Store,
};
use lycosa_types::{Digest, Outcome, UnixMs, UrlId, VisitFacts};

use crate::meter;
use crate::web::{Links, Web};
use crate::{AllAllowed, Failed, START};

/// As in the engine.
const CONCURRENCY: usize = 1024;
const COMMIT_EVERY: Duration = Duration::from_millis(100);
const COMMIT_VISITS: usize = 1024;
const MAX_UNCOMMITTED: usize = 4096;
/// Pages that the made-up network answers in a millisecond.
const PAGES_PER_MS: u64 = 16;

type Batch = (Vec<Done>, Arc<Changes>);
type Page = (HostIndex, Box<Entry>, Links);

enum Event {
    Fetched(Vec<Page>),
    Committed(u64),
    CommitFailed(String),
}

pub struct Crawl {
    pub frontier: Frontier,
    pub store: Arc<Store>,
    pub dir: PathBuf,
    pub urls: u64,
    pub report_every: u64,
    now: UnixMs,
    pub sightings: u64,
    pub accepted: u64,
    pub pages: u64,
    under_way: usize,
    committing: bool,
    done: Vec<Done>,
    started: Instant,
    last_commit: Instant,
    last_report: Point,
}

/// Where the crawl stood at a report.
#[derive(Clone, Copy)]
struct Point {
    at: Instant,
    sightings: u64,
    accepted: u64,
    pages: u64,
    cpu_s: f64,
}

impl Crawl {
    pub fn new(frontier: Frontier, store: Arc<Store>, dir: PathBuf, urls: u64, report_every: u64) -> Self {
        let now = Instant::now();
        Self {
            frontier,
            store,
            dir,
            urls,
            report_every,
            now: START,
            sightings: 0,
            accepted: 0,
            pages: 0,
            under_way: 0,
            committing: false,
            done: Vec::new(),
            started: now,
            last_commit: now,
            last_report: Point { at: now, sightings: 0, accepted: 0, pages: 0, cpu_s: 0.0 },
        }
    }

    /// Crawls until every URL of the web was met.
    pub fn run(&mut self, mut web: Web, seeds: u64) -> Result<(), Failed> {
        let (to_worker, leases) = channel::<Vec<(HostIndex, Box<Entry>)>>();
        let (to_committer, batches) = sync_channel::<Batch>(1);
        let (events, inbox) = channel();
        self.admit(&web.seeds(seeds), None)?;
        let store = Arc::clone(&self.store);
        let from_worker = events.clone();
        let worker = move || {
            for batch in leases {
                let pages = batch.into_iter().map(|(host, entry)| (host, entry, web.links())).collect();
                if from_worker.send(Event::Fetched(pages)).is_err() {
                    return;
                }
            }
        };
        let committer = move || commit_all(&store, &batches, &events);
        std::thread::Builder::new().name("worker".into()).spawn(worker)?;
        let committer = std::thread::Builder::new().name("committer".into()).spawn(committer)?;
        while self.accepted < self.urls {
            self.receive(&inbox)?;
            let out = self.hand_out()?;
            if !out.is_empty() && to_worker.send(out).is_err() {
                return Err("the worker is gone".into());
            }
            let due = self.done.len() >= COMMIT_VISITS || self.last_commit.elapsed() >= COMMIT_EVERY;
            if due && !self.committing {
                self.commit(&to_committer)?;
            }
            self.report_if_due();
        }
        while self.committing {
            self.receive(&inbox)?;
        }
        self.commit(&to_committer)?;
        while self.committing {
            self.receive(&inbox)?;
        }
        drop(to_committer);
        committer.join().map_err(|_| "the committer panicked")?;
        Ok(())
    }

    fn receive(&mut self, inbox: &Receiver<Event>) -> Result<(), Failed> {
        let mut next = match inbox.recv_timeout(Duration::from_millis(1)) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err("everybody hung up".into()),
        };
        while let Some(event) = next {
            match event {
                Event::Fetched(pages) => {
                    self.under_way -= pages.len();
                    for (host, entry, links) in pages {
                        self.take_in(host, *entry, &links)?;
                    }
                }
                Event::Committed(epoch) => {
                    self.committing = false;
                    self.frontier.committed(epoch);
                }
                Event::CommitFailed(error) => return Err(error.into()),
            }
            next = inbox.try_recv().ok();
        }
        Ok(())
    }

    fn take_in(&mut self, host: HostIndex, entry: Entry, links: &Links) -> Result<(), Failed> {
        self.pages += 1;
        self.now = UnixMs(self.now.0 + u64::from(self.pages.is_multiple_of(PAGES_PER_MS)));
        let (key, depth) = (entry.key, entry.depth);
        let end = PageEnd {
            outcome: Outcome::Fetched { status: 200 },
            visit: Some(facts(&entry)),
            first_print: None,
            signatures: None,
            retry_after_ms: None,
            elapsed_ms: 20,
            address: None,
        };
        if let Some(done) = self.frontier.finish_page(host, entry, end, self.now) {
            let found_on = UrlId { partition: done.slot.partition, key };
            self.done.push(done);
            self.admit(links, Some((found_on, depth.saturating_add(1))))?;
        }
        Ok(())
    }

    fn admit(&mut self, links: &Links, from: Option<(UrlId, u16)>) -> Result<(), Failed> {
        let signals = Signals { depth: from.map_or(0, |(_, depth)| depth), ..Signals::default() };
        let found_on = from.map(|(id, _)| id);
        for (url, key) in links.iter() {
            let found = Discovered { url, key, redirects: 0, found_on, signals, listed: false };
            self.sightings += 1;
            self.accepted += u64::from(self.frontier.admit(found, self.now)? == Admission::Queued);
        }
        Ok(())
    }

    /// Leases as much as may be under way; robots.txt is answered at once.
    fn hand_out(&mut self) -> Result<Vec<(HostIndex, Box<Entry>)>, Failed> {
        let mut out = Vec::new();
        while self.under_way < CONCURRENCY && self.done.len() < MAX_UNCOMMITTED {
            let Some(lease) = self.frontier.lease(self.now, &mut self.done)? else {
                // Nobody may be asked: the made-up clock goes on to the next one who may.
                if self.under_way == 0
                    && let Some(due) = self.frontier.next_due()
                {
                    self.now = self.now.max(due);
                }
                break;
            };
            match lease.kind {
                LeaseKind::Page(entry) => {
                    self.under_way += 1;
                    out.push((lease.host, entry));
                }
                LeaseKind::Rules { .. } => {
                    let body =
                        b"User-agent: *\nDisallow: /admin/\nDisallow: /search\nCrawl-delay: 1\n".to_vec();
                    let record = RulesRecord { fetched_at: self.now, status: 200, body };
                    let end = RulesEnd::Known { rules: Arc::new(AllAllowed), record };
                    self.frontier.finish_rules(lease.host, end, None, 20, self.now);
                }
                LeaseKind::Resolve => {
                    self.frontier.finish_resolve(lease.host, Ok([127, 0, 0, 1].into()), self.now);
                }
            }
        }
        Ok(out)
    }

    fn commit(&mut self, to_committer: &std::sync::mpsc::SyncSender<Batch>) -> Result<(), Failed> {
        let batch = (std::mem::take(&mut self.done), self.frontier.take_changes());
        self.committing = true;
        self.last_commit = Instant::now();
        to_committer.send(batch).map_err(|_| "the committer is gone".into())
    }

    /// One line of JSON for every stretch.
    fn report_if_due(&mut self) {
        if self.accepted < self.last_report.accepted + self.report_every && self.accepted < self.urls {
            return;
        }
        let before = self.last_report;
        let cpu = meter::cpu_seconds();
        let now = Point {
            at: Instant::now(),
            sightings: self.sightings,
            accepted: self.accepted,
            pages: self.pages,
            cpu_s: cpu.values().sum(),
        };
        self.last_report = now;
        let seconds = (now.at - before.at).as_secs_f64();
        let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
        let (rss, peak) = meter::memory_mib();
        let disk = meter::disk_mib(&self.dir);
        let counts = self.frontier.counts();
        let threads: Vec<String> =
            cpu.iter().map(|(name, seconds)| format!("\"{name}\":{seconds:.1}")).collect();
        println!(
            "{{\"urls\":{},\"seconds\":{:.1},\"sightings_per_s\":{:.0},\"urls_per_s\":{:.0},\"leases_per_s\":{:.0},\
             \"cpu_us_per_sighting\":{:.2},\"rss_mib\":{rss:.0},\"peak_mib\":{peak:.0},\"disk_bytes_per_url\":{:.1},\
             \"waiting\":{},\"hosts_in_memory\":{},\"cpu_s\":{{{}}}}}",
            self.accepted,
            self.started.elapsed().as_secs_f64(),
            rate(before.sightings, now.sightings),
            rate(before.accepted, now.accepted),
            rate(before.pages, now.pages),
            (now.cpu_s - before.cpu_s) * 1e6 / (now.sightings - before.sightings).max(1) as f64,
            disk * (1u64 << 20) as f64 / self.accepted.max(1) as f64,
            counts.waiting,
            counts.hosts,
            threads.join(","),
        );
    }
}

fn commit_all(store: &Store, batches: &Receiver<Batch>, events: &Sender<Event>) {
    for (done, changes) in batches {
        let event = match store.commit(&done, &changes, &[]) {
            Ok(()) => Event::Committed(changes.epoch),
            Err(error) => Event::CommitFailed(error.to_string()),
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// What a visit of an ordinary page leaves behind.
fn facts(entry: &Entry) -> VisitFacts {
    VisitFacts {
        digest: Some(Digest(entry.key.low())),
        payload_sha1: Some([7; 20]),
        content_type: "text/html".into(),
        body_bytes: 24_000,
        title: format!("Page {} of the synthetic web", entry.rank.sequence),
        language: "en".into(),
        links: 30,
        elapsed_ms: 20,
        ..VisitFacts::default()
    }
}
