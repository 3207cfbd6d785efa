//! What the visits to one page showed, and nothing else: the part of the knowledge about a page that is stored with it.
//!
//! What is believed of pages in general is kept apart and added when it is needed ([`Evidence::given`]), so that a page
//! judged while nothing was known yet profits from all that other pages taught since. Stored together, a first belief that
//! was off by decades would weigh on every page for as long as it claimed to have watched.
//!
//! Promise: eight bytes of knowledge and two counters; anything read from disk, even damaged, is brought within bounds.

use serde::{Deserialize, Serialize};

use super::estimate::{ChangeEstimate, HINT_RESOLUTION_MS, MAX_EVIDENCE, MAX_EXPOSURE_S, Sighting, seconds};
use super::prior::Prior;

/// How much a date counts that comes with the very first visit: copying and publishing set it as well as changing.
const FIRST_DATE_WEIGHT: f64 = 0.5;
/// And it makes a page no older than this many mean times between changes of its like. Dates lie (a clock that is off, a
/// constant in a template), and a page that is believed to be years old would not be looked at a second time.
const MAX_FIRST_AGE: f64 = 8.0;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Changes seen, as they count.
    changes_seen: f32,
    watched_s: f32,
    visits: u16,
    changes: u16,
}

impl Evidence {
    /// Of the first visit, and the age of the page if it came with a date. That counts until the second visit: what the
    /// page does then tells more, and the date may be that of a copy.
    pub fn first_visit(age_ms: Option<u64>) -> Self {
        let mut evidence = Self { visits: 1, ..Self::default() };
        if let Some(age_ms) = age_ms.filter(|&age| age >= HINT_RESOLUTION_MS) {
            let age_s = seconds(age_ms).min(MAX_EXPOSURE_S);
            evidence.set(FIRST_DATE_WEIGHT, FIRST_DATE_WEIGHT * age_s);
        }
        evidence
    }

    /// Takes in a later visit, `since_ms` after the one before.
    pub fn observe(&mut self, prior: &Prior, since_ms: u64, sighting: Sighting) {
        let (changes, watched_s) = self.watched();
        let (more, longer_s) = with(prior, (changes, watched_s)).lesson(since_ms, sighting);
        self.set(changes + more, watched_s + longer_s);
        self.visits = self.visits.saturating_add(1);
        if sighting != Sighting::Unchanged {
            self.changes = self.changes.saturating_add(1);
        }
    }

    /// What is known of the page, given what is believed of its like.
    pub fn given(&self, prior: &Prior) -> ChangeEstimate {
        let (changes, watched_s) = self.parts();
        if self.visits > 1 {
            return with(prior, (changes, watched_s));
        }
        let most_s = FIRST_DATE_WEIGHT * MAX_FIRST_AGE / ChangeEstimate::new(prior).rate();
        with(prior, (changes, watched_s.min(most_s)))
    }

    /// Visits so far, up to 65535.
    pub fn visits(&self) -> u16 {
        self.visits
    }

    /// Visits so far that found a change, up to 65535.
    pub fn changes(&self) -> u16 {
        self.changes
    }

    /// Changes and seconds of watching that visits showed; a date that came with the first one does not count.
    pub(super) fn watched(&self) -> (f64, f64) {
        if self.visits <= 1 { (0.0, 0.0) } else { self.parts() }
    }

    fn parts(&self) -> (f64, f64) {
        bounded(f64::from(self.changes_seen), f64::from(self.watched_s))
    }

    fn set(&mut self, changes_seen: f64, watched_s: f64) {
        let (changes_seen, watched_s) = bounded(changes_seen, watched_s);
        self.changes_seen = changes_seen as f32;
        self.watched_s = watched_s as f32;
    }
}

fn with(prior: &Prior, (changes, watched_s): (f64, f64)) -> ChangeEstimate {
    let (shape, exposure_s) = ChangeEstimate::new(prior).gamma();
    ChangeEstimate::from_parts(shape + changes, exposure_s + watched_s)
}

