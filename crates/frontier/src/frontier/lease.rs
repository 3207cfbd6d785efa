//! Leasing: which request goes out now.

use lycosa_types::{Exclusion, Failure, Outcome, UnixMs, UrlKey};

use super::domains::{is_endless, path_key};
use super::held::is_requisite;
use super::{Done, Frontier, Lease, LeaseKind};
use crate::host::{Place, RulesState};
use crate::host_queue::{Entry, FIRST_STRETCH};
use crate::order::{Lists, Rank};
use crate::schedule::{Alarm, HostIndex};
use crate::store::{Moved, StoreError};

/// Entries read from disk at a time; the fewer the more hosts share the memory for entries.
const RELOAD_ENTRIES: std::ops::RangeInclusive<usize> = FIRST_STRETCH as usize..=1024;
/// A host that is asked again and again may read up to this part of the room there is.
const STRETCH_SHARE: usize = 64;
/// Entries read from disk at a time for a list of the pvalue order that is not in memory.
const LIST_ENTRIES: usize = 64;
/// Entries dropped by rules in one go before others get their turn.
const MAX_DROPS: usize = 256;
/// Entries dropped before a lease ends without one, so that what was dropped can be committed.
const MAX_DROPS_PER_LEASE: usize = 4096;

/// What serving a host led to.
enum Served {
    Lease(LeaseKind),
    /// Nothing to ask now; the host goes back where it belongs.
    Nothing,
    /// Something under way must end first; its end brings the host back.
    Blocked,
    /// Only pages wait there, and none may be asked for now.
    Held,
}

impl Frontier {
    /// The next request, if any host may be asked now. URLs that turn out to be forbidden on the way are pushed to
    /// `dropped`, finished.
    pub fn lease(&mut self, now: UnixMs, dropped: &mut Vec<Done>) -> Result<Option<Lease>, StoreError> {
        self.ring_alarms(now);
        self.tend_lookups(now);
        self.find_revisits(now)?;
        self.bring_in(now)?;
        self.cut_short = false;
        let enough = dropped.len().saturating_add(MAX_DROPS_PER_LEASE);
        while let Some(index) = self.next_ready() {
            let Some(host) = self.hosts.get_mut(index) else {
                continue;
            };
            if let Some(partitions) = &mut self.partitions {
                match partitions.get_mut(&host.slot.partition) {
                    Some(open) if open.leasing => {}
                    Some(open) => {
                        host.place = Place::Paused;
                        open.paused.push(index);
                        continue;
                    }
                    None => continue,
                }
            }
            host.place = Place::Busy;
            if host.ready_at > now {
                // Made to wait while it stood among the ready.
                host.place = Place::Idle;
                self.settle(index, now);
                continue;
            }
            let gate = if self.options.politeness.ip_delay_ms > 0 { host.address } else { None };
            if let Some(address) = gate
                && !self.schedule.enter_gate(address, index, now)
            {
                host.place = Place::AtGate;
                continue;
            }
            match self.serve(index, now, dropped)? {
                Served::Lease(kind) => return Ok(self.hand_out(index, kind, now)),
                nothing => {
                    if let Some(address) = gate {
                        self.schedule.leave_gate(address, now, now);
                    }
                    match nothing {
                        Served::Nothing => self.settle(index, now),
                        Served::Held => self.hold(index),
                        _ => {}
                    }
                    if dropped.len() >= enough {
                        self.cut_short = true;
                        return Ok(None);
                    }
                }
            }
        }
        Ok(None)
    }

    /// The ready host with the best rank; or, where the order leaves it a choice, the one asked last among those that are
    /// nearly as good. Its connection and its rows in the store are still at hand.
    fn next_ready(&mut self) -> Option<HostIndex> {
        loop {
            let (rank, index) = self.schedule.peek_ready()?;
            if !self.stands_ready(index, Some(rank)) {
                // A host whose queue improved stands among the ready twice, and so does one that was served ahead of its rank.
                self.schedule.pop_ready();
                continue;
            }
            let worst = rank.priority.saturating_add(self.options.order.leeway());
            while let Some(lately) = self.lately.pop() {
                let nearly = self.hosts.get(lately).is_some_and(|host| host.ready_rank.priority <= worst);
                if nearly && self.stands_ready(lately, None) {
                    return Some(lately);
                }
            }
            self.schedule.pop_ready();
            return Some(index);
        }
    }

    /// Whether a host is among the ready, and with this rank.
    fn stands_ready(&self, index: HostIndex, rank: Option<Rank>) -> bool {
        let host = self.hosts.get(index);
        host.is_some_and(|host| host.place == Place::Ready && rank.is_none_or(|rank| rank == host.ready_rank))
    }

