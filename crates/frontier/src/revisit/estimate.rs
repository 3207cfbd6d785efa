//! How often a page changes, learnt from visits that say only whether it changed since the one before.
//!
//! Changes are taken as a Poisson process of unknown rate. What is known of the rate is a Gamma distribution, kept as its
//! shape (changes seen) and its exposure (seconds watched). "Unchanged" and "last changed then" turn a Gamma into another
//! one exactly. "Changed some time in between" does not; the result is replaced by the Gamma of the same mean rate and
//! mean interval, which have closed forms. The error of that vanishes as visits add up: the estimate tends to the true rate
//! as the maximum-likelihood one does.
//!
//! An estimate is made when it is needed, of what the page's own visits showed ([`super::Evidence`]) and what is believed of
//! its like ([`Prior`]); it is not stored.
//!
//! Promise: one update is a handful of logarithms; any values, even damaged ones, are brought within bounds.

use super::gain::power_integral;
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeEstimate {
    shape: f64,
    exposure_s: f64,
}

impl ChangeEstimate {
    /// A page of which nothing is known but what is believed of its like.
    pub fn new(prior: &Prior) -> Self {
        Self::from_parts(f64::from(prior.shape), f64::from(prior.exposure_s))
    }

    /// A page whose rate is known, in changes per second.
    pub fn certain(rate: f64) -> Self {
        let rate = if rate.is_nan() { Prior::default().rate() } else { rate.clamp(MIN_RATE, MAX_RATE) };
        Self::from_parts(MAX_EVIDENCE, MAX_EVIDENCE / rate)
    }

    /// Of a shape and an exposure in seconds, brought within bounds.
    pub fn from_parts(shape: f64, exposure_s: f64) -> Self {
        let (shape, exposure_s) = bounded(shape, exposure_s);
        Self { shape, exposure_s }
    }

    /// Takes in a visit, `since_ms` after the one before.
    pub fn observe(&mut self, since_ms: u64, sighting: Sighting) {
        let (changes, watched_s) = self.lesson(since_ms, sighting);
        *self = Self::from_parts(self.shape + changes, self.exposure_s + watched_s);
    }

    /// What a visit adds to what is known: changes and seconds watched. Never less than nothing, nor more than one change
    /// and the time since the visit before.
    pub(super) fn lesson(&self, since_ms: u64, sighting: Sighting) -> (f64, f64) {
        if since_ms == 0 {
            return (0.0, 0.0);
        }
        let since = seconds(since_ms).min(MAX_EXPOSURE_S);
        match sighting {
            Sighting::Unchanged => (0.0, since),
            Sighting::ChangedAgo { ago_ms } if (HINT_RESOLUTION_MS..=since_ms).contains(&ago_ms) => {
                (1.0, seconds(ago_ms).min(since))
            }
            // A date that cannot be right says no more than that something changed.
            Sighting::Changed | Sighting::ChangedAgo { .. } => {
                let (shape, exposure) = changed_within(self.shape, self.exposure_s, since);
                let added = |value: f64, most: f64| if value.is_nan() { 0.0 } else { value.clamp(0.0, most) };
                (added(shape - self.shape, 1.0), added(exposure - self.exposure_s, since))
            }
        }
    }

    /// Changes per second, within [`MIN_RATE`] and [`MAX_RATE`].
    pub fn rate(&self) -> f64 {
        (self.shape / self.exposure_s).clamp(MIN_RATE, MAX_RATE)
    }

    /// Standard error of the rate, as a share of it.
    pub fn relative_error(&self) -> f64 {
        self.shape.sqrt().recip()
    }

    /// How probable it is that the page has changed since a visit `since_ms` ago.
    pub fn stale_probability(&self, since_ms: u64) -> f64 {
        -(-self.shape * (seconds(since_ms) / self.exposure_s).ln_1p()).exp_m1()
    }

    /// Shape and exposure in seconds.
    pub fn gamma(&self) -> (f64, f64) {
        (self.shape, self.exposure_s)
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

/// The Gamma with the mean rate and the mean interval (the mean of 1 / rate) that `Gamma(shape, exposure)` has after
/// learning that a change fell into `since` seconds.
///
/// Mean and variance would be the usual choice, but a change after a long time leaves both as they were. It does rule
/// out the slowest rates, which are what makes an unknown page worth a visit; the mean interval shows that.
/// With q(k) = 1 − (1 + since / exposure)^(−shape − k), the mean is multiplied by q(1) / q(0), and the mean interval
/// becomes ∫ (1 + s / exposure)^(−shape) ds over `since`, divided by q(0).
fn changed_within(shape: f64, exposure: f64, since: f64) -> (f64, f64) {
    let log = (since / exposure).ln_1p();
    let q = |k: f64| -(-(shape + k) * log).exp_m1();
    let q0 = q(0.0);
    if q0 <= 0.0 {
        // Too short an interval for the arithmetic: the limit is one change after no time.
        return (shape + 1.0, exposure);
    }
    let rate = shape / exposure * (q(1.0) / q0);
    let interval = exposure * power_integral(1.0 - shape, log) / q0;
    // For any Gamma the product is shape / (shape − 1).
    let excess = rate * interval - 1.0;
    if excess.is_nan() || excess <= 0.0 {
        return (shape + 1.0, (shape + 1.0) / rate);
    }
    let shape = 1.0 + 1.0 / excess;
    (shape, shape / rate)
}

pub(super) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[cfg(test)]
mod tests;
