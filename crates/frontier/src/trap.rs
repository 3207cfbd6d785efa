//! Shapes of URLs that never end: calendars, session ids, paths that grow. Judged from the URL alone.

use std::fmt;

use lycosa_types::CanonUrl;
use serde::{Deserialize, Serialize};

/// Limits beyond which a URL is taken for part of a trap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrapRules {
    /// Longest URL that is followed, in bytes.
    pub max_url_bytes: usize,
    /// Most path segments.
    pub max_segments: usize,
    /// How often one segment may occur in a path.
    pub max_repeats: usize,
    /// Most query parameters.
    pub max_parameters: usize,
    /// Most different queries accepted for one path of a host, in one run.
    pub max_queries_per_path: u32,
}

impl Default for TrapRules {
    fn default() -> Self {
        Self {
            max_url_bytes: 2048,
            max_segments: 24,
            max_repeats: 3,
            max_parameters: 16,
            max_queries_per_path: 5000,
        }
    }
}

/// Which rule a URL broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trap {
    TooLong { bytes: usize },
    TooManySegments { segments: usize },
    RepeatedSegment { segment: String },
    TooManyParameters { parameters: usize },
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => write!(f, "{bytes} bytes long"),
            Self::TooManySegments { segments } => write!(f, "{segments} path segments"),
            Self::RepeatedSegment { segment } => write!(f, "the segment {segment:?} keeps coming back"),
            Self::TooManyParameters { parameters } => write!(f, "{parameters} query parameters"),
        }
    }
}

impl TrapRules {
    /// The rule that `url` breaks, if any.
    pub fn check(&self, url: &CanonUrl) -> Option<Trap> {
        let bytes = url.as_str().len();
        if bytes > self.max_url_bytes {
            return Some(Trap::TooLong { bytes });
        }
        let path = url.path();
        let segments = path.bytes().filter(|&b| b == b'/').count();
        if segments > self.max_segments {
            return Some(Trap::TooManySegments { segments });
        }
        if segments > self.max_repeats
            && let Some(segment) = self.repeated(path)
        {
            return Some(Trap::RepeatedSegment { segment: segment.to_owned() });
        }
        let parameters = url.query().map_or(0, |query| query.split('&').count());
        (parameters > self.max_parameters).then_some(Trap::TooManyParameters { parameters })
    }

    fn repeated<'a>(&self, path: &'a str) -> Option<&'a str> {
        // At most `max_segments` segments: comparing all pairs costs less than a table would.
        path.split('/')
            .filter(|segment| !segment.is_empty())
            .find(|segment| path.split('/').filter(|other| other == segment).count() > self.max_repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;

    #[test]
    fn each_rule_fires_beyond_its_limit() {
        let rules = TrapRules::default();
        let check = |s: &str| rules.check(&CanonUrl::parse(s, &CanonRules::default()).unwrap());
        assert_eq!(check("http://a.org/a/b/a/b/a/c"), None);
        assert!(
            matches!(check("http://a.org/a/b/a/b/a/b/a"), Some(Trap::RepeatedSegment { segment }) if segment == "a")
        );
        let numbers: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        assert!(matches!(
            check(&format!("http://a.org/{}", numbers.join("/"))),
            Some(Trap::TooManySegments { .. })
        ));
        assert!(matches!(check(&format!("http://a.org/{}", "x".repeat(3000))), Some(Trap::TooLong { .. })));
        let query: Vec<String> = (0..20).map(|n| format!("p{n}=1")).collect();
        assert!(matches!(
            check(&format!("http://a.org/?{}", query.join("&"))),
            Some(Trap::TooManyParameters { .. })
        ));
    }
}
