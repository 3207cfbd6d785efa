//! The exact optimum for known rates and visits at even distances, page by page: no cells, no estimates, no limits.

use lycosa_frontier::revisit::gain::periodic_freshness;

use crate::world::{Page, World};

/// Intervals in seconds; infinite for pages that the optimum leaves alone.
pub fn intervals(world: &World, budget_per_s: f64) -> Vec<f64> {
    let spent = |price: f64| -> f64 { world.pages.iter().map(|p| interval(p, price).recip()).sum() };
    let (mut low, mut high) = (1e-12f64, 1e12f64);
    for _ in 0..120 {
        let middle = (low * high).sqrt();
        if spent(middle) > budget_per_s {
            low = middle;
        } else {
            high = middle;
        }
    }
    world.pages.iter().map(|p| interval(p, high)).collect()
}

/// What the optimum reaches in theory.
pub fn best_freshness(world: &World, budget_per_s: f64) -> f64 {
    let fresh = |(page, interval): (&Page, f64)| {
        if interval.is_finite() { page.importance * periodic_freshness(page.rate, interval) } else { 0.0 }
    };
    world.pages.iter().zip(intervals(world, budget_per_s)).map(fresh).sum()
}

fn interval(page: &Page, price: f64) -> f64 {
    // The solution x of 1 − (1 + x) e^(−x) = y, by bisection: nothing shared with what is being judged.
    let y = price * page.rate / page.importance;
    if y >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0f64, 64.0f64);
    for _ in 0..50 {
        let x = (low + high) / 2.0;
        let value = if x < 1e-4 { x * x / 2.0 } else { 1.0 - (1.0 + x) * (-x).exp() };
        if value < y {
            low = x;
        } else {
            high = x;
        }
    }
    high / page.rate
}
