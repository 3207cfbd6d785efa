//! Placing hosts: in a crawl with regions, a host whose server's address lies in one is crawled in the partitions of that
//! region. Who decides that is the owner of the host's home partition, alone and once: name servers may answer differently
//! elsewhere or later, and a host must not be in two places.
//!
//! ```text
//! a URL of an unknown host ─→ waits, in the state of its home ─→ the host's address is looked up
//!    ─→ the decision is durable in the home's log ─→ what waits goes to where the host is placed, and so does what comes later
//! ```
//!
//! Promises:
//! - Nothing leaves for a region before the decision is durable, so no later owner of the home can decide otherwise.
//! - A URL waits in the state until it is taken in elsewhere, or is on the bus; until then its home is not idle.
//! - A host that cannot be looked up stays at home.
//! - Hosts in memory are bounded; the others wait on disk and are walked to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use foldhash::HashMap;
use lycosa_cluster::{Link, Regions};
use lycosa_frontier::StoreError;
use lycosa_frontier::store::{HostSlot, Placement};
use lycosa_types::{CanonUrl, Failure, HostKey, PartitionId, UnixMs, UrlKey};

use super::Bookkeeper;
use super::locator::{Addresses, Locator};
use super::placements::Placements;
use crate::cluster::note::Note;
use crate::cluster::unplaced;

/// Hosts that are being placed, in memory; the others wait on disk.
const MAX_HOSTS: usize = 1 << 16;
/// Lookups asked for at a time.
const MAX_ASKED: usize = 256;
/// Hosts walked to on disk in one go.
const WALKED_AT_ONCE: usize = 64;
/// URLs that go on in one go.
const MOVED_AT_ONCE: usize = 1024;
/// URLs read at a time.
const STRETCH: usize = 256;
/// URLs that went on and are not committed; beyond, others wait.
const MAX_UNCOMMITTED: usize = 1 << 14;

/// How far a host has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To be looked up, now or after a pause.
    Waiting,
    /// Being looked up.
    Asked,
    /// Decided, with the commit of this number at the latest.
    Placed(Placement, Option<u64>),
}

#[derive(Debug)]
struct Host {
    origin: Box<str>,
    stage: Stage,
    tries: u16,
    /// The commit that has the last URL that came to wait.
    last_url: Option<u64>,
    /// The last URL that went on.
    moved_to: Option<UrlKey>,
}

/// A look through what waits on disk in one partition.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    after: Option<HostKey>,
    /// The commit that was durable when the walk began.
    begun: Option<Option<u64>>,
    /// The commit that has the last URL of a host that had no room in memory.
    needed: Option<u64>,
}

/// Where a host's URLs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Known(Placement),
    /// Nobody knows yet, and it is for this node to find out.
    Undecided,
}

#[derive(Debug)]
pub(super) struct Placing {
    regions: Regions,
    locator: Locator,
    known: Placements,
    hosts: HashMap<HostSlot, Host>,
    per_partition: BTreeMap<PartitionId, usize>,
    to_ask: VecDeque<HostSlot>,
    asked: usize,
    /// Hosts whose lookup is tried again at a time.
    later: BinaryHeap<Reverse<(UnixMs, HostSlot)>>,
    /// Hosts that are placed, by the commit that must be durable before their URLs go on.
    placed: BTreeMap<Option<u64>, Vec<HostSlot>>,
    moving: VecDeque<HostSlot>,
    walks: BTreeMap<PartitionId, Walk>,
    /// The last commit that is durable.
    committed: Option<u64>,
}

impl Placing {
    pub(super) fn new(regions: Regions, locator: Locator) -> Self {
        Self {
            regions,
            locator,
            known: Placements::default(),
            hosts: HashMap::default(),
            per_partition: BTreeMap::new(),
            to_ask: VecDeque::new(),
            asked: 0,
            later: BinaryHeap::new(),
            placed: BTreeMap::new(),
            moving: VecDeque::new(),
            walks: BTreeMap::new(),
            committed: None,
        }
    }

