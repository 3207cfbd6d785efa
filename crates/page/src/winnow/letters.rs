//! The characters of a text that count: letters and digits, made small.

use crate::swar;
use lycosa_cpu::{pack, widest};
use std::sync::LazyLock;

/// The letters of a text if all of them are ASCII, which they are in most texts with curly quotes and dashes too.
#[derive(Debug, Clone, Default)]
pub(super) struct Letters {
    /// Filled up to `len`; never shrinks.
    codes: Vec<u8>,
    len: usize,
    /// The text in small letters with zeros for what is dropped; never shrinks.
    small: Vec<u8>,
}

/// Bytes written at a time by what packs them.
const ROOM: usize = 8;

impl Letters {
    /// Reads a text; false if a letter beyond ASCII was met, so that the codes are not all.
    pub fn read(&mut self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
            self.codes.resize(bytes.len() + ROOM, 0);
        }
        let small = &mut self.small;
        widest(
            #[inline(always)]
            |_| {
                for (to, &from) in small.iter_mut().zip(bytes) {
                    let small = from | 0x20;
                    let counts = (small.wrapping_sub(b'a') < 26) | (from.wrapping_sub(b'0') < 10);
                    *to = if counts { small } else { 0 };
                }
            },
        );
        self.len = pack(self.small.get(..bytes.len()).unwrap_or(b""), &mut self.codes);
        text.is_ascii() || no_wide_letter(text)
    }

    pub fn codes(&self) -> &[u8] {
        self.codes.get(..self.len).unwrap_or(b"")
    }
}

/// Whether all characters beyond ASCII are dropped.
fn no_wide_letter(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.get(swar::ascii_prefix(rest.as_bytes())..).unwrap_or("");
        let mut chars = rest.chars();
        match chars.next() {
            None => return true,
            Some(c) if small_form(c) != 0 => return false,
            Some(_) => rest = chars.as_str(),
        }
    }
}

/// What becomes of a character: its small form, or 0 if it is dropped.
#[inline(always)]
pub(super) fn small_form(c: char) -> u32 {
    let code = c as u32;
    match SMALL_WIDE.get(code as usize) {
        Some(&kept) => u32::from(kept),
        // Ideographs and Hangul syllables have one form; general punctuation is dropped.
        None if matches!(code, 0x4e00..0xa000 | 0xac00..0xd7a4) => code,
        None if matches!(code, 0x2000..0x2070) => 0,
        None if c.is_alphanumeric() => c.to_lowercase().next().map_or(0, u32::from),
        None => 0,
    }
}

pub(super) fn keep_wide(text: &str, out: &mut Vec<u32>) {
    let table: &[u16; 0x800] = &SMALL_WIDE;
    out.clear();
    out.resize(text.len() + 1, 0);
    // Each is written over by the next if it is dropped.
    let mut len = 0;
    let mut keep = |code: u32| {
        if let Some(place) = out.get_mut(len) {
            *place = code;
            len += usize::from(code != 0);
        }
    };
    let mut rest = text;
    while !rest.is_empty() {
        let (ascii, wide) = rest.split_at_checked(swar::ascii_prefix(rest.as_bytes())).unwrap_or((rest, ""));
        ascii.bytes().for_each(|b| keep(u32::from(table[usize::from(b)])));
        let mut chars = wide.chars();
        if let Some(c) = chars.next() {
            keep(small_form(c));
        }
        rest = chars.as_str();
    }
    out.truncate(len);
}

/// What becomes of a character of the scripts that two bytes of UTF-8 reach.
static SMALL_WIDE: LazyLock<[u16; 0x800]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let kept = char::from_u32(code as u32).filter(|c| c.is_alphanumeric());
        kept.and_then(|c| c.to_lowercase().next())
            .map_or(0, |c| if (c as u32) < 0x1_0000 { c as u16 } else { 0 })
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn letters_are_kept_in_order() {
        let mut dice = Dice(6);
        let mut letters = Letters::default();
        let parts =
            ["a", "Word", " ", ", ", "0aZ9", "—", "ThisIsALongNameOfSomething", "\n", "é", "@[`{/:", "b c d"];
        let mut wide = Vec::new();
        for round in 0..4_000 {
            let text = dice.text(round % 40, &parts);
            let narrow = letters.read(&text);
            let expected = text.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase());
            assert_eq!(letters.codes(), expected.collect::<Vec<_>>(), "{text:?}");
            assert_eq!(narrow, !text.contains('é'), "{text:?}");
            keep_wide(&text, &mut wide);
            let small =
                text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).map(u32::from);
            assert_eq!(wide, small.collect::<Vec<_>>(), "{text:?}");
        }
    }
}