fn bounded(changes: f64, watched_s: f64) -> (f64, f64) {
    let is_sane = |value: f64| value.is_finite() && value >= 0.0;
    if !(is_sane(changes) && is_sane(watched_s)) {
        return (0.0, 0.0);
    }
    // Forgetting scales both: the rate stays, the certainty shrinks.
    let keep = (MAX_EVIDENCE / changes.max(1.0)).min(MAX_EXPOSURE_S / watched_s.max(1.0)).min(1.0);
    (changes * keep, watched_s * keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn a_wrong_first_belief_does_not_stay() {
        // Believed to change once a week, the page changes within every ten seconds.
        let slow = Prior::default();
        let mut evidence = Evidence::first_visit(None);
        for _ in 0..4 {
            evidence.observe(&slow, 10_000, Sighting::Changed);
        }
        assert!(evidence.given(&slow).rate() < 1e-4, "under the first belief");
        let learnt = evidence.given(&Prior::around(0.1)).rate();
        assert!((0.1..0.4).contains(&learnt), "{learnt}");
    }

    #[test]
    fn a_page_that_claims_to_be_old_is_slower_than_its_like_but_not_out_of_sight() {
        let prior = Prior::around(1e-5);
        let old = Evidence::first_visit(Some(365 * DAY_MS)).given(&prior);
        assert!(old.rate() < 0.4 * prior.rate(), "{old:?}");
        assert!(old.rate() > 0.1 * prior.rate(), "{old:?}");
        let made_now = Evidence::first_visit(Some(3)).given(&prior);
        assert!((made_now.rate() / prior.rate() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_first_date_counts_until_the_second_visit() {
        let prior = Prior::around(1e-4);
        let (mut dated, mut plain) = (Evidence::first_visit(Some(300 * DAY_MS)), Evidence::first_visit(None));
        dated.observe(&prior, 5_000_000, Sighting::Changed);
        plain.observe(&prior, 5_000_000, Sighting::Changed);
        assert_eq!(dated, plain);
        assert_eq!((plain.visits(), plain.changes()), (2, 1));
    }

    #[test]
    fn state_is_small_and_survives() {
        assert!(size_of::<Evidence>() <= 12);
        let mut evidence = Evidence::first_visit(None);
        evidence.observe(&Prior::default(), 3_600_000, Sighting::Changed);
        let bytes = postcard::to_stdvec(&evidence).unwrap();
        assert!(bytes.len() <= 24);
        assert_eq!(postcard::from_bytes::<Evidence>(&bytes).unwrap(), evidence);
    }

    proptest! {
        #[test]
        fn visits_add_up_to_what_one_estimate_would_learn(
            shape in 0.3f32..8.0, log in 6.0f64..12.0,
            visits in proptest::collection::vec((0.01f64..20.0, any::<bool>()), 1..40),
        ) {
            let prior = Prior { shape, exposure_s: log.exp() as f32 };
            let mut together = ChangeEstimate::new(&prior);
            let mut apart = Evidence::first_visit(None);
            for (part, changed) in visits {
                let since_ms = (1000.0 * part * log.exp()) as u64 + 1;
                let sighting = if changed { Sighting::Changed } else { Sighting::Unchanged };
                together.observe(since_ms, sighting);
                apart.observe(&prior, since_ms, sighting);
            }
            let (one, two) = (together.rate(), apart.given(&prior).rate());
            prop_assert!((one / two - 1.0).abs() < 1e-3, "{one} {two}");
        }

        #[test]
        fn damaged_state_stays_within_bounds(
            changes_seen: f32, watched_s: f32, visits: u16, changes: u16, prior: (f32, f32), since: u64, ago: u64,
        ) {
            let prior = Prior { shape: prior.0, exposure_s: prior.1 };
            let mut evidence = Evidence { changes_seen, watched_s, visits, changes };
            evidence.observe(&prior, since, Sighting::ChangedAgo { ago_ms: ago });
            let rate = evidence.given(&prior).rate();
            prop_assert!((super::super::estimate::MIN_RATE..=super::super::estimate::MAX_RATE).contains(&rate));
        }
    }
}
