//! The table: which node owns which partition, in which epoch. One value on the bus, replaced whole.

use lycosa_types::PartitionId;
use lycosa_types::partition::MAX_PARTITIONS;
use serde::{Deserialize, Serialize};

use crate::name::NodeId;

/// The version of the table's encoding.
pub const TABLE_VERSION: u8 = 1;
/// First bytes above ours that are taken for later versions; others begin no table.
const NEWER_VERSIONS: u8 = 16;
/// Most nodes that a table may name.
pub const MAX_NODES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("the partition table cannot be read: it is damaged")]
    Malformed,
    #[error("the partition table was written by a newer version of lycosa; upgrade this node")]
    Newer,
    #[error("the partition table has {found} partitions, this crawl has {expected}; the crawls share a name")]
    Size { found: usize, expected: u16 },
}

/// One partition's line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub owner: Option<NodeId>,
    /// Grows by one whenever the owner changes. Zero: never owned.
    pub epoch: u64,
    /// Who still has it and is asked to let go; none if the owner may simply take it.
    pub from: Option<NodeId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Grows with every change.
    pub version: u64,
    pub slots: Vec<Slot>,
}

/// The table as it is stored: nodes once, then indices.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u8,
    version: u64,
    nodes: Vec<NodeId>,
    /// Owner and former owner as index + 1 (0: none), and the epoch.
    slots: Vec<(u16, u16, u64)>,
}

impl Table {
    /// A table in which nobody owns anything.
    pub fn new(partitions: u16) -> Self {
        Self { version: 0, slots: vec![Slot::default(); usize::from(partitions)] }
    }

    pub fn slot(&self, partition: PartitionId) -> Option<&Slot> {
        self.slots.get(usize::from(partition.0))
    }

    pub fn owner(&self, partition: PartitionId) -> Option<&NodeId> {
        self.slot(partition)?.owner.as_ref()
    }

    /// Partitions with their lines.
    pub fn iter(&self) -> impl Iterator<Item = (PartitionId, &Slot)> {
        self.slots.iter().enumerate().map(|(i, slot)| (PartitionId(i as u16), slot))
    }

    pub fn owners(&self) -> Vec<Option<NodeId>> {
        self.slots.iter().map(|slot| slot.owner.clone()).collect()
    }

    /// The table after a new assignment, or none if nothing changes. Whoever loses a partition and is alive hands it
    /// over; a former owner that is gone is waited for no longer.
    pub fn advance(&self, assignment: &[Option<NodeId>], is_alive: impl Fn(&NodeId) -> bool) -> Option<Self> {
        let mut next = self.clone();
        for (slot, wanted) in next.slots.iter_mut().zip(assignment) {
            if slot.owner != *wanted {
                // A chain of moves waits for the one that last had it open.
                let had = slot.from.take().or_else(|| slot.owner.take());
                *slot = Slot { owner: wanted.clone(), epoch: slot.epoch + 1, from: had };
            }
            if slot.from.as_ref().is_some_and(|from| !is_alive(from) || slot.owner.as_ref() == Some(from)) {
                slot.from = None;
            }
        }
        if next.slots == self.slots {
            return None;
        }
        next.version += 1;
        Some(next)
    }

    pub fn encode(&self) -> Result<Vec<u8>, TableError> {
        let mut nodes: Vec<NodeId> =
            self.slots.iter().flat_map(|slot| slot.owner.iter().chain(&slot.from)).cloned().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let index = |node: &Option<NodeId>| {
            node.as_ref().and_then(|node| nodes.binary_search(node).ok()).map_or(0, |i| i as u16 + 1)
        };
        let slots = self.slots.iter().map(|s| (index(&s.owner), index(&s.from), s.epoch)).collect();
        if nodes.len() > MAX_NODES {
            return Err(TableError::Malformed);
        }
        let stored = Stored { format: TABLE_VERSION, version: self.version, slots, nodes };
        postcard::to_stdvec(&stored).map_err(|_| TableError::Malformed)
    }

