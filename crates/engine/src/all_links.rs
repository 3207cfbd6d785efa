//! All links of an archived page, whatever the limits: for `why`, which asks whether one that was left out is among them.

use std::collections::HashSet;

use lycosa_page::sitemap::{self, ListLimits};
use lycosa_page::{ContentKind, Extract, Limits, Scanner, charset, sniff};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonUrl, UrlRecord};

use crate::reader::{CrawlReader, ReaderError};

impl CrawlReader {
    /// The links of a page or the entries of a list as it was archived, in canonical form.
    pub fn links_without_limits(&self, record: &UrlRecord) -> Result<HashSet<String>, ReaderError> {
        let response = self.archived(record)?.decode()?;
        let content_type = response.header("content-type");
        let decoded = charset::decode(&response.payload, content_type);
        let page = CanonUrl::from_canonical(record.url.clone());
        let mut found = HashSet::new();
        let mut joined = String::new();
        if sniff(content_type, &response.payload) != ContentKind::Html {
            let limits = ListLimits { max_entries: usize::MAX, max_loc_bytes: usize::MAX };
            let entries = sitemap::parse_within(&decoded.text, limits).map(|listing| listing.entries);
            let mut joiner = Joiner::new(&page, &self.config.urls);
            for entry in entries.unwrap_or_default() {
                if joiner.join(&entry.loc, &mut joined).is_ok() {
                    found.insert(joined.clone());
                }
            }
            return Ok(found);
        }
        let limits = Limits {
            max_html_bytes: usize::MAX,
            max_links: usize::MAX,
            max_arena_bytes: usize::MAX,
            ..self.config.page.limits()
        };
        let mut extract = Extract::new();
        Scanner::new(limits).scan(&decoded.text, &mut extract);
        let base = extract.base_href().and_then(|href| {
            Joiner::new(&page, &self.config.urls).join(href, &mut joined).ok()?;
            Some(CanonUrl::from_canonical(joined.clone()))
        });
        let mut joiner = Joiner::new(base.as_ref().unwrap_or(&page), &self.config.urls);
        for link in &extract.links {
            if joiner.join(extract.href(link), &mut joined).is_ok() {
                found.insert(joined.clone());
            }
        }
        Ok(found)
    }
}
