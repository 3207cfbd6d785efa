//! The few things an index needs from an HTTP head: status, content type, where the payload starts.
//!
//! The rules (what ends the head, how lines are decoded, what counts as blank) are those of the indexing tools, so that
//! an index made by them over our segments has the same lines, also for heads that no standard covers.

use std::borrow::Cow;

/// What was read from a head.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeadFacts<'a> {
    /// The first word after the protocol. None if there is no head at all.
    pub status: Option<Cow<'a, str>>,
    /// The content type up to the first `;` or blank. None if there is no such header.
    pub mime: Option<String>,
    /// Whether a content coding other than `identity` is named.
    pub coded: bool,
    /// Where the payload starts.
    pub end: usize,
    /// Whether the blank line was there, or the bytes ended before it.
    pub whole: bool,
}

/// What the tools strip from line ends.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// UTF-8 if it is, Latin-1 if not.
fn decode(line: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(line.iter().map(|&b| char::from(b)).collect()),
    }
}

fn trim_end(line: Cow<'_, str>) -> Cow<'_, str> {
    match line {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches(is_blank)),
        Cow::Owned(text) => Cow::Owned(text.trim_end_matches(is_blank).to_owned()),
    }
}

/// Lines without their ends, with the offset after each.
struct Lines<'a> {
    block: &'a [u8],
    at: usize,
    /// Whether the last line had its end.
    ended: bool,
}

impl<'a> Lines<'a> {
    /// The next line, stripped; empty at the end of the block.
    fn next(&mut self) -> Cow<'a, str> {
        trim_end(decode(self.pass()))
    }

    /// Passes the next line.
    fn pass(&mut self) -> &'a [u8] {
        let rest = self.block.get(self.at..).unwrap_or_default();
        let line_end = memchr::memchr(b'\n', rest);
        self.ended = line_end.is_some();
        let length = line_end.map_or(rest.len(), |at| at + 1);
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn begins_with(&self, wanted: impl Fn(u8) -> bool) -> bool {
        self.block.get(self.at).copied().is_some_and(wanted)
    }

    /// The next line that may begin a field whose name begins with a `c`, or end the head. The others, most of a head, are
    /// passed by their first byte.
    fn next_field(&mut self) -> Cow<'a, str> {
        let mut passed = false;
        loop {
            while self.begins_with(|first| first.is_ascii_graphic() && !matches!(first, b'c' | b'C')) {
                self.pass();
                passed = true;
            }
            let line = self.next();
            let continues = passed && line.starts_with([' ', '\t']);
            if !continues {
                return line;
            }
        }
    }
}

/// Reads the head at the start of `block` (a head, or a head and its body).
pub fn read_head(block: &[u8]) -> HeadFacts<'_> {
    let mut lines = Lines { block, at: 0, ended: false };
    let first = lines.next();
    if first.is_empty() {
        return HeadFacts { end: lines.at, whole: lines.ended, ..HeadFacts::default() };
    }
    let status = match &first {
        Cow::Borrowed(text) => Cow::Borrowed(status_word(text)),
        Cow::Owned(text) => Cow::Owned(status_word(text).to_owned()),
    };
    let (mut mime, mut coded) = (None, false);
    let mut line = lines.next_field();
    while !line.is_empty() {
        let field = line.split_once(':');
        let wanted = mime.is_none() && field.is_some_and(|(name, _)| is_content_type(name));
        coded |= field.is_some_and(|(name, value)| is_coding(name, value));
        let mut value = String::new();
        if let (true, Some((_, text))) = (wanted, field) {
            value.push_str(text.trim_start_matches(is_blank));
        }
        let mut ended = false;
        while !ended && lines.begins_with(|first| matches!(first, b' ' | b'\t')) {
            let more = lines.next();
            ended = more.is_empty();
            if wanted {
                value.push_str(&more);
            }
        }
        if wanted {
            let end = value.find(|c: char| c == ';' || is_blank(c)).unwrap_or(value.len());
            value.truncate(end);
            mime = Some(value);
        }
        line = if ended { Cow::Borrowed("") } else { lines.next_field() };
    }
    HeadFacts { status: Some(status), mime, coded, end: lines.at, whole: lines.ended }
}

fn is_content_type(name: &str) -> bool {
    name.trim_end_matches([' ', '\t']).eq_ignore_ascii_case("content-type")
}

fn is_coding(name: &str, value: &str) -> bool {
    let value = value.trim_matches(is_blank);
    name.trim_end_matches([' ', '\t']).eq_ignore_ascii_case("content-encoding")
        && !value.is_empty()
        && !value.eq_ignore_ascii_case("identity")
}

/// `HTTP/1.1 200 OK` → `200`.
fn status_word(first: &str) -> &str {
    let rest = first.split_once(' ').map_or("", |(_, rest)| rest).trim_matches(is_blank);
    rest.split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts(block: &str) -> (Option<String>, Option<String>, usize) {
        let facts = read_head(block.as_bytes());
        (facts.status.map(Cow::into_owned), facts.mime, facts.end)
    }

    #[test]
    fn ordinary_and_odd_heads() {
        let some = |s: &str| Some(s.to_owned());
        for (head, status, mime) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
                some("200"),
                some("text/html"),
            ),
            ("HTTP/1.0 404\nCONTENT-type :\ta/b c\n\n", some("404"), some("a/b")),
            ("HTTP/1.1  301  Moved\r\nX: y\r\n\r\n", some("301"), None),
            ("HTTP/1.1\r\n\r\n", some(""), None),
            ("HTTP/1.1 200 OK\r\nContent-Type:\r\n text/plain\r\n\r\n", some("200"), some("")),
            ("HTTP/1.1 200 OK\r\nContent-Type: ;x\r\nContent-Type: b/c\r\n\r\n", some("200"), some("")),
            ("HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nServer: x\r\n c\r\n\r\n", some("200"), some("a/b")),
            ("HTTP/1.1 200 OK\r\nServer: x\r\n\tContent-Type: a/b\r\nDate: z\r\n\r\n", some("200"), None),
            ("HTTP/1.1 200 OK\r\nContent-Type: a/\r\n \tb\r\nDate: z\r\n\r\n", some("200"), some("a/")),
            ("\r\n", None, None),
            ("", None, None),
        ] {
            let body = if head.is_empty() { "" } else { "body: x" };
            assert_eq!(facts(&format!("{head}{body}")), (status, mime, head.len()), "{head:?}");
        }
    }

    #[test]
    fn a_line_of_blanks_ends_the_head() {
        let head = "HTTP/1.1 200 OK\r\nA: b\r\n  \r\n";
        assert_eq!(
            facts(&format!("{head}Content-Type: x/y\r\n\r\n")),
            (Some("200".into()), None, head.len())
        );
    }

    #[test]
    fn codings() {
        for (header, coded) in
            [("Content-Encoding: gzip", true), ("content-encoding: Identity", false), ("X: gzip", false)]
        {
            assert_eq!(
                read_head(format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n").as_bytes()).coded,
                coded,
                "{header}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_data(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read_head(&block).end <= block.len());
        }
    }
}
