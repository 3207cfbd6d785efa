//! How many URLs wait for the hosts of each registered domain, and what may wait for one host: budgets that keep one
//! site, or endless subdomains of one, from filling the disk.

use foldhash::HashMap;
use lycosa_types::HostKey;

use super::{Admission, Frontier};
use crate::path_queries::PathQueries;
use crate::schedule::HostIndex;

/// Domains counted; a further one has no budget.
const MAX_DOMAINS: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Domains {
    waiting: HashMap<u64, u64>,
}

impl Domains {
    pub fn add(&mut self, domain: u64, urls: u64) {
        if let Some(waiting) = self.waiting.get_mut(&domain) {
            *waiting += urls;
        } else if self.waiting.len() < MAX_DOMAINS && urls > 0 {
            self.waiting.insert(domain, urls);
        }
    }

    pub fn remove(&mut self, domain: u64, urls: u64) {
        if let Some(waiting) = self.waiting.get_mut(&domain) {
            *waiting = waiting.saturating_sub(urls);
            if *waiting == 0 {
                self.waiting.remove(&domain);
            }
        }
    }

    pub fn waiting(&self, domain: u64) -> u64 {
        self.waiting.get(&domain).copied().unwrap_or(0)
    }
}

impl Frontier {
    /// The budget that one more URL of this host would exceed.
    pub(super) fn budget_used_up(&self, index: HostIndex, listed: bool) -> Option<Admission> {
        let host = self.hosts.get(index)?;
        let options = &self.options;
        if listed && host.listed >= options.max_listed_per_host {
            return Some(Admission::HostListed);
        }
        if host.waiting >= options.max_waiting_per_host {
            return Some(Admission::HostWaiting);
        }
        let of_domain = options.max_waiting_per_domain;
        (of_domain < u64::MAX && self.domains.waiting(host.domain) >= of_domain)
            .then_some(Admission::DomainWaiting)
    }

    /// A page whose URL has a query was visited.
    pub fn note_query_visit(&mut self, index: HostIndex, path: &str, says_something_new: bool) {
        let limit = self.options.max_queries_per_path;
        if let Some(queries) =
            self.hosts.get_mut(index).and_then(|host| host.queries.get_mut(&path_key(path)))
        {
            queries.visited(says_something_new, limit);
        }
    }
}

/// The key of a path among those whose queries are counted.
pub(super) fn path_key(path: &str) -> u64 {
    HostKey::of(path).0
}

/// Whether a path's pages bring nothing new any more; with how many were visited.
pub(super) fn is_endless(queries: Option<&PathQueries>, limit: u32) -> Option<u32> {
    queries.filter(|queries| queries.is_endless(limit)).map(|queries| queries.visited)
}