    /// Whether no URL of a partition waits to be placed.
    pub(super) fn is_idle(&self, partition: PartitionId) -> bool {
        !self.walks.contains_key(&partition) && !self.per_partition.contains_key(&partition)
    }

    /// A partition comes: what waits there is looked through.
    pub(super) fn arrived(&mut self, partition: PartitionId) {
        self.gone(partition);
        self.known.forget_homes();
        self.walks.insert(partition, Walk::default());
    }

    /// A partition is not here any more.
    pub(super) fn gone(&mut self, partition: PartitionId) {
        self.walks.remove(&partition);
        if self.per_partition.remove(&partition).is_some() {
            self.hosts.retain(|slot, _| slot.partition != partition);
        }
    }

    /// A commit is durable, except in the partitions that were lost on the way.
    pub(super) fn committed(&mut self, epoch: u64, lost: &BTreeSet<PartitionId>) {
        lost.iter().for_each(|partition| self.gone(*partition));
        self.committed = self.committed.max(Some(epoch));
    }

    /// Another node sent a URL of this host to a region: so it was placed there.
    pub(super) fn learn(&mut self, slot: HostSlot, placement: Placement) {
        self.known.learn(slot, placement);
    }

    /// Where a host is, as far as memory tells.
    fn recall(&self, slot: HostSlot) -> Option<Place> {
        if let Some(placement) = self.known.get(slot) {
            return Some(Place::Known(placement));
        }
        match self.hosts.get(&slot)?.stage {
            // At home nothing is done that the decision is not written with.
            Stage::Placed(placement @ Placement::Home, _) => Some(Place::Known(placement)),
            Stage::Placed(placement, with) if self.committed >= with => Some(Place::Known(placement)),
            _ => Some(Place::Undecided),
        }
    }

    fn track(&mut self, slot: HostSlot, origin: &str, last_url: Option<u64>) -> bool {
        if let Some(host) = self.hosts.get_mut(&slot) {
            host.last_url = host.last_url.max(last_url);
            return true;
        }
        if self.hosts.len() >= MAX_HOSTS {
            return false;
        }
        let host = Host { origin: origin.into(), stage: Stage::Waiting, tries: 0, last_url, moved_to: None };
        self.hosts.insert(slot, host);
        *self.per_partition.entry(slot.partition).or_default() += 1;
        self.to_ask.push_back(slot);
        true
    }

    /// A URL of a host came to wait with the commit of this number.
    fn note_url(&mut self, slot: HostSlot, origin: &str, epoch: u64) {
        if !self.track(slot, origin, Some(epoch)) {
            let walk = self.walks.entry(slot.partition).or_default();
            walk.needed = walk.needed.max(Some(epoch));
        }
    }

    /// Decided: URLs go on once the commit is durable.
    fn place(&mut self, slot: HostSlot, placement: Placement, with: Option<u64>) {
        let Some(host) = self.hosts.get_mut(&slot) else { return };
        host.stage = Stage::Placed(placement, with);
        if placement == Placement::Home {
            self.known.learn(slot, placement);
        }
        self.placed.entry(with.max(host.last_url)).or_default().push(slot);
    }

    /// Where a host was placed, and the commit that must be durable before its URLs go on.
    fn standing(&self, slot: HostSlot) -> Option<(Placement, Option<u64>)> {
        let host = self.hosts.get(&slot)?;
        match host.stage {
            Stage::Placed(placement, with) => Some((placement, with.max(host.last_url))),
            Stage::Waiting | Stage::Asked => None,
        }
    }

    /// Hosts whose decision, and whatever waits for them, is durable may have their URLs moved.
    fn let_move(&mut self) {
        while let Some(entry) = self.placed.first_entry().filter(|entry| *entry.key() <= self.committed) {
            for slot in entry.remove() {
                // What an earlier stay left here says nothing about this one.
                let Some((placement, with)) = self.standing(slot) else { continue };
                if with > self.committed {
                    self.placed.entry(with).or_default().push(slot);
                    continue;
                }
                self.known.learn(slot, placement);
                self.moving.push_back(slot);
            }
        }
    }

