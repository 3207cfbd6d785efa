//! One host: its queue, its rules, its pace, and where it stands in the schedule.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::HashMap;
use lycosa_types::{CanonUrl, Exclusion, Failure, UnixMs};

use crate::host_queue::{Entry, HostQueue};
use crate::order::{Order, Rank};
use crate::pace::Pace;
use crate::path_queries::PathQueries;
use crate::section::Sections;
use crate::store::{HostRecord, HostSlot};

/// A host of which more pages than this may be asked for at once is near: no time is lost if it is asked for fewer.
const NEAR_IN_FLIGHT: u32 = 32;

/// What a host's robots.txt says. The frontier asks; it does not know the format.
pub trait Rules: Send + Sync + fmt::Debug {
    /// Whether a path with its query may be requested.
    fn check(&self, path_and_query: &str) -> Result<(), Exclusion>;
    /// The pause the host asks for between requests.
    fn delay_ms(&self) -> Option<u64>;
}

/// What is known about a host's rules.
#[derive(Debug)]
pub enum RulesState {
    /// Not fetched yet, or fetched too long ago.
    Unknown,
    Known {
        rules: Arc<dyn Rules>,
        until: UnixMs,
    },
    /// The host cannot be reached: everything that waits for it ends like this.
    Dead(Failure),
}

/// Where a host stands. It is in at most one heap of the schedule at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing waits.
    Idle,
    /// In the timer heap.
    Waiting,
    /// In the heap of hosts that may be served now.
    Ready,
    /// As many requests under way as allowed.
    Busy,
    /// Waiting for its IP address to be free.
    AtGate,
    /// Its turn came while nothing could be leased from its partition.
    Paused,
}

#[derive(Debug)]
pub struct Host {
    pub slot: HostSlot,
    pub origin: Box<str>,
    pub queue: HostQueue,
    /// Pages visited before that are due again.
    pub revisits: BTreeMap<Rank, Box<Entry>>,
    pub rules: RulesState,
    pub rules_tries: u16,
    /// Where robots.txt was redirected to; only while it is being fetched.
    pub rules_moved_to: Option<CanonUrl>,
    pub rules_redirects: u8,
    pub place: Place,
    /// The rank it stands among the ready with.
    pub ready_rank: Rank,
    pub ready_at: UnixMs,
    pub in_flight: u32,
    /// Waiting, leased and delayed entries.
    pub waiting: u64,
    pub accepted: u64,
    pub fetched: u64,
    /// Requests without any answer since the last one that was answered.
    pub failures_in_row: u32,
    /// robots.txt is asked for to find out whether the host is up.
    pub is_probed: bool,
    /// Times that it did not answer that.
    pub probe_failures: u16,
    pub pace: Pace,
    pub sections: Sections,
    /// Since when its robots.txt cannot be had.
    pub rules_failing_since: Option<UnixMs>,
    pub address: Option<IpAddr>,
    /// The origin whose pages it repeats, once that is known.
    pub mirror_of: Option<Box<str>>,
    /// Changed since the last commit.
    pub dirty: bool,
    /// The commit that has its record as it is, if there was one in this run.
    pub saved_in: Option<u64>,
    /// Asked since it was last looked at for leaving memory.
    pub asked: bool,
    /// Entries that wait for their next try.
    pub delayed: u32,
    /// Requests under way that another host's robots.txt led here.
    pub guests: u32,
    /// The store may have its rules, and was not asked yet.
    pub rules_on_disk: bool,
    /// Queries per path (hashed), to bound calendars and the like.
    pub queries: HashMap<u64, PathQueries>,
    /// The registered domain, hashed.
    pub domain: u64,
    /// URLs of sitemaps and feeds accepted in this run.
    pub listed: u64,
}

/// The registered domain of an origin, hashed.
pub fn domain_of(origin: &str) -> u64 {
    let root = CanonUrl::from_canonical(format!("{origin}/"));
    lycosa_types::HostKey::of(root.domain()).0
}

/// Paths whose queries are counted per host; beyond, no new path is counted.
const MAX_COUNTED_PATHS: usize = 1024;

impl Host {
    pub fn new(slot: HostSlot, origin: &str) -> Self {
        Self {
            slot,
            origin: origin.into(),
            queue: HostQueue::default(),
            revisits: BTreeMap::new(),
            rules: RulesState::Unknown,
            rules_tries: 0,
            rules_moved_to: None,
            rules_redirects: 0,
            place: Place::Idle,
            ready_rank: Rank::FIRST,
            ready_at: UnixMs(0),
            in_flight: 0,
            waiting: 0,
            accepted: 0,
            fetched: 0,
            failures_in_row: 0,
            is_probed: false,
            probe_failures: 0,
            pace: Pace::default(),
            sections: Sections::default(),
            rules_failing_since: None,
            address: None,
            mirror_of: None,
            dirty: false,
            saved_in: None,
            asked: false,
            delayed: 0,
            guests: 0,
            rules_on_disk: false,
            queries: HashMap::default(),
            domain: domain_of(origin),
            listed: 0,
        }
    }

