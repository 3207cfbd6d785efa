//! The marks of a page's lines as the page record keeps them: a bounded number, packed.

use super::noise::LineMark;
use super::packed;
use super::signature::MAX_LINES;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks of the first and last lines, and a sum over those between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
}

const LINE_BYTES: usize = 8;
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
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.kept.len() * LINE_BYTES);
        for field in [self.head, self.left_out, self.shapes, self.words] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for mark in &self.kept {
            let (shape, words) = mark.parts();
            bytes.extend_from_slice(&shape.to_le_bytes());
            bytes.extend_from_slice(&words.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fields, tail) = bytes.as_chunks::<4>();
        let fields: Vec<u32> = fields.iter().map(|f| u32::from_le_bytes(*f)).collect();
        let [head, left_out, shapes, words, marks @ ..] = fields.as_slice() else { return None };
        let (pairs, odd) = marks.as_chunks::<2>();
        let sound =
            tail.is_empty() && odd.is_empty() && pairs.len() <= MAX_LINES && *head as usize <= pairs.len();
        sound.then(|| Self {
            kept: pairs.iter().map(|&[shape, words]| LineMark::from_parts(shape, words)).collect(),
            head: *head,
            left_out: *left_out,
            shapes: *shapes,
            words: *words,
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
        let bytes = packed::bytes(deserializer, HEADER_BYTES + MAX_LINES * LINE_BYTES, WHAT)?;
        Self::from_bytes(&bytes).ok_or_else(|| packed::damaged(WHAT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pages_keep_both_ends() {
        let marks: Vec<_> = (0..3000).map(|n| LineMark::from_parts(n * 4, n)).collect();
        let lines = Lines::keep(&marks);
        assert_eq!((lines.kept.len(), lines.head, lines.left_out), (1024, 512, 1976));
        assert_eq!(
            (lines.number(0), lines.number(511), lines.number(512), lines.number(1023)),
            (1, 512, 2489, 3000)
        );
        let packed = postcard::to_stdvec(&lines).unwrap();
        assert_eq!(packed.len(), 2 + 16 + 1024 * 8);
        assert_eq!(postcard::from_bytes::<Lines>(&packed).unwrap(), lines);
        assert!(postcard::from_bytes::<Lines>(&packed[..100]).is_err());
        let json = serde_json::to_string(&lines).unwrap();
        assert_eq!(serde_json::from_str::<Lines>(&json).unwrap(), lines);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        assert!(Lines::from_bytes(&[0; 15]).is_none());
        assert!(Lines::from_bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        assert!(Lines::from_bytes(&[0; 16]).is_some());
    }
}
