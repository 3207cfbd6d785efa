//! All of it together: URLs are admitted, hosts take turns, leases go out and come back.
//!
//! One [`Frontier`] is owned by one thread; nothing in it locks. What must survive is handed out as [`Changes`] and
//! [`Done`] records for the committer, and stays in memory until [`Frontier::committed`] says it is on disk.

mod admit;
mod claims;
mod clock_faults;
mod domains;
mod dormant;
mod finish;
mod held;
mod lease;
mod lookups;
mod options;
mod parting;
mod partitions;
mod placing;
mod reorder;
mod revisits;
mod trouble;

pub use lookups::LookupLimits;
pub use options::FrontierOptions;
pub use partitions::{PartitionCounts, PictureWanted};
pub use revisits::Revisits;

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use lycosa_types::{
    CanonUrl, Digest, Failure, Outcome, PartitionId, UnixMs, UrlId, UrlKey, UrlRecord, VisitFacts,
};

use crate::course::CourseEnd;
use crate::host::{Place, Rules, domain_of};
use crate::host_queue::Entry;
use crate::host_table::HostTable;
use crate::order::{Lists, Order, Rank, Signals};
use crate::schedule::{Alarm, HostIndex, Schedule};
use crate::seen::{Seen, SeenSet};
use crate::store::{Backlog, Changes, HostSlot, RulesRecord, Store, StoreError};

/// Fingerprints made known on disk in one go, when a crawl is opened with a smaller seen-set than it had.
const MAX_BEYOND: usize = 1 << 16;

/// Fingerprints whose places in the seen-set are asked of memory together.
const TOUCHED_AT_ONCE: usize = 32;

/// A URL that a page, a redirect, a sitemap or the user named.
#[derive(Clone, Copy, Debug)]
pub struct Discovered<'a> {
    /// In canonical form.
    pub url: &'a str,
    pub key: UrlKey,
    pub redirects: u8,
    pub found_on: Option<UrlId>,
    pub signals: Signals,
    /// A sitemap or feed lists it.
    pub listed: bool,
}

/// What became of a discovered URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Queued,
    SeenBefore,
    /// The path has had its share of different queries.
    QueryBudget,
    /// As many wait for its host, or for all hosts of its domain, as may.
    HostWaiting,
    DomainWaiting,
    /// The host's sitemaps and feeds have had their share.
    HostListed,
    /// Its partition is not open here.
    Elsewhere,
}

/// What a lease is for.
#[derive(Clone, Debug)]
pub enum LeaseKind {
    /// Find the host's address, nothing else.
    Resolve,
    /// Fetch the host's robots.txt, from where it was last said to be.
    Rules {
        moved_to: Option<CanonUrl>,
        redirects: u8,
    },
    Page(Box<Entry>),
}

/// Permission to make one request to one host, now.
#[derive(Clone, Debug)]
pub struct Lease {
    pub host: HostIndex,
    pub slot: HostSlot,
    pub origin: Box<str>,
    pub kind: LeaseKind,
    /// The stay of the partition it belongs to; 0 on one machine.
    pub epoch: u64,
}

/// How a page lease ended.
#[derive(Clone, Debug)]
pub struct PageEnd {
    pub outcome: Outcome,
    pub visit: Option<VisitFacts>,
    /// A payload seen for the first time.
    pub first_print: Option<Digest>,
    /// The page's signatures, encoded by whoever made them.
    pub signatures: Option<Vec<u8>>,
    /// The pause the server asked for.
    pub retry_after_ms: Option<u64>,
    /// Time the server took.
    pub elapsed_ms: u64,
    pub address: Option<std::net::IpAddr>,
}

/// How a rules lease ended.
#[derive(Clone, Debug)]
pub enum RulesEnd {
    /// Redirected: to be asked for at another place, in its turn.
    Moved {
        to: CanonUrl,
    },
    Known {
        rules: Arc<dyn Rules>,
        record: RulesRecord,
    },
    /// Not to be had now; `otherwise` stands if it stays so.
    Unreachable {
        failure: Failure,
        retry_after_ms: Option<u64>,
        otherwise: Option<Arc<dyn Rules>>,
    },
}

