//! Everything about a visit that later visits are compared with, without the old body.
//!
//! [`Judger`] makes a [`Signatures`] from a scanned page in a few tens of microseconds and keeps its buffers. The record
//! is bounded ([`MAX_LINES`], [`SKETCH_SIZE`], [`crate::structure::KEPT_TAGS`], [`crate::level_order::KEPT_LEVELS`]): a
//! few kilobytes at most, whatever the page. Digests cover everything, kept or not.

use super::banners::{self, PlainTags};
use super::extract::Extract;
use super::level_order::{self, LevelMark, LevelTable};
use super::line_store::{Core, Lines};
use super::link_prints;
use super::noise::{LineMark, LineMarker, flag};
use super::selector::PageRules;
use super::structure::{self, KEPT_TAGS, TagStrings};
use super::surroundings::{self, Inside, NamedTags};
use super::text_code::TextCode;
use super::tree::Tree;
use super::winnow::{WinnowConfig, Winnower};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the record, its first byte in storage: records of another version cannot be compared.
pub const SIGNATURES_VERSION: u8 = 4;
/// Lines whose marks are kept: the first and the last half of this number; those between are summed up.
pub const MAX_LINES: usize = 1024;
/// Smallest minutiae that are kept to tell how much changed.
pub const SKETCH_SIZE: usize = 256;

/// What is kept of a visit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signatures {
    pub version: u8,
    /// Digest of the page's source.
    pub body: u64,
    /// Start tags.
    pub tags: u32,
    /// Structure I: digest of both strings, and their first characters.
    pub tag_strings: u64,
    pub first: String,
    pub last: String,
    /// Structure II: sizes and shapes of the levels.
    pub levels: Vec<LevelMark>,
    /// Digest of names and depths of all elements.
    pub structure: u64,
    /// The same without advertisements.
    pub quiet_structure: u64,
    /// Text I and II.
    pub text_code: TextCode,
    /// Digest of the visible text.
    pub text: u64,
    /// Digest of the main content, where it was extracted: of its lines, numbers that come and go left out.
    pub main: Option<u64>,
    pub title: Lines,
    pub lines: Lines,
    /// Addresses the page links to, in any order, without fragments and tokens.
    pub links: u64,
    /// Addresses and labels of its images, likewise.
    pub images: u64,
    /// The smallest minutiae (upper halves), sorted.
    #[serde(with = "super::packed_sketch")]
    pub sketch: Vec<u32>,
}

/// Why a record cannot be compared with. To the judge, the page has no earlier visit then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error(
        "signatures of version {found} cannot be compared with version {SIGNATURES_VERSION}: judge the page anew"
    )]
    OtherVersion { found: u8 },
    #[error("signatures are damaged: judge the page anew")]
    Damaged,
}

impl Signatures {
    /// Whether a stored record that begins with this byte is of this version: asked before the rest is decoded, since
    /// another version may lay out its fields in another way.
    pub fn check_first_byte(first: Option<&u8>) -> Result<(), Incomparable> {
        match first {
            Some(&SIGNATURES_VERSION) => Ok(()),
            Some(&found) => Err(Incomparable::OtherVersion { found }),
            None => Err(Incomparable::Damaged),
        }
    }

    /// Whether these signatures can be compared with those that [`Judger`] makes.
    pub fn check(&self) -> Result<(), Incomparable> {
        Self::check_first_byte(Some(&self.version))
    }
}

/// Makes signatures, keeping its buffers from page to page.
#[derive(Debug, Clone)]
pub struct Judger {
    tree: Tree,
    strings: TagStrings,
    winnower: Winnower,
    minutiae: Vec<u64>,
    /// A word for each element of the page.
    bytes: Vec<u8>,
    /// Those of them that do not stand in a banner or around the content.
    rest: Vec<u8>,
    plain_tags: PlainTags,
    banner_text: Vec<(u32, u32)>,
    banner_nodes: Vec<(u32, u32)>,
    named_tags: NamedTags,
    around_text: Vec<(u32, u32)>,
    around_nodes: Vec<(u32, u32)>,
    line_marker: LineMarker,
    marks: Vec<LineMark>,
    visited_at: u64,
    rules: Option<PageRules>,
}

impl Default for Judger {
    fn default() -> Self {
        Self::new(WinnowConfig::default())
    }
}

