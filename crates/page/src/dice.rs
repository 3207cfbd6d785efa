//! Random input for tests, the same in every run.

/// Numbers that follow from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        self.0
    }

    /// A number below `sides`, which must not be 0.
    pub fn roll(&mut self, sides: usize) -> usize {
        ((u128::from(self.next()) * sides as u128) >> 64) as usize
    }

    /// So many of the parts, in any order.
    pub fn text(&mut self, count: usize, parts: &[&str]) -> String {
        (0..count).map(|_| parts[self.roll(parts.len())]).collect()
    }
}