/// A visit whose outcome stands, for the committer.
#[derive(Clone, Debug)]
pub struct Done {
    pub slot: HostSlot,
    pub key: UrlKey,
    pub rank: Rank,
    pub record: UrlRecord,
    pub signatures: Option<Vec<u8>>,
    /// The page had been visited before.
    pub revisit: bool,
    /// What the visit changes in the page's course, if it has one.
    pub course: Option<CourseEnd>,
}

/// Where everything stands, for progress and for knowing when a crawl is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub waiting: u64,
    pub leased: u64,
    pub delayed: u64,
    /// Hosts in memory, and those on disk for which URLs wait.
    pub hosts: u64,
    /// Pages in memory that are to be visited again.
    pub revisits: u64,
    /// Waiting URLs in memory; the others are on disk alone.
    pub in_memory: u64,
}

/// Turns a stored robots.txt back into rules.
pub type ReadRules = Box<dyn Fn(&str, &RulesRecord) -> Arc<dyn Rules> + Send>;

/// URLs whose lease ended, each with the host it was leased from.
type Ended = Vec<(UrlKey, HostIndex)>;

pub struct Frontier {
    options: FrontierOptions,
    store: Arc<Store>,
    read_rules: ReadRules,
    seen: SeenSet,
    /// Fingerprints admitted while the seen-set is full, until they are on disk.
    known_uncommitted: HashSet<u64>,
    hosts: HostTable,
    dormant: dormant::Dormant,
    /// After an unclean stop: since when no host was asked for sure.
    rest_from: Option<UnixMs>,
    /// Paths of hosts in memory whose queries are counted.
    counted_paths: usize,
    /// URLs waiting per registered domain (hashed).
    domains: domains::Domains,
    schedule: Schedule,
    /// Hosts whose requests ended lately, the last one last.
    lately: Vec<HostIndex>,
    /// URLs that are leased, delayed, or finished but not yet committed.
    in_flight: HashMap<UrlKey, HostIndex>,
    /// Entries that wait for their next try, each under a number of its own.
    delayed: HashMap<u64, (HostIndex, Box<Entry>)>,
    delays: u64,
    sequence: u64,
    waiting: u64,
    leased: u64,
    entries_in_memory: usize,
    dirty: Vec<HostIndex>,
    changes: Changes,
    uncommitted: VecDeque<(Arc<Changes>, Ended)>,
    committed_epoch: Option<u64>,
    /// The last lease ended early because enough was dropped: there may be more to do at once.
    cut_short: bool,
    held: held::Held,
    /// Where waiting URLs stand, for orders under which they move.
    tracked: HashMap<u64, reorder::Standing>,
    /// The rank of entries whose move is not committed yet.
    moving: HashMap<UrlKey, Rank>,
    /// Bundles that were parted, each with the epoch of the changes that say so, until these are committed.
    parted: HashMap<(HostSlot, Rank), u64>,
    /// Came from disk since the last [`Frontier::take_loaded`].
    loaded: Vec<u64>,
    /// For the URL that is being taken in.
    url_buffer: String,
    /// Sequence number at the last [`Frontier::take_changes`]: what came later is not on its way to disk yet.
    taken_sequence: u64,
    /// The lists of the pvalue order.
    lists: Option<Lists>,
    /// Pages to be visited again.
    revisits: revisits::Source,
    /// Keys of visits that ended since the last [`Frontier::take_changes`].
    ended: Ended,
    /// Addresses of hosts whose partition was closed while a lease was out.
    left_at: HashMap<HostIndex, std::net::IpAddr>,
    /// Payloads claimed here and not committed yet.
    claimed: HashMap<(PartitionId, Digest), UrlId>,
    /// The partitions that are open; none on one machine, where all are.
    partitions: Option<partitions::Partitions>,
    lookups: lookups::Lookups,
    clock_faults: clock_faults::ClockFaults,
}

