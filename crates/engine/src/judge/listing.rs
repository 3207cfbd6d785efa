//! Pages that list others: sitemaps and feeds, also packed ones.

use std::io::Read;

use lycosa_frontier::host_queue::Entry;
use lycosa_page::sitemap;

use super::{Judge, Judged, dated};
use crate::outlinks::LinkCollector;

/// Largest sitemap after decompression.
const MAX_SITEMAP_BYTES: u64 = 50 << 20;

impl Judge {
    /// Each entry is a link.
    pub(super) fn read_listing(&mut self, entry: &Entry, text: &str, judged: &mut Judged) {
        let Some(listing) = sitemap::parse(text) else { return };
        let config = &self.context.config;
        let depth = entry.depth.saturating_add(1);
        let scope = self.context.scope();
        let mut links =
            LinkCollector::new(&entry.url, &entry.url, &config.urls, &scope, &mut self.recent, depth);
        for item in &listing.entries {
            links.add(&item.loc, 1, 1, true, false);
        }
        let (outlinks, _, counts) = links.finish();
        judged.outlinks = outlinks;
        judged.counts = counts;
        if config.refresh.continuous {
            judged.news = dated::news(&listing, &config.urls, &config.partitioner(), &self.context.store);
        }
    }
}

pub(super) fn inflate(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(body).take(MAX_SITEMAP_BYTES).read_to_end(&mut out).ok()?;
    Some(out)
}
