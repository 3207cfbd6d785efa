//! What is kept of one line of visible text.

use super::line_kind::LineKind;

/// What is kept of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LineMark {
    /// Hash of the masked words in order; the lowest two bits are flags.
    shape: u32,
    /// Sum of the hashes of the words as they stand: the difference of two sums tells what was replaced by what,
    /// whatever else the line says. Of running text without numbers a hash of all of it. Of a line that is one duration,
    /// time or day, that value.
    pub words: u32,
    /// The kind of the line, and flags.
    kind: u8,
}

pub(crate) const VOLATILE: u32 = 1;
pub(crate) const BANNER: u32 = 2;

const KIND: u8 = 0x0f;
/// Kinds of news: with versions, with other numbers.
pub(crate) const VERSION: u8 = 14;
pub(crate) const NUMBERS: u8 = 15;

/// What is known of a line besides its words.
pub(crate) mod flag {
    /// In navigation, a margin, a widget, a page's header or footer.
    pub const AROUND: u8 = 0x10;
    /// It holds what people watch for.
    pub const HARD: u8 = 0x20;
    /// At least half of it is the text of links.
    pub const LINK: u8 = 0x40;
    /// In front of the page's first heading.
    pub const EARLY: u8 = 0x80;
}

impl LineMark {
    pub(crate) fn from_parts(shape: u32, words: u32, kind: u8) -> Self {
        Self { shape, words, kind }
    }

    pub(crate) fn parts(self) -> (u32, u32, u8) {
        (self.shape, self.words, self.kind)
    }

    /// The shape without flags.
    pub fn shape(self) -> u32 {
        self.shape & !(VOLATILE | BANNER)
    }

    /// Numbers in this line come and go.
    pub fn is_volatile(self) -> bool {
        self.shape & VOLATILE != 0
    }

    /// The line belongs to an advertisement or a rotating banner.
    pub fn is_banner(self) -> bool {
        self.shape & BANNER != 0
    }

    /// What kind of thing its numbers are.
    pub fn kind(self) -> LineKind {
        LineKind::from_number(self.kind & KIND)
    }

    pub(crate) fn in_banner(self) -> Self {
        Self { shape: self.shape | BANNER, ..self }
    }

    /// All its numbers are versions, as `3.11.2`.
    pub(crate) fn is_version(self) -> bool {
        self.kind & KIND == VERSION
    }

    /// It holds numbers of which nothing more is known.
    pub(crate) fn has_numbers(self) -> bool {
        self.kind & KIND >= VERSION
    }

    pub(crate) fn has(self, flag: u8) -> bool {
        self.kind & flag != 0
    }

    pub(crate) fn with(self, flags: u8) -> Self {
        Self { kind: self.kind | flags, ..self }
    }
}