    pub fn from_record(slot: HostSlot, record: HostRecord) -> Self {
        let mut host = Self::new(slot, &record.origin);
        if record.waiting > 0 {
            host.queue = HostQueue::on_disk(record.next);
        }
        host.rules_on_disk = true;
        host.waiting = record.waiting;
        host.accepted = record.accepted;
        host.fetched = record.fetched;
        host.failures_in_row = record.failures_in_row;
        host.pace = Pace::of_rate(record.per_ks);
        host.ready_at = record.ready_at;
        host.address = record.address;
        host.mirror_of = record.mirror_of.map(Into::into);
        host
    }

    pub fn record(&self) -> HostRecord {
        HostRecord {
            origin: self.origin.to_string(),
            waiting: self.waiting,
            next: self.queue.next().unwrap_or(Rank::FIRST),
            accepted: self.accepted,
            fetched: self.fetched,
            failures_in_row: self.failures_in_row,
            ready_at: self.ready_at,
            address: self.address,
            mirror_of: self.mirror_of.as_deref().map(str::to_owned),
            per_ks: self.pace.per_ks(),
        }
    }

    /// Counts a query of a path; false if the path has had its share. A path is counted from now on only if there is
    /// `room`.
    pub fn take_query(&mut self, path_hash: u64, limit: u32, room: bool) -> bool {
        let room = room && self.queries.len() < MAX_COUNTED_PATHS;
        if !room && !self.queries.contains_key(&path_hash) {
            return true;
        }
        let path = self.queries.entry(path_hash).or_default();
        path.accepted = path.accepted.saturating_add(1);
        path.accepted <= limit
    }

    pub fn rules_delay_ms(&self) -> Option<u64> {
        match &self.rules {
            RulesState::Known { rules, .. } => rules.delay_ms(),
            _ => None,
        }
    }

    /// Whether anything waits that is not leased or delayed already.
    pub fn has_entries(&self) -> bool {
        self.has_new() || !self.revisits.is_empty()
    }

    /// How many of its pages may be asked for at once: as many as politeness allows; but of a host that is near no more
    /// than wait behind them, or `few`. What one worker was given no other can do, and some pages take a thousand times as
    /// long as others: if the last ones were all handed out at once, most workers would soon have nothing to do.
    pub fn most_in_flight(&self, per_host: u32, few: u32) -> u32 {
        if self.pace.is_refused() {
            return 1;
        }
        if per_host <= NEAR_IN_FLIGHT || self.queue.has_spilled() {
            return per_host.max(1);
        }
        let waiting = self.queue.in_memory() + self.revisits.len();
        per_host.min(u32::try_from(waiting).unwrap_or(u32::MAX).max(few).max(1))
    }

    /// Whether any of it was never visited.
    pub fn has_new(&self) -> bool {
        self.queue.in_memory() > 0 || self.queue.has_spilled()
    }

    /// The rank it stands for among the hosts that may be asked.
    pub fn best_rank(&self, order: Order) -> Rank {
        let again = self.revisits.first_key_value().map(|(rank, _)| *rank);
        let new = self.queue.next().map(|rank| order.among_hosts(rank, self.accepted, self.fetched));
        new.into_iter().chain(again).min().unwrap_or(Rank::FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{HostKey, PartitionId};

    #[test]
    fn the_last_pages_of_a_near_host_are_handed_out_a_few_at_a_time() {
        let slot = HostSlot { partition: PartitionId(0), host: HostKey::of("http://h.test") };
        let mut host = Host::new(slot, "http://h.test");
        for number in 0..150 {
            let url = CanonUrl::from_canonical(format!("http://h.test/{number}"));
            let entry = Entry {
                rank: Rank::FIRST,
                key: url.key(),
                url,
                depth: 0,
                tries: 0,
                redirects: 0,
                found_on: None,
                found_at: UnixMs(0),
                revisit: true,
                late: false,
                refused: 0,
            };
            host.revisits.insert(Rank { sequence: number, ..Rank::FIRST }, Box::new(entry));
        }
        for (waiting, near, far) in [(150, 100, 32), (100, 100, 32), (60, 60, 32), (5, 5, 32), (3, 4, 32)] {
            while host.revisits.len() > waiting {
                host.revisits.pop_first();
            }
            assert_eq!((host.most_in_flight(100, 4), host.most_in_flight(32, 4)), (near, far), "{waiting}");
        }
        // How much waits on disk is not known.
        host.queue = HostQueue::on_disk(Rank::FIRST);
        assert_eq!(host.most_in_flight(100, 4), 100);
    }
}
