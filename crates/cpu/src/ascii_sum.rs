//! What the ASCII characters of a text add up to, and how many different ones there are.

/// Sums over the bytes below 128.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AsciiSum {
    pub count: u64,
    pub sum: u64,
    /// Of the squares.
    pub squares: u64,
    /// How many different ones there are.
    pub distinct: u32,
}

/// Bytes added up at the same time.
const BLOCK: usize = 32;
/// Blocks whose sums fit into the widths they are added up in.
const BLOCKS: usize = 1024;

impl AsciiSum {
    /// The sums over `bytes`, of which there are fewer than 2⁴⁸.
    pub fn of(bytes: &[u8]) -> Self {
        let mut all = Self::default();
        super::widest(
            #[inline(always)]
            |_| all.add(bytes),
        );
        all.distinct = distinct(bytes);
        all
    }

    #[inline(always)]
    fn add(&mut self, bytes: &[u8]) {
        // Blocks keep the sums of each place apart, so that all places are added up at the same time.
        for part in bytes.chunks(BLOCK * BLOCKS) {
            let (blocks, tail) = part.as_chunks::<BLOCK>();
            let (mut beyond, mut sums, mut squares) = ([0u16; BLOCK], [0u32; BLOCK], [0u32; BLOCK]);
            for block in blocks {
                for (at, &byte) in block.iter().enumerate() {
                    let ascii = if byte < 128 { u16::from(byte) } else { 0 };
                    beyond[at] += u16::from(byte >> 7);
                    sums[at] += u32::from(ascii);
                    squares[at] += u32::from(ascii * ascii);
                }
            }
            self.count += part.len() as u64 - beyond.iter().map(|&n| u64::from(n)).sum::<u64>();
            self.sum += sums.iter().map(|&n| u64::from(n)).sum::<u64>();
            self.squares += squares.iter().map(|&n| u64::from(n)).sum::<u64>();
            for &byte in tail {
                let ascii = if byte < 128 { u64::from(byte) } else { 0 };
                self.count -= u64::from(byte >> 7);
                self.sum += ascii;
                self.squares += ascii * ascii;
            }
        }
    }
}

/// The characters that there are, told by the lower half of their codes: one bit for each upper half.
type Rows = [u8; 16];

/// The bit of an upper half; none beyond ASCII.
const UPPER_HALF: Rows = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// How many characters there are.
fn distinct(bytes: &[u8]) -> u32 {
    let mut rows = [0; 16];
    #[cfg(target_arch = "x86_64")]
    if super::has_wide_registers() {
        #[expect(unsafe_code, reason = "calls into code that needs more than every processor has")]
        // SAFETY: processors with wide registers have these features.
        unsafe {
            wide::mark(bytes, &mut rows);
        }
        return u128::from_le_bytes(rows).count_ones();
    }
    mark(bytes, &mut rows);
    u128::from_le_bytes(rows).count_ones()
}

#[inline(always)]
fn mark(bytes: &[u8], rows: &mut Rows) {
    for &byte in bytes {
        rows[usize::from(byte) % 16] |= UPPER_HALF[usize::from(byte) / 16];
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{BLOCK, Rows, UPPER_HALF};
    use std::arch::x86_64::{
        __m256i, _mm_set_epi64x, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_srli_epi16,
    };

    /// Asks of 32 bytes at a time whether all are known, which soon they are.
    #[target_feature(enable = "avx2")]
    pub(super) fn mark(bytes: &[u8], rows: &mut Rows) {
        let mut known = both(rows);
        let (blocks, tail) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            if new_among(block, known) {
                super::mark(block, rows);
                known = both(rows);
            }
        }
        super::mark(tail, rows);
    }

    #[target_feature(enable = "avx2")]
    fn new_among(block: &[u8; BLOCK], known: __m256i) -> bool {
        let word = |at: usize| block.as_chunks::<8>().0.get(at).map_or(0, |w| i64::from_le_bytes(*w));
        let bytes = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
        let half = _mm256_set1_epi8(15);
        let rows = _mm256_shuffle_epi8(known, _mm256_and_si256(bytes, half));
        let uppers = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
        let bits = _mm256_shuffle_epi8(both(&UPPER_HALF), uppers);
        let unknown = _mm256_cmpeq_epi8(_mm256_and_si256(rows, bits), _mm256_setzero_si256());
        // Bytes beyond ASCII are not asked for.
        _mm256_movemask_epi8(unknown) & !_mm256_movemask_epi8(bytes) != 0
    }

    /// The same sixteen bytes in both halves.
    #[target_feature(enable = "avx2")]
    fn both(bytes: &Rows) -> __m256i {
        let bytes = u128::from_le_bytes(*bytes);
        _mm256_broadcastsi128_si256(_mm_set_epi64x((bytes >> 64) as i64, bytes as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn plainly(bytes: &[u8]) -> AsciiSum {
        let codes = || bytes.iter().map(|&b| u64::from(b)).filter(|&code| code < 128);
        AsciiSum {
            count: codes().count() as u64,
            sum: codes().sum(),
            squares: codes().map(|code| code * code).sum(),
            distinct: codes().collect::<BTreeSet<_>>().len() as u32,
        }
    }

    proptest! {
        #[test]
        fn sums_are_what_they_say(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..3000),
                prop::collection::vec(b'a'..b'h', 0..3000),
            ],
        ) {
            let expected = plainly(&bytes);
            prop_assert_eq!(AsciiSum::of(&bytes), expected);
            let mut rows = [0; 16];
            mark(&bytes, &mut rows);
            prop_assert_eq!(u128::from_le_bytes(rows).count_ones(), expected.distinct);
        }
    }

    #[test]
    fn long_texts_do_not_run_over() {
        let long = vec![127; 3 << 20];
        assert_eq!(AsciiSum::of(&long).squares, (3 << 20) * 127 * 127);
    }
}
