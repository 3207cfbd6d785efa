//! What earlier runs left out comes back: what guesses left out, with `--no-guesses`; and always what was forbidden for the
//! time being, because robots.txt could not be had.

use lycosa_frontier::{Frontier, Store, StoreError};
use lycosa_types::{Origin, Outcome, Reason, UnixMs};

use crate::totals::Totals;

/// URLs brought back that are committed together.
const BROUGHT_BACK_AT_ONCE: usize = 10_000;

/// Brings back URLs that were left out in an earlier run: they wait again.
pub(super) fn undo(
    store: &Store,
    frontier: &mut Frontier,
    totals: &mut Totals,
    guesses_too: bool,
    now: UnixMs,
) -> Result<(), StoreError> {
    let is_guess = |reason: Reason| {
        reason == Reason::RobotsUnreachable || (guesses_too && reason.origin() == Origin::Guess)
    };
    let is_undone = |word: &str| Reason::of_word(word).is_some_and(is_guess);
    if !totals.outcomes.keys().any(|word| is_undone(word)) {
        return Ok(());
    }
    let mut brought_back = 0;
    for entry in store.urls() {
        let (id, record) = entry?;
        if !record.outcome.as_ref().and_then(Outcome::reason).is_some_and(is_guess) {
            continue;
        }
        frontier.requeue(id, record, now)?;
        brought_back += 1;
        if brought_back % BROUGHT_BACK_AT_ONCE == 0 {
            commit_now(store, frontier)?;
        }
    }
    totals.robots_failing.clear();
    totals.outcomes.retain(|word, _| !is_undone(word));
    totals.examples.retain(|word, _| !is_undone(word));
    commit_now(store, frontier)
}

fn commit_now(store: &Store, frontier: &mut Frontier) -> Result<(), StoreError> {
    let changes = frontier.take_changes();
    store.commit(&[], &changes, &[])?;
    frontier.committed(changes.epoch);
    Ok(())
}