    pub fn decode(bytes: &[u8], partitions: u16) -> Result<Self, TableError> {
        match bytes.first() {
            Some(&TABLE_VERSION) => {}
            Some(first) if (TABLE_VERSION + 1..TABLE_VERSION + NEWER_VERSIONS).contains(first) => {
                return Err(TableError::Newer);
            }
            _ => return Err(TableError::Malformed),
        }
        let stored: Stored = postcard::from_bytes(bytes).map_err(|_| TableError::Malformed)?;
        if stored.nodes.len() > MAX_NODES || stored.slots.len() > usize::from(MAX_PARTITIONS) {
            return Err(TableError::Malformed);
        }
        if stored.slots.len() != usize::from(partitions) {
            return Err(TableError::Size { found: stored.slots.len(), expected: partitions });
        }
        let node = |index: u16| match index.checked_sub(1) {
            None => Ok(None),
            Some(i) => stored.nodes.get(usize::from(i)).cloned().map(Some).ok_or(TableError::Malformed),
        };
        let slots = stored
            .slots
            .iter()
            .map(|&(owner, from, epoch)| Ok(Slot { owner: node(owner)?, epoch, from: node(from)? }))
            .collect::<Result<_, TableError>>()?;
        Ok(Self { version: stored.version, slots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(name: &str) -> NodeId {
        NodeId::new(name, 1).unwrap()
    }

    #[test]
    fn a_move_asks_the_living_and_passes_over_the_dead() {
        let (a, b) = (node("a"), node("b"));
        let table = Table::new(2).advance(&[Some(a.clone()), Some(a.clone())], |_| true).unwrap();
        assert_eq!(table.slots[0], Slot { owner: Some(a.clone()), epoch: 1, from: None });
        let moved = table.advance(&[Some(b.clone()), Some(a.clone())], |_| true).unwrap();
        assert_eq!(moved.slots[0], Slot { owner: Some(b.clone()), epoch: 2, from: Some(a.clone()) });
        assert_eq!(moved.slots[1].epoch, 1);
        assert_eq!(moved.advance(&moved.owners(), |_| true), None);
        // The former owner dies before it lets go.
        let forced = moved.advance(&moved.owners(), |n| *n != a).unwrap();
        assert_eq!(forced.slots[0], Slot { owner: Some(b), epoch: 2, from: None });
        assert!(forced.version > moved.version);
    }

    #[test]
    fn every_partition_is_named_with_its_line() {
        let (a, b) = (node("a"), node("b"));
        let table = Table::new(3).advance(&[Some(a.clone()), None, Some(b.clone())], |_| true).unwrap();
        let lines: Vec<_> = table.iter().map(|(partition, slot)| (partition.0, slot.owner.clone())).collect();
        assert_eq!(lines, [(0, Some(a.clone())), (1, None), (2, Some(b.clone()))]);
        assert_eq!(table.owners(), [Some(a.clone()), None, Some(b)]);
        assert_eq!((table.owner(PartitionId(0)), table.owner(PartitionId(1))), (Some(&a), None));
        assert_eq!((table.slot(PartitionId(3)), table.owner(PartitionId(3))), (None, None));
    }

    /// A former owner that was given the partition back has nothing to hand over to itself.
    #[test]
    fn a_partition_that_comes_back_is_not_waited_for() {
        let (a, b, c) = (node("a"), node("b"), node("c"));
        let first = Table::new(1).advance(&[Some(a.clone())], |_| true).unwrap();
        let second = first.advance(&[Some(b.clone())], |_| true).unwrap();
        let back = second.advance(&[Some(a.clone())], |_| true).unwrap();
        assert_eq!(back.slots[0], Slot { owner: Some(a.clone()), epoch: 3, from: None });
        // A chain waits for the one that last had it open.
        let chain = second.advance(&[Some(c.clone())], |_| true).unwrap();
        assert_eq!(chain.slots[0], Slot { owner: Some(c), epoch: 3, from: Some(a) });
        assert_eq!((first.version, second.version, chain.version), (1, 2, 3));
    }

    #[test]
    fn a_table_may_name_as_many_nodes_as_the_limit() {
        let of = |nodes: usize| {
            let slots =
                (0..nodes).map(|n| Slot { owner: Some(node(&format!("n{n}"))), epoch: 1, from: None });
            Table { version: 1, slots: slots.collect() }
        };
        let bytes = of(MAX_NODES).encode().unwrap();
        assert_eq!(Table::decode(&bytes, MAX_NODES as u16), Ok(of(MAX_NODES)));
        assert_eq!(of(MAX_NODES + 1).encode(), Err(TableError::Malformed));
        // Others may write more: that is refused as well.
        let stored = |nodes: usize, slots: usize, owner: u16| {
            let nodes = (0..nodes).map(|n| node(&format!("n{n}"))).collect();
            let slots = vec![(owner, 0, 1); slots];
            postcard::to_stdvec(&Stored { format: TABLE_VERSION, version: 1, nodes, slots }).unwrap()
        };
        assert!(Table::decode(&stored(MAX_NODES, 1, 1), 1).is_ok());
        assert_eq!(Table::decode(&stored(MAX_NODES + 1, 1, 1), 1), Err(TableError::Malformed));
        assert!(Table::decode(&stored(1, usize::from(MAX_PARTITIONS), 0), MAX_PARTITIONS).is_ok());
        let many = stored(1, usize::from(MAX_PARTITIONS) + 1, 0);
        assert_eq!(Table::decode(&many, MAX_PARTITIONS), Err(TableError::Malformed));
        assert_eq!(
            Table::decode(&stored(1, 1, 2), 1),
            Err(TableError::Malformed),
            "a node that is not named"
        );
        assert_eq!(Table::decode(&stored(1, 1, 1), 2), Err(TableError::Size { found: 1, expected: 2 }));
    }

    proptest! {
        #[test]
        fn tables_survive_storage(picks in prop::collection::vec((0u8..5, 0u8..5, any::<u64>()), 1..200)) {
            let pick = |i: u8| (i > 0).then(|| node(&format!("n{i}")));
            let slots = picks.iter().map(|&(o, f, epoch)| Slot { owner: pick(o), epoch, from: pick(f) }).collect();
            let table = Table { version: 7, slots };
            let bytes = table.encode().unwrap();
            prop_assert_eq!(Table::decode(&bytes, picks.len() as u16), Ok(table));
            prop_assert!(Table::decode(&bytes, picks.len() as u16 + 1).is_err());
            prop_assert!(Table::decode(&bytes[..bytes.len() - 1], picks.len() as u16).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Table::decode(&bytes, 64);
        }
    }
}
