//! Many hosts at once: each waits a second after every answer, and every one of them always has something to fetch.
//! In real time; the fetchers answer at once. How late is a host served after it is ready, is any served early, does each
//! get its share, and what does a lease cost?
//!
//! ```text
//! many_hosts [HOSTS] [SECONDS] [memory|durable] [DELAY_MS] [IP_DELAY_MS]
//! ```
//!
//! `durable` commits every visit as a crawl does; `memory` leaves the disk out, for the cost of scheduling alone.

#[path = "frontier_scale/meter.rs"]
mod meter;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{
    Changes, Discovered, Done, Frontier, FrontierOptions, Lease, LeaseKind, PageEnd, Politeness, Signals,
    Store,
};
use lycosa_types::{CanonUrl, Outcome, UnixMs, UrlKey};

type Failed = Box<dyn std::error::Error>;
type Batch = (Vec<Done>, Arc<Changes>);

const FETCHERS: usize = 2;
/// As in the engine.
const COMMIT_EVERY: Duration = Duration::from_millis(100);
/// Requests under way: more than are ever ready at once, so that it is the scheduler that is measured.
const CONCURRENCY: usize = 1 << 17;
/// All hosts are ready in the first second; lateness is counted once that rush is over.
const WARM_UP_S: f64 = 5.0;

enum Event {
    Fetched(Vec<Lease>),
    Committed(u64),
    CommitFailed(String),
}

/// What is known of a host from outside.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The end of the last answer, in microseconds.
    ended_us: u64,
    leases: u32,
}

struct Bench {
    frontier: Frontier,
    start: Instant,
    base: u64,
    delay_us: u64,
    hosts: Vec<Seen>,
    late_us: Vec<u32>,
    early: u64,
    leases: u64,
    under_way: usize,
    done: Vec<Done>,
    counting: bool,
}

fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| args.get(at).map_or(Ok(default), |text| text.parse::<u64>());
    let (count, seconds) = (number(0, 100_000)?, number(1, 30)?);
    let durable = args.get(2).is_some_and(|mode| mode == "durable");
    let (delay_ms, ip_delay_ms) = (number(3, 1000)?, number(4, 0)?);
    let dir = tempfile::tempdir_in(".")?;
    let store = Arc::new(Store::open(dir.path(), 256 << 20)?);
    let options = FrontierOptions {
        politeness: Politeness { delay_ms, ip_delay_ms, ..Politeness::default() },
        obey_robots: false,
        max_hosts_in_memory: count as usize * 2,
        max_entries_in_memory: 1 << 20,
        ..FrontierOptions::default()
    };
    let base = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis() as u64;
    let no_rules = Box::new(|_: &str, _: &_| -> Arc<dyn lycosa_frontier::Rules> { Arc::new(AllAllowed) });
    let frontier = Frontier::open(options, Arc::clone(&store), no_rules, true, UnixMs(base))?;
    let mut bench = Bench {
        frontier,
        start: Instant::now(),
        base,
        delay_us: delay_ms * 1000,
        hosts: vec![Seen::default(); count as usize],
        late_us: Vec::new(),
        early: 0,
        leases: 0,
        under_way: 0,
        done: Vec::new(),
        counting: false,
    };
    for host in 0..count {
        bench.admit(&format!("http://h{host}.test/0"))?;
    }
    let changes = bench.frontier.take_changes();
    store.commit(&[], &changes, &[])?;
    bench.frontier.committed(changes.epoch);
    drop(changes);
    let (host, entry) = (size_of::<lycosa_frontier::host::Host>(), size_of::<Entry>());
    println!("{{\"hosts\":{count},\"bytes_of_host\":{host},\"bytes_of_entry\":{entry}}}");
    bench.run(&store, dir.path(), durable, seconds as f64)
}

#[derive(Debug)]
struct AllAllowed;

impl lycosa_frontier::Rules for AllAllowed {
    fn check(&self, _: &str) -> Result<(), lycosa_types::Exclusion> {
        Ok(())
    }

