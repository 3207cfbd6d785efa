//! The attributes of one tag.
//!
//! [`walk`] steps over them exactly as HTML's tokenizer does; [`Attributes`] keeps those the crate has a use for, as
//! ranges of the source. The first of several attributes with one name counts. Nothing is decoded here.

use super::byte_class::{ATTR_END, SPACE, UNQUOTED_END, find, is, skip};
use super::swar;
use std::ops::Range;

/// The attributes somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Attr {
    Href,
    XlinkHref,
    Src,
    Srcset,
    Data,
    Rel,
    Type,
    Name,
    Property,
    Itemprop,
    HttpEquiv,
    Content,
    Charset,
    Lang,
    XmlLang,
    Datetime,
    Alt,
    Title,
    Download,
    Encoding,
}

const COUNT: usize = Attr::Encoding as usize + 1;

/// A name as found: packed when it has up to eight bytes (see [`swar::pack`]), and as written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'b> {
    packed: u64,
    pub written: &'b [u8],
}

impl Attr {
    #[inline(always)]
    fn of(name: Name<'_>) -> Option<Self> {
        macro_rules! packed {
            ($($constant:ident = $text:literal => $attr:ident,)*) => {{
                $(const $constant: u64 = swar::pack($text);)*
                match name.packed {
                    $($constant => Some(Self::$attr),)*
                    0 => Self::of_long(name.written),
                    _ => None,
                }
            }};
        }
        packed! {
            HREF = b"href" => Href,
            SRC = b"src" => Src,
            SRCSET = b"srcset" => Srcset,
            DATA = b"data" => Data,
            REL = b"rel" => Rel,
            TYPE = b"type" => Type,
            NAME = b"name" => Name,
            PROPERTY = b"property" => Property,
            ITEMPROP = b"itemprop" => Itemprop,
            CONTENT = b"content" => Content,
            CHARSET = b"charset" => Charset,
            LANG = b"lang" => Lang,
            XML_LANG = b"xml:lang" => XmlLang,
            DATETIME = b"datetime" => Datetime,
            ALT = b"alt" => Alt,
            TITLE = b"title" => Title,
            DOWNLOAD = b"download" => Download,
            ENCODING = b"encoding" => Encoding,
        }
    }

    fn of_long(name: &[u8]) -> Option<Self> {
        match name {
            _ if name.eq_ignore_ascii_case(b"http-equiv") => Some(Self::HttpEquiv),
            _ if name.eq_ignore_ascii_case(b"xlink:href") => Some(Self::XlinkHref),
            _ => None,
        }
    }
}

/// The wanted attributes of one tag, as ranges of the source.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    present: u32,
    values: [(u32, u32); COUNT],
}

impl Attributes {
    /// Notes an attribute unless one of its name was seen before.
    #[inline]
    pub fn note(&mut self, name: Name<'_>, value: Range<usize>) {
        let Some(attr) = Attr::of(name) else { return };
        let bit = 1 << attr as u32;
        if self.present & bit == 0 {
            self.present |= bit;
            self.values[attr as usize] = (value.start as u32, value.end as u32);
        }
    }

    pub fn clear(&mut self) {
        self.present = 0;
    }

    pub fn has(&self, attr: Attr) -> bool {
        self.present & (1 << attr as u32) != 0
    }

    /// Where the value stands in the source.
    pub fn range(&self, attr: Attr) -> Option<Range<usize>> {
        let (start, end) = self.values[attr as usize];
        self.has(attr).then_some(start as usize..end as usize)
    }

    /// The value as written in `source`.
    pub fn get<'s>(&self, attr: Attr, source: &'s str) -> Option<&'s str> {
        self.range(attr).and_then(|r| source.get(r))
    }
}

/// How a tag ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TagEnd {
    /// The position after `>`.
    pub next: usize,
    pub self_closing: bool,
}

/// Steps over the attributes from `at` (just after the tag's name) to the end of the tag, calling `found` with each
/// name and the range of its value. `None`: the source ends inside the tag, which then is no tag at all.
#[inline(always)]
pub(crate) fn walk<'b>(
    bytes: &'b [u8],
    at: usize,
    mut found: impl FnMut(Name<'b>, Range<usize>),
) -> Option<TagEnd> {
    let mut i = at;
    loop {
        i = skip(bytes, i, SPACE);
        match *bytes.get(i)? {
            b'>' => {
                return Some(TagEnd { next: i + 1, self_closing: false });
            }
            b'/' => {
                if *bytes.get(i + 1)? == b'>' {
                    return Some(TagEnd { next: i + 2, self_closing: true });
                }
                i += 1;
                continue;
            }
            _ => {}
        }
        let name_at = i;
        let name = read_name(bytes, name_at);
        i += name.written.len();
        i = skip(bytes, i, SPACE);
        if *bytes.get(i)? != b'=' {
            found(name, i..i);
            continue;
        }
        i = skip(bytes, i + 1, SPACE);
        match *bytes.get(i)? {
            quote @ (b'"' | b'\'') => {
                let start = i + 1;
                let end = swar::find_near(bytes, start, quote)?;
                found(name, start..end);
                i = end + 1;
            }
            b'>' => {
                found(name, i..i);
                return Some(TagEnd { next: i + 1, self_closing: false });
            }
            _ => {
                let start = i;
                i = find(bytes, i, UNQUOTED_END);
                bytes.get(i)?;
                found(name, start..i);
            }
        }
    }
}