impl Judger {
    pub fn new(config: WinnowConfig) -> Self {
        Self {
            tree: Tree::default(),
            strings: TagStrings::default(),
            winnower: Winnower::new(config),
            minutiae: Vec::new(),
            bytes: Vec::new(),
            rest: Vec::new(),
            plain_tags: PlainTags::default(),
            banner_text: Vec::new(),
            banner_nodes: Vec::new(),
            named_tags: NamedTags::default(),
            around_text: Vec::new(),
            around_nodes: Vec::new(),
            line_marker: LineMarker::default(),
            marks: Vec::new(),
            visited_at: 0,
            rules: None,
        }
    }

    /// The pages signed from now on were visited at this time, in milliseconds since 1970. It tells clocks from other
    /// times: a clock goes on as time does.
    pub fn visited_at(&mut self, at: u64) {
        self.visited_at = at;
    }

    /// What the user says about the pages signed from now on.
    pub fn rules(&mut self, rules: Option<PageRules>) {
        self.rules = rules;
    }

    /// The signatures of `page`, which was scanned from `source`; `main` is its main content, if extracted.
    pub fn sign(&mut self, source: &str, page: &Extract, main: Option<&str>) -> Signatures {
        self.sign_known(source, xxh3_64(source.as_bytes()), page, main)
    }

    /// As [`sign`](Self::sign), `body` being the xxh3 of `source`, for who knows it already.
    pub fn sign_known(&mut self, source: &str, body: u64, page: &Extract, main: Option<&str>) -> Signatures {
        self.tree.build(page);
        banners::find(
            source,
            page,
            &self.tree,
            &mut self.plain_tags,
            &mut self.banner_text,
            &mut self.banner_nodes,
        );
        if let Some(rules) = &self.rules {
            rules.mark(source, page, &self.tree, &mut self.banner_text, &mut self.banner_nodes);
        }
        surroundings::find(
            source,
            page,
            &self.tree,
            &mut self.named_tags,
            &mut self.around_text,
            &mut self.around_nodes,
        );
        self.strings.fill(page);
        let structure = structure::digest(page, &self.tree, &mut self.bytes);
        let quiet_structure = if self.banner_nodes.is_empty() {
            structure
        } else {
            structure::digest_without(&self.bytes, [&self.banner_nodes], &mut self.rest)
        };
        let core_structure = if self.around_nodes.is_empty() {
            quiet_structure
        } else {
            let left_out = [&self.banner_nodes[..], &self.around_nodes[..]];
            structure::digest_without(&self.bytes, left_out, &mut self.rest)
        };
        self.marks.clear();
        if self.rules.as_ref().is_none_or(|rules| rules.only.is_empty()) {
            self.line_marker.mark(page.title(), &[], |mark| self.marks.push(mark));
        }
        let title = Lines::keep(&self.marks);
        self.marks.clear();
        self.mark_lines(page);
        self.minutiae.clear();
        self.minutiae.extend_from_slice(self.winnower.minutiae(&page.text));
        let main = main.map(|text| self.main_digest(text));
        let sums = link_prints::of(page, &self.banner_text, &self.around_text);
        let mut lines = Lines::keep(&self.marks);
        let (links, images) = (sums.core_links, sums.core_images);
        lines.core = Some(Core { structure: core_structure, links, images, at: self.visited_at });
        Signatures {
            version: SIGNATURES_VERSION,
            body,
            tags: self.tree.nodes.len() as u32,
            tag_strings: self.strings.digest(),
            first: kept(&self.strings.first),
            last: kept(&self.strings.last),
            levels: level_order::marks(page, &self.tree),
            structure,
            quiet_structure,
            text_code: TextCode::of(&page.text),
            text: xxh3_64(page.text.as_bytes()),
            main,
            title,
            lines,
            links: sums.links,
            images: sums.images,
            sketch: self.minutiae.iter().take(SKETCH_SIZE).map(|m| (m >> 32) as u32).collect(),
        }
    }

    /// Gives back the memory that grows with the page; what is known of earlier pages stays, and with it what marking lines
    /// takes, a third of the text's length.
    pub fn give_back(&mut self) {
        self.tree = Tree::default();
        self.strings = TagStrings::default();
        self.winnower = Winnower::new(self.winnower.config());
        self.minutiae = Vec::new();
        self.bytes = Vec::new();
        self.banner_text = Vec::new();
        self.banner_nodes = Vec::new();
        self.around_text = Vec::new();
        self.around_nodes = Vec::new();
        self.marks = Vec::new();
    }

