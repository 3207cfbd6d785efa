//! Flags as the bits of one number.

use super::Registers;

impl Registers {
    /// One bit for each flag, that of the first lowest.
    #[inline(always)]
    pub fn bits(self, flags: [bool; 64]) -> u64 {
        let flags = flags.map(u8::from);
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            #[expect(unsafe_code, reason = "calls into code that needs more than every processor has")]
            // SAFETY: registers are wide only where the processor was asked for all of these features.
            return unsafe { wide::bits(&flags) };
        }
        bits_anywhere(&flags)
    }
}

/// Eight flags at a time in an ordinary register.
#[inline(always)]
fn bits_anywhere(flags: &[u8; 64]) -> u64 {
    let (words, _) = flags.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| {
        // Each flag moves to its place in the uppermost byte.
        bits << 8 | u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{_mm256_movemask_epi8, _mm256_set_epi64x, _mm256_slli_epi16};

    /// Thirty-two flags at a time, by one instruction.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn bits(flags: &[u8; 64]) -> u64 {
        let word = |at: usize| flags.as_chunks::<8>().0.get(at).map_or(0, |w| i64::from_le_bytes(*w));
        let half = |at: usize| {
            let flags = _mm256_set_epi64x(word(at + 3), word(at + 2), word(at + 1), word(at));
            u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(flags)) as u32)
        };
        half(0) | half(4) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_flag_is_the_bit_at_its_place(bits: u64) {
            let flags: [bool; 64] = std::array::from_fn(|at| bits >> at & 1 == 1);
            prop_assert_eq!(crate::widest(|registers| registers.bits(flags)), bits);
            prop_assert_eq!(Registers { wide: false }.bits(flags), bits);
        }
    }
}
