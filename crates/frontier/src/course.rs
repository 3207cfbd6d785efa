//! The course of a page: what visits over time told about it, and when to come again.

use lycosa_types::{Change, PastVisit, UnixMs};
use serde::{Deserialize, Serialize};

use crate::revisit::{Evidence, Place};

/// What is remembered about a page besides its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// What its visits showed about how often it changes.
    pub evidence: Evidence,
    /// Where the schedule counts it.
    pub place: Place,
    /// When the next visit is due; none if only a sweep brings it.
    pub due: Option<UnixMs>,
    /// The last visit that found news.
    pub changed_at: Option<UnixMs>,
    /// When the copy in the archive was fetched.
    pub copy_at: Option<UnixMs>,
    /// Visits so far that brought an answer, and how many of them found news.
    pub visits: u32,
    pub changes: u32,
}

/// What a visit changes in a page's course.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseEnd {
    pub course: Course,
    /// When this visit was due.
    pub due_before: Option<UnixMs>,
    /// Visits to be remembered; the last is the one that ended.
    pub history: Vec<PastVisit>,
    /// The copy in the archive stays the one of an earlier visit.
    pub keeps_copy: bool,
}

/// What became known about a visit after it had ended: an image of the page changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Amendment {
    /// When the visit was.
    pub at: UnixMs,
    pub change: Change,
    pub signal: String,
    pub course: Course,
}

impl Amendment {
    pub(crate) fn apply(&self, visit: &mut PastVisit) {
        visit.change = self.change;
        visit.signal.clone_from(&self.signal);
    }

    /// The end of the visit, had this been known then.
    pub(crate) fn applied_to(&self, end: &CourseEnd) -> CourseEnd {
        let mut end = end.clone();
        end.course.clone_from(&self.course);
        end.history.iter_mut().filter(|visit| visit.at == self.at).for_each(|visit| self.apply(visit));
        end
    }
}
