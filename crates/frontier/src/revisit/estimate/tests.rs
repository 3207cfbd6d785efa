//! The laws of the estimator, against the exact maximum of the likelihood and against rates that are known.

use super::*;
use proptest::prelude::*;

/// A small generator, so that tests repeat.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

/// Visits at irregular intervals to a page of known rate: interval in seconds, whether changed, time since the change.
fn visits(rate: f64, count: usize, spread: f64, draws: &mut Draws) -> Vec<(f64, Option<f64>)> {
    (0..count)
        .map(|_| {
            let interval = (spread * (2.0 * draws.unit() - 1.0)).exp() / rate;
            // Backwards from the visit, the last change is exponentially far away.
            let ago = -draws.unit().ln() / rate;
            (interval, (ago < interval).then_some(ago))
        })
        .collect()
}

/// The rate of the highest likelihood, by bisection on its derivative.
fn exact(visits: &[(f64, Option<f64>)]) -> f64 {
    let slope = |rate: f64| -> f64 {
        let term = |&(interval, changed): &(f64, Option<f64>)| match changed {
            Some(_) => interval / (rate * interval).exp_m1(),
            None => -interval,
        };
        visits.iter().map(term).sum()
    };
    let (mut low, mut high) = (1e-12f64, 1e6f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The standard error of the best estimate, from the information in the visits.
fn standard_error(rate: f64, visits: &[(f64, Option<f64>)]) -> f64 {
    let information: f64 = visits.iter().map(|&(d, _)| d * d / (rate * d).exp_m1()).sum();
    information.sqrt().recip()
}

fn learn(prior: &Prior, visits: &[(f64, Option<f64>)], dated: bool) -> ChangeEstimate {
    let mut estimate = ChangeEstimate::new(prior);
    for &(interval, changed) in visits {
        let sighting = match changed {
            None => Sighting::Unchanged,
            Some(ago) if dated => Sighting::ChangedAgo { ago_ms: (ago * 1000.0) as u64 },
            Some(_) => Sighting::Changed,
        };
        estimate.observe((interval * 1000.0) as u64, sighting);
    }
    estimate
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_estimate_finds_the_rate(log in -14.0f64..-4.0, prior_off in -3.0f64..3.0, seed: u64, dated: bool) {
        let rate = log.exp();
        let visits = visits(rate, 400, 1.5, &mut Draws(seed));
        let estimate = learn(&Prior::around(rate * prior_off.exp()), &visits, dated);
        let error = (estimate.rate() - rate).abs();
        let allowed = 5.0 * standard_error(rate, &visits);
        prop_assert!(error < allowed, "{} for {rate}, {} standard errors", estimate.rate(), 5.0 * error / allowed);
        prop_assert!((estimate.relative_error() * rate / standard_error(rate, &visits)) < 1.5);
    }

    #[test]
    fn it_stays_close_to_the_exact_maximum_of_the_likelihood(log in -14.0f64..-4.0, seed: u64) {
        let rate = log.exp();
        let visits = visits(rate, 400, 1.5, &mut Draws(seed));
        let (ours, best) = (learn(&Prior::around(rate), &visits, false).rate(), exact(&visits));
        prop_assert!((ours - best).abs() < 0.5 * standard_error(rate, &visits), "{ours} against {best}");
    }

    #[test]
    fn no_history_leaves_the_bounds(
        shape: f32, exposure: f32,
        history in proptest::collection::vec((any::<u64>(), any::<u64>(), 0u8..3), 0..40),
    ) {
        let mut estimate = ChangeEstimate::from_parts(f64::from(shape), f64::from(exposure));
        for (since, ago, what) in history {
            let sighting = match what {
                0 => Sighting::Unchanged,
                1 => Sighting::Changed,
                _ => Sighting::ChangedAgo { ago_ms: ago },
            };
            let (changes, watched_s) = estimate.lesson(since, sighting);
            prop_assert!((0.0..=1.0).contains(&changes) && (0.0..=MAX_EXPOSURE_S).contains(&watched_s));
            estimate.observe(since, sighting);
            let (shape, exposure) = estimate.gamma();
            prop_assert!(shape.is_finite() && exposure.is_finite() && shape > 0.0 && exposure > 0.0);
            prop_assert!((MIN_RATE..=MAX_RATE).contains(&estimate.rate()));
            prop_assert!((0.0..=1.0).contains(&estimate.stale_probability(since)));
        }
    }

    #[test]
    fn a_change_raises_the_rate_and_its_absence_lowers_it(shape in 0.3f32..900.0, log in 0.0f64..16.0, part in -3.0f64..3.0) {
        let before = ChangeEstimate::from_parts(f64::from(shape), log.exp());
        let since = (1000.0 * part.exp() / before.rate()) as u64;
        let (mut changed, mut unchanged) = (before, before);
        changed.observe(since, Sighting::Changed);
        unchanged.observe(since, Sighting::Unchanged);
        prop_assert!(changed.rate() >= before.rate() * (1.0 - 1e-6));
        prop_assert!(unchanged.rate() <= before.rate() * (1.0 + 1e-6));
    }
}

#[test]
fn the_naive_estimate_would_be_wrong_where_ours_is_not() {
    // Visits at three mean intervals: changes per time see one change at most in each.
    let (rate, mut draws) = (1e-4, Draws(9));
    let visits: Vec<_> = (0..2000)
        .map(|_| {
            let ago = -draws.unit().ln() / rate;
            (3e4, (ago < 3e4).then_some(ago))
        })
        .collect();
    let naive = visits.iter().filter(|v| v.1.is_some()).count() as f64 / (2000.0 * 3e4);
    let ours = learn(&Prior::default(), &visits, false).rate();
    assert!(naive < 0.4 * rate, "{naive}");
    assert!((ours / rate - 1.0).abs() < 0.15, "{ours}");
}

#[test]
fn dates_that_cannot_be_right_are_only_changes() {
    let before = ChangeEstimate::new(&Prior::around(1e-4));
    let plain = {
        let mut e = before;
        e.observe(20_000_000, Sighting::Changed);
        e
    };
    for ago_ms in [0, HINT_RESOLUTION_MS - 1, 20_000_001, u64::MAX] {
        let mut e = before;
        e.observe(20_000_000, Sighting::ChangedAgo { ago_ms });
        assert_eq!(e, plain, "{ago_ms}");
    }
}
