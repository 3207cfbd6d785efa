//! How fresh a continuous crawl keeps its copies, by the truth of the synthetic web: each policy in a crawl of its own,
//! with the same pages, changes, budget and time, side by side; beside them the policy that is told the true rates.
//!
//! `cargo run --release -p lycosa-engine --example freshness -- [--pages N] [--seconds N] [--budget PER_S]… [--rates uniform|power-law] [--json]`
//! measures; `freshness --read FILE… [--svg FILE]` shows what was measured and written as JSON.
//!
//! The web's clock runs with the real one. A copy counts as taken when the server saw the request for it. Freshness is
//! looked at every second; the steady state is the second half.

mod report;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lycosa_engine::{Config, Crawl, KnownRates, Layout};
use lycosa_frontier::ScopeKind;
use lycosa_frontier::revisit::PolicyKind;
use lycosa_simweb::{
    ChangeConfig, Entry, Freshness, Node, PageId, RateSpread, Server, ServerConfig, World, WorldConfig,
};
use lycosa_types::{CanonRules, CanonUrl};

use crate::report::Row;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: freshness [--pages N] [--seconds N] [--budget PER_S]… [--rates uniform|power-law] [--json], or freshness --read FILE… [--svg FILE]";
const STRETCHES: usize = 10;
const SPREADS: [(&str, RateSpread); 2] = [
    ("uniform", RateSpread::UniformRate { min_ms: 8_000, max_ms: 800_000 }),
    ("power-law", RateSpread::PowerLaw { min_ms: 4_000, max_ms: 4_000_000 }),
];
/// Name, policy, whether it is told the true rates.
const POLICIES: [(&str, PolicyKind, bool); 5] = [
    ("oracle", PolicyKind::Optimal, true),
    ("optimal", PolicyKind::Optimal, false),
    ("uniform", PolicyKind::Uniform, false),
    ("proportional", PolicyKind::Proportional, false),
    ("age", PolicyKind::Age, false),
];

struct Args {
    pages: u32,
    seconds: u64,
    budgets: Vec<f64>,
    spreads: Vec<(&'static str, RateSpread)>,
    json: bool,
    read: Vec<PathBuf>,
    svg: Option<PathBuf>,
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Args> {
    let mut args = Args {
        pages: 500,
        seconds: 1200,
        budgets: Vec::new(),
        spreads: SPREADS.to_vec(),
        json: false,
        read: Vec::new(),
        svg: None,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pages" => args.pages = words.next()?.parse().ok().filter(|n| *n > 0)?,
            "--seconds" => args.seconds = words.next()?.parse().ok().filter(|n| *n >= 20)?,
            "--budget" => args.budgets.push(words.next()?.parse().ok().filter(|n: &f64| *n > 0.0)?),
            "--rates" => {
                let name = words.next()?;
                args.spreads.retain(|(spread, _)| *spread == name);
                if args.spreads.is_empty() {
                    return None;
                }
            }
            "--json" => args.json = true,
            "--read" => args.read.push(words.next()?.into()),
            "--svg" => args.svg = Some(words.next()?.into()),
            _ => return None,
        }
    }
    if args.budgets.is_empty() {
        args.budgets = vec![12.5, 25.0, 50.0];
    }
    Some(args)
}

/// The web knows.
struct Truth(HashMap<String, f64>);

impl KnownRates for Truth {
    fn rate_per_s(&self, url: &str) -> Option<f64> {
        self.0.get(url).copied()
    }
}

/// How one crawl went.
struct Outcome {
    /// In each tenth of the time, from the first: share of pages whose copies are fresh, their mean age, requests per second.
    stretches: Vec<(f64, f64, f64)>,
    /// The share in the second half.
    freshness: f64,
    age_s: f64,
    requests_per_s: f64,
    received_bytes: u64,
    /// Requests that were answered without a body, in the second half.
    not_modified: f64,
}

fn main() -> Result<(), Failure> {
    let Some(args) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let rows = if args.read.is_empty() { measure(&args)? } else { read(&args.read)? };
    if let Some(path) = &args.svg {
        std::fs::write(path, report::svg(&rows))?;
    }
    if args.json {
        let lines = rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        println!("[\n{}\n]", lines.join(",\n"));
    } else {
        print!("{}", report::tables(&rows));
    }
    Ok(())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for path in paths {
        rows.append(&mut serde_json::from_slice::<Vec<Row>>(&std::fs::read(path)?)?);
    }
    Ok(rows)
}

fn measure(args: &Args) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for &(name, spread) in &args.spreads {
        for &budget in &args.budgets {
            let (pages, seconds) = (args.pages, args.seconds);
            let crawls: Vec<_> = POLICIES
                .iter()
                .map(|&(_, kind, knows)| {
                    std::thread::spawn(move || run(spread, kind, knows, pages, budget, seconds))
                })
                .collect();
            let mut found = Vec::new();
            for crawl in crawls {
                found.push(crawl.join().map_err(|_| "a crawl broke off")??);
            }
            let changes_per_s = rates(&world(spread, pages)).0.values().sum();
            let best = found[0].freshness;
            for ((policy, ..), outcome) in POLICIES.iter().zip(found) {
                rows.push(Row {
                    rates: name.to_owned(),
                    changes_per_s,
                    budget_per_s: budget,
                    policy: (*policy).to_owned(),
                    freshness: outcome.freshness,
                    to_oracle_percent: 100.0 * (outcome.freshness / best - 1.0),
                    age_s: outcome.age_s,
                    requests_per_s: outcome.requests_per_s,
                    not_modified: outcome.not_modified,
                    received_bytes: outcome.received_bytes,
                    freshness_over_time: outcome.stretches.iter().map(|s| s.0).collect(),
                    age_s_over_time: outcome.stretches.iter().map(|s| s.1).collect(),
                    requests_per_s_over_time: outcome.stretches.iter().map(|s| s.2).collect(),
                });
            }
        }
    }
    Ok(rows)
}

