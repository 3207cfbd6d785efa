//! When to come again: the interval of one page at the present price of a visit.
//!
//! The price (the Lagrange multiplier of the budget) is the freshness, weighted by importance and summed over time, that
//! a unit of budget must buy. A page is visited when waiting longer would lose more than its visit costs, so that the
//! last unit of budget buys the same everywhere: that is what makes the sum optimal. See [`super::gain`].
//!
//! Promise: a pure function of its arguments; intervals keep the limits of [`PolicyOptions`]; with a longest interval no
//! page is given up, and a page that is not worth its visits is probed so that a wrong estimate comes to light.

use lycosa_types::UnixMs;
use serde::{Deserialize, Serialize};

use super::estimate::ChangeEstimate;
use super::gain;

/// Least importance that is told from none.
const MIN_IMPORTANCE: f32 = 1e-12;
const MAX_IMPORTANCE: f32 = 1e12;
/// Costs are requests or bytes.
const MIN_COST: f32 = 1e-3;
const MAX_COST: f32 = 1e12;

/// What the budget is spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// Most importance-weighted freshness, visits at even distances.
    #[default]
    Optimal,
    /// Most importance-weighted freshness among visits at random (memoryless) distances.
    OptimalRandom,
    /// Least importance-weighted age of copies.
    Age,
    /// As often as the page changes, whatever its importance.
    Proportional,
    /// Every page alike.
    Uniform,
}

/// What the user may choose about revisits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyOptions {
    pub kind: PolicyKind,
    /// No page is visited again sooner.
    pub min_interval_ms: u64,
    /// No page waits longer, as far as `floor_share` allows; without it pages not worth a visit are given up.
    pub max_interval_ms: Option<u64>,
    /// This share of the budget goes to pages that are not worth a visit, so that mistakes come to light; visits for
    /// `max_interval_ms` alone take at most as much, and the interval is stretched to fit.
    pub floor_share: f64,
    /// Intervals vary by this share up and down, so that pages found together do not come back together.
    pub jitter: f64,
}

impl Default for PolicyOptions {
    fn default() -> Self {
        Self {
            kind: PolicyKind::Optimal,
            min_interval_ms: 60_000,
            max_interval_ms: Some(90 * 86_400_000),
            floor_share: 0.02,
            jitter: 0.05,
        }
    }
}

/// What a page is worth and what a visit costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    importance: f32,
    cost: f32,
}

impl Worth {
    /// Importance on any scale (the same for all pages); cost in units of the budget, see [`super::Budget::cost`].
    pub fn new(importance: f32, cost: f32) -> Self {
        let sane = |value: f32, min: f32, max: f32| if value.is_nan() { min } else { value.clamp(min, max) };
        Self {
            importance: sane(importance, MIN_IMPORTANCE, MAX_IMPORTANCE),
            cost: sane(cost, MIN_COST, MAX_COST),
        }
    }

    pub fn importance(self) -> f64 {
        f64::from(self.importance)
    }

    pub fn cost(self) -> f64 {
        f64::from(self.cost)
    }
}

impl From<f32> for Worth {
    /// A page whose visit costs one request.
    fn from(importance: f32) -> Self {
        Self::new(importance, 1.0)
    }
}

impl PolicyKind {
    /// What of a page, besides the shape of its estimate, decides its interval counted in exposures.
    pub(super) fn key(self, worth: Worth, exposure: f64) -> f64 {
        let value = worth.importance() / worth.cost() * exposure;
        match self {
            Self::Optimal | Self::OptimalRandom => value,
            Self::Age => value * exposure,
            Self::Proportional | Self::Uniform => 1.0,
        }
    }

    /// The key of an exposure, from the key of the mean time between changes.
    pub(super) fn key_of(self, key: f64, shape: f64) -> f64 {
        match self {
            Self::Optimal | Self::OptimalRandom => key * shape,
            Self::Age => key * shape * shape,
            Self::Proportional | Self::Uniform => 1.0,
        }
    }

