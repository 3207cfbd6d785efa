//! All pages of a crawl counted in cells, from which the price that keeps a budget is found.
//!
//! Counted in its mean times between changes, the interval of a page depends on the shape of its estimate and on one key
//! alone. Cells are half octaves of the shape and eighths of the key: at the edge where pages cease to be worth a visit a
//! coarser cell would be counted in or out as a whole. A cell keeps the sum of cost · rate, so that what its pages spend, at
//! any price, is that sum over the cell's interval: the spending of millions of pages is a sum over some hundred cells.
//!
//! Promise: adding and removing a page is O(1); memory is fixed (some 600 KB); counts of several partitions add up.

use serde::{Deserialize, Serialize};

use super::estimate::{ChangeEstimate, MIN_EVIDENCE};
use super::policy::{Policy, PolicyKind, PolicyOptions, Worth};

const SHAPES_PER_OCTAVE: f64 = 2.0;
const KEYS_PER_OCTAVE: f64 = 8.0;
const SHAPES: usize = 24;
const KEYS: usize = 1024;
const CELLS: usize = SHAPES * KEYS;
/// Prices that are told apart.
const MIN_PRICE: f64 = 1e-30;
const MAX_PRICE: f64 = 1e30;
/// A budget is met within this share.
const TOLERANCE: f64 = 1e-3;
const MOST_STEPS: usize = 80;

/// Where in the census a page is counted. Kept with the page, so that it can be taken out again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    slot: u16,
    cost: f32,
    weight: f32,
}

impl Place {
    /// Not counted.
    pub const NONE: Self = Self { slot: u16::MAX, cost: 0.0, weight: 0.0 };

