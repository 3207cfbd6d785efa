//! What the readers of all languages share: the callback, the base in force, the counts.

use crate::edit::Edit;
use crate::reference::{Place, Reference, Role, Verdict};

/// Documents inside values of documents (`srcdoc`) are read to this depth: each level is escaped once more.
pub const MAX_DEPTH: u8 = 4;

/// What a document was found to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub references: u64,
    pub replaced: u64,
    pub removed: u64,
    /// `integrity` and `crossorigin` that went with a reference that was replaced.
    pub dropped: u64,
    /// Documents nested too deeply to be read.
    pub too_deep: u64,
    /// Replacements that the place can't hold (an empty candidate of a `srcset`): the reference stayed.
    pub unfit: u64,
    /// The document is in an encoding that doesn't contain ASCII and stayed as it was.
    pub unreadable: bool,
    /// Bytes looked at, each as often as it was.
    pub work: u64,
}

pub struct Finder<'c> {
    decide: &'c mut dyn FnMut(&Reference<'_>) -> Verdict,
    pub base: Option<Vec<u8>>,
    pub depth: u8,
    pub counts: Counts,
}

impl<'c> Finder<'c> {
    pub fn new(decide: &'c mut dyn FnMut(&Reference<'_>) -> Verdict) -> Self {
        Self { decide, base: None, depth: 0, counts: Counts::default() }
    }

    pub fn work(&mut self, bytes: usize) {
        self.counts.work += bytes as u64;
    }

    /// Asks about one reference.
    pub fn ask(&mut self, role: Role, place: Place<'_>, value: &[u8]) -> Verdict {
        self.counts.references += 1;
        let base = if role == Role::Base { None } else { self.base.as_deref() };
        let verdict = (self.decide)(&Reference { role, place, value, base });
        match &verdict {
            Verdict::Keep => {}
            Verdict::Replace(_) => self.counts.replaced += 1,
            Verdict::Remove => self.counts.removed += 1,
        }
        verdict
    }

    /// Asks about a reference that is a part of a value: `Remove` keeps it.
    pub fn ask_part(&mut self, role: Role, place: Place<'_>, value: &[u8]) -> Option<String> {
        match self.ask(role, place, value) {
            Verdict::Replace(text) => Some(text),
            Verdict::Keep => None,
            Verdict::Remove => {
                self.counts.removed -= 1;
                None
            }
        }
    }

    /// A replacement that can't stand where it should.
    pub fn unfit(&mut self) {
        self.counts.replaced -= 1;
        self.counts.unfit += 1;
    }
}

/// White space of HTML.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// The range of `bytes` without the white space and control characters around it, as URLs are read.
pub fn trimmed(bytes: &[u8]) -> std::ops::Range<usize> {
    let start = bytes.iter().position(|&b| b > b' ').unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|&b| b > b' ').map_or(start, |last| last + 1);
    start..end
}

/// Makes an edit of a part of a value.
pub fn part(range: std::ops::Range<usize>, text: Vec<u8>) -> Edit {
    Edit { start: range.start, end: range.end, text }
}
