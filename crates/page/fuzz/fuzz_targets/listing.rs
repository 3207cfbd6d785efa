//! Any text as a sitemap, feed or list of directives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_page::{RobotsDirectives, sitemap};

fuzz_target!(|text: &str| {
    if let Some(listing) = sitemap::parse(text) {
        assert!(listing.entries.len() <= sitemap::MAX_ENTRIES);
        assert!(listing.entries.iter().all(|e| !e.loc.is_empty() && e.loc.len() <= sitemap::MAX_LOC_BYTES));
    }
    let mut directives = RobotsDirectives::default();
    directives.merge_meta(text);
    directives.merge_header(text, "lycosa");
});
