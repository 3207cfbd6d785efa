use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use lycosa_frontier::store::HostSlot;
use lycosa_frontier::{
    Changes, Discovered, Done, Frontier, FrontierOptions, LeaseKind, Order, PageEnd, Politeness, Rules,
    RulesEnd, RulesRecord, Signals, Store,
};
use lycosa_types::{CanonRules, CanonUrl, Exclusion, Failure, Outcome, UnixMs, UrlState};
use proptest::prelude::*;

/// Waiting URLs that may be in memory.
const MAX_ENTRIES: usize = 20;

#[derive(Debug)]
struct NoPrivate;

impl Rules for NoPrivate {
    fn check(&self, path: &str) -> Result<(), Exclusion> {
        if path.starts_with("/private") {
            return Err(Exclusion::Robots { line: 2, rule: "Disallow: /private".into() });
        }
        Ok(())
    }

    fn delay_ms(&self) -> Option<u64> {
        None
    }
}

/// A web of a few hosts whose page n links to 2n+1 and 2n+2 on hosts picked by n. Page 7 of each host fails once.
struct Web {
    hosts: u64,
    pages: u64,
}

impl Web {
    fn url(&self, n: u64) -> CanonUrl {
        let section = if n % 11 == 5 { "private" } else { "p" };
        CanonUrl::parse(&format!("http://h{}.test/{section}/{n}", n % self.hosts), &CanonRules::default())
            .unwrap()
    }

    fn number(url: &CanonUrl) -> u64 {
        url.path().rsplit('/').next().unwrap().parse().unwrap()
    }

    fn links(&self, n: u64) -> Vec<u64> {
        [2 * n + 1, 2 * n + 2, n / 2].into_iter().filter(|&m| m < self.pages).collect()
    }
}

struct Run {
    web: Web,
    politeness: Politeness,
    order: Order,
    dir: tempfile::TempDir,
    now: UnixMs,
    requests: BTreeMap<u64, u32>,
    last_on_host: BTreeMap<String, UnixMs>,
    last_on_ip: BTreeMap<IpAddr, UnixMs>,
    shared_ip: bool,
    moves: u32,
    most_in_memory: u64,
    max_hosts: usize,
    seen_bytes: usize,
    /// A batch that is on its way to disk while the crawl goes on.
    on_its_way: Option<(Vec<Done>, Arc<Changes>)>,
}

impl Run {
    fn open(&self, clean: bool) -> (Frontier, Arc<Store>) {
        let store = Arc::new(Store::open(self.dir.path(), 32 << 20).unwrap());
        let options = FrontierOptions {
            order: self.order,
            politeness: self.politeness.clone(),
            max_entries_in_memory: MAX_ENTRIES,
            max_hosts_in_memory: self.max_hosts,
            seen_bytes: self.seen_bytes,
            ..FrontierOptions::default()
        };
        let read: lycosa_frontier::frontier::ReadRules = Box::new(|_, _| Arc::new(NoPrivate));
        (Frontier::open(options, Arc::clone(&store), read, clean, self.now).unwrap(), store)
    }

    fn address(&self, origin: &str) -> IpAddr {
        if self.shared_ip {
            [127, 0, 0, 1].into()
        } else {
            [127, 0, 1, origin.len() as u8 + origin.as_bytes()[8]].into()
        }
    }

    fn seed(&self, frontier: &mut Frontier, store: &Store) {
        let url = self.web.url(0);
        let signals = Signals::default();
        let found = Discovered {
            url: url.as_str(),
            key: url.key(),
            redirects: 0,
            found_on: None,
            signals,
            listed: false,
        };
        frontier.admit(found, self.now).unwrap();
        let changes = frontier.take_changes();
        store.commit(&[], &changes, &[]).unwrap();
        frontier.committed(changes.epoch);
    }

    fn admit_many(&self, frontier: &mut Frontier, count: u64) {
        for n in 0..count {
            let url = format!("http://h0.test/p/{n}");
            let (key, signals) = (lycosa_types::UrlKey::of(&url), Signals::default());
            let found = Discovered { url: &url, key, redirects: 0, found_on: None, signals, listed: false };
            frontier.admit(found, self.now).unwrap();
        }
    }

