//! The plan and the exchange on paper: 1,000 nodes, 10 billion URLs. `plan_scale [nodes] [partitions] [billions of URLs]`.
//!
//! Hosts get power-law numbers of pages; partitions get hosts by hash; the plan gives partitions to nodes. Joins and
//! leaves are planned by the same function that a coordinator runs. For the exchange, a sample of pages with power-law
//! links goes through the real memory of sent links and the real wire format.

use std::collections::BTreeMap;
use std::time::Instant;

use lycosa_cluster::bus::memory::Dice;
use lycosa_cluster::exchange::{SentMemory, Sighting};
use lycosa_cluster::name::NodeId;
use lycosa_cluster::plan::{Allocation, Member, PlanInput, Table, plan};
use lycosa_cluster::wire::{Batch, BatchHeader, Link};

/// Pareto with this exponent, from 1 up to a bound.
fn pareto(dice: &mut Dice, exponent: f64, most: f64) -> f64 {
    dice.unit().max(1e-15).powf(-1.0 / exponent).min(most)
}

fn member(i: usize) -> Option<Member> {
    let node = NodeId::new(&format!("n{i}"), 1).ok()?;
    Some(Member { node, capacity: 1, load_percent: 60, region: None, idle: false })
}

fn owners(members: &[Member], weights: &[u64], current: &Table) -> Vec<Option<NodeId>> {
    plan(&PlanInput {
        members,
        weights,
        regions: &[],
        current,
        allocation: Allocation::Static,
        max_moves: usize::MAX,
    })
}

/// Busiest ÷ mean, and idlest ÷ mean.
fn balance(owners: &[Option<NodeId>], weights: &[u64], members: &[Member]) -> (f64, f64) {
    let mut loads: BTreeMap<&NodeId, u64> = members.iter().map(|m| (&m.node, 0)).collect();
    for (owner, weight) in owners.iter().zip(weights) {
        if let Some(load) = owner.as_ref().and_then(|owner| loads.get_mut(owner)) {
            *load += weight;
        }
    }
    let mean = weights.iter().sum::<u64>() as f64 / members.len() as f64;
    let most = loads.values().max().copied().unwrap_or(0) as f64;
    let least = loads.values().min().copied().unwrap_or(0) as f64;
    (most / mean, least / mean)
}

fn moved(table: &Table, owners: &[Option<NodeId>], weights: &[u64]) -> (usize, f64) {
    let total: u64 = weights.iter().sum();
    let changed =
        table.slots.iter().zip(owners).zip(weights).filter(|((slot, owner), _)| slot.owner != **owner);
    let moved: Vec<u64> = changed.map(|(_, weight)| *weight).collect();
    (moved.len(), moved.iter().sum::<u64>() as f64 / total as f64)
}