    fn delay_ms(&self) -> Option<u64> {
        None
    }
}

impl Bench {
    fn elapsed_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    /// The clock as the engine reads it: whole milliseconds, rounded down.
    fn now(&self) -> UnixMs {
        UnixMs(self.base + self.elapsed_us() / 1000)
    }

    fn admit(&mut self, url: &str) -> Result<(), Failed> {
        let signals = Signals::default();
        let found =
            Discovered { url, key: UrlKey::of(url), redirects: 0, found_on: None, signals, listed: false };
        self.frontier.admit(found, self.now())?;
        Ok(())
    }

    fn run(
        &mut self,
        store: &Arc<Store>,
        dir: &std::path::Path,
        durable: bool,
        seconds: f64,
    ) -> Result<(), Failed> {
        let (events, inbox) = channel();
        let mut fetchers = Vec::new();
        for _ in 0..FETCHERS {
            let (to_fetcher, leases) = channel::<Vec<Lease>>();
            let events = events.clone();
            let fetch = move || leases.into_iter().all(|batch| events.send(Event::Fetched(batch)).is_ok());
            std::thread::Builder::new().name("fetcher".into()).spawn(fetch)?;
            fetchers.push(to_fetcher);
        }
        let (to_committer, batches) = sync_channel::<Batch>(1);
        let for_commits = Arc::clone(store);
        let committer = move || commit_all(&for_commits, durable, &batches, &events);
        std::thread::Builder::new().name("committer".into()).spawn(committer)?;
        self.start = Instant::now();
        let (mut committing, mut last_commit, mut turn) = (false, self.start, 0);
        let mut cpu_before = meter::cpu_seconds();
        let mut leases_before = 0;
        while self.start.elapsed().as_secs_f64() < seconds {
            if !self.counting && self.start.elapsed().as_secs_f64() >= WARM_UP_S {
                self.counting = true;
                cpu_before = meter::cpu_seconds();
                leases_before = self.leases;
                self.hosts.iter_mut().for_each(|host| host.leases = 0);
            }
            let sleep = self.frontier.next_due().map_or(10, |due| due.since_ms(self.now()).min(10));
            let mut next = inbox.recv_timeout(Duration::from_millis(sleep)).ok();
            while let Some(event) = next {
                match event {
                    Event::Fetched(batch) => self.take_in(batch)?,
                    Event::Committed(epoch) => {
                        committing = false;
                        self.frontier.committed(epoch);
                    }
                    Event::CommitFailed(error) => return Err(error.into()),
                }
                next = inbox.try_recv().ok();
            }
            let out = self.hand_out()?;
            if !out.is_empty() {
                turn += 1;
                fetchers[turn % FETCHERS].send(out)?;
            }
            if !committing && last_commit.elapsed() >= COMMIT_EVERY {
                committing = true;
                last_commit = Instant::now();
                to_committer.send((std::mem::take(&mut self.done), self.frontier.take_changes()))?;
            }
        }
        self.report(leases_before, &cpu_before, seconds - WARM_UP_S);
        println!("{{\"disk_mib\":{:.0}}}", meter::disk_mib(dir));
        Ok(())
    }

    fn take_in(&mut self, batch: Vec<Lease>) -> Result<(), Failed> {
        self.under_way -= batch.len();
        for lease in batch {
            // One reading for both clocks: the answer has ended by now.
            let now_us = self.elapsed_us();
            let now = UnixMs(self.base + now_us / 1000);
            match lease.kind {
                LeaseKind::Page(entry) => self.finish(lease.host, *entry, now, now_us)?,
                LeaseKind::Resolve => {
                    let bytes = lease.host.to_be_bytes();
                    self.frontier.finish_resolve(
                        lease.host,
                        Ok([10, bytes[1], bytes[2], bytes[3]].into()),
                        now,
                    );
                }
                LeaseKind::Rules { .. } => return Err("rules asked for".into()),
            }
        }
        Ok(())
    }

