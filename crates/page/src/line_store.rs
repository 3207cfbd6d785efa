//! The marks of a page's lines as the page record keeps them: a bounded number, packed.

use super::noise::LineMark;
use super::packed;
use super::signature::MAX_LINES;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks of the first and last lines, and a sum over those between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// At most [`MAX_LINES`].
    pub kept: Vec<LineMark>,
    /// How many of `kept` stand in front of the lines left out.
    pub head: u32,
    /// Lines left out.
    pub left_out: u32,
    /// Sum over the shapes of the lines left out, advertisements excluded.
    pub shapes: u32,
    /// Sum over their words, lines whose numbers come and go excluded.
    pub words: u32,
    /// The kinds of lines were kept, too: older records know only advertisements.
    pub has_kinds: bool,
    /// What else is known of the page these lines are of; none in older records and of titles.
    pub core: Option<Core>,
}

/// A page without what stands around its content. It is stored behind the marks, so that records without it stay readable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Core {
    /// Digest of names and depths of the elements.
    pub structure: u64,
    /// Addresses linked to, and images, as in the signatures.
    pub links: u64,
    pub images: u64,
    /// When it was visited, in milliseconds since 1970; 0 if unknown.
    pub at: u64,
}

const CORE_BYTES: usize = 32;

impl Default for Lines {
    fn default() -> Self {
        Self { kept: Vec::new(), head: 0, left_out: 0, shapes: 0, words: 0, has_kinds: true, core: None }
    }
}

/// In the stored `head`: a byte follows each mark, its kind.
const WITH_KINDS: u32 = 1 << 31;
/// In the stored `head`: a core follows the kinds.
const WITH_CORE: u32 = 1 << 30;
const LINE_BYTES: usize = 9;
const HEADER_BYTES: usize = 16;
const WHAT: &str = "line marks";

impl Lines {
    pub(crate) fn keep(marks: &[LineMark]) -> Self {
        if marks.len() <= MAX_LINES {
            return Self { kept: marks.to_vec(), head: marks.len() as u32, ..Self::default() };
        }
        let (head, rest) = marks.split_at(MAX_LINES / 2);
        let (between, tail) = rest.split_at(rest.len() - MAX_LINES / 2);
        let mut lines = Self {
            kept: [head, tail].concat(),
            head: head.len() as u32,
            left_out: between.len() as u32,
            ..Self::default()
        };
        for mark in between.iter().filter(|m| !m.is_banner()) {
            lines.shapes = lines.shapes.wrapping_add(mark.shape().wrapping_mul(0x9e37_79b1));
            if !mark.is_volatile() {
                lines.words = lines.words.wrapping_add(mark.words);
            }
        }
        lines
    }

    /// Number (from 1) of the line whose mark is the `at`-th kept.
    pub fn number(&self, at: usize) -> u32 {
        let at = at as u32;
        1 + if at < self.head { at } else { at + self.left_out }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.kept.len() * LINE_BYTES + CORE_BYTES);
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let head = self.head | flag(self.has_kinds, WITH_KINDS) | flag(self.core.is_some(), WITH_CORE);
        for field in [head, self.left_out, self.shapes, self.words] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for mark in &self.kept {
            let (shape, words, _) = mark.parts();
            bytes.extend_from_slice(&shape.to_le_bytes());
            bytes.extend_from_slice(&words.to_le_bytes());
        }
        if self.has_kinds {
            bytes.extend(self.kept.iter().map(|mark| mark.parts().2));
        }
        if let Some(core) = self.core {
            for field in [core.structure, core.links, core.images, core.at] {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let (fields, _) = header.as_chunks::<4>();
        let fields: Vec<u32> = fields.iter().map(|f| u32::from_le_bytes(*f)).collect();
        let [head, left_out, shapes, words] = fields.as_slice() else { return None };
        let has_kinds = head & WITH_KINDS != 0;
        let (rest, core) = match head & WITH_CORE {
            0 => (rest, None),
            _ => {
                let (rest, core) = rest.split_at_checked(rest.len().checked_sub(CORE_BYTES)?)?;
                let (fields, _) = core.as_chunks::<8>();
                let field = |at: usize| fields.get(at).map(|bytes| u64::from_le_bytes(*bytes));
                let core = Core { structure: field(0)?, links: field(1)?, images: field(2)?, at: field(3)? };
                (rest, Some(core))
            }
        };
        let line_bytes = if has_kinds { LINE_BYTES } else { LINE_BYTES - 1 };
        let count = rest.len() / line_bytes;
        let head = head & !(WITH_KINDS | WITH_CORE);
        if rest.len() % line_bytes != 0 || count > MAX_LINES || head as usize > count {
            return None;
        }
        let (marks, kinds) = rest.split_at_checked(count * 8)?;
        let (marks, _) = marks.as_chunks::<8>();
        let mark = |(at, &[a, b, c, d, e, f, g, h]): (usize, &[u8; 8])| {
            let (shape, words) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            LineMark::from_parts(shape, words, kinds.get(at).copied().unwrap_or(0))
        };
        Some(Self {
            kept: marks.iter().enumerate().map(mark).collect(),
            head,
            left_out: *left_out,
            shapes: *shapes,
            words: *words,
            has_kinds,
            core,
        })
    }
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = packed::bytes(deserializer, HEADER_BYTES + MAX_LINES * LINE_BYTES + CORE_BYTES, WHAT)?;
        Self::from_bytes(&bytes).ok_or_else(|| packed::damaged(WHAT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pages_keep_both_ends() {
        let marks: Vec<_> = (0..3000).map(|n| LineMark::from_parts(n * 4, n, n as u8)).collect();
        let mut lines = Lines::keep(&marks);
        assert_eq!((lines.kept.len(), lines.head, lines.left_out), (1024, 512, 1976));
        assert_eq!(
            (lines.number(0), lines.number(511), lines.number(512), lines.number(1023)),
            (1, 512, 2489, 3000)
        );
        let packed = postcard::to_stdvec(&lines).unwrap();
        assert_eq!(packed.len(), 2 + 16 + 1024 * 9);
        assert_eq!(postcard::from_bytes::<Lines>(&packed).unwrap(), lines);
        assert!(postcard::from_bytes::<Lines>(&packed[..100]).is_err());
        lines.core = Some(Core { structure: 1, links: 2, images: 3, at: 4 });
        assert_eq!(postcard::from_bytes::<Lines>(&postcard::to_stdvec(&lines).unwrap()).unwrap(), lines);
        let json = serde_json::to_string(&lines).unwrap();
        assert_eq!(serde_json::from_str::<Lines>(&json).unwrap(), lines);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        assert!(Lines::from_bytes(&[0; 15]).is_none());
        assert!(Lines::from_bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        assert!(Lines::from_bytes(&[0; 16]).is_some());
    }

    #[test]
    fn marks_stored_without_kinds_are_read() {
        let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([4, 0, 0, 0, 7, 0, 0, 0]);
        let lines = Lines::from_bytes(&bytes).unwrap();
        assert_eq!((lines.kept.as_slice(), lines.has_kinds), (&[LineMark::from_parts(4, 7, 0)][..], false));
        assert_eq!(lines.to_bytes(), bytes);
    }
}
