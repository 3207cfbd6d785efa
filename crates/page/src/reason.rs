//! Why a change is told as noise, or as one around the main content.

use super::line_kind::LineKind;
use super::noise::LineMarker;
use serde::{Deserialize, Serialize};

/// The rule that explains a change. A change without one is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    VisitCounter,
    /// The time at which the page was made.
    Clock,
    /// `3 hours ago`.
    TimeAgo,
    /// An id made for one request.
    Token,
    CopyrightYear,
    Advertisement,
    /// One of a few texts that come and go on pages of this host.
    RotatingText,
    /// A version number, or words in front of or around the content, replaced by the same ones on many pages.
    VersionBanner,
    /// Around the content: navigation, margins, widgets.
    Surroundings,
    /// `7 minutes` became more.
    ElapsedTime,
    /// The same line came or went on many pages.
    SiteWideLine,
    /// The rules of the user say so.
    UserRule,
}

impl Reason {
    /// A change around the main content rather than noise: its copy is worth keeping.
    pub fn is_around(self) -> bool {
        matches!(self, Self::Surroundings | Self::ElapsedTime | Self::SiteWideLine)
    }

    /// As in reports: `visit counter`.
    pub fn words(self) -> &'static str {
        match self {
            Self::VisitCounter => "visit counter",
            Self::Clock => "clock",
            Self::TimeAgo => "time ago",
            Self::Token => "token",
            Self::CopyrightYear => "copyright year",
            Self::Advertisement => "advertisement",
            Self::RotatingText => "rotating text",
            Self::VersionBanner => "version banner",
            Self::Surroundings => "surroundings",
            Self::ElapsedTime => "elapsed time",
            Self::SiteWideLine => "site-wide line",
            Self::UserRule => "user rule",
        }
    }

    /// Told by the words of the line alone, so that a stored line can be judged again.
    pub fn is_of_words(self) -> bool {
        matches!(self, Self::VisitCounter | Self::Clock | Self::TimeAgo | Self::Token | Self::CopyrightYear)
    }

    /// The rule with such words in reports.
    pub fn named(words: &str) -> Option<Self> {
        use Reason::*;
        let all = [
            VisitCounter,
            Clock,
            TimeAgo,
            Token,
            CopyrightYear,
            Advertisement,
            RotatingText,
            VersionBanner,
            Surroundings,
            ElapsedTime,
            SiteWideLine,
            UserRule,
        ];
        all.into_iter().find(|reason| reason.words() == words)
    }

    pub(crate) fn of(kind: LineKind) -> Option<Self> {
        Some(match kind {
            LineKind::VisitCounter => Self::VisitCounter,
            LineKind::Clock => Self::Clock,
            LineKind::TimeAgo => Self::TimeAgo,
            LineKind::Token => Self::Token,
            LineKind::CopyrightYear => Self::CopyrightYear,
            LineKind::News | LineKind::Elapsed | LineKind::TimeAlone | LineKind::DayAlone => return None,
        })
    }
}

/// Why a line with such words would be noise by what it says of itself; none if it would be news.
pub fn reason_of_line(line: &str) -> Option<Reason> {
    let mut reason = None;
    LineMarker::default().mark(line, &[], |mark| reason = Reason::of(mark.kind()));
    reason
}

/// A line that differs without being news, and why; numbers of lines begin at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    pub reason: Reason,
    pub old_line: Option<u32>,
    pub new_line: Option<u32>,
}

/// What may be called noise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoiseMode {
    /// Only what a line's own words say: clocks, counters of visits, tokens, advertisements. Nothing is learnt from other
    /// pages, and nothing is set aside because it stands around the content.
    Strict,
    #[default]
    Normal,
    /// Nothing: whatever differs is told as news.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_line_is_judged_again_by_its_words() {
        assert_eq!(reason_of_line("Views: 1204"), Some(Reason::VisitCounter));
        assert_eq!(reason_of_line("12 in stock"), None);
        assert_eq!(Reason::named("visit counter"), Some(Reason::VisitCounter));
        assert_eq!(Reason::named("numbers"), None);
        assert!(Reason::Clock.is_of_words() && !Reason::RotatingText.is_of_words());
    }
}
