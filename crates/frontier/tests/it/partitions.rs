//! Partitions that come and go, and the logs they travel by.

use std::collections::BTreeMap;
use std::sync::Arc;

use lycosa_frontier::store::{Operation, Operations, PartitionWrite};
use lycosa_frontier::{
    Admission, Discovered, Done, Frontier, FrontierOptions, Lease, LeaseKind, PageEnd, Politeness, Signals,
    Store,
};
use lycosa_types::{CanonRules, CanonUrl, Outcome, PartitionId, Partitioner, UnixMs, UrlState};
use proptest::prelude::*;

const PARTITIONS: u16 = 4;
const PAGES: u64 = 60;

fn url(n: u64) -> CanonUrl {
    CanonUrl::parse(&format!("http://h{}.test/{n}", n % 7), &CanonRules::default()).unwrap()
}

fn partitioner() -> Partitioner {
    Partitioner { partitions: PARTITIONS, ..Partitioner::default() }
}

struct Node {
    store: Arc<Store>,
    frontier: Frontier,
    now: UnixMs,
    /// Each partition's log: what a commit's steps held.
    logs: BTreeMap<PartitionId, Vec<Vec<Operation>>>,
    position: u64,
    _dir: tempfile::TempDir,
}

fn node() -> Node {
    node_with(FrontierOptions { seen_bytes: 1 << 20, ..FrontierOptions::default() })
}

fn node_with(options: FrontierOptions) -> Node {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(dir.path(), 32 << 20).unwrap());
    let politeness = Politeness { delay_ms: 0, ip_delay_ms: 0, per_host: 3, ..Politeness::default() };
    let options = FrontierOptions {
        politeness,
        partitioner: partitioner(),
        obey_robots: false,
        max_entries_in_memory: 10,
        ..options
    };
    let read: lycosa_frontier::frontier::ReadRules = Box::new(|_, _| unreachable!("no rules are kept"));
    let frontier = Frontier::of_node(options, Arc::clone(&store), read).unwrap();
    Node { store, frontier, now: UnixMs(1_000_000), logs: BTreeMap::new(), position: 0, _dir: dir }
}

impl Node {
    fn open(&mut self, partition: u16) {
        self.position += 1;
        self.frontier.open_partition(PartitionId(partition), self.position, true, self.now).unwrap();
        self.frontier.set_leasing(PartitionId(partition), true, self.now);
    }

    fn admit(&mut self, n: u64) -> Admission {
        let url = url(n);
        let signals = Signals::default();
        let found = Discovered {
            url: url.as_str(),
            key: url.key(),
            redirects: 0,
            found_on: None,
            signals,
            listed: false,
        };
        self.frontier.admit_to(partitioner().partition_of(&url), found, self.now).unwrap()
    }

    fn lease(&mut self) -> Option<Lease> {
        self.now = self.now.plus_ms(10);
        self.frontier.lease(self.now, &mut Vec::new()).unwrap()
    }

    fn finish(&mut self, lease: Lease) -> Option<Done> {
        let LeaseKind::Page(entry) = lease.kind else { return None };
        let end = PageEnd {
            outcome: Outcome::Fetched { status: 200 },
            visit: None,
            first_print: None,
            signatures: None,
            retry_after_ms: None,
            elapsed_ms: 1,
            address: None,
        };
        self.frontier.finish_page(lease.host, *entry, end, self.now)
    }

    /// Commits as a node does: logs first, then the store.
    fn commit(&mut self, done: &[Done]) {
        let changes = self.frontier.take_changes();
        let operations = self.store.operations(done, &changes).unwrap();
        self.position += 1;
        let position = self.position.to_be_bytes();
        self.log(&operations);
        let local: Vec<(PartitionId, Vec<Pair<'_>>)> = operations
            .iter()
            .map(|(partition, part)| {
                let both = part.found.iter().chain(&part.done).filter(|operation| !operation.overtaken);
                (*partition, both.map(pair).collect())
            })
            .collect();
        let writes: Vec<PartitionWrite<'_>> = local
            .iter()
            .map(|(partition, operations)| PartitionWrite {
                partition: *partition,
                position: &position,
                operations,
            })
            .collect();
        self.store.commit_partitions(&writes, &changes, &[]).unwrap();
        self.frontier.committed(changes.epoch);
    }

    fn log(&mut self, operations: &Operations) {
        for (partition, part) in operations {
            let log = self.logs.entry(*partition).or_default();
            log.extend([part.found.clone(), part.done.clone()].into_iter().filter(|step| !step.is_empty()));
        }
    }

    fn dump(&self, partition: u16) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let (_, pairs) = self.store.dump_partition(PartitionId(partition)).unwrap();
        pairs.map(|pair| pair.unwrap()).collect()
    }
}

