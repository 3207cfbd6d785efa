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
    /// Go beyond the default of it while pages say something new.
    pub raise: bool,
    /// Most URLs that wait for one host.
    pub max_waiting_per_host: u64,
    /// Most URLs that wait for the hosts of one registered domain.
    pub max_waiting_per_domain: u64,
    /// Most URLs of sitemaps and feeds accepted for one host, in one run.
    pub max_listed_per_host: u64,
}

/// The limit that is raised while pages say something new.
pub const QUERIES_PER_PATH: u32 = 5000;

impl Default for TrapRules {
    fn default() -> Self {
        Self {
            max_url_bytes: 2048,
            max_segments: 24,
            max_repeats: 3,
            max_parameters: 16,
            max_queries_per_path: QUERIES_PER_PATH,
            raise: true,
            max_waiting_per_host: 5_000_000,
            max_waiting_per_domain: 20_000_000,
            max_listed_per_host: 5_000_000,
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

    #[test]
    fn what_is_at_a_limit_is_followed_and_one_more_is_not() {
        let rules = TrapRules {
            max_url_bytes: 40,
            max_segments: 4,
            max_repeats: 2,
            max_parameters: 3,
            max_queries_per_path: 1,
            ..TrapRules::default()
        };
        let check = |path: &str| rules.check(&CanonUrl::from_canonical(format!("http://a.org{path}")));
        let long = |bytes: usize| format!("/{}", "x".repeat(bytes - "http://a.org/".len()));
        assert_eq!(check(&long(40)), None);
        assert_eq!(check(&long(41)), Some(Trap::TooLong { bytes: 41 }));
        assert_eq!(check("/1/2/3/4"), None);
        assert_eq!(check("/1/2/3/4/"), Some(Trap::TooManySegments { segments: 5 }));
        let repeated = |segment: &str| Some(Trap::RepeatedSegment { segment: segment.to_owned() });
        assert_eq!(check("/a/b/a/c"), None);
        assert_eq!(check("/a/a/b/b"), None);
        assert_eq!(check("/a/b/a/a"), repeated("a"));
        assert_eq!(check("/a/a/a"), repeated("a"));
        assert_eq!(check("/b/a/a/a"), repeated("a"));
        // Slashes are no segments, and what only begins alike is not the same.
        assert_eq!(check("////"), None);
        assert_eq!(check("/a/ab/abc/a"), None);
        assert_eq!(check("/?a&b&c"), None);
        assert_eq!(check("/?a&b&c&"), Some(Trap::TooManyParameters { parameters: 4 }));
        assert_eq!(check("/a/b?x/a/a/a"), None);
    }

    #[test]
    fn a_trap_is_told_in_words() {
        for (trap, words) in [
            (Trap::TooLong { bytes: 3000 }, "3000 bytes long"),
            (Trap::TooManySegments { segments: 25 }, "25 path segments"),
            (Trap::RepeatedSegment { segment: "a".to_owned() }, "the segment \"a\" keeps coming back"),
            (Trap::TooManyParameters { parameters: 17 }, "17 query parameters"),
        ] {
            assert_eq!(trap.to_string(), words);
        }
    }
}