    fn note_request(&mut self, origin: &str) {
        let gap = self.politeness.delay_ms;
        if let Some(last) = self.last_on_host.insert(origin.to_owned(), self.now)
            && self.politeness.per_host == 1
        {
            assert!(self.now.since_ms(last) >= gap, "{origin} asked after {} ms", self.now.since_ms(last));
        }
        let ip = self.address(origin);
        if let Some(last) = self.last_on_ip.insert(ip, self.now) {
            assert!(self.now.since_ms(last) >= self.politeness.ip_delay_ms, "{ip} asked too early");
        }
    }

    /// Crawls for at most `leases` leases, committing every few; returns whether the crawl is over.
    fn crawl(
        &mut self,
        frontier: &mut Frontier,
        store: &Store,
        mut leases: u32,
        commit_every: usize,
    ) -> bool {
        let mut done: Vec<Done> = Vec::new();
        let mut steps = 0;
        while leases > 0 {
            steps += 1;
            assert!(steps < 1_000_000, "no progress: {frontier:?}");
            let Some(lease) = frontier.lease(self.now, &mut done).unwrap() else {
                if frontier.is_exhausted() {
                    break;
                }
                // Commits go on while nobody may be asked: hosts make room for others only once they are on disk.
                self.commit(frontier, store, &mut done);
                let next = frontier.next_due().expect("something must become due");
                self.now = next.max(self.now);
                continue;
            };
            leases -= 1;
            self.most_in_memory = self.most_in_memory.max(frontier.counts().in_memory);
            let origin = lease.origin.to_string();
            let address = Some(self.address(&origin));
            match lease.kind {
                LeaseKind::Resolve => {
                    frontier.finish_resolve(lease.host, Ok(self.address(&origin)), self.now)
                }
                LeaseKind::Rules { .. } => {
                    self.note_request(&origin);
                    self.now = self.now.plus_ms(1);
                    let record = RulesRecord { fetched_at: self.now, status: 200, body: Vec::new() };
                    let end = RulesEnd::Known { rules: Arc::new(NoPrivate), record };
                    frontier.finish_rules(lease.host, end, address, 1, self.now);
                }
                LeaseKind::Page(entry) => {
                    self.note_request(&origin);
                    self.now = self.now.plus_ms(1);
                    let n = Web::number(&entry.url);
                    *self.requests.entry(n).or_default() += 1;
                    assert!(entry.url.path().starts_with("/p/"), "forbidden page leased");
                    let fails = n % 7 == 3 && entry.tries == 0;
                    let outcome = if fails {
                        Outcome::Failed(Failure::ConnectionLost)
                    } else {
                        Outcome::Fetched { status: 200 }
                    };
                    if !fails {
                        for m in self.web.links(n) {
                            let url = self.web.url(m);
                            let found = Discovered {
                                url: url.as_str(),
                                key: url.key(),
                                redirects: 0,
                                found_on: None,
                                signals: Signals { depth: entry.depth + 1, ..Signals::default() },
                                listed: false,
                            };
                            frontier.admit(found, self.now).unwrap();
                        }
                        // News of URLs that wait, are done, or were never met.
                        for m in [n + 1, n + 3, n * 7 % self.web.pages, n / 3] {
                            let signals = Signals {
                                importance: (n * 31 % 1000) as f32,
                                backlinks: (n % 50) as u32,
                                forward_links: (n % 13) as f32,
                                relevance: (n % 10) as f32 / 10.0,
                                depth: 0,
                            };
                            self.moves +=
                                frontier.reorder([(self.web.url(m).key().low(), signals)]).unwrap() as u32;
                        }
                    }
                    let end = PageEnd {
                        outcome,
                        visit: None,
                        first_print: None,
                        signatures: None,
                        retry_after_ms: None,
                        elapsed_ms: 1,
                        address,
                    };
                    done.extend(frontier.finish_page(lease.host, *entry, end, self.now));
                }
            }
            if done.len() >= commit_every {
                self.commit(frontier, store, &mut done);
            }
        }
        let over = frontier.is_exhausted();
        if over {
            self.commit(frontier, store, &mut done);
            self.commit(frontier, store, &mut done);
        }
        // A crash loses what is on its way.
        self.on_its_way = None;
        over
    }

