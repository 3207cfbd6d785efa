//! The characters of a text that count: letters and digits, made small.

use crate::swar;
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

/// Bytes written at a time: eight letters, each at most seven behind the first.
const ROOM: usize = 16;

impl Letters {
    /// Reads a text; false if a letter beyond ASCII was met, so that the codes are not all.
    pub fn read(&mut self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
            self.codes.resize(bytes.len() + ROOM, 0);
        }
        for (to, &from) in self.small.iter_mut().zip(bytes) {
            let small = from | 0x20;
            let counts = (small.wrapping_sub(b'a') < 26) | (from.wrapping_sub(b'0') < 10);
            *to = if counts { small } else { 0 };
        }
        self.len = gather(self.small.get(..bytes.len()).unwrap_or(b""), &mut self.codes);
        no_wide_letter(text)
    }

    pub fn codes(&self) -> &[u8] {
        self.codes.get(..self.len).unwrap_or(b"")
    }
}

/// Moves what is not zero together, without a branch per byte: each goes where the number of those before it says. What is
/// dropped is written over by the next.
#[inline(never)]
fn gather(small: &[u8], codes: &mut [u8]) -> usize {
    let mut len = 0;
    let (words, tail) = small.as_chunks::<8>();
    for word in words {
        let kept = swar::zeros(u64::from_le_bytes(*word)) ^ swar::HIGH;
        // Byte n: how many of the bytes up to n are kept.
        let counts = (kept >> 7).wrapping_mul(swar::ONES);
        let before = (counts << 8).to_le_bytes();
        let Some(room) = codes.get_mut(len..).and_then(|rest| rest.first_chunk_mut::<ROOM>()) else { break };
        for (&byte, place) in word.iter().zip(before) {
            room[place as usize % ROOM] = byte;
        }
        len += (counts >> 56) as usize;
    }
    for &byte in tail {
        if let Some(place) = codes.get_mut(len) {
            *place = byte;
            len += usize::from(byte != 0);
        }
    }
    len
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
    out.clear();
    out.reserve(text.len());
    out.extend(text.chars().map(small_form).filter(|&kept| kept != 0));
}

/// What becomes of a character of the scripts that two bytes of UTF-8 reach.
static SMALL_WIDE: LazyLock<[u16; 0x800]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let kept = char::from_u32(code as u32).filter(|c| c.is_alphanumeric());
        kept.and_then(|c| c.to_lowercase().next())
            .map_or(0, |c| if (c as u32) < 0x1_0000 { c as u16 } else { 0 })
    })
});
