//! The print of a page: the smallest of its minutiae, by which near-duplicates are found.

use super::print_index::SKETCH;
use serde::{Deserialize, Serialize};

/// The prints of one page, for storage and for sending to the node that owns them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Print {
    pub id: u64,
    /// The smallest minutiae, sorted.
    pub sketch: Vec<u32>,
}

impl Print {
    /// The print of a page from its minutiae (sorted).
    pub fn new(id: u64, minutiae: &[u64]) -> Self {
        // Winnowing prefers small hashes: mixed again, every minutia has the same chance.
        let mixed = |m: &u64| (m.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let mut sketch = smallest(minutiae, mixed).unwrap_or_else(|| {
            let mut all: Vec<u32> = minutiae.iter().map(mixed).collect();
            all.sort_unstable();
            all.truncate(SKETCH);
            all
        });
        sketch.dedup();
        Self { id, sketch }
    }
}

/// Values that may be among the smallest, for which there is room; half as many are expected.
const ROOM: usize = 3 * SKETCH;

/// The smallest values of a long list, sorted. They lie evenly, so nearly all of the list can be left out beforehand, without
/// a branch that nobody could predict; none in the rare case that too many or too few are left.
fn smallest(minutiae: &[u64], mixed: impl Fn(&u64) -> u32) -> Option<Vec<u32>> {
    let below = u64::from(u32::MAX) * (ROOM as u64 / 2) / (minutiae.len() as u64).max(ROOM as u64);
    let mut kept = [0; ROOM + 1];
    let mut n = 0;
    for value in minutiae.iter().map(mixed) {
        kept[n.min(ROOM)] = value;
        n += usize::from(u64::from(value) <= below);
    }
    let kept = kept.get_mut(..n).filter(|kept| (SKETCH..=ROOM).contains(&kept.len()))?;
    kept.sort_unstable();
    kept.get(..SKETCH).map(<[u32]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn the_smallest_are_kept() {
        let mut dice = Dice(12);
        for round in 0..3_000usize {
            let count = round % 700;
            // Some lists hold everything twice, some lie all in one corner.
            let mut all: Vec<u64> =
                (0..count).map(|n| if n % 2 == 1 && round % 3 == 0 { dice.0 } else { dice.next() }).collect();
            if round % 50 == 0 {
                all.fill(7);
            }
            all.sort_unstable();
            let mut expected: Vec<u32> =
                all.iter().map(|m| (m.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32).collect();
            expected.sort_unstable();
            expected.truncate(SKETCH);
            expected.dedup();
            assert_eq!(Print::new(0, &all).sketch, expected);
        }
    }
}
