//! How the format writes lengths and distances: a slot, which has a code, and extra bits that tell where in the slot.

/// The length of the shortest match that can be written.
pub(super) const MIN_LENGTH: u32 = 3;
/// The length of the longest.
pub(super) const MAX_LENGTH: u32 = 258;
/// How far back a match can lie.
pub(super) const MAX_DISTANCE: u32 = 32_768;

pub(super) const LENGTH_SLOTS: usize = 29;
pub(super) const DISTANCE_SLOTS: usize = 30;
/// Stands for "no distance"; has a code of no bits.
pub(super) const NO_DISTANCE: usize = 30;

pub(super) const LENGTH_BASE: [u16; LENGTH_SLOTS] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];

/// Extra bits of a length slot.
pub(super) const LENGTH_EXTRA: [u8; LENGTH_SLOTS] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/// The slot of each length from [`MIN_LENGTH`] on.
pub(super) const LENGTH_SLOT: [u8; 256] = {
    let mut slots = [0; 256];
    let mut length = MIN_LENGTH as usize;
    while length <= MAX_LENGTH as usize {
        let mut slot = LENGTH_SLOTS - 1;
        while LENGTH_BASE[slot] as usize > length {
            slot -= 1;
        }
        slots[length - MIN_LENGTH as usize] = slot as u8;
        length += 1;
    }
    slots
};

/// Extra bits of a distance slot.
pub(super) const fn distance_extra(slot: usize) -> u32 {
    if slot < 2 { 0 } else { (slot as u32 >> 1) - 1 }
}

/// Slot and extra bits of a distance from 1 to [`MAX_DISTANCE`]. Without a branch: nothing about distances can be foretold.
#[inline(always)]
pub(super) fn distance_slot(distance: u32) -> (usize, u32) {
    let below = distance.wrapping_sub(1);
    let extra = 30 - (below | 2).leading_zeros().min(30);
    ((2 * extra + (below >> extra)) as usize, below & ((1 << extra) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_distance_lies_in_its_slot() {
        for length in MIN_LENGTH..=MAX_LENGTH {
            let slot = usize::from(LENGTH_SLOT[(length - MIN_LENGTH) as usize]);
            let extra = length - u32::from(LENGTH_BASE[slot]);
            assert!(extra < 1 << LENGTH_EXTRA[slot], "{length}");
        }
        assert_eq!(LENGTH_SLOT[255], 28);
        let mut base = 1;
        for slot in 0..DISTANCE_SLOTS {
            for extra in 0..1 << distance_extra(slot) {
                assert_eq!(distance_slot(base), (slot, extra));
                base += 1;
            }
        }
        assert_eq!(base, MAX_DISTANCE + 1);
    }
}
