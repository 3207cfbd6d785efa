//! When a host is asked again: times to the millisecond, on a clock that the test moves.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_frontier::{
    Discovered, Done, Frontier, FrontierOptions, Lease, LeaseKind, LookupLimits, PageEnd, Politeness, Rules,
    RulesEnd, RulesRecord, Signals, Store,
};
use lycosa_types::{CanonRules, CanonUrl, Exclusion, Failure, Outcome, UnixMs};

const START: UnixMs = UnixMs(1_000_000);
const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));

#[derive(Debug)]
struct Delay(Option<u64>);

impl Rules for Delay {
    fn check(&self, _: &str) -> Result<(), Exclusion> {
        Ok(())
    }

    fn delay_ms(&self) -> Option<u64> {
        self.0
    }
}

/// A frontier whose time stands still until the test moves it.
struct Clock {
    frontier: Frontier,
    now: UnixMs,
    done: Vec<Done>,
    store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Clock {
    fn new(politeness: Politeness, obey_robots: bool, urls: &[&str]) -> Self {
        let mut clock = Self::with(FrontierOptions { politeness, obey_robots, ..FrontierOptions::default() });
        urls.iter().for_each(|url| clock.admit(url));
        clock
    }

    fn with(options: FrontierOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(dir.path(), 32 << 20).unwrap());
        let read: lycosa_frontier::frontier::ReadRules = Box::new(|_, _| Arc::new(Delay(None)));
        let frontier = Frontier::open(options, Arc::clone(&store), read, true, START).unwrap();
        Self { frontier, now: START, done: Vec::new(), store, _dir: dir }
    }

    fn admit(&mut self, url: &str) {
        let url = CanonUrl::parse(url, &CanonRules::default()).unwrap();
        let signals = Signals::default();
        let found = Discovered {
            url: url.as_str(),
            key: url.key(),
            redirects: 0,
            found_on: None,
            signals,
            listed: false,
        };
        self.frontier.admit(found, self.now).unwrap();
    }

    fn try_lease(&mut self) -> Option<Lease> {
        self.frontier.lease(self.now, &mut self.done).unwrap()
    }

    /// The next page; addresses are told at once.
    fn try_page(&mut self) -> Option<Lease> {
        loop {
            let lease = self.try_lease()?;
            let LeaseKind::Resolve = lease.kind else { return Some(lease) };
            self.frontier.finish_resolve(lease.host, Ok(ADDRESS), self.now);
        }
    }

    fn page_after(&mut self) -> (u64, Lease) {
        let from = self.now;
        loop {
            if let Some(lease) = self.try_page() {
                return (self.now.since_ms(from), lease);
            }
            self.now = self.now.plus_ms(1);
            assert!(self.now.since_ms(from) < 10_000, "nothing is asked: {:?}", self.frontier);
        }
    }

    /// The next lease, and how long nothing could be asked before it. The millisecond before each alarm is tried too.
    fn lease_after(&mut self) -> (u64, Lease) {
        let from = self.now;
        loop {
            if let Some(lease) = self.try_lease() {
                return (self.now.since_ms(from), lease);
            }
            assert!(self.now.since_ms(from) < 2_000_000, "nothing is asked: {:?}", self.frontier);
            let next = self.frontier.next_due().expect("something must become due");
            assert!(next > self.now, "an alarm rings for nothing");
            self.now = if next.0 - 1 > self.now.0 { UnixMs(next.0 - 1) } else { next };
        }
    }

    fn end(
        &mut self,
        lease: Lease,
        outcome: Outcome,
        elapsed_ms: u64,
        retry_after_ms: Option<u64>,
    ) -> Option<Done> {
        let LeaseKind::Page(entry) = lease.kind else { panic!("{lease:?}") };
        let end = PageEnd {
            outcome,
            visit: None,
            first_print: None,
            signatures: None,
            retry_after_ms,
            elapsed_ms,
            address: Some(ADDRESS),
        };
        self.frontier.finish_page(lease.host, *entry, end, self.now)
    }

