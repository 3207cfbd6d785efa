//! What elements do when their tags are met.

use super::attributes::{Attr, TagEnd};
use super::byte_class::trim;
use super::extract::Heading;
use super::flow::{Flow, Reading};
use super::links::{LinkKind, LinkRef, Rel, position};
use super::raw_text::{end_of, end_of_script};
use super::scanner::Pass;
use super::span::Span;
use super::tags::{ATTRS, CELL, TagId};

const BOLD: u8 = 1;
const ITALIC: u8 = 2;

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
                self.foreign
                    .start(tag, end.self_closing, self.limits.max_foreign_depth);
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
        if self
            .out
            .has_room(raw.len().min(self.limits.max_title_bytes), self.limits)
        {
            let mut flow = Flow::new(base, base.saturating_add(self.limits.max_title_bytes));
            flow.push(&mut self.out.arena, raw, 0..raw.len(), Reading::Rcdata);
            self.out.truncated.title = flow.full;
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
            self.out.truncated.meta = true;
        }
    }

    fn read_attributes(&mut self, tag: TagId) {
        let html = self.html;
        match tag {
            TagId::A => {
                self.close_anchor();
                let attr = if self.attributes.has(Attr::Href) {
                    Attr::Href
                } else {
                    Attr::XlinkHref
                };
                self.anchor = self.link(LinkKind::Anchor, attr, Attr::Title);
            }
            TagId::AREA => drop(self.link(LinkKind::Area, Attr::Href, Attr::Alt)),
            TagId::FRAME | TagId::IFRAME => drop(self.link(LinkKind::Frame, Attr::Src, Attr::Title)),
            TagId::IMG | TagId::IMAGE => self.image(),
            TagId::INPUT => {
                let kind = self.attributes.get(Attr::Type, html).map_or("", trim);
                let is_image = kind.eq_ignore_ascii_case("image");
                is_image.then(|| self.link(LinkKind::Image, Attr::Src, Attr::Alt));
            }
            TagId::VIDEO | TagId::AUDIO | TagId::SOURCE | TagId::TRACK | TagId::EMBED => {
                self.link(LinkKind::Media, Attr::Src, Attr::Title);
            }
            TagId::OBJECT => drop(self.link(LinkKind::Media, Attr::Data, Attr::Title)),
            TagId::SCRIPT => drop(self.link(LinkKind::Script, Attr::Src, Attr::Title)),
            TagId::LINK => self.link_element(),
            TagId::META => self.meta(),
            TagId::BASE => {
                if self.out.base.is_none()
                    && let Some(raw) = self.attributes.get(Attr::Href, html)
                {
                    self.out.base = self.out.keep_href(raw, self.limits);
                }
            }
            TagId::HTML => {
                let lang = self
                    .attributes
                    .get(Attr::Lang, html)
                    .or_else(|| self.attributes.get(Attr::XmlLang, html));
                if let Some(raw) = lang
                    && self.out.lang.is_empty()
                {
                    self.out.lang = self.out.keep_text(raw, self.limits);
                }
            }
            TagId::TIME => {
                if let Some(raw) = self.attributes.get(Attr::Datetime, html) {
                    if self.out.times.len() < self.limits.max_meta_items {
                        let kept = self.out.keep_text(raw, self.limits);
                        self.out.times.push(kept);
                    } else {
                        self.out.truncated.meta = true;
                    }
                }
            }
            _ => {}
        }
    }

    fn image(&mut self) {
        let html = self.html;
        let attr = [Attr::Src, Attr::Href, Attr::XlinkHref]
            .into_iter()
            .find(|&a| self.attributes.has(a));
        let raw = match attr {
            Some(attr) => self.attributes.get(attr, html),
            None => self.attributes.get(Attr::Srcset, html).map(first_of_srcset),
        };
        let Some(raw) = raw else { return };
        let label = self
            .push_link(LinkKind::Image, raw, Attr::Alt)
            .and_then(|i| self.out.links.get(i))
            .map(|l| l.label);
        // An anchor around an image is named by the image.
        if let Some(label) = label
            && let Some(anchor) = self.anchor.and_then(|i| self.out.links.get_mut(i))
            && anchor.label.is_empty()
        {
            anchor.label = label;
        }
    }

    fn link_element(&mut self) {
        let Some(rel) = self.attributes.get(Attr::Rel, self.html).map(Rel::parse) else {
            return;
        };
        let kind = self.attributes.get(Attr::Type, self.html).map_or("", trim);
        let is_feed = [
            "application/rss+xml",
            "application/atom+xml",
            "application/feed+json",
            "application/rdf+xml",
        ]
        .iter()
        .any(|t| kind.get(..t.len()).is_some_and(|k| k.eq_ignore_ascii_case(t)));
        let kind = match () {
            () if rel.has(Rel::CANONICAL) => LinkKind::Canonical,
            () if rel.has(Rel::STYLESHEET) => LinkKind::Stylesheet,
            () if rel.has(Rel::ALTERNATE) && is_feed => LinkKind::Feed,
            () if rel.has(Rel::ALTERNATE) => LinkKind::Alternate,
            () if rel.has(Rel::NEXT) => LinkKind::Next,
            () if rel.has(Rel::PREV) => LinkKind::Prev,
            () if rel.has(Rel::ICON) => LinkKind::Icon,
            () => return,
        };
        let link = self.link(kind, Attr::Href, Attr::Title);
        if kind == LinkKind::Canonical && self.out.canonical.is_none() {
            self.out.canonical = link.and_then(|i| self.out.links.get(i)).map(|l| l.href);
        }
    }

    fn meta(&mut self) {
        let had_refresh = self.out.meta.refresh.is_some();
        self.out
            .note_meta(self.attributes, self.html, self.agent, self.limits);
        let target = self
            .out
            .meta
            .refresh
            .filter(|_| !had_refresh)
            .and_then(|r| r.target);
        if let Some(href) = target {
            self.add(LinkKind::Refresh, href, Span::default(), Rel::default());
        }
    }

    fn link(&mut self, kind: LinkKind, href: Attr, label: Attr) -> Option<usize> {
        let raw = self.attributes.get(href, self.html)?;
        self.push_link(kind, raw, label)
    }

    /// Notes a link; its index, unless a limit stands against it.
    fn push_link(&mut self, kind: LinkKind, raw: &str, label: Attr) -> Option<usize> {
        // Embedded data is no address.
        if trim(raw)
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
        {
            return None;
        }
        if self.out.links.len() >= self.limits.max_links {
            self.out.truncated.links = true;
            return None;
        }
        let href = self.out.keep_href(raw, self.limits)?;
        let label = self
            .attributes
            .get(label, self.html)
            .map_or(Span::default(), |l| self.out.keep_text(l, self.limits));
        let rel = self
            .attributes
            .get(Attr::Rel, self.html)
            .map_or(Rel::default(), Rel::parse);
        self.add(kind, href, label, rel)
    }

    fn add(&mut self, kind: LinkKind, href: Span, label: Span, rel: Rel) -> Option<usize> {
        if self.out.links.len() >= self.limits.max_links {
            self.out.truncated.links = true;
            return None;
        }
        let here = self.out.text.len();
        let bold = if self.bold > 0 { BOLD } else { 0 };
        let italic = if self.italic > 0 { ITALIC } else { 0 };
        self.out.links.push(LinkRef {
            href,
            anchor: Span::new(here, here),
            label,
            rel,
            kind,
            visibility: bold | italic,
            position: 0,
            download: self.attributes.has(Attr::Download) && kind != LinkKind::Refresh,
        });
        Some(self.out.links.len() - 1)
    }

    fn mark_anchor(&mut self, mark: u8) {
        if let Some(link) = self.anchor.and_then(|i| self.out.links.get_mut(i)) {
            link.visibility |= mark;
        }
    }

    fn close_anchor(&mut self) {
        let Some(link) = self.anchor.take() else { return };
        if let Some(link) = self.out.links.get_mut(link) {
            link.anchor = since(&self.out.text, link.anchor.start as usize);
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
            self.out.truncated.headings = true;
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
        self.out.truncated.text |= self.flow.full;
        let length = self.out.text.len();
        for link in &mut self.out.links {
            link.visibility = 1 + link.visibility.count_ones() as u8;
            link.position = position(link.anchor.start, length);
        }
    }
}

/// The words written since `start`, without the separator in front of them.
fn since(text: &str, start: usize) -> Span {
    let separated = start > 0 && matches!(text.as_bytes().get(start), Some(b' ' | b'\n'));
    Span::new(start + usize::from(separated), text.len())
}

/// The first address of an image's candidate list.
fn first_of_srcset(list: &str) -> &str {
    let list = list.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    let end = list.find(|c: char| c.is_ascii_whitespace()).unwrap_or(list.len());
    list.get(..end).unwrap_or("").trim_end_matches(',')
}