    pub fn is_counted(&self) -> bool {
        usize::from(self.slot) < CELLS
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::NONE
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    pages: u64,
    cost: f64,
    /// Sum of cost · rate.
    weight: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Census {
    kind: PolicyKind,
    cells: Vec<Cell>,
    pages: u64,
    cost: f64,
}

impl Census {
    /// An empty census for one kind of policy: what a page is filed under depends on it.
    pub fn new(kind: PolicyKind) -> Self {
        Self { kind, cells: vec![Cell::default(); CELLS], pages: 0, cost: 0.0 }
    }

    /// Counts a page at its present standing instead of at the one it had.
    pub fn update(&mut self, place: &mut Place, worth: Worth, estimate: &ChangeEstimate) {
        self.remove(place);
        let (shape, exposure) = estimate.gamma();
        let shape_class = class(shape / MIN_EVIDENCE, SHAPES_PER_OCTAVE, SHAPES);
        // Of the mean time between changes, not of the exposure: a shape that stands in for its neighbours must not
        // change their rates.
        let key_class = class(self.kind.key(worth, exposure / shape) * 2f64.powi(64), KEYS_PER_OCTAVE, KEYS);
        let cost = worth.cost();
        let slot = (shape_class * KEYS + key_class) as u16;
        *place = Place { slot, cost: cost as f32, weight: (cost * shape / exposure) as f32 };
        self.restore(place);
    }

    /// Counts a page that an earlier census counted, as its stored place says.
    pub fn restore(&mut self, place: &Place) {
        if !(place.cost.is_finite() && place.weight.is_finite() && place.cost > 0.0 && place.weight > 0.0) {
            return;
        }
        if let Some(cell) = self.cells.get_mut(usize::from(place.slot)) {
            cell.pages += 1;
            cell.cost += f64::from(place.cost);
            cell.weight += f64::from(place.weight);
            self.pages += 1;
            self.cost += f64::from(place.cost);
        }
    }

    /// Counts a page no longer.
    pub fn remove(&mut self, place: &mut Place) {
        if let Some(cell) = self.cells.get_mut(usize::from(place.slot)).filter(|cell| cell.pages > 0) {
            let cost = f64::from(place.cost).min(cell.cost);
            self.pages -= 1;
            self.cost = (self.cost - cost).max(0.0);
            cell.pages -= 1;
            if cell.pages == 0 {
                // Rounding leaves nothing behind.
                *cell = Cell::default();
            } else {
                cell.cost = (cell.cost - cost).max(0.0);
                cell.weight = (cell.weight - f64::from(place.weight)).max(0.0);
            }
        }
        *place = Place::NONE;
    }

    /// Adds the counts of another partition.
    pub fn merge(&mut self, other: &Self) {
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            cell.pages += more.pages;
            cell.cost += more.cost;
            cell.weight += more.weight;
        }
        self.pages += other.pages;
        self.cost += other.cost;
    }

    /// Pages counted.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Budget units per second that the pages spend under a policy.
    pub fn spending(&self, policy: &Policy) -> f64 {
        self.spent_by(policy, &self.in_use())
    }

    /// The cells that hold pages.
    fn in_use(&self) -> Vec<(usize, Cell)> {
        self.cells.iter().copied().enumerate().filter(|(_, cell)| cell.pages > 0).collect()
    }

    fn spent_by(&self, policy: &Policy, in_use: &[(usize, Cell)]) -> f64 {
        let floor = policy.longest_s().map_or(0.0, f64::recip);
        let resting = policy.rest_s().map_or(0.0, f64::recip);
        let ceiling = policy.shortest_s().max(1e-3).recip();
        let mut total = 0.0;
        for (slot, cell) in in_use {
            let (shape, key) = middle(*slot);
            let exposure = shape * cell.cost / cell.weight.max(f64::MIN_POSITIVE);
            let span = self.kind.span(policy.price(), shape, exposure, self.kind.key_of(key, shape));
            let rate = span.map_or(cell.cost * resting, |span| {
                (cell.weight / (shape * span).max(f64::MIN_POSITIVE)).max(cell.cost * floor)
            });
            total += rate.min(cell.cost * ceiling);
        }
        total
    }

    /// The policy that spends `budget_per_s`; `near` is a price to start the search from, such as the last one.
    pub fn policy(&self, options: &PolicyOptions, budget_per_s: f64, near: f64) -> Policy {
        let budget = if budget_per_s.is_nan() { 0.0 } else { budget_per_s.max(0.0) };
        let options = PolicyOptions { kind: self.kind, ..options.clone() };
        let share = options.floor_share.clamp(1e-4, 1.0);
        // What the floor's share affords if every page lived on it: a longest interval that is shorter is stretched to it,
        // pages that are not worth a visit need not wait for longer.
        let affordable = Some(self.cost / (share * budget)).filter(|l| l.is_finite());
        let longest =
            options.max_interval_ms.zip(affordable).map(|(ms, least)| (ms as f64 / 1000.0).max(least));
        let rest = longest.and(affordable);
        let at = |price: f64| Policy::at_price(options.clone(), price).resting(longest, rest);
        if self.pages == 0 || budget <= 0.0 {
            return at(if budget > 0.0 { near.clamp(MIN_PRICE, MAX_PRICE) } else { MAX_PRICE });
        }
        let in_use = self.in_use();
        at(self.price(budget, near, |price| self.spent_by(&at(price), &in_use)))
    }

    /// Bisection on the logarithm of the price, between bounds found by widening from `near`.
    fn price(&self, budget: f64, near: f64, spending: impl Fn(f64) -> f64) -> f64 {
        let start = if near.is_finite() { near.clamp(MIN_PRICE, MAX_PRICE) } else { 1.0 };
        let excess = |price: f64| spending(price) / budget - 1.0;
        let (mut low, mut high) = (start, start);
        let mut step = 1.05;
        let first = excess(start);
        if first.abs() < TOLERANCE {
            return start;
        }
        let (mut low_excess, mut high_excess) = (first, first);
        while low_excess < 0.0 && low > MIN_PRICE {
            (high, high_excess) = (low, low_excess);
            low /= step;
            low_excess = excess(low);
            step *= step.min(100.0);
        }
        while high_excess > 0.0 && high < MAX_PRICE {
            (low, low_excess) = (high, high_excess);
            high *= step;
            high_excess = excess(high);
            step *= step.min(100.0);
        }
        if low_excess < 0.0 {
            // Even at no price the limits on intervals leave budget over.
            return low;
        }
        for _ in 0..MOST_STEPS {
            // Regula falsi on logarithms, kept off the ends so that both bounds close in.
            let part = (low_excess / (low_excess - high_excess)).clamp(0.1, 0.9);
            let middle = (low.ln() + part * (high.ln() - low.ln())).exp();
            let value = excess(middle);
            if value.abs() < TOLERANCE || high / low < 1.0 + 1e-9 {
                return middle;
            }
            if value > 0.0 {
                (low, low_excess) = (middle, value);
            } else {
                (high, high_excess) = (middle, value);
            }
        }
        (low * high).sqrt()
    }
}

fn class(value: f64, per_octave: f64, classes: usize) -> usize {
    let at = (value.log2() * per_octave).floor();
    if at.is_nan() { 0 } else { at.clamp(0.0, (classes - 1) as f64) as usize }
}

/// Shape and key in the middle of a cell.
fn middle(slot: usize) -> (f64, f64) {
    let centre = |class: usize, per_octave: f64| ((class as f64 + 0.5) / per_octave).exp2();
    (
        centre(slot / KEYS, SHAPES_PER_OCTAVE) * MIN_EVIDENCE,
        centre(slot % KEYS, KEYS_PER_OCTAVE) * 2f64.powi(-64),
    )
}

#[cfg(test)]
mod tests;
