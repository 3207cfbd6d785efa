//! What a crawl has done, in figures: kept in the state with every commit, shown live, written to the report.

use std::collections::{BTreeMap, BTreeSet};

use lycosa_frontier::Counts;
use lycosa_frontier::section::section_of;
use lycosa_types::{CanonUrl, Change, Outcome, Reason, UnixMs};
use serde::{Deserialize, Serialize};

use crate::limits::Limit;
use crate::outlinks::LinkCounts;

/// Hosts and sections that are listed by name.
const MAX_LISTED: usize = 200;

/// Sums over all runs of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Pages received whole.
    pub pages: u64,
    /// Requisites of pages that were found, and those received whole with their decoded bytes. They count as pages nowhere.
    pub requisites_found: u64,
    pub requisites: u64,
    pub requisite_bytes: u64,
    /// First visits to requisites that ended, and ended visits by outcome.
    pub requisite_visits: u64,
    pub requisite_outcomes: BTreeMap<String, u64>,
    /// Visits that ended, however they ended.
    pub visits: u64,
    /// Decoded bytes of those pages.
    pub body_bytes: u64,
    /// Bytes received, heads and failures included.
    pub received_bytes: u64,
    /// Bytes written to the archive.
    pub archived_bytes: u64,
    /// Pages whose payload was seen before under another URL.
    pub duplicates: u64,
    /// Pages whose text is nearly that of an earlier page.
    pub near_duplicates: u64,
    /// Visits to pages that had been visited before.
    pub revisits: u64,
    /// What those visits showed.
    pub changes: BTreeMap<String, u64>,
    /// Pages that suit the topic; 0 without one.
    pub on_topic: u64,
    /// URLs accepted.
    pub accepted: u64,
    /// Visits that will be tried again.
    pub retries: u64,
    /// Links met on pages.
    pub links: u64,
    /// Links not followed, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// For each reason for which a URL was left out, the first that was.
    pub examples: BTreeMap<String, String>,
    /// Pages that ask for none of their links to be followed, where that is obeyed.
    pub nofollow_pages: u64,
    /// What limits left out, by the limit's name.
    pub cut: BTreeMap<String, Cut>,
    /// Hosts whose pages are forbidden because robots.txt could not be had, as far as they are listed.
    pub robots_failing: BTreeSet<String>,
    /// Pages that failed, by section of a host and by failure, as far as they are listed.
    pub broken: BTreeMap<String, u64>,
    /// Ended visits by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// HTTP statuses of ended visits.
    pub statuses: BTreeMap<u16, u64>,
    /// Time spent crawling, over all runs.
    pub seconds: f64,
    pub runs: u32,
}

impl Totals {
    pub fn count_outcome(&mut self, outcome: &Outcome) {
        self.visits += 1;
        bump(&mut self.outcomes, outcome.word(), 1);
        if let Some(status) = outcome.status() {
            *self.statuses.entry(status).or_default() += 1;
        }
    }

    pub fn count_requisite(&mut self, outcome: &Outcome, revisit: bool) {
        self.requisite_visits += u64::from(!revisit);
        bump(&mut self.requisite_outcomes, outcome.word(), 1);
    }

    /// Remembers a URL that was left out as an example, if it is the first of its kind.
    pub fn remember(&mut self, outcome: &Outcome, url: &str) {
        let Some(reason) = outcome.reason() else { return };
        match reason {
            Reason::RobotsUnreachable if self.robots_failing.len() < MAX_LISTED => {
                let origin = CanonUrl::from_canonical(url.to_owned()).origin().to_owned();
                self.robots_failing.insert(origin);
            }
            Reason::Failed | Reason::RateLimited => {
                let at = CanonUrl::from_canonical(url.to_owned());
                let section = format!("{}{} {}", at.origin(), section_of(at.path()), outcome.word());
                if self.broken.len() < MAX_LISTED || self.broken.contains_key(&section) {
                    *self.broken.entry(section).or_default() += 1;
                }
            }
            _ => {}
        }
        if !self.examples.contains_key(outcome.word()) {
            self.examples.insert(outcome.word().to_owned(), url.to_owned());
        }
    }

