//! What is believed of a page before it has been watched: the pooled rate of its host's pages, and of all pages where the
//! host is new.
//!
//! Promise: a page's own visits outweigh the prior after one or two of them; a host with no history gets the default.

use serde::{Deserialize, Serialize};

use super::estimate::{ChangeEstimate, MAX_RATE, MIN_RATE};

/// A belief about a change rate, as a Gamma distribution: so many changes in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    pub shape: f32,
    pub exposure_s: f32,
}

/// As if little more than one change had been seen. Less explores more and suits hosts whose rates span decades, more
/// suits hosts whose pages are alike; this is within 3 % of the optimum on both (see the `refresh_policies` example).
const STRENGTH: f32 = 1.25;
/// One change a week, until more is known.
const DEFAULT_RATE: f64 = 1.0 / (7.0 * 86_400.0);
/// A host's own history weighs against the general belief as this many changes.
const HOST_DOUBT: f64 = 2.0;
/// So that a host can change its ways, no more changes than this count.
const MAX_HOST_EVIDENCE: f64 = 10_000.0;

impl Default for Prior {
    fn default() -> Self {
        Self::around(DEFAULT_RATE)
    }
}

impl Prior {
    /// A vague belief around a rate in changes per second.
    pub fn around(rate: f64) -> Self {
        let rate = if rate.is_finite() { rate.clamp(MIN_RATE, MAX_RATE) } else { DEFAULT_RATE };
        Self { shape: STRENGTH, exposure_s: (f64::from(STRENGTH) / rate) as f32 }
    }

    /// Changes per second.
    pub fn rate(&self) -> f64 {
        f64::from(self.shape) / f64::from(self.exposure_s)
    }
}

/// The pooled change rate of a host's pages (or of all pages, if every visit is absorbed into one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRate {
    changes: f32,
    exposure_s: f32,
}

impl HostRate {
    /// Takes in what one visit added to the knowledge about one page.
    pub fn absorb(&mut self, before: &ChangeEstimate, after: &ChangeEstimate) {
        let ((a0, b0), (a1, b1)) = (before.gamma(), after.gamma());
        let changes = f64::from(self.changes) + (a1 - a0).max(0.0);
        let exposure = f64::from(self.exposure_s) + (b1 - b0).max(0.0);
        if !(changes.is_finite() && exposure.is_finite()) {
            *self = Self::default();
            return;
        }
        let keep = (MAX_HOST_EVIDENCE / changes.max(1.0)).min(1.0);
        self.changes = (changes * keep) as f32;
        self.exposure_s = (exposure * keep) as f32;
    }

    /// What to believe of a page of this host, given what is believed of any page.
    pub fn prior(&self, general: &Prior) -> Prior {
        let general_rate = general.rate().clamp(MIN_RATE, MAX_RATE);
        let changes = f64::from(self.changes) + HOST_DOUBT;
        let exposure = f64::from(self.exposure_s) + HOST_DOUBT / general_rate;
        Prior::around(changes / exposure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revisit::Sighting;

    #[test]
    fn a_new_host_gets_the_general_belief_and_a_known_one_its_own() {
        let general = Prior::around(1e-6);
        let mut host = HostRate::default();
        assert!((host.prior(&general).rate() / 1e-6 - 1.0).abs() < 1e-3);
        // A hundred pages, each seen unchanged for a day: nothing points to one change in eleven days.
        for _ in 0..100 {
            let before = ChangeEstimate::new(&general);
            let mut after = before;
            after.observe(86_400_000, Sighting::Unchanged);
            host.absorb(&before, &after);
        }
        let rate = host.prior(&general).rate();
        assert!(rate < 0.2e-6, "{rate}");
    }

    #[test]
    fn damaged_state_is_forgotten() {
        let mut host = HostRate { changes: f32::NAN, exposure_s: 1.0 };
        let estimate = ChangeEstimate::new(&Prior::default());
        host.absorb(&estimate, &estimate);
        assert_eq!(host, HostRate::default());
        let odd = Prior { shape: f32::NAN, exposure_s: -1.0 };
        assert!(host.prior(&odd).rate().is_finite());
        assert!(ChangeEstimate::new(&odd).rate().is_finite());
    }
}
