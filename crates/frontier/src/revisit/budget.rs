//! How much may be fetched, and how new pages and refreshes share it.
//!
//! Promise: over any stretch in which both wait, refreshes get their share of the budget to within one visit; while only
//! one of them waits it gets everything, and runs up no debt for it.

use serde::{Deserialize, Serialize};

/// What a budget counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetUnit {
    #[default]
    Requests,
    Bytes,
}

/// What a crawl may spend per second, and the part of it meant for refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    pub per_s: f64,
    pub unit: BudgetUnit,
    /// From 0 (new pages first, refreshes with what is left) to 1 (refreshes first).
    pub refresh_share: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { per_s: 1.0, unit: BudgetUnit::Requests, refresh_share: 0.5 }
    }
}

impl Budget {
    /// What refreshes may spend per second, while new pages wait or while none do.
    pub fn refresh_per_s(&self, new_waiting: bool) -> f64 {
        let per_s = if self.per_s.is_finite() { self.per_s.max(0.0) } else { 0.0 };
        if new_waiting { per_s * share(self.refresh_share) } else { per_s }
    }

    /// What a visit to a page of this size costs.
    pub fn cost(&self, bytes: u64) -> f32 {
        match self.unit {
            BudgetUnit::Requests => 1.0,
            BudgetUnit::Bytes => bytes.max(1) as f32,
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    New,
    Refresh,
}

/// Deals out turns by share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    refresh: f64,
    /// What refreshes have had beyond their share; negative if new pages have.
    ahead: f64,
}

impl Share {
    pub fn new(refresh_share: f64) -> Self {
        Self { refresh: share(refresh_share), ahead: 0.0 }
    }

    /// Whose turn it is, given who waits.
    pub fn turn(&self, new_waiting: bool, refresh_due: bool) -> Option<Turn> {
        match (new_waiting, refresh_due) {
            (false, false) => None,
            (true, false) => Some(Turn::New),
            (false, true) => Some(Turn::Refresh),
            (true, true) if self.refresh == 0.0 => Some(Turn::New),
            (true, true) if self.refresh == 1.0 => Some(Turn::Refresh),
            (true, true) if self.ahead > 0.0 => Some(Turn::New),
            (true, true) => Some(Turn::Refresh),
        }
    }

    /// A turn was taken and has cost this much; `contested` if both waited for it.
    pub fn spent(&mut self, turn: Turn, cost: f32, contested: bool) {
        if !contested || !cost.is_finite() {
            return;
        }
        let cost = f64::from(cost.max(0.0));
        self.ahead += match turn {
            Turn::Refresh => cost * (1.0 - self.refresh),
            Turn::New => -cost * self.refresh,
        };
    }
}

fn share(share: f64) -> f64 {
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn refreshes_get_their_share(part in 0.0f64..=1.0, costs in proptest::collection::vec(1u32..1000, 1..400)) {
            let mut share = Share::new(part);
            let (mut refresh, mut total) = (0.0, 0.0);
            for &cost in &costs {
                let turn = share.turn(true, true).unwrap();
                share.spent(turn, cost as f32, true);
                total += f64::from(cost);
                refresh += if turn == Turn::Refresh { f64::from(cost) } else { 0.0 };
            }
            prop_assert!((refresh - part * total).abs() <= 1000.0, "{refresh} of {total} for {part}");
        }
    }

    #[test]
    fn whoever_waits_alone_gets_everything_and_owes_nothing() {
        let mut share = Share::new(0.5);
        for _ in 0..100 {
            assert_eq!(share.turn(true, false), Some(Turn::New));
            share.spent(Turn::New, 1.0, false);
        }
        let turns: Vec<_> = (0..10)
            .filter_map(|_| {
                let turn = share.turn(true, true)?;
                share.spent(turn, 1.0, true);
                Some(turn)
            })
            .collect();
        assert_eq!(turns.iter().filter(|&&t| t == Turn::Refresh).count(), 5);
        assert_eq!(share.turn(false, false), None);
    }

    #[test]
    fn a_budget_in_bytes_charges_bytes() {
        let budget = Budget { per_s: 1e6, unit: BudgetUnit::Bytes, refresh_share: 0.25 };
        assert_eq!(budget.cost(20_000), 20_000.0);
        assert_eq!(budget.refresh_per_s(true), 250_000.0);
        assert_eq!(budget.refresh_per_s(false), 1e6);
        assert_eq!(Budget { per_s: f64::NAN, ..budget }.refresh_per_s(false), 0.0);
    }
}
