//! The frontier at scale: synthetic URLs, each sighted five times on average, through seen-test, queueing, leasing,
//! finishing and commit, with the real store and a committer of its own, in a fixed memory budget.
//!
//! ```text
//! frontier_scale run DIR [URLS] [BUDGET_MIB] [HOSTS] [EVERY]    a line of JSON per EVERY URLs, then the totals
//! frontier_scale resume DIR [BUDGET_MIB]                        opens what a run left behind (also after kill -9)
//! ```

mod crawl;
mod meter;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use lycosa_frontier::{Frontier, FrontierOptions, Rules, Store};
use lycosa_types::{Exclusion, UnixMs};

use crawl::Crawl;
use web::Web;

/// The program's own.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub type Failed = Box<dyn std::error::Error>;

/// The made-up clock starts here.
pub const START: UnixMs = UnixMs(1_700_000_000_000);
const LINKS_PER_PAGE: u32 = 30;
const SIGHTINGS: u32 = 5;
const SEEDS: u64 = 10_000;

#[derive(Debug)]
pub struct AllAllowed;

impl Rules for AllAllowed {
    fn check(&self, _: &str) -> Result<(), Exclusion> {
        Ok(())
    }

    fn delay_ms(&self) -> Option<u64> {
        None
    }
}

fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| match args.get(at) {
        Some(text) => text.replace('_', "").parse::<u64>().map_err(|error| format!("{text}: {error}")),
        None => Ok(default),
    };
    let dir = args.get(1).map(PathBuf::from);
    match (args.first().map(String::as_str), dir) {
        (Some("run"), Some(dir)) => {
            let (urls, budget_mib, hosts) =
                (number(2, 100_000_000)?, number(3, 2048)?, number(4, 1_000_000)?);
            run(&dir, urls, budget_mib, hosts, number(5, urls.div_ceil(10))?)
        }
        (Some("resume"), Some(dir)) => resume(&dir, number(2, 2048)?),
        _ => {
            Err("usage: frontier_scale run DIR [URLS] [BUDGET_MIB] [HOSTS] [EVERY] | resume DIR [BUDGET_MIB]"
                .into())
        }
    }
}

/// How a memory budget is shared out, as in the engine: half of it is the seen-set's.
fn open(dir: &Path, budget_mib: u64, clean: bool, now: UnixMs) -> Result<(Frontier, Arc<Store>), Failed> {
    let budget = (budget_mib << 20) as usize;
    let store = Arc::new(Store::open(dir, (budget / 8) as u64)?);
    let options = FrontierOptions {
        max_entries_in_memory: budget / 16 / 300,
        max_hosts_in_memory: budget / 8 / 1000,
        seen_bytes: budget / 2,
        politeness: lycosa_frontier::Politeness { ip_delay_ms: 0, ..Default::default() },
        ..FrontierOptions::default()
    };
    let frontier =
        Frontier::open(options, Arc::clone(&store), Box::new(|_, _| Arc::new(AllAllowed)), clean, now)?;
    Ok((frontier, store))
}

fn run(dir: &Path, urls: u64, budget_mib: u64, hosts: u64, every: u64) -> Result<(), Failed> {
    std::fs::create_dir_all(dir)?;
    let (frontier, store) = open(dir, budget_mib, true, START)?;
    let started = Instant::now();
    let mut crawl = Crawl::new(frontier, store, dir.to_owned(), urls, every);
    crawl.run(Web::new(urls, hosts, LINKS_PER_PAGE, SIGHTINGS), SEEDS)?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{{\"total\":true,\"urls\":{},\"sightings\":{},\"pages\":{},\"seconds\":{seconds:.1},\"sightings_per_s\":{:.0},\
         \"peak_mib\":{:.0},\"disk_mib\":{:.0}}}",
        crawl.accepted,
        crawl.sightings,
        crawl.pages,
        crawl.sightings as f64 / seconds,
        meter::memory_mib().1,
        meter::disk_mib(dir),
    );
    // As kill -9 would: nothing is closed, nothing is tidied up.
    std::process::abort();
}

fn resume(dir: &Path, budget_mib: u64) -> Result<(), Failed> {
    let started = Instant::now();
    let now = UnixMs(START.0 + 365 * 86_400_000);
    let (mut frontier, _store) = open(dir, budget_mib, false, now)?;
    let opened = started.elapsed().as_secs_f64();
    let mut dropped = Vec::new();
    let later = now.plus_ms(2000);
    let lease = frontier.lease(later, &mut dropped)?;
    let (rss, peak) = meter::memory_mib();
    println!(
        "{{\"opened_s\":{opened:.2},\"first_lease_s\":{:.2},\"leased\":{},\"counts\":\"{:?}\",\"rss_mib\":{rss:.0},\"peak_mib\":{peak:.0}}}",
        started.elapsed().as_secs_f64(),
        lease.is_some(),
        frontier.counts(),
    );
    Ok(())
}
