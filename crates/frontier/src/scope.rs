//! Which URLs belong to the crawl. A pure decision: the same URL always gets the same answer, so that `why` can ask
//! again about a URL that was never stored.

use std::fmt;

use foldhash::HashSet;
use lycosa_types::{CanonUrl, Reason};
use regex::RegexSet;
use serde::{Deserialize, Serialize};

use crate::trap::{Trap, TrapRules};

/// How far from the seeds the crawl may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    /// The hosts of the seeds.
    #[default]
    Host,
    /// The registered domains of the seeds, with all their hosts.
    Domain,
    /// Below the directories of the seeds.
    Prefix,
    /// Anywhere.
    Any,
}

/// The rules a [`Scope`] is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeOptions {
    pub kind: ScopeKind,
    /// A URL must match one of these, if there are any. `*` stands for anything; `re:` starts a regular expression.
    pub include: Vec<String>,
    /// A URL must match none of these.
    pub exclude: Vec<String>,
    pub max_depth: u16,
    pub traps: TrapRules,
}

/// Why a URL is not part of the crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    Scope(ScopeKind),
    NotIncluded,
    Excluded { pattern: String },
    Depth { depth: u16, limit: u16 },
    Trap(Trap),
}

impl Rejection {
    /// The reason under which it is counted.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Scope(_) => Reason::OutOfScope,
            Self::NotIncluded | Self::Excluded { .. } => Reason::Excluded,
            Self::Depth { .. } => Reason::TooDeep,
            Self::Trap(_) => Reason::Trap,
        }
    }

    /// The word used in reports and metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotIncluded => "not-included",
            other => other.reason().word(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(ScopeKind::Host) => f.write_str("its host is not the host of a seed (scope = host)"),
            Self::Scope(ScopeKind::Domain) => {
                f.write_str("its domain is not the domain of a seed (scope = domain)")
            }
            Self::Scope(ScopeKind::Prefix) => {
                f.write_str("it is not below a seed's directory (scope = prefix)")
            }
            Self::Scope(ScopeKind::Any) => f.write_str("out of scope"),
            Self::NotIncluded => f.write_str("it matches no --include pattern"),
            Self::Excluded { pattern } => write!(f, "it matches --exclude {pattern}"),
            Self::Depth { depth, limit } => {
                write!(f, "it is {depth} links from a seed, the limit is {limit}")
            }
            Self::Trap(trap) => write!(f, "it looks like a trap: {trap}"),
        }
    }
}

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the pattern {pattern:?} is not a regular expression: {source}")]
pub struct PatternError {
    pattern: String,
    source: regex::Error,
}

/// Decides which URLs belong to the crawl.
#[derive(Clone, Debug)]
pub struct Scope {
    options: ScopeOptions,
    include: RegexSet,
    exclude: RegexSet,
    /// What [`ScopeKind`] compares: hosts, domains or prefixes of the seeds.
    anchors: HashSet<String>,
}

impl Scope {
    pub fn new(options: ScopeOptions, seeds: &[CanonUrl]) -> Result<Self, PatternError> {
        let include = compile(&options.include)?;
        let exclude = compile(&options.exclude)?;
        let mut scope = Self { options, include, exclude, anchors: HashSet::default() };
        scope.add_seeds(seeds);
        Ok(scope)
    }

    /// Widens the scope to seeds that were submitted later.
    pub fn add_seeds(&mut self, seeds: &[CanonUrl]) {
        for seed in seeds {
            let anchor = match self.options.kind {
                ScopeKind::Host => seed.host().to_owned(),
                ScopeKind::Domain => seed.domain().to_owned(),
                ScopeKind::Prefix => directory(seed).to_owned(),
                ScopeKind::Any => continue,
            };
            self.anchors.insert(anchor);
        }
    }

    pub fn options(&self) -> &ScopeOptions {
        &self.options
    }