    fn ring_alarms(&mut self, now: UnixMs) {
        while let Some(alarm) = self.schedule.due(now) {
            match alarm {
                Alarm::Host(index) => {
                    if let Some(host) = self.hosts.get_mut(index)
                        && host.place == Place::Waiting
                    {
                        host.place = Place::Idle;
                        self.settle(index, now);
                    }
                }
                Alarm::Gate(address) => {
                    while let Some(index) = self.schedule.next_at_gate(address, now) {
                        // Its partition may be gone.
                        let Some(host) = self.hosts.get_mut(index) else { continue };
                        host.place = Place::Ready;
                        host.ready_rank = host.best_rank(self.options.order);
                        self.schedule.push_ready(host.ready_rank, index);
                        break;
                    }
                }
                Alarm::Delayed(number) => {
                    if let Some((index, entry)) = self.delayed.remove(&number)
                        && let Some(host) = self.hosts.get_mut(index)
                    {
                        self.in_flight.remove(&entry.key);
                        host.delayed = host.delayed.saturating_sub(1);
                        self.wait_again(index, entry);
                        self.settle(index, now);
                    }
                }
            }
        }
    }

    /// Finds out what a host that may be asked should be asked.
    fn serve(
        &mut self,
        index: HostIndex,
        now: UnixMs,
        dropped: &mut Vec<Done>,
    ) -> Result<Served, StoreError> {
        for _ in 0..MAX_DROPS {
            self.reload(index)?;
            self.load_rules(index)?;
            let Some(host) = self.hosts.get_mut(index) else {
                return Ok(Served::Nothing);
            };
            if host.ready_at > now {
                // Its rules ask for a longer rest than was known before they were read.
                return Ok(Served::Nothing);
            }
            if host.queue.best().is_none() && host.revisits.is_empty() {
                return Ok(Served::Nothing);
            }
            if self.held.on && !self.has_requisite(index) {
                return Ok(Served::Held);
            }
            let Some(host) = self.hosts.get(index) else {
                return Ok(Served::Nothing);
            };
            let politeness = &self.options.politeness;
            let needs_address = politeness.ip_delay_ms > 0 && host.address.is_none();
            let needs_rules = match &host.rules {
                RulesState::Unknown => self.options.obey_robots,
                // A file that a wrong clock dated is asked for again.
                RulesState::Known { until, .. } => {
                    let longest = now.plus_ms(politeness.rules_ttl_ms);
                    self.options.obey_robots && (*until <= now || *until > longest || host.is_probed)
                }
                RulesState::Dead(_) => false,
            };
            // One question at a time: the address, then the rules, then pages.
            let dead = matches!(host.rules, RulesState::Dead(_));
            if !dead && (needs_address || needs_rules) {
                if host.in_flight > 0 {
                    return Ok(Served::Blocked);
                }
                if needs_address {
                    if !self.begin_lookup(index) {
                        return Ok(Served::Blocked);
                    }
                    return Ok(Served::Lease(LeaseKind::Resolve));
                }
                return self.serve_rules(index, now);
            }
            let next = if self.held.on { self.take_requisite(index) } else { self.take_next(index)? };
            let Some(entry) = next else {
                return Ok(Served::Nothing);
            };
            let politeness = &self.options.politeness;
            let Some(host) = self.hosts.get(index) else {
                return Ok(Served::Nothing);
            };
            let path = entry.url.path();
            if !entry.late && !entry.revisit && host.sections.waits_until(path, now).is_some() {
                self.wait_again(index, Box::new(Entry { late: true, ..*entry }));
                continue;
            }
            if entry.late
                && let Some(until) = host.sections.waits_until(path, now)
            {
                // Nothing else waits for the host.
                self.wait_again(index, entry);
                if let Some(host) = self.hosts.get_mut(index) {
                    host.ready_at = until;
                }
                return Ok(Served::Nothing);
            }
            let limit = politeness.max_pages_per_host;
            let guesses = self.options.guesses;
            let refusal = match &host.rules {
                RulesState::Dead(Failure::RefusedPort { port }) => {
                    Some(Outcome::Excluded(Exclusion::Port { port: *port }))
                }
                RulesState::Dead(failure) => Some(Outcome::Failed(*failure)),
                _ if limit > 0 && host.fetched >= limit && !entry.revisit && !is_requisite(&entry) => {
                    Some(Outcome::Excluded(Exclusion::HostBudget { pages: limit }))
                }
                _ if guesses && let Some(of) = &host.mirror_of => {
                    Some(Outcome::Excluded(Exclusion::Mirror { of: of.to_string() }))
                }
                _ if let Some(status) = host.pace.refused_for(politeness.max_refused_ms, now) => {
                    Some(Outcome::Failed(Failure::Overloaded { status }))
                }
                _ if guesses && host.is_down(politeness) => {
                    Some(Outcome::Excluded(Exclusion::HostErrors { failures: host.failures_in_row }))
                }
                _ if guesses
                    && self.options.raise_queries
                    && !entry.revisit
                    && entry.url.query().is_some()
                    && let Some(pages) = is_endless(
                        host.queries.get(&path_key(entry.url.path())),
                        self.options.max_queries_per_path,
                    ) =>
                {
                    Some(Outcome::Excluded(Exclusion::Endless { pages }))
                }
                RulesState::Known { rules, .. } => {
                    rules.check(entry.url.path_and_query()).err().map(Outcome::Excluded)
                }
                RulesState::Unknown => None,
            };
            match refusal {
                None => return Ok(Served::Lease(LeaseKind::Page(entry))),
                Some(outcome) => dropped.push(self.drop_entry(index, *entry, outcome, now)),
            }
        }
        Ok(Served::Nothing)
    }

