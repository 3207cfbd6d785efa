//! How fresh a continuous crawl keeps its copies, by the truth of the synthetic web: freshness and age over time for each
//! policy, with the same web, budget and time.
//!
//! `cargo run --release -p lycosa-engine --example freshness [PAGES] [BUDGET_PER_S] [SECONDS]`
//!
//! The web's clock runs with the real one. A copy counts as taken when the server saw the request for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lycosa_engine::{Config, Crawl, Layout};
use lycosa_frontier::ScopeKind;
use lycosa_frontier::revisit::PolicyKind;
use lycosa_simweb::{
    ChangeConfig, Freshness, Node, PageId, RateSpread, Server, ServerConfig, World, WorldConfig,
};
use lycosa_types::{CanonRules, CanonUrl};

const SAMPLES: u64 = 6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |at: usize, default: f64| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (pages, budget, seconds) = (number(1, 1000.0) as u32, number(2, 50.0), number(3, 90.0));
    let spreads = [
        ("uniform rates", RateSpread::UniformRate { min_ms: 4_000, max_ms: 400_000 }),
        ("power law", RateSpread::PowerLaw { min_ms: 2_000, max_ms: 2_000_000 }),
    ];
    println!("{pages} pages, {budget} requests/s for visits, {seconds} s for each policy\n");
    for (name, spread) in spreads {
        println!(
            "| {name}: seconds | {} |",
            (1..=SAMPLES)
                .map(|n| format!("{:.0}", seconds * n as f64 / SAMPLES as f64))
                .collect::<Vec<_>>()
                .join(" | ")
        );
        println!("| --- |{}", " ---: |".repeat(SAMPLES as usize));
        for policy in [PolicyKind::Optimal, PolicyKind::Uniform, PolicyKind::Proportional, PolicyKind::Age] {
            let found = run(spread, policy, pages, budget, seconds)?;
            let line: Vec<String> =
                found.iter().map(|(fresh, age)| format!("{:.1} %, {age:.0} s", fresh * 100.0)).collect();
            println!("| {policy:?} | {} |", line.join(" | "));
        }
        println!();
    }
    Ok(())
}

/// Share of pages whose copies are fresh, and their mean age in seconds, at evenly spaced times.
fn run(
    spread: RateSpread,
    policy: PolicyKind,
    pages: u32,
    budget: f64,
    seconds: f64,
) -> Result<Vec<(f64, f64)>, Box<dyn std::error::Error>> {
    let change = ChangeConfig { spread, weights: [0, 20, 60, 0, 0], ..ChangeConfig::lively() };
    let world = Arc::new(World::new(WorldConfig { change, ..WorldConfig::clean(11, 20, pages) }));
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
    config.politeness.delay_ms = 0;
    config.politeness.ip_delay_ms = 0;
    config.politeness.per_host = 8;
    config.refresh.continuous = true;
    config.refresh.budget_per_s = budget;
    config.refresh.policy = policy;
    config.refresh.min_interval_s = 1;
    config.limits.max_time_s = seconds as u64;
    let seeds: Vec<CanonUrl> =
        world.seeds(1).iter().filter_map(|seed| CanonUrl::parse(seed, &CanonRules::default()).ok()).collect();
    Crawl::open(Layout::new(dir.path().join("crawl")), config, &seeds)?.run()?;
    stop.store(true, Ordering::Relaxed);
    clock.join().map_err(|_| "the clock stopped")?;
    let entries = server.ledger.entries();
    let mut found = Vec::new();
    for sample in 1..=SAMPLES {
        let at_ms = (seconds * 1000.0 * sample as f64 / SAMPLES as f64) as u64;
        let mut taken = std::collections::HashMap::new();
        for entry in entries.iter().filter(|entry| entry.arrived_us / 1000 <= at_ms) {
            taken.insert(entry.url(), entry.arrived_us / 1000);
        }
        let mut freshness = Freshness::default();
        for number in 0..world.page_count() {
            let page = PageId(number);
            if let Some(&taken_ms) = taken.get(&world.url(Node::Page(page))) {
                freshness.add(world.copy_at(page, taken_ms, at_ms), at_ms, 1.0);
            }
        }
        found.push((freshness.share(), freshness.mean_age_ms() / 1000.0));
    }
    Ok(found)
}