    /// Whether a URL found at `depth` links from a seed belongs to the crawl.
    pub fn check(&self, url: &CanonUrl, depth: u16) -> Result<(), Rejection> {
        let inside = match self.options.kind {
            ScopeKind::Host => self.anchors.contains(url.host()),
            ScopeKind::Domain => self.anchors.contains(url.domain()),
            ScopeKind::Prefix => self.anchors.iter().any(|prefix| url.as_str().starts_with(prefix.as_str())),
            ScopeKind::Any => true,
        };
        if !inside {
            return Err(Rejection::Scope(self.options.kind));
        }
        if depth > self.options.max_depth {
            return Err(Rejection::Depth { depth, limit: self.options.max_depth });
        }
        if let Some(trap) = self.options.traps.check(url) {
            return Err(Rejection::Trap(trap));
        }
        if !self.include.is_empty() && !self.include.is_match(url.as_str()) {
            return Err(Rejection::NotIncluded);
        }
        if let Some(which) = self.exclude.matches(url.as_str()).iter().next() {
            return Err(Rejection::Excluded { pattern: self.options.exclude[which].clone() });
        }
        Ok(())
    }
}

fn directory(url: &CanonUrl) -> &str {
    let path_end = url.origin().len() + url.path().len();
    let upto = &url.as_str()[..path_end];
    &upto[..upto.rfind('/').map_or(path_end, |slash| slash + 1)]
}

fn compile(patterns: &[String]) -> Result<RegexSet, PatternError> {
    let sources: Vec<String> = patterns.iter().map(|pattern| to_regex(pattern)).collect();
    for (pattern, source) in patterns.iter().zip(&sources) {
        regex::Regex::new(source).map_err(|source| PatternError { pattern: pattern.clone(), source })?;
    }
    RegexSet::new(&sources).map_err(|source| PatternError { pattern: patterns.join(" "), source })
}

/// `re:X` is X; anything else is a glob over the whole URL in which `*` stands for any run of characters.
fn to_regex(pattern: &str) -> String {
    match pattern.strip_prefix("re:") {
        Some(regex) => regex.to_owned(),
        None => {
            let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
            format!("^{}$", parts.join(".*"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;

    fn url(s: &str) -> CanonUrl {
        CanonUrl::parse(s, &CanonRules::default()).unwrap()
    }

    fn scope(kind: ScopeKind, include: &[&str], exclude: &[&str]) -> Scope {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let options = ScopeOptions {
            kind,
            include: owned(include),
            exclude: owned(exclude),
            max_depth: 3,
            traps: TrapRules::default(),
        };
        Scope::new(options, &[url("http://www.example.org/docs/index.html")]).unwrap()
    }

    #[test]
    fn each_kind_draws_its_line() {
        let cases = [
            ("http://www.example.org/docs/a", [true, true, true, true]),
            ("http://www.example.org/blog", [true, true, false, true]),
            ("https://www.example.org/docs/a", [true, true, false, true]),
            ("http://example.org/docs/a", [false, true, false, true]),
            ("http://other.org/", [false, false, false, true]),
        ];
        let kinds = [ScopeKind::Host, ScopeKind::Domain, ScopeKind::Prefix, ScopeKind::Any];
        for (raw, expected) in cases {
            for (kind, accepted) in kinds.into_iter().zip(expected) {
                assert_eq!(scope(kind, &[], &[]).check(&url(raw), 1).is_ok(), accepted, "{raw} {kind:?}");
            }
        }
    }

    #[test]
    fn patterns_and_depth() {
        let scope = scope(ScopeKind::Any, &["*/docs/*", "re:\\.html$"], &["*private*"]);
        assert!(scope.check(&url("http://a.org/docs/x"), 3).is_ok());
        assert!(scope.check(&url("http://a.org/x.html"), 3).is_ok());
        assert_eq!(scope.check(&url("http://a.org/x"), 3), Err(Rejection::NotIncluded));
        assert!(matches!(
            scope.check(&url("http://a.org/docs/private/x"), 0),
            Err(Rejection::Excluded { pattern }) if pattern == "*private*"
        ));
        assert_eq!(scope.check(&url("http://a.org/docs/x"), 4), Err(Rejection::Depth { depth: 4, limit: 3 }));
        let bad = ScopeOptions { include: vec!["re:(".into()], ..ScopeOptions::default() };
        assert!(Scope::new(bad, &[]).is_err());
    }
}