impl Frontier {
    /// Picks up where the state left off. After an unclean stop no host is asked before its full pause has passed once.
    pub fn open(
        options: FrontierOptions,
        store: Arc<Store>,
        read_rules: ReadRules,
        clean_stop: bool,
        now: UnixMs,
    ) -> Result<Self, StoreError> {
        let mut frontier = Self::empty(options, store, read_rules);
        frontier.load(clean_stop, now)?;
        Ok(frontier)
    }

    fn empty(options: FrontierOptions, store: Arc<Store>, read_rules: ReadRules) -> Self {
        Self {
            seen: SeenSet::new(options.seen_bytes),
            lists: (options.order == Order::Pvalue).then(Lists::default),
            revisits: revisits::Source::new(options.revisits, options.refresh_share),
            options,
            read_rules,
            known_uncommitted: HashSet::default(),
            hosts: HostTable::default(),
            dormant: dormant::Dormant::default(),
            rest_from: None,
            counted_paths: 0,
            domains: domains::Domains::default(),
            schedule: Schedule::default(),
            lately: Vec::new(),
            in_flight: HashMap::default(),
            delayed: HashMap::default(),
            delays: 0,
            sequence: 0,
            waiting: 0,
            leased: 0,
            entries_in_memory: 0,
            dirty: Vec::new(),
            changes: Changes::default(),
            uncommitted: VecDeque::new(),
            committed_epoch: None,
            cut_short: false,
            held: held::Held::default(),
            tracked: HashMap::default(),
            moving: HashMap::default(),
            parted: HashMap::default(),
            loaded: Vec::new(),
            url_buffer: String::new(),
            taken_sequence: 0,
            ended: Vec::new(),
            left_at: HashMap::default(),
            claimed: HashMap::default(),
            partitions: None,
            lookups: lookups::Lookups::default(),
            clock_faults: clock_faults::ClockFaults::default(),
            store,
        }
    }

    fn load(&mut self, clean_stop: bool, now: UnixMs) -> Result<(), StoreError> {
        let store = Arc::clone(&self.store);
        self.fill_seen(&store)?;
        self.rest_from = (!clean_stop).then_some(now);
        self.load_sequence()?;
        for entry in store.hosts() {
            let (slot, record) = entry?;
            if record.waiting == 0 {
                continue;
            }
            self.waiting += record.waiting;
            self.domains.add(domain_of(&record.origin), record.waiting);
            if self.hosts.len() < self.options.max_hosts_in_memory {
                let index = self.wake(slot, record);
                self.settle(index, now);
            } else {
                self.dormant.count += 1;
            }
        }
        Ok(())
    }

