//! The one pass over a page's source.
//!
//! [`Scanner::scan`] steps from `<` to `<`. It follows HTML's tokenizer state for state where that decides what is a
//! tag, an attribute or text, but keeps no tree: elements act when their tags are met (see `elements`). It never
//! fails: any string is a page. Work is linear in the source and no byte is decoded twice.

use super::attributes::{Attributes, step_over, walk};
use super::byte_class::{NAME_END, find, is};
use super::custom_tags::CustomTags;
use super::extract::{Extract, TagEvent, TagKind};
use super::flow::{Flow, Reading};
use super::foreign::Foreign;
use super::limits::{Limits, PageLimit};
use super::raw_text::after_comment;
use super::swar;
use super::tags::{ACTS, ATTRS, BLOCK, CELL, TagId, find_packed, find_written};
use memchr::memchr;

/// Scans pages one after the other, keeping its buffers between them.
#[derive(Debug, Default)]
pub struct Scanner {
    limits: Limits,
    agent: String,
    attributes: Attributes,
    foreign: Foreign,
    custom: CustomTags,
}

impl Scanner {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Lets pages address us by `name` in `<meta>`, beside `robots`.
    pub fn with_agent(mut self, name: &str) -> Self {
        self.agent = name.to_owned();
        self
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Fills `out` with what `html` says; what `out` held before is forgotten.
    pub fn scan(&mut self, html: &str, out: &mut Extract) {
        out.clear();
        self.foreign.clear();
        self.custom.clear();
        let end = html.floor_char_boundary(self.limits.max_html_bytes.min(u32::MAX as usize));
        if end < html.len() {
            out.truncated.add(PageLimit::Html, html.len() - end);
        }
        let html = html.get(..end).unwrap_or("");
        let text_limit = self.limits.max_text_bytes.min(u32::MAX as usize);
        let mut pass = Pass {
            html,
            bytes: html.as_bytes(),
            at: 0,
            flow: Flow::new(0, text_limit),
            limits: &self.limits,
            agent: &self.agent,
            attributes: &mut self.attributes,
            foreign: &mut self.foreign,
            custom: &mut self.custom,
            out,
            muted: false,
            noscript: false,
            titled: false,
            templates: 0,
            bold: 0,
            italic: 0,
            preformatted: 0,
            anchor: None,
            heading: None,
        };
        pass.run();
        pass.finish();
    }
}

/// The state of one scan.
pub(crate) struct Pass<'p> {
    pub html: &'p str,
    pub bytes: &'p [u8],
    pub at: usize,
    pub flow: Flow,
    pub limits: &'p Limits,
    pub agent: &'p str,
    pub attributes: &'p mut Attributes,
    pub foreign: &'p mut Foreign,
    pub custom: &'p mut CustomTags,
    pub out: &'p mut Extract,
    /// Text here is not visible.
    pub muted: bool,
    pub noscript: bool,
    pub titled: bool,
    pub templates: u32,
    pub bold: u32,
    pub italic: u32,
    pub preformatted: u32,
    /// The open anchor: its link, if it is one.
    pub anchor: Option<usize>,
    /// The open heading: its level and where it starts in the text.
    pub heading: Option<(u8, usize)>,
}

