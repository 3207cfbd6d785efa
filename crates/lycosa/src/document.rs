//! A page as data: everything its bytes say, in the form `inspect` and `export` print.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lycosa_page::{
    CharsetSource, ContentKind, DateKind, Extract, Limits, LinkRef, RobotsDirectives, Scanner, Span,
    Truncated, charset, sitemap, sniff,
};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonRules, CanonUrl, link};
use serde::Serialize;

/// What a page says. Fields that the page is silent about are empty or null.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// `html`, `sitemap`, `feed`, `xml`, `text`, `image`, `pdf` or `other`.
    pub kind: &'static str,
    pub charset: &'static str,
    /// `bom`, `header`, `meta`, `detected` or `default`.
    pub charset_source: &'static str,
    /// Some bytes meant nothing in that charset.
    pub charset_errors: bool,
    pub title: &'a str,
    pub language: &'a str,
    pub description: &'a str,
    pub keywords: &'a str,
    pub author: &'a str,
    pub generator: &'a str,
    pub site_name: &'a str,
    pub social_title: &'a str,
    pub dates: Vec<Date<'a>>,
    pub times: Vec<&'a str>,
    pub robots: Vec<String>,
    pub refresh: Option<RefreshTo<'a>>,
    /// Absolute where the page's own address is known.
    pub canonical: Option<Cow<'a, str>>,
    pub base: Option<&'a str>,
    pub headings: Vec<HeadingLine<'a>>,
    pub links: Vec<Link<'a>>,
    pub text: Cow<'a, str>,
    pub tags: BTreeMap<String, u32>,
    pub json_ld: Vec<String>,
    /// The limits that the page reached; what lies beyond them is left out.
    pub truncated: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct Date<'a> {
    pub kind: &'static str,
    pub value: &'a str,
}

#[derive(Debug, Serialize)]
pub struct RefreshTo<'a> {
    pub delay_s: u32,
    pub href: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub struct HeadingLine<'a> {
    pub level: u8,
    pub text: &'a str,
}

/// One link with its attributes.
#[derive(Debug, Serialize)]
pub struct Link<'a> {
    /// Absolute and canonical; null where there is no base or the link leads nowhere that can be crawled.
    pub url: Option<String>,
    /// As written.
    pub href: Cow<'a, str>,
    pub kind: &'static str,
    pub anchor: &'a str,
    /// 3 bold and italic, 2 either, 1 neither.
    pub visibility: u8,
    /// 3 first third of the text, 2 middle, 1 last.
    pub position: u8,
    /// 1 same host … 5 another domain; null where the page's address is unknown.
    pub distance: Option<u8>,
    pub rel: Vec<&'static str>,
    pub download: bool,
}

/// Reads documents, one after the other, into buffers that are used again.
#[derive(Debug)]
pub struct DocumentReader {
    scanner: Scanner,
    extract: Extract,
    rules: CanonRules,
}

impl DocumentReader {
    pub fn new(rules: CanonRules) -> Self {
        Self { scanner: Scanner::new(Limits::default()), extract: Extract::new(), rules }
    }

