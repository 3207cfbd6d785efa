//! `lycosa seeds`: where the next crawl should start, from what an earlier one found.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_graph::RankOptions;
use lycosa_graph::seed_set::{Candidate, SeedOptions, choose};
use lycosa_types::{CanonUrl, HostKey, Outcome, UrlRecord};
use serde::Serialize;

use crate::exit::Exit;
use crate::figures::{count, plural};
use crate::link_graph::LinkGraph;
use crate::output::{stdout, tell};

const EXAMPLES: &str = "\
Examples:
  lycosa seeds -d docs -n 100 | lycosa crawl - -d docs-again
  lycosa seeds -d docs --per-host 3 --json | jq -r .url";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SeedsArgs {
    /// The directory of the earlier crawl
    #[arg(short, long, visible_alias = "from", value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    data: PathBuf,
    /// Choose at most so many seeds [default: no limit]
    #[arg(short, value_name = "N")]
    n: Option<usize>,
    /// Choose at most so many of the best pages of a host
    #[arg(long, value_name = "K", default_value_t = 1)]
    per_host: usize,
    /// Print one JSON line for each seed
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct SeedLine<'a> {
    url: &'a str,
    /// The average is 1.
    rank: f32,
}

pub fn run(args: SeedsArgs) -> Result<Exit> {
    let graph = LinkGraph::open(CrawlReader::open(Layout::new(args.data))?)?;
    let ranks = graph.ranks(&RankOptions::default())?;
    let mut numbers: Vec<(u64, u32)> = graph.index.ids()?.into_iter().zip(0..).collect();
    numbers.sort_unstable();
    let mut candidates = Vec::new();
    for item in graph.reader.store.urls() {
        let (id, record) = item?;
        let place = numbers.binary_search_by_key(&id.key.low(), |pair| pair.0);
        if let (true, Ok(place)) = (may_be_seed(&record), place) {
            let url = CanonUrl::from_canonical(record.url);
            candidates.push(Candidate {
                number: numbers[place].1,
                rank: ranks.rank_of(id.key.low()).unwrap_or(0.0),
                host: HostKey::of(url.origin()).0,
            });
        }
    }
    drop(numbers);
    let pages = candidates.len();
    let options = SeedOptions { most: args.n.unwrap_or(usize::MAX), per_host: args.per_host };
    let set = choose(&graph.index, candidates, &options)?;
    let mut out = stdout();
    for &number in &set.seeds {
        let id = graph.index.id(number)?;
        let Some(record) = graph.record(id)? else { continue };
        if args.json {
            let line = SeedLine { url: &record.url, rank: ranks.rank_of(id).unwrap_or(0.0) };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        } else {
            writeln!(out, "{}", record.url)?;
        }
    }
    out.flush()?;
    let share = if pages == 0 { 0.0 } else { set.reached as f64 / pages as f64 * 100.0 };
    tell!(
        "{}; links lead from them to {} of {} pages ({share:.1} %)",
        plural(set.seeds.len() as u64, "seed", "seeds"),
        count(set.reached as u64),
        count(pages as u64)
    );
    Ok(Exit::Done)
}

/// Pages that were there, and are not copies of others.
fn may_be_seed(record: &UrlRecord) -> bool {
    let is_page = matches!(record.outcome, Some(Outcome::Fetched { .. } | Outcome::NotModified));
    is_page && record.visit.as_ref().is_some_and(|facts| facts.duplicate_of.is_none())
}
