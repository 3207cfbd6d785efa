//! What the attributes of a start tag say: links, most of all.

use super::attributes::Attr;
use super::byte_class::trim;
use super::elements::since;
use super::limits::PageLimit;
use super::links::{LinkKind, LinkRef, Rel};
use super::scanner::Pass;
use super::span::Span;
use super::tags::TagId;

/// Marks kept in [`LinkRef::visibility`] until the page is finished.
pub(crate) const BOLD: u8 = 1;
pub(crate) const ITALIC: u8 = 2;

impl Pass<'_> {
    /// Takes what the attributes of this start tag say.
    pub fn read_attributes(&mut self, tag: TagId) {
        let html = self.html;
        match tag {
            TagId::A => {
                self.close_anchor();
                let attr = if self.attributes.has(Attr::Href) { Attr::Href } else { Attr::XlinkHref };
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
                        self.out.truncated.add(PageLimit::Meta, 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn image(&mut self) {
        let html = self.html;
        let attr = [Attr::Src, Attr::Href, Attr::XlinkHref].into_iter().find(|&a| self.attributes.has(a));
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
        let is_feed =
            ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"]
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
            () if rel.has(Rel::NAVIGATION) => LinkKind::Navigation,
            () => return,
        };
        let link = self.link(kind, Attr::Href, Attr::Title);
        if kind == LinkKind::Canonical && self.out.canonical.is_none() {
            self.out.canonical = link.and_then(|i| self.out.links.get(i)).map(|l| l.href);
        }
    }

    fn meta(&mut self) {
        let had_refresh = self.out.meta.refresh.is_some();
        self.out.note_meta(self.attributes, self.html, self.agent, self.limits);
        let target = self.out.meta.refresh.filter(|_| !had_refresh).and_then(|r| r.target);
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
        if trim(raw).get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
            return None;
        }
        if self.out.links.len() >= self.limits.max_links {
            self.out.truncated.add(PageLimit::Links, 1);
            return None;
        }
        let href = self.out.keep_href(raw, self.limits)?;
        let label = self
            .attributes
            .get(label, self.html)
            .map_or(Span::default(), |l| self.out.keep_text(l, self.limits));
        let rel = self.attributes.get(Attr::Rel, self.html).map_or(Rel::default(), Rel::parse);
        self.add(kind, href, label, rel)
    }

    fn add(&mut self, kind: LinkKind, href: Span, label: Span, rel: Rel) -> Option<usize> {
        if self.out.links.len() >= self.limits.max_links {
            self.out.truncated.add(PageLimit::Links, 1);
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

    /// The open anchor holds bold or italic words.
    pub fn mark_anchor(&mut self, mark: u8) {
        if let Some(link) = self.anchor.and_then(|i| self.out.links.get_mut(i)) {
            link.visibility |= mark;
        }
    }

    /// Ends the open anchor, if there is one, here.
    pub fn close_anchor(&mut self) {
        let Some(link) = self.anchor.take() else { return };
        if let Some(link) = self.out.links.get_mut(link) {
            link.anchor = since(&self.out.text, link.anchor.start as usize);
        }
    }
}

/// The first address of an image's candidate list.
fn first_of_srcset(list: &str) -> &str {
    let list = list.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    let end = list.find(|c: char| c.is_ascii_whitespace()).unwrap_or(list.len());
    list.get(..end).unwrap_or("").trim_end_matches(',')
}
