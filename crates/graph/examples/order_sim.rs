//! Crawl orders compared without a network: who gathers the final PageRank soonest?
//!
//! `order_sim [--pages 200000] [--hosts 1000] [--seed 1] [--full] [--seeds 1] [--json]`
//!
//! Every order crawls the same synthetic web from the same seeds, one page at a time, with all hosts ready at all times.

use std::collections::BinaryHeap;

use lycosa_graph::online::{OnlineImportance, OnlineOptions};
use lycosa_simweb::{Expect, Node, TruthOptions, World, WorldConfig};

struct Web {
    out: Vec<Vec<u32>>,
    host: Vec<u32>,
    slashes: Vec<u32>,
    rank: Vec<f64>,
    seeds: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Breadth,
    Backlink,
    Forward,
    Location,
    Pvalue,
    Opic,
    OpicClass,
    OpicBl,
    OpicRoot,
    OpicHost,
    Residual,
    PageRank,
    Oracle,
    Random,
}

fn pagerank(out: &[Vec<u32>], known: &[bool], fetched: &[bool], start: &mut Vec<f64>, rounds: usize) {
    let n = known.iter().filter(|k| **k).count() as f64;
    for _ in 0..rounds {
        let mut next = vec![0.0; out.len()];
        let mut dangling = 0.0;
        for (page, links) in out.iter().enumerate() {
            if !known[page] {
                continue;
            }
            if !fetched[page] || links.is_empty() {
                dangling += start[page];
            } else {
                let share = start[page] / links.len() as f64;
                links.iter().for_each(|&t| next[t as usize] += share);
            }
        }
        for (page, rank) in next.iter_mut().enumerate() {
            *rank = if known[page] { 0.15 / n + 0.85 * (*rank + dangling / n) } else { 0.0 };
        }
        *start = next;
    }
}

fn web(world: &World, seeds: usize) -> Web {
    let options = TruthOptions { seeds: world.seeds(seeds), ..TruthOptions::default() };
    let truth = world.truth(&options);
    let entries = truth.entries();
    let fetchable = |at: u32| entries[at as usize].expect != Expect::Disallowed;
    let mut number = vec![u32::MAX; entries.len()];
    let mut n = 0;
    for at in 0..entries.len() as u32 {
        if fetchable(at) {
            number[at as usize] = n;
            n += 1;
        }
    }
    let mut out = vec![Vec::new(); n as usize];
    truth.for_each_edge(|from, to| {
        if from != to && fetchable(from) {
            out[number[from as usize] as usize].push(number[to as usize]);
        }
    });
    for links in &mut out {
        let mut seen = foldhash::HashSet::default();
        links.retain(|t| seen.insert(*t));
    }
    let (mut host, mut slashes) = (Vec::new(), Vec::new());
    for entry in truth.fetchable() {
        let url = truth.url(entry);
        host.push(match entry.node {
            Node::Page(page) => world.locate(page).0.0,
            _ => world
                .host_named(url.split('/').nth(2).unwrap_or("").split(':').next().unwrap_or(""))
                .map_or(0, |h| h.0),
        });
        slashes
            .push(url.trim_end_matches('/').matches('/').count() as u32 - 2 + u32::from(url.contains('?')));
    }
    let mut rank = vec![1.0 / f64::from(n); n as usize];
    let all = vec![true; n as usize];
    pagerank(&out, &all, &all, &mut rank, 60);
    let seeds = (0..n).take(1).collect();
    Web { out, host, slashes, rank, seeds }
}