    /// The batch before reaches the disk while a new one is made up: as with a committer of its own.
    fn commit(&mut self, frontier: &mut Frontier, store: &Store, done: &mut Vec<Done>) {
        let next = (std::mem::take(done), frontier.take_changes());
        if let Some((done, changes)) = self.on_its_way.replace(next) {
            store.commit(&done, &changes, &[]).unwrap();
            frontier.committed(changes.epoch);
        }
    }
}

fn run(politeness: Politeness, order: Order, shared_ip: bool, hosts: u64, pages: u64) -> Run {
    Run {
        web: Web { hosts, pages },
        politeness,
        order,
        dir: tempfile::tempdir().unwrap(),
        now: UnixMs(1_000_000),
        requests: BTreeMap::new(),
        last_on_host: BTreeMap::new(),
        last_on_ip: BTreeMap::new(),
        shared_ip,
        moves: 0,
        most_in_memory: 0,
        max_hosts: 200_000,
        seen_bytes: 40_000,
        on_its_way: None,
    }
}

fn check_final(run: &Run, store: &Store, may_repeat: u32) {
    let (mut outcomes, mut keys) = (BTreeMap::new(), Vec::new());
    for record in store.urls() {
        let (id, record) = record.unwrap();
        assert_eq!(record.state, UrlState::Done, "{record:?}");
        let url = CanonUrl::from_canonical(record.url.clone());
        assert_eq!(url.key(), id.key);
        keys.push(id.key.low());
        outcomes.insert(Web::number(&url), record.outcome.unwrap());
    }
    // The list of known URLs names each of them once.
    let mut listed = Vec::new();
    let list = |prints: &[[u8; 8]], _| {
        listed.extend(prints.iter().map(|print| u64::from_be_bytes(*print)));
        Ok(())
    };
    store.each_seen(list).unwrap();
    listed.sort_unstable();
    keys.sort_unstable();
    assert_eq!(listed, keys);
    // Everything reachable without passing a forbidden page.
    let (mut reachable, mut open) = (BTreeSet::new(), vec![0]);
    while let Some(n) = open.pop() {
        if reachable.insert(n) && n % 11 != 5 {
            open.extend(run.web.links(n));
        }
    }
    assert_eq!(outcomes.keys().copied().collect::<BTreeSet<_>>(), reachable);
    assert_eq!(store.count_waiting().unwrap(), 0);
    let mut repeats = 0;
    for n in &reachable {
        let expected = if n % 11 == 5 { 0 } else { 1 + u32::from(n % 7 == 3) };
        let got = run.requests.get(n).copied().unwrap_or(0);
        assert!(got >= expected, "page {n} requested {got} times");
        repeats += got - expected;
    }
    assert!(repeats <= may_repeat, "{repeats} repeats");
    for (_, host) in store.hosts().map(Result::unwrap) {
        assert_eq!(host.waiting, 0, "{host:?}");
    }
}

fn quick() -> Politeness {
    Politeness { delay_ms: 50, ip_delay_ms: 0, retry_ms: 10, ..Politeness::default() }
}

#[test]
fn every_page_once_in_every_order() {
    for order in Order::ALL {
        for (ip_delay_ms, shared_ip) in [(0, false), (7, true)] {
            let mut run = run(Politeness { ip_delay_ms, ..quick() }, order, shared_ip, 5, 400);
            let (mut frontier, store) = run.open(true);
            run.seed(&mut frontier, &store);
            assert!(run.crawl(&mut frontier, &store, u32::MAX, 16));
            check_final(&run, &store, 0);
            assert_eq!(run.moves > 0, order.moves(), "{order:?}");
        }
    }
}

