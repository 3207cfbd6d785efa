//! What elements do when their tags are met.

use super::attributes::{Attr, TagEnd};
use super::byte_class::trim;
use super::extract::Heading;
use super::flow::{Flow, Reading};
use super::limits::PageLimit;
use super::link_collector::{BOLD, ITALIC};
use super::links::position;
use super::raw_text::{end_of, end_of_script};
use super::scanner::Pass;
use super::span::Span;
use super::tags::{ATTRS, CELL, TagId};

impl Pass<'_> {
    /// A start tag that matters; returns where to go on, which is behind the content if that is no markup.
    pub fn open_element(&mut self, tag: TagId, flags: u8, end: TagEnd, foreign: bool) -> usize {
        if flags & CELL != 0 {
            self.flow.blank();
        }
        if flags & ATTRS != 0 && self.templates == 0 {
            self.read_attributes(tag);
        }
        match tag {
            TagId::A => {}
            TagId::B | TagId::STRONG => {
                self.bold += 1;
                self.mark_anchor(BOLD);
            }
            TagId::I | TagId::EM => {
                self.italic += 1;
                self.mark_anchor(ITALIC);
            }
            TagId::H1 | TagId::H2 | TagId::H3 | TagId::H4 | TagId::H5 | TagId::H6 => {
                self.close_heading();
                self.heading = tag.heading_level().map(|level| (level, self.out.text.len()));
            }
            TagId::PRE | TagId::LISTING => self.set_preformatted(self.preformatted.saturating_add(1)),
            TagId::SVG | TagId::MATH if self.foreign.is_empty() => {
                self.foreign.start(tag, end.self_closing, self.limits.max_foreign_depth);
                self.update_muted();
            }
            TagId::BODY => {
                self.noscript = false;
                self.update_muted();
            }
            TagId::TEMPLATE if !foreign => {
                self.templates = self.templates.saturating_add(1);
                self.update_muted();
            }
            TagId::NOSCRIPT if !foreign => {
                self.noscript = true;
                self.update_muted();
            }
            _ if !foreign => return self.content(tag, end.next),
            _ => {}
        }
        end.next
    }

    /// An end tag that matters.
    pub fn close_element(&mut self, tag: TagId, flags: u8) {
        if flags & CELL != 0 {
            self.flow.blank();
        }
        match tag {
            TagId::A if self.templates == 0 => self.close_anchor(),
            TagId::B | TagId::STRONG => self.bold = self.bold.saturating_sub(1),
            TagId::I | TagId::EM => self.italic = self.italic.saturating_sub(1),
            TagId::H1 | TagId::H2 | TagId::H3 | TagId::H4 | TagId::H5 | TagId::H6 => self.close_heading(),
            TagId::PRE | TagId::LISTING => self.set_preformatted(self.preformatted.saturating_sub(1)),
            TagId::NOSCRIPT | TagId::HEAD | TagId::BODY => self.noscript = false,
            TagId::TEMPLATE => self.templates = self.templates.saturating_sub(1),
            _ => {}
        }
        if !self.foreign.is_empty() {
            self.foreign.end(tag);
        }
        self.update_muted();
    }

    /// Steps over content that is no markup, keeping what is worth it.
    fn content(&mut self, tag: TagId, start: usize) -> usize {
        let bytes = self.bytes;
        match tag {
            TagId::SCRIPT => {
                let end = end_of_script(bytes, start);
                self.note_script(start, end);
                end
            }
            TagId::TITLE => {
                let end = end_of(bytes, start, b"title");
                self.note_title(start, end);
                end
            }
            TagId::STYLE => end_of(bytes, start, b"style"),
            TagId::TEXTAREA => end_of(bytes, start, b"textarea"),
            TagId::IFRAME => end_of(bytes, start, b"iframe"),
            TagId::NOEMBED => end_of(bytes, start, b"noembed"),
            TagId::NOFRAMES => end_of(bytes, start, b"noframes"),
            TagId::XMP => {
                let end = end_of(bytes, start, b"xmp");
                self.raw_lines(start, end);
                end
            }
            TagId::PLAINTEXT => {
                self.raw_lines(start, bytes.len());
                bytes.len()
            }
            _ => start,
        }
    }

    fn raw_lines(&mut self, start: usize, end: usize) {
        let before = std::mem::replace(&mut self.flow.keep_lines, true);
        self.text(start, end, Reading::Raw);
        self.flow.keep_lines = before;
    }

    fn note_title(&mut self, start: usize, end: usize) {
        if self.titled || self.templates > 0 {
            return;
        }
        self.titled = true;
        let raw = self.html.get(start..end).unwrap_or("");
        let base = self.out.arena.len();
        if self.out.has_room(raw.len().min(self.limits.max_title_bytes), self.limits) {
            let mut flow = Flow::new(base, base.saturating_add(self.limits.max_title_bytes));
            flow.push(&mut self.out.arena, raw, 0..raw.len(), Reading::Rcdata);
            if flow.full {
                self.out.truncated.add(PageLimit::Title, 1);
            }
            self.out.title = Span::new(base, self.out.arena.len());
        }
    }

    fn note_script(&mut self, start: usize, end: usize) {
        let kind = self.attributes.get(Attr::Type, self.html).map_or("", trim);
        if !kind.eq_ignore_ascii_case("application/ld+json") || self.templates > 0 {
            return;
        }
        if self.out.json_ld.len() < self.limits.max_meta_items {
            self.out.json_ld.push(Span::new(start, end));
        } else {
            self.out.truncated.add(PageLimit::Meta, 1);
        }
    }

    fn close_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else {
            return;
        };
        let text = since(&self.out.text, start);
        if text.is_empty() {
            return;
        }
        if self.out.headings.len() < self.limits.max_headings {
            self.out.headings.push(Heading { level, text });
        } else {
            self.out.truncated.add(PageLimit::Headings, 1);
        }
    }

    fn set_preformatted(&mut self, depth: u32) {
        self.preformatted = depth;
        self.flow.keep_lines = depth > 0;
    }

    pub fn update_muted(&mut self) {
        self.muted = self.templates > 0 || self.noscript || self.foreign.hides_text();
    }

    /// Closes what the page left open and places the links.
    pub fn finish(&mut self) {
        self.close_anchor();
        self.close_heading();
        if self.flow.full {
            self.out.truncated.add(PageLimit::Text, 1);
        }
        if self.foreign.too_deep > 0 {
            self.out.truncated.add(PageLimit::ForeignDepth, self.foreign.too_deep as usize);
        }
        let length = self.out.text.len();
        for link in &mut self.out.links {
            link.visibility = 1 + link.visibility.count_ones() as u8;
            link.position = position(link.anchor.start, length);
        }
    }
}

/// The words written since `start`, without the separator in front of them.
pub(crate) fn since(text: &str, start: usize) -> Span {
    let separated = start > 0 && matches!(text.as_bytes().get(start), Some(b' ' | b'\n'));
    Span::new(start + usize::from(separated), text.len())
}
