//! How much of one page is kept.
//!
//! Every list and buffer that a hostile page could blow up has a limit here. Reaching one is not an error: the rest
//! is left out and [`Truncated`] says which limit it was.

/// The limits of one scan; [`Limits::default`] suits the open web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of HTML looked at; what follows is not read.
    pub max_html_bytes: usize,
    /// Links of all kinds.
    pub max_links: usize,
    /// Bytes of visible text.
    pub max_text_bytes: usize,
    /// Bytes of one attribute value as written; a longer link is left out, a longer text is cut.
    pub max_attribute_bytes: usize,
    /// Bytes of all kept attribute values and names together.
    pub max_arena_bytes: usize,
    /// Start and end tags.
    pub max_tag_events: usize,
    /// Distinct names of elements that HTML does not define.
    pub max_custom_tags: usize,
    /// Headings.
    pub max_headings: usize,
    /// Bytes of the title.
    pub max_title_bytes: usize,
    /// JSON-LD blocks, dates and other repeated metadata, each.
    pub max_meta_items: usize,
    /// Nesting of foreign content (SVG, MathML) and of its islands of HTML.
    pub max_foreign_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_html_bytes: 64 << 20,
            max_links: 10_000,
            max_text_bytes: 8 << 20,
            max_attribute_bytes: 8 << 10,
            max_arena_bytes: 16 << 20,
            max_tag_events: 1 << 20,
            max_custom_tags: 1_000,
            max_headings: 2_000,
            max_title_bytes: 4 << 10,
            max_meta_items: 256,
            max_foreign_depth: 64,
        }
    }
}

/// Which limits a page reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Truncated {
    pub html: bool,
    pub links: bool,
    pub text: bool,
    pub attributes: bool,
    pub arena: bool,
    pub tag_events: bool,
    pub custom_tags: bool,
    pub headings: bool,
    pub title: bool,
    pub meta: bool,
}

impl Truncated {
    /// Whether anything at all was left out.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}
