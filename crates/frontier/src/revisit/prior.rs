//! What is believed of a page before it has been watched: the pooled rate of its host's pages ([`HostRate`]), and of all
//! pages where the host is new ([`Population`]).
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

/// How alike pages are thought to be before any has been watched: as if one change had been seen of each.
const STRENGTH: f64 = 1.0;
/// One change a week, until more is known.
const DEFAULT_RATE: f64 = 1.0 / (7.0 * 86_400.0);
/// A host's own history weighs against the general belief as this many changes.
const HOST_DOUBT: f64 = 2.0;
/// Bounds of the shape of the belief about all pages.
const MIN_STRENGTH: f64 = 0.4;
const MAX_STRENGTH: f64 = 4.0;
/// The first guess weighs as this much information.
const FIRST_INFORMATION: f32 = 5.0;
/// So that all pages together can change their ways, no more than this counts.
const MAX_INFORMATION: f64 = 5_000.0;
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
        Self::shaped(STRENGTH, rate)
    }

    fn shaped(shape: f64, rate: f64) -> Self {
        Self { shape: shape as f32, exposure_s: (shape / rate) as f32 }
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
        let general_rate = general.rate();
        let general_rate =
            if general_rate.is_nan() { DEFAULT_RATE } else { general_rate.clamp(MIN_RATE, MAX_RATE) };
        let changes = f64::from(self.changes) + HOST_DOUBT;
        let exposure = f64::from(self.exposure_s) + HOST_DOUBT / general_rate;
        let shape = f64::from(general.shape);
        let shape = if shape.is_nan() { STRENGTH } else { shape.clamp(MIN_STRENGTH, MAX_STRENGTH) };
        let rate = changes / exposure;
        Prior::shaped(shape, if rate.is_finite() { rate.clamp(MIN_RATE, MAX_RATE) } else { general_rate })
    }
}

/// How the change rates of all pages are spread: mean and shape of the Gamma that they might be drawn from.
///
/// Fitted to one observation of each page, whether it had changed at its second visit, by steps up the likelihood that
/// shrink with the information gathered. Pages that are alike (a large shape) need little watching to be judged; pages
/// that differ by decades (a small one) must each be judged by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Population {
    log_rate: f32,
    log_shape: f32,
    rate_information: f32,
    shape_information: f32,
}

impl Default for Population {
    fn default() -> Self {
        Self::around(DEFAULT_RATE)
    }
}

impl Population {
    /// Starts from a guess of the mean rate, in changes per second.
    pub fn around(rate: f64) -> Self {
        Self {
            log_rate: Prior::around(rate).rate().ln() as f32,
            log_shape: STRENGTH.ln() as f32,
            rate_information: FIRST_INFORMATION,
            shape_information: FIRST_INFORMATION,
        }
    }

    /// Takes in the second visit to a page, `since_ms` after its first.
    pub fn observe(&mut self, since_ms: u64, changed: bool) {
        let since = since_ms as f64 / 1000.0;
        let prior = self.prior();
        let (shape, mean) = (f64::from(prior.shape), prior.rate() * since);
        // The probability of no change is (1 + mean / shape)^(−shape).
        let log = (mean / shape).ln_1p();
        let unchanged = (-shape * log).exp();
        let slope = mean / (1.0 + mean / shape);
        let odds = if changed { unchanged / (1.0 - unchanged).max(1e-9) } else { -1.0 };
        let (by_rate, by_shape) = (odds * slope, odds * (shape * log - slope));
        if !(by_rate.is_finite() && by_shape.is_finite()) {
            return;
        }
        step(&mut self.log_rate, &mut self.rate_information, by_rate);
        step(&mut self.log_shape, &mut self.shape_information, by_shape);
    }

    /// What to believe of a page of which nothing is known.
    pub fn prior(&self) -> Prior {
        let sane = |log: f32, least: f64, most: f64, otherwise: f64| {
            let value = f64::from(log).exp();
            if value.is_nan() { otherwise } else { value.clamp(least, most) }
        };
        let rate = sane(self.log_rate, MIN_RATE, MAX_RATE, DEFAULT_RATE);
        Prior::shaped(sane(self.log_shape, MIN_STRENGTH, MAX_STRENGTH, STRENGTH), rate)
    }
}

/// One step up the likelihood, as long as the information so far allows.
fn step(value: &mut f32, information: &mut f32, slope: f64) {
    let known = (f64::from(*information) + slope * slope).min(MAX_INFORMATION);
    let known = if known.is_nan() { f64::from(FIRST_INFORMATION) } else { known };
    let moved = f64::from(*value) + (slope / known).clamp(-1.0, 1.0);
    *value = if moved.is_nan() { 0.0 } else { moved as f32 };
    *information = known as f32;
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

    /// Second visits to pages of rates drawn by `rate` from a uniform number, after intervals over three decades.
    fn watched(rate: impl Fn(f64) -> f64) -> Prior {
        let mut population = Population::around(1e-6);
        let mut state = 1u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state ^ (state >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..30_000 {
            let rate = rate(unit());
            let since_s = 1e3 * 1000f64.powf(unit());
            population.observe((since_s * 1000.0) as u64, unit() > (-rate * since_s).exp());
        }
        population.prior()
    }

    #[test]
    fn a_population_learns_its_mean_and_whether_its_pages_are_alike() {
        let alike = watched(|u| 1e-5 * (0.1 + 1.8 * u));
        let spread = watched(|u| 1e-7 * 1000f64.powf(u));
        assert!((alike.rate() / 1e-5 - 1.0).abs() < 0.15, "{alike:?}");
        assert!(alike.shape > 2.0, "{alike:?}");
        assert!(spread.shape < 0.8, "{spread:?}");
    }

    #[test]
    fn a_population_survives_anything() {
        let mut population = Population {
            log_rate: f32::NAN,
            log_shape: 90.0,
            rate_information: -5.0,
            shape_information: f32::NAN,
        };
        for since in [0, 1, u64::MAX, 1000] {
            population.observe(since, true);
            population.observe(since, false);
            let prior = population.prior();
            assert!(prior.rate().is_finite() && prior.rate() > 0.0, "{prior:?}");
        }
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
