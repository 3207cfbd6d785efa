//! What became of a page from visit to visit.

use serde::{Deserialize, Serialize};

use crate::{ArchiveSpan, Digest, Outcome, UnixMs};

/// What a visit showed about the time since the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// There was no visit before.
    First,
    Unchanged,
    /// Something differs, but it is no news: clocks, counters, rotating banners.
    Noise,
    Structure,
    Text,
    Image,
    /// Other bytes, where nothing finer can be told.
    Content,
    /// It was there and is no longer.
    Gone,
    /// It answers with a redirect now, or with another one.
    Moved,
    /// It was gone or moved and is there again.
    Back,
    /// Nothing was learnt: the visit failed or is forbidden now.
    Unknown,
}

impl Change {
    /// Whether readers of the page would want to know.
    pub fn is_news(self) -> bool {
        !matches!(self, Self::First | Self::Unchanged | Self::Noise | Self::Unknown)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Unchanged => "unchanged",
            Self::Noise => "noise",
            Self::Structure => "structure",
            Self::Text => "text",
            Self::Image => "image",
            Self::Content => "content",
            Self::Gone => "gone",
            Self::Moved => "moved",
            Self::Back => "back",
            Self::Unknown => "unknown",
        }
    }
}

/// One visit in a page's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastVisit {
    pub at: UnixMs,
    pub outcome: Outcome,
    pub change: Change,
    /// The signal that told; empty if none was needed.
    pub signal: String,
    /// Share of the text in common with the visit before, in thousandths.
    pub share_permille: u16,
    /// Fingerprint of the decoded payload.
    pub digest: Option<Digest>,
    pub body_bytes: u64,
    /// What this visit left in the archive.
    pub archived: Option<ArchiveSpan>,
}
