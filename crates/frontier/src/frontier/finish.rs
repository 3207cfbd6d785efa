//! Finishing: a lease comes back, and the host's pace follows from how it went.

use std::net::IpAddr;

use lycosa_types::{Failure, Outcome, UnixMs, UrlRecord, UrlState, VisitFacts};

use super::{Done, Frontier, PageEnd, RulesEnd};
use crate::host::{Place, RulesState};
use crate::host_queue::Entry;
use crate::politeness::Politeness;
use crate::schedule::HostIndex;

/// Hosts whose requests ended since the last lease, as far as they are remembered.
const MAX_LATELY: usize = 1024;

/// The clock is read in whole milliseconds, rounded down: without this a pause could be up to one too short.
const ROUNDING_MS: u64 = 1;

impl Frontier {
    /// A page lease is over. Returns the record to commit, or none if the URL will be tried again.
    pub fn finish_page(
        &mut self,
        index: HostIndex,
        mut entry: Entry,
        end: PageEnd,
        now: UnixMs,
    ) -> Option<Done> {
        if self.is_closed(index) {
            self.abandon(index, entry.revisit, now);
            return None;
        }
        self.give_back(index, end.address, end.elapsed_ms, now);
        match end.outcome {
            Outcome::Failed(failure) => match self.another_try(index, &mut entry, failure, &end, now) {
                Some(wait) => {
                    self.delay(index, entry, wait, now);
                    return None;
                }
                None => entry.tries = entry.tries.max(1),
            },
            _ => {
                let host = self.hosts.get_mut(index)?;
                entry.tries = entry.tries.saturating_add(1);
                host.is_up();
                host.sections.answered(entry.url.path());
                host.pace.answered(entry.refused > 0, now);
                host.fetched += u64::from(!entry.revisit && !super::held::is_requisite(&entry));
            }
        }
        let host = self.hosts.get(index)?;
        if let (Some(digest), Some(_)) = (end.first_print, &end.visit) {
            let id = lycosa_types::UrlId { partition: host.slot.partition, key: entry.key };
            self.changes.prints.push((digest, id));
        }
        let mut done = self.end_entry(index, entry, end.outcome, end.visit, now);
        done.signatures = end.signatures;
        self.rest(index, now);
        Some(done)
    }

    /// A rules lease is over.
    pub fn finish_rules(
        &mut self,
        index: HostIndex,
        end: RulesEnd,
        address: Option<IpAddr>,
        elapsed_ms: u64,
        now: UnixMs,
    ) {
        if self.is_closed(index) {
            return self.abandon(index, false, now);
        }
        self.give_back(index, address, elapsed_ms, now);
        let politeness = self.options.politeness.clone();
        let Some(host) = self.hosts.get_mut(index) else {
            return;
        };
        let until = now.plus_ms(politeness.rules_ttl_ms);
        let is_probed = std::mem::take(&mut host.is_probed);
        let asked = host.rules_moved_to.take();
        let redirects = std::mem::take(&mut host.rules_redirects);
        match end {
            RulesEnd::Moved { to } => {
                host.rules_moved_to = Some(to);
                host.rules_redirects = redirects.saturating_add(1);
                host.is_probed = is_probed;
            }
            RulesEnd::Known { rules, record } => {
                host.rules_tries = 0;
                host.rules_failing_since = None;
                host.pace.answered(false, now);
                host.is_up();
                host.rules = RulesState::Known { rules, until };
                if asked.is_none() && politeness.per_host <= 1 {
                    // The pause after robots.txt itself is already the one that it asks for.
                    let rest = rest_ms(&politeness, host.rules_delay_ms(), elapsed_ms);
                    host.ready_at = host.ready_at.max(now.plus_ms(rest));
                }
                self.changes.rules.push((host.slot, record));
            }
            RulesEnd::Unreachable { failure, .. } if is_probed => host.probed(failure, &politeness, now),
            RulesEnd::Unreachable { failure, retry_after_ms, otherwise } => {
                host.rules_tries += 1;
                let since = *host.rules_failing_since.get_or_insert(now);
                // What a server forbids by failing, it forbids for now.
                let patient = otherwise.is_some() && now.since_ms(since) < politeness.rules_patience_ms;
                if failure.is_transient() && (patient || host.rules_tries < politeness.max_tries) {
                    let wait = politeness.retry_after_ms(host.rules_tries, retry_after_ms);
                    host.ready_at = host.ready_at.max(now.plus_ms(wait));
                } else {
                    host.rules = match otherwise {
                        Some(rules) => RulesState::Known { rules, until },
                        None => RulesState::Dead(failure),
                    };
                }
            }
        }
        if let Some(url) = asked
            && let Some(at) = self.hosts.at(self.slot_of(&url))
            && let Some(other) = self.hosts.get_mut(at)
        {
            let rest = rest_ms(&politeness, other.rules_delay_ms(), elapsed_ms);
            other.ready_at = other.ready_at.max(now.plus_ms(rest));
            other.guests = other.guests.saturating_sub(1);
            self.touch(at);
        }
        self.rest(index, now);
    }

