//! The print of a page: the smallest of its minutiae, by which near-duplicates are found.

use super::print_index::SKETCH;

/// The print of one page, as an index takes it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    pub id: u64,
    /// The upper halves of the smallest minutiae, sorted. Minutiae lie evenly, so each has the same chance to be among them.
    pub sketch: Vec<u32>,
}

impl Print {
    /// The print of a page from its minutiae (sorted).
    pub fn new(id: u64, minutiae: &[u64]) -> Self {
        let mut sketch: Vec<u32> = minutiae.iter().take(SKETCH).map(|m| (m >> 32) as u32).collect();
        sketch.dedup();
        Self { id, sketch }
    }
}