    /// Minutiae of the page last signed.
    pub fn minutiae(&self) -> &[u64] {
        &self.minutiae
    }

    /// The tree of the page last signed.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The level-order table of `page`, which was signed last. Made only when asked for: later visits need no more than
    /// the marks of its levels.
    pub fn level_table(&self, page: &Extract) -> LevelTable {
        LevelTable::of(page, &self.tree)
    }

    fn main_digest(&mut self, text: &str) -> u64 {
        let bytes = &mut self.bytes;
        bytes.clear();
        self.line_marker.mark(text, &[], |mark| {
            bytes.extend_from_slice(&mark.shape().to_le_bytes());
            let words = if mark.is_volatile() { 0 } else { mark.words };
            bytes.extend_from_slice(&words.to_le_bytes());
        });
        xxh3_64(bytes)
    }

    /// Marks the lines of the text, with what is known of their places.
    fn mark_lines(&mut self, page: &Extract) {
        let mut around = Inside(&self.around_text);
        let early =
            page.headings.iter().find(|heading| heading.level == 1).map_or(0, |first| first.text.start);
        let anchors = page.links.iter().filter(|link| !link.anchor.is_empty());
        let mut anchors =
            anchors.map(|link| link.anchor.start as usize..link.anchor.start as usize + link.anchor.len());
        let mut next = anchors.next();
        let marks = &mut self.marks;
        self.line_marker.mark_places(&page.text, &self.banner_text, |mark, place| {
            // How much of the line is the text of links.
            let mut linked = 0;
            while let Some(anchor) = next.clone().filter(|anchor| anchor.start < place.end) {
                linked += anchor.end.min(place.end).saturating_sub(anchor.start.max(place.start));
                if anchor.end > place.end {
                    break;
                }
                next = anchors.next();
            }
            let is_link = linked > 0 && linked * 2 >= place.len();
            let flags = (u8::from(around.holds(place.start)) * flag::AROUND)
                | (u8::from(is_link) * flag::LINK)
                | (u8::from(place.end <= early as usize) * flag::EARLY);
            marks.push(mark.with(flags));
        });
    }
}

/// The start of a string of the structure that is kept.
fn kept(tags: &str) -> String {
    tags.get(..tags.floor_char_boundary(KEPT_TAGS)).unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn sign(html: &str, main: Option<&str>) -> Signatures {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        Judger::default().sign(html, &page, main)
    }

    #[test]
    fn the_version_comes_first_and_is_checked() {
        let signed = sign("<p>wolf", None);
        assert_eq!(signed.check(), Ok(()));
        let mut stored = postcard::to_stdvec(&signed).unwrap();
        assert_eq!(Signatures::check_first_byte(stored.first()), Ok(()));
        stored[0] = 1;
        assert_eq!(
            Signatures::check_first_byte(stored.first()),
            Err(Incomparable::OtherVersion { found: 1 })
        );
        assert_eq!(Signatures::check_first_byte(None), Err(Incomparable::Damaged));
        assert_eq!(Signatures { version: 7, ..signed }.check(), Err(Incomparable::OtherVersion { found: 7 }));
    }

    #[test]
    fn what_is_given_back_changes_nothing() {
        let html = "<ul><li>Wolf spiders hunt alone, 8 eyes<li>They build no webs</ul>".repeat(2000);
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&html, &mut page);
        let mut judger = Judger::default();
        let signed = judger.sign(&html, &page, None);
        assert!(judger.tree.nodes.capacity() >= 6000 && judger.marks.capacity() >= 4000);
        judger.give_back();
        assert_eq!((judger.tree.nodes.capacity(), judger.marks.capacity()), (0, 0));
        assert_eq!(judger.sign(&html, &page, None), signed);
    }

    #[test]
    fn the_main_digest_passes_over_clocks_and_sees_words() {
        let main = |text| sign("", Some(text)).main;
        assert_eq!(main("Wolf spiders\nUpdated 3 hours ago"), main("Wolf spiders\nUpdated 5 hours ago"));
        assert_ne!(main("Wolf spiders\nhunt"), main("Wolf spiders\nrun"));
        assert_ne!(main("Price: 20 EUR"), main("Price: 25 EUR"));
        assert_eq!(sign("", None).main, None);
    }
}
