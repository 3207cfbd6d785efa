//! What `<meta>` elements say.

use super::attributes::{Attr, Attributes};
use super::byte_class::{SPACE, skip};
use super::extract::Extract;
use super::limits::{Limits, PageLimit};
use super::robots_directives::RobotsDirectives;
use super::span::Span;

/// Metadata; spans point into the arena and are empty where the page is silent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    pub description: Span,
    pub keywords: Span,
    pub author: Span,
    pub generator: Span,
    /// `og:title`.
    pub social_title: Span,
    /// `og:site_name`.
    pub site_name: Span,
    /// Dates as written, in order.
    pub dates: Vec<MetaDate>,
    pub robots: RobotsDirectives,
    pub refresh: Option<Refresh>,
}

/// A date and what it dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaDate {
    pub kind: DateKind,
    pub value: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateKind {
    Published,
    Modified,
    Unstated,
}

/// `<meta http-equiv=refresh>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refresh {
    pub delay_s: u32,
    /// Where to; `None` reloads the page itself.
    pub target: Option<Span>,
}

enum Field {
    Description,
    SocialDescription,
    Keywords,
    Author,
    Generator,
    SocialTitle,
    SiteName,
    Date(DateKind),
    Robots,
}

const FIELDS: &[(&str, Field)] = &[
    ("description", Field::Description),
    ("og:description", Field::SocialDescription),
    ("twitter:description", Field::SocialDescription),
    ("dc.description", Field::SocialDescription),
    ("keywords", Field::Keywords),
    ("author", Field::Author),
    ("article:author", Field::Author),
    ("dc.creator", Field::Author),
    ("dcterms.creator", Field::Author),
    ("generator", Field::Generator),
    ("og:title", Field::SocialTitle),
    ("og:site_name", Field::SiteName),
    ("robots", Field::Robots),
    ("article:published_time", Field::Date(DateKind::Published)),
    ("og:published_time", Field::Date(DateKind::Published)),
    ("datepublished", Field::Date(DateKind::Published)),
    ("datecreated", Field::Date(DateKind::Published)),
    ("dcterms.created", Field::Date(DateKind::Published)),
    ("dcterms.issued", Field::Date(DateKind::Published)),
    ("dc.date.issued", Field::Date(DateKind::Published)),
    ("pubdate", Field::Date(DateKind::Published)),
    ("publishdate", Field::Date(DateKind::Published)),
    ("publish_date", Field::Date(DateKind::Published)),
    ("publication_date", Field::Date(DateKind::Published)),
    ("citation_publication_date", Field::Date(DateKind::Published)),
    ("article:modified_time", Field::Date(DateKind::Modified)),
    ("og:updated_time", Field::Date(DateKind::Modified)),
    ("datemodified", Field::Date(DateKind::Modified)),
    ("dcterms.modified", Field::Date(DateKind::Modified)),
    ("last-modified", Field::Date(DateKind::Modified)),
    ("lastmod", Field::Date(DateKind::Modified)),
    ("revised", Field::Date(DateKind::Modified)),
    ("date", Field::Date(DateKind::Unstated)),
    ("dc.date", Field::Date(DateKind::Unstated)),
    ("dcterms.date", Field::Date(DateKind::Unstated)),
];

impl Meta {
    pub(crate) fn clear(&mut self) {
        let mut dates = std::mem::take(&mut self.dates);
        dates.clear();
        *self = Self { dates, ..Self::default() };
    }
}

impl Extract {
    /// Takes in one `<meta>`. `agent` is our name, which pages may address instead of all robots.
    pub(crate) fn note_meta(&mut self, attributes: &Attributes, source: &str, agent: &str, limits: &Limits) {
        let Some(content) = attributes.get(Attr::Content, source) else {
            return;
        };
        if let Some(header) = attributes.get(Attr::HttpEquiv, source) {
            self.note_http_equiv(header, content, limits);
        }
        let name =
            [Attr::Name, Attr::Property, Attr::Itemprop].iter().find_map(|&a| attributes.get(a, source));
        let Some(name) = name.map(str::trim) else { return };
        if !agent.is_empty() && name.eq_ignore_ascii_case(agent) {
            return self.note_robots(content, limits);
        }
        let Some((_, field)) = FIELDS.iter().find(|(n, _)| name.eq_ignore_ascii_case(n)) else {
            return;
        };
        match field {
            Field::Robots => self.note_robots(content, limits),
            Field::Date(kind) => self.note_date(*kind, content, limits),
            // The page's own description wins over the one meant for sharing, whichever comes first.
            Field::Description => self.meta.description = self.keep_text(content, limits),
            Field::SocialDescription => self.note_first(content, limits, |m| &mut m.description),
            Field::Keywords => self.note_first(content, limits, |m| &mut m.keywords),
            Field::Author => self.note_first(content, limits, |m| &mut m.author),
            Field::Generator => self.note_first(content, limits, |m| &mut m.generator),
            Field::SocialTitle => self.note_first(content, limits, |m| &mut m.social_title),
            Field::SiteName => self.note_first(content, limits, |m| &mut m.site_name),
        }
    }

