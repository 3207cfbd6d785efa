//! Bytes to text: which encoding, and the text in it.
//!
//! Asked in this order: byte order mark, the `Content-Type` header, a `<meta>` (or XML declaration) in the first
//! kilobyte, the bytes themselves. A body that is valid UTF-8 is borrowed, never copied; a byte that means nothing
//! in the chosen encoding becomes U+FFFD.

use super::attributes::{Attr, Attributes, walk};
use super::byte_class::{SPACE, skip};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// How far into the body a declaration may stand.
const PRESCAN_BYTES: usize = 1024;
/// How much of the body the detector looks at.
const DETECT_BYTES: usize = 64 << 10;

/// Who said what the encoding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharsetSource {
    Bom,
    Header,
    Meta,
    Detected,
    /// Nobody, and it makes no difference: all bytes are ASCII.
    Default,
}

impl CharsetSource {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bom => "bom",
            Self::Header => "header",
            Self::Meta => "meta",
            Self::Detected => "detected",
            Self::Default => "default",
        }
    }
}

/// A decoded body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'b> {
    pub text: Cow<'b, str>,
    /// The encoding's name in the WHATWG Encoding Standard.
    pub encoding: &'static str,
    pub source: CharsetSource,
    /// Some bytes meant nothing in that encoding.
    pub had_errors: bool,
}

/// Decodes a page's body, given its `Content-Type` header if it had one.
pub fn decode<'b>(body: &'b [u8], content_type: Option<&str>) -> Decoded<'b> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return decode_as(body.get(mark..).unwrap_or(b""), encoding, CharsetSource::Bom);
    }
    if let Some(encoding) = content_type.and_then(from_content_type) {
        return decode_as(body, encoding, CharsetSource::Header);
    }
    if let Some(encoding) = from_declaration(body) {
        return decode_as(body, encoding, CharsetSource::Meta);
    }
    if body.is_ascii() {
        return decode_as(body, UTF_8, CharsetSource::Default);
    }
    decode_as(body, detect(body), CharsetSource::Detected)
}

fn decode_as<'b>(body: &'b [u8], encoding: &'static Encoding, source: CharsetSource) -> Decoded<'b> {
    let name = encoding.name();
    if encoding == UTF_8
        && let Ok(text) = std::str::from_utf8(body)
    {
        return Decoded { text: Cow::Borrowed(text), encoding: name, source, had_errors: false };
    }
    let (text, had_errors) = encoding.decode_without_bom_handling(body);
    Decoded { text, encoding: name, source, had_errors }
}

/// The encoding a `Content-Type` value names.
fn from_content_type(value: &str) -> Option<&'static Encoding> {
    named_in(value).and_then(|label| Encoding::for_label(label.as_bytes())).filter(|e| *e != REPLACEMENT)
}

/// The label after `charset=` in a media type or in a `<meta>` content.
fn named_in(value: &str) -> Option<&str> {
    const WORD: &[u8] = b"charset";
    let bytes = value.as_bytes();
    let mut at = 0;
    loop {
        let found = bytes.get(at..)?.windows(WORD.len()).position(|w| w.eq_ignore_ascii_case(WORD))?;
        at = skip(bytes, at + found + WORD.len(), SPACE);
        if bytes.get(at) == Some(&b'=') {
            break;
        }
    }
    at = skip(bytes, at + 1, SPACE);
    let rest = value.get(at..)?;
    match bytes.get(at)? {
        quote @ (b'"' | b'\'') => rest.get(1..)?.split_once(*quote as char).map(|(label, _)| label),
        _ => rest.split(|c: char| c == ';' || c == ',' || c.is_ascii_whitespace()).next(),
    }
}

/// What a declaration can mean: it was readable as ASCII, so it cannot be UTF-16.
fn declared(label: &str) -> Option<&'static Encoding> {
    match Encoding::for_label(label.as_bytes())? {
        e if e == UTF_16BE || e == UTF_16LE => Some(UTF_8),
        e if e == X_USER_DEFINED => Some(WINDOWS_1252),
        e if e == REPLACEMENT => None,
        e => Some(e),
    }
}

/// Looks for `<meta charset>`, `<meta http-equiv=content-type>` or `<?xml encoding?>` in the first kilobyte.
fn from_declaration(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..PRESCAN_BYTES).unwrap_or(body);
    let mut attributes = Attributes::default();
    let mut at = 0;
    while let Some(found) = head.get(at..).and_then(|tail| memchr::memchr(b'<', tail)) {
        at += found;
        let tail = head.get(at..)?;
        match tail {
            [b'<', b'!', b'-', b'-', ..] => at = super::raw_text::after_comment(head, at + 4),
            [b'<', b'?', b'x', b'm', b'l', b' ' | b'\t' | b'\r' | b'\n', ..] if at == 0 => {
                let end = memchr::memchr(b'>', tail)?;
                if let Some(encoding) = from_xml(tail.get(..end)?) {
                    return Some(encoding);
                }
                at += end;
            }
            [b'<', b'!' | b'?', ..] => at += memchr::memchr(b'>', tail)? + 1,
            [b'<', b'/', c, ..] | [b'<', c, ..] if c.is_ascii_alphabetic() => {
                let name_at = at + if tail.get(1) == Some(&b'/') { 2 } else { 1 };
                let name_end = super::byte_class::find(head, name_at, super::byte_class::NAME_END);
                let is_meta = name_at == at + 1
                    && head.get(name_at..name_end).is_some_and(|n| n.eq_ignore_ascii_case(b"meta"));
                attributes.clear();
                let end = walk(head, name_end, |name, value| attributes.note(name, value))?;
                if is_meta && let Some(encoding) = from_meta(&attributes, head) {
                    return Some(encoding);
                }
                at = end.next;
            }
            [b'<', b'/', ..] => at += memchr::memchr(b'>', tail)? + 1,
            _ => at += 1,
        }
    }
    None
}