    /// The page is there, and links to the next one of its host.
    fn finish(&mut self, host: HostIndex, entry: Entry, now: UnixMs, now_us: u64) -> Result<(), Failed> {
        let next = next_url(&entry.url);
        let end = PageEnd {
            outcome: Outcome::Fetched { status: 200 },
            visit: None,
            first_print: None,
            signatures: None,
            retry_after_ms: None,
            elapsed_ms: 0,
            address: None,
        };
        self.done.extend(self.frontier.finish_page(host, entry, end, now));
        if let Some(seen) = self.hosts.get_mut(host as usize) {
            seen.ended_us = now_us;
        }
        self.admit(&next)
    }

    fn hand_out(&mut self) -> Result<Vec<Lease>, Failed> {
        let mut out = Vec::new();
        while self.under_way < CONCURRENCY {
            let Some(lease) = self.frontier.lease(self.now(), &mut self.done)? else { break };
            self.under_way += 1;
            let now_us = self.elapsed_us();
            if let (LeaseKind::Page(_), Some(seen)) = (&lease.kind, self.hosts.get_mut(lease.host as usize)) {
                self.leases += 1;
                seen.leases += 1;
                if seen.ended_us > 0 {
                    let ready_us = seen.ended_us + self.delay_us;
                    self.early += u64::from(now_us < ready_us);
                    if self.counting {
                        self.late_us.push(now_us.saturating_sub(ready_us).min(u64::from(u32::MAX)) as u32);
                    }
                }
            }
            out.push(lease);
        }
        Ok(out)
    }

    fn report(
        &mut self,
        leases_before: u64,
        cpu_before: &std::collections::BTreeMap<String, f64>,
        seconds: f64,
    ) {
        self.late_us.sort_unstable();
        let late = |share: f64| {
            let at = (self.late_us.len() as f64 * share) as usize;
            f64::from(self.late_us.get(at.min(self.late_us.len().saturating_sub(1))).copied().unwrap_or(0))
                / 1000.0
        };
        let leases = (self.leases - leases_before).max(1);
        let cpu = |name: &str| {
            let now = meter::cpu_seconds();
            let spent = now.get(name).copied().unwrap_or(0.0) - cpu_before.get(name).copied().unwrap_or(0.0);
            spent * 1e6 / leases as f64
        };
        let each = self.hosts.iter().map(|host| host.leases);
        println!(
            "{{\"leases\":{leases},\"leases_per_s\":{:.0},\"late_ms\":{{\"p50\":{:.1},\"p90\":{:.1},\"p99\":{:.1},\"max\":{:.1}}},\
             \"early\":{},\"leases_per_host\":{{\"min\":{},\"max\":{}}},\
             \"cpu_us_per_lease\":{{\"scheduler\":{:.2},\"committer\":{:.2},\"store\":{:.2},\"fetchers\":{:.2}}},\"rss_mib\":{:.0}}}",
            leases as f64 / seconds,
            late(0.5),
            late(0.9),
            late(0.99),
            late(1.0),
            self.early,
            each.clone().min().unwrap_or(0),
            each.max().unwrap_or(0),
            cpu("many_hosts"),
            cpu("committer"),
            cpu("fjall:worker"),
            cpu("fetcher"),
            meter::memory_mib().0,
        );
    }
}

/// `http://h7.test/41` links to `http://h7.test/42`.
fn next_url(url: &CanonUrl) -> String {
    let (stem, number) = url.as_str().rsplit_once('/').unwrap_or((url.as_str(), "0"));
    format!("{stem}/{}", number.parse::<u64>().unwrap_or(0) + 1)
}

fn commit_all(store: &Store, durable: bool, batches: &Receiver<Batch>, events: &Sender<Event>) {
    for (done, changes) in batches {
        let result = if durable { store.commit(&done, &changes, &[]) } else { Ok(()) };
        let event = match result {
            Ok(()) => Event::Committed(changes.epoch),
            Err(error) => Event::CommitFailed(error.to_string()),
        };
        if events.send(event).is_err() {
            return;
        }
    }
}
