//! Pages that list others: sitemaps and feeds, also packed ones.

use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::store::LeftOutRule;
use lycosa_page::sitemap::{self, ListKind};

use super::{Judge, Judged, dated};
use crate::limits::Limit;
use crate::outlinks::LinkCollector;

/// Sitemaps whose level is remembered; beyond, an index within an index is read once more.
const MAX_INDEXED: usize = 1 << 20;

/// How many indexes lie above a sitemap that an index named.
#[derive(Debug, Default)]
pub(crate) struct IndexedLists {
    levels: Mutex<HashMap<u64, u8>>,
}

impl IndexedLists {
    fn level_of(&self, print: u64) -> u8 {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.get(&print).copied().unwrap_or(0)
    }

    fn note(&self, prints: impl Iterator<Item = u64>, level: u8) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        for print in prints {
            if levels.len() >= MAX_INDEXED {
                return;
            }
            levels.entry(print).or_insert(level);
        }
    }
}

impl Judge {
    /// Each entry is a link.
    pub(super) fn read_listing(&mut self, entry: &Entry, text: &str, judged: &mut Judged) {
        let config = &self.context.config;
        let Some(listing) = sitemap::parse_within(text, config.page.list_limits()) else { return };
        let depth = entry.depth.saturating_add(1);
        let scope = self.context.scope();
        let level = self.context.indexed.level_of(entry.key.low());
        let is_index = listing.kind == ListKind::Index;
        let refused = (is_index && level >= config.page.max_index_levels).then_some(LeftOutRule::IndexLevels);
        let mut links =
            LinkCollector::new(&entry.url, &entry.url, &config.urls, &scope, &mut self.recent, depth);
        for item in &listing.entries {
            links.add_with(&item.loc, 1, 1, refused, false, ("", ""));
        }
        let found = links.finish();
        if is_index {
            self.context.indexed.note(found.outlinks.iter().map(|(_, key, _)| key.low()), level + 1);
        }
        judged.outlinks = found.outlinks;
        judged.outlinks.listed = true;
        judged.left_out = found.left_out;
        let cuts = judged.counts.cuts;
        judged.counts = found.counts;
        judged.counts.cuts.join(&cuts);
        if refused.is_some() {
            let nested = std::mem::take(&mut judged.counts.nofollow);
            judged.counts.cuts.add(Limit::IndexLevels, nested);
        }
        let count = |many: u64| u32::try_from(many).unwrap_or(u32::MAX);
        judged.counts.cuts.add(Limit::ListEntries, count(listing.beyond));
        judged.counts.cuts.add(Limit::ListUrlBytes, count(listing.too_long));
        if config.refresh.continuous {
            judged.news = dated::news(&listing, &config.urls, &config.partitioner(), &self.context.store);
        }
    }

    /// The same, from a file that is compressed itself.
    pub(super) fn read_packed_listing(&mut self, entry: &Entry, body: &[u8], judged: &mut Judged) {
        let most = self.context.config.page.max_list_bytes;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let Ok((text, is_cut)) = lycosa_fetch::decode::gunzip(body, most) else { return };
        if is_cut {
            judged.counts.cuts.add(Limit::ListBytes, 1);
        }
        self.read_listing(entry, &String::from_utf8_lossy(&text), judged);
    }
}
