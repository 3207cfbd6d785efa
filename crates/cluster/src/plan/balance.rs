//! Shelves: one per member, holding partitions. Filled by weight, evened out with as few moves as it takes.
//!
//! Relative load = load ÷ capacity, compared by cross-multiplication, so that every node computes the same.
//! Every move taken makes the more loaded of its two shelves lighter than it was and lets no other rise above that, so
//! evening out ends.

use std::cmp::Ordering;

use super::region::RegionId;

/// Above or below the mean by this many percent, evening out begins …
const TRIGGER_PERCENT: u128 = 15;
/// … and goes on until all are within this many, or nothing helps.
const GOAL_PERCENT: u128 = 5;
/// Receivers tried per giver before the next giver is looked at.
const RECEIVERS_TRIED: usize = 16;
/// Givers tried before evening out ends.
const GIVERS_TRIED: usize = 64;

struct Shelf {
    capacity: u64,
    load: u64,
    partitions: Vec<usize>,
}

pub(super) struct Shelves {
    shelves: Vec<Shelf>,
    weights: Vec<u64>,
    holders: Vec<Option<usize>>,
    member_regions: Vec<Option<RegionId>>,
    partition_regions: Vec<Option<RegionId>>,
    total_load: u128,
    total_capacity: u128,
}

impl Shelves {
    pub fn new(
        capacities: Vec<u64>,
        weights: Vec<u64>,
        member_regions: Vec<Option<RegionId>>,
        partition_regions: Vec<Option<RegionId>>,
    ) -> Self {
        let total_capacity = capacities.iter().map(|&c| u128::from(c)).sum();
        let shelf = |capacity| Shelf { capacity, load: 0, partitions: Vec::new() };
        Self {
            shelves: capacities.into_iter().map(shelf).collect(),
            holders: vec![None; weights.len()],
            total_load: weights.iter().map(|&w| u128::from(w)).sum(),
            total_capacity,
            weights,
            member_regions,
            partition_regions,
        }
    }

    pub fn may_hold(&self, member: usize, partition: usize) -> bool {
        self.partition_regions[partition].is_none_or(|region| self.member_regions[member] == Some(region))
    }

    pub fn holder(&self, partition: usize) -> Option<usize> {
        self.holders[partition]
    }

    pub fn is_empty(&self, member: usize) -> bool {
        self.shelves[member].partitions.is_empty()
    }

    pub fn put(&mut self, partition: usize, member: usize) {
        if let Some(before) = self.holders[partition].replace(member) {
            let shelf = &mut self.shelves[before];
            shelf.partitions.retain(|&p| p != partition);
            shelf.load -= self.weights[partition];
        }
        let shelf = &mut self.shelves[member];
        shelf.partitions.push(partition);
        shelf.load += self.weights[partition];
    }

    /// Relative load of a member with `more` added, against that of another as it is.
    fn compare(&self, a: usize, more: u64, b: usize) -> Ordering {
        let (a, b) = (&self.shelves[a], &self.shelves[b]);
        let left = (u128::from(a.load) + u128::from(more)) * u128::from(b.capacity);
        left.cmp(&(u128::from(b.load) * u128::from(a.capacity)))
    }

    /// Puts partitions that nobody has on the shelves, heaviest first, each where it weighs least.
    pub fn place(&mut self, mut partitions: Vec<usize>, tie: impl Fn(usize, usize) -> u64) {
        partitions.sort_by_key(|&p| (std::cmp::Reverse(self.weights[p]), p));
        for partition in partitions {
            let weight = self.weights[partition];
            let after = |member: usize| {
                let shelf = &self.shelves[member];
                (u128::from(shelf.load) + u128::from(weight), u128::from(shelf.capacity))
            };
            let best = (0..self.shelves.len()).filter(|&m| self.may_hold(m, partition)).min_by(|&a, &b| {
                let ((load_a, capacity_a), (load_b, capacity_b)) = (after(a), after(b));
                (load_a * capacity_b)
                    .cmp(&(load_b * capacity_a))
                    .then_with(|| tie(partition, b).cmp(&tie(partition, a)))
            });
            if let Some(member) = best {
                self.put(partition, member);
            }
        }
    }

    /// Moves partitions from the busiest to the idlest while that helps, at most `max_moves` of them.
    pub fn even_out(&mut self, max_moves: usize) {
        if self.shelves.len() < 2 || !self.is_off(TRIGGER_PERCENT) {
            return;
        }
        let mut moves = 0;
        while moves < max_moves && self.is_off(GOAL_PERCENT) {
            let Some(step) = self.find_step(max_moves - moves) else {
                return;
            };
            moves += step.len();
            for (partition, member) in step {
                self.put(partition, member);
            }
        }
    }

    /// Whether a member's share times 100 is outside `percent` of the mean.
    fn is_off(&self, percent: u128) -> bool {
        (0..self.shelves.len()).any(|m| self.is_above(m, percent) || self.is_below(m, percent))
    }