fn crawl(web: &Web, order: Order) -> Vec<u32> {
    let n = web.out.len();
    let mut online = OnlineImportance::new(OnlineOptions::default());
    let mut moved = Vec::new();
    let (mut known, mut fetched) = (vec![false; n], vec![false; n]);
    let mut sequence = vec![0u32; n];
    let mut depth = vec![0u32; n];
    let mut ranks = vec![0.0f64; n];
    let mut residual = vec![0.0f64; n];
    let hosts = web.host.iter().max().map_or(0, |h| *h as usize + 1);
    let mut host_sum = vec![(0.0f64, 0.0f64); hosts];
    let mut host_out = vec![(0.0f64, 0.0f64); hosts];
    let mut next_recompute = 1000;
    let mut found = 0;
    let mut heap: BinaryHeap<(ordered::F, std::cmp::Reverse<u32>, u32)> = BinaryHeap::new();
    let mut current = vec![f64::NEG_INFINITY; n];
    let mut visited = Vec::with_capacity(n);
    for &seed in &web.seeds {
        known[seed as usize] = true;
        heap.push((ordered::F(f64::MAX), std::cmp::Reverse(0), seed));
        current[seed as usize] = f64::MAX;
    }
    while let Some((ordered::F(score), _, page)) = heap.pop() {
        let p = page as usize;
        if fetched[p] || score < current[p] {
            continue;
        }
        fetched[p] = true;
        visited.push(page);
        host_out[web.host[p] as usize].0 += web.out[p].len() as f64;
        host_out[web.host[p] as usize].1 += 1.0;
        host_sum[web.host[p] as usize].0 +=
            online.get(u64::from(page) + 1).map_or(0.0, |k| f64::from(k.importance));
        host_sum[web.host[p] as usize].1 += 1.0;
        moved.clear();
        online.fetched(u64::from(page) + 1, web.out[p].iter().map(|&t| u64::from(t) + 1), &mut moved);
        for &t in &web.out[p] {
            let t = t as usize;
            if !known[t] {
                known[t] = true;
                found += 1;
                sequence[t] = found;
                depth[t] = depth[p] + 1;
            }
        }
        let mut touched: Vec<u32> = web.out[p].clone();
        if order == Order::Residual {
            // Push: what arrives at fetched pages is handed on at once if it is enough.
            residual[p] += 0.15;
            let mut stack = vec![page];
            let mut steps = 0;
            while let Some(q) = stack.pop() {
                let q = q as usize;
                let amount = residual[q];
                ranks[q] += amount;
                residual[q] = 0.0;
                if web.out[q].is_empty() {
                    continue;
                }
                let share = 0.85 * amount / web.out[q].len() as f64;
                for &t in &web.out[q] {
                    residual[t as usize] += share;
                    if fetched[t as usize] && residual[t as usize] > 0.15 && steps < 64 {
                        stack.push(t);
                        steps += 1;
                    } else {
                        touched.push(t);
                    }
                }
            }
        }
        if order == Order::PageRank && visited.len() >= next_recompute {
            next_recompute = visited.len() * 5 / 4;
            let mut start: Vec<f64> = ranks.iter().map(|r| r.max(1.0 / n as f64)).collect();
            pagerank(&web.out, &known, &fetched, &mut start, 8);
            ranks = start;
            let k = known.iter().filter(|k| **k).count() as f64;
            ranks.iter_mut().for_each(|r| *r *= k);
            touched = (0..n as u32).filter(|t| known[*t as usize] && !fetched[*t as usize]).collect();
            current.iter_mut().for_each(|c| *c = f64::NEG_INFINITY);
        }
        for t in touched {
            let at = t as usize;
            if fetched[at] {
                continue;
            }
            let k = online.get(u64::from(t) + 1);
            let (importance, links) =
                k.map_or((0.0, 0.0), |k| (f64::from(k.importance), f64::from(k.in_links)));
            let (ho, hc) = host_out[web.host[at] as usize];
            let forward = if hc > 0.0 { ho / hc } else { 0.0 };
            let score = match order {
                Order::Breadth => -f64::from(depth[at]),
                Order::Backlink => links,
                Order::Forward => forward,
                Order::Location => -f64::from(web.slashes[at]),
                Order::Pvalue => forward - links,
                Order::Opic => importance,
                Order::OpicClass => f64::from(k.map_or(0, |k| k.class())),
                Order::OpicBl => importance * links.sqrt(),
                Order::OpicRoot => importance * if web.slashes[at] == 0 { 8.0 } else { 1.0 },
                Order::OpicHost => {
                    let (sum, count) = host_sum[web.host[at] as usize];
                    importance + if count > 0.0 { 0.1 * sum / count } else { 0.0 }
                }
                Order::Residual => residual[at],
                Order::PageRank => {
                    if ranks[at] > 0.0 {
                        ranks[at].max(importance)
                    } else {
                        importance
                    }
                }
                Order::Oracle => web.rank[at],
                Order::Random => (t.wrapping_mul(0x9E37_79B1)) as f64,
            };
            if score > current[at] {
                current[at] = score;
                heap.push((ordered::F(score), std::cmp::Reverse(sequence[at]), t));
            }
        }
    }
    visited
}

mod ordered {
    #[derive(Clone, Copy, PartialEq)]
    pub struct F(pub f64);
    impl Eq for F {}
    impl PartialOrd for F {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for F {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0)
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut pages, mut hosts, mut seed, mut full, mut seeds) = (200_000, 1000, 1, false, 1);
    while let Some(name) = arguments.next() {
        if name == "--full" {
            full = true;
            continue;
        }
        let value: u64 = arguments.next().and_then(|v| v.parse().ok()).unwrap_or(0);
        match name.as_str() {
            "--pages" => pages = value as u32,
            "--hosts" => hosts = value as u32,
            "--seed" => seed = value,
            "--seeds" => seeds = value as usize,
            _ => {}
        }
    }
    let world = World::new(if full {
        WorldConfig::full(seed, hosts, pages)
    } else {
        WorldConfig::clean(seed, hosts, pages)
    });
    let web = web(&world, seeds);
    let edges: usize = web.out.iter().map(Vec::len).sum();
    println!("{} pages, {edges} links", web.out.len());
    let shares = [1, 2, 5, 10, 20, 30, 50, 75, 100];
    print!("{:12}", "order");
    shares.iter().for_each(|s| print!("{:>8}", format!("{s}%")));
    println!();
    let mut best: Vec<f64> = web.rank.clone();
    best.sort_by(|a, b| b.total_cmp(a));
    let row = |name: &str, ranks: &[f64]| {
        print!("{name:12}");
        for share in shares {
            let mass: f64 = ranks[..web.out.len() * share / 100].iter().sum();
            print!("{mass:8.4}");
        }
        println!("  ({} visited)", ranks.len());
    };
    row("ideal", &best);
    use Order::*;
    for order in [
        Oracle, PageRank, Residual, Opic, OpicClass, OpicBl, OpicRoot, OpicHost, Backlink, Pvalue, Forward,
        Location, Breadth, Random,
    ] {
        let visited = crawl(&web, order);
        let mut ranks: Vec<f64> = visited.iter().map(|&p| web.rank[p as usize]).collect();
        let count = visited.len();
        ranks.resize(web.out.len(), 0.0);
        row(&format!("{order:?}"), &ranks);
        assert!(count > web.out.len() / 2);
    }
}