    fn fetched(&mut self, lease: Lease, elapsed_ms: u64) -> Done {
        self.end(lease, Outcome::Fetched { status: 200 }, elapsed_ms, None).unwrap()
    }

    fn failed(&mut self, lease: Lease, failure: Failure) -> Option<Done> {
        self.end(lease, Outcome::Failed(failure), 0, None)
    }

    fn rules(&mut self, lease: &Lease, delay_ms: Option<u64>, elapsed_ms: u64) {
        assert!(matches!(lease.kind, LeaseKind::Rules { .. }), "{lease:?}");
        let record = RulesRecord { fetched_at: self.now, status: 200, body: Vec::new() };
        let end = RulesEnd::Known { rules: Arc::new(Delay(delay_ms)), record };
        self.frontier.finish_rules(lease.host, end, Some(ADDRESS), elapsed_ms, self.now);
    }

    fn no_rules(&mut self, lease: &Lease, failure: Failure, retry_after_ms: Option<u64>) {
        let end = RulesEnd::Unreachable { failure, retry_after_ms, otherwise: None };
        self.frontier.finish_rules(lease.host, end, None, 0, self.now);
    }
}

fn pace() -> Politeness {
    Politeness { delay_ms: 500, ip_delay_ms: 0, retry_ms: 100, ..Politeness::default() }
}

const TWO: [&str; 2] = ["http://a.test/1", "http://a.test/2"];
const THREE: [&str; 3] = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];

fn path(lease: &Lease) -> String {
    let LeaseKind::Page(entry) = &lease.kind else { panic!("{lease:?}") };
    entry.url.path().to_owned()
}

/// The pause runs from the end of the request, whatever that took, and one millisecond is added for the clock's rounding.
#[test]
fn a_host_rests_from_the_end_of_a_request() {
    // (delay, elapsed, expected rest)
    for (delay_ms, elapsed_ms, rest) in [(500, 10, 501), (500, 400, 801), (500, 20_000, 30_001), (0, 400, 0)]
    {
        let mut clock = Clock::new(Politeness { delay_ms, ..pace() }, false, &TWO);
        let (wait, lease) = clock.lease_after();
        assert_eq!(wait, 0);
        clock.now = clock.now.plus_ms(elapsed_ms);
        assert!(clock.try_lease().is_none(), "one request at a time");
        clock.fetched(lease, elapsed_ms);
        let (wait, _) = clock.lease_after();
        assert_eq!(wait, rest, "delay {delay_ms} ms, took {elapsed_ms} ms");
    }
}

#[test]
fn a_host_rests_as_long_as_its_robots_txt_asks_also_after_robots_txt_itself() {
    for (asked, rest) in [(None, 501), (Some(200), 501), (Some(4000), 4001), (Some(90_000), 30_001)] {
        let mut clock = Clock::new(pace(), true, &TWO);
        let (_, lease) = clock.lease_after();
        clock.rules(&lease, asked, 10);
        let (wait, lease) = clock.lease_after();
        assert_eq!(wait, rest, "{asked:?}");
        clock.fetched(lease, 10);
        assert_eq!(clock.lease_after().0, rest, "{asked:?}");
    }
}

#[test]
fn several_requests_at_a_time_rest_from_start_to_start() {
    let mut clock = Clock::new(Politeness { per_host: 2, ..pace() }, false, &THREE);
    let (_, first) = clock.lease_after();
    let (wait, second) = clock.lease_after();
    assert_eq!(wait, 500);
    clock.now = clock.now.plus_ms(5000);
    assert!(clock.try_lease().is_none(), "two are under way");
    clock.fetched(first, 5000);
    let (wait, _) = clock.lease_after();
    assert_eq!(wait, 0);
    clock.fetched(second, 5000);
}