    fn is_above(&self, member: usize, percent: u128) -> bool {
        let shelf = &self.shelves[member];
        u128::from(shelf.load) * self.total_capacity * 100
            > self.total_load * u128::from(shelf.capacity) * (100 + percent)
    }

    fn is_below(&self, member: usize, percent: u128) -> bool {
        let shelf = &self.shelves[member];
        u128::from(shelf.load) * self.total_capacity * 100
            < self.total_load * u128::from(shelf.capacity) * (100 - percent)
    }

    /// A member's fair load.
    fn fair(&self, member: usize) -> u64 {
        (self.total_load * u128::from(self.shelves[member].capacity) / self.total_capacity.max(1)) as u64
    }

    /// The next move, or exchange of two partitions, that makes a busy member lighter.
    fn find_step(&self, budget: usize) -> Option<Vec<(usize, usize)>> {
        let mut order: Vec<usize> = (0..self.shelves.len()).collect();
        order.sort_by(|&a, &b| self.compare(a, 0, b).then(a.cmp(&b)));
        let givers = order.iter().rev().take(GIVERS_TRIED);
        for &giver in givers.clone() {
            for &receiver in order.iter().take(RECEIVERS_TRIED).filter(|&&receiver| receiver != giver) {
                // Only what is clearly too full gives, or what is clearly too empty takes.
                if !self.is_above(giver, GOAL_PERCENT) && !self.is_below(receiver, GOAL_PERCENT) {
                    continue;
                }
                if let Some(partition) = self.best_move(giver, receiver) {
                    return Some(vec![(partition, receiver)]);
                }
            }
        }
        if budget < 2 {
            return None;
        }
        let giver = *order.last()?;
        if !self.is_above(giver, GOAL_PERCENT) {
            return None;
        }
        order.iter().take(RECEIVERS_TRIED).filter(|&&receiver| receiver != giver).find_map(|&receiver| {
            let (heavy, light) = self.best_exchange(giver, receiver)?;
            Some(vec![(heavy, receiver), (light, giver)])
        })
    }

    /// The largest partition that brings neither past its fair load, else the smallest that helps at all.
    fn best_move(&self, giver: usize, receiver: usize) -> Option<usize> {
        let excess = self.shelves[giver].load.saturating_sub(self.fair(giver));
        let room = self.fair(receiver).saturating_sub(self.shelves[receiver].load);
        let fits = excess.min(room);
        let helps = |&&p: &&usize| {
            self.may_hold(receiver, p) && self.compare(receiver, self.weights[p], giver) == Ordering::Less
        };
        let candidates = || self.shelves[giver].partitions.iter().filter(helps).copied();
        candidates()
            .filter(|&p| self.weights[p] <= fits)
            .max_by_key(|&p| (self.weights[p], std::cmp::Reverse(p)))
            .or_else(|| candidates().min_by_key(|&p| (self.weights[p], p)))
    }

    /// Two partitions whose exchange makes the giver lighter and the receiver not as heavy as the giver was.
    fn best_exchange(&self, giver: usize, receiver: usize) -> Option<(usize, usize)> {
        let mut light: Vec<usize> = self.shelves[receiver].partitions.clone();
        light.sort_by_key(|&p| (self.weights[p], p));
        let mut best: Option<(u64, usize, usize)> = None;
        let excess = self.shelves[giver].load.saturating_sub(self.fair(giver)).max(1);
        for &heavy in self.shelves[giver].partitions.iter().filter(|&&p| self.may_hold(receiver, p)) {
            let Some(&other) = light
                .iter()
                .filter(|&&p| self.may_hold(giver, p) && self.weights[p] < self.weights[heavy])
                .min_by_key(|&&p| ((self.weights[heavy] - self.weights[p]).abs_diff(excess), p))
            else {
                continue;
            };
            let gain = self.weights[heavy] - self.weights[other];
            if self.compare(receiver, gain, giver) != Ordering::Less {
                continue;
            }
            let off = gain.abs_diff(excess);
            if best.is_none_or(|(least, a, b)| (off, heavy, other) < (least, a, b)) {
                best = Some((off, heavy, other));
            }
        }
        best.map(|(_, heavy, light)| (heavy, light))
    }

    /// Gives an idle member the lightest partition of the busiest member that has more than one.
    pub fn take_from_busiest(&mut self, member: usize) {
        let mut donors: Vec<usize> = (0..self.shelves.len())
            .filter(|&m| m != member && self.shelves[m].partitions.len() > 1)
            .collect();
        donors.sort_by(|&a, &b| self.compare(b, 0, a).then(a.cmp(&b)));
        let found = donors.iter().find_map(|&donor| self.best_move(donor, member));
        if let Some(partition) = found {
            self.put(partition, member);
        }
    }
}
