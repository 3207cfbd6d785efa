//! What a frontier is told when it is opened.

use lycosa_types::{Partitioner, UnixMs};

use super::{LookupLimits, Revisits};
use crate::order::Order;
use crate::politeness::Politeness;

/// Settings of a frontier.
#[derive(Clone, Debug)]
pub struct FrontierOptions {
    pub order: Order,
    pub politeness: Politeness,
    pub partitioner: Partitioner,
    /// Ask for robots.txt before anything else of a host.
    pub obey_robots: bool,
    pub max_queries_per_path: u32,
    /// More queries of a path are asked for while pages say something new.
    pub raise_queries: bool,
    /// URLs waiting for one host, and for all hosts of a registered domain.
    pub max_waiting_per_host: u64,
    pub max_waiting_per_domain: u64,
    /// URLs of sitemaps and feeds accepted for one host in a run.
    pub max_listed_per_host: u64,
    /// Once a sweep is through and new URLs still wait, another begins over pages visited before this time.
    pub renew_sweep: Option<UnixMs>,
    /// Hosts may be taken for down or for mirrors, and left out.
    pub guesses: bool,
    /// Waiting entries kept in memory, all hosts together.
    pub max_entries_in_memory: usize,
    /// Hosts kept in memory; the others wait on disk.
    pub max_hosts_in_memory: usize,
    /// Memory for the seen-set.
    pub seen_bytes: usize,
    /// Which pages are visited again.
    pub revisits: Revisits,
    /// Share of requests for pages visited before, while new ones wait too.
    pub refresh_share: f64,
    pub lookups: LookupLimits,
    /// Waiting URLs whose rank can change; others keep the one they have.
    pub max_tracked: usize,
    /// Pages of one host that keep all workers busy: towards the end no more of a near host are asked for at once.
    pub few_in_flight: u32,
}

impl Default for FrontierOptions {
    fn default() -> Self {
        Self {
            order: Order::default(),
            politeness: Politeness::default(),
            partitioner: Partitioner::default(),
            obey_robots: true,
            max_queries_per_path: 5000,
            raise_queries: false,
            max_waiting_per_host: u64::MAX,
            max_waiting_per_domain: u64::MAX,
            max_listed_per_host: u64::MAX,
            renew_sweep: None,
            guesses: true,
            max_entries_in_memory: 200_000,
            max_hosts_in_memory: 200_000,
            seen_bytes: 128 << 20,
            revisits: Revisits::Off,
            refresh_share: 0.5,
            lookups: LookupLimits::default(),
            max_tracked: 1 << 20,
            few_in_flight: 4,
        }
    }
}