impl Pass<'_> {
    fn run(&mut self) {
        while self.at < self.bytes.len() {
            let Some(open) = swar::find_near(self.bytes, self.at, b'<') else {
                self.text(self.at, self.bytes.len(), Reading::Text);
                return;
            };
            if open > self.at {
                self.text(self.at, open, Reading::Text);
            }
            self.at = self.markup(open);
        }
    }

    /// Deals with the `<` at `open`; returns where to go on.
    #[inline(always)]
    fn markup(&mut self, open: usize) -> usize {
        match self.bytes.get(open + 1) {
            Some(b) if b.is_ascii_alphabetic() => self.start_tag(open),
            Some(b'/') => match self.bytes.get(open + 2) {
                Some(b) if b.is_ascii_alphabetic() => self.end_tag(open),
                Some(b'>') => open + 3,
                Some(_) => self.after_angle(open + 2),
                None => self.literal(open, open + 2),
            },
            Some(b'!') => self.declaration(open),
            Some(b'?') => self.after_angle(open + 1),
            _ => self.literal(open, open + 1),
        }
    }

    fn start_tag(&mut self, open: usize) -> usize {
        let name_at = open + 1;
        let (tag, name_end) = self.name(name_at);
        let flags = tag.map_or(0, TagId::flags);
        let end = if flags & ATTRS == 0 {
            step_over(self.bytes, name_end)
        } else {
            self.attributes.clear();
            walk(self.bytes, name_end, |name, value| self.attributes.note(name, value))
        };
        let Some(end) = end else { return self.bytes.len() };
        let tag = tag.unwrap_or_else(|| self.custom_tag(name_at, name_end));
        self.event(open, tag, if end.self_closing { TagKind::StartSelfClosing } else { TagKind::Start });
        let mut foreign = false;
        if !self.foreign.is_empty() {
            foreign = self.foreign.start(tag, end.self_closing, self.limits.max_foreign_depth);
            self.update_muted();
        }
        if flags & BLOCK != 0 {
            self.flow.line();
        }
        if flags & (ACTS | ATTRS | CELL) != 0 {
            return self.open_element(tag, flags, end, foreign);
        }
        end.next
    }

    fn end_tag(&mut self, open: usize) -> usize {
        let name_at = open + 2;
        let (tag, name_end) = self.name(name_at);
        let end = match self.bytes.get(name_end) {
            Some(b'>') => name_end + 1,
            _ => match walk(self.bytes, name_end, |_, _| {}) {
                Some(end) => end.next,
                None => return self.bytes.len(),
            },
        };
        let tag = tag.unwrap_or_else(|| self.custom_tag(name_at, name_end));
        self.event(open, tag, TagKind::End);
        let flags = tag.flags();
        if flags & BLOCK != 0 {
            self.flow.line();
        }
        if flags & (ACTS | CELL) != 0 || !self.foreign.is_empty() {
            self.close_element(tag, flags);
        }
        end
    }

    /// Reads a tag's name: its number, if known, and its end.
    #[inline(always)]
    fn name(&self, at: usize) -> (Option<TagId>, usize) {
        if let Some(word) = swar::load(self.bytes, at) {
            // All that ends a name lies below `0` or is `>`; other bytes down there are left to the slow way.
            let marks = swar::below(word, b'0') | swar::equal(word, b'>');
            let len = swar::first(marks);
            if marks != 0 && self.bytes.get(at + len).is_some_and(|&b| is(b, NAME_END)) {
                return (find_packed(swar::small_letters(word, len)), at + len);
            }
        }
        self.long_name(at)
    }

    #[cold]
    fn long_name(&self, at: usize) -> (Option<TagId>, usize) {
        let end = find(self.bytes, at, NAME_END);
        (find_written(self.bytes.get(at..end).unwrap_or(b"")), end)
    }

    #[inline(always)]
    fn event(&mut self, open: usize, tag: TagId, kind: TagKind) {
        if self.out.events.len() < self.limits.max_tag_events {
            let text_at = self.out.text.len() as u32;
            self.out.events.push(TagEvent { text_at, source_at: open as u32, tag, kind });
        } else {
            self.out.truncated.add(PageLimit::TagEvents, 1);
        }
    }

    /// Visible text, unless it is hidden here.
    #[inline(always)]
    pub fn text(&mut self, start: usize, end: usize, reading: Reading) {
        if !self.muted {
            self.flow.push(&mut self.out.text, self.html, start..end, reading);
        }
    }

    #[cold]
    fn literal(&mut self, start: usize, end: usize) -> usize {
        self.text(start, end, Reading::Text);
        end
    }

    /// After the next `>`: bogus comments and document types.
    fn after_angle(&self, from: usize) -> usize {
        self.bytes.get(from..).and_then(|tail| memchr(b'>', tail)).map_or(self.bytes.len(), |n| from + n + 1)
    }

    fn declaration(&mut self, open: usize) -> usize {
        const CDATA: &[u8] = b"<![CDATA[";
        let tail = self.bytes.get(open..).unwrap_or(b"");
        if tail.starts_with(b"<!--") {
            return after_comment(self.bytes, open + 4);
        }
        if self.foreign.active() && tail.starts_with(CDATA) {
            let start = open + CDATA.len();
            let found = memchr::memmem::find(tail.get(CDATA.len()..).unwrap_or(b""), b"]]>");
            let end = found.map_or(self.bytes.len(), |n| start + n);
            self.text(start, end, Reading::Raw);
            return (end + 3).min(self.bytes.len());
        }
        self.after_angle(open + 2)
    }
}
