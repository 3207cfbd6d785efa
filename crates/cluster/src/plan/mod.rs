//! The plan: a pure function from members, measured loads and the table in force to the next assignment.
//!
//! | module | noun |
//! | --- | --- |
//! | [`balance`] | shelves of partitions, filled and evened out |
//! | [`mode`] | allocation and link modes |
//! | [`region`] | networks near which nodes stand |
//! | [`table`] | who owns what, in which epoch |
//!
//! Promises, each held by a property test:
//! - *Same answer everywhere*: integers only, and the order of the inputs does not matter.
//! - *Balanced*: busiest ÷ mean ≤ 1.25 whenever no partition weighs more than a quarter of the smallest fair share.
//! - *Minimal movement*: with equal weights a node that joins takes at most its share, one that leaves moves only what
//!   it had; nothing else moves. The block of a region moves to the first of its nodes in steps of `max_moves`.

mod balance;
pub mod mode;
pub mod region;
pub mod table;

use crate::name::NodeId;
use balance::Shelves;
pub use mode::{Allocation, LinkMode, Route, route};
pub use region::{Cidr, RegionError, RegionId, Regions};
pub use table::{Slot, Table, TableError};

/// Largest capacity of a node; larger values count as this.
pub const MAX_CAPACITY: u32 = 1 << 20;

/// A node that may own partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub node: NodeId,
    /// What it can do, in units of the operator's choice; 0 owns nothing (a coordinator).
    pub capacity: u32,
    /// How busy it says it is, in percent of what it can do.
    pub load_percent: u8,
    pub region: Option<RegionId>,
    /// It has nothing to do.
    pub idle: bool,
}

impl Member {
    /// Capacity as measured: a node that is far from busy counts for up to a quarter more, one that is over-worked for up to a
    /// quarter less. Coarse steps, so that a small change of load moves nothing.
    fn measured_capacity(&self, load_aware: bool) -> u64 {
        let percent: u64 = match self.load_percent {
            _ if !load_aware => 100,
            0..25 => 125,
            25..50 => 110,
            50..90 => 100,
            90..100 => 90,
            _ => 75,
        };
        u64::from(self.capacity.min(MAX_CAPACITY)) * percent
    }
}

/// What the plan looks at.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    pub members: &'a [Member],
    /// Measured work of each partition. Missing ones count as the mean.
    pub weights: &'a [u64],
    /// The region each partition was set aside for; may be empty.
    pub regions: &'a [Option<RegionId>],
    pub current: &'a Table,
    pub allocation: Allocation,
    /// Most partitions taken from a living owner in one step: hand-offs are spread over time.
    pub max_moves: usize,
}

/// The next owner of every partition.
pub fn plan(input: &PlanInput<'_>) -> Vec<Option<NodeId>> {
    let mut members: Vec<&Member> = input.members.iter().filter(|m| m.capacity > 0).collect();
    members.sort_unstable_by(|a, b| a.node.cmp(&b.node));
    members.dedup_by(|a, b| a.node == b.node);
    if members.is_empty() || input.allocation == Allocation::Independent {
        return vec![None; input.current.slots.len()];
    }
    let load_aware = input.allocation == Allocation::Dynamic || !input.weights.is_empty();
    let capacities = members.iter().map(|m| m.measured_capacity(load_aware)).collect();
    let weights = settle_weights(input.weights, input.current.slots.len());
    let homes = members.iter().map(|m| m.region).collect();
    let mut shelves = Shelves::new(capacities, weights, homes, allowed(&members, input));
    let mut orphans = Vec::new();
    let mut fresh = Vec::new();
    let mut called_home = 0;
    for (partition, slot) in input.current.slots.iter().enumerate() {
        match slot.owner.as_ref().and_then(|owner| home(&members, owner)) {
            Some(member) if shelves.may_hold(member, partition) => shelves.put(partition, member),
            // Its region has nodes now; its owner lives, and hands over as many as go at a time.
            Some(member) if called_home >= input.max_moves => shelves.put(partition, member),
            Some(_) => {
                called_home += 1;
                orphans.push(partition);
            }
            None if slot.epoch == 0 => fresh.push(partition),
            _ => orphans.push(partition),
        }
    }
    let tie = |partition: usize, member: usize| rendezvous(partition, &members[member].node);
    if input.allocation == Allocation::Dynamic {
        shelves.place(orphans, tie);
        hand_next(&mut shelves, &members, fresh);
    } else {
        orphans.extend(fresh);
        shelves.place(orphans, tie);
        shelves.even_out(input.max_moves - called_home);
    }
    let owner = |partition| shelves.holder(partition).map(|member| members[member].node.clone());
    (0..input.current.slots.len()).map(owner).collect()
}

/// Where a partition stays: with its owner, or with the owner's next life, which has its state on disk.
fn home(members: &[&Member], owner: &NodeId) -> Option<usize> {
    let exact = members.binary_search_by(|m| m.node.cmp(owner)).ok();
    exact.or_else(|| members.iter().position(|m| m.node.supersedes(owner)))
}

/// Weights with a floor of a twentieth of the mean: an empty partition still costs something.
fn settle_weights(measured: &[u64], partitions: usize) -> Vec<u64> {
    let known: u128 = measured.iter().map(|&w| u128::from(w)).sum();
    if known == 0 {
        return vec![1 << 16; partitions];
    }
    // Scaled so that sums fit and small weights keep their proportion.
    let mean = (known / measured.len().max(1) as u128).max(1);
    let scale = |w: u64| (((u128::from(w)) << 16) / mean).clamp(1 << 12, 1 << 40) as u64;
    (0..partitions).map(|p| measured.get(p).map_or(1 << 16, |&w| scale(w))).collect()
}

/// For every partition, the members it may live on: those of its region if any is there, else all.
fn allowed(members: &[&Member], input: &PlanInput<'_>) -> Vec<Option<RegionId>> {
    // The region is kept as an index; shelves ask `may_hold` through it.
    let present = |region: RegionId| members.iter().any(|m| m.region == Some(region));
    (0..input.current.slots.len())
        .map(|p| input.regions.get(p).copied().flatten().filter(|&region| present(region)))
        .collect()
}

/// Dynamic allocation: whoever has nothing takes the next partition, or the lightest of the busiest.
fn hand_next(shelves: &mut Shelves, members: &[&Member], fresh: Vec<usize>) {
    let mut fresh = fresh.into_iter().peekable();
    for (index, member) in members.iter().enumerate() {
        if !shelves.is_empty(index) && !member.idle {
            continue;
        }
        let next = fresh.by_ref().find(|&p| shelves.may_hold(index, p));
        match next {
            Some(partition) => shelves.put(partition, index),
            None => shelves.take_from_busiest(index),
        }
    }
}

/// Which of two equal members gets a partition: by a hash that all nodes compute alike.
fn rendezvous(partition: usize, node: &NodeId) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(&(partition as u64).to_be_bytes(), node.hash())
}

#[cfg(test)]
mod tests;
