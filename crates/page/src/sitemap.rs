//! Sitemaps and feeds: lists of addresses with what is said about each.
//!
//! A tolerant reader of its own: it looks for the few elements it knows by their local names, wherever they stand,
//! and never minds what surrounds them. Compressed files are inflated by the caller.

use super::byte_class::trim;
use super::entities::{self, Context};
use super::xml::{Reader, Token};

/// Entries of one file; the protocol's own limit.
pub const MAX_ENTRIES: usize = 50_000;
/// Bytes of one address.
pub const MAX_LOC_BYTES: usize = 2_048;
/// Bytes of a date or another small value.
const MAX_VALUE_BYTES: usize = 128;
/// Elements inside each other; what lies deeper is passed over.
const MAX_DEPTH: usize = 32;

/// What sort of list it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `<urlset>`: pages.
    UrlSet,
    /// `<sitemapindex>`: further sitemaps.
    Index,
    /// RSS 0.9x, 1.0, 2.0.
    Rss,
    Atom,
    /// One address per line.
    Text,
}

impl ListKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UrlSet => "urlset",
            Self::Index => "sitemapindex",
            Self::Rss => "rss",
            Self::Atom => "atom",
            Self::Text => "text",
        }
    }
}

/// One address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    pub loc: String,
    /// Date as written: `lastmod`, `pubDate`, `dc:date`, `updated` or `published`.
    pub lastmod: Option<String>,
    pub changefreq: Option<ChangeFreq>,
    /// 0 to 1.
    pub priority: Option<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeFreq {
    Always,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
    Never,
}

/// A list read.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    pub kind: ListKind,
    pub entries: Vec<Entry>,
    /// Entries that were left out because there are too many.
    pub beyond: u64,
    /// Entries that were left out because their address is too long.
    pub too_long: u64,
    limits: ListLimits,
}

/// How much of one list is kept; [`ListLimits::default`] is what the protocol allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLimits {
    pub max_entries: usize,
    pub max_loc_bytes: usize,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self { max_entries: MAX_ENTRIES, max_loc_bytes: MAX_LOC_BYTES }
    }
}

/// Reads a list; `None` when `text` is none that we know.
pub fn parse(text: &str) -> Option<Listing> {
    parse_within(text, ListLimits::default())
}

/// The same within other limits.
pub fn parse_within(text: &str, limits: ListLimits) -> Option<Listing> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('<') {
        return plain(text, limits);
    }
    let mut reader = Reader::new(text);
    while let Some(token) = reader.next() {
        let Token::Start { name, .. } = token else {
            continue;
        };
        let kind = match local(name) {
            "urlset" => ListKind::UrlSet,
            "sitemapindex" => ListKind::Index,
            "rss" | "RDF" => ListKind::Rss,
            "feed" => ListKind::Atom,
            _ => return None,
        };
        return Some(entries(reader, kind, limits));
    }
    None
}

fn plain(text: &str, limits: ListLimits) -> Option<Listing> {
    let mut listing = Listing::new(ListKind::Text, limits);
    for line in text.lines().map(trim).filter(|l| l.starts_with("http://") || l.starts_with("https://")) {
        listing.add(Entry { loc: line.to_owned(), ..Entry::default() });
    }
    (!listing.entries.is_empty()).then_some(listing)
}

fn entries(reader: Reader<'_>, kind: ListKind, limits: ListLimits) -> Listing {
    let item = match kind {
        ListKind::UrlSet => "url",
        ListKind::Index => "sitemap",
        ListKind::Rss => "item",
        ListKind::Atom | ListKind::Text => "entry",
    };
    let mut listing = Listing::new(kind, limits);
    let mut depth = 0usize;
    // The entry being read, the depth it was opened at, and a fallback address.
    let mut open: Option<(Entry, usize, Option<String>)> = None;
    let mut field: Option<(&str, usize)> = None;
    let mut value = String::new();
    for token in reader {
        match token {
            Token::Start { name, attributes, empty } => {
                let name = local(name);
                if let Some((entry, at, _)) = &mut open {
                    if kind == ListKind::Atom && name == "link" && depth == *at + 1 {
                        atom_link(entry, attributes);
                    }
                    if !empty && depth == *at + 1 {
                        field = Some((name, depth));
                        value.clear();
                    }
                } else if name == item && !empty && depth < MAX_DEPTH {
                    open = Some((Entry::default(), depth, None));
                }
                depth += usize::from(!empty);
            }
            Token::Text { text, raw } => {
                if field.is_some() && value.len() <= limits.max_loc_bytes.saturating_mul(2) {
                    append(&mut value, text, raw);
                }
            }
            Token::End { name } => {
                depth = depth.saturating_sub(1);
                if let (Some((field_name, at)), Some((entry, _, fallback))) = (field, &mut open)
                    && depth <= at
                {
                    set(entry, fallback, kind, field_name, trim(&value));
                    field = None;
                }
                if local(name) == item
                    && let Some((mut entry, at, fallback)) = open.take()
                {
                    depth = at;
                    if entry.loc.is_empty() {
                        entry.loc = fallback.unwrap_or_default();
                    }
                    listing.add(entry);
                }
            }
        }
    }
    // A file cut short still tells its last address.
    if let Some((mut entry, _, fallback)) = open {
        if entry.loc.is_empty() {
            entry.loc = fallback.unwrap_or_default();
        }
        listing.add(entry);
    }
    listing
}

