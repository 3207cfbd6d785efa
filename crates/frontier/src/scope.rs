//! Which URLs belong to the crawl. A decision by the URL and the seeds alone, so that `why` can ask again about a URL
//! that was never stored. Seeds that redirect to another host widen it ([`moved`]).
//!
//! A `www.` before the host, and http or https, make no difference: sites move between them.

mod moved;

use std::fmt;
use std::sync::Arc;

use foldhash::HashSet;
use lycosa_types::{CanonUrl, Reason, UrlKey};
use regex::RegexSet;
use serde::{Deserialize, Serialize};

pub use self::moved::Move;
use self::moved::Moved;
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

/// Patterns of URLs, as those of a scope.
#[derive(Clone, Debug, Default)]
pub struct UrlPatterns(RegexSet);

impl UrlPatterns {
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        Ok(Self(compile(patterns)?))
    }

    /// The place of the first pattern that the URL matches.
    pub fn first(&self, url: &str) -> Option<usize> {
        self.0.matches(url).iter().next()
    }
}

/// Decides which URLs belong to the crawl.
#[derive(Clone, Debug)]
pub struct Scope {
    options: ScopeOptions,
    include: RegexSet,
    exclude: RegexSet,
    /// What [`ScopeKind`] compares: hosts, domains or prefixes of the seeds.
    anchors: HashSet<String>,
    seeds: Arc<HashSet<UrlKey>>,
    /// Where seeds have moved to; shared by all copies of the scope.
    moved: Arc<Moved>,
}

impl Scope {
    pub fn new(options: ScopeOptions, seeds: &[CanonUrl]) -> Result<Self, PatternError> {
        let include = compile(&options.include)?;
        let exclude = compile(&options.exclude)?;
        let mut scope = Self {
            options,
            include,
            exclude,
            anchors: HashSet::default(),
            seeds: Arc::default(),
            moved: Arc::default(),
        };
        scope.add_seeds(seeds);
        Ok(scope)
    }

    /// Widens the scope to seeds that were submitted later.
    pub fn add_seeds(&mut self, seeds: &[CanonUrl]) {
        let anchors: Vec<String> = seeds.iter().filter_map(|seed| self.anchor_of(seed)).collect();
        self.anchors.extend(anchors);
        Arc::make_mut(&mut self.seeds).extend(seeds.iter().map(CanonUrl::key));
    }

    /// What the scope compares, of a seed.
    fn anchor_of(&self, seed: &CanonUrl) -> Option<String> {
        match self.options.kind {
            ScopeKind::Host => Some(without_www(seed.host()).to_owned()),
            ScopeKind::Domain => Some(seed.domain().to_owned()),
            ScopeKind::Prefix => Some(without_scheme(directory(seed)).to_owned()),
            ScopeKind::Any => None,
        }
    }

    /// The seed that leads to this URL by redirects alone, if one does: the URL is a seed, or the target of one's redirect.
    pub fn seed_behind(&self, url: &CanonUrl) -> Option<String> {
        let key = url.key();
        self.moved.seed_of(key).or_else(|| self.seeds.contains(&key).then(|| url.as_str().to_owned()))
    }

    /// `from`, to which `seed` led by redirects alone, redirects to `to`.
    pub fn follow_seed(&self, from: UrlKey, seed: &str, to: UrlKey) {
        self.moved.follow(from, seed, to);
    }

    /// A URL was fetched. If a seed's redirects led to it, it belongs to the scope as the seed does.
    pub fn arrived(&self, url: &CanonUrl) {
        if let Some(seed) = self.moved.seed_of(url.key()) {
            self.moved.end(url, &seed, self.anchor_of(url));
        }
    }

    /// Seeds that moved to another origin, the first of them by name; and how many they are.
    pub fn moves(&self) -> (Vec<Move>, u64) {
        self.moved.moves()
    }

    pub fn options(&self) -> &ScopeOptions {
        &self.options
    }

    /// Whether a URL found at `depth` links from a seed belongs to the crawl.
    pub fn check(&self, url: &CanonUrl, depth: u16) -> Result<(), Rejection> {
        if !self.is_inside(url, &self.anchors)
            && !self.moved.has_anchor(|anchors| self.is_inside(url, anchors))
        {
            return Err(Rejection::Scope(self.options.kind));
        }
        self.check_rules(url, depth)
    }

