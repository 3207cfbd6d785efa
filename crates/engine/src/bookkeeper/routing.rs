//! Links on their way: those that other nodes sent are taken in, those of other nodes are sent.

use lycosa_cluster::plan::{Route, route};
use lycosa_cluster::{Batch, Link, LinkMode};
use lycosa_frontier::store::{HostSlot, LeftOutRule, Placement};
use lycosa_frontier::{Admission, Discovered, StoreError};
use lycosa_types::{CanonUrl, PartitionId, UnixMs, UrlId, UrlKey, requisite};

use super::Bookkeeper;
use super::placing::Place;
use crate::cluster::note::Note;
use crate::limits::Limit;
use crate::prospects::Found;

impl Bookkeeper {
    /// Links from other nodes, for a partition that is open here.
    pub(super) fn take_links(
        &mut self,
        partition: PartitionId,
        sequence: u64,
        batch: &Batch,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if !self.frontier.takes_in(partition) {
            // Not taken in, so not counted as taken in: whoever has the partition next reads them.
            return Ok(());
        }
        for link in batch.links.iter() {
            let note = if link.note.is_empty() { Some(Note::default()) } else { Note::decode(link.note) };
            let checked = note.and_then(|note| Some((note, self.check_link(partition, link.url)?)));
            let Some((note, (key, unsure))) = checked else {
                if let Some(member) = &mut self.member {
                    member.refused += 1;
                    tracing::debug!(url = link.url, "a link is refused");
                }
                continue;
            };
            let Some(slot) = unsure else {
                self.deliver(partition, key, &link, &note, now)?;
                continue;
            };
            match self.place_of(slot)? {
                Place::Known(placement) => self.hand_on(partition, placement, key, &link, &note, now)?,
                Place::Undecided => self.await_place(slot, key, &link),
            }
        }
        self.take_facts(partition, &batch.facts)?;
        if let Some(member) = &mut self.member {
            member.consumed.insert(partition, sequence);
        }
        Ok(())
    }

    /// Takes a link into a partition that is open here.
    pub(super) fn deliver(
        &mut self,
        partition: PartitionId,
        key: UrlKey,
        link: &Link<'_>,
        note: &Note,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let found = Found { depth: link.depth, seed: note.seed, relevance: note.relevance };
        // What this node found itself is counted where it was found.
        if link.importance > 0.0 && link.backlinks > 0 {
            self.prospects.heard(key, link.importance, link.backlinks);
        }
        let signals = self.prospects.signals(link.url, key, found);
        let (url, redirects, found_on) = (link.url, note.redirects, note.found_on);
        let discovered = Discovered { url, key, redirects, found_on, signals, listed: false };
        let admission = self.frontier.admit_to(partition, discovered, now)?;
        self.count_admission(admission, &discovered)
    }

    /// The key of a link from outside, if it is a URL of this partition; and its host, if that may have been placed elsewhere.
    fn check_link(&mut self, partition: PartitionId, url: &str) -> Option<(UrlKey, Option<HostSlot>)> {
        let canon =
            CanonUrl::parse(url, &self.context.config.urls).ok().filter(|_| url.starts_with("http"))?;
        let member = self.member.as_mut()?;
        let home = member.partition_of(url);
        if let Some(placing) = &mut member.placing {
            let slot = HostSlot { partition: home, host: canon.host_key() };
            let partitioner = member.settings.partitioner;
            return match partitioner.region_of_partition(partition) {
                None => (home == partition).then(|| (UrlKey::of(url), Some(slot))),
                Some(region) => (partitioner.partition_in(&canon, region) == partition).then(|| {
                    placing.learn(slot, Placement::Region(region));
                    (UrlKey::of(url), None)
                }),
            };
        }
        // Where nodes follow links of others, a partition may hold URLs that are not its own.
        match home == partition {
            true => Some((UrlKey::of(url), None)),
            false if member.settings.links == LinkMode::Cross => {
                Some((UrlKey::crossed(url, partition), None))
            }
            false => None,
        }
    }

    /// The partition that a URL found here goes to; none if it waits for its host to be placed.
    fn target_of(
        &mut self,
        (url, key): (&str, UrlKey),
        depth: u16,
        note: &Note,
        importance: f32,
    ) -> Result<Option<PartitionId>, StoreError> {
        let Some(member) = &mut self.member else { return Ok(None) };
        if member.placing.is_none() {
            return Ok(Some(member.partition_of(url)));
        }
        let slot = member.slot_of(url);
        match self.place_of(slot)? {
            Place::Known(Placement::Home) => Ok(Some(slot.partition)),
            Place::Known(Placement::Region(region)) => {
                Ok(self.member.as_mut().map(|member| member.partition_in(url, region)))
            }
            Place::Undecided => {
                let mut bytes = Vec::new();
                note.encode(&mut bytes);
                // No page of another node: the importance counts here already.
                let link = Link { url, depth, backlinks: 0, importance, note: &bytes };
                self.await_place(slot, key, &link);
                Ok(None)
            }
        }
    }

    /// Sends a URL that was found here to its owner. Returns its partition if that is open here: then it is not sent.
    pub(super) fn send_elsewhere(
        &mut self,
        (url, key): (&str, UrlKey),
        found: Found,
        (redirects, found_on): (u8, Option<UrlId>),
        importance: f32,
    ) -> Result<Option<PartitionId>, StoreError> {
        let Found { depth, seed, relevance } = found;
        let note = Note { seed, redirects, relevance, found_on };
        let target = self.target_of((url, key), depth, &note, importance)?;
        let (Some(partition), Some(member)) = (target, self.member.as_mut()) else { return Ok(None) };
        let here = self.frontier.takes_in(partition);
        match route(member.settings.allocation, member.settings.links, here) {
            Route::Local => return Ok(Some(partition)),
            Route::Send => member.send(partition, (url, depth, importance), &note),
            Route::Cross => member.put_aside(url, depth, &note),
            Route::Drop => self.totals.count_rejected("elsewhere"),
        }
        Ok(None)
    }

    /// What became of a URL that was to be taken in.
    pub(super) fn count_admission(
        &mut self,
        admission: Admission,
        found: &Discovered<'_>,
    ) -> Result<(), StoreError> {
        match admission {
            Admission::Queued if requisite::is_marked(found.redirects) => self.totals.requisites_found += 1,
            Admission::Queued => self.totals.accepted += 1,
            // Another link to it may say more about its topic.
            Admission::SeenBefore if found.signals.relevance > 0.0 => {
                self.frontier.raise(found.key.low(), &found.signals)?;
            }
            Admission::SeenBefore | Admission::Elsewhere => {}
            Admission::HostWaiting => {
                self.totals.count_rejected("waiting-budget");
                self.cut_url(Limit::HostWaiting, LeftOutRule::HostWaiting, found.url, found.found_on);
            }
            Admission::DomainWaiting => {
                self.totals.count_rejected("waiting-budget");
                self.cut_url(Limit::DomainWaiting, LeftOutRule::DomainWaiting, found.url, found.found_on);
            }
            Admission::HostListed => {
                self.totals.count_rejected("listed-budget");
                self.cut_url(Limit::HostListed, LeftOutRule::HostListed, found.url, found.found_on);
            }
            Admission::QueryBudget => {
                self.totals.count_rejected("query-budget");
                self.cut_url(Limit::Queries, LeftOutRule::QueryBudget, found.url, found.found_on);
            }
        }
        Ok(())
    }
}
