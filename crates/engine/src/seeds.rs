//! What became of a crawl's seeds: a crawl none of whose seeds could be fetched did not do what was asked of it.

use lycosa_frontier::{Store, StoreError};
use lycosa_types::{CanonUrl, Exclusion, Outcome, UrlId, UrlRecord, UrlState};
use serde::{Deserialize, Serialize};

use crate::cluster::aside::record_of;
use crate::cluster::unplaced::visited_id;
use crate::config::Config;

/// Seeds that are looked at when a crawl ends. More of them never fail all together without a common reason.
const MOST_LOOKED_AT: usize = 100_000;
/// Failed seeds that are named.
const MOST_NAMED: usize = 20;
/// Redirects followed from a seed.
const MAX_REDIRECTS: usize = 20;

/// How the seeds ended, as the report has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedFigures {
    /// Seeds that were looked at: all of them, up to 100,000.
    pub seeds: u64,
    /// Those of them that led to no page.
    pub failed: u64,
    /// The first of the failed ones.
    pub named: Vec<FailedSeed>,
}

/// A seed that led to no page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSeed {
    pub url: String,
    /// Where its redirects led, if there were any.
    pub at: Option<String>,
    /// How the visit there ended; a redirect, if the crawl did not follow it.
    pub outcome: Outcome,
}

impl SeedFigures {
    /// Whether there were seeds, and not one of them led to a page.
    pub fn all_failed(&self) -> bool {
        self.seeds > 0 && self.failed == self.seeds
    }

    /// Looks at the seeds of a crawl that has come to its end.
    pub fn look(store: &Store, config: &Config) -> Result<Self, StoreError> {
        let mut figures = Self::default();
        for seed in crate::crawl::stored_seeds(store)?.into_iter().take(MOST_LOOKED_AT) {
            figures.seeds += 1;
            let Some(failed) = failure_of(store, config, &seed)? else { continue };
            figures.failed += 1;
            if figures.named.len() < MOST_NAMED {
                figures.named.push(failed);
            }
        }
        Ok(figures)
    }
}

/// The record behind a failed seed, to be visited once more.
pub(crate) fn to_try_again(
    store: &Store,
    config: &Config,
    seed: &CanonUrl,
) -> Result<Option<(UrlId, UrlRecord)>, StoreError> {
    let Some(failed) = failure_of(store, config, seed)? else { return Ok(None) };
    // A redirect that was not followed is asked for once more: the rules of the crawl may have changed.
    let url = failed.at.map_or_else(|| seed.clone(), CanonUrl::from_canonical);
    let id = visited_id(store, &config.partitioner(), &url)?;
    Ok(store.url(id)?.map(|record| (id, record)))
}

/// How a seed failed, if it did: where its redirects end, nothing was fetched and nothing waits.
pub(crate) fn failure_of(
    store: &Store,
    config: &Config,
    seed: &CanonUrl,
) -> Result<Option<FailedSeed>, StoreError> {
    let mut at = seed.clone();
    let mut last: Option<Outcome> = None;
    for _ in 0..=MAX_REDIRECTS {
        let Some(record) = record_of(store, &config.partitioner(), &at)? else { break };
        match outcome_of(record) {
            None | Some(Outcome::Fetched { .. } | Outcome::NotModified) => return Ok(None),
            Some(Outcome::Redirected { status, to }) => {
                at = CanonUrl::from_canonical(to.clone());
                last = Some(Outcome::Redirected { status, to });
            }
            Some(mut outcome) => {
                if let Outcome::Excluded(Exclusion::Robots { rule, .. }) = &mut outcome {
                    // It goes into the report's file as the server wrote it: no control characters with it.
                    rule.retain(|c| c.is_ascii_graphic());
                }
                let at = (at != *seed).then(|| at.into_string());
                return Ok(Some(FailedSeed { url: seed.as_str().to_owned(), at, outcome }));
            }
        }
    }
    let named = |outcome| FailedSeed { url: seed.as_str().to_owned(), at: None, outcome };
    Ok(last.map(named))
}

fn outcome_of(record: UrlRecord) -> Option<Outcome> {
    record.outcome.filter(|_| record.state == UrlState::Done)
}
