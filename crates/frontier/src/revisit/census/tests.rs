//! The laws of the census: the budget is kept, page by page and not only cell by cell; the search settles.

use super::*;
use crate::revisit::Prior;
use proptest::prelude::*;

const KINDS: [PolicyKind; 5] = [
    PolicyKind::Optimal,
    PolicyKind::OptimalRandom,
    PolicyKind::Age,
    PolicyKind::Proportional,
    PolicyKind::Uniform,
];

/// Pages with rates over four decades, importance over three, estimates from vague to certain, sizes over two.
fn pages(seed: u64, count: usize) -> Vec<(Worth, ChangeEstimate)> {
    let mut state = seed;
    let mut unit = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count)
        .map(|_| {
            let rate = 1e-7 * 10f64.powf(4.0 * unit());
            let shape = 0.3 * 1000f64.powf(unit());
            let estimate = ChangeEstimate::from_parts(shape, shape / rate);
            let worth = Worth::new(10f64.powf(-3.0 * unit()) as f32, 10f64.powf(2.0 * unit()) as f32);
            (worth, estimate)
        })
        .collect()
}

fn count(kind: PolicyKind, pages: &[(Worth, ChangeEstimate)]) -> Census {
    let mut census = Census::new(kind);
    for (worth, estimate) in pages {
        census.update(&mut Place::default(), *worth, estimate);
    }
    census
}

