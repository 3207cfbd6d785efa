//! What a byte means to the scanner, looked up in one table instead of compared against a list.

/// ASCII white space as HTML defines it.
pub const SPACE: u8 = 1;
/// Ends a tag name: white space, `/`, `>`.
pub const NAME_END: u8 = 2;
/// Ends an attribute name: white space, `/`, `>`, `=`.
pub const ATTR_END: u8 = 4;
/// Ends an unquoted attribute value: white space, `>`.
pub const UNQUOTED_END: u8 = 8;
/// Interrupts a run of text that could be copied as it is: white space, `&`, NUL.
pub const TEXT_STOP: u8 = 16;
/// Interrupts an attribute value that could be copied as it is: `&`, NUL, white space other than the blank.
pub const VALUE_STOP: u8 = 32;

/// The classes of every byte.
pub static CLASS: [u8; 256] = build();

const fn build() -> [u8; 256] {
    let mut table = [0u8; 256];
    let spaces = *b"\t\n\x0c\r ";
    let mut i = 0;
    while i < spaces.len() {
        let b = spaces[i] as usize;
        table[b] = SPACE | NAME_END | ATTR_END | UNQUOTED_END | TEXT_STOP | VALUE_STOP;
        i += 1;
    }
    table[b' ' as usize] &= !VALUE_STOP;
    table[b'/' as usize] |= NAME_END | ATTR_END;
    table[b'>' as usize] |= NAME_END | ATTR_END | UNQUOTED_END;
    table[b'=' as usize] |= ATTR_END;
    table[b'&' as usize] |= TEXT_STOP | VALUE_STOP;
    table[0] |= TEXT_STOP | VALUE_STOP;
    table
}

/// Whether `byte` is of one of the classes in `mask`.
#[inline(always)]
pub fn is(byte: u8, mask: u8) -> bool {
    CLASS[byte as usize] & mask != 0
}

/// The first position at or after `from` whose byte is of a class in `mask`, or the length.
#[inline(always)]
pub fn find(bytes: &[u8], from: usize, mask: u8) -> usize {
    let mut i = from;
    while let Some(&b) = bytes.get(i) {
        if is(b, mask) {
            return i;
        }
        i += 1;
    }
    bytes.len().max(from)
}

/// The first position at or after `from` whose byte is of no class in `mask`, or the length.
#[inline(always)]
pub fn skip(bytes: &[u8], from: usize, mask: u8) -> usize {
    let mut i = from;
    while let Some(&b) = bytes.get(i) {
        if !is(b, mask) {
            return i;
        }
        i += 1;
    }
    bytes.len().max(from)
}

/// `s` without ASCII white space at its ends.
pub fn trim(s: &str) -> &str {
    s.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_say() {
        assert!(is(b' ', SPACE) && is(b'\x0c', SPACE) && !is(b'\x0b', SPACE));
        assert!(is(b'=', ATTR_END) && !is(b'=', NAME_END));
        assert!(is(b'&', TEXT_STOP) && is(0, TEXT_STOP) && !is(b'<', TEXT_STOP));
        assert_eq!(find(b"ab cd", 0, SPACE), 2);
        assert_eq!(find(b"abcd", 1, SPACE), 4);
        assert_eq!(skip(b"   x", 0, SPACE), 3);
        assert_eq!(trim("\t a b\r\n"), "a b");
    }
}