    fn is_inside(&self, url: &CanonUrl, anchors: &HashSet<String>) -> bool {
        match self.options.kind {
            ScopeKind::Host => anchors.contains(without_www(url.host())),
            ScopeKind::Domain => anchors.contains(url.domain()),
            ScopeKind::Prefix => {
                let url = without_scheme(url.as_str());
                anchors.iter().any(|prefix| url.starts_with(prefix.as_str()))
            }
            ScopeKind::Any => true,
        }
    }

    /// The same for the target of a seed's redirect, wherever it is.
    pub fn check_rules(&self, url: &CanonUrl, depth: u16) -> Result<(), Rejection> {
        if depth > self.options.max_depth {
            return Err(Rejection::Depth { depth, limit: self.options.max_depth });
        }
        self.check_trap(url)?;
        if !self.include.is_empty() && !self.include.is_match(url.as_str()) {
            return Err(Rejection::NotIncluded);
        }
        self.check_excluded(url)
    }

    /// Whether a requisite of a page belongs to the crawl: from any host, unless it is excluded or looks like a trap.
    pub fn check_requisite(&self, url: &CanonUrl) -> Result<(), Rejection> {
        self.check_trap(url)?;
        self.check_excluded(url)
    }

    fn check_trap(&self, url: &CanonUrl) -> Result<(), Rejection> {
        self.options.traps.check(url).map_or(Ok(()), |trap| Err(Rejection::Trap(trap)))
    }

    fn check_excluded(&self, url: &CanonUrl) -> Result<(), Rejection> {
        let matched = self.exclude.matches(url.as_str()).iter().next();
        match matched.and_then(|which| self.options.exclude.get(which)) {
            Some(pattern) => Err(Rejection::Excluded { pattern: pattern.clone() }),
            None => Ok(()),
        }
    }
}

fn directory(url: &CanonUrl) -> &str {
    let path_end = url.origin().len() + url.path().len();
    let upto = &url.as_str()[..path_end];
    &upto[..upto.rfind('/').map_or(path_end, |slash| slash + 1)]
}

/// The host, without a `www.` before it.
fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host)
}

/// What follows the scheme, without a `www.` before it.
fn without_scheme(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.strip_prefix("www.")
        .filter(|rest| rest.split('/').next().is_some_and(|host| host.contains('.')))
        .unwrap_or(rest)
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
            ("https://www.example.org/docs/a", [true, true, true, true]),
            ("http://example.org/docs/a", [true, true, true, true]),
            ("http://blog.example.org/docs/a", [false, true, false, true]),
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
    fn the_end_of_a_seeds_redirects_belongs_to_the_scope() {
        for (kind, other_page) in
            [(ScopeKind::Host, true), (ScopeKind::Domain, true), (ScopeKind::Prefix, false)]
        {
            let scope = scope(kind, &[], &["*private*"]);
            let (seed, between) = (url("http://www.example.org/docs/index.html"), url("http://hop.test/x"));
            let end = url("https://new.test/home/start.html");
            let behind = scope.seed_behind(&seed).unwrap();
            scope.follow_seed(seed.key(), &behind, between.key());
            let behind = scope.seed_behind(&between).unwrap();
            assert_eq!(behind, seed.as_str());
            scope.follow_seed(between.key(), &behind, end.key());
            assert!(scope.check(&end, 1).is_err(), "nothing was fetched there yet");
            scope.clone().arrived(&end);
            assert!(scope.check(&end, 1).is_ok() && scope.check(&seed, 1).is_ok());
            assert!(scope.check(&url("https://new.test/home/next"), 1).is_ok());
            assert_eq!(scope.check(&url("https://new.test/else"), 1).is_ok(), other_page);
            assert!(scope.check(&between, 1).is_err(), "a host on the way is not the site");
            assert!(scope.check(&url("https://new.test/home/private"), 1).is_err());
            let (moves, count) = scope.moves();
            assert_eq!((moves[0].to.as_str(), count), (end.as_str(), 1));
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
