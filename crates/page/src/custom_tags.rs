//! Numbers for the names of elements that HTML does not define.

use super::limits::PageLimit;
use super::scanner::Pass;
use super::span::Span;
use super::tags::TagId;

/// Names looked at before a new one is refused: chosen names must not make look-ups slow.
const MAX_PROBES: usize = 16;

/// Finds the number of a custom name by its hash.
#[derive(Debug, Default)]
pub(crate) struct CustomTags {
    /// Index of the name plus one; zero is free.
    slots: Vec<u16>,
    in_use: bool,
}

impl Pass<'_> {
    /// The number of a name that HTML does not define, given out in order of appearance.
    #[cold]
    pub fn custom_tag(&mut self, start: usize, end: usize) -> TagId {
        let Some(name) = self.html.get(start..end) else {
            return TagId::UNNAMED;
        };
        let lower = |b: u8| b.to_ascii_lowercase();
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(lower(b))).wrapping_mul(0x100_0000_01b3));
        let size = self.custom.prepare(self.limits.max_custom_tags);
        let mut slot = (hash >> 32) as usize % size;
        let mut probes = 0;
        while let Some(index) = self.custom.slots.get(slot).and_then(|s| s.checked_sub(1)) {
            let known = self.out.custom_tags.get(index as usize).map_or("", |s| s.of(&self.out.arena));
            if same_name(known, name) {
                return TagId(TagId::FIRST_CUSTOM + index);
            }
            slot = (slot + 1) % size;
            probes += 1;
            if probes == MAX_PROBES {
                break;
            }
        }
        let index = self.out.custom_tags.len();
        let too_many = probes == MAX_PROBES || index >= self.limits.max_custom_tags.min(MAX_CUSTOM_TAGS);
        if too_many
            || name.len() > self.limits.max_attribute_bytes
            || !self.out.has_room(name.len(), self.limits)
        {
            self.out.truncated.add(PageLimit::CustomTags, 1);
            return TagId::UNNAMED;
        }
        let from = self.out.arena.len();
        self.out.arena.extend(name.chars().map(name_char));
        self.out.custom_tags.push(Span::new(from, self.out.arena.len()));
        if let Some(free) = self.custom.slots.get_mut(slot) {
            *free = index as u16 + 1;
        }
        TagId(TagId::FIRST_CUSTOM + index as u16)
    }
}

/// Numbers above the known tags that fit the id.
const MAX_CUSTOM_TAGS: usize = (u16::MAX - TagId::FIRST_CUSTOM) as usize - 1;

fn name_char(c: char) -> char {
    if c == '\0' { char::REPLACEMENT_CHARACTER } else { c.to_ascii_lowercase() }
}

fn same_name(known: &str, written: &str) -> bool {
    known.chars().eq(written.chars().map(name_char))
}

impl CustomTags {
    /// Forgets the names of the last page.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.in_use) {
            self.slots.fill(0);
        }
    }

    /// Room for twice the names allowed; its size.
    fn prepare(&mut self, max_names: usize) -> usize {
        self.in_use = true;
        if self.slots.is_empty() {
            self.slots.resize(max_names.min(MAX_CUSTOM_TAGS) * 2 + 2, 0);
        }
        self.slots.len()
    }
}
