//! What goes wrong, in which order and for how long: all of it follows from a seed.

use std::fmt;

use crate::dice::Dice;

/// Shortest and longest time that something stays wrong. A node counts as dead after some six seconds: both sides of it occur.
const DOWN_MS: std::ops::Range<u64> = 300..10_000;
/// Shortest and longest time from the end of one fault to the next.
const CALM_MS: std::ops::Range<u64> = 300..4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// `kill -9`, started again with its directory.
    KillNode(usize),
    /// `kill -9`, and another coordinator comes up.
    KillCoordinator,
    /// `kill -9`, started again with its store.
    KillServer(usize),
    /// SIGSTOP, SIGCONT: a node that does not know that it was away.
    Pause(usize),
    /// Nothing passes between the node and the servers.
    Cut(usize),
    /// The node's disk is full until it has ended; then there is room again.
    FullDisk(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub trouble: Trouble,
    pub down_ms: u64,
    pub calm_ms: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let down = self.down_ms;
        match self.trouble {
            Trouble::KillNode(node) => write!(f, "node {node} is killed, back after {down} ms"),
            Trouble::KillCoordinator => write!(f, "the coordinator is killed, another after {down} ms"),
            Trouble::KillServer(server) => write!(f, "NATS server {server} is killed, back after {down} ms"),
            Trouble::Pause(node) => write!(f, "node {node} sleeps for {down} ms"),
            Trouble::Cut(node) => write!(f, "node {node} is cut off for {down} ms"),
            Trouble::FullDisk(node) => write!(f, "the disk of node {node} is full"),
        }
    }
}

/// `count` faults for `nodes` nodes and `servers` servers. Every kind comes up before any comes again; a full disk only
/// strikes node `small`, if there is one.
pub fn plan(seed: u64, count: usize, nodes: usize, servers: usize, small: Option<usize>) -> Vec<Fault> {
    let mut dice = Dice(seed);
    let mut bag: Vec<u8> = Vec::new();
    let mut faults = Vec::new();
    while faults.len() < count {
        if bag.is_empty() {
            bag.extend(0..if small.is_some() { 6 } else { 5 });
        }
        let kind = bag.swap_remove(dice.within(0..bag.len() as u64) as usize);
        let node = dice.within(0..nodes as u64) as usize;
        let trouble = match kind {
            0 => Trouble::KillNode(node),
            1 => Trouble::KillCoordinator,
            2 => Trouble::KillServer(dice.within(0..servers as u64) as usize),
            3 => Trouble::Pause(node),
            4 => Trouble::Cut(node),
            _ => Trouble::FullDisk(small.unwrap_or(node)),
        };
        faults.push(Fault { trouble, down_ms: dice.within(DOWN_MS), calm_ms: dice.within(CALM_MS) });
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_tells_everything_and_every_kind_comes_up() {
        let faults = plan(7, 12, 3, 1, Some(2));
        assert_eq!(faults, plan(7, 12, 3, 1, Some(2)));
        assert_ne!(faults, plan(8, 12, 3, 1, Some(2)));
        for half in faults.chunks(6) {
            let kinds: std::collections::HashSet<_> =
                half.iter().map(|fault| std::mem::discriminant(&fault.trouble)).collect();
            assert_eq!(kinds.len(), 6, "{half:?}");
        }
        assert!(faults.iter().all(|fault| DOWN_MS.contains(&fault.down_ms)));
        let without = plan(7, 50, 3, 1, None);
        assert!(without.iter().all(|fault| !matches!(fault.trouble, Trouble::FullDisk(_))));
    }
}
