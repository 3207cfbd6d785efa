//! How often a page changes, learnt from visits that say only whether it changed since the one before.
//!
//! Changes are taken as a Poisson process of unknown rate. What is known of the rate is a Gamma distribution, kept as its
//! shape (changes seen) and its exposure (seconds watched). "Unchanged" and "last changed then" turn a Gamma into another
//! one exactly. "Changed some time in between" does not; the result is replaced by the Gamma of the same mean and
//! variance, which has a closed form. The error of that vanishes as visits add up: the estimate tends to the true rate
//! as the maximum-likelihood one does.
//!
//! Promise: eight bytes of knowledge and two counters per page; one update is a handful of logarithms; any state read
//! back from disk, even a damaged one, is brought within bounds.

use serde::{Deserialize, Serialize};

use super::prior::Prior;

/// Slowest rate that is distinguished, changes per second: once in some thirty years.
pub const MIN_RATE: f64 = 1e-9;
/// Fastest rate that is distinguished, changes per second.
pub const MAX_RATE: f64 = 1.0;
/// A page whose changes follow another rate than last year must be able to convince: no more changes than this count.
pub const MAX_EVIDENCE: f64 = 1000.0;
/// Nor more watching than this, for the same reason: eight years.
pub const MAX_EXPOSURE_S: f64 = 2.5e8;
/// Less knowledge than this is none.
pub const MIN_EVIDENCE: f64 = 0.25;
/// Dates on the web have whole seconds; a change dated closer to the visit than this was most likely dated by the visit.
pub const HINT_RESOLUTION_MS: u64 = 1000;
/// How much a date counts that comes with the very first visit: copying and publishing set it as well as changing.
const FIRST_DATE_WEIGHT: f64 = 0.5;

/// What a visit showed about the time since the visit before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Nothing changed.
    Unchanged,
    /// It changed at least once, at unknown times.
    Changed,
    /// It changed, and a date (Last-Modified, sitemap, feed) says how long before the visit it last did.
    ChangedAgo { ago_ms: u64 },
}

/// What is known about the change rate of one page. See the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeEstimate {
    shape: f32,
    exposure_s: f32,
    visits: u16,
    changes: u16,
}

impl ChangeEstimate {
    /// A page of which nothing is known but what is believed of its like.
    pub fn new(prior: &Prior) -> Self {
        let mut estimate = Self { shape: 1.0, exposure_s: 1.0, visits: 0, changes: 0 };
        estimate.set(f64::from(prior.shape), f64::from(prior.exposure_s));
        estimate
    }

    /// A page whose rate is known, in changes per second.
    pub fn certain(rate: f64) -> Self {
        let mut estimate = Self::new(&Prior::default());
        estimate.set(MAX_EVIDENCE, MAX_EVIDENCE / rate.clamp(MIN_RATE, MAX_RATE));
        estimate
    }

    /// Puts together what [`Self::parts`] took apart.
    pub fn from_parts(shape: f32, exposure_s: f32, visits: u16, changes: u16) -> Self {
        let mut estimate = Self { shape, exposure_s, visits, changes };
        estimate.set(f64::from(shape), f64::from(exposure_s));
        estimate
    }

    /// Shape, exposure in seconds, visits, visits that found a change.
    pub fn parts(&self) -> (f32, f32, u16, u16) {
        (self.shape, self.exposure_s, self.visits, self.changes)
    }

    /// Takes in the first visit, and the age of the page if it came with a date.
    pub fn first_visit(&mut self, age_ms: Option<u64>) {
        self.visits = self.visits.saturating_add(1);
        if let Some(age_ms) = age_ms.filter(|&age| age >= HINT_RESOLUTION_MS) {
            let (shape, exposure) = self.gamma();
            let age_s = seconds(age_ms).min(MAX_EXPOSURE_S);
            self.set(shape + FIRST_DATE_WEIGHT, exposure + FIRST_DATE_WEIGHT * age_s);
        }
    }