    /// The host mirrors another one: what waits for it is dropped, unless it is the other one's own mirror.
    pub fn mark_mirror(&mut self, index: HostIndex, of: &str) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        if host.mirror_of.is_none() {
            host.mirror_of = Some(of.into());
            self.touch(index);
        }
    }

    /// A resolve lease is over.
    pub fn finish_resolve(&mut self, index: HostIndex, address: Result<IpAddr, Failure>, now: UnixMs) {
        self.end_lookup(index, now);
        if self.is_closed(index) {
            return self.abandon(index, false, now);
        }
        match address {
            Ok(address) => {
                self.lease_ended(index);
                let Some(host) = self.hosts.get_mut(index) else {
                    return;
                };
                host.in_flight = host.in_flight.saturating_sub(1);
                host.address = Some(address);
                host.place = Place::Idle;
                self.settle(index, now);
            }
            Err(failure) => {
                let end = RulesEnd::Unreachable { failure, retry_after_ms: None, otherwise: None };
                self.finish_rules(index, end, None, 0, now);
            }
        }
    }

    /// The slot is free again; the host (and its address) rest from now on.
    fn give_back(&mut self, index: HostIndex, address: Option<IpAddr>, elapsed_ms: u64, now: UnixMs) {
        self.lease_ended(index);
        let politeness = &self.options.politeness;
        let Some(host) = self.hosts.get_mut(index) else {
            return;
        };
        host.in_flight = host.in_flight.saturating_sub(1);
        if politeness.ip_delay_ms > 0 {
            if let Some(held) = host.address {
                self.schedule.leave_gate(held, now.plus_ms(politeness.ip_delay_ms + ROUNDING_MS), now);
            }
            if address.is_some() {
                host.address = address;
            }
        }
        if politeness.per_host <= 1 {
            let rest = rest_ms(politeness, host.rules_delay_ms(), elapsed_ms);
            host.ready_at = host.ready_at.max(now.plus_ms(rest));
        }
    }

    fn lease_ended(&mut self, index: HostIndex) {
        self.leased -= 1;
        if let Some(partitions) = &mut self.partitions
            && let Some(host) = self.hosts.get(index)
            && let Some(open) = partitions.get_mut(&host.slot.partition)
        {
            open.leased = open.leased.saturating_sub(1);
            open.ended += 1;
        }
    }

    pub(super) fn rest(&mut self, index: HostIndex, now: UnixMs) {
        self.touch(index);
        if let Some(host) = self.hosts.get_mut(index)
            && host.place == Place::Busy
        {
            host.place = Place::Idle;
        }
        self.settle(index, now);
        if self.options.order.leeway() > 0 && self.lately.len() < MAX_LATELY {
            self.lately.push(index);
        }
    }

    /// The entry leaves the queue with an outcome that stands.
    pub(super) fn end_entry(
        &mut self,
        index: HostIndex,
        entry: Entry,
        outcome: Outcome,
        visit: Option<VisitFacts>,
        now: UnixMs,
    ) -> Done {
        self.touch(index);
        self.ended.push((entry.key, index));
        if entry.revisit {
            self.revisits.pending -= 1;
        } else {
            self.waiting -= 1;
        }
        let slot = self.hosts.get(index).map_or_else(|| self.slot_of(&entry.url), |host| host.slot);
        if let Some(host) = self.hosts.get_mut(index).filter(|_| !entry.revisit) {
            host.waiting = host.waiting.saturating_sub(1);
            self.domains.remove(host.domain, 1);
            let open = self.partitions.as_mut().and_then(|open| open.get_mut(&host.slot.partition));
            if let Some(open) = open {
                open.waiting = open.waiting.saturating_sub(1);
            }
        }
        let revisit = entry.revisit;
        let requisite = lycosa_types::requisite::is_marked(entry.redirects);
        let record = UrlRecord {
            url: entry.url.into_string(),
            state: UrlState::Done,
            depth: entry.depth,
            found_on: entry.found_on,
            found_at: entry.found_at,
            tries: entry.tries,
            outcome: Some(outcome),
            visited_at: Some(now),
            visit,
            requisite,
        };
        Done { slot, key: entry.key, rank: entry.rank, record, signatures: None, revisit, course: None }
    }
}

/// The pause after a request, on a clock that is rounded down.
fn rest_ms(politeness: &Politeness, rules_delay_ms: Option<u64>, elapsed_ms: u64) -> u64 {
    let pause = politeness.pause_ms(rules_delay_ms, elapsed_ms);
    pause + if pause > 0 { ROUNDING_MS } else { 0 }
}