fn from_meta(attributes: &Attributes, head: &[u8]) -> Option<&'static Encoding> {
    let value = |attr| attributes.range(attr).and_then(|r| std::str::from_utf8(head.get(r)?).ok());
    if let Some(label) = value(Attr::Charset) {
        return declared(label);
    }
    if !value(Attr::HttpEquiv)?.trim().eq_ignore_ascii_case("content-type") {
        return None;
    }
    declared(named_in(value(Attr::Content)?)?)
}

fn from_xml(declaration: &[u8]) -> Option<&'static Encoding> {
    let mut attributes = Attributes::default();
    let terminated = [declaration, b">"].concat();
    walk(&terminated, 5, |name, value| attributes.note(name, value));
    let range = attributes.range(Attr::Encoding)?;
    declared(std::str::from_utf8(terminated.get(range)?).ok()?)
}

/// Guesses from the bytes. A body cut inside a character is still UTF-8.
fn detect(body: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(body) {
        Ok(_) => return UTF_8,
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            if !body.get(..error.valid_up_to()).is_some_and(<[u8]>::is_ascii) {
                return UTF_8;
            }
        }
        Err(_) => {}
    }
    let sample = body.get(..DETECT_BYTES).unwrap_or(body);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == body.len());
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &[u8], content_type: Option<&str>) -> (String, &'static str, CharsetSource) {
        let d = decode(body, content_type);
        (d.text.into_owned(), d.encoding, d.source)
    }

    #[test]
    fn the_mark_wins_then_the_header_then_the_page() {
        let t = |s: &str, e, c| (s.to_string(), e, c);
        assert_eq!(
            told(b"\xef\xbb\xbf\xc3\xa9", Some("text/html; charset=latin1")),
            t("é", "UTF-8", CharsetSource::Bom)
        );
        assert_eq!(told(b"\xff\xfea\0", None), t("a", "UTF-16LE", CharsetSource::Bom));
        assert_eq!(
            told(b"\xe9", Some("text/html;charset=\"ISO-8859-1\"")),
            t("é", "windows-1252", CharsetSource::Header)
        );
        assert_eq!(told(b"\xa4", Some("text/html; x=1; Charset = iso-8859-15 ;y")).0, "€");
        let meta = b"<!-- <meta charset=big5> --><meta charset='windows-1251'>\xcf";
        let decoded = told(meta, Some("text/html"));
        assert!(decoded.0.ends_with('П') && decoded.2 == CharsetSource::Meta);
        let equiv = b"<html><META content='text/html; charset=koi8-r' http-equiv=Content-Type>\xd0";
        assert_eq!(told(equiv, None).1, "KOI8-R");
        assert_eq!(told(b"<?xml version='1.0' encoding='iso-8859-2'?><a>\xb1", None).1, "ISO-8859-2");
    }

    #[test]
    fn declarations_that_cannot_be() {
        assert_eq!(told(b"<meta charset=utf-16>\xc3\xa9", None).1, "UTF-8");
        assert_eq!(
            told(b"<meta charset=nonsense>\xc3\xa9", None),
            ("<meta charset=nonsense>é".into(), "UTF-8", CharsetSource::Detected)
        );
        let mut far = vec![b' '; PRESCAN_BYTES];
        far.extend_from_slice(b"<meta charset=koi8-r>");
        assert_eq!(told(&far, None).2, CharsetSource::Default);
    }

    #[test]
    fn detection() {
        assert_eq!(told(b"plain", None).2, CharsetSource::Default);
        assert_eq!(told("naïve café".as_bytes(), None).1, "UTF-8");
        let (text, _, _) =
            (encoding_rs::WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок"), 0, 0);
        assert_eq!(told(&text.0, None).1, "windows-1251");
        let cut = &"日本語のページ".as_bytes()[..10];
        assert_eq!(decode(cut, None).encoding, "UTF-8");
    }

    #[test]
    fn utf8_is_borrowed() {
        assert!(matches!(decode("é".as_bytes(), None).text, Cow::Borrowed(_)));
        assert!(matches!(decode(b"ascii", Some("text/html; charset=iso-8859-1")).text, Cow::Borrowed(_)));
        let bad = decode(b"a\xffb", Some("text/html; charset=utf-8"));
        assert!(bad.had_errors && bad.text == "a\u{fffd}b");
    }
}
