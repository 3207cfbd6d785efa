//! What a visit after a given interval is worth. Pure formulas; lengths of time are counted in units of the exposure of
//! what is known about the page, so that each depends on the shape alone.
//!
//! A page of importance μ and known rate Δ, visited every τ, is fresh for the share (1 − e^(−Δτ)) / (Δτ) of the time. The
//! last moment of waiting pays if μ ∫₀^τ Δ s e^(−Δs) ds stays below the price of a visit. Where Δ is known as a
//! Gamma(shape, exposure), e^(−Δs) becomes (1 + s)^(−shape) and the integral has a closed form: that is [`freshness`].
//! [`age`] is the same for the mean time that a copy is out of date.

/// Intervals beyond this many exposures are as good as never.
pub const MAX_SPAN: f64 = 1e12;
const MOST_STEPS: usize = 64;
const PRECISION: f64 = 1e-7;

/// ∫₀^span shape · s · (1 + s)^(−shape − 1) ds: what freshness loses by waiting so long, per unit of importance.
pub fn freshness(shape: f64, span: f64) -> f64 {
    if shape * span < 1e-4 {
        return shape * span * span * (0.5 - (shape + 1.0) * span / 3.0);
    }
    let log = span.ln_1p();
    power_integral(1.0 - shape, log) - span * (-shape * log).exp()
}

/// The most that [`freshness`] can reach; infinite if the page may be so slow that any wait ends in a visit.
pub fn freshness_limit(shape: f64) -> f64 {
    if shape > 1.0 { 1.0 / (shape - 1.0) } else { f64::INFINITY }
}

/// ∫₀^span s · (1 − (1 + s)^(−shape)) ds: what the age of a copy costs by waiting so long.
pub fn age(shape: f64, span: f64) -> f64 {
    if shape * span < 1e-3 {
        return shape * span * span * span * (1.0 / 3.0 - (shape + 1.0) * span / 8.0);
    }
    let log = span.ln_1p();
    span * span / 2.0 - (power_integral(2.0 - shape, log) - power_integral(1.0 - shape, log))
}

/// The span at which waiting costs `price`: the solution of `freshness(shape, span) = price`. `None` if there is none.
pub fn freshness_span(shape: f64, price: f64) -> Option<f64> {
    if price >= freshness_limit(shape) * (1.0 - 1e-6) {
        return None;
    }
    let start = (2.0 * price / shape).sqrt();
    let slope = |span: f64| shape * span * (-(shape + 1.0) * span.ln_1p()).exp();
    solve(start, price, |span| freshness(shape, span), slope)
}

/// The solution of `age(shape, span) = price`.
pub fn age_span(shape: f64, price: f64) -> Option<f64> {
    let start = (3.0 * price / shape).cbrt().max((2.0 * price).sqrt());
    let slope = |span: f64| -span * (-shape * span.ln_1p()).exp_m1();
    solve(start, price, |span| age(shape, span), slope)
}

/// Share of time that a copy is fresh if its page changes at `rate` and is visited every `interval`.
pub fn periodic_freshness(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x < 1e-9 { 1.0 } else { -(-x).exp_m1() / x }
}

/// The same if visits come at random with that mean interval.
pub fn poisson_freshness(rate: f64, interval: f64) -> f64 {
    1.0 / (1.0 + rate * interval)
}

/// ∫₀^log e^(power·t) dt.
fn power_integral(power: f64, log: f64) -> f64 {
    if (power * log).abs() < 1e-9 { log } else { (power * log).exp_m1() / power }
}

/// Newton's method on logarithms of both sides. The functions are concave there and `start` lies left of the solution,
/// so that the steps come from the left and do not overshoot.
fn solve(start: f64, price: f64, value: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> Option<f64> {
    if price.is_nan() || price <= 0.0 {
        return Some(0.0);
    }
    let mut span = start;
    for _ in 0..MOST_STEPS {
        if !span.is_finite() || span > MAX_SPAN {
            return None;
        }
        let (v, s) = (value(span), slope(span));
        if v <= 0.0 || s <= 0.0 {
            return Some(span);
        }
        let step = (price / v).ln() * v / (span * s);
        if step.abs() < PRECISION {
            return Some(span);
        }
        span *= step.clamp(-3.0, 3.0).exp();
    }
    Some(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn integrate(f: impl Fn(f64) -> f64, to: f64) -> f64 {
        let steps = 20_000;
        let width = to / f64::from(steps);
        (0..steps).map(|i| f((f64::from(i) + 0.5) * width) * width).sum()
    }

    proptest! {
        #[test]
        fn closed_forms_are_the_integrals(shape in 0.25f64..50.0, log in -9.0f64..3.0) {
            let span = log.exp();
            let fresh = integrate(|s| shape * s * (1.0 + s).powf(-shape - 1.0), span);
            let old = integrate(|s| s * (1.0 - (1.0 + s).powf(-shape)), span);
            prop_assert!((freshness(shape, span) / fresh - 1.0).abs() < 1e-4);
            prop_assert!((age(shape, span) / old - 1.0).abs() < 1e-4);
        }

        #[test]
        fn spans_are_the_inverse(shape in 0.25f64..1000.0, log in -20.0f64..10.0) {
            let span = log.exp();
            let price = freshness(shape, span);
            match freshness_span(shape, price) {
                Some(found) => prop_assert!((freshness(shape, found) / price - 1.0).abs() < 1e-5),
                None => prop_assert!(price > 0.999 * freshness_limit(shape)),
            }
            let price = age(shape, span);
            let found = age_span(shape, price);
            prop_assert!(found.is_some_and(|f| (f / span - 1.0).abs() < 1e-4), "{found:?} for {span}");
        }

        #[test]
        fn dearer_visits_come_later(shape in 0.25f64..1000.0, log in -20.0f64..10.0, more in 1.01f64..100.0) {
            let price = log.exp();
            let never = f64::INFINITY;
            let cheap = freshness_span(shape, price).unwrap_or(never);
            prop_assert!(freshness_span(shape, price * more).unwrap_or(never) >= cheap * (1.0 - 1e-6));
            let cheap = age_span(shape, price).unwrap_or(never);
            prop_assert!(age_span(shape, price * more).unwrap_or(never) >= cheap);
        }
    }

    #[test]
    fn a_certain_rate_gives_the_known_closed_form() {
        // With rate 1 the interval solves 1 − (1 + x) e^(−x) = price.
        let shape = 1e6;
        for x in [0.1f64, 0.5, 1.0, 2.0, 5.0] {
            let price = 1.0 - (1.0 + x) * (-x).exp();
            let span = freshness_span(shape, price / shape).unwrap();
            assert!((span * shape / x - 1.0).abs() < 1e-3, "{x}");
        }
        assert_eq!(freshness_span(shape, 1.0 / shape * 1.01), None);
    }
}
