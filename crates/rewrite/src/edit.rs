//! Changes to a document: byte ranges with what replaces them.

use crate::decoded::Decoded;

/// Replaces the bytes from `start` to `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: Vec<u8>,
}

impl Edit {
    /// The same change, told in the coordinates of the document that the value was decoded from.
    pub fn outward(self, decoded: &Decoded<'_>, offset: usize, escape: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        Self {
            start: offset + decoded.raw(self.start),
            end: offset + decoded.raw(self.end),
            text: escape(&self.text),
        }
    }
}

/// Writes `input` to `out` with the edits made; they are in order and apart, and one that isn't is left out.
pub fn apply(input: &[u8], edits: &[Edit], out: &mut Vec<u8>) {
    let mut done = 0;
    for edit in edits {
        let Some(before) = input.get(done..edit.start) else { continue };
        if edit.end < edit.start || edit.end > input.len() {
            continue;
        }
        out.extend_from_slice(before);
        out.extend_from_slice(&edit.text);
        done = edit.end;
    }
    out.extend_from_slice(input.get(done..).unwrap_or_default());
}
