//! How much of one page is kept.
//!
//! Every list and buffer that a hostile page could blow up has a limit here. Reaching one is not an error: the rest
//! is left out and [`Truncated`] says which limit it was and how much it left out.

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
            max_links: 250_000,
            max_text_bytes: 8 << 20,
            max_attribute_bytes: 8 << 10,
            max_arena_bytes: 64 << 20,
            max_tag_events: 1 << 20,
            max_custom_tags: 1_000,
            max_headings: 50_000,
            max_title_bytes: 4 << 10,
            max_meta_items: 256,
            max_foreign_depth: 64,
        }
    }
}

/// A limit of one scan, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageLimit {
    Html,
    Links,
    Text,
    Attributes,
    Arena,
    TagEvents,
    CustomTags,
    Headings,
    Title,
    Meta,
    ForeignDepth,
}

impl PageLimit {
    pub const ALL: [Self; 11] = [
        Self::Html,
        Self::Links,
        Self::Text,
        Self::Attributes,
        Self::Arena,
        Self::TagEvents,
        Self::CustomTags,
        Self::Headings,
        Self::Title,
        Self::Meta,
        Self::ForeignDepth,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Links => "links",
            Self::Text => "text",
            Self::Attributes => "attributes",
            Self::Arena => "arena",
            Self::TagEvents => "tag-events",
            Self::CustomTags => "custom-tags",
            Self::Headings => "headings",
            Self::Title => "title",
            Self::Meta => "meta",
            Self::ForeignDepth => "foreign-depth",
        }
    }
}

/// How much each limit left out of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Truncated {
    left_out: [u32; PageLimit::ALL.len()],
}

impl Truncated {
    /// Whether anything at all was left out.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// How many things this limit left out: bytes for [`PageLimit::Html`], 1 for a text or title that was cut.
    pub fn get(&self, limit: PageLimit) -> u32 {
        self.left_out[limit as usize]
    }

    /// The limits that were reached.
    pub fn reached(&self) -> impl Iterator<Item = (PageLimit, u32)> + '_ {
        PageLimit::ALL.into_iter().map(|limit| (limit, self.get(limit))).filter(|(_, count)| *count > 0)
    }

    #[cold]
    pub(crate) fn add(&mut self, limit: PageLimit, count: usize) {
        let sum = &mut self.left_out[limit as usize];
        *sum = sum.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }
}
