//! Which of two waiting URLs goes first. An order turns what is known about a URL into a [`Rank`]; host queues and the
//! schedule only ever compare ranks, so a new order is a new way to compute one.

use serde::{Deserialize, Serialize};

/// The orders a crawl can follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Fewest links from a seed first, then first found first.
    #[default]
    BreadthFirst,
    /// Most links from a seed first, then last found first.
    DepthFirst,
}

/// A place in a queue: smaller goes first. The sequence makes it unique within a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank {
    pub priority: u32,
    pub sequence: u64,
}

impl Rank {
    pub const FIRST: Self = Self { priority: 0, sequence: 0 };

    /// The smallest rank above this one.
    pub fn next(self) -> Self {
        match self.sequence.checked_add(1) {
            Some(sequence) => Self { sequence, ..self },
            None => Self { priority: self.priority.saturating_add(1), sequence: 0 },
        }
    }
}

impl Order {
    /// The rank of a URL found `depth` links from a seed as the `sequence`-th of the crawl.
    pub fn rank(self, depth: u16, sequence: u64) -> Rank {
        match self {
            Self::BreadthFirst => Rank { priority: u32::from(depth), sequence },
            Self::DepthFirst => Rank { priority: u32::from(u16::MAX - depth), sequence: u64::MAX - sequence },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_differ_in_what_goes_first() {
        let (seed, child, later_child) = ((0, 1), (1, 2), (1, 3));
        let rank = |order: Order, (depth, sequence)| order.rank(depth, sequence);
        assert!(rank(Order::BreadthFirst, seed) < rank(Order::BreadthFirst, child));
        assert!(rank(Order::BreadthFirst, child) < rank(Order::BreadthFirst, later_child));
        assert!(rank(Order::DepthFirst, child) < rank(Order::DepthFirst, seed));
        assert!(rank(Order::DepthFirst, later_child) < rank(Order::DepthFirst, child));
    }
}