    /// The next host whose URLs may go on.
    fn next_to_move(&mut self) -> Option<(HostSlot, Placement)> {
        self.let_move();
        while let Some(&slot) = self.moving.front() {
            match self.standing(slot).filter(|(_, with)| *with <= self.committed) {
                Some((placement, _)) => return Some((slot, placement)),
                None => drop(self.moving.pop_front()),
            }
        }
        None
    }

    /// All URLs of a host have gone on.
    fn done(&mut self, slot: HostSlot) {
        if self.hosts.remove(&slot).is_some()
            && let Some(count) = self.per_partition.get_mut(&slot.partition)
        {
            *count -= 1;
            if *count == 0 {
                self.per_partition.remove(&slot.partition);
            }
        }
    }
}

impl Bookkeeper {
    /// Where the URLs of a host go. Those of homes elsewhere go there, unless it is known better.
    pub(super) fn place_of(&mut self, slot: HostSlot) -> Result<Place, StoreError> {
        let Some(placing) = self.member.as_mut().and_then(|member| member.placing.as_mut()) else {
            return Ok(Place::Known(Placement::Home));
        };
        if let Some(Place::Known(placement)) = placing.recall(slot) {
            return Ok(Place::Known(placement));
        }
        if !self.frontier.takes_in(slot.partition) {
            return Ok(Place::Known(Placement::Home));
        }
        if placing.hosts.contains_key(&slot) {
            return Ok(Place::Undecided);
        }
        let Some(placement) = self.store.placement(slot)? else { return Ok(Place::Undecided) };
        placing.known.learn(slot, placement);
        Ok(Place::Known(placement))
    }

    /// A URL waits for its host to be placed. Its home is open here.
    pub(super) fn await_place(&mut self, slot: HostSlot, key: UrlKey, link: &Link<'_>) {
        let origin = CanonUrl::from_canonical(link.url.to_owned());
        let epoch = self.frontier.epoch();
        if let Some(placing) = self.member.as_mut().and_then(|member| member.placing.as_mut()) {
            placing.note_url(slot, origin.origin(), epoch);
            self.frontier.await_place(slot, key, unplaced::encode(link));
        }
    }

    /// The addresses of a host, or why there are none.
    pub(super) fn take_located(&mut self, slot: HostSlot, addresses: Addresses, now: UnixMs) {
        let politeness = &self.context.config.politeness;
        let Some(placing) = self.member.as_mut().and_then(|member| member.placing.as_mut()) else { return };
        placing.asked = placing.asked.saturating_sub(1);
        let open = self.frontier.takes_in(slot.partition);
        let Some(host) = placing.hosts.get_mut(&slot).filter(|host| open && host.stage == Stage::Asked)
        else {
            return;
        };
        let placement = match addresses {
            Ok(addresses) => {
                let region = addresses.iter().find_map(|address| placing.regions.region_of(*address));
                region.map_or(Placement::Home, Placement::Region)
            }
            Err(Failure::DnsTimeout | Failure::DnsError) if host.tries + 1 < politeness.max_tries => {
                host.tries += 1;
                host.stage = Stage::Waiting;
                let again = now.plus_ms(politeness.retry_after_ms(host.tries, None));
                placing.later.push(Reverse((again, slot)));
                return;
            }
            // Whoever asks for its pages finds out why.
            Err(_) => Placement::Home,
        };
        tracing::debug!(origin = %host.origin, ?placement, "a host is placed");
        placing.place(slot, placement, Some(self.frontier.epoch()));
        self.frontier.place_host(slot, placement);
    }

    /// Does what is due: looks hosts up, and lets URLs go on.
    pub(super) fn tend_places(&mut self, now: UnixMs) -> Result<(), StoreError> {
        if self.member.as_ref().is_none_or(|member| member.placing.is_none()) {
            return Ok(());
        }
        self.walk()?;
        self.look_up(now)?;
        self.move_on(now)
    }

