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
    /// Only what stands around the main content changed: navigation, margins, widgets, elapsed times.
    Around,
}

impl Change {
    /// Whether readers of the page would want to know.
    pub fn is_news(self) -> bool {
        !matches!(self, Self::First | Self::Unchanged | Self::Noise | Self::Unknown | Self::Around)
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
            Self::Around => "around",
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
    /// Lines that differed without being news, as far as they are kept ([`MOST_KEPT_LINES`]). They are stored behind the
    /// other fields, so that rows without them stay readable.
    #[serde(skip)]
    pub kept_lines: Vec<KeptLine>,
}

/// Lines of noise that are kept of a visit, and bytes of each.
pub const MOST_KEPT_LINES: usize = 6;
pub const MOST_LINE_BYTES: usize = 80;

/// A line that differed without being news.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The rule that says so, in the words of reports: `visit counter`.
    pub rule: String,
    /// Its number in the page's text, from 1; of a line that is gone, in the text before.
    pub line: u32,
    /// What it said at this visit; empty if it is gone.
    pub text: String,
}

impl KeptLine {
    /// Keeps as much of the line's text as there is room for.
    pub fn new(rule: &str, line: u32, text: &str) -> Self {
        let text = text.get(..text.floor_char_boundary(MOST_LINE_BYTES)).unwrap_or_default();
        Self { rule: rule.to_owned(), line, text: text.to_owned() }
    }
}