impl Listing {
    fn new(kind: ListKind, limits: ListLimits) -> Self {
        Self { kind, entries: Vec::new(), beyond: 0, too_long: 0, limits }
    }

    fn add(&mut self, entry: Entry) {
        if entry.loc.is_empty() {
            return;
        }
        if entry.loc.len() > self.limits.max_loc_bytes {
            self.too_long += 1;
            return;
        }
        if self.entries.len() >= self.limits.max_entries {
            self.beyond += 1;
            return;
        }
        self.entries.push(entry);
    }
}

fn set(entry: &mut Entry, fallback: &mut Option<String>, kind: ListKind, field: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    let short = value.len() <= MAX_VALUE_BYTES;
    let sitemap = matches!(kind, ListKind::UrlSet | ListKind::Index);
    match field {
        "loc" if sitemap && entry.loc.is_empty() => entry.loc = value.to_owned(),
        "link" if kind == ListKind::Rss && entry.loc.is_empty() => entry.loc = value.to_owned(),
        "guid" | "id" if value.starts_with("http") && fallback.is_none() => {
            *fallback = Some(value.to_owned())
        }
        "lastmod" | "pubDate" | "date" | "updated" | "modified" if short => {
            entry.lastmod = Some(value.to_owned())
        }
        "published" if short && entry.lastmod.is_none() => entry.lastmod = Some(value.to_owned()),
        "changefreq" => entry.changefreq = change_freq(value),
        "priority" => entry.priority = value.parse().ok().filter(|p| (0.0..=1.0).contains(p)),
        _ => {}
    }
}

fn change_freq(value: &str) -> Option<ChangeFreq> {
    const WORDS: [(&str, ChangeFreq); 7] = [
        ("always", ChangeFreq::Always),
        ("hourly", ChangeFreq::Hourly),
        ("daily", ChangeFreq::Daily),
        ("weekly", ChangeFreq::Weekly),
        ("monthly", ChangeFreq::Monthly),
        ("yearly", ChangeFreq::Yearly),
        ("never", ChangeFreq::Never),
    ];
    WORDS.iter().find(|(w, _)| value.eq_ignore_ascii_case(w)).map(|&(_, f)| f)
}

/// `<link href rel>`: the page itself is the one with `rel=alternate` or none.
fn atom_link(entry: &mut Entry, attributes: &str) {
    let rel = attribute(attributes, "rel");
    if !entry.loc.is_empty() || rel.as_deref().is_some_and(|r| r != "alternate") {
        return;
    }
    entry.loc = attribute(attributes, "href").unwrap_or_default();
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut found = None;
    let terminated = [attributes, ">"].concat();
    super::attributes::walk(terminated.as_bytes(), 0, |name, range| {
        if found.is_none() && name.written == wanted.as_bytes() {
            found = terminated.get(range);
        }
    });
    let mut value = String::new();
    append(&mut value, trim(found?), false);
    Some(value)
}

fn append(out: &mut String, text: &str, raw: bool) {
    let mut rest = text;
    while let Some(at) = rest.find('&').filter(|_| !raw) {
        let (before, reference) = rest.split_at(at);
        out.push_str(before);
        match entities::decode(reference.as_bytes(), Context::Attribute) {
            Some((chars, len)) => {
                out.push(chars.first);
                out.extend(chars.second);
                rest = reference.get(len..).unwrap_or("");
            }
            None => {
                out.push('&');
                rest = reference.get(1..).unwrap_or("");
            }
        }
    }
    out.push_str(rest);
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}