    fn load_sequence(&mut self) -> Result<(), StoreError> {
        if let Some(bytes) = self.store.mark("sequence")? {
            let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| StoreError::Damaged("sequence mark"))?;
            self.sequence = u64::from_be_bytes(bytes);
            self.taken_sequence = self.sequence;
        }
        Ok(())
    }

    /// Fills the seen-set. What it has no room for must be found on disk from now on.
    fn fill_seen(&mut self, store: &Store) -> Result<(), StoreError> {
        self.seen.reserve(store.seen_at_least());
        let mut beyond = Vec::new();
        store.each_seen(|prints, known| {
            for few in prints.chunks(TOUCHED_AT_ONCE) {
                self.seen.touch(few.iter().map(|print| u64::from_be_bytes(*print)));
                for print in few.iter().map(|print| u64::from_be_bytes(*print)) {
                    if self.seen.insert_print(print) == Seen::Unknown && !known {
                        beyond.push(print);
                    }
                }
                if beyond.len() >= MAX_BEYOND {
                    store.add_known(&std::mem::take(&mut beyond))?;
                }
            }
            Ok(())
        })?;
        if beyond.is_empty() { Ok(()) } else { store.add_known(&beyond) }
    }

    /// Puts a host where it belongs now: nowhere, into the timers, or among the ready.
    fn settle(&mut self, index: HostIndex, now: UnixMs) {
        self.cut_pause(index, now);
        let Some(host) = self.hosts.get_mut(index) else {
            return;
        };
        if matches!(host.place, Place::Waiting | Place::Ready | Place::AtGate | Place::Paused) {
            return;
        }
        host.place = if !host.has_entries() {
            Place::Idle
        } else if host.in_flight
            >= host.most_in_flight(self.options.politeness.per_host, self.options.few_in_flight)
        {
            Place::Busy
        } else if host.ready_at > now {
            self.schedule.wake_at(host.ready_at, Alarm::Host(index));
            Place::Waiting
        } else {
            host.ready_rank = host.best_rank(self.options.order);
            self.schedule.push_ready(host.ready_rank, index);
            Place::Ready
        };
    }

    /// Everything to be committed since the last call. The caller commits it together with the [`Done`] records it
    /// received in the meantime, and then calls [`Self::committed`].
    pub fn take_changes(&mut self) -> Arc<Changes> {
        for index in std::mem::take(&mut self.dirty) {
            if let Some(host) = self.hosts.get_mut(index) {
                host.dirty = false;
                host.saved_in = Some(self.changes.epoch);
                self.changes.hosts.push((host.slot, host.record()));
            }
        }
        self.changes.sequence = self.sequence;
        self.taken_sequence = self.sequence;
        let queued = Backlog::like(&self.changes.queued);
        let next = Changes { epoch: self.changes.epoch + 1, queued, ..Changes::default() };
        let changes = Arc::new(std::mem::replace(&mut self.changes, next));
        self.uncommitted.push_back((Arc::clone(&changes), std::mem::take(&mut self.ended)));
        changes
    }

    /// The changes of `epoch` (and all before) are on disk.
    pub fn committed(&mut self, epoch: u64) {
        self.committed_epoch = self.committed_epoch.max(Some(epoch));
        while self.uncommitted.front().is_some_and(|(changes, _)| changes.epoch <= epoch) {
            if let Some((changes, ended)) = self.uncommitted.pop_front() {
                for (key, index) in ended {
                    // Unless it is on lease again, from a later stay of its partition.
                    if self.in_flight.get(&key) == Some(&index) {
                        self.in_flight.remove(&key);
                        self.revisits.keys.remove(&key);
                    }
                }
                for (key, moved) in &changes.moved {
                    if self.moving.get(key) == Some(&moved.entry.rank) {
                        self.moving.remove(key);
                    }
                }
                self.parting_committed(&changes.parted, changes.epoch);
                for (partition, digest, _) in &changes.claims {
                    self.claimed.remove(&(*partition, *digest));
                }
                for (_, print) in &changes.known {
                    self.known_uncommitted.remove(print);
                }
            }
        }
    }

    /// Whether there is anything to commit.
    pub fn has_changes(&self) -> bool {
        !self.ended.is_empty() || !self.dirty.is_empty() || !self.changes.is_empty()
    }

    /// True when nothing waits and nothing is under way: the crawl is over.
    pub fn is_exhausted(&self) -> bool {
        self.waiting == 0 && self.leased == 0 && self.revisits.is_over()
    }

    pub fn counts(&self) -> Counts {
        Counts {
            waiting: self.waiting,
            leased: self.leased,
            delayed: self.delayed.len() as u64,
            hosts: self.hosts.len() as u64 + self.dormant.count,
            revisits: self.revisits.pending as u64,
            in_memory: self.entries_in_memory as u64,
        }
    }

    /// The origin of a host, for instance `https://example.org`.
    pub fn origin(&self, host: HostIndex) -> Option<&str> {
        self.hosts.get(host).map(|host| &*host.origin)
    }

    /// When something may become ready without anything else happening.
    pub fn next_due(&self) -> Option<UnixMs> {
        if self.cut_short {
            return Some(UnixMs(0));
        }
        self.schedule.next_due().into_iter().chain(self.dormant.next_due()).min()
    }

    /// Whether a lease on this URL is out, or its end is not committed yet.
    pub fn is_in_flight(&self, key: UrlKey) -> bool {
        self.in_flight.contains_key(&key)
    }
}

impl std::fmt::Debug for Frontier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frontier").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