/// Far more waits than may be in memory, for more hosts than may be: it stays on disk, and nothing is lost or asked twice.
#[test]
fn what_waits_stays_on_disk() {
    for order in [Order::BreadthFirst, Order::BestFirst] {
        let mut run = run(quick(), order, false, 300, 4000);
        run.max_hosts = 100;
        let (mut frontier, store) = run.open(true);
        run.seed(&mut frontier, &store);
        assert!(run.crawl(&mut frontier, &store, u32::MAX, 16));
        check_final(&run, &store, 0);
        assert!(run.most_in_memory <= 3 * MAX_ENTRIES as u64, "{order:?}: {} in memory", run.most_in_memory);
    }
}

/// What is left to the disk together shares rows there; what is read from there has rows of its own from then on.
#[test]
fn what_is_left_to_the_disk_shares_rows() {
    let mut run = run(quick(), Order::BreadthFirst, false, 1, 1);
    let (mut frontier, store) = run.open(true);
    run.admit_many(&mut frontier, 1000);
    let mut done = Vec::new();
    (0..2).for_each(|_| run.commit(&mut frontier, &store, &mut done));
    let partition = lycosa_types::Partitioner::default().partition_of(&run.web.url(0));
    // The second of these keyspaces is the queue.
    let rows =
        || store.dump_partition(partition).unwrap().1.filter(|pair| pair.as_ref().unwrap().0[0] == 2).count();
    let before = rows();
    assert!(before < 1000 / 8, "{before} rows");
    assert_eq!((store.count_waiting().unwrap(), store.urls().count()), (1000, 1000));
    run.crawl(&mut frontier, &store, 100, 10);
    let (after, waiting) = (rows(), store.count_waiting().unwrap());
    assert!(waiting < 1000 && after > 30 && after < before + 60, "{before}, {after} rows, {waiting} wait");
    drop((frontier, store));
    let (mut frontier, store) = run.open(false);
    assert!(run.crawl(&mut frontier, &store, u32::MAX, 10));
    assert_eq!(store.count_waiting().unwrap(), 0);
    let repeats = run.requests.values().filter(|requests| **requests > 2).count();
    assert!(run.requests.len() == 1000 && repeats < 20, "{} pages, {repeats} repeats", run.requests.len());
}

#[test]
fn one_host_at_full_speed() {
    let politeness = Politeness { delay_ms: 0, per_host: 8, ..quick() };
    let mut run = run(politeness, Order::BreadthFirst, false, 1, 2000);
    let (mut frontier, store) = run.open(true);
    run.seed(&mut frontier, &store);
    assert!(run.crawl(&mut frontier, &store, u32::MAX, 100));
    check_final(&run, &store, 0);
}

#[test]
fn a_dead_host_ends_everything_that_waits_for_it() {
    let run = run(quick(), Order::BreadthFirst, false, 1, 10);
    let (mut frontier, store) = run.open(true);
    run.seed(&mut frontier, &store);
    let mut done = Vec::new();
    let lease = frontier.lease(run.now, &mut done).unwrap().unwrap();
    assert!(matches!(lease.kind, LeaseKind::Rules { .. }));
    let end = RulesEnd::Unreachable { failure: Failure::DnsNoAddress, retry_after_ms: None, otherwise: None };
    frontier.finish_rules(lease.host, end, None, 0, run.now);
    let later = run.now.plus_ms(10_000);
    assert!(frontier.lease(later, &mut done).unwrap().is_none());
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].record.outcome, Some(Outcome::Failed(Failure::DnsNoAddress)));
    assert!(frontier.is_exhausted());
}