    /// Robots.txt may have moved to another host: then that host must be free too, and rests afterwards.
    fn serve_rules(&mut self, index: HostIndex, now: UnixMs) -> Result<Served, StoreError> {
        let Some(host) = self.hosts.get(index) else { return Ok(Served::Nothing) };
        let (moved_to, redirects) = (host.rules_moved_to.clone(), host.rules_redirects);
        let pause = self.options.politeness.pause_ms(None, 0);
        // The pace of a host that another node has is not known here.
        let here = moved_to.as_ref().map(|url| (self.slot_of(url), url));
        let here = here.filter(|(slot, _)| self.takes_in(slot.partition));
        let other_at = here.map(|(slot, url)| self.host_at(slot, url)).transpose()?;
        if let Some(other_at) = other_at
            && let Some(other) = self.hosts.get_mut(other_at)
        {
            if other_at != index {
                if other.in_flight > 0 || other.ready_at > now {
                    let again = other.ready_at.max(now.plus_ms(pause.max(1)));
                    if let Some(host) = self.hosts.get_mut(index) {
                        host.ready_at = again;
                    }
                    return Ok(Served::Nothing);
                }
                // It is asked now, and the answer takes time: leave room for both.
                other.ready_at = now.plus_ms(pause.saturating_mul(2));
            }
            other.guests += 1;
            self.touch(other_at);
        }
        Ok(Served::Lease(LeaseKind::Rules { moved_to, redirects }))
    }

    /// Looks up the rules of a host that came from the store, when it is first asked.
    fn load_rules(&mut self, index: HostIndex) -> Result<(), StoreError> {
        let Some(host) = self.hosts.get_mut(index).filter(|host| host.rules_on_disk) else { return Ok(()) };
        host.rules_on_disk = false;
        if let Some(record) = self.store.rules(host.slot)? {
            let until = record.fetched_at.plus_ms(self.options.politeness.rules_ttl_ms);
            host.rules = RulesState::Known { rules: (self.read_rules)(&host.origin, &record), until };
            self.let_rest(index);
        }
        Ok(())
    }

    fn drop_entry(&mut self, index: HostIndex, entry: Entry, outcome: Outcome, now: UnixMs) -> Done {
        self.in_flight.insert(entry.key, index);
        self.end_entry(index, entry, outcome, None, now)
    }

    /// The entry whose turn it is, taken out of the queue.
    fn take_next(&mut self, index: HostIndex) -> Result<Option<Box<Entry>>, StoreError> {
        if let Some(entry) = self.take_revisit(index) {
            return Ok(Some(entry));
        }
        let from = self.lists.as_mut().map(Lists::next_start);
        if let Some(from) = from
            && let Some(host) = self.hosts.get(index)
            && host.queue.has_spilled()
            && !host.queue.reaches(from)
        {
            self.reload_from(index, from, LIST_ENTRIES)?;
        }
        let Some(host) = self.hosts.get_mut(index) else { return Ok(None) };
        let entry = match from {
            // A page of another kind may be answered.
            _ if host.pace.wants_another() => host.queue.pop_last().or_else(|| host.queue.pop()),
            Some(from) => host.queue.pop_from(from).or_else(|| host.queue.pop()),
            None => host.queue.pop(),
        };
        if let Some(entry) = &entry {
            self.entries_in_memory -= 1;
            self.untrack(entry);
        }
        Ok(entry)
    }

