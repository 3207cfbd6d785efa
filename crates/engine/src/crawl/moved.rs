//! Seeds that redirect to another host: read again from their records when a crawl is opened or asked about.

use lycosa_frontier::{Scope, ScopeKind, Store, StoreError};
use lycosa_types::{CanonUrl, Outcome, UrlId};
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// A seed that moved to another host, as the report names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedSeed {
    pub seed: String,
    pub to: String,
}

/// Follows the redirects of seeds as far as they are known, and tells the scope where they ended.
pub fn read_moved(
    store: &Store,
    config: &Config,
    seeds: &[CanonUrl],
    scope: &Scope,
) -> Result<(), StoreError> {
    if config.scope.kind == ScopeKind::Any {
        return Ok(());
    }
    let partitioner = config.partitioner();
    for seed in seeds {
        let mut at = seed.clone();
        for _ in 0..=config.scope.max_redirects {
            let id = UrlId { partition: partitioner.partition_of(&at), key: at.key() };
            match store.url(id)?.and_then(|record| record.outcome) {
                Some(Outcome::Redirected { to, .. }) => {
                    let to = CanonUrl::from_canonical(to);
                    if to.key() == at.key() {
                        break;
                    }
                    scope.follow_seed(at.key(), seed.as_str(), to.key());
                    at = to;
                }
                Some(Outcome::Fetched { .. }) => {
                    scope.arrived(&at);
                    break;
                }
                _ => break,
            }
        }
    }
    Ok(())
}

/// The seeds that moved, as far as they are listed, and how many they are.
pub fn moved_seeds(scope: &Scope) -> (Vec<MovedSeed>, u64) {
    let (moves, count) = scope.moves();
    (moves.into_iter().map(|one| MovedSeed { seed: one.seed, to: one.to }).collect(), count)
}
