//! What one scan yields: buffers that are filled anew for each page and keep their memory.

use super::attributes::walk;
use super::byte_class::{NAME_END, find};
use super::limits::Truncated;
use super::links::{LinkKind, LinkRef};
use super::meta::Meta;
use super::span::Span;
use super::tags::TagId;

/// Everything a page says. Text lies in two buffers, [`text`](Self::text) for what a reader sees and
/// [`arena`](Self::arena) for titles, addresses and metadata; the rest refers to them by [`Span`].
#[derive(Debug, Clone, Default)]
pub struct Extract {
    /// Visible text: white space collapsed, references decoded, each block on a line of its own.
    pub text: String,
    /// Decoded attribute values and names.
    pub arena: String,
    /// The first `<title>` (arena).
    pub title: Span,
    /// Language of the page: `<html lang>`, else `content-language` (arena).
    pub lang: Span,
    /// The first `<base href>` (arena).
    pub base: Option<Span>,
    /// The first `<link rel=canonical href>` (arena).
    pub canonical: Option<Span>,
    pub meta: Meta,
    /// Links of all kinds in the order of the source.
    pub links: Vec<LinkRef>,
    pub headings: Vec<Heading>,
    /// Start and end tags in the order of the source.
    pub events: Vec<TagEvent>,
    /// Names of custom elements (arena), the first being number [`TagId::FIRST_CUSTOM`].
    pub custom_tags: Vec<Span>,
    /// Bodies of JSON-LD scripts, as spans of the scanned source.
    pub json_ld: Vec<Span>,
    /// `<time datetime>` values (arena).
    pub times: Vec<Span>,
    pub truncated: Truncated,
}

/// A heading and its words (text).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    pub level: u8,
    pub text: Span,
}

/// What a tag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TagKind {
    Start,
    /// A start tag with `/>`, which means something in SVG and MathML only.
    StartSelfClosing,
    End,
}

/// One tag. The visible text between two tags is the text between their `text_at`; it may begin with the separator
/// (blank or line end) that stands in front of its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagEvent {
    /// Length of the visible text when the tag was met.
    pub text_at: u32,
    /// Where the tag's `<` stands in the scanned source.
    pub source_at: u32,
    pub tag: TagId,
    pub kind: TagKind,
}

impl TagEvent {
    /// The value, as written in `source`, of the tag's first attribute called `name` (in lower case). For stages that
    /// ask a few tags about `class`, `id` or `role`, which the scan itself has no use for.
    pub fn attribute<'s>(&self, source: &'s str, name: &str) -> Option<&'s str> {
        let bytes = source.as_bytes();
        let name_at = self.source_at as usize + if self.kind == TagKind::End { 2 } else { 1 };
        let mut found = None;
        walk(bytes, find(bytes, name_at, NAME_END), |attribute, value| {
            if found.is_none() && attribute.written.eq_ignore_ascii_case(name.as_bytes()) {
                found = source.get(value);
            }
        });
        found
    }
}

impl TagEvent {
    /// Calls `found` with each attribute's name, as written but in small letters, and its value as written. Names of
    /// more than 24 bytes are left out.
    pub fn for_each_attribute(&self, source: &str, mut found: impl FnMut(&[u8], &str)) {
        let bytes = source.as_bytes();
        let name_at = self.source_at as usize + if self.kind == TagKind::End { 2 } else { 1 };
        walk(bytes, find(bytes, name_at, NAME_END), |attribute, value| {
            let mut small = [0u8; 24];
            if let Some(name) = small.get_mut(..attribute.written.len()) {
                name.copy_from_slice(attribute.written);
                name.make_ascii_lowercase();
                found(name, source.get(value).unwrap_or(""));
            }
        });
    }
}

impl Extract {
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the page, keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.arena.clear();
        self.title = Span::default();
        self.lang = Span::default();
        self.base = None;
        self.canonical = None;
        self.meta.clear();
        self.links.clear();
        self.headings.clear();
        self.events.clear();
        self.custom_tags.clear();
        self.json_ld.clear();
        self.times.clear();
        self.truncated = Truncated::default();
    }

    pub fn title(&self) -> &str {
        self.title.of(&self.arena)
    }

    /// As the page states it, for instance `en` or `pt-BR`; empty when it does not.
    pub fn lang(&self) -> &str {
        self.lang.of(&self.arena)
    }

    pub fn base_href(&self) -> Option<&str> {
        self.base.map(|s| s.of(&self.arena))
    }

    pub fn canonical_href(&self) -> Option<&str> {
        self.canonical.map(|s| s.of(&self.arena))
    }

    pub fn href(&self, link: &LinkRef) -> &str {
        link.href.of(&self.arena)
    }

    /// The words of a link: its visible text, else the label.
    pub fn anchor(&self, link: &LinkRef) -> &str {
        if link.anchor.is_empty() { link.label.of(&self.arena) } else { link.anchor.of(&self.text) }
    }

    /// The text on either side of a link, up to `bytes` each, its anchor included.
    pub fn around(&self, link: &LinkRef, bytes: usize) -> &str {
        let (start, end) = (link.anchor.start as usize, link.anchor.end as usize);
        let at = |wanted: usize| {
            let wanted = wanted.min(self.text.len());
            (0..=wanted).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
        };
        self.text.get(at(start.saturating_sub(bytes))..at(end.saturating_add(bytes))).unwrap_or_default()
    }

    /// Links a reader can follow: anchors, areas and frames, refresh included.
    pub fn navigation(&self) -> impl Iterator<Item = &LinkRef> {
        self.links.iter().filter(|l| {
            matches!(l.kind, LinkKind::Anchor | LinkKind::Area | LinkKind::Frame | LinkKind::Refresh)
        })
    }

    /// The start tags in order.
    pub fn start_tags(&self) -> impl Iterator<Item = TagId> {
        self.events.iter().filter(|e| e.kind != TagKind::End).map(|e| e.tag)
    }

    /// The name of a tag of this page, in lower case; `?` for custom names beyond the limit.
    pub fn tag_name(&self, tag: TagId) -> &str {
        if let Some(name) = tag.known_name() {
            return name;
        }
        let custom = tag.0.checked_sub(TagId::FIRST_CUSTOM).and_then(|i| self.custom_tags.get(i as usize));
        custom.map_or("?", |s| s.of(&self.arena))
    }
}