    /// Takes in a later visit, `since_ms` after the one before.
    pub fn observe(&mut self, since_ms: u64, sighting: Sighting) {
        self.visits = self.visits.saturating_add(1);
        if sighting != Sighting::Unchanged {
            self.changes = self.changes.saturating_add(1);
        }
        if since_ms == 0 {
            return;
        }
        let since = seconds(since_ms).min(MAX_EXPOSURE_S);
        let (shape, exposure) = self.gamma();
        let (shape, exposure) = match sighting {
            Sighting::Unchanged => (shape, exposure + since),
            Sighting::ChangedAgo { ago_ms } if (HINT_RESOLUTION_MS..=since_ms).contains(&ago_ms) => {
                (shape + 1.0, exposure + seconds(ago_ms))
            }
            // A date that cannot be right says no more than that something changed.
            Sighting::Changed | Sighting::ChangedAgo { .. } => changed_within(shape, exposure, since),
        };
        self.set(shape, exposure);
    }

    /// Changes per second, within [`MIN_RATE`] and [`MAX_RATE`].
    pub fn rate(&self) -> f64 {
        let (shape, exposure) = self.gamma();
        (shape / exposure).clamp(MIN_RATE, MAX_RATE)
    }

    /// Standard error of the rate, as a share of it.
    pub fn relative_error(&self) -> f64 {
        self.gamma().0.sqrt().recip()
    }

    /// How probable it is that the page has changed since a visit `since_ms` ago.
    pub fn stale_probability(&self, since_ms: u64) -> f64 {
        let (shape, exposure) = self.gamma();
        -(-shape * (seconds(since_ms) / exposure).ln_1p()).exp_m1()
    }

    /// Visits so far, up to 65535.
    pub fn visits(&self) -> u16 {
        self.visits
    }

    /// Visits so far that found a change, up to 65535.
    pub fn changes(&self) -> u16 {
        self.changes
    }

    /// Shape and exposure in seconds, within bounds whatever was read from disk.
    pub(super) fn gamma(&self) -> (f64, f64) {
        bounded(f64::from(self.shape), f64::from(self.exposure_s))
    }

    fn set(&mut self, shape: f64, exposure: f64) {
        let (shape, exposure) = bounded(shape, exposure);
        self.shape = shape as f32;
        self.exposure_s = exposure as f32;
    }
}

fn bounded(shape: f64, exposure: f64) -> (f64, f64) {
    if !(shape.is_finite() && exposure.is_finite() && shape > 0.0 && exposure > 0.0) {
        let prior = Prior::default();
        return (f64::from(prior.shape), f64::from(prior.exposure_s));
    }
    // Forgetting scales both: the rate stays, the certainty shrinks.
    let keep = (MAX_EVIDENCE / shape).min(MAX_EXPOSURE_S / exposure).min(1.0);
    let (shape, exposure) = (shape * keep, exposure * keep);
    let shape = shape.max(MIN_EVIDENCE);
    (shape, exposure.clamp(shape / MAX_RATE, shape / MIN_RATE))
}

/// The Gamma with mean and variance of `Gamma(shape, exposure)` after learning that a change fell into `since` seconds.
///
/// With q(k) = 1 − (exposure / (exposure + since))^(shape + k), the k-th moment is multiplied by q(k) / q(0).
fn changed_within(shape: f64, exposure: f64, since: f64) -> (f64, f64) {
    let log = (since / exposure).ln_1p();
    let q = |k: f64| -(-(shape + k) * log).exp_m1();
    let q0 = q(0.0);
    if q0 <= 0.0 {
        // Too short an interval for the arithmetic: the limit is one change after no time.
        return (shape + 1.0, exposure);
    }
    let mean = shape / exposure * (q(1.0) / q0);
    let second = shape * (shape + 1.0) / (exposure * exposure) * (q(2.0) / q0);
    let variance = second - mean * mean;
    if variance.is_nan() || variance <= 0.0 {
        return (shape, exposure);
    }
    (mean * mean / variance, mean / variance)
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[cfg(test)]
mod tests;