#[test]
fn what_ends_without_a_request_ends_in_portions() {
    let run = run(quick(), Order::BreadthFirst, false, 1, 10);
    let (mut frontier, store) = run.open(true);
    run.admit_many(&mut frontier, 10_000);
    let lease = frontier.lease(run.now, &mut Vec::new()).unwrap().unwrap();
    let end = RulesEnd::Unreachable { failure: Failure::DnsNoAddress, retry_after_ms: None, otherwise: None };
    frontier.finish_rules(lease.host, end, None, 0, run.now);
    let later = run.now.plus_ms(10_000);
    let (mut ended, mut portions) = (0, 0);
    while !frontier.is_exhausted() {
        let mut dropped = Vec::new();
        assert!(frontier.lease(later, &mut dropped).unwrap().is_none());
        assert!(!dropped.is_empty() && dropped.len() < 5000, "{}", dropped.len());
        // There is more to do at once, or nothing.
        assert!(frontier.is_exhausted() || frontier.next_due().is_some_and(|due| due <= later));
        ended += dropped.len();
        portions += 1;
        let changes = frontier.take_changes();
        store.commit(&dropped, &changes, &[]).unwrap();
        frontier.committed(changes.epoch);
    }
    assert_eq!((ended, store.count_waiting().unwrap()), (10_000, 0));
    assert!(portions > 1);
}

#[test]
fn hosts_take_turns_in_a_small_memory() {
    for order in [Order::BreadthFirst, Order::BestFirst] {
        let mut run = run(quick(), order, false, 40, 800);
        run.max_hosts = 4;
        let (mut frontier, store) = run.open(true);
        run.seed(&mut frontier, &store);
        assert!(run.crawl(&mut frontier, &store, u32::MAX, 8));
        check_final(&run, &store, 0);
    }
}

#[test]
fn a_crawl_goes_on_with_a_smaller_seen_set() {
    let mut run = run(quick(), Order::BreadthFirst, false, 3, 6000);
    run.seen_bytes = 1 << 20;
    let (mut frontier, store) = run.open(true);
    run.seed(&mut frontier, &store);
    run.crawl(&mut frontier, &store, 4000, 16);
    drop((frontier, store));
    run.seen_bytes = 0;
    let (mut frontier, store) = run.open(false);
    assert!(run.crawl(&mut frontier, &store, u32::MAX, 16));
    check_final(&run, &store, 40);
}

#[test]
fn a_url_that_waits_has_a_record() {
    let run = run(quick(), Order::BreadthFirst, false, 3, 10);
    let (mut frontier, store) = run.open(true);
    run.seed(&mut frontier, &store);
    let id = lycosa_types::Partitioner::default().id_of(&run.web.url(0));
    assert_eq!(store.url(id).unwrap(), None);
    let record = store.visited_or_waiting(id, &run.web.url(0)).unwrap().unwrap();
    assert_eq!((record.url.as_str(), record.state), (run.web.url(0).as_str(), UrlState::Queued));
    assert_eq!(store.urls().count(), 1);
    drop(frontier);
}

#[test]
fn slots_of_one_origin_agree() {
    let url = CanonUrl::parse("http://a.test/x", &CanonRules::default()).unwrap();
    let partition = lycosa_types::Partitioner::default().partition_of(&url);
    assert_eq!(Store::slot(partition, url.origin()), HostSlot { partition, host: url.host_key() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// A crash loses everything since the last commit and nothing else.
    #[test]
    fn crashes_lose_nothing(
        stops in prop::collection::vec(1u32..120, 1..8),
        commit_every in 1usize..30,
        hosts in 1u64..6,
        order in prop::sample::select(&Order::ALL[..]),
        max_hosts in 1usize..6,
        seen_bytes in prop::collection::vec(prop::sample::select(&[0, 40_000, 1 << 20][..]), 8),
        clean: bool,
    ) {
        let mut run = run(quick(), order, false, hosts, 300);
        run.max_hosts = max_hosts;
        {
            let (mut frontier, store) = run.open(true);
            run.seed(&mut frontier, &store);
        }
        let mut crashes = 0;
        for (stop, bytes) in stops.into_iter().zip(seen_bytes) {
            run.seen_bytes = bytes;
            let (mut frontier, store) = run.open(false);
            if run.crawl(&mut frontier, &store, stop, commit_every) {
                break;
            }
            crashes += 1;
        }
        let (mut frontier, store) = run.open(clean && crashes == 0);
        prop_assert!(run.crawl(&mut frontier, &store, u32::MAX, commit_every));
        // Lost visits, and first tries lost with them.
        check_final(&run, &store, crashes * 4 * (commit_every as u32 + 1));
    }
}
