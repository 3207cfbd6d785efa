//! A tolerant reader of XML: tags and text, no validation, no entities of the document's own.
//!
//! Undefined references stay as they are, so that a document cannot make itself larger than it is.

/// One piece of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'x> {
    Start {
        name: &'x str,
        /// What stands between the name and the end of the tag.
        attributes: &'x str,
        empty: bool,
    },
    End {
        name: &'x str,
    },
    Text {
        text: &'x str,
        /// From a CDATA section: references mean nothing.
        raw: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Reader<'x> {
    rest: &'x str,
}

impl<'x> Reader<'x> {
    pub fn new(text: &'x str) -> Self {
        Self { rest: text }
    }

    fn take(&mut self, len: usize) -> &'x str {
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Passes over everything up to and with `end`; what was passed, without it.
    fn take_past(&mut self, from: usize, end: &str) -> &'x str {
        let rest = self.rest;
        let found = rest.get(from..).and_then(|t| memchr::memmem::find(t.as_bytes(), end.as_bytes()));
        let stop = found.map_or(rest.len(), |n| from + n);
        self.take(stop + end.len());
        rest.get(from..stop).unwrap_or("")
    }
}

impl<'x> Iterator for Reader<'x> {
    type Item = Token<'x>;

    fn next(&mut self) -> Option<Token<'x>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if !self.rest.starts_with('<') {
                let end = memchr::memchr(b'<', self.rest.as_bytes()).unwrap_or(self.rest.len());
                return Some(Token::Text { text: self.take(end), raw: false });
            }
            if self.rest.starts_with("<!--") {
                self.take_past(4, "-->");
            } else if self.rest.starts_with("<![CDATA[") {
                return Some(Token::Text { text: self.take_past(9, "]]>"), raw: true });
            } else if self.rest.starts_with("<?") {
                self.take_past(2, "?>");
            } else if self.rest.starts_with("<!") {
                self.take_past(2, ">");
            } else if self.rest.starts_with("</") {
                let name = self.take_past(2, ">").trim();
                return Some(Token::End { name });
            } else {
                return Some(self.start());
            }
        }
    }
}

impl<'x> Reader<'x> {
    fn start(&mut self) -> Token<'x> {
        let bytes = self.rest.as_bytes();
        let mut quote = None;
        let mut end = 1;
        while let Some(&b) = bytes.get(end) {
            match (quote, b) {
                (None, b'>') => break,
                (None, b'"' | b'\'') => quote = Some(b),
                (Some(q), _) if q == b => quote = None,
                _ => {}
            }
            end += 1;
        }
        let rest = self.rest;
        self.take(end + 1);
        let inside = rest.get(1..end).unwrap_or("");
        let empty = inside.ends_with('/');
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let name_end = inside.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        Token::Start { name, attributes, empty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces() {
        let tokens: Vec<_> =
            Reader::new("<?xml?><!DOCTYPE x><a b='>'>t<!-- c --><![CDATA[<&]]><d/></a ><").collect();
        assert_eq!(
            tokens,
            [
                Token::Start { name: "a", attributes: " b='>'", empty: false },
                Token::Text { text: "t", raw: false },
                Token::Text { text: "<&", raw: true },
                Token::Start { name: "d", attributes: "", empty: true },
                Token::End { name: "a" },
                Token::Start { name: "", attributes: "", empty: false },
            ]
        );
    }

    #[test]
    fn any_text_comes_to_an_end() {
        for text in ["<", "<!", "<!--", "<![CDATA[", "</", "<a b='", "é<é", "<?", "]]>", "<!-->"] {
            assert!(Reader::new(text).count() <= text.len());
        }
    }
}
