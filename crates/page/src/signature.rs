//! Everything about a visit that later visits are compared with, without the old body.
//!
//! [`Judger`] makes a [`Signatures`] from a scanned page in a few tens of microseconds and keeps its buffers. The record
//! is bounded ([`MAX_LINES`], [`SKETCH_SIZE`], [`crate::structure::KEPT_TAGS`], [`crate::level_order::KEPT_LEVELS`]): a
//! few kilobytes at most, whatever the page. Digests cover everything, kept or not.

use super::banners;
use super::extract::Extract;
use super::level_order::{self, LevelMark, LevelTable};
use super::line_store::Lines;
use super::link_prints;
use super::noise::{self, LineMark};
use super::structure::{self, KEPT_TAGS, TagStrings};
use super::text_code::TextCode;
use super::tree::Tree;
use super::winnow::{WinnowConfig, Winnower};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the record: records of another version cannot be compared.
pub const SIGNATURES_VERSION: u8 = 1;
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
    /// Digest of the main content, where it was extracted.
    pub main: Option<u64>,
    pub title: Lines,
    pub lines: Lines,
    /// Addresses the page links to, in any order, without fragments and tokens.
    pub links: u64,
    /// Addresses and labels of its images, likewise.
    pub images: u64,
    /// The smallest minutiae (upper halves), sorted.
    pub sketch: Vec<u32>,
}

/// Makes signatures, keeping its buffers from page to page.
#[derive(Debug, Clone)]
pub struct Judger {
    tree: Tree,
    strings: TagStrings,
    winnower: Winnower,
    minutiae: Vec<u64>,
    bytes: Vec<u8>,
    banner_text: Vec<(u32, u32)>,
    banner_nodes: Vec<(u32, u32)>,
    marks: Vec<LineMark>,
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
            banner_text: Vec::new(),
            banner_nodes: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The signatures of `page`, which was scanned from `source`; `main` is its main content, if extracted.
    pub fn sign(&mut self, source: &str, page: &Extract, main: Option<&str>) -> Signatures {
        self.tree.build(page);
        banners::find(source, page, &self.tree, &mut self.banner_text, &mut self.banner_nodes);
        self.strings.fill(page);
        let structure = structure::digest(page, &self.tree, |_| true, &mut self.bytes);
        let quiet_structure = self.quiet_structure(page, structure);
        self.marks.clear();
        noise::mark_lines(page.title(), &[], |mark| self.marks.push(mark));
        let title = Lines::keep(&self.marks);
        self.marks.clear();
        noise::mark_lines(&page.text, &self.banner_text, |mark| self.marks.push(mark));
        self.minutiae.clear();
        self.minutiae.extend_from_slice(self.winnower.minutiae(&page.text));
        let (links, images) = link_prints::of(page, &self.banner_text);
        Signatures {
            version: SIGNATURES_VERSION,
            body: xxh3_64(source.as_bytes()),
            tags: self.tree.nodes.len() as u32,
            tag_strings: self.strings.digest(),
            first: kept(&self.strings.first),
            last: kept(&self.strings.last),
            levels: level_order::marks(page, &self.tree),
            structure,
            quiet_structure,
            text_code: TextCode::of(&page.text),
            text: xxh3_64(page.text.as_bytes()),
            main: main.map(|text| xxh3_64(text.as_bytes())),
            title,
            lines: Lines::keep(&self.marks),
            links,
            images,
            sketch: self.minutiae.iter().take(SKETCH_SIZE).map(|m| (m >> 32) as u32).collect(),
        }
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

    fn quiet_structure(&mut self, page: &Extract, whole: u64) -> u64 {
        if self.banner_nodes.is_empty() {
            return whole;
        }
        let banners = &self.banner_nodes;
        let counts = |at: usize| {
            let after = banners.partition_point(|b| b.0 as usize <= at);
            after == 0 || banners[after - 1].1 as usize <= at
        };
        structure::digest(page, &self.tree, counts, &mut self.bytes)
    }
}

/// The start of a string of the structure that is kept.
fn kept(tags: &str) -> String {
    tags.get(..tags.floor_char_boundary(KEPT_TAGS)).unwrap_or("").to_owned()
}
