//! Crossing over: a node that has nothing else to do follows links to partitions of other nodes itself (link mode `cross`).
//!
//! They are taken into a partition that is open here, the same for all URLs of a host as long as the same ones are open; so
//! they are logged, handed over and counted like everything else there. A node that leaves, or has no partition, sends
//! what it has put aside to the owners.

use lycosa_frontier::{Discovered, StoreError};
use lycosa_types::{CanonUrl, HostKey, PartitionId, UnixMs, UrlKey};

use super::{Bookkeeper, Stop};
use crate::cluster::aside::AsideLink;
use crate::cluster::note::Note;
use crate::prospects::Found;

/// Links taken up at a time.
const CROSSED_AT_ONCE: usize = 1000;

impl Bookkeeper {
    /// Takes up what was put aside, if this node has nothing else to do.
    pub(super) fn cross_over(&mut self, leaving: Option<Stop>, now: UnixMs) -> Result<(), StoreError> {
        let counts = self.frontier.counts();
        let idle = counts.waiting == 0 && counts.leased == 0 && self.held.is_empty();
        let Some(member) = &mut self.member else { return Ok(()) };
        let may_commit = member.may_commit();
        let Some(aside) = member.aside.as_mut().filter(|aside| !aside.is_empty()) else { return Ok(()) };
        let homeless = self.frontier.partitions().all(|counts| counts.leaving);
        if leaving.is_some() || (homeless && !member.epochs.is_empty()) {
            if may_commit {
                let links = aside.take(CROSSED_AT_ONCE);
                links.iter().for_each(|link| member.send_aside(link));
            }
            return Ok(());
        }
        if !idle || homeless {
            return Ok(());
        }
        let links = aside.take(CROSSED_AT_ONCE);
        tracing::debug!(links = links.len(), "links put aside are followed here");
        for link in links {
            self.follow_here(&link, now)?;
        }
        Ok(())
    }

    fn follow_here(&mut self, link: &AsideLink, now: UnixMs) -> Result<(), StoreError> {
        let AsideLink { url, depth, redirects, relevance, found_on } = link;
        let host = CanonUrl::from_canonical(url.clone()).host_key();
        let own = self.member.as_mut().map(|member| member.partition_of(url));
        let partition = own.filter(|own| self.frontier.takes_in(*own)).or_else(|| self.stand_in(host));
        let Some(partition) = partition else { return Ok(()) };
        let key = if own == Some(partition) { UrlKey::of(url) } else { UrlKey::crossed(url, partition) };
        let found = Found { depth: *depth, seed: false, relevance: *relevance };
        let signals = self.prospects.signals(url, UrlKey::of(url), found);
        let discovered =
            Discovered { url, key, redirects: *redirects, found_on: *found_on, signals, listed: false };
        let admission = self.frontier.admit_to(partition, discovered, now)?;
        self.count_admission(admission, &discovered)
    }

    /// The open partition that stands in for that of a host elsewhere.
    fn stand_in(&self, host: HostKey) -> Option<PartitionId> {
        let open = self.frontier.partitions().filter(|counts| !counts.leaving);
        open.map(|counts| counts.partition).max_by_key(|partition| mix(host.0 ^ mix(u64::from(partition.0))))
    }
}

/// Spreads a number over all bits.
fn mix(number: u64) -> u64 {
    let spread = (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (spread ^ (spread >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

impl super::Member {
    /// Puts a link aside.
    pub(super) fn put_aside(&mut self, url: &str, depth: u16, note: &Note) {
        let Some(aside) = &mut self.aside else { return };
        let (url_key, url) = (UrlKey::of(url), url.to_owned());
        let Note { redirects, relevance, found_on, .. } = *note;
        aside.put(url_key, &AsideLink { url, depth, redirects, relevance, found_on });
    }

    /// Sends a link that was put aside to its owner.
    fn send_aside(&mut self, link: &AsideLink) {
        let AsideLink { url, depth, redirects, relevance, found_on } = link;
        let partition = self.partition_of(url);
        let note = Note { seed: false, redirects: *redirects, relevance: *relevance, found_on: *found_on };
        self.send(partition, (url, *depth, 0.0), &note);
    }

    /// Whether nothing waits to be followed here.
    pub(super) fn has_crossed(&self) -> bool {
        self.aside.as_ref().is_none_or(crate::cluster::aside::Aside::is_empty)
    }
}