    /// Reads one body. `page` is its address, against which links are resolved.
    pub fn read<'a>(
        &'a mut self,
        body: &[u8],
        content_type: Option<&str>,
        page: Option<&CanonUrl>,
    ) -> Document<'a> {
        let kind = sniff(content_type, body);
        let is_text = !matches!(kind, ContentKind::Image | ContentKind::Pdf | ContentKind::Other);
        let decoded = charset::decode(if is_text { body } else { b"" }, content_type);
        let source: &str = if kind == ContentKind::Html { &decoded.text } else { "" };
        self.scanner.scan(source, &mut self.extract);
        let extract = &self.extract;
        let base = page.map(|page| base_of(page, extract.base_href(), &self.rules));
        let joiner = base.as_deref().map(|base| Joiner::new(base, &self.rules));
        let mut resolver = Resolver { page, joiner, rules: &self.rules };
        let mut links: Vec<Link<'a>> =
            extract.links.iter().map(|link| resolver.link(extract, link)).collect();
        if matches!(kind, ContentKind::Sitemap | ContentKind::Feed | ContentKind::Xml | ContentKind::Text)
            && let Some(listing) = sitemap::parse(&decoded.text)
        {
            links.extend(listing.entries.iter().map(|entry| resolver.listed(&entry.loc)));
        }
        let mut tags = BTreeMap::new();
        for tag in extract.start_tags() {
            *tags.entry(extract.tag_name(tag).to_owned()).or_default() += 1;
        }
        let of = |span: Span| span.of(&extract.arena);
        let meta = &extract.meta;
        Document {
            kind: kind.name(),
            charset: decoded.encoding,
            charset_source: if is_text { decoded.source.name() } else { CharsetSource::Default.name() },
            charset_errors: decoded.had_errors,
            title: extract.title(),
            language: extract.lang(),
            description: of(meta.description),
            keywords: of(meta.keywords),
            author: of(meta.author),
            generator: of(meta.generator),
            site_name: of(meta.site_name),
            social_title: of(meta.social_title),
            dates: meta
                .dates
                .iter()
                .map(|date| Date { kind: date_word(date.kind), value: of(date.value) })
                .collect(),
            times: extract.times.iter().map(|&time| of(time)).collect(),
            robots: directives(&meta.robots),
            refresh: meta
                .refresh
                .map(|refresh| RefreshTo { delay_s: refresh.delay_s, href: refresh.target.map(of) }),
            canonical: extract.canonical_href().map(|href| match resolver.resolve(href) {
                Some(url) => Cow::Owned(url),
                None => Cow::Borrowed(href),
            }),
            base: extract.base_href(),
            headings: extract
                .headings
                .iter()
                .map(|heading| HeadingLine { level: heading.level, text: heading.text.of(&extract.text) })
                .collect(),
            links,
            text: match kind {
                ContentKind::Text => Cow::Owned(decoded.text.clone().into_owned()),
                _ => Cow::Borrowed(&extract.text),
            },
            tags,
            json_ld: extract.json_ld.iter().map(|span| span.of(source).trim().to_owned()).collect(),
            truncated: truncations(&extract.truncated),
        }
    }
}

/// Makes a page's links absolute.
struct Resolver<'r> {
    page: Option<&'r CanonUrl>,
    joiner: Option<Joiner<'r>>,
    rules: &'r CanonRules,
}

impl Resolver<'_> {
    fn resolve(&mut self, href: &str) -> Option<String> {
        let mut url = String::new();
        match &mut self.joiner {
            Some(joiner) => joiner.join(href, &mut url).ok().map(|()| url),
            None => CanonUrl::parse(href, self.rules).ok().map(CanonUrl::into_string),
        }
    }

    fn distance(&self, url: Option<&String>) -> Option<u8> {
        let target = CanonUrl::from_canonical(url?.clone());
        Some(link::distance(self.page?, &target))
    }

    fn link<'a>(&mut self, extract: &'a Extract, link: &LinkRef) -> Link<'a> {
        let href = extract.href(link);
        let url = self.resolve(href);
        Link {
            distance: self.distance(url.as_ref()),
            url,
            href: Cow::Borrowed(href),
            kind: link.kind.name(),
            anchor: extract.anchor(link),
            visibility: link.visibility,
            position: link.position,
            rel: link.rel.words().collect(),
            download: link.download,
        }
    }

    /// An entry of a sitemap or feed.
    fn listed<'a>(&mut self, loc: &str) -> Link<'a> {
        let url = self.resolve(loc);
        Link {
            distance: self.distance(url.as_ref()),
            url,
            href: Cow::Owned(loc.to_owned()),
            kind: "listing",
            anchor: "",
            visibility: 1,
            position: 1,
            rel: Vec::new(),
            download: false,
        }
    }
}

/// What a page's links are relative to.
fn base_of<'p>(page: &'p CanonUrl, href: Option<&str>, rules: &CanonRules) -> Cow<'p, CanonUrl> {
    let mut joined = String::new();
    match href.map(|href| Joiner::new(page, rules).join(href, &mut joined)) {
        Some(Ok(())) => Cow::Owned(CanonUrl::from_canonical(joined)),
        _ => Cow::Borrowed(page),
    }
}

fn date_word(kind: DateKind) -> &'static str {
    match kind {
        DateKind::Published => "published",
        DateKind::Modified => "modified",
        DateKind::Unstated => "unstated",
    }
}

fn directives(robots: &RobotsDirectives) -> Vec<String> {
    let flags = [
        ("noindex", robots.noindex),
        ("nofollow", robots.nofollow),
        ("noarchive", robots.noarchive),
        ("nosnippet", robots.nosnippet),
        ("noimageindex", robots.noimageindex),
    ];
    let set = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(word, _)| word.to_owned());
    set.chain(robots.unavailable_after.iter().map(|date| format!("unavailable_after: {date}"))).collect()
}

fn truncations(truncated: &Truncated) -> Vec<&'static str> {
    truncated.reached().map(|(limit, _)| limit.name()).collect()
}
