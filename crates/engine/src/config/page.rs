//! The `[page]` section: how much of one page, sitemap or feed is read.

use lycosa_page::Limits;
use lycosa_page::sitemap::{ListLimits, MAX_ENTRIES, MAX_LOC_BYTES};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageConfig {
    pub max_html_bytes: usize,
    pub max_links: usize,
    pub max_text_bytes: usize,
    pub max_attribute_bytes: usize,
    pub max_arena_bytes: usize,
    pub max_tag_events: usize,
    pub max_custom_tags: usize,
    pub max_headings: usize,
    pub max_title_bytes: usize,
    pub max_meta_items: usize,
    pub max_foreign_depth: usize,
    pub max_list_entries: usize,
    pub max_list_url_bytes: usize,
    pub max_list_bytes: u64,
    pub max_index_levels: u8,
    pub max_left_out: u64,
}

impl Default for PageConfig {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            max_html_bytes: limits.max_html_bytes,
            max_links: limits.max_links,
            max_text_bytes: limits.max_text_bytes,
            max_attribute_bytes: limits.max_attribute_bytes,
            max_arena_bytes: limits.max_arena_bytes,
            max_tag_events: limits.max_tag_events,
            max_custom_tags: limits.max_custom_tags,
            max_headings: limits.max_headings,
            max_title_bytes: limits.max_title_bytes,
            max_meta_items: limits.max_meta_items,
            max_foreign_depth: limits.max_foreign_depth,
            max_list_entries: MAX_ENTRIES,
            max_list_url_bytes: MAX_LOC_BYTES,
            max_list_bytes: 50 << 20,
            max_index_levels: 1,
            max_left_out: 1_000_000,
        }
    }
}

impl PageConfig {
    /// The limits of a scan.
    pub fn limits(&self) -> Limits {
        Limits {
            max_html_bytes: self.max_html_bytes,
            max_links: self.max_links,
            max_text_bytes: self.max_text_bytes,
            max_attribute_bytes: self.max_attribute_bytes,
            max_arena_bytes: self.max_arena_bytes,
            max_tag_events: self.max_tag_events,
            max_custom_tags: self.max_custom_tags,
            max_headings: self.max_headings,
            max_title_bytes: self.max_title_bytes,
            max_meta_items: self.max_meta_items,
            max_foreign_depth: self.max_foreign_depth,
        }
    }

    /// The limits of a sitemap or feed.
    pub fn list_limits(&self) -> ListLimits {
        ListLimits { max_entries: self.max_list_entries, max_loc_bytes: self.max_list_url_bytes }
    }
}
