//! Element names as numbers.
//!
//! Known names are found by one multiplication and one comparison; names that HTML does not define get a number per
//! page (see [`crate::Extract::tag_name`]), starting at [`TagId::FIRST_CUSTOM`].

use super::swar;
use super::tag_names::{FLAGS, NAMES};

/// Starts and ends a line of visible text.
pub(crate) const BLOCK: u8 = 1;
/// Is separated from its neighbours by a blank.
pub(crate) const CELL: u8 = 2;
/// Has no content and no end tag.
pub(crate) const VOID: u8 = 4;
/// Its attributes say something we keep.
pub(crate) const ATTRS: u8 = 8;
/// Ends foreign content when it starts inside it.
pub(crate) const BREAKOUT: u8 = 16;
/// Changes the state of the scan when it starts or ends.
pub(crate) const ACTS: u8 = 32;

/// An element name as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagId(pub(crate) u16);

impl TagId {
    /// The first number given to names that HTML does not define.
    pub const FIRST_CUSTOM: u16 = 1024;
    /// A custom name beyond the limit of distinct names.
    pub const UNNAMED: TagId = TagId(u16::MAX);

    /// The known element of this name.
    pub fn known(name: &str) -> Option<TagId> {
        find_written(name.as_bytes())
    }

    /// The name of a known element; custom ones are known to their page only.
    pub fn known_name(self) -> Option<&'static str> {
        NAMES.get(self.0 as usize).copied()
    }

    /// Whether the element never has content.
    pub fn is_void(self) -> bool {
        self.flags() & VOID != 0
    }

    /// Whether the element starts a line of its own.
    pub const fn is_block(self) -> bool {
        self.flags() & BLOCK != 0
    }

    /// Heading level, 1 to 6.
    pub fn heading_level(self) -> Option<u8> {
        let level = self.0.checked_sub(Self::H1.0)? + 1;
        (level <= 6).then_some(level as u8)
    }

    #[inline(always)]
    pub(crate) const fn flags(self) -> u8 {
        if (self.0 as usize) < FLAGS.len() { FLAGS[self.0 as usize] } else { 0 }
    }
}

const SLOT_BITS: u32 = 10;
/// Found by search: sends every short name to a slot of its own (checked when compiled).
const MULTIPLIER: u64 = 0xbb92fa3b0da71dbb;
static SLOTS: [(u64, u16); 1 << SLOT_BITS] = build();

/// The known element of a name packed by [`swar::pack`] or [`swar::small_letters`]; zero is none.
#[inline(always)]
pub(crate) fn find_packed(packed: u64) -> Option<TagId> {
    let (name, id) = *SLOTS.get(slot(packed))?;
    (name == packed && packed != 0).then_some(TagId(id))
}

/// The known element of a name in any case.
#[cold]
pub(crate) fn find_written(name: &[u8]) -> Option<TagId> {
    if name.len() > 8 { long_name(name) } else { find_packed(swar::pack(name)) }
}

fn long_name(written: &[u8]) -> Option<TagId> {
    const LONG: [TagId; 8] = [
        TagId::ANNOTATION,
        TagId::ANNOTATION_XML,
        TagId::BLOCKQUOTE,
        TagId::FIGCAPTION,
        TagId::FOREIGNOBJECT,
        TagId::LINEARGRADIENT,
        TagId::PLAINTEXT,
        TagId::SEMANTICS,
    ];
    LONG.into_iter().find(|t| t.known_name().is_some_and(|n| n.as_bytes().eq_ignore_ascii_case(written)))
}

#[inline(always)]
const fn slot(packed: u64) -> usize {
    (packed.wrapping_mul(MULTIPLIER) >> (64 - SLOT_BITS)) as usize
}

const fn build() -> [(u64, u16); 1 << SLOT_BITS] {
    let mut slots = [(0u64, 0u16); 1 << SLOT_BITS];
    let mut id = 0;
    while id < NAMES.len() {
        let name = NAMES[id].as_bytes();
        if name.len() <= 8 {
            let packed = swar::pack(name);
            assert!(slots[slot(packed)].0 == 0, "two names share a slot: search for another multiplier");
            slots[slot(packed)] = (packed, id as u16);
        }
        id += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_itself() {
        for (i, name) in NAMES.iter().enumerate() {
            assert_eq!(TagId::known(name), Some(TagId(i as u16)), "{name}");
        }
        assert_eq!(TagId::known("x-card"), None);
        assert_eq!(TagId::known("blockquot"), None);
        assert_eq!(TagId::known(""), None);
        assert!(NAMES.len() < TagId::FIRST_CUSTOM as usize);
    }

    #[test]
    fn headings_have_levels() {
        assert_eq!(TagId::H1.heading_level(), Some(1));
        assert_eq!(TagId::H6.heading_level(), Some(6));
        assert_eq!(TagId::HEAD.heading_level(), None);
        assert_eq!(TagId::A.heading_level(), None);
        assert_eq!(TagId::UNNAMED.heading_level(), None);
    }
}
