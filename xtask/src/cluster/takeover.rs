//! How soon the partitions of a node that died are worked on by others: from what the nodes write down when they open one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::crew::Member;
use super::unix_ms;

/// What a node writes when pages of a partition may be requested for the first time.
const WORKED_ON: &str = "a partition is worked on";
const COORDINATES: &str = "this node coordinates";
/// Longest wait for all partitions.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long the partitions of a dead node were nobody's.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Takeover {
    /// Whether the node that died coordinated as well.
    pub coordinated: bool,
    pub partitions: usize,
    pub median_ms: u64,
    pub longest_ms: u64,
}

/// A partition was opened: by whom, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opened {
    partition: u16,
    node: String,
    at_ms: u64,
}

/// Waits until every node works on partitions.
pub fn all_at_work(nodes: &[Member]) -> Result<()> {
    let started = Instant::now();
    while nodes.iter().any(|node| read(&node.log(), &node.name).is_empty()) {
        if started.elapsed() > PATIENCE * 3 {
            bail!("a node got no partition");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Kills the node that coordinates, or one that does not, and waits until all its partitions are worked on elsewhere.
pub fn measure(nodes: &mut Vec<Member>, coordinator: bool) -> Result<Takeover> {
    let leads = leader(nodes).context("no node coordinates")?;
    let opened = all(nodes);
    // Of several, the one with most to lose.
    let candidates = nodes.iter().enumerate().filter(|(_, node)| (node.name == leads) == coordinator);
    let at = candidates.max_by_key(|(_, node)| held(&opened, &node.name, unix_ms()).len());
    let at = at.context("no such node")?.0;
    let mut dead = nodes.remove(at);
    let died_ms = unix_ms();
    dead.kill();
    let orphans = held(&opened, &dead.name, died_ms);
    let started = Instant::now();
    loop {
        let taken = taken(&all(nodes), &orphans, died_ms);
        if taken.len() == orphans.len() {
            let mut times: Vec<u64> = taken.into_values().collect();
            times.sort_unstable();
            return Ok(Takeover {
                coordinated: coordinator,
                partitions: times.len(),
                median_ms: times.get(times.len() / 2).copied().unwrap_or(0),
                longest_ms: times.last().copied().unwrap_or(0),
            });
        }
        if started.elapsed() > PATIENCE {
            let left: Vec<_> = orphans.iter().filter(|partition| !taken.contains_key(partition)).collect();
            bail!("nobody took the partitions {left:?} of {}", dead.name);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The node that coordinates: the last one to have said so.
fn leader(nodes: &[Member]) -> Option<String> {
    let last = |node: &Member| node.log().lines().rfind(|line| line.contains(COORDINATES)).map(str::to_owned);
    // Lines begin with their time.
    nodes.iter().filter_map(|node| Some((last(node)?, node.name.clone()))).max().map(|(_, name)| name)
}

fn all(nodes: &[Member]) -> Vec<Opened> {
    nodes.iter().flat_map(|node| read(&node.log(), &node.name)).collect()
}

fn read(log: &str, node: &str) -> Vec<Opened> {
    let line = |line: &str| {
        let field =
            |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let (partition, at_ms) = (field("partition")?.parse().ok()?, field("at_ms")?.parse().ok()?);
        Some(Opened { partition, node: node.to_owned(), at_ms })
    };
    log.lines().filter(|text| text.contains(WORKED_ON)).filter_map(line).collect()
}

/// What a node had at a time: it was the last to open it.
fn held(opened: &[Opened], node: &str, at_ms: u64) -> BTreeSet<u16> {
    let mut last: BTreeMap<u16, &Opened> = BTreeMap::new();
    for opened in opened.iter().filter(|opened| opened.at_ms <= at_ms) {
        let known = last.entry(opened.partition).or_insert(opened);
        if known.at_ms <= opened.at_ms {
            *known = opened;
        }
    }
    last.values().filter(|opened| opened.node == node).map(|opened| opened.partition).collect()
}

/// When each partition was first opened after a time, counted from it.
fn taken(opened: &[Opened], partitions: &BTreeSet<u16>, from_ms: u64) -> BTreeMap<u16, u64> {
    let mut first = BTreeMap::new();
    for opened in opened.iter().filter(|o| o.at_ms > from_ms && partitions.contains(&o.partition)) {
        let after = opened.at_ms - from_ms;
        let known = first.entry(opened.partition).or_insert(after);
        *known = after.min(*known);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_tell_who_had_what_and_who_took_it() {
        let line = |partition: u16, at_ms: u64| {
            format!(
                "2026-01-01T00:00:00Z  INFO lycosa: {WORKED_ON} partition={partition} epoch=1 planned=false at_ms={at_ms}\n"
            )
        };
        let (a, b) =
            ([line(1, 10), line(2, 20), line(1, 300)].concat(), [line(2, 30), "other\n".into()].concat());
        let mut opened = read(&a, "a");
        opened.extend(read(&b, "b"));
        assert_eq!(opened.len(), 4);
        assert_eq!(held(&opened, "a", 100), [1].into());
        assert_eq!(held(&opened, "b", 100), [2].into());
        assert_eq!(taken(&opened, &[1, 2].into(), 100), [(1, 200)].into());
    }
}
