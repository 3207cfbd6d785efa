//! What is believed of a page before it has been watched: how the rates of all pages are spread ([`Population`]), and by how
//! much its host differs ([`HostRate`]).
//!
//! Both are fitted to what visits show, each by how well it was foretold: steps up the likelihood, as long as the
//! information gathered so far allows. A visit that any belief would have foretold, or that the page's own history
//! foretold, moves nothing. Where the belief is off by decades visits hold next to no information about by how much, only
//! about the direction, so that the steps stay long until it is right: some twenty changes seen for five decades.
//!
//! Promise: O(1) per visit; no visit, belief or stored state makes anything fail or leave its bounds.

use serde::{Deserialize, Serialize};

use super::estimate::{MAX_RATE, MIN_EVIDENCE, MIN_RATE};

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
/// Bounds of the shape of the belief about all pages.
const MIN_STRENGTH: f64 = MIN_EVIDENCE;
const MAX_STRENGTH: f64 = 8.0;
/// The first guesses weigh as this much information: about rates, which may be off by decades, little.
const FIRST_RATE_INFORMATION: f64 = 2.0;
const FIRST_SHAPE_INFORMATION: f64 = 20.0;
/// That a host is like any other weighs as this much at first, and as this share of what its visits tell later: what all
/// hosts have in common is for all pages to know.
const HOST_DOUBT: f64 = 8.0;
const HOST_PULL: f64 = 0.1;
/// So that all pages together, or a host, can change their ways, no more than this counts.
const MAX_INFORMATION: f64 = 5_000.0;
/// A host differs from others by no more than this factor, as its logarithm.
const MAX_LOG_FACTOR: f64 = 12.0;

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

/// How well a visit was foretold: which way the belief should have differed, and how much such a visit can tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Surprise {
    by_rate: f64,
    by_shape: f64,
    rate_information: f64,
    shape_information: f64,
}

impl Surprise {
    /// Of a visit `since_s` after the one before, to a page of which its own visits showed so many changes in so many
    /// seconds. None if it tells nothing.
    pub(super) fn of(
        prior: &Prior,
        (changes, watched_s): (f64, f64),
        since_s: f64,
        changed: bool,
    ) -> Option<Self> {
        let (own_shape, own_exposure) = (f64::from(prior.shape), f64::from(prior.exposure_s));
        let (shape, exposure) = (own_shape + changes, own_exposure + watched_s);
        // The probability of no change is (1 + since / exposure)^(−shape).
        let log = (since_s / exposure).ln_1p();
        let (unchanged, not) = ((-shape * log).exp(), -(-shape * log).exp_m1());
        let odds = unchanged / not.max(f64::MIN_POSITIVE);
        let by_rate = own_exposure * shape / exposure * (since_s / (exposure + since_s));
        let by_shape = own_shape * log - by_rate;
        let sign = if changed { odds } else { -1.0 };
        let found = Self {
            by_rate: sign * by_rate,
            by_shape: sign * by_shape,
            rate_information: odds * by_rate * by_rate,
            shape_information: odds * by_shape * by_shape,
        };
        let all = [found.by_rate, found.by_shape, found.rate_information, found.shape_information];
        all.iter().all(|value| value.is_finite()).then_some(found)
    }
}

/// By how much the pages of a host change faster or slower than others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRate {
    log_factor: f32,
    information: f32,
}

impl HostRate {
    pub(super) fn learn(&mut self, surprise: &Surprise) {
        let more = surprise.rate_information;
        let slope = surprise.by_rate - HOST_PULL * more * f64::from(self.log_factor);
        step(&mut self.log_factor, &mut self.information, HOST_DOUBT, slope, more);
    }

    /// What to believe of a page of this host, given what is believed of any page.
    pub fn prior(&self, general: &Prior) -> Prior {
        let log = f64::from(self.log_factor);
        let factor = if log.is_nan() { 1.0 } else { log.clamp(-MAX_LOG_FACTOR, MAX_LOG_FACTOR).exp() };
        let rate = general.rate() * factor;
        let rate = if rate.is_nan() { DEFAULT_RATE } else { rate.clamp(MIN_RATE, MAX_RATE) };
        let shape = f64::from(general.shape);
        let shape = if shape.is_nan() { STRENGTH } else { shape.clamp(MIN_STRENGTH, MAX_STRENGTH) };
        Prior::shaped(shape, rate)
    }
}

/// How the change rates of all pages are spread: mean and shape of the Gamma that they might be drawn from.
///
/// Pages that are alike (a large shape) need little watching to be judged; pages that differ by decades (a small one) must
/// each be judged by what they do.
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
            rate_information: 0.0,
            shape_information: 0.0,
        }
    }

    pub(super) fn learn(&mut self, surprise: &Surprise) {
        step(
            &mut self.log_rate,
            &mut self.rate_information,
            FIRST_RATE_INFORMATION,
            surprise.by_rate,
            surprise.rate_information,
        );
        step(
            &mut self.log_shape,
            &mut self.shape_information,
            FIRST_SHAPE_INFORMATION,
            surprise.by_shape,
            surprise.shape_information,
        );
        // Beyond the bounds there is nothing to go back from.
        self.log_rate = self.log_rate.clamp(MIN_RATE.ln() as f32, MAX_RATE.ln() as f32);
        self.log_shape = self.log_shape.clamp(MIN_STRENGTH.ln() as f32, MAX_STRENGTH.ln() as f32);
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
fn step(value: &mut f32, information: &mut f32, first: f64, slope: f64, more: f64) {
    let known = f64::from(*information);
    let known = if known.is_nan() { 0.0 } else { known.max(0.0) };
    let known = (known + more).min(MAX_INFORMATION);
    let moved = f64::from(*value) + (slope / (first + known)).clamp(-1.0, 1.0);
    *value = if moved.is_nan() { 0.0 } else { moved as f32 };
    *information = known as f32;
}

#[cfg(test)]
mod tests;
