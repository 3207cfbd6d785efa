//! Bytes moved together.

/// Writes the bytes that are not zero one behind the other and says how many there are. `out` is at least eight bytes longer
/// than `bytes`; what stands behind those that count is left over from the work.
pub fn pack(bytes: &[u8], out: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if super::has_wide_registers() {
        #[expect(unsafe_code, reason = "calls into code that needs more than every processor has")]
        // SAFETY: processors with wide registers have these features, too.
        return unsafe { wide::pack(bytes, out) };
    }
    pack_anywhere(bytes, out)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Eight bytes at a time in an ordinary register.
fn pack_anywhere(bytes: &[u8], out: &mut [u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut len = 0;
    for word in words {
        let mut word = u64::from_le_bytes(*word);
        let mut zeros = zeros(word);
        let dropped = ((zeros >> 7).wrapping_mul(ONES) >> 56) as usize;
        // Most words have none, one or two, but nobody knows which: two are taken out, there or not.
        (word, zeros) = without_first(word, zeros);
        (word, zeros) = without_first(word, zeros);
        while zeros != 0 {
            (word, zeros) = without_first(word, zeros);
        }
        write(word, len, out);
        len += 8 - dropped;
    }
    pack_tail(tail, len, out)
}

#[inline(always)]
fn write(word: u64, at: usize, out: &mut [u8]) {
    if let Some(room) = out.get_mut(at..at + 8) {
        room.copy_from_slice(&word.to_le_bytes());
    }
}

#[inline(always)]
fn pack_tail(tail: &[u8], mut len: usize, out: &mut [u8]) -> usize {
    for &byte in tail {
        if let Some(place) = out.get_mut(len) {
            *place = byte;
            len += usize::from(byte != 0);
        }
    }
    len
}

/// Marks bytes that are zero.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & !HIGH) + !HIGH) | word) & HIGH
}

/// Takes the first zero out of a word, if there is one: what stands above moves down.
#[inline(always)]
fn without_first(word: u64, zeros: u64) -> (u64, u64) {
    let first = zeros & zeros.wrapping_neg();
    let below = (first >> 7).wrapping_sub(1);
    // The byte taken out is zero itself and adds nothing to the one that moves down to where it was.
    ((word & below) | (word & !below) >> 8, (zeros ^ first) >> 8)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_movemask_epi8, _mm_setzero_si128,
        _mm_shuffle_epi8,
    };

    /// For each set of zeros among eight bytes, where the others come from.
    static SOURCES: [u64; 256] = {
        let mut sources = [0; 256];
        let mut zeros = 0;
        while zeros < 256 {
            let (mut from, mut to) = (0, 0);
            while from < 8 {
                if zeros >> from & 1 == 0 {
                    sources[zeros] |= from << (8 * to);
                    to += 1;
                }
                from += 1;
            }
            zeros += 1;
        }
        sources
    };

    /// Eight bytes at a time, put in order by one instruction.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn pack(bytes: &[u8], out: &mut [u8]) -> usize {
        let (words, tail) = bytes.as_chunks::<8>();
        let mut len = 0;
        for word in words {
            let eight = _mm_cvtsi64_si128(i64::from_le_bytes(*word));
            let zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(eight, _mm_setzero_si128())) as u8;
            let sources = _mm_cvtsi64_si128(SOURCES[usize::from(zeros)] as i64);
            super::write(_mm_cvtsi128_si64(_mm_shuffle_epi8(eight, sources)) as u64, len, out);
            len += zeros.count_zeros() as usize;
        }
        super::pack_tail(tail, len, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_not_zero_is_kept_in_order(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0)], 0..90),
            zeros in prop::collection::vec(Just(0), 0..20),
        ) {
            let bytes = [bytes, zeros].concat();
            let expected: Vec<u8> = bytes.iter().copied().filter(|&b| b != 0).collect();
            for pack in [pack, pack_anywhere] {
                let mut out = vec![1; bytes.len() + 8];
                let len = pack(&bytes, &mut out);
                prop_assert_eq!(&out[..len], &expected);
            }
            // Too little room loses bytes, no more.
            prop_assert!(pack(&bytes, &mut []) <= bytes.len());
        }
    }
}
