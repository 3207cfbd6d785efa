//! All that visits taught about pages in general, and what follows from it for one page.
//!
//! Promise: O(1) per visit; memory is bounded by [`MOST_HOSTS`].

use foldhash::HashMap;
use lycosa_types::HostKey;

use super::estimate::{ChangeEstimate, MAX_EXPOSURE_S, Sighting, seconds};
use super::evidence::Evidence;
use super::prior::{HostRate, Population, Prior, Surprise};

/// Hosts that are told apart; pages of others are believed to be like any page.
pub const MOST_HOSTS: usize = 100_000;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Beliefs {
    all: Population,
    hosts: HashMap<HostKey, HostRate>,
}

impl Beliefs {
    /// Begins with what an earlier run learnt about all pages.
    pub fn new(all: Population) -> Self {
        Self { all, hosts: HashMap::default() }
    }

    /// What was learnt about all pages, to be kept.
    pub fn population(&self) -> &Population {
        &self.all
    }

    /// A page was visited again: takes in what that showed, about the page and about pages in general.
    pub fn visited(&mut self, host: HostKey, evidence: &mut Evidence, since_ms: u64, sighting: Sighting) {
        let changed = sighting != Sighting::Unchanged;
        let since_s = seconds(since_ms).min(MAX_EXPOSURE_S);
        if let Some(surprise) = Surprise::of(&self.prior(host), evidence.watched(), since_s, changed) {
            self.all.learn(&surprise);
            if self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(&host) {
                self.hosts.entry(host).or_default().learn(&surprise);
            }
        }
        evidence.observe(&self.prior(host), since_ms, sighting);
    }

    /// What is known of a page of this host.
    pub fn estimate(&self, host: HostKey, evidence: &Evidence) -> ChangeEstimate {
        evidence.given(&self.prior(host))
    }

    /// What is believed of a page of this host that was not watched yet.
    pub fn prior(&self, host: HostKey) -> Prior {
        let general = self.all.prior();
        self.hosts.get(&host).map_or(general, |host| host.prior(&general))
    }
}

#[cfg(test)]
mod tests;