#[test]
fn an_address_rests_between_the_hosts_that_share_it() {
    let pace = Politeness { delay_ms: 10, ip_delay_ms: 300, ..pace() };
    let mut clock = Clock::new(pace, false, &["http://a.test/1", "http://b.test/1", "http://c.test/1"]);
    let (wait, lease) = clock.page_after();
    assert_eq!(wait, 0);
    assert!(clock.try_page().is_none(), "the address is busy");
    clock.now = clock.now.plus_ms(50);
    assert!(clock.try_page().is_none(), "the address is busy");
    clock.fetched(lease, 50);
    for _ in 0..2 {
        let (wait, lease) = clock.page_after();
        assert_eq!(wait, 301);
        clock.fetched(lease, 0);
    }
}

#[test]
fn a_page_is_tried_as_often_as_it_may_be_each_time_after_twice_the_wait() {
    let pace = Politeness { delay_ms: 0, max_tries: 4, retry_ms: 100, ..pace() };
    let mut clock = Clock::new(pace, false, &["http://a.test/1"]);
    for expected in [0, 100, 200, 400] {
        let (wait, lease) = clock.lease_after();
        assert_eq!(wait, expected);
        let done = clock.failed(lease, Failure::ConnectionLost);
        assert_eq!(done.is_some(), expected == 400);
        assert_eq!(clock.frontier.counts().delayed, u64::from(expected < 400));
        if let Some(done) = done {
            assert_eq!(done.record.tries, 4);
            assert_eq!(done.record.outcome, Some(Outcome::Failed(Failure::ConnectionLost)));
            assert_eq!(done.record.visited_at, Some(clock.now));
        }
    }
    assert!(clock.frontier.is_exhausted());
}

#[test]
fn what_would_fail_again_is_not_tried_again() {
    let mut clock = Clock::new(Politeness { delay_ms: 0, ..pace() }, false, &TWO);
    let (_, lease) = clock.lease_after();
    assert!(clock.failed(lease, Failure::BadEncoding).is_some());
    let (wait, lease) = clock.lease_after();
    assert_eq!((wait, path(&lease).as_str()), (0, "/2"));
}

/// A page that waits for its next try does not hold up the others of its host, unless the host itself asked for time.
#[test]
fn only_a_server_with_too_much_to_do_makes_its_other_pages_wait() {
    let pace = Politeness { delay_ms: 0, retry_ms: 1000, ..pace() };
    let mut clock = Clock::new(pace.clone(), false, &TWO);
    let (_, lease) = clock.lease_after();
    assert!(clock.failed(lease, Failure::ConnectionLost).is_none());
    let (wait, lease) = clock.lease_after();
    assert_eq!((wait, path(&lease).as_str()), (0, "/2"));

    for (retry_after_ms, expected) in [(None, 1000), (Some(7000), 7000), (Some(90_000_000), 600_000)] {
        let mut clock = Clock::new(pace.clone(), false, &TWO);
        let (_, lease) = clock.lease_after();
        let overloaded = Outcome::Failed(Failure::Overloaded { status: 503 });
        assert!(clock.end(lease, overloaded, 0, retry_after_ms).is_none());
        let (wait, _) = clock.lease_after();
        assert_eq!(wait, expected);
    }
}