    /// The interval at a price, counted in exposures; `None` if the page is not worth a visit at all.
    pub(super) fn span(self, price: f64, shape: f64, exposure: f64, key: f64) -> Option<f64> {
        match self {
            Self::Optimal => gain::freshness_span(shape, price / key),
            Self::OptimalRandom => {
                let rate = (shape * key / price).sqrt() - shape;
                (rate > 0.0).then(|| rate.recip())
            }
            Self::Age => gain::age_span(shape, price / key),
            Self::Proportional => Some(price / shape),
            Self::Uniform => Some(price / exposure),
        }
    }
}

/// The rule in force: options, the price of a visit and the longest interval that the budget allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    options: PolicyOptions,
    price: f64,
    longest_s: Option<f64>,
    rest_s: Option<f64>,
}

impl Policy {
    /// A policy at a given price. [`super::Census::policy`] finds the price that keeps a budget.
    pub fn at_price(options: PolicyOptions, price: f64) -> Self {
        let longest_s = options.max_interval_ms.map(|ms| ms as f64 / 1000.0);
        let price = if price.is_nan() { f64::MAX } else { price.max(0.0) };
        Self { options, price, longest_s, rest_s: longest_s }
    }

    /// The same with these longest intervals, of pages worth their visits and of others.
    pub(super) fn resting(mut self, longest_s: Option<f64>, rest_s: Option<f64>) -> Self {
        (self.longest_s, self.rest_s) = (longest_s, rest_s);
        self
    }

    pub fn options(&self) -> &PolicyOptions {
        &self.options
    }

    /// The multiplier: what a unit of budget must buy.
    pub fn price(&self) -> f64 {
        self.price
    }

    /// The longest interval in force, in seconds.
    pub fn longest_s(&self) -> Option<f64> {
        self.longest_s
    }

    /// The mean interval of pages that are not worth a visit, in seconds; none if they are given up.
    pub fn rest_s(&self) -> Option<f64> {
        self.rest_s
    }

    pub(super) fn shortest_s(&self) -> f64 {
        self.options.min_interval_ms as f64 / 1000.0
    }

    /// The interval that the page is worth, in seconds; `None` if it is not worth a visit. Limits are not applied.
    pub fn worth_interval_s(&self, worth: Worth, estimate: &ChangeEstimate) -> Option<f64> {
        let (shape, exposure) = estimate.gamma();
        let kind = self.options.kind;
        let key = kind.key(worth, exposure);
        kind.span(self.price, shape, exposure, key).map(|span| span * exposure)
    }

    /// Mean interval between visits in seconds, with limits; `None` if the page is given up.
    pub fn interval_s(&self, worth: Worth, estimate: &ChangeEstimate) -> Option<f64> {
        let wanted = self.worth_interval_s(worth, estimate);
        match (wanted, self.longest_s) {
            (Some(interval), Some(longest)) => Some(interval.min(longest).max(self.shortest_s())),
            (Some(interval), None) => Some(interval.max(self.shortest_s())),
            (None, _) => self.rest_s.map(|rest| rest.max(self.shortest_s())),
        }
    }

