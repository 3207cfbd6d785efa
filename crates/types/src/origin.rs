//! Why a URL was left out, and by whose will: a rule the user set, the site's wish, a guess of ours, or a fault.
//!
//! [`Reason`] lists every way in which a URL that was met is not fetched or not kept. Its matches are exhaustive: a new
//! reason does not compile before it says whose it is and which option includes what it left out.

use serde::{Deserialize, Serialize};

use crate::{Exclusion, Failure, Outcome};

/// By whose will a URL was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A rule that the user set, or left at its default.
    Setting,
    /// The site asked for it.
    Site,
    /// The crawler inferred it, and may be wrong.
    Guess,
    /// Something failed.
    Fault,
}

impl Origin {
    pub const ALL: [Self; 4] = [Self::Setting, Self::Site, Self::Guess, Self::Fault];

    /// The heading in summaries.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Setting => "left out by a rule you set",
            Self::Site => "left out by the site's wish",
            Self::Guess => "left out by a guess of ours",
            Self::Fault => "not fetched because something failed",
        }
    }
}

/// Each way in which a URL is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    OutOfScope,
    Excluded,
    TooDeep,
    TooManyRedirects,
    Trap,
    QueryBudget,
    /// Pages that go on for ever and say nothing new.
    Endless,
    /// As many URLs wait for a host or a domain as may.
    WaitingBudget,
    /// The sitemaps and feeds of a host have had their share.
    ListedBudget,
    Nofollow,
    OffTopic,
    /// In a cluster that drops links between nodes.
    Elsewhere,
    Unusable,
    Robots,
    RobotsUnreachable,
    HostDown,
    HostBudget,
    Mirror,
    RateLimited,
    /// The port is not one of the web's.
    RefusedPort,
    /// A visit that ended in any other failure.
    Failed,
}

impl Reason {
    pub const ALL: [Self; 21] = [
        Self::OutOfScope,
        Self::Excluded,
        Self::TooDeep,
        Self::TooManyRedirects,
        Self::Trap,
        Self::QueryBudget,
        Self::Endless,
        Self::WaitingBudget,
        Self::ListedBudget,
        Self::Nofollow,
        Self::OffTopic,
        Self::Elsewhere,
        Self::Unusable,
        Self::Robots,
        Self::RobotsUnreachable,
        Self::HostDown,
        Self::HostBudget,
        Self::Mirror,
        Self::RateLimited,
        Self::RefusedPort,
        Self::Failed,
    ];

    /// The word under which it is counted.
    pub fn word(self) -> &'static str {
        match self {
            Self::OutOfScope => "out-of-scope",
            Self::Excluded => "excluded",
            Self::TooDeep => "too-deep",
            Self::TooManyRedirects => "too-many-redirects",
            Self::Trap => "trap",
            Self::QueryBudget => "query-budget",
            Self::Endless => "endless",
            Self::WaitingBudget => "waiting-budget",
            Self::ListedBudget => "listed-budget",
            Self::Nofollow => "nofollow",
            Self::OffTopic => "off-topic",
            Self::Elsewhere => "elsewhere",
            Self::Unusable => "unusable",
            Self::Robots => "robots",
            Self::RobotsUnreachable => "robots-unreachable",
            Self::HostDown => "host-down",
            Self::HostBudget => "host-budget",
            Self::Mirror => "mirror",
            Self::RateLimited => "rate-limited",
            Self::RefusedPort => "refused-port",
            Self::Failed => "failed",
        }
    }

    /// The reason that is counted under `word`.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }

    /// By whose will.
    pub fn origin(self) -> Origin {
        match self {
            Self::OutOfScope
            | Self::Excluded
            | Self::TooDeep
            | Self::TooManyRedirects
            | Self::OffTopic
            | Self::Elsewhere
            | Self::WaitingBudget
            | Self::ListedBudget
            | Self::HostBudget
            | Self::RefusedPort => Origin::Setting,
            Self::Nofollow | Self::Robots | Self::RobotsUnreachable | Self::RateLimited => Origin::Site,
            Self::Trap | Self::QueryBudget | Self::Endless | Self::HostDown | Self::Mirror => Origin::Guess,
            Self::Unusable | Self::Failed => Origin::Fault,
        }
    }

    /// The option that includes what was left out; none where no option can.
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::OutOfScope => Some("--scope domain, or --scope any"),
            Self::Excluded => Some("--include and --exclude (scope.include, scope.exclude)"),
            Self::TooDeep => Some("--depth N (scope.depth)"),
            Self::TooManyRedirects => Some("--set scope.max_redirects=N"),
            Self::Trap => Some("the settings under [traps]"),
            Self::QueryBudget => Some("--set traps.max_queries_per_path=N"),
            Self::Endless => Some("--depth N, or the same command with --no-guesses"),
            Self::WaitingBudget => {
                Some("--set traps.max_waiting_per_host=N and traps.max_waiting_per_domain=N")
            }
            Self::ListedBudget => Some("--set traps.max_listed_per_host=N"),
            Self::Nofollow => Some("--ignore-nofollow (robots.nofollow)"),
            Self::OffTopic => Some("--least-link 0 (focus.least_link)"),
            Self::Robots => Some("--set robots.obey=false, where you may"),
            Self::RobotsUnreachable => Some("the same command again asks for robots.txt again"),
            Self::HostDown | Self::Mirror => Some("the same command with --no-guesses"),
            Self::HostBudget => Some("--set politeness.max_pages_per_host=N"),
            Self::RateLimited => Some("--set politeness.max_refusals=N and politeness.max_refused_ms=N"),
            Self::RefusedPort => Some("--set fetch.allow_ports=[PORT]"),
            Self::Elsewhere => Some("--links exchange"),
            Self::Unusable | Self::Failed => None,
        }
    }
}

impl Exclusion {
    /// Why the URL was left out.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Robots { line: 0, .. } => Reason::RobotsUnreachable,
            Self::Robots { .. } => Reason::Robots,
            Self::HostErrors { .. } => Reason::HostDown,
            Self::HostBudget { .. } => Reason::HostBudget,
            Self::Mirror { .. } => Reason::Mirror,
            Self::Port { .. } => Reason::RefusedPort,
            Self::Endless { .. } => Reason::Endless,
        }
    }
}

impl Failure {
    /// Why the URL was left out.
    pub fn reason(self) -> Reason {
        match self {
            Self::Overloaded { .. } => Reason::RateLimited,
            Self::RefusedPort { .. } => Reason::RefusedPort,
            _ => Reason::Failed,
        }
    }
}

impl Outcome {
    /// Why the URL was left out, if it was.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Fetched { .. } | Self::Missing { .. } | Self::NotModified | Self::Redirected { .. } => None,
            Self::Excluded(exclusion) => Some(exclusion.reason()),
            Self::Failed(failure) => Some(failure.reason()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed_once_under_a_word_of_its_own() {
        for reason in Reason::ALL {
            assert_eq!(Reason::of_word(reason.word()), Some(reason));
            // A guess that no option undoes would lose pages for good.
            assert!(reason.origin() != Origin::Guess || reason.option().is_some(), "{reason:?}");
        }
    }
}