/// As [`walk`] for a tag whose attributes say nothing: only the end is looked for. Most attributes are a name, `="` and a
/// value up to the next quote; at anything else the walk goes on from a place between two attributes.
#[inline(always)]
pub(crate) fn step_over(bytes: &[u8], at: usize) -> Option<TagEnd> {
    let mut i = at;
    loop {
        if bytes.get(i) == Some(&b'>') {
            return Some(TagEnd { next: i + 1, self_closing: false });
        }
        // Outside values a quote means nothing: the first `=` or `>` does.
        let Some(word) = swar::load(bytes, i) else { break };
        let marks = swar::equal(word & LOW_BITS_OFF, b'<');
        let mark = i + swar::first(marks);
        let follows_name = mark > i && bytes.get(mark - 1).is_some_and(u8::is_ascii_alphanumeric);
        if marks == 0 || !follows_name || bytes.get(mark..mark + 2) != Some(b"=\"") {
            break;
        }
        i = swar::find_near(bytes, mark + 2, b'"')? + 1;
    }
    walk(bytes, i, |_, _| {})
}

/// The name at `at`, which is no white space, `/` or `>`.
#[inline(always)]
fn read_name(bytes: &[u8], at: usize) -> Name<'_> {
    if let Some(word) = swar::load(bytes, at) {
        // All that ends a name lies below `-` or is one of `/ < = > ?`; what else lies there takes the slow way.
        let marks =
            swar::below(word, b'-') | swar::equal(word, b'/') | swar::equal(word & LOW_BITS_OFF, b'<');
        let len = swar::first(marks);
        if marks != 0
            && len != 0
            && let Some(written) = bytes.get(at..at + len)
            && bytes.get(at + len).is_some_and(|&b| is(b, ATTR_END))
        {
            return Name { packed: swar::small_letters(word, len), written };
        }
    }
    read_long_name(bytes, at)
}

/// Sends `<`, `=`, `>` and `?` to `<`.
const LOW_BITS_OFF: u64 = 0xfcfc_fcfc_fcfc_fcfc;

#[inline(never)]
fn read_long_name(bytes: &[u8], at: usize) -> Name<'_> {
    // The first byte belongs to the name whatever it is, even `=`.
    let written = bytes.get(at..find(bytes, at + 1, ATTR_END)).unwrap_or(b"");
    Name { packed: swar::pack(written), written }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn all(tail: &str) -> Option<(Vec<(String, String)>, TagEnd)> {
        let mut seen = Vec::new();
        let end = walk(tail.as_bytes(), 0, |name, value| {
            seen.push((String::from_utf8_lossy(name.written).into_owned(), tail[value].to_owned()));
        })?;
        Some((seen, end))
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
    }

    #[test]
    fn quoting_styles() {
        let (seen, end) = all(" a=\"1\" b='2' c=3 d e = 5>x").unwrap();
        assert_eq!(seen, pairs(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", ""), ("e", "5")]));
        assert_eq!(end, TagEnd { next: 25, self_closing: false });
    }

    #[test]
    fn oddities() {
        assert_eq!(all("/>").unwrap().1, TagEnd { next: 2, self_closing: true });
        assert_eq!(all(" href=/>").unwrap().0, pairs(&[("href", "/")]));
        assert_eq!(all(" =x=y>").unwrap().0, pairs(&[("=x", "y")]));
        assert_eq!(all(" a\"b=1'>").unwrap().0, pairs(&[("a\"b", "1'")]));
        assert_eq!(all(" a=\"1\"b=2>").unwrap().0, pairs(&[("a", "1"), ("b", "2")]));
        assert_eq!(all(" a=>").unwrap().0, pairs(&[("a", "")]));
        assert_eq!(all(" a/b>").unwrap().0, pairs(&[("a", ""), ("b", "")]));
        assert_eq!(all(" a=\"1>"), None);
        assert_eq!(all(" a"), None);
    }

    #[test]
    fn stepping_over_ends_where_walking_ends() {
        let parts = [
            " ",
            "a",
            "id",
            "=",
            "=\"",
            "\"",
            "'",
            ">",
            "/",
            "<",
            "?",
            "b=\"c\"",
            "x=1",
            "é",
            "=",
            " id=\"a b\"",
        ];
        let mut dice = Dice(3);
        for _ in 0..200_000 {
            let tail = dice.text(14, &parts);
            assert_eq!(step_over(tail.as_bytes(), 0), walk(tail.as_bytes(), 0, |_, _| {}), "{tail}");
        }
    }

    #[test]
    fn the_first_of_a_name_counts() {
        let source = " href=1 HREF=2 Alt=3>";
        let mut attributes = Attributes::default();
        walk(source.as_bytes(), 0, |n, v| attributes.note(n, v)).unwrap();
        assert_eq!(attributes.get(Attr::Href, source), Some("1"));
        assert_eq!(attributes.get(Attr::Alt, source), Some("3"));
        assert_eq!(attributes.get(Attr::Src, source), None);
    }
}