fn main() {
    let number =
        |i: usize, default: f64| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (nodes, partitions) = (number(1, 1000.0) as usize, number(2, 16_384.0) as u16);
    let urls = number(3, 10.0) * 1e9;
    let mut dice = Dice(7);
    for (partitions, seconds) in
        [(partitions, 0.1), (partitions, 1.0), (partitions, 10.0), (partitions / 8, 10.0)]
    {
        exchange(nodes, partitions, urls, seconds, &mut dice);
    }
    // Hosts: power law with exponent 1.1, at most 5 million pages each, until all URLs have a host.
    let mut weights = vec![0u64; usize::from(partitions)];
    let (mut placed, mut hosts) = (0.0, 0u64);
    while placed < urls {
        let pages = pareto(&mut dice, 1.1, 5e6);
        let partition = (u128::from(dice.word()) * u128::from(partitions)) >> 64;
        weights[partition as usize] += pages as u64;
        placed += pages;
        hosts += 1;
    }
    let heaviest = weights.iter().max().copied().unwrap_or(0) as f64;
    let share = placed / nodes as f64;
    println!("{hosts} hosts, {placed:.3e} URLs, {partitions} partitions, {nodes} nodes");
    println!("heaviest partition: {:.2} of a node's share", heaviest / share);
    let members: Vec<Member> = (0..nodes).filter_map(member).collect();
    let empty = Table::new(partitions);
    for (name, weights_used) in [("by count", &[][..]), ("load-aware", &weights[..])] {
        let began = Instant::now();
        let owners = owners(&members, weights_used, &empty);
        let (most, least) = balance(&owners, &weights, &members);
        println!(
            "{name}: busiest/mean {most:.3}, idlest/mean {least:.3}, planned in {} ms",
            began.elapsed().as_millis()
        );
    }
    let first = owners(&members, &weights, &empty);
    let Some(table) = empty.advance(&first, |_| true) else { return };
    println!("table: {} bytes", table.encode().map_or(0, |bytes| bytes.len()));
    let report = |what: &str, members: &[Member]| {
        let began = Instant::now();
        let next = owners(members, &weights, &table);
        let (count, part) = moved(&table, &next, &weights);
        let (most, _) = balance(&next, &weights, members);
        println!(
            "{what}: {count} partitions, {:.3} % of the URLs move; busiest/mean {most:.3}; planned in {} ms",
            part * 100.0,
            began.elapsed().as_millis()
        );
    };
    let more: Vec<Member> = (0..nodes + 1).filter_map(member).collect();
    report("one node joins", &more);
    let many: Vec<Member> = (0..nodes + nodes / 10).filter_map(member).collect();
    report("a tenth more join", &many);
    report("one node leaves", &members[1..]);
    report("a tenth leave", &members[nodes / 10..]);
}

/// One node's links through the memory of sent links and the wire format, with batches that leave after `seconds`.
fn exchange(nodes: usize, partitions: u16, urls: f64, seconds: f64, dice: &mut Dice) {
    const PAGES: usize = 100_000;
    const PAGES_PER_SECOND: f64 = 100.0;
    // Forty links a page, three quarters of which stay on their host. The rest go to any page of the web, the
    // page of rank r as often as 1/r.
    const AWAY: usize = 10;
    let mut sent = SentMemory::new(lycosa_cluster::exchange::sent::DEFAULT_SENT_LINKS);
    let mut gathering: BTreeMap<u16, Batch> = BTreeMap::new();
    let (mut away, mut travelled, mut messages, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let pages_per_flush = (PAGES_PER_SECOND * seconds).max(1.0) as usize;
    let header = |partition| BatchHeader { crawl: 1, partition, sender: 2, number: 3 };
    for page in 0..PAGES {
        for _ in 0..AWAY {
            let rank = (dice.unit() * urls.ln()).exp() as u64;
            let host = (rank.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % 1_000_000_000;
            let partition = (host.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) % u64::from(partitions);
            if partition % nodes as u64 == 1 {
                continue;
            }
            away += 1;
            if let Sighting::Send { backlinks, importance } = sent.note(rank, 3, 0.01) {
                travelled += 1;
                let url = format!("http://www.h{host}.example/section/{}/page-{rank}.html", rank % 100);
                let link = Link { url: &url, depth: 3, backlinks, importance, note: &[] };
                gathering.entry(partition as u16).or_default().links.push(&link);
            }
        }
        if (page + 1) % pages_per_flush == 0 {
            for (partition, batch) in std::mem::take(&mut gathering) {
                messages += 1;
                bytes += batch.encode(&header(partition)).map_or(0, |body| body.len() as u64);
            }
        }
    }
    let per_page = |n: u64| n as f64 / PAGES as f64;
    println!(
        "batches of {seconds} s, {partitions} partitions: of {:.2} links per page for other nodes {:.2} travel, in {:.3} \
         messages and {:.0} bytes; {nodes} nodes at 100 pages/s: {:.0} messages/s, {:.0} MB/s",
        per_page(away),
        per_page(travelled),
        per_page(messages),
        per_page(bytes),
        per_page(messages) * nodes as f64 * PAGES_PER_SECOND,
        per_page(bytes) * nodes as f64 * PAGES_PER_SECOND / 1e6
    );
}
