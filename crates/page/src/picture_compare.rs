//! Whether a page's images changed, asked only when its own parts showed no change.
//!
//! Images are compared address by address; those that only one visit knows are left to the page's own list of images.
//! The same pixels in other bytes are noise, and so is a re-encoding that neither the hashes nor the colours notice.

use super::compare::{Comparison, Signal, Verdict};
use super::picture::{Look, PictureMark};

/// Images of a page that are worth fetching for comparison.
pub const MAX_PICTURES: usize = 16;
/// Bits of the difference hash that re-encoding may turn.
const SAME_LOOK: u32 = 2;
/// Difference of mean colours that re-encoding may cause.
const SAME_COLOUR: u8 = 4;

/// The signal that says one of the images changed; `Some(Bytes)` if they differ without being news.
pub fn compare_pictures(old: &[PictureMark], new: &[PictureMark]) -> Option<Signal> {
    let mut noise = false;
    for mark in new.iter().take(MAX_PICTURES) {
        let Some(before) = old.iter().find(|m| m.address == mark.address) else { continue };
        if before.bytes == mark.bytes {
            continue;
        }
        match (&before.look, &mark.look) {
            (Some(a), Some(b)) => match judge(a, b) {
                Some(signal) => return Some(signal),
                None => noise = true,
            },
            // What cannot be looked at is judged by its bytes.
            _ => return Some(Signal::ImageDigest),
        }
    }
    noise.then_some(Signal::Bytes)
}

fn judge(a: &Look, b: &Look) -> Option<Signal> {
    if a.pixels == b.pixels && (a.width, a.height) == (b.width, b.height) {
        return None;
    }
    let reencoded = a.distance(b) <= SAME_LOOK
        && a.colour_distance(b) <= SAME_COLOUR
        && (a.width, a.height) == (b.width, b.height);
    if reencoded {
        None
    } else if a.ival != b.ival {
        Some(Signal::ImageValue)
    } else if a.distance(b) > 0 {
        Some(Signal::ImageLook)
    } else {
        Some(Signal::ImageDigest)
    }
}

impl Comparison {
    /// Whether the images are worth looking at: the page's own parts showed no change.
    pub fn wants_pictures(&self) -> bool {
        matches!(self.verdict, Verdict::Unchanged | Verdict::Noise)
    }

    /// The last step of the cascade: takes the images into account if nothing fired before.
    pub fn with_pictures(mut self, old: &[PictureMark], new: &[PictureMark]) -> Self {
        if self.wants_pictures() {
            match compare_pictures(old, new) {
                Some(Signal::Bytes) => (self.verdict, self.signal) = (Verdict::Noise, Signal::Bytes),
                Some(signal) => (self.verdict, self.signal) = (Verdict::Image, signal),
                None => {}
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(address: u64, bytes: u64, look: Option<Look>) -> PictureMark {
        PictureMark { address, bytes, look }
    }

    fn look(pixels: u64, ival: i128, hash: u64, colour: u8) -> Option<Look> {
        Some(Look { width: 8, height: 8, pixels, ival: [ival, 0, 0], hash, thumb: [[colour; 3]; 16] })
    }

    #[test]
    fn each_signal_can_fire() {
        let old = [mark(1, 10, look(1, 5, 0, 9))];
        let judged = |bytes, look| compare_pictures(&old, &[mark(1, bytes, look)]);
        assert_eq!(judged(10, look(1, 5, 0, 9)), None);
        assert_eq!(judged(11, look(1, 5, 0, 9)), Some(Signal::Bytes));
        assert_eq!(judged(11, look(2, 5, 1, 11)), Some(Signal::Bytes));
        assert_eq!(judged(11, look(2, 6, 0xff, 9)), Some(Signal::ImageValue));
        assert_eq!(judged(11, look(2, 5, 0xff, 9)), Some(Signal::ImageLook));
        assert_eq!(judged(11, look(2, 5, 0, 90)), Some(Signal::ImageDigest));
        assert_eq!(judged(11, None), Some(Signal::ImageDigest));
        assert_eq!(compare_pictures(&old, &[mark(2, 11, None)]), None);
    }
}
