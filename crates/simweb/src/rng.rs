//! Counter-based randomness: every value is a pure function of a key, so that nothing about the world is stored.
//!
//! Promise: integer arithmetic only, hence the same numbers on every machine.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scrambles one word (the finaliser of splitmix64).
#[inline]
pub fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Derives a new key from a key and a label or counter.
#[inline]
pub fn mix(key: u64, label: u64) -> u64 {
    scramble(key.wrapping_add(GOLDEN).wrapping_add(label.wrapping_mul(0xD1B5_4A32_D192_ED03)))
}

/// Maps 64 random bits onto `0..n` (0 when `n` is 0).
#[inline]
pub fn below(bits: u64, n: u32) -> u32 {
    (((bits >> 32) * u64::from(n)) >> 32) as u32
}

/// A stream of random words that starts at a key.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    #[inline]
    pub fn new(key: u64) -> Self {
        Self(key)
    }

    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        scramble(self.0)
    }

    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        below(self.word(), n)
    }

    /// True in `permille` of a thousand draws.
    #[inline]
    pub fn permille(&mut self, permille: u16) -> bool {
        self.below(1000) < u32::from(permille)
    }
}

/// A rank in `0..n` with density falling as 1/(rank+1): the power law behind in-links.
///
/// A level is drawn uniformly, then a rank uniformly inside the level, which needs no floating point.
#[inline]
pub fn power_rank(bits: u64, n: u32) -> u32 {
    if n <= 1 {
        return 0;
    }
    let levels = 32 - n.leading_zeros();
    let level = below(bits, levels);
    let low = 1u32 << level;
    let width = low.min(n - low + 1);
    (low - 1) + below(bits << 32, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_ranks_stay_in_range_and_favour_the_head() {
        let mut rng = Rng::new(7);
        for n in [1u32, 2, 3, 5, 100, 1 << 20] {
            let mut head = 0;
            for _ in 0..2000 {
                let r = power_rank(rng.word(), n);
                assert!(r < n);
                head += u32::from(r < n.div_ceil(10));
            }
            if n >= 100 {
                assert!(head > 800, "the first tenth draws {head} of 2000");
            }
        }
    }

    #[test]
    fn mix_depends_on_both_arguments() {
        assert_ne!(mix(1, 2), mix(2, 1));
        assert_ne!(mix(1, 2), mix(1, 3));
        assert_eq!(mix(1, 2), mix(1, 2));
    }
}