fn spent(policy: &Policy, pages: &[(Worth, ChangeEstimate)]) -> f64 {
    let rate = |(worth, estimate): &(Worth, ChangeEstimate)| {
        policy.interval_s(*worth, estimate).map_or(0.0, |interval| worth.cost() / interval)
    };
    pages.iter().map(rate).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pages_spend_the_budget(seed: u64, kind in 0usize..5, log in -3.0f64..2.0) {
        let pages = pages(seed, 3000);
        let census = count(KINDS[kind], &pages);
        let mean: f64 = pages.iter().map(|(w, e)| w.cost() * e.rate()).sum();
        let budget = mean * log.exp();
        let policy = census.policy(&PolicyOptions::default(), budget, 1.0);
        let share = spent(&policy, &pages) / budget;
        prop_assert!((share - 1.0).abs() < 0.05, "{:?} spends {share} of {budget}", KINDS[kind]);
        prop_assert!((census.spending(&policy) / budget - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_search_settles_wherever_it_starts(seed: u64, kind in 0usize..5, start in -60.0f64..60.0) {
        let census = count(KINDS[kind], &pages(seed, 500));
        let options = PolicyOptions::default();
        let one = census.policy(&options, 0.01, 1.0);
        let two = census.policy(&options, 0.01, start.exp());
        prop_assert!((one.price() / two.price() - 1.0).abs() < 0.02, "{} and {}", one.price(), two.price());
        // Once found, it stays.
        let again = census.policy(&options, 0.01, two.price()).price();
        prop_assert!((again / two.price() - 1.0).abs() < 1e-6, "{} and {again}", two.price());
    }

    #[test]
    fn pages_leave_nothing_behind(seed: u64, kind in 0usize..5) {
        let pages = pages(seed, 300);
        let mut census = Census::new(KINDS[kind]);
        let mut places = vec![Place::NONE; pages.len()];
        for _ in 0..3 {
            for ((worth, estimate), place) in pages.iter().zip(&mut places) {
                census.update(place, *worth, estimate);
            }
        }
        prop_assert_eq!(census.pages(), 300);
        places.iter_mut().for_each(|place| census.remove(place));
        prop_assert_eq!(census.pages(), 0);
        prop_assert!(census.cells.iter().all(|cell| *cell == Cell::default()));
        // Taking out what is not in changes nothing.
        census.remove(&mut places[0]);
        prop_assert_eq!(census.pages(), 0);
    }
}

#[test]
fn partitions_add_up() {
    let pages = pages(5, 1000);
    let whole = count(PolicyKind::Optimal, &pages);
    let mut parts = count(PolicyKind::Optimal, &pages[..400]);
    parts.merge(&count(PolicyKind::Optimal, &pages[400..]));
    let options = PolicyOptions::default();
    let (one, two) = (whole.policy(&options, 0.5, 1.0), parts.policy(&options, 0.5, 1.0));
    assert!((one.price() / two.price() - 1.0).abs() < 0.01);
    assert_eq!(parts.pages(), 1000);
}

#[test]
fn the_floor_takes_no_more_than_its_share() {
    let pages: Vec<_> = (0..10_000).map(|_| (Worth::from(1.0), ChangeEstimate::certain(1e-2))).collect();
    let census = count(PolicyKind::Optimal, &pages);
    let options =
        PolicyOptions { max_interval_ms: Some(3_600_000), floor_share: 0.1, ..PolicyOptions::default() };
    // One visit an hour each would take 2.8 requests per second.
    let policy = census.policy(&options, 1.0, 1.0);
    let longest = policy.longest_s().unwrap();
    assert!((10_000.0 / longest - 0.1).abs() < 1e-6, "{longest}");
}

#[test]
fn pages_at_the_edge_of_being_worth_a_visit_are_counted_one_by_one() {
    // Rates are known and uniform; at this budget more than half of the pages are left alone.
    let pages: Vec<_> =
        (1..=2000).map(|n| (Worth::from(1.0), ChangeEstimate::certain(f64::from(n) * 1.25e-4))).collect();
    let census = count(PolicyKind::Optimal, &pages);
    let options = PolicyOptions { min_interval_ms: 1000, ..PolicyOptions::default() };
    for budget in [25.0, 50.0, 100.0] {
        let share = spent(&census.policy(&options, budget, 1.0), &pages) / budget;
        assert!((share - 1.0).abs() < 0.03, "{share} of {budget}");
    }
}

#[test]
fn a_page_that_is_not_worth_a_visit_rests_for_what_the_floor_affords() {
    let mut pages: Vec<_> = (0..999).map(|_| (Worth::from(1.0), ChangeEstimate::certain(1e-3))).collect();
    pages.push((Worth::from(1.0), ChangeEstimate::certain(1.0)));
    let policy = count(PolicyKind::Optimal, &pages).policy(&PolicyOptions::default(), 1.0, 1.0);
    assert_eq!(policy.worth_interval_s(Worth::from(1.0), &pages[999].1), None);
    // A fiftieth of the budget, shared by all: not the 90 days that the longest interval allows.
    let rest = policy.interval_s(Worth::from(1.0), &pages[999].1).unwrap();
    assert!((rest - 50_000.0).abs() < 1.0, "{rest}");
}

#[test]
fn optimal_beats_every_other_use_of_the_budget() {
    let pages: Vec<_> = pages(77, 3000)
        .into_iter()
        .map(|(worth, e)| (Worth::from(worth.importance() as f32), ChangeEstimate::certain(e.rate())))
        .collect();
    let total: f64 = pages.iter().map(|(_, e)| e.rate()).sum();
    for part in [0.03, 0.3, 1.0] {
        let freshness = |kind: PolicyKind| -> f64 {
            let options =
                PolicyOptions { max_interval_ms: None, min_interval_ms: 1, ..PolicyOptions::default() };
            let policy = count(kind, &pages).policy(&options, part * total, 1.0);
            let fresh = |(worth, e): &(Worth, ChangeEstimate)| {
                let interval = policy.interval_s(*worth, e)?;
                let fresh = match kind {
                    PolicyKind::OptimalRandom => super::super::gain::poisson_freshness(e.rate(), interval),
                    _ => super::super::gain::periodic_freshness(e.rate(), interval),
                };
                Some(worth.importance() * fresh)
            };
            pages.iter().filter_map(fresh).sum()
        };
        let best = freshness(PolicyKind::Optimal);
        for kind in &KINDS[1..] {
            let other = freshness(*kind);
            assert!(other < best, "{kind:?}: {other} against {best} at {part}");
        }
    }
}

#[test]
fn damaged_places_are_not_counted() {
    let mut census = Census::new(PolicyKind::Optimal);
    for place in [
        Place { slot: u16::MAX, cost: 1.0, weight: 1.0 },
        Place { slot: 3, cost: f32::NAN, weight: 1.0 },
        Place { slot: 3, cost: 1.0, weight: -1.0 },
    ] {
        census.restore(&place);
    }
    assert_eq!(census.pages(), 0);
    census.update(&mut Place::default(), Worth::from(1.0), &ChangeEstimate::new(&Prior::default()));
    assert_eq!(census.pages(), 1);
    assert!(size_of::<Place>() + size_of::<crate::revisit::Evidence>() <= 24);
}