fn world(spread: RateSpread, pages: u32) -> World {
    let change = ChangeConfig { spread, weights: [0, 20, 60, 0, 0], ..ChangeConfig::lively() };
    World::new(WorldConfig { change, ..WorldConfig::clean(11, 20, pages) })
}

fn rates(world: &World) -> Truth {
    let pages = (0..world.page_count()).map(PageId);
    Truth(pages.map(|page| (world.url(Node::Page(page)), world.change_rate_per_s(page))).collect())
}

fn run(
    spread: RateSpread,
    policy: PolicyKind,
    knows: bool,
    pages: u32,
    budget: f64,
    seconds: u64,
) -> Result<Outcome, Failure> {
    let world = Arc::new(world(spread, pages));
    let server = Server::start_with(Arc::clone(&world), ServerConfig::loopbacks(1))?;
    let started = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let clock = {
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                world.set_time_ms(started.elapsed().as_millis() as u64);
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let dir = tempfile::tempdir()?;
    let mut config = Config::default();
    config.scope.kind = ScopeKind::Any;
    config.scope.depth = 1000;
    config.fetch.allow_net = vec!["127.0.0.0/8".into()];
    config.fetch.resolve = vec![format!("*.sim:80:127.0.0.1:{}", server.port())];
    config.fetch.workers = 1;
    config.memory.budget_mib = 64;
    config.politeness.delay_ms = 0;
    config.politeness.ip_delay_ms = 0;
    config.politeness.per_host = 8;
    config.refresh.continuous = true;
    config.refresh.budget_per_s = budget;
    config.refresh.policy = policy;
    config.refresh.min_interval_s = 1;
    config.limits.max_time_s = seconds;
    let seeds: Vec<CanonUrl> =
        world.seeds(1).iter().filter_map(|seed| CanonUrl::parse(seed, &CanonRules::default()).ok()).collect();
    let mut crawl = Crawl::open(Layout::new(dir.path().join("crawl")), config, &seeds)?;
    if knows {
        crawl = crawl.knowing(Arc::new(rates(&world)));
    }
    let end = crawl.run()?;
    stop.store(true, Ordering::Relaxed);
    clock.join().map_err(|_| "the clock stopped")?;
    let mut entries = server.ledger.entries();
    entries.sort_by_key(|entry| entry.arrived_us);
    let outcome = judge(&world, &entries, seconds);
    Ok(Outcome { received_bytes: end.report.run.received_bytes, ..outcome })
}

/// Freshness by the truth, second by second.
fn judge(world: &World, entries: &[Entry], seconds: u64) -> Outcome {
    let known: HashMap<String, u32> =
        (0..world.page_count()).map(|number| (world.url(Node::Page(PageId(number))), number)).collect();
    let mut taken: Vec<Option<u64>> = vec![None; known.len()];
    let mut visits = entries
        .iter()
        .filter_map(|entry| Some((entry.arrived_us / 1000, *known.get(&entry.url())?, entry.status == 304)));
    let mut next = visits.next();
    let mut stretches = vec![(0.0, 0.0, 0.0); STRETCHES];
    let (mut late, mut late_unchanged) = (0u64, 0u64);
    let length = seconds as f64 / STRETCHES as f64;
    for second in 1..=seconds {
        let at_ms = second * 1000;
        let stretch = &mut stretches[((second - 1) as f64 / length) as usize % STRETCHES];
        while let Some((arrived_ms, page, unchanged)) = next.filter(|visit| visit.0 <= at_ms) {
            taken[page as usize] = Some(arrived_ms);
            stretch.2 += 1.0 / length;
            if second > seconds / 2 {
                late += 1;
                late_unchanged += u64::from(unchanged);
            }
            next = visits.next();
        }
        let mut freshness = Freshness::default();
        for (page, taken_ms) in taken.iter().enumerate() {
            if let Some(taken_ms) = *taken_ms {
                freshness.add(world.copy_at(PageId(page as u32), taken_ms, at_ms), at_ms, 1.0);
            }
        }
        stretch.0 += freshness.share() / length;
        stretch.1 += freshness.mean_age_ms() / 1000.0 / length;
    }
    let half = &stretches[STRETCHES / 2..];
    let mean = |value: fn(&(f64, f64, f64)) -> f64| half.iter().map(value).sum::<f64>() / half.len() as f64;
    Outcome {
        freshness: mean(|s| s.0),
        age_s: mean(|s| s.1),
        requests_per_s: mean(|s| s.2),
        not_modified: late_unchanged as f64 / late.max(1) as f64,
        received_bytes: 0,
        stretches,
    }
}
