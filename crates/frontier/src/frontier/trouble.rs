//! A request that failed: was it the page, its section, the host's pace, or the host?
//!
//! - 429 and 503 are about pace: they cost no try, the host pauses ([`crate::pace`]).
//! - No answer at all counts against the host. After some in a row robots.txt is asked for; a host that does not answer
//!   that either is down.
//! - Everything else counts against the page's section ([`crate::section`]), which waits by itself.
//!
//! The last try of a page comes late: after everything else of its host.

use lycosa_types::{Failure, UnixMs};

use super::{Frontier, PageEnd};
use crate::host::Host;
use crate::host_queue::Entry;
use crate::politeness::Politeness;
use crate::schedule::{Alarm, HostIndex};

/// Entries wait for their next try in memory; beyond, a try that failed stands.
const MAX_DELAYED: usize = 100_000;

impl Frontier {
    /// Takes in that a request failed. Returns when the page is asked for again, if it is.
    pub(super) fn another_try(
        &mut self,
        index: HostIndex,
        entry: &mut Entry,
        failure: Failure,
        end: &PageEnd,
        now: UnixMs,
    ) -> Option<u64> {
        let politeness = &self.options.politeness;
        let room = self.delayed.len() < MAX_DELAYED;
        let host = self.hosts.get_mut(index)?;
        if let Failure::Overloaded { status } = failure {
            host.is_up();
            if host.pace.blames_pages() {
                entry.refused = entry.refused.saturating_add(1);
                entry.late = !entry.revisit;
                let wait = politeness.retry_after_ms(entry.refused, end.retry_after_ms);
                return (entry.refused <= politeness.max_refusals && room).then_some(wait);
            }
            entry.refused = entry.refused.max(1);
            let wait = host.pace.refused(status, end.retry_after_ms, politeness, now);
            host.ready_at = host.ready_at.max(now.plus_ms(wait));
            entry.late |= host.pace.wants_another() && !entry.revisit;
            if host.pace.wants_another() && !host.queue.has_more_than_late() {
                // No other page could be answered; robots.txt can.
                host.is_probed = self.options.obey_robots;
                entry.refused = entry.refused.saturating_add(u16::from(!self.options.obey_robots));
            }
            return (entry.refused <= politeness.max_refusals
                && host.pace.refused_for(politeness.max_refused_ms, now).is_none()
                && room)
                .then_some(wait);
        }
        entry.tries = entry.tries.saturating_add(1);
        let path = entry.url.path();
        if is_no_answer(failure) {
            host.failures_in_row = host.failures_in_row.saturating_add(1);
            if host.failures_in_row == politeness.max_host_failures {
                host.is_probed = self.options.obey_robots;
                // Without robots.txt there is nothing that may be asked for in any case.
                host.probe_failures = if self.options.obey_robots { 0 } else { politeness.max_tries };
            }
        } else {
            host.is_up();
        }
        if failure == Failure::TooSlow {
            host.ready_at = host.ready_at.max(now.plus_ms(politeness.drip_pause_ms(end.elapsed_ms)));
        }
        if failure.is_transient() {
            host.sections.failed(path, entry.late, politeness, now);
        }
        let broken = host.sections.is_bad(path);
        let wait = politeness.retry_after_ms(entry.tries, end.retry_after_ms);
        let again =
            failure.is_transient() && entry.tries < politeness.max_tries && !host.is_down(politeness) && room;
        entry.late |= !entry.revisit && (broken || entry.tries + 1 >= politeness.max_tries);
        again.then_some(wait)
    }

    /// Lets an entry wait for its next try.
    pub(super) fn delay(&mut self, index: HostIndex, entry: Entry, wait_ms: u64, now: UnixMs) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        if !entry.revisit && entry.tries > 0 {
            self.changes.retried.push((host.slot, entry.clone()));
        }
        host.delayed += 1;
        self.delays += 1;
        self.schedule.wake_at(now.plus_ms(wait_ms), Alarm::Delayed(self.delays));
        self.delayed.insert(self.delays, (index, Box::new(entry)));
        self.rest(index, now);
    }

    /// An entry waits again in its host's queue, where it stood before or behind all others.
    pub(super) fn wait_again(&mut self, index: HostIndex, mut entry: Box<Entry>) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        let (key, rank) = (entry.key, entry.rank);
        if entry.revisit {
            host.revisits.insert(rank, entry);
        } else if !entry.late {
            let moves = !super::held::is_requisite(&entry);
            host.queue.put_back(entry);
            self.entries_in_memory += 1;
            if moves {
                self.track(index, key, rank);
            }
        } else {
            let rank = if rank.is_late() { rank } else { rank.late() };
            if rank != entry.rank && host.queue.leaves_to_disk(rank) {
                host.queue.expect(rank);
                let slot = host.slot;
                entry.late = true;
                self.move_on_disk(slot, *entry, rank);
            } else {
                host.queue.stand(rank, entry);
                self.entries_in_memory += 1;
            }
        }
    }
}

impl Host {
    /// It answered, whatever it said.
    pub fn is_up(&mut self) {
        self.failures_in_row = 0;
        self.probe_failures = 0;
        self.is_probed = false;
    }

    /// Whether it answers nothing, not even the request that was to find that out.
    pub fn is_down(&self, politeness: &Politeness) -> bool {
        self.failures_in_row >= politeness.max_host_failures && self.probe_failures >= politeness.max_tries
    }

    /// The request that was to find out whether it is up failed.
    pub(super) fn probed(&mut self, failure: Failure, politeness: &Politeness, now: UnixMs) {
        if failure.status().is_some() {
            return self.is_up();
        }
        self.probe_failures = self.probe_failures.saturating_add(1);
        self.is_probed = self.probe_failures < politeness.max_tries;
        let wait = politeness.retry_after_ms(self.probe_failures, None);
        self.ready_at = self.ready_at.max(now.plus_ms(wait));
    }
}

/// Failures in which the host said nothing at all.
fn is_no_answer(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::DnsNoAddress
            | Failure::DnsTimeout
            | Failure::DnsError
            | Failure::PrivateAddress
            | Failure::ConnectRefused
            | Failure::ConnectTimeout
            | Failure::ConnectError
            | Failure::TlsError
            | Failure::Certificate(_)
            | Failure::FirstByteTimeout
            | Failure::TotalTimeout
    )
}
