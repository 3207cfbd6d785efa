//! Attribute values on their way into the arena.

use super::byte_class::{SPACE, VALUE_STOP, is, trim};
use super::entities::{self, Context};
use super::extract::Extract;
use super::flow::{Flow, Reading};
use super::limits::{Limits, PageLimit};
use super::span::Span;
use super::swar;

impl Extract {
    /// Keeps an address: references decoded, white space trimmed, tabs and line ends removed. `None` when it is too
    /// long to be one.
    pub(crate) fn keep_href(&mut self, raw: &str, limits: &Limits) -> Option<Span> {
        let raw = trim(raw);
        if raw.len() > limits.max_attribute_bytes {
            self.truncated.add(PageLimit::Attributes, 1);
            return None;
        }
        if !self.has_room(raw.len(), limits) {
            return None;
        }
        let start = self.arena.len();
        if swar::needs_decoding(raw.as_bytes()) {
            self.decode_href(raw, start);
        } else {
            self.arena.push_str(raw);
        }
        Some(Span::new(start, self.arena.len()))
    }

    /// Keeps a text: references decoded, white space collapsed; cut when too long.
    pub(crate) fn keep_text(&mut self, raw: &str, limits: &Limits) -> Span {
        let start = self.arena.len();
        if !self.has_room(raw.len().min(limits.max_attribute_bytes), limits) {
            return Span::default();
        }
        let mut flow = Flow::new(start, start.saturating_add(limits.max_attribute_bytes));
        flow.push(&mut self.arena, raw, 0..raw.len(), Reading::Attribute);
        if flow.full {
            self.truncated.add(PageLimit::Attributes, 1);
        }
        Span::new(start, self.arena.len())
    }

    /// Decoding never lengthens a value by more than a replaced NUL does, so the room is asked for threefold.
    pub(crate) fn has_room(&mut self, bytes: usize, limits: &Limits) -> bool {
        let fits = self.arena.len().saturating_add(bytes.saturating_mul(3)) <= limits.max_arena_bytes;
        if !fits {
            self.truncated.add(PageLimit::Arena, 1);
        }
        fits
    }

    #[cold]
    fn decode_href(&mut self, raw: &str, start: usize) {
        let bytes = raw.as_bytes();
        let arena = &mut self.arena;
        let mut copied = 0;
        let mut i = 0;
        while let Some(&b) = bytes.get(i) {
            if !is(b, VALUE_STOP) {
                i += 1;
                continue;
            }
            let reference = if b == b'&' {
                bytes.get(i..).and_then(|t| entities::decode(t, Context::Attribute))
            } else {
                None
            };
            if b == b'&' && reference.is_none() {
                i += 1;
                continue;
            }
            arena.push_str(raw.get(copied..i).unwrap_or(""));
            i += reference.map_or(1, |(_, len)| len);
            copied = i;
            let chars = reference.map(|(c, _)| c);
            let first = match chars {
                Some(c) => c.first,
                None if b == 0 => char::REPLACEMENT_CHARACTER,
                None => b as char,
            };
            let leading_blank = first == ' ' && arena.len() == start;
            if !matches!(first, '\t' | '\n' | '\r') && !leading_blank {
                arena.push(first);
            }
            arena.extend(chars.and_then(|c| c.second));
        }
        arena.push_str(raw.get(copied..).unwrap_or(""));
        let trimmed = arena.trim_end_matches(|c: char| c.is_ascii() && is(c as u8, SPACE)).len();
        arena.truncate(trimmed.max(start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn href(raw: &str) -> String {
        let mut extract = Extract::new();
        extract.arena.push_str("before ");
        extract.keep_href(raw, &Limits::default()).unwrap().of(&extract.arena).to_owned()
    }

    #[test]
    fn addresses() {
        assert_eq!(href("  /a?b=1&amp;c=2 "), "/a?b=1&c=2");
        assert_eq!(href("/a?b=1&copy=2&lt"), "/a?b=1&copy=2<");
        assert_eq!(href("/a\n\t b\r\n"), "/a b");
        assert_eq!(href("&#32;&#9;x&#32;"), "x");
        assert_eq!(href("a\0b&&amp;"), "a\u{fffd}b&&");
        assert_eq!(href(" \n"), "");
        assert_eq!(href("é&eacute;"), "éé");
    }

    #[test]
    fn too_long_is_no_address() {
        let mut extract = Extract::new();
        let limits = Limits { max_attribute_bytes: 4, ..Limits::default() };
        assert_eq!(extract.keep_href("12345", &limits), None);
        assert!(extract.truncated.get(PageLimit::Attributes) > 0);
        assert_eq!(extract.keep_text("12345 7", &limits).of(&extract.arena), "1234");
        let limits = Limits { max_arena_bytes: 10, ..Limits::default() };
        assert_eq!(extract.keep_href("1234", &limits), None);
        assert!(extract.truncated.get(PageLimit::Arena) > 0);
    }
}
