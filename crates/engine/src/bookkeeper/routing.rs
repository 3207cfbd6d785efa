//! Links on their way: those that other nodes sent are taken in, those of other nodes are sent.

use lycosa_cluster::plan::{Route, route};
use lycosa_cluster::{Batch, LinkMode};
use lycosa_frontier::{Admission, Discovered, StoreError};
use lycosa_types::{CanonUrl, PartitionId, UnixMs, UrlId, UrlKey};

use super::Bookkeeper;
use crate::cluster::note::Note;
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
            let Some((note, key)) = note.and_then(|note| Some((note, self.check_link(partition, link.url)?)))
            else {
                if let Some(member) = &mut self.member {
                    member.refused += 1;
                    tracing::debug!(url = link.url, "a link is refused");
                }
                continue;
            };
            let found = Found { depth: link.depth, seed: note.seed, relevance: note.relevance };
            if link.importance > 0.0 {
                self.prospects.heard(key, link.importance, link.backlinks);
            }
            let signals = self.prospects.signals(link.url, key, found);
            let (url, redirects, found_on) = (link.url, note.redirects, note.found_on);
            let discovered = Discovered { url, key, redirects, found_on, signals };
            let admission = self.frontier.admit_to(partition, discovered, now)?;
            self.count_admission(admission, &discovered)?;
        }
        self.take_facts(partition, &batch.facts)?;
        if let Some(member) = &mut self.member {
            member.consumed.insert(partition, sequence);
        }
        Ok(())
    }

    /// The key of a link from outside, if it is a URL of this partition.
    fn check_link(&mut self, partition: PartitionId, url: &str) -> Option<UrlKey> {
        CanonUrl::parse(url, &self.context.config.urls).ok().filter(|_| url.starts_with("http"))?;
        let member = self.member.as_mut()?;
        // Where nodes follow links of others, a partition may hold URLs that are not its own.
        match member.partition_of(url) == partition {
            true => Some(UrlKey::of(url)),
            false if member.settings.links == LinkMode::Cross => Some(UrlKey::crossed(url, partition)),
            false => None,
        }
    }

    /// Sends a URL that was found here to its owner. Returns its partition if that is open here: then it is not sent.
    pub(super) fn send_elsewhere(
        &mut self,
        url: &str,
        found: Found,
        (redirects, found_on): (u8, Option<UrlId>),
        importance: f32,
    ) -> Option<PartitionId> {
        let member = self.member.as_mut()?;
        let partition = member.partition_of(url);
        let here = self.frontier.takes_in(partition);
        match route(member.settings.allocation, member.settings.links, here) {
            Route::Local => return Some(partition),
            Route::Send => {
                let note = Note { seed: found.seed, redirects, relevance: found.relevance, found_on };
                member.send(partition, (url, found.depth, importance), &note);
            }
            Route::Cross => {
                let note = Note { seed: found.seed, redirects, relevance: found.relevance, found_on };
                member.put_aside(url, found, &note);
            }
            Route::Drop => self.totals.count_rejected("elsewhere"),
        }
        None
    }

    /// What became of a URL that was to be taken in.
    pub(super) fn count_admission(
        &mut self,
        admission: Admission,
        found: &Discovered<'_>,
    ) -> Result<(), StoreError> {
        match admission {
            Admission::Queued => self.totals.accepted += 1,
            // Another link to it may say more about its topic.
            Admission::SeenBefore if found.signals.relevance > 0.0 => {
                self.frontier.raise(found.key.low(), &found.signals)?;
            }
            Admission::SeenBefore | Admission::Elsewhere => {}
            Admission::QueryBudget => self.totals.count_rejected("query-budget"),
        }
        Ok(())
    }
}