    pub fn count_change(&mut self, change: Change) {
        self.revisits += 1;
        bump(&mut self.changes, change.word(), 1);
    }

    /// A visit showed something else than it seemed to.
    pub fn recount_change(&mut self, was: Change, is: Change) {
        if let Some(count) = self.changes.get_mut(was.word()) {
            *count = count.saturating_sub(1);
        }
        bump(&mut self.changes, is.word(), 1);
    }

    /// What visits showed since `before`.
    pub fn changes_since(&self, before: &Self) -> BTreeMap<String, u64> {
        let since = |(word, count): (&String, &u64)| {
            (word.clone(), count.saturating_sub(before.changes.get(word).copied().unwrap_or(0)))
        };
        self.changes.iter().map(since).filter(|(_, count)| *count > 0).collect()
    }

    pub fn count_links(&mut self, counts: &LinkCounts) {
        self.links += u64::from(counts.links);
        self.nofollow_pages += u64::from(counts.nofollow_pages);
        for (word, count) in [
            ("unusable", counts.unusable),
            ("out-of-scope", counts.out_of_scope),
            ("excluded", counts.excluded),
            ("too-deep", counts.too_deep),
            ("endless", counts.endless),
            ("trap", counts.traps),
            ("nofollow", counts.nofollow),
            ("off-topic", counts.off_topic),
        ] {
            if count > 0 {
                bump(&mut self.rejected, word, u64::from(count));
            }
        }
    }

    /// What limits left out of one page.
    pub fn count_cuts(&mut self, counts: &LinkCounts, page: &str) {
        if counts.cuts.any() {
            for (limit, count) in counts.cuts.reached() {
                self.count_cut(limit, count, 1, page);
            }
        }
    }

    /// A limit left something out of `pages` pages.
    pub fn count_cut(&mut self, limit: Limit, count: u32, pages: u64, example: &str) {
        if !self.cut.contains_key(limit.name()) {
            let first = Cut { example: example.to_owned(), ..Cut::default() };
            self.cut.insert(limit.name().to_owned(), first);
        }
        if let Some(cut) = self.cut.get_mut(limit.name()) {
            cut.count += u64::from(count);
            cut.pages += pages;
        }
    }

    pub fn count_rejected(&mut self, word: &str) {
        bump(&mut self.rejected, word, 1);
    }

    /// Ended visits whose outcome is a failure.
    pub fn failures(&self) -> u64 {
        self.errors().map(|(_, count)| count).sum()
    }

    /// The outcomes that are failures, with their counts.
    pub fn errors(&self) -> impl Iterator<Item = (&String, &u64)> {
        let good = ["fetched", "missing", "redirected", "not-modified"];
        let is_choice = |word: &str| {
            Reason::of_word(word)
                .is_some_and(|reason| !matches!(reason, Reason::Failed | Reason::RateLimited))
        };
        self.outcomes.iter().filter(move |(word, _)| !good.contains(&word.as_str()) && !is_choice(word))
    }
}

fn bump(map: &mut BTreeMap<String, u64>, word: &str, by: u64) {
    match map.get_mut(word) {
        Some(count) => *count += by,
        None => {
            map.insert(word.to_owned(), by);
        }
    }
}

/// What one limit left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cut {
    /// Links, entries, bytes: see [`Limit::what`].
    pub count: u64,
    /// Pages of which something was left out.
    pub pages: u64,
    /// The first such page, or the first URL left out.
    pub example: String,
}

/// A moment of a running crawl.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    pub at: UnixMs,
    pub totals: Totals,
    pub waiting: u64,
    pub leased: u64,
    pub delayed: u64,
    pub hosts: u64,
    /// URLs accepted so far, waiting or done.
    pub known: u64,
    /// Pages per second over the last few seconds.
    pub pages_per_s: f64,
    /// Received bytes per second over the last few seconds.
    pub bytes_per_s: f64,
    /// The last page received.
    pub current: String,
    pub stopping: bool,
}

impl Progress {
    pub fn set_counts(&mut self, counts: Counts) {
        self.waiting = counts.waiting;
        self.leased = counts.leased;
        self.delayed = counts.delayed;
        self.hosts = counts.hosts;
    }
}