    /// When to visit a page again that was visited `now`; `None` if never. `random` is any uniformly drawn word.
    pub fn next_visit(
        &self,
        now: UnixMs,
        worth: impl Into<Worth>,
        estimate: &ChangeEstimate,
        random: u64,
    ) -> Option<UnixMs> {
        let worth = worth.into();
        let mean = self.interval_s(worth, estimate)?;
        let draw = ((random >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let interval = if self.options.kind == PolicyKind::OptimalRandom {
            -draw.ln() * mean
        } else {
            self.spaced(mean, worth, random)
                * (1.0 + self.options.jitter.clamp(0.0, 0.9) * (2.0 * draw - 1.0))
        };
        let ms = (interval * 1000.0).clamp(1.0, 1e15) as u64;
        Some(now.plus_ms(ms.max(self.options.min_interval_ms)))
    }

    /// Visits to pages that are not worth them come in pairs, the second soon after the first.
    ///
    /// After a long rest nearly every page has changed, which teaches nothing. The second visit comes when a page that
    /// is worth its visits would probably be unchanged, so that one taken for too fast by mistake is found out.
    fn spaced(&self, mean: f64, worth: Worth, random: u64) -> f64 {
        if self.options.kind != PolicyKind::Optimal || self.rest_s.is_none_or(|rest| mean < rest) {
            return mean;
        }
        let probe = (self.price * worth.cost() / worth.importance()).max(self.shortest_s());
        if probe > mean / 2.0 {
            mean
        } else if random & 1 == 0 {
            probe
        } else {
            2.0 * mean - probe
        }
    }

    /// When to visit a page of which a sitemap or feed, read `now`, says whether it changed since the last visit.
    ///
    /// A page known to be stale is visited at once if it is worth visits at all; one known to be fresh counts as just
    /// visited. `due` is the visit planned so far.
    pub fn hinted(
        &self,
        now: UnixMs,
        due: Option<UnixMs>,
        changed: bool,
        worth: impl Into<Worth>,
        estimate: &ChangeEstimate,
        random: u64,
    ) -> Option<UnixMs> {
        let worth = worth.into();
        if !changed {
            return self.next_visit(now, worth, estimate, random).max(due);
        }
        if self.worth_interval_s(worth, estimate).is_none() {
            return due;
        }
        Some(due.map_or(now, |due| due.min(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revisit::{Prior, Sighting};
    use proptest::prelude::*;

    const KINDS: [PolicyKind; 5] = [
        PolicyKind::Optimal,
        PolicyKind::OptimalRandom,
        PolicyKind::Age,
        PolicyKind::Proportional,
        PolicyKind::Uniform,
    ];

    fn policy(kind: PolicyKind, price: f64) -> Policy {
        Policy::at_price(PolicyOptions { kind, ..PolicyOptions::default() }, price)
    }

    proptest! {
        #[test]
        fn more_important_pages_are_never_visited_less_often(
            kind in 0usize..5, price in -12.0f64..12.0, shape in 0.1f32..1000.0, exposure in 1.0f32..1e8,
            importance in 1e-6f32..1.0, more in 1.0f32..1000.0,
        ) {
            let policy = policy(KINDS[kind], price.exp());
            let estimate = ChangeEstimate::from_parts(f64::from(shape), f64::from(exposure));
            let less = policy.interval_s(importance.into(), &estimate).unwrap();
            let most = policy.interval_s((importance * more).into(), &estimate).unwrap();
            prop_assert!(most <= less * (1.0 + 1e-6), "{most} after {less}");
        }

        #[test]
        fn nothing_leaves_the_limits(
            kind in 0usize..5, price: f64, importance: f32, cost: f32, shape: f32, exposure: f32, random: u64,
        ) {
            let policy = policy(KINDS[kind], price);
            let estimate = ChangeEstimate::from_parts(f64::from(shape), f64::from(exposure));
            let now = UnixMs(1_000_000);
            let next = policy.next_visit(now, Worth::new(importance, cost), &estimate, random);
            let wait = next.unwrap().since_ms(now);
            let options = policy.options();
            prop_assert!(wait >= options.min_interval_ms);
            // Random distances have no bound but their mean; even ones at most double for the sake of a probe.
            if KINDS[kind] != PolicyKind::OptimalRandom {
                let most = options.max_interval_ms.unwrap() as f64 * 2.0 * (1.0 + options.jitter);
                prop_assert!(wait as f64 <= most + 1.0);
            }
        }
    }

    #[test]
    fn memoryless_visits_follow_the_published_formula() {
        let (rate, importance, price) = (1e-4, 0.5f32, 40.0);
        let policy = policy(PolicyKind::OptimalRandom, price);
        let got = policy.worth_interval_s(importance.into(), &ChangeEstimate::certain(rate)).unwrap();
        let expected = 1.0 / ((0.5 * rate / price).sqrt() - rate);
        assert!((got / expected - 1.0).abs() < 1e-3, "{got} for {expected}");
    }

    #[test]
    fn a_page_that_changes_too_fast_is_given_up_only_without_a_longest_interval() {
        let options = PolicyOptions { max_interval_ms: None, ..PolicyOptions::default() };
        let fast = ChangeEstimate::certain(0.1);
        let strict = Policy::at_price(options, 100.0);
        assert_eq!(strict.next_visit(UnixMs(0), 1.0, &fast, 7), None);
        let kind = policy(PolicyKind::Optimal, 100.0);
        assert!(kind.next_visit(UnixMs(0), 1.0, &fast, 7).is_some());
        // A page nobody knows is never given up.
        assert!(strict.next_visit(UnixMs(0), 1.0, &ChangeEstimate::new(&Prior::default()), 7).is_some());
    }

    #[test]
    fn rests_and_probes_alternate_at_the_floor() {
        let policy = policy(PolicyKind::Optimal, 100_000.0);
        let fast = ChangeEstimate::certain(0.01);
        let waits: Vec<u64> = [2u64 << 40, (2 << 40) + 1]
            .map(|random| policy.next_visit(UnixMs(0), 1.0, &fast, random).unwrap().0)
            .to_vec();
        assert!(waits[0] < 200_000_000, "a probe after some 100,000 s: {waits:?}");
        assert!(waits[1] > 90 * 86_400_000, "a rest: {waits:?}");
    }

    #[test]
    fn a_slow_page_taken_for_a_fast_one_is_found_out() {
        // At this price pages are worth visits below one change in 100,000 s. This one has one in 400,000 s, but eight
        // changes in 80,000 s are believed of it.
        let (policy, rate) = (policy(PolicyKind::Optimal, 100_000.0), 1.0 / 400_000.0);
        let mistaken = ChangeEstimate::from_parts(8.0, 80_000.0);
        assert_eq!(policy.worth_interval_s(1.0.into(), &mistaken), None);
        let visits_until_worth = |probes: bool| {
            let (mut estimate, mut random) = (mistaken, 1u64);
            (1..200).find(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let word = (random >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let word = if probes { word.rotate_left(17) } else { word | 1 };
                let next = policy.next_visit(UnixMs(0), 1.0, &estimate, word);
                let since = next.map_or(0, |at| at.0);
                let draw = (random >> 40) as f64 / (1u64 << 24) as f64;
                let unchanged = draw < (-rate * since as f64 / 1000.0).exp();
                let sighting = if unchanged { Sighting::Unchanged } else { Sighting::Changed };
                estimate.observe(since, sighting);
                policy.worth_interval_s(1.0.into(), &estimate).is_some()
            })
        };
        let found = visits_until_worth(true);
        assert!(found.is_some_and(|visits| visits < 60), "{found:?}");
        assert_eq!(visits_until_worth(false), None, "long rests alone teach nothing");
    }

    #[test]
    fn hints_bring_a_visit_forward_or_put_it_off() {
        let policy = policy(PolicyKind::Optimal, 1000.0);
        let page = ChangeEstimate::certain(1e-6);
        let (now, due) = (UnixMs(5_000_000), Some(UnixMs(6_000_000)));
        assert_eq!(policy.hinted(now, due, true, 1.0, &page, 1), Some(now));
        assert!(policy.hinted(now, due, false, 1.0, &page, 1) > due);
        let hopeless = ChangeEstimate::certain(0.5);
        assert_eq!(policy.hinted(now, due, true, 1.0, &hopeless, 1), due);
    }
}
