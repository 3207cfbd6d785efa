//! Random numbers that follow from a seed: small, and the same everywhere (SplitMix64).

pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`, which must not be 0.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    pub fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.roll((range.end - range.start).max(1))
    }
}