#[test]
fn a_host_is_given_up_after_as_many_failures_in_a_row_as_it_may_have() {
    let pages: Vec<String> = (0..9).map(|n| format!("http://a.test/{n}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let pace = Politeness { delay_ms: 0, retry_ms: 50, max_host_failures: 3, ..pace() };
    // How each request goes: answered, never answered, or answered with what nobody can read; then what is given up.
    let given_up = |story: &str| {
        let mut clock = Clock::new(pace.clone(), false, &pages);
        for what in story.chars() {
            let (_, lease) = clock.lease_after();
            let outcome = match what {
                'a' => Outcome::Fetched { status: 200 },
                'l' => Outcome::Failed(Failure::FirstByteTimeout),
                _ => Outcome::Failed(Failure::BadEncoding),
            };
            clock.end(lease, outcome, 0, None);
        }
        clock.now = clock.now.plus_ms(10_000);
        while clock.try_lease().is_none() && clock.frontier.counts().waiting > 0 {}
        let ends = clock.done.iter().map(|done| done.record.outcome.as_ref().unwrap());
        ends.filter(|end| matches!(end, Outcome::Excluded(Exclusion::HostErrors { failures: 3 }))).count()
    };
    // The third failure stands at once; the two before it wait for another try and are given up with the rest.
    assert_eq!(given_up("lll"), 8);
    assert_eq!(given_up("ll"), 0);
    assert_eq!(given_up("lal"), 0);
    assert_eq!(given_up("lul"), 0);
    assert_eq!(given_up("llul"), 0);
    assert_eq!(given_up("lall"), 0);
}

#[test]
fn robots_txt_is_tried_as_often_as_a_page() {
    let pace = Politeness { delay_ms: 10, max_tries: 3, retry_ms: 100, ..pace() };
    let mut clock = Clock::new(pace.clone(), true, &TWO);
    for expected in [0, 100, 200] {
        let (wait, lease) = clock.lease_after();
        assert_eq!(wait, expected);
        clock.no_rules(&lease, Failure::ConnectionLost, None);
    }
    clock.now = clock.now.plus_ms(1_000_000);
    assert!(clock.try_lease().is_none());
    assert_eq!(clock.done.len(), 2);
    assert!(
        clock.done.iter().all(|done| done.record.outcome == Some(Outcome::Failed(Failure::ConnectionLost)))
    );
    assert!(clock.frontier.is_exhausted());

    // A server's own wish comes first, and an answer starts the count anew.
    let mut clock = Clock::new(pace, true, &TWO);
    let (_, lease) = clock.lease_after();
    clock.no_rules(&lease, Failure::ConnectionLost, Some(3000));
    let (wait, lease) = clock.lease_after();
    assert_eq!(wait, 3000);
    clock.rules(&lease, None, 0);
    let (_, lease) = clock.lease_after();
    clock.fetched(lease, 0);
    assert!(clock.done.is_empty());
}

#[test]
fn where_robots_txt_cannot_be_had_the_rules_for_that_case_stand() {
    let pace = Politeness { delay_ms: 10, max_tries: 1, rules_patience_ms: 0, ..pace() };
    let mut clock = Clock::new(pace, true, &["http://a.test/1"]);
    let (_, lease) = clock.lease_after();
    let otherwise: Option<Arc<dyn Rules>> = Some(Arc::new(Delay(Some(700))));
    let end = RulesEnd::Unreachable { failure: Failure::ConnectionLost, retry_after_ms: None, otherwise };
    clock.frontier.finish_rules(lease.host, end, None, 0, clock.now);
    let (wait, lease) = clock.lease_after();
    assert_eq!((wait, path(&lease).as_str()), (11, "/1"));
}

#[test]
fn robots_txt_is_believed_as_long_as_it_may_be() {
    let pace = Politeness { delay_ms: 0, rules_ttl_ms: 60_000, ..pace() };
    let mut clock = Clock::new(pace, true, &THREE);
    let (_, lease) = clock.lease_after();
    clock.rules(&lease, None, 0);
    let (_, lease) = clock.lease_after();
    clock.now = START.plus_ms(59_999);
    clock.fetched(lease, 0);
    let (_, lease) = clock.lease_after();
    assert_eq!(path(&lease), "/2");
    clock.now = START.plus_ms(60_000);
    clock.fetched(lease, 0);
    let (_, lease) = clock.lease_after();
    assert!(matches!(lease.kind, LeaseKind::Rules { .. }));
}

/// Robots.txt that moved is asked for at a host with a pace of its own: that host rests too, as long as its own rules say.
#[test]
fn a_host_that_gives_robots_txt_for_another_rests_from_that() {
    for (asked, rest) in [(None, 501), (Some(4000), 4001)] {
        let mut clock = Clock::new(Politeness { slow_factor: 0, ..pace() }, true, &["http://b.test/1"]);
        let (_, lease) = clock.lease_after();
        clock.rules(&lease, asked, 0);
        let (_, lease) = clock.lease_after();
        clock.fetched(lease, 0);
        clock.admit("http://a.test/1");
        let (_, lease) = clock.lease_after();
        assert_eq!(&*lease.origin, "http://a.test");
        let to = CanonUrl::parse("http://b.test/robots.txt", &CanonRules::default()).unwrap();
        let fetched = clock.now;
        clock.frontier.finish_rules(lease.host, RulesEnd::Moved { to }, None, 0, clock.now);
        let (_, moved) = clock.lease_after();
        let LeaseKind::Rules { moved_to, redirects } = &moved.kind else { panic!("{moved:?}") };
        assert_eq!((moved_to.as_ref().unwrap().as_str(), *redirects), ("http://b.test/robots.txt", 1));
        assert!(
            clock.now.since_ms(fetched) >= rest,
            "asked for robots.txt of another before its rest was over"
        );
        clock.admit("http://b.test/2");
        clock.now = clock.now.plus_ms(900);
        let ended = clock.now;
        clock.rules(&moved, None, 900);
        loop {
            let (_, lease) = clock.lease_after();
            let waited = clock.now.since_ms(ended);
            if &*lease.origin == "http://b.test" {
                assert_eq!(waited, rest, "{asked:?} ms were asked for");
                break;
            }
            clock.fetched(lease, 0);
        }
    }
}

/// Robots.txt is asked for alone: what is under way by the old rules ends first.
#[test]
fn rules_are_read_again_when_nothing_is_under_way() {
    let pace = Politeness { delay_ms: 0, per_host: 2, rules_ttl_ms: 1000, ..pace() };
    let mut clock = Clock::new(pace, true, &THREE);
    let (_, lease) = clock.lease_after();
    clock.rules(&lease, None, 0);
    let (_, first) = clock.lease_after();
    clock.now = clock.now.plus_ms(1000);
    assert!(clock.try_lease().is_none(), "a page is under way");
    clock.fetched(first, 0);
    let (_, lease) = clock.lease_after();
    clock.rules(&lease, None, 0);
    assert_eq!(path(&clock.lease_after().1), "/2");
    assert_eq!(path(&clock.lease_after().1), "/3");
}

/// Tries of robots.txt are counted anew once it was there.
#[test]
fn robots_txt_that_was_there_may_fail_as_often_as_before() {
    let pace = Politeness { delay_ms: 0, max_tries: 2, retry_ms: 10, rules_ttl_ms: 1000, ..pace() };
    let mut clock = Clock::new(pace, true, &TWO);
    for page in ["/1", "/2"] {
        let (_, lease) = clock.lease_after();
        clock.no_rules(&lease, Failure::ConnectionLost, None);
        let (_, lease) = clock.lease_after();
        clock.rules(&lease, None, 0);
        let (_, lease) = clock.lease_after();
        assert_eq!(path(&lease), page);
        clock.now = clock.now.plus_ms(1000);
        clock.fetched(lease, 0);
    }
    assert!(clock.done.is_empty());
}

#[test]
fn a_host_gives_as_many_pages_as_it_may() {
    let pace = Politeness { delay_ms: 0, max_pages_per_host: 2, ..pace() };
    let mut clock = Clock::new(pace, false, &THREE);
    for page in ["/1", "/2"] {
        let (_, lease) = clock.lease_after();
        assert_eq!(path(&lease), page);
        clock.fetched(lease, 0);
    }
    assert!(clock.try_lease().is_none());
    assert_eq!(clock.done.len(), 1);
    let outcome = clock.done[0].record.outcome.clone();
    assert_eq!(outcome, Some(Outcome::Excluded(Exclusion::HostBudget { pages: 2 })));
}

/// Before the answer is there, it rests for twice the pause: once for the question, once for the answer.
#[test]
fn a_host_that_is_asked_for_the_robots_txt_of_another_leaves_room_for_the_answer() {
    let mut clock = Clock::new(pace(), true, &["http://b.test/1"]);
    let (_, lease) = clock.lease_after();
    clock.rules(&lease, None, 0);
    let (_, lease) = clock.lease_after();
    clock.fetched(lease, 0);
    clock.admit("http://a.test/1");
    let (_, lease) = clock.lease_after();
    let to = CanonUrl::parse("http://b.test/robots.txt", &CanonRules::default()).unwrap();
    clock.frontier.finish_rules(lease.host, RulesEnd::Moved { to }, None, 0, clock.now);
    let (_, _moved) = clock.lease_after();
    clock.admit("http://b.test/2");
    let from = clock.now;
    let (_, lease) = clock.lease_after();
    assert_eq!((&*lease.origin, clock.now.since_ms(from)), ("http://b.test", 1000));
}

const YEAR_MS: u64 = 365 * 24 * 3_600 * 1_000;

#[test]
fn a_pause_that_a_wrong_clock_stored_is_cut_to_the_longest() {
    let mut clock = Clock::new(pace(), false, &TWO);
    // A run under a clock that is thirty years ahead.
    clock.now = UnixMs(START.0 + 30 * YEAR_MS);
    let (_, lease) = clock.lease_after();
    let done = clock.fetched(lease, 10);
    let changes = clock.frontier.take_changes();
    clock.store.commit(&[done], &changes, &[]).unwrap();
    // The next one begins with the right one.
    let options = FrontierOptions { politeness: pace(), obey_robots: false, ..FrontierOptions::default() };
    let read: lycosa_frontier::frontier::ReadRules = Box::new(|_, _| Arc::new(Delay(None)));
    clock.frontier = Frontier::open(options, Arc::clone(&clock.store), read, true, START).unwrap();
    clock.now = START;
    assert!(clock.try_lease().is_none(), "some pause it has");
    let (waited, _) = clock.lease_after();
    assert!(waited <= pace().longest_pause_ms(), "{waited} ms");
    assert_eq!(clock.frontier.times_cut(), 1);
}

#[test]
fn a_host_that_drips_is_asked_rarely() {
    let mut clock = Clock::new(pace(), false, &TWO);
    let (_, lease) = clock.lease_after();
    clock.end(lease, Outcome::Failed(Failure::TooSlow), 10_000, None);
    let (waited, _) = clock.lease_after();
    assert_eq!(waited, 300_000);
}

#[test]
fn a_silent_zone_holds_up_no_other_and_takes_no_slot() {
    let silent: Vec<String> = (0..50).map(|number| format!("http://h{number}.silent.test/")).collect();
    let mut urls: Vec<&str> = silent.iter().map(String::as_str).collect();
    urls.push("http://www.good.test/");
    let politeness = Politeness { ip_delay_ms: 100, max_tries: 1, ..pace() };
    let limits = LookupLimits { all: 10, per_zone: 3 };
    let mut clock = Clock::with(FrontierOptions {
        politeness,
        obey_robots: false,
        lookups: limits,
        ..FrontierOptions::default()
    });
    urls.iter().for_each(|url| clock.admit(url));
    let mut looked_up = Vec::new();
    while let Some(lease) = clock.try_lease() {
        assert!(matches!(lease.kind, LeaseKind::Resolve), "{lease:?}");
        looked_up.push(lease);
    }
    assert_eq!((looked_up.len(), clock.frontier.lookups()), (4, 4));
    let good = looked_up.pop().unwrap();
    assert_eq!(&*good.origin, "http://www.good.test");
    clock.frontier.finish_resolve(good.host, Ok(ADDRESS), clock.now);
    // All others get their turn, one for each that ends.
    let mut ended = 0;
    while let Some(lease) = looked_up.pop() {
        clock.frontier.finish_resolve(lease.host, Err(Failure::DnsTimeout), clock.now);
        ended += 1;
        while let Some(lease) = clock.try_lease() {
            if matches!(lease.kind, LeaseKind::Resolve) {
                looked_up.push(lease);
            }
        }
        assert!(clock.frontier.lookups() <= limits.per_zone);
    }
    assert_eq!((ended, clock.frontier.lookups()), (50, 0));
}
