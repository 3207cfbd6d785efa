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

/// Bytes written at a time.
const ROOM: usize = 8;

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
        text.is_ascii() || no_wide_letter(text)
    }

    pub fn codes(&self) -> &[u8] {
        self.codes.get(..self.len).unwrap_or(b"")
    }
}

/// Moves what is not zero together, eight bytes at a time. What is written behind the last that is kept is written over by
/// the next.
#[inline(never)]
fn gather(small: &[u8], codes: &mut [u8]) -> usize {
    let mut len = 0;
    let (words, tail) = small.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word);
        let mut zeros = swar::zeros(word);
        let dropped = ((zeros >> 7).wrapping_mul(swar::ONES) >> 56) as usize;
        // Most words have none, one or two, but nobody knows which: two are taken out, there or not.
        (word, zeros) = without_first(word, zeros);
        (word, zeros) = without_first(word, zeros);
        while zeros != 0 {
            (word, zeros) = without_first(word, zeros);
        }
        let Some(room) = codes.get_mut(len..len + 8) else { break };
        room.copy_from_slice(&word.to_le_bytes());
        len += 8 - dropped;
    }
    for &byte in tail {
        if let Some(place) = codes.get_mut(len) {
            *place = byte;
            len += usize::from(byte != 0);
        }
    }
    len
}

/// Takes the first zero out of a word, if there is one: what stands above moves down.
#[inline(always)]
fn without_first(word: u64, zeros: u64) -> (u64, u64) {
    let first = zeros & zeros.wrapping_neg();
    let below = (first >> 7).wrapping_sub(1);
    // The byte taken out is zero itself and adds nothing to the one that moves down to where it was.
    ((word & below) | (word & !below) >> 8, (zeros ^ first) >> 8)
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
