//! How alike two pages are, whatever changed.

use lycosa_page::Likeness;
use serde::Serialize;

use super::reading::Reading;

/// All from 0 to 1.
#[derive(Debug, Serialize)]
pub struct Scores {
    /// Minutiae in common among all of both.
    pub resemblance: f64,
    /// Share of the old page's minutiae found in the new.
    pub old_in_new: f64,
    /// Share of the new page's minutiae found in the old.
    pub new_in_old: f64,
    /// Cosine of the keyword counts.
    pub keyword_similarity: f64,
}

impl Scores {
    /// Of the pages that were signed last.
    pub fn of(old: &Reading, new: &Reading) -> Self {
        let likeness = Likeness::of(old.judger.minutiae(), new.judger.minutiae());
        Self {
            resemblance: likeness.resemblance,
            old_in_new: likeness.contained,
            new_in_old: likeness.containing,
            keyword_similarity: old.keywords().similarity(&new.keywords()),
        }
    }
}
