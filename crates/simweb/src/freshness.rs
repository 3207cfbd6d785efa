//! How fresh a copy is: the truth against which a crawler that comes again is measured.
//!
//! Promise: exact, from the processes that decide the world; nothing is fetched or replayed.

use crate::host::PageId;
use crate::kind::ChangeKind;
use crate::life::{Fate, Presence};
use crate::world::World;

/// What a copy of a page, taken at one time, is at a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The same page, as a reader would judge it.
    Fresh,
    /// The same page but for clocks, counters, tokens and advertisements.
    Noise,
    /// The page has changed; this was the first change since.
    Stale { since_ms: u64, kind: ChangeKind },
    /// The page is no longer there.
    Gone { since_ms: u64 },
    /// The page is at another address.
    Moved { since_ms: u64 },
    /// The copy says that the page is gone, but it is back.
    Back { since_ms: u64 },
}

impl CopyState {
    /// Noise does not make a copy stale.
    pub fn is_fresh(self) -> bool {
        matches!(self, Self::Fresh | Self::Noise)
    }

    /// For how long the copy has been out of date.
    pub fn age_ms(self, at_ms: u64) -> u64 {
        match self {
            Self::Fresh | Self::Noise => 0,
            Self::Stale { since_ms, .. }
            | Self::Gone { since_ms }
            | Self::Moved { since_ms }
            | Self::Back { since_ms } => at_ms.saturating_sub(since_ms),
        }
    }
}

impl World {
    /// True changes per second that a visit to the page can see; noise and images of their own address do not count.
    pub fn change_rate_per_s(&self, page: PageId) -> f64 {
        let spec = self.change_spec(page);
        match spec.kind {
            ChangeKind::Structure | ChangeKind::Text => 1000.0 / spec.interval_ms as f64,
            ChangeKind::None | ChangeKind::Image | ChangeKind::Noise => 0.0,
        }
    }

    /// What an answer taken from the page's first address (redirects followed) is worth at a later time.
    pub fn copy_at(&self, page: PageId, taken_ms: u64, at_ms: u64) -> CopyState {
        let (was, is) = (self.presence(page, taken_ms), self.presence(page, at_ms));
        if was != is {
            return match (is, self.fate(page)) {
                (Presence::Here, Fate::Returns { back_ms, .. }) => CopyState::Back { since_ms: back_ms },
                (Presence::Moved, Fate::Moves { at_ms }) => CopyState::Moved { since_ms: at_ms },
                (_, Fate::Vanishes { at_ms, .. } | Fate::Returns { at_ms, .. }) => {
                    CopyState::Gone { since_ms: at_ms }
                }
                _ => CopyState::Fresh,
            };
        }
        if matches!(is, Presence::Gone { .. }) {
            return CopyState::Fresh;
        }
        match self.difference(page, taken_ms, at_ms) {
            ChangeKind::None | ChangeKind::Image => CopyState::Fresh,
            ChangeKind::Noise => CopyState::Noise,
            kind @ (ChangeKind::Structure | ChangeKind::Text) => {
                let first = self.changes_between(page, taken_ms, at_ms).first().map_or(at_ms, |c| c.at_ms);
                CopyState::Stale { since_ms: first, kind }
            }
        }
    }
}

/// Freshness and age of a collection at one time, weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Freshness {
    weight: f64,
    fresh: f64,
    age_ms: f64,
}

impl Freshness {
    /// Counts one copy.
    pub fn add(&mut self, state: CopyState, at_ms: u64, weight: f64) {
        self.weight += weight;
        self.fresh += if state.is_fresh() { weight } else { 0.0 };
        self.age_ms += weight * state.age_ms(at_ms) as f64;
    }

    /// The share of weight whose copies are fresh; 1 for an empty collection.
    pub fn share(&self) -> f64 {
        if self.weight > 0.0 { self.fresh / self.weight } else { 1.0 }
    }

    pub fn mean_age_ms(&self) -> f64 {
        if self.weight > 0.0 { self.age_ms / self.weight } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeConfig, LifeConfig, RateSpread, Timing, WorldConfig};
    use proptest::prelude::*;

    fn world(spread: RateSpread) -> World {
        let mut config = WorldConfig::full(9, 20, 3_000);
        config.change = ChangeConfig {
            spread,
            timing: Timing::Poisson,
            ambient_noise_ms: None,
            ..ChangeConfig::lively()
        };
        config.life = LifeConfig::eventful(1_000, 1_000_000);
        World::new(config)
    }

    proptest! {
        #[test]
        fn copies_are_stale_from_the_first_event_on(page in 0u32..2_900, taken in 0u64..2_000_000, wait in 0u64..500_000) {
            let world = world(RateSpread::PowerLaw { min_ms: 10_000, max_ms: 10_000_000 });
            let (page, at) = (PageId(page), taken + wait);
            prop_assert_eq!(world.copy_at(page, taken, taken), CopyState::Fresh);
            let state = world.copy_at(page, taken, at);
            prop_assert!(state.age_ms(at) <= wait);
            match state {
                CopyState::Fresh | CopyState::Noise => {}
                CopyState::Stale { since_ms, .. } => {
                    // It may have changed while it was away and is back.
                    let before = world.copy_at(page, taken, since_ms - 1);
                    let was_away = matches!(before, CopyState::Gone { .. });
                    prop_assert!(before.is_fresh() || was_away);
                    prop_assert!(world.version_at(page, since_ms) > world.version_at(page, taken));
                }
                CopyState::Gone { since_ms } | CopyState::Moved { since_ms } | CopyState::Back { since_ms } => {
                    prop_assert_ne!(world.presence(page, since_ms), world.presence(page, since_ms - 1));
                }
            }
        }
    }

    #[test]
    fn rates_are_spread_as_asked() {
        let (min_ms, max_ms) = (1_000u64, 100_000u64);
        let rates = |spread| {
            let world = world(spread);
            let all = (0..2_900).map(|n| world.change_rate_per_s(PageId(n))).filter(|&r| r > 0.0);
            all.collect::<Vec<f64>>()
        };
        let uniform = rates(RateSpread::UniformRate { min_ms, max_ms });
        let half = uniform.iter().filter(|&&r| r < 0.505).count() as f64 / uniform.len() as f64;
        assert!((half - 0.5).abs() < 0.05, "half of the rates lie in the lower half: {half}");
        let power = rates(RateSpread::PowerLaw { min_ms, max_ms });
        let slow = power.iter().filter(|&&r| r < 0.1).count() as f64 / power.len() as f64;
        assert!(slow > 0.4, "{slow} of the pages are slow");
        for rate in uniform.iter().chain(&power) {
            assert!((0.0099..=1.001).contains(rate), "{rate}");
        }
    }

    #[test]
    fn a_collection_is_as_fresh_as_its_copies() {
        let mut freshness = Freshness::default();
        assert_eq!(freshness.share(), 1.0);
        freshness.add(CopyState::Fresh, 500, 3.0);
        freshness.add(CopyState::Gone { since_ms: 100 }, 500, 1.0);
        assert_eq!(freshness.share(), 0.75);
        assert_eq!(freshness.mean_age_ms(), 100.0);
    }
}
