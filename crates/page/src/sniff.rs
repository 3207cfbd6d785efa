//! What kind of document a body is, from its `Content-Type` and its first bytes.
//!
//! The header is believed where it is specific and plausible; it is overruled when the bytes carry the signature of
//! a binary format or when it says nothing useful.

/// How a body is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    Html,
    /// A sitemap or an index of sitemaps.
    Sitemap,
    /// RSS or Atom.
    Feed,
    /// XML of any other sort.
    Xml,
    Text,
    Image,
    Pdf,
    Other,
}

impl ContentKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Sitemap => "sitemap",
            Self::Feed => "feed",
            Self::Xml => "xml",
            Self::Text => "text",
            Self::Image => "image",
            Self::Pdf => "pdf",
            Self::Other => "other",
        }
    }
}

/// How much of the body decides.
const SNIFF_BYTES: usize = 1024;

/// No registered media type is longer.
const MAX_MEDIA_BYTES: usize = 128;

/// Judges a body.
pub fn sniff(content_type: Option<&str>, body: &[u8]) -> ContentKind {
    let head = body.get(..SNIFF_BYTES).unwrap_or(body);
    if let Some(kind) = signature(head) {
        return kind;
    }
    let mut lower = [0; MAX_MEDIA_BYTES];
    let media = content_type.map(|c| media_type(c, &mut lower));
    match media {
        Some("text/html") => ContentKind::Html,
        Some("application/xhtml+xml") => ContentKind::Html,
        Some("application/rss+xml" | "application/atom+xml" | "application/rdf+xml") => ContentKind::Feed,
        Some("image/svg+xml") => ContentKind::Image,
        Some("application/pdf") => ContentKind::Pdf,
        Some(m) if m == "text/xml" || m == "application/xml" || m.ends_with("+xml") => xml_kind(head),
        Some("text/plain") => match markup(head) {
            Some(kind @ (ContentKind::Sitemap | ContentKind::Feed)) => kind,
            _ if is_binary(head) => ContentKind::Other,
            _ => ContentKind::Text,
        },
        Some(m) if m.starts_with("image/") => ContentKind::Image,
        None | Some("" | "application/octet-stream" | "unknown/unknown" | "application/unknown" | "*/*") => {
            unstated(head)
        }
        Some(m) if m.starts_with("text/") => ContentKind::Text,
        Some(m) if !m.contains('/') => unstated(head),
        Some(_) => ContentKind::Other,
    }
}

/// The type and subtype in lower case; empty when it cannot be one.
fn media_type<'l>(content_type: &str, lower: &'l mut [u8; MAX_MEDIA_BYTES]) -> &'l str {
    let written = content_type.split(';').next().unwrap_or("").trim_ascii();
    let Some(target) = lower.get_mut(..written.len()) else {
        return "";
    };
    target.copy_from_slice(written.as_bytes());
    target.make_ascii_lowercase();
    std::str::from_utf8(target).unwrap_or("")
}

fn unstated(head: &[u8]) -> ContentKind {
    match markup(head) {
        Some(kind) => kind,
        None if is_binary(head) => ContentKind::Other,
        None => ContentKind::Text,
    }
}

fn signature(head: &[u8]) -> Option<ContentKind> {
    const IMAGES: [&[u8]; 6] =
        [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"\0\0\x01\0"];
    const OTHERS: [&[u8]; 6] =
        [b"PK\x03\x04", b"\x1f\x8b\x08", b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c", b"OggS\0", b"ID3\x03"];
    if head.starts_with(b"%PDF-") {
        return Some(ContentKind::Pdf);
    }
    let webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
    if webp || is_bitmap(head) || IMAGES.iter().any(|s| head.starts_with(s)) {
        return Some(ContentKind::Image);
    }
    OTHERS.iter().any(|s| head.starts_with(s)).then_some(ContentKind::Other)
}

/// A Windows bitmap: its letters alone begin many a text, so the length of its inner header must fit, too.
fn is_bitmap(head: &[u8]) -> bool {
    const HEADER_BYTES: [u8; 7] = [12, 40, 52, 56, 64, 108, 124];
    head.starts_with(b"BM")
        && matches!(head.get(14..18), Some([length, 0, 0, 0]) if HEADER_BYTES.contains(length))
}

fn markup(head: &[u8]) -> Option<ContentKind> {
    const HTML: [&str; 17] = [
        "!doctype html",
        "html",
        "head",
        "body",
        "script",
        "iframe",
        "h1",
        "div",
        "font",
        "table",
        "a",
        "style",
        "title",
        "b",
        "br",
        "p",
        "meta",
    ];
    let mut rest = without_mark(head).trim_ascii_start();
    while let Some(inside) = rest.strip_prefix(b"<!--") {
        let end = memchr::memmem::find(inside, b"-->")?;
        rest = inside.get(end + 3..)?.trim_ascii_start();
    }
    if rest.starts_with(b"<?xml") {
        return Some(xml_kind(head));
    }
    let tag = rest.strip_prefix(b"<")?;
    let is = |name: &str| {
        tag.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name.as_bytes()))
            && tag.get(name.len()).is_none_or(|b| !b.is_ascii_alphanumeric())
    };
    if HTML.iter().any(|name| is(name)) {
        return Some(ContentKind::Html);
    }
    match xml_kind(head) {
        ContentKind::Xml => None,
        kind => Some(kind),
    }
}

