//! The characters of a text that count: letters and digits, made small.

use crate::swar;
use std::sync::LazyLock;

/// Codes handled at a time, in buffers that stay near.
pub(super) const CHUNK: usize = 256;

/// What becomes of an ASCII character: its small form, or 0 if it is dropped.
static SMALL: [u8; 128] = {
    let mut table = [0u8; 128];
    let mut c = 0u8;
    while c < 128 {
        if c.is_ascii_alphanumeric() {
            table[c as usize] = c.to_ascii_lowercase();
        }
        c += 1;
    }
    table
};

/// The kept characters if all of them are ASCII, which they are in most texts with curly quotes and dashes too.
pub(super) fn keep_narrow(text: &str, out: &mut Vec<u8>) -> bool {
    out.clear();
    out.reserve(text.len());
    let mut rest = text;
    loop {
        let ascii = swar::ascii_prefix(rest.as_bytes());
        let (narrow, tail) = rest.split_at(ascii);
        keep_ascii(narrow.as_bytes(), out);
        let mut chars = tail.chars();
        match chars.next() {
            None => return true,
            Some(c) if small_form(c) != 0 => return false,
            Some(_) => rest = chars.as_str(),
        }
    }
}

/// The kept characters, without a branch per byte: what is dropped is written over by the next.
fn keep_ascii(bytes: &[u8], out: &mut Vec<u8>) {
    let mut kept = [0u8; CHUNK];
    // One less than the buffer holds, so that the count fits a byte.
    for chunk in bytes.chunks(CHUNK - 1) {
        let mut n = 0u8;
        for &byte in chunk {
            let small = SMALL[(byte & 127) as usize];
            kept[n as usize] = small;
            n = n.wrapping_add(u8::from(small != 0));
        }
        out.extend_from_slice(&kept[..n as usize]);
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
