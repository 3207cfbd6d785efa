//! How far the index has come, as its commits remember it.

use lycosa_search::Mark;
use lycosa_types::ArchiveSpan;
use serde::{Deserialize, Serialize};

/// A place in the archive, and what was known when the index stood there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexMark {
    /// Pages archived before this place are in the index as they were then.
    pub segment: u32,
    pub offset: u64,
    /// Nothing was left to do: the texts of all links, and the ranks below, are in it.
    pub complete: bool,
    /// The ranks that were used; 0 for none.
    pub ranks: u64,
}

impl IndexMark {
    /// The mark of a commit; one that cannot be read stands at the beginning.
    pub fn read(mark: &Mark) -> Self {
        serde_json::from_str(&mark.0).unwrap_or_default()
    }

    pub fn write(self) -> Mark {
        Mark(serde_json::to_string(&self).unwrap_or_default())
    }

    /// Whether what lies at `span` came after the mark.
    pub fn is_before(&self, span: ArchiveSpan) -> bool {
        (self.segment, self.offset) <= (span.segment, span.offset)
    }

    /// Moves on to the end of `span`, never back.
    pub fn pass(&mut self, span: ArchiveSpan) {
        let end = (span.segment, span.offset.saturating_add(u64::from(span.length)));
        if end > (self.segment, self.offset) {
            (self.segment, self.offset) = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_moves_forwards_and_is_read_back() {
        let span = |segment, offset| ArchiveSpan { segment, offset, length: 10 };
        let mut mark = IndexMark::read(&Mark("damaged".into()));
        assert!(mark.is_before(span(0, 0)));
        mark.pass(span(1, 100));
        mark.pass(span(0, 900));
        assert_eq!((mark.segment, mark.offset), (1, 110));
        assert!(mark.is_before(span(1, 110)) && mark.is_before(span(2, 0)));
        assert!(!mark.is_before(span(1, 100)) && !mark.is_before(span(0, 900)));
        assert_eq!(IndexMark::read(&mark.write()), mark);
    }
}
