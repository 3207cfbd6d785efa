//! A path pattern, and the spelling in which patterns and paths are compared.
//!
//! Spelling (RFC 9309 2.2.2): escapes of unreserved characters are decoded, all others are written with upper-case
//! digits, and every octet that may not stand in a URL is escaped. A `*` or `$` that means itself is escaped too, so
//! that in a pattern a bare `*` is always a wildcard.
//!
//! Promise: matching never backtracks. Between wildcards the leftmost place is as good as any later one, so a match
//! costs one search per piece.

use std::borrow::Cow;

/// One Allow or Disallow pattern, ready to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// As written in the file.
    written: Box<str>,
    /// In comparable spelling without the final `$`, where that differs from what was written.
    spelled: Option<Box<str>>,
    ends_at_end: bool,
    /// Octets of the comparable spelling: the longest matching pattern decides.
    weight: u32,
}

impl Pattern {
    /// None for an empty pattern, which matches nothing.
    pub fn new(written: &str) -> Option<Self> {
        if written.is_empty() {
            return None;
        }
        let ends_at_end = written.ends_with('$');
        let open = written.strip_suffix('$').unwrap_or(written);
        let spelled = spell(open, Role::Pattern);
        // A `$` inside is spelt with three octets but weighs one, as its writer sees it.
        let literal_dollars = open.bytes().filter(|b| *b == b'$').count();
        let weight = spelled.len() - 2 * literal_dollars + usize::from(ends_at_end);
        Some(Self {
            spelled: (ends_at_end || *spelled != *open).then(|| spelled.into_owned().into()),
            written: written.into(),
            ends_at_end,
            weight: u32::try_from(weight).unwrap_or(u32::MAX),
        })
    }

    pub fn written(&self) -> &str {
        &self.written
    }

    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Whether a path in comparable spelling matches.
    pub fn matches(&self, path: &str) -> bool {
        let pattern = self.spelled.as_deref().unwrap_or(&self.written);
        let mut pieces = pattern.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = path.strip_prefix(first) else {
            return false;
        };
        let mut piece = match pieces.next() {
            Some(second) => second,
            None => return !self.ends_at_end || rest.is_empty(),
        };
        for next in pieces {
            let Some(at) = memchr::memmem::find(rest.as_bytes(), piece.as_bytes()) else {
                return false;
            };
            rest = rest.get(at + piece.len()..).unwrap_or_default();
            piece = next;
        }
        if self.ends_at_end {
            rest.ends_with(piece)
        } else {
            piece.is_empty() || memchr::memmem::find(rest.as_bytes(), piece.as_bytes()).is_some()
        }
    }
}

/// A path and query in comparable spelling.
pub(crate) fn spell_path(path: &str) -> Cow<'_, str> {
    spell(path, Role::Path)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Path,
    /// A bare `*` stays a wildcard.
    Pattern,
}

fn spell(text: &str, role: Role) -> Cow<'_, str> {
    let is_plain = |b: u8| is_allowed(b) && b != b'%' && b != b'$' && (b != b'*' || role == Role::Pattern);
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut bytes = text.as_bytes();
    while let Some((&byte, rest)) = bytes.split_first() {
        bytes = rest;
        match byte {
            b'%' => match escaped(rest) {
                Some(octet) => {
                    bytes = rest.get(2..).unwrap_or_default();
                    if is_unreserved(octet) {
                        out.push(char::from(octet));
                    } else {
                        push_escape(&mut out, octet);
                    }
                }
                None => out.push('%'),
            },
            _ if is_plain(byte) => out.push(char::from(byte)),
            _ => push_escape(&mut out, byte),
        }
    }
    Cow::Owned(out)
}

/// The octet that two hexadecimal digits name.
fn escaped(rest: &[u8]) -> Option<u8> {
    let digit = |at: usize| rest.get(at).and_then(|b| char::from(*b).to_digit(16));
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

fn push_escape(out: &mut String, octet: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(octet >> 4)]));
    out.push(char::from(DIGITS[usize::from(octet & 15)]));
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Unreserved and reserved characters, and the escape sign.
fn is_allowed(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).is_some_and(|pattern| pattern.matches(&spell_path(path)))
    }

    #[test]
    fn prefixes_wildcards_and_ends() {
        for (pattern, path, expected) in [
            ("/", "/x", true),
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*", "/fish", true),
            ("/fish/", "/fish", false),
            ("/*.php", "/a/b.php?c", true),
            ("/*.php$", "/a/b.php", true),
            ("/*.php$", "/a/b.php?c", false),
            ("/*.php$", "/a.php/b.php", true),
            ("/fish*.php", "/fishheads/catfish.php?p", true),
            ("/a*b*c", "/axbxc", true),
            ("/a*b*c", "/axcxb", false),
            ("/a*aa$", "/aa", false),
            ("/a*aa$", "/aaa", true),
            ("*", "/x", true),
            ("/$", "/", true),
            ("/$", "/x", false),
            ("$", "/", false),
            ("/a$b", "/a$b", true),
            ("/a$b", "/ab", false),
            ("x", "/x", false),
            ("/**", "/", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
        assert!(Pattern::new("").is_none());
    }

    #[test]
    fn escapes_compare_as_the_rfc_says() {
        for (pattern, path, expected) in [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
            ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar", true),
            ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
            ("/foo/bar/baz", "/foo/bar/%62%61%7A", true),
            ("/a%2Fb", "/a/b", false),
            ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true),
            ("/path/file-with-a-%2A.html", "/path/file-with-a-x.html", false),
            ("/path/foo-%24", "/path/foo-$", true),
            ("/100%", "/100%", true),
            ("/a b", "/a%20b", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    /// The plain definition, for comparison: try everything.
    fn slow(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], _) | (b"$", []) => true,
            (b"$", _) => false,
            ([b'*', rest @ ..], _) => (0..=path.len()).any(|at| slow(rest, &path[at..])),
            ([a, pattern @ ..], [b, path @ ..]) => a == b && slow(pattern, path),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_trying_everything(pattern in "[ab*]{1,8}[$]?", path in "[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &path), slow(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn spelling_twice_changes_nothing_but_lone_signs(text in "[a-z/%*$ é0-9]{0,20}") {
            let once = spell_path(&text).into_owned();
            // A `%` without digits can join with what follows once that is decoded; nothing else may move.
            prop_assume!(!once.contains("%%") && !text.contains("%%"));
            let twice = spell_path(&once).into_owned();
            let lone = text.match_indices('%').any(|(at, _)| escaped(&text.as_bytes()[at + 1..]).is_none());
            prop_assert!(lone || once == twice, "{} {}", once, twice);
        }
    }

    #[test]
    fn many_wildcards_stay_quick() {
        let pattern = format!("/{}b$", "*a".repeat(2_000));
        let path = format!("/{}", "a".repeat(8_000));
        assert!(!matches(&pattern, &path));
    }
}
