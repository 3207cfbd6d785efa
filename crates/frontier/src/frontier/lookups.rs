//! Hosts that wait for an address: so many look-ups are under way at a time, and so many for names of one zone, whose name
//! servers may be silent. The others wait outside, where they hold nothing that a host with an address could use.

use std::collections::VecDeque;

use foldhash::HashMap;
use lycosa_types::UnixMs;
use xxhash_rust::xxh3::xxh3_64;

use super::Frontier;
use crate::host::Place;
use crate::schedule::HostIndex;

/// How many look-ups may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupLimits {
    pub all: usize,
    /// For names that share their last two labels.
    pub per_zone: usize,
}

impl Default for LookupLimits {
    fn default() -> Self {
        Self { all: 256, per_zone: 8 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// The zones of the hosts that are looked up.
    under_way: HashMap<HostIndex, u64>,
    zones: HashMap<u64, Zone>,
    /// Zones with hosts that wait, in turn.
    turns: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Zone {
    under_way: usize,
    waiting: VecDeque<HostIndex>,
    has_turn: bool,
}

impl Lookups {
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    fn has_waiting(&self) -> bool {
        !self.zones.is_empty()
    }

    /// Begins a look-up if there is room; otherwise the host waits for [`Self::next`].
    fn begin(&mut self, index: HostIndex, zone: u64, limits: LookupLimits) -> bool {
        let has_room = self.under_way.len() < limits.all.max(1);
        let own = self.zones.entry(zone).or_default();
        if has_room && own.under_way < limits.per_zone.max(1) {
            own.under_way += 1;
            self.under_way.insert(index, zone);
            return true;
        }
        own.waiting.push_back(index);
        self.line_up(zone, limits);
        false
    }

    /// Gives a zone a turn if it can use one.
    fn line_up(&mut self, zone: u64, limits: LookupLimits) {
        let Some(own) = self.zones.get_mut(&zone) else { return };
        if !own.has_turn && !own.waiting.is_empty() && own.under_way < limits.per_zone.max(1) {
            own.has_turn = true;
            self.turns.push_back(zone);
        }
    }

    fn end(&mut self, index: HostIndex, limits: LookupLimits) {
        let Some(zone) = self.under_way.remove(&index) else { return };
        if let Some(own) = self.zones.get_mut(&zone) {
            own.under_way -= 1;
            if own.under_way == 0 && own.waiting.is_empty() {
                self.zones.remove(&zone);
            }
        }
        self.line_up(zone, limits);
    }

    /// The host that waits longest in the zone whose turn it is.
    fn next(&mut self) -> Option<HostIndex> {
        loop {
            let zone = self.turns.pop_front()?;
            let Some(own) = self.zones.get_mut(&zone) else { continue };
            own.has_turn = false;
            let next = own.waiting.pop_front();
            if own.waiting.is_empty() && own.under_way == 0 {
                self.zones.remove(&zone);
            } else if !own.waiting.is_empty() && own.under_way == 0 {
                // No end of its own will give it the next turn.
                own.has_turn = true;
                self.turns.push_back(zone);
            }
            if next.is_some() {
                return next;
            }
        }
    }
}

impl Frontier {
    /// Look-ups under way. They are leases, but no requests.
    pub fn lookups(&self) -> usize {
        self.lookups.under_way()
    }

    /// Whether a host may be looked up now; if not, its turn comes when a look-up ends.
    pub(super) fn begin_lookup(&mut self, index: HostIndex) -> bool {
        let zone = self.hosts.get(index).map_or(0, |host| zone_of(&host.origin));
        self.lookups.begin(index, zone, self.options.lookups)
    }

    /// A look-up is over: the next hosts get their turn.
    pub(super) fn end_lookup(&mut self, index: HostIndex, now: UnixMs) {
        self.lookups.end(index, self.options.lookups);
        self.let_in(now);
    }

    /// A host that was let in may have found that it needs no address any more. Where no look-up is under way whose end would
    /// let the next one in, this does.
    pub(super) fn tend_lookups(&mut self, now: UnixMs) {
        if self.lookups.under_way() == 0 && self.lookups.has_waiting() {
            self.let_in(now);
        }
    }

    fn let_in(&mut self, now: UnixMs) {
        while let Some(next) = self.lookups.next() {
            // Its partition may be gone, and its place taken by another.
            let Some(host) = self.hosts.get_mut(next) else { continue };
            if host.place == Place::Busy && host.in_flight == 0 {
                host.place = Place::Idle;
                self.settle(next, now);
                return;
            }
        }
    }
}

/// What the names of one zone have in common, as a number: the last two labels.
fn zone_of(origin: &str) -> u64 {
    let host = origin.rsplit('/').next().unwrap_or(origin);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let zone = host.rmatch_indices('.').nth(1).and_then(|(dot, _)| host.get(dot + 1..)).unwrap_or(host);
    xxh3_64(zone.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_zone_share_its_number() {
        assert_eq!(zone_of("http://a.b.silent.test"), zone_of("https://c.silent.test:8443"));
        assert_ne!(zone_of("http://a.silent.test"), zone_of("http://a.good.test"));
        assert_eq!(zone_of("http://localhost:80"), zone_of("http://localhost"));
    }

    #[test]
    fn a_silent_zone_leaves_room_for_others() {
        let limits = LookupLimits { all: 4, per_zone: 2 };
        let mut lookups = Lookups::default();
        let begun: Vec<bool> = (0..100).map(|index| lookups.begin(index, 1, limits)).collect();
        assert_eq!(begun.iter().filter(|begun| **begun).count(), 2);
        assert!(lookups.begin(100, 2, limits), "another zone is not held up");
        assert_eq!(lookups.next(), None, "the silent zone has all it may have");
        lookups.end(0, limits);
        assert_eq!(lookups.next(), Some(2));
    }
}