    /// Brings the next stretch of a host's queue into memory if there is none.
    fn reload(&mut self, index: HostIndex) -> Result<(), StoreError> {
        let wanted = self.hosts.get(index).and_then(|host| host.queue.wants_reload());
        if let Some(from) = wanted {
            let room = self.options.max_entries_in_memory.saturating_sub(self.entries_in_memory);
            let share = room / (self.hosts.len() / 8 + 1);
            let stretch = self.hosts.get(index).map_or(0, |host| host.queue.stretch());
            let limit = share.max(stretch.min(room / STRETCH_SHARE));
            let limit = limit.clamp(*RELOAD_ENTRIES.start(), *RELOAD_ENTRIES.end());
            let (entries, beyond) = self.read_waiting(index, from, limit)?;
            self.track_all(index, &entries);
            if let Some(host) = self.hosts.get_mut(index) {
                self.entries_in_memory += host.queue.reload(entries.into_iter().map(Box::new), beyond);
            }
            self.make_room_for_entries(index, limit);
        }
        Ok(())
    }

    /// Brings some entries from `from` on into memory, leaving the line where it is.
    fn reload_from(&mut self, index: HostIndex, from: Rank, limit: usize) -> Result<(), StoreError> {
        let (entries, _) = self.read_waiting(index, from, limit)?;
        self.track_all(index, &entries);
        if let Some(host) = self.hosts.get_mut(index) {
            let before = host.queue.in_memory();
            entries.into_iter().for_each(|entry| host.queue.put_back(Box::new(entry)));
            self.entries_in_memory += host.queue.in_memory() - before;
        }
        Ok(())
    }

    /// What waits for a host in rows from `from` on, on disk and on the way there; and the last row, if it is not that of
    /// the queue. Bundles among them are parted.
    fn read_waiting(
        &mut self,
        index: HostIndex,
        from: Rank,
        limit: usize,
    ) -> Result<(Vec<Entry>, Option<Rank>), StoreError> {
        let Some(host) = self.hosts.get(index) else { return Ok((Vec::new(), None)) };
        let slot = host.slot;
        let stretch = self.store.waiting(slot, from, limit)?;
        let beyond = stretch.read_to;
        let is_within = |row: Rank| row >= from && beyond.is_none_or(|end| row <= end);
        self.part(slot, &stretch.entries)?;
        self.part_uncommitted(slot, is_within)?;
        let Some(host) = self.hosts.get(index) else { return Ok((Vec::new(), None)) };
        let changes = self.uncommitted.iter().map(|(changes, _)| &**changes).chain([&self.changes]);
        let stands = |key: UrlKey, rank: Rank| {
            !self.in_flight.contains_key(&key)
                && self.moving.get(&key).is_none_or(|at| *at == rank)
                && !self.stands_elsewhere(host, key, rank)
        };
        let mut entries: Vec<Entry> = stretch.entries.into_iter().map(|lying| lying.entry).collect();
        entries.retain(|entry| stands(entry.key, entry.rank));
        // What is not on disk yet, up to where the stretch from disk ends.
        for changes in changes {
            for entry in changes.queued.of(slot) {
                if is_within(entry.row) && stands(entry.key, entry.rank) {
                    entries.push(entry.decode()?);
                }
            }
            let moved = changes.moved_hosts.contains(&slot).then(|| changes.moved.values());
            for Moved { entry, .. } in moved.into_iter().flatten().filter(|moved| moved.slot == slot) {
                if is_within(entry.rank) && stands(entry.key, entry.rank) {
                    entries.push(entry.clone());
                }
            }
        }
        Ok((entries, beyond))
    }

    fn hand_out(&mut self, index: HostIndex, kind: LeaseKind, now: UnixMs) -> Option<Lease> {
        if let LeaseKind::Page(entry) = &kind {
            self.in_flight.insert(entry.key, index);
        }
        self.leased += 1;
        let politeness = &self.options.politeness;
        let host = self.hosts.get_mut(index)?;
        let open = self.partitions.as_mut().and_then(|open| open.get_mut(&host.slot.partition));
        let epoch = open.map_or(0, |open| {
            open.leased += 1;
            open.epoch
        });
        host.in_flight += 1;
        host.asked = true;
        let interval = host.pace.interval_ms();
        if interval > 0 && matches!(kind, LeaseKind::Page(_)) {
            // From start to start; what a timer came too late is made up for, as far as it is little.
            let from = host.ready_at.max(UnixMs(now.0.saturating_sub(interval / 4)));
            host.ready_at = from.plus_ms(interval);
        }
        if politeness.per_host > 1 {
            // Several at a time: the pause runs from start to start.
            let pause = politeness.pause_ms(host.rules_delay_ms(), 0);
            host.ready_at = host.ready_at.max(now.plus_ms(pause));
        }
        let lease = Lease { host: index, slot: host.slot, origin: host.origin.clone(), kind, epoch };
        self.settle(index, now);
        Some(lease)
    }
}