    fn note_first(&mut self, content: &str, limits: &Limits, slot: fn(&mut Meta) -> &mut Span) {
        if slot(&mut self.meta).is_empty() {
            *slot(&mut self.meta) = self.keep_text(content, limits);
        }
    }

    fn note_robots(&mut self, content: &str, limits: &Limits) {
        let kept = self.keep_text(content, limits);
        self.meta.robots.merge_meta(kept.of(&self.arena));
    }

    fn note_date(&mut self, kind: DateKind, content: &str, limits: &Limits) {
        if self.meta.dates.len() >= limits.max_meta_items {
            self.truncated.add(PageLimit::Meta, 1);
            return;
        }
        let value = self.keep_text(content, limits);
        if !value.is_empty() {
            self.meta.dates.push(MetaDate { kind, value });
        }
    }

    fn note_http_equiv(&mut self, header: &str, content: &str, limits: &Limits) {
        let header = header.trim();
        if header.eq_ignore_ascii_case("content-language") {
            if self.lang.is_empty() {
                self.lang = self.keep_text(content, limits);
            }
        } else if header.eq_ignore_ascii_case("last-modified") {
            self.note_date(DateKind::Modified, content, limits);
        } else if header.eq_ignore_ascii_case("refresh") && self.meta.refresh.is_none() {
            self.note_refresh(content, limits);
        }
    }

    fn note_refresh(&mut self, content: &str, limits: &Limits) {
        let Some(kept) = self.keep_href(content, limits) else {
            return;
        };
        let Some((delay_s, target)) = parse_refresh(kept.of(&self.arena)) else {
            return;
        };
        let target = target.map(|r| Span::new(kept.start as usize + r.start, kept.start as usize + r.end));
        self.meta.refresh = Some(Refresh { delay_s, target });
    }
}

/// Reads `5; url='/next'` by HTML's rules for refreshing: the delay, and where in `content` the address stands.
fn parse_refresh(content: &str) -> Option<(u32, Option<std::ops::Range<usize>>)> {
    let bytes = content.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let starts_with_dot = digits == 0 && bytes.first() == Some(&b'.');
    if digits == 0 && !starts_with_dot {
        return None;
    }
    let delay =
        content.get(..digits).map_or(0, |d| if d.is_empty() { 0 } else { d.parse().unwrap_or(u32::MAX) });
    let mut at = digits + bytes.iter().skip(digits).take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    match bytes.get(at) {
        None => return Some((delay, None)),
        Some(b';' | b',') | Some(b' ' | b'\x0c') => {}
        Some(_) => return None,
    }
    at = skip(bytes, at, SPACE);
    at += usize::from(matches!(bytes.get(at), Some(b';' | b',')));
    at = skip(bytes, at, SPACE);
    if at >= bytes.len() {
        return Some((delay, None));
    }
    if bytes.get(at..at + 3).is_some_and(|w| w.eq_ignore_ascii_case(b"url")) {
        let equals = skip(bytes, at + 3, SPACE);
        if bytes.get(equals) == Some(&b'=') {
            at = skip(bytes, equals + 1, SPACE);
        }
    }
    let mut end = bytes.len();
    if let Some(quote @ (b'"' | b'\'')) = bytes.get(at) {
        at += 1;
        end = bytes.iter().skip(at).position(|b| b == quote).map_or(end, |n| at + n);
    }
    Some((delay, Some(at..end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refresh(content: &str) -> Option<(u32, Option<&str>)> {
        parse_refresh(content).map(|(d, r)| (d, r.map(|r| &content[r])))
    }

    #[test]
    fn refreshes() {
        assert_eq!(refresh("5"), Some((5, None)));
        assert_eq!(refresh("0; url=/a"), Some((0, Some("/a"))));
        assert_eq!(refresh("0;URL='/a b'x"), Some((0, Some("/a b"))));
        assert_eq!(refresh("1.5 , /a"), Some((1, Some("/a"))));
        assert_eq!(refresh(".5;url = \"/a"), Some((0, Some("/a"))));
        assert_eq!(refresh("3;urls"), Some((3, Some("urls"))));
        assert_eq!(refresh("x;url=/a"), None);
        assert_eq!(refresh("5x"), None);
        assert_eq!(refresh(""), None);
    }
}