/// Tells XML documents apart by their first element.
fn xml_kind(head: &[u8]) -> ContentKind {
    let mut rest = without_mark(head);
    while let Some(open) = memchr::memchr(b'<', rest) {
        rest = rest.get(open + 1..).unwrap_or(b"");
        match rest.first() {
            Some(b'!') if rest.starts_with(b"!--") => {
                let Some(end) = memchr::memmem::find(rest, b"-->") else {
                    break;
                };
                rest = rest.get(end..).unwrap_or(b"");
            }
            Some(b'!' | b'?') => {}
            Some(_) => {
                let end = rest.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'));
                let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or(b"");
                let local = name.rsplit(|&b| b == b':').next().unwrap_or(name);
                let is = |known: &[&[u8]]| known.iter().any(|k| local.eq_ignore_ascii_case(k));
                return match () {
                    () if is(&[b"urlset", b"sitemapindex"]) => ContentKind::Sitemap,
                    () if is(&[b"rss", b"feed", b"rdf"]) => ContentKind::Feed,
                    () if is(&[b"html"]) => ContentKind::Html,
                    () if is(&[b"svg"]) => ContentKind::Image,
                    () => ContentKind::Xml,
                };
            }
            None => break,
        }
    }
    ContentKind::Xml
}

fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

/// Control characters that no text has.
fn is_binary(head: &[u8]) -> bool {
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !utf16 && head.iter().any(|&b| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_bytes() {
        let cases: &[(Option<&str>, &[u8], ContentKind)] = &[
            (Some("text/html; charset=x"), b"anything", ContentKind::Html),
            (Some("text/html"), b"%PDF-1.4", ContentKind::Pdf),
            (Some("text/html"), b"\x89PNG\r\n\x1a\n", ContentKind::Image),
            (Some("Application/XML"), b"<?xml version='1.0'?><!-- c --><urlset>", ContentKind::Sitemap),
            (Some("text/xml"), b"<rss version='2.0'>", ContentKind::Feed),
            (Some("text/xml"), b"<rdf:RDF xmlns='x'>", ContentKind::Feed),
            (Some("text/xml"), b"<x/>", ContentKind::Xml),
            (Some("text/xml"), b"", ContentKind::Xml),
            (Some("application/xhtml+xml"), b"<html>", ContentKind::Html),
            (Some("text/plain"), b"<html>", ContentKind::Text),
            (Some("text/plain"), b"\0\x01", ContentKind::Other),
            (Some("image/svg+xml"), b"<svg>", ContentKind::Image),
            (Some("application/zip"), b"x", ContentKind::Other),
            (None, b"BM\x36\x10\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x08\0\0\0", ContentKind::Image),
            (None, b"BM is a word, and BMW is a car that people write about", ContentKind::Text),
            (None, b"  <!-- c --> <!DOCTYPE HTML>", ContentKind::Html),
            (None, b"<pre>", ContentKind::Text),
            (None, b"<p>x", ContentKind::Html),
            (None, b"<?xml?><feed xmlns=''>", ContentKind::Feed),
            (None, b"words", ContentKind::Text),
            (None, b"", ContentKind::Text),
            (Some("nonsense"), b"<body>", ContentKind::Html),
            (None, b"\x1f\x8b\x08", ContentKind::Other),
        ];
        for (content_type, body, kind) in cases {
            assert_eq!(sniff(*content_type, body), *kind, "{content_type:?} {body:?}");
        }
    }
}
