//! The attributes of one tag.
//!
//! [`walk`] steps over them exactly as HTML's tokenizer does; [`Attributes`] keeps those the crate has a use for, as
//! ranges of the source. The first of several attributes with one name counts. Nothing is decoded here.

use super::byte_class::{ATTR_END, SPACE, UNQUOTED_END, find, skip};
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
    Hreflang,
    Datetime,
    Alt,
    Title,
    Download,
    Encoding,
}

const COUNT: usize = Attr::Encoding as usize + 1;

impl Attr {
    fn of(name: &[u8]) -> Option<Self> {
        let candidates: &[(&[u8], Attr)] = match name.len() {
            3 => &[(b"src", Self::Src), (b"rel", Self::Rel), (b"alt", Self::Alt)],
            4 => &[
                (b"href", Self::Href),
                (b"type", Self::Type),
                (b"name", Self::Name),
                (b"lang", Self::Lang),
                (b"data", Self::Data),
            ],
            5 => &[(b"title", Self::Title)],
            6 => &[(b"srcset", Self::Srcset)],
            7 => &[(b"content", Self::Content), (b"charset", Self::Charset)],
            8 => &[
                (b"property", Self::Property),
                (b"datetime", Self::Datetime),
                (b"hreflang", Self::Hreflang),
                (b"download", Self::Download),
                (b"itemprop", Self::Itemprop),
                (b"xml:lang", Self::XmlLang),
                (b"encoding", Self::Encoding),
            ],
            10 => &[(b"http-equiv", Self::HttpEquiv), (b"xlink:href", Self::XlinkHref)],
            _ => &[],
        };
        candidates
            .iter()
            .find(|(n, _)| name.eq_ignore_ascii_case(n))
            .map(|&(_, attr)| attr)
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
    pub fn note(&mut self, name: &[u8], value: Range<usize>) {
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
    mut found: impl FnMut(&'b [u8], Range<usize>),
) -> Option<TagEnd> {
    let mut i = at;
    loop {
        i = skip(bytes, i, SPACE);
        match *bytes.get(i)? {
            b'>' => {
                return Some(TagEnd {
                    next: i + 1,
                    self_closing: false,
                });
            }
            b'/' => {
                if *bytes.get(i + 1)? == b'>' {
                    return Some(TagEnd {
                        next: i + 2,
                        self_closing: true,
                    });
                }
                i += 1;
                continue;
            }
            _ => {}
        }
        let name_at = i;
        // The first byte belongs to the name whatever it is, even `=`.
        i = find(bytes, i + 1, ATTR_END);
        let name = bytes.get(name_at..i)?;
        i = skip(bytes, i, SPACE);
        if *bytes.get(i)? != b'=' {
            found(name, i..i);
            continue;
        }
        i = skip(bytes, i + 1, SPACE);
        match *bytes.get(i)? {
            quote @ (b'"' | b'\'') => {
                let start = i + 1;
                let len = memchr::memchr(quote, bytes.get(start..)?)?;
                found(name, start..start + len);
                i = start + len + 1;
            }
            b'>' => {
                found(name, i..i);
                return Some(TagEnd {
                    next: i + 1,
                    self_closing: false,
                });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all(tail: &str) -> Option<(Vec<(String, String)>, TagEnd)> {
        let mut seen = Vec::new();
        let end = walk(tail.as_bytes(), 0, |name, value| {
            seen.push((String::from_utf8_lossy(name).into_owned(), tail[value].to_owned()));
        })?;
        Some((seen, end))
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
    }

    #[test]
    fn quoting_styles() {
        let (seen, end) = all(" a=\"1\" b='2' c=3 d e = 5>x").unwrap();
        assert_eq!(
            seen,
            pairs(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", ""), ("e", "5")])
        );
        assert_eq!(
            end,
            TagEnd {
                next: 25,
                self_closing: false
            }
        );
    }

    #[test]
    fn oddities() {
        assert_eq!(
            all("/>").unwrap().1,
            TagEnd {
                next: 2,
                self_closing: true
            }
        );
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
    fn the_first_of_a_name_counts() {
        let source = " href=1 HREF=2 Alt=3>";
        let mut attributes = Attributes::default();
        walk(source.as_bytes(), 0, |n, v| attributes.note(n, v)).unwrap();
        assert_eq!(attributes.get(Attr::Href, source), Some("1"));
        assert_eq!(attributes.get(Attr::Alt, source), Some("3"));
        assert_eq!(attributes.get(Attr::Src, source), None);
    }
}