type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

fn pair(operation: &Operation) -> Pair<'_> {
    (&operation.key, operation.value.as_deref())
}

/// A store made from the first `steps` steps of a log.
fn replayed(log: &[Vec<Operation>], partition: u16, steps: usize) -> Node {
    replayed_on(node(), &log[..steps], partition)
}

fn replayed_on(node: Node, log: &[Vec<Operation>], partition: u16) -> Node {
    for step in log {
        let operations: Vec<_> = step.iter().map(pair).collect();
        node.store.apply_partition(PartitionId(partition), &operations, Some(&[0])).unwrap();
    }
    node
}

fn crawl(every: usize) -> Node {
    crawl_on(node(), PAGES, every)
}

/// Crawls with commits after every few pages; page n links to 2n+1 and 2n+2.
fn crawl_on(mut node: Node, pages: u64, every: usize) -> Node {
    (0..PARTITIONS).for_each(|partition| node.open(partition));
    node.admit(0);
    let mut done = Vec::new();
    while let Some(lease) = node.lease() {
        let LeaseKind::Page(entry) = &lease.kind else { panic!("only pages are asked for") };
        let n: u64 = entry.url.path()[1..].parse().unwrap();
        done.extend(node.finish(lease));
        for link in [2 * n + 1, 2 * n + 2].into_iter().filter(|&link| link < pages) {
            node.admit(link);
        }
        if done.len() >= every {
            node.commit(&std::mem::take(&mut done));
        }
    }
    node.commit(&done);
    node
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// A log says all there is to say, and wherever it breaks off, every URL in it is done or waits.
    #[test]
    fn a_log_is_whole_at_every_step(every in 1usize..20, cut in 0.0f64..1.0) {
        let node = crawl(every);
        let mut done = 0;
        for partition in 0..PARTITIONS {
            let empty = Vec::new();
            let log = node.logs.get(&PartitionId(partition)).unwrap_or(&empty);
            let whole = replayed(log, partition, log.len());
            prop_assert_eq!(whole.dump(partition), node.dump(partition));
            done += whole.store.urls().filter(|url| url.as_ref().unwrap().1.state == UrlState::Done).count();

            let steps = (log.len() as f64 * cut) as usize;
            let mut torn = replayed(log, partition, steps);
            // Hosts rest until the times that the first node left with them.
            torn.now = node.now.plus_ms(1000);
            let queued =
                torn.store.urls().filter(|url| url.as_ref().unwrap().1.state == UrlState::Queued).count() as u64;
            prop_assert_eq!(torn.store.count_waiting().unwrap(), queued);
            torn.open(partition);
            let counts = torn.frontier.partitions().next().unwrap();
            prop_assert_eq!(counts.waiting, queued);
            let mut leased = 0;
            while let Some(lease) = torn.lease() {
                leased += 1;
                prop_assert!(torn.finish(lease).is_some());
            }
            prop_assert_eq!(leased, queued);
        }
        prop_assert_eq!(done as u64, PAGES);
    }
}

#[test]
fn a_partition_that_is_not_here_takes_nothing_in() {
    let mut node = node();
    let partition = partitioner().partition_of(&url(0));
    assert_eq!(node.admit(0), Admission::Elsewhere);
    node.open(partition.0);
    assert_eq!(node.admit(0), Admission::Queued);
    assert_eq!(node.admit(0), Admission::SeenBefore);
    node.frontier.leave_partition(partition);
    assert_eq!(node.admit(7), Admission::Elsewhere);
    assert!(node.lease().is_none());
}

/// A partition is lost while a page of it is out, and comes back: the lease of the first stay ends without a trace, and the
/// page is leased once more.
#[test]
fn a_lease_of_an_earlier_stay_counts_for_nothing() {
    let mut node = node();
    let partition = partitioner().partition_of(&url(0));
    node.open(partition.0);
    node.admit(0);
    node.commit(&[]);
    let early = node.lease().unwrap();
    assert!(node.lease().is_none());
    node.frontier.close_partition(partition);
    assert_eq!(node.frontier.counts().waiting, 0);
    assert!(node.frontier.is_closed(early.host));
    node.open(partition.0);
    let again = node.lease().unwrap();
    assert!(again.epoch > early.epoch);
    assert!(node.finish(early).is_none());
    assert_eq!(node.frontier.counts().leased, 1);
    assert!(node.finish(again).is_some());
    let counts = node.frontier.partitions().next().unwrap();
    assert_eq!((counts.waiting, counts.leased), (0, 0));
    assert!(node.lease().is_none());
}

