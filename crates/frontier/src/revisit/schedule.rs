//! Policy and census together: says when to come again, and keeps the price current as pages come, go and change.
//!
//! Promise: [`Schedule::visited`] is O(1), averaged over the calls between two searches for the price; the price follows
//! the pages with a delay of at most one part in [`REPLAN_PART`] of them.

use lycosa_types::UnixMs;

use super::census::{Census, Place};
use super::estimate::ChangeEstimate;
use super::policy::{Policy, PolicyOptions, Worth};

/// The price is found anew after this share of the pages was visited.
pub const REPLAN_PART: u64 = 32;
/// And not before this many visits, as each search looks at a few hundred cells.
pub const REPLAN_LEAST: u64 = 64;

/// See the module.
#[derive(Clone, Debug)]
pub struct Schedule {
    census: Census,
    policy: Policy,
    budget_per_s: f64,
    updates: u64,
    /// Pages when the price was found.
    planned_pages: u64,
}

impl Schedule {
    /// `budget_per_s` is what refreshes may spend: requests or bytes per second.
    pub fn new(options: PolicyOptions, budget_per_s: f64) -> Self {
        let census = Census::new(options.kind);
        let policy = census.policy(&options, budget_per_s, 1.0);
        Self { census, policy, budget_per_s, updates: 0, planned_pages: 0 }
    }

    /// Takes in a visit at `now` and says when the next one is due; `None` if never.
    pub fn visited(
        &mut self,
        now: UnixMs,
        worth: impl Into<Worth>,
        estimate: &ChangeEstimate,
        place: &mut Place,
        random: u64,
    ) -> Option<UnixMs> {
        let worth = worth.into();
        self.census.update(place, worth, estimate);
        self.updates += 1;
        let pages = self.census.pages();
        let has_moved = self.updates >= (pages / REPLAN_PART).max(REPLAN_LEAST);
        // A young census doubles before that; the very first page must not be planned at a price that nobody found.
        if has_moved || pages >= 2 * self.planned_pages {
            self.replan();
        }
        self.policy.next_visit(now, worth, estimate, random)
    }

    /// Counts a page that an earlier run planned, when the crawl starts again.
    pub fn restore(&mut self, place: &Place) {
        self.census.restore(place);
        self.updates += 1;
    }

    /// A page is gone for good.
    pub fn forget(&mut self, place: &mut Place) {
        self.census.remove(place);
        self.updates += 1;
    }

    /// Another budget from now on.
    pub fn set_budget(&mut self, budget_per_s: f64) {
        if self.budget_per_s != budget_per_s {
            self.budget_per_s = budget_per_s;
            self.replan();
        }
    }

    /// Finds the price anew at once.
    pub fn replan(&mut self) {
        self.updates = 0;
        self.planned_pages = self.census.pages();
        self.policy = self.census.policy(self.policy.options(), self.budget_per_s, self.policy.price());
    }

    /// The policy in force, for asking without visiting.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The pages counted so far, for adding up several partitions.
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// Takes over a policy found elsewhere, from the census of all partitions.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
        self.updates = 0;
        self.planned_pages = self.census.pages();
    }

    /// What the plan spends per second; the budget, but for limits on intervals.
    pub fn spending(&self) -> f64 {
        self.census.spending(&self.policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revisit::{PolicyKind, Prior};

    #[test]
    fn the_price_follows_the_budget() {
        let mut schedule = Schedule::new(PolicyOptions::default(), 1.0);
        let mut places = vec![Place::NONE; 2000];
        for (i, place) in places.iter_mut().enumerate() {
            let estimate = ChangeEstimate::certain(1e-6 * (1.0 + i as f64));
            schedule.visited(UnixMs(0), 1.0 / (1.0 + i as f32), &estimate, place, i as u64);
        }
        schedule.replan();
        let price = schedule.policy().price();
        assert!((schedule.spending() - 1.0).abs() < 0.01);
        schedule.set_budget(2.0);
        assert!((schedule.spending() / 2.0 - 1.0).abs() < 0.01);
        assert!(schedule.policy().price() < price);
        for place in &mut places {
            schedule.forget(place);
        }
        assert_eq!(schedule.census().pages(), 0);
        assert_eq!(schedule.spending(), 0.0);
    }

    #[test]
    fn the_first_pages_are_planned_by_the_budget_too() {
        // Once a week is believed of pages, and ten visits per second are there: none of them waits for long.
        let options = PolicyOptions { min_interval_ms: 1000, ..PolicyOptions::default() };
        let mut schedule = Schedule::new(options, 10.0);
        for page in 0..200u64 {
            let estimate = ChangeEstimate::new(&Prior::default());
            let next = schedule.visited(UnixMs(0), 1.0, &estimate, &mut Place::default(), page << 20);
            let wait_s = next.unwrap().0 as f64 / 1000.0;
            assert!(wait_s <= 1.0f64.max(0.2 * (page + 1) as f64), "page {page} waits for {wait_s} s");
        }
    }

    #[test]
    fn a_restored_plan_is_the_plan_that_was_stored() {
        let mut schedule = Schedule::new(PolicyOptions::default(), 0.5);
        let mut places = vec![Place::NONE; 500];
        for (i, place) in places.iter_mut().enumerate() {
            let mut estimate = ChangeEstimate::new(&Prior::default());
            estimate.observe(1u64 << (i % 32), crate::revisit::Sighting::Unchanged);
            schedule.visited(UnixMs(0), 1.0 + i as f32, &estimate, place, 0);
        }
        schedule.replan();
        let mut again = Schedule::new(PolicyOptions::default(), 0.5);
        places.iter().for_each(|place| again.restore(place));
        again.replan();
        assert!((again.policy().price() / schedule.policy().price() - 1.0).abs() < 0.01);
    }

    #[test]
    fn no_budget_means_no_visits_but_nothing_breaks() {
        for kind in [PolicyKind::Optimal, PolicyKind::Uniform, PolicyKind::Proportional, PolicyKind::Age] {
            let options = PolicyOptions { kind, ..PolicyOptions::default() };
            let mut schedule = Schedule::new(options, 0.0);
            let estimate = ChangeEstimate::new(&Prior::default());
            let far = schedule.visited(UnixMs(0), 1.0, &estimate, &mut Place::default(), 3);
            assert!(far.is_none_or(|at| at.0 > 80 * 86_400_000), "{kind:?} {far:?}");
        }
    }
}
