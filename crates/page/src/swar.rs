//! Eight bytes at a time in an ordinary register.
//!
//! Names, values and runs of text are short: most end within eight bytes, and where they end is hard to predict. One
//! test of a whole word costs less than a mispredicted loop, and less than a call of memchr, which wins on long
//! stretches only.

pub(crate) const ONES: u64 = 0x0101_0101_0101_0101;
pub(crate) const HIGH: u64 = 0x8080_8080_8080_8080;
/// Words tried before memchr takes over.
const SHORT_WORDS: usize = 3;

/// The eight bytes at `at`, the first of them lowest; `None` nearer than that to the end.
#[inline(always)]
pub(crate) fn load(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk))
}

/// The last bytes, from `at` on, filled up with zeros.
#[cold]
#[inline(never)]
pub(crate) fn tail(bytes: &[u8], at: usize) -> u64 {
    let mut last = [0u8; 8];
    for (to, &from) in last.iter_mut().zip(bytes.get(at..).unwrap_or(b"")) {
        *to = from;
    }
    u64::from_le_bytes(last)
}

/// Sum of the squares of eight bytes, if all are ASCII. Every other byte times its mirror image: the middle of the
/// product is their sum, and four squares of at most 127 do not run over.
#[inline(always)]
pub(crate) const fn squares(word: u64) -> u64 {
    const LANES: u64 = 0x00ff_00ff_00ff_00ff;
    let mirrored = word.swap_bytes();
    let even = (word & LANES).wrapping_mul((mirrored >> 8) & LANES) >> 48;
    let odd = ((word >> 8) & LANES).wrapping_mul(mirrored & LANES) >> 48;
    even + odd
}

/// Marks bytes less than `limit` (at most 128). Marks above the first may be false.
#[inline(always)]
pub(crate) const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & HIGH
}

/// Marks bytes equal to `byte`. Marks above the first may be false.
#[inline(always)]
pub(crate) const fn equal(word: u64, byte: u8) -> u64 {
    let zero_where_equal = word ^ (ONES * byte as u64);
    zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & HIGH
}

/// The index of the first mark; 8 when there is none.
#[inline(always)]
pub(crate) const fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// The lowest `count` bits.
#[inline(always)]
pub(crate) const fn first_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// All bits of the first `count` bytes.
#[inline(always)]
pub(crate) const fn first_bytes(count: usize) -> u64 {
    if count >= 8 { u64::MAX } else { (1 << (count * 8)) - 1 }
}

/// The first `len` bytes of a word, capital letters made small. Other bytes may change too, but none into a small
/// letter, `-` or `:`, if all are at least 0x2d.
#[inline(always)]
pub(crate) const fn small_letters(word: u64, len: usize) -> u64 {
    (word | (ONES * 0x20)) & first_bytes(len)
}

/// A name of up to eight bytes as one number, capital letters made small; zero for longer ones. NUL counts as a byte
/// of no known name.
pub(crate) const fn pack(name: &[u8]) -> u64 {
    if name.len() > 8 {
        return 0;
    }
    let mut packed = 0u64;
    let mut i = 0;
    while i < name.len() {
        let byte = name[i].to_ascii_lowercase();
        packed |= (if byte == 0 { 1 } else { byte } as u64) << (8 * i);
        i += 1;
    }
    packed
}

/// The first `needle` at or after `from`, expected nearby.
#[inline(always)]
pub(crate) fn find_near(bytes: &[u8], from: usize, needle: u8) -> Option<usize> {
    let mut at = from;
    for _ in 0..SHORT_WORDS {
        let Some(word) = load(bytes, at) else { break };
        let marks = equal(word, needle);
        if marks != 0 {
            return Some(at + first(marks));
        }
        at += 8;
    }
    memchr::memchr(needle, bytes.get(at..)?).map(|n| at + n)
}

/// How many bytes at the start are ASCII.
#[inline]
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = load(bytes, at) {
        let marks = word & HIGH;
        if marks != 0 {
            return at + first(marks);
        }
        at += 8;
    }
    let tail = bytes.get(at..).unwrap_or(b"");
    at + tail.iter().position(|b| !b.is_ascii()).unwrap_or(tail.len())
}

/// Whether a value holds `&` or a control character and so must be looked at byte by byte.
#[inline(always)]
pub(crate) fn needs_decoding(bytes: &[u8]) -> bool {
    let (words, tail) = bytes.as_chunks::<8>();
    let special = words.iter().fold(0, |marks, chunk| {
        let word = u64::from_le_bytes(*chunk);
        marks | below(word, 0x20) | equal(word, b'&')
    });
    special != 0 || tail.iter().any(|&b| b < 0x20 || b == b'&')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn the_first_mark_is_true() {
        let mut dice = Dice(1);
        for _ in 0..20_000 {
            let seed = dice.next();
            let word = seed ^ (seed >> 29);
            let bytes = word.to_le_bytes();
            for limit in [0x20, 0x2d, 0x30, 0x80] {
                let expected = bytes.iter().position(|b| *b < limit).unwrap_or(8);
                assert_eq!(first(below(word, limit)), expected);
            }
            let byte = bytes[(seed >> 60) as usize % 8];
            assert_eq!(first(equal(word, byte)), bytes.iter().position(|b| *b == byte).unwrap_or(8));
            let ascii = word & !HIGH;
            let expected: u64 = ascii.to_le_bytes().iter().map(|&b| u64::from(b) * u64::from(b)).sum();
            assert_eq!(squares(ascii), expected);
            let front = seed as usize % 10;
            let expected: [u8; 8] = std::array::from_fn(|i| if i < front { 0xff } else { 0 });
            assert_eq!(first_bytes(front), u64::from_le_bytes(expected));
            let count = seed as usize % 70;
            assert_eq!(first_bits(count).count_ones() as usize, count.min(64));
            assert_eq!(first_bits(count).trailing_ones() as usize, count.min(64));
            assert_eq!(needs_decoding(&bytes), bytes.iter().any(|&b| b < 0x20 || b == b'&'));
        }
    }

    #[test]
    fn needles_near_and_far() {
        for distance in 0..100 {
            let mut bytes = vec![b'.'; 3 + distance];
            assert_eq!(find_near(&bytes, 3, b'<'), None);
            bytes.push(b'<');
            bytes.extend_from_slice(b"<.......");
            assert_eq!(find_near(&bytes, 3, b'<'), Some(3 + distance));
        }
        assert_eq!(find_near(b"abc", 7, b'<'), None);
    }

    #[test]
    fn packing() {
        assert_eq!(pack(b"HreF"), small_letters(load(b"hREf=...", 0).unwrap(), 4));
        assert_eq!(pack(b"textarea"), small_letters(load(b"TEXTAREA", 0).unwrap(), 8));
        assert_ne!(pack(b"p\0"), pack(b"p"));
        assert_eq!(pack(b"plaintext"), 0);
    }
}