    /// Brings hosts that wait on disk into memory.
    fn walk(&mut self) -> Result<(), StoreError> {
        let Some(placing) = self.member.as_mut().and_then(|member| member.placing.as_mut()) else {
            return Ok(());
        };
        let committed = placing.committed;
        let mut left = WALKED_AT_ONCE;
        for partition in placing.walks.keys().copied().collect::<Vec<_>>() {
            let Some(mut walk) = placing.walks.remove(&partition) else { continue };
            let mut over = false;
            while left > 0 && placing.hosts.len() < MAX_HOSTS && committed >= walk.needed && !over {
                left -= 1;
                let begun = *walk.begun.get_or_insert(committed);
                match self.store.unplaced_host(partition, walk.after)? {
                    Some((slot, what)) => {
                        let link = unplaced::decode(&what).ok_or(StoreError::Damaged("unplaced url"))?;
                        let url = CanonUrl::from_canonical(link.url.to_owned());
                        walk.after = Some(slot.host);
                        placing.track(slot, url.origin(), None);
                    }
                    // What came while it went on may lie behind it.
                    None if begun < walk.needed => walk = Walk { needed: walk.needed, ..Walk::default() },
                    None => over = true,
                }
            }
            if !over {
                placing.walks.insert(partition, walk);
            }
        }
        Ok(())
    }

    fn look_up(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let Some(placing) = self.member.as_mut().and_then(|member| member.placing.as_mut()) else {
            return Ok(());
        };
        while let Some(Reverse((_, slot))) = placing.later.peek().copied().filter(|due| due.0.0 <= now) {
            placing.later.pop();
            placing.to_ask.push_back(slot);
        }
        while placing.asked < MAX_ASKED
            && let Some(slot) = placing.to_ask.pop_front()
        {
            let open = self.frontier.takes_in(slot.partition);
            let Some(host) = placing.hosts.get_mut(&slot).filter(|host| open && host.stage == Stage::Waiting)
            else {
                continue;
            };
            // It may have been placed in an earlier stay.
            match self.store.placement(slot)? {
                Some(placement) => placing.place(slot, placement, None),
                None => {
                    host.stage = Stage::Asked;
                    placing.asked += 1;
                    placing.locator.ask(slot, &host.origin);
                }
            }
        }
        Ok(())
    }

    /// URLs of hosts that were placed go on.
    fn move_on(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let mut left = MOVED_AT_ONCE;
        while left > 0 && self.frontier.unplaced_changes() < MAX_UNCOMMITTED {
            let Some(member) = self.member.as_mut().filter(|member| member.has_room()) else { return Ok(()) };
            let Some(placing) = member.placing.as_mut() else { return Ok(()) };
            let Some((slot, placement)) = placing.next_to_move() else { return Ok(()) };
            if !self.frontier.takes_in(slot.partition) {
                placing.moving.pop_front();
                continue;
            }
            let after = placing.hosts.get(&slot).and_then(|host| host.moved_to);
            let limit = STRETCH.min(left);
            let urls = self.store.unplaced(slot, after, limit)?;
            if let Some(host) = placing.hosts.get_mut(&slot) {
                host.moved_to = urls.last().map(|(key, _)| *key).or(after);
            }
            if urls.len() < limit {
                placing.moving.pop_front();
                placing.done(slot);
            }
            left -= urls.len().min(left);
            for (key, what) in urls {
                let link = unplaced::decode(&what).ok_or(StoreError::Damaged("unplaced url"))?;
                let note = if link.note.is_empty() { Some(Note::default()) } else { Note::decode(link.note) };
                let note = note.ok_or(StoreError::Damaged("unplaced url"))?;
                self.hand_on(slot.partition, placement, key, &link, &note, now)?;
                self.frontier.has_place(slot, key);
            }
        }
        Ok(())
    }

    /// A link goes to where its host was placed: into a partition that is open here, or on its way.
    pub(super) fn hand_on(
        &mut self,
        home: PartitionId,
        placement: Placement,
        key: UrlKey,
        link: &Link<'_>,
        note: &Note,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let Some(member) = &mut self.member else { return Ok(()) };
        let partition = match placement {
            Placement::Home => home,
            Placement::Region(region) => member.partition_in(link.url, region),
        };
        if self.frontier.takes_in(partition) {
            return self.deliver(partition, key, link, note, now);
        }
        member.send_on(partition, link);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