/// What was taken in and never committed is forgotten with the partition: it can be taken in again.
#[test]
fn what_was_not_committed_is_not_seen_after_a_loss() {
    let mut node = node();
    let partition = partitioner().partition_of(&url(0));
    node.open(partition.0);
    assert_eq!(node.admit(0), Admission::Queued);
    node.frontier.close_partition(partition);
    let changes = node.frontier.take_changes();
    node.frontier.committed(changes.epoch);
    node.open(partition.0);
    assert_eq!(node.admit(0), Admission::Queued);
}

/// A lease that was not used comes back; while nothing may be leased, hosts wait their turn.
#[test]
fn unused_leases_come_back() {
    let mut node = node();
    let partition = partitioner().partition_of(&url(0));
    node.open(partition.0);
    node.admit(0);
    let lease = node.lease().unwrap();
    let now = node.now;
    node.frontier.set_leasing(partition, false, now);
    node.frontier.take_back(lease.host, lease.kind, now);
    assert_eq!(node.frontier.counts().leased, 0);
    assert!(node.lease().is_none());
    node.frontier.set_leasing(partition, true, now);
    let lease = node.lease().unwrap();
    assert!(node.finish(lease).is_some());
}

/// With room for three hosts and for a part of the fingerprints, a node crawls the same; and so does the next one, which
/// finds that everything is known.
#[test]
fn little_memory_changes_nothing() {
    let little =
        || node_with(FrontierOptions { max_hosts_in_memory: 3, seen_bytes: 0, ..FrontierOptions::default() });
    // The seen-sets hold some 3,000 fingerprints each at least.
    let pages = 4 * 5_000;
    let node = crawl_on(little(), pages, 500);
    assert_eq!(
        node.store.urls().filter(|url| url.as_ref().unwrap().1.state == UrlState::Done).count() as u64,
        pages
    );
    assert_eq!(node.store.count_waiting().unwrap(), 0);
    for (&PartitionId(partition), log) in &node.logs {
        let mut next = replayed_on(little(), log, partition);
        next.open(partition);
        for n in (0..pages).filter(|&n| partitioner().partition_of(&url(n)).0 == partition) {
            assert_eq!(next.admit(n), Admission::SeenBefore, "page {n}");
        }
        // A copy that is made anew knows nothing of the old one.
        next.frontier.close_partition(PartitionId(partition));
        next.store.clear_partition(PartitionId(partition)).unwrap();
        next.open(partition);
        for n in (0..pages).filter(|&n| partitioner().partition_of(&url(n)).0 == partition) {
            assert_eq!(next.admit(n), Admission::Queued, "page {n}");
        }
    }
}

/// Hosts that wait on disk come in again, and only those of partitions that are open.
#[test]
fn hosts_on_disk_of_a_partition_that_left_stay_there() {
    let mut node = node_with(FrontierOptions {
        max_hosts_in_memory: 1,
        seen_bytes: 1 << 20,
        ..FrontierOptions::default()
    });
    (0..PARTITIONS).for_each(|partition| node.open(partition));
    (0..PAGES).for_each(|n| assert_eq!(node.admit(n), Admission::Queued));
    node.commit(&[]);
    let gone = partitioner().partition_of(&url(0));
    let stays = (0..PAGES).filter(|&n| partitioner().partition_of(&url(n)) != gone).count() as u64;
    node.frontier.close_partition(gone);
    assert_eq!(node.frontier.counts().waiting, stays);
    let mut served = 0;
    for _ in 0..10_000 {
        node.now = node.now.plus_ms(100);
        while let Some(lease) = node.lease() {
            assert_ne!(lease.slot.partition, gone);
            let done = node.finish(lease);
            served += done.iter().len() as u64;
            node.commit(done.as_slice());
        }
        if served == stays {
            break;
        }
    }
    assert_eq!(served, stays);
    assert!(node.frontier.is_exhausted());
    node.open(gone.0);
    assert_eq!(node.frontier.counts().waiting, PAGES - stays);
}
