//! What is believed of pages follows what visits show, from however far away.

use super::*;
use proptest::prelude::*;

struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ (self.0 >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Second visits to pages of rates drawn by `rate` from a uniform number, after intervals over three decades.
fn watched(rate: impl Fn(f64) -> f64) -> Prior {
    let (mut population, mut draws) = (Population::around(1e-6), Draws(1));
    for _ in 0..30_000 {
        let rate = rate(draws.unit());
        let since_s = 1e3 * 1000f64.powf(draws.unit());
        let changed = draws.unit() > (-rate * since_s).exp();
        population.learn(&Surprise::of(&population.prior(), (0.0, 0.0), since_s, changed).unwrap());
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
fn a_belief_off_by_five_decades_is_put_right_by_a_hundred_visits() {
    for (true_rate, since_s) in [(0.1f64, 10.0f64), (0.1, 3.0), (1e-8, 5e7)] {
        let (mut population, mut draws) = (Population::default(), Draws(7));
        for _ in 0..100 {
            let changed = draws.unit() > (-true_rate * since_s).exp();
            population.learn(&Surprise::of(&population.prior(), (0.0, 0.0), since_s, changed).unwrap());
        }
        let off = population.prior().rate() / true_rate;
        assert!((0.33..3.0).contains(&off), "{off} times {true_rate}");
    }
}

#[test]
fn a_host_differs_by_what_its_pages_do() {
    let general = Prior::around(1e-5);
    let (mut host, mut draws) = (HostRate::default(), Draws(3));
    assert!((host.prior(&general).rate() / 1e-5 - 1.0).abs() < 1e-3);
    for _ in 0..300 {
        let changed = draws.unit() > (-1e-6f64 * 86_400.0).exp();
        host.learn(&Surprise::of(&host.prior(&general), (0.0, 0.0), 86_400.0, changed).unwrap());
    }
    let rate = host.prior(&general).rate();
    assert!((0.4e-6..2.5e-6).contains(&rate), "{rate}");
}

#[test]
fn what_a_page_is_known_for_tells_nothing_about_others() {
    let prior = Prior::around(1e-5);
    let new = Surprise::of(&prior, (0.0, 0.0), 1e5, true).unwrap();
    let known = Surprise::of(&prior, (200.0, 2e7), 1e5, true).unwrap();
    assert!(known.by_rate.abs() < 0.02 * new.by_rate.abs(), "{known:?} {new:?}");
}

proptest! {
    /// The slopes are those of the logarithm of the probability of what was seen.
    #[test]
    fn slopes_are_derivatives(
        shape in 0.3f64..6.0, log in -3.0f64..3.0, changes in 0.0f64..20.0, watched in 0.0f64..30.0, changed: bool,
    ) {
        let (rate, since) = (1e-3, log.exp() * 1e3);
        let watched = (changes, watched * 1e3);
        let likelihood = |shape: f64, rate: f64| {
            let unchanged = (1.0 + since / (shape / rate + watched.1)).powf(-shape - watched.0);
            (if changed { 1.0 - unchanged } else { unchanged }).ln()
        };
        let found = Surprise::of(&Prior::shaped(shape, rate), watched, since, changed).unwrap();
        let h = 1e-4f64;
        let by_rate = (likelihood(shape, rate * h.exp()) - likelihood(shape, rate * (-h).exp())) / (2.0 * h);
        let by_shape = (likelihood(shape * h.exp(), rate) - likelihood(shape * (-h).exp(), rate)) / (2.0 * h);
        prop_assert!((found.by_rate - by_rate).abs() < 1e-3 * (1.0 + by_rate.abs()), "{found:?} {by_rate}");
        prop_assert!((found.by_shape - by_shape).abs() < 1e-3 * (1.0 + by_shape.abs()), "{found:?} {by_shape}");
        prop_assert!(found.rate_information >= 0.0 && found.shape_information >= 0.0);
    }

    #[test]
    fn nothing_leaves_its_bounds(
        state in (any::<f32>(), any::<f32>(), any::<f32>(), any::<f32>()), host: (f32, f32),
        visits in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<bool>()), 1..20),
    ) {
        let (log_rate, log_shape, rate_information, shape_information) = state;
        let mut population = Population { log_rate, log_shape, rate_information, shape_information };
        let mut host = HostRate { log_factor: host.0, information: host.1 };
        for (changes, watched_s, since_s, changed) in visits {
            let prior = host.prior(&population.prior());
            prop_assert!((0.99 * MIN_RATE..=1.01 * MAX_RATE).contains(&prior.rate()), "{prior:?}");
            prop_assert!((MIN_STRENGTH as f32..=MAX_STRENGTH as f32).contains(&prior.shape), "{prior:?}");
            if let Some(surprise) = Surprise::of(&prior, (changes, watched_s), since_s, changed) {
                population.learn(&surprise);
                host.learn(&surprise);
            }
        }
    }
}

#[test]
fn a_damaged_belief_is_none() {
    let odd = Prior { shape: f32::NAN, exposure_s: -1.0 };
    assert!(HostRate::default().prior(&odd).rate().is_finite());
}
