//! The synthetic web with many hosts, politeness on: only lycosa, judged by the ledger that the server keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use crate::measure;
use crate::synthetic::SyntheticWeb;

use super::peers::Peer;
use super::results::{CorpusResult, Turn};
use super::round::{Arena, stored_bytes};

const HOSTS: u32 = 10_000;
const PAGES: u32 = 200_000;

/// Addresses that are not pages, though answered with 200.
const NO_PAGES: [&str; 2] = ["/robots.txt", "/sitemap"];

#[derive(Deserialize)]
struct Asked {
    arrived_us: u64,
    status: u16,
    host: String,
    path: String,
}

pub fn run(arena: &Arena<'_>, programs: &[Peer], rounds: usize) -> Result<CorpusResult> {
    let about = format!("synthetic web of {HOSTS} hosts and {PAGES} pages, one request per host and second");
    let mut result = CorpusResult::new("sim", about);
    let mut reachable = BTreeSet::new();
    for round in 1..=rounds {
        for peer in programs.iter().filter(|peer| peer.is_lycosa()) {
            let (turn, pages) = turn(arena, *peer, round)?;
            eprintln!("sim round {round}: {turn}");
            reachable.extend(pages);
            result.turns.push(turn);
        }
    }
    result.settle(reachable.len() as u64);
    Ok(result)
}

fn turn(arena: &Arena<'_>, peer: Peer, round: usize) -> Result<(Turn, BTreeSet<String>)> {
    arena.clean()?;
    let ledger = arena.work.with_extension("ledger");
    let (hosts, pages) = (HOSTS.to_string(), PAGES.to_string());
    let arguments = ["--hosts", &hosts, "--pages", &pages, "--ledger"].map(OsStr::new);
    let web = SyntheticWeb::start(&arena.binaries.simweb, arguments.into_iter().chain([ledger.as_os_str()]))?;
    let mut command = Command::new(&arena.binaries.lycosa);
    command.args(["crawl", &web.seed, "-d", "crawl", "--allow-net", "127.0.0.0/8", "--scope", "any"]);
    command.args([
        "--no-requisites",
        "--delay",
        "1",
        "--ip-delay",
        "0",
        "--concurrency",
        "4096",
        "--depth",
        "1000",
        "--json",
    ]);
    command.arg("--resolve").arg(&web.resolve).current_dir(&arena.work);
    if peer == Peer::LycosaNoArchive {
        command.arg("--no-archive");
    }
    let measured = measure::measure(&command, arena.limit, &arena.work);
    drop(web);
    let (cost, _) = measured?;

    let (pages, requests, gap_ms) = read_ledger(&ledger)?;
    let mut turn = Turn::new(peer, round, cost, pages.len() as u64, requests, stored_bytes(&arena.work));
    turn.shortest_gap_ms = gap_ms;
    std::fs::remove_dir_all(&arena.work)?;
    std::fs::remove_file(&ledger)?;
    Ok((turn, pages))
}

/// Distinct pages, number of requests, and the shortest gap between two requests to one host.
fn read_ledger(file: &Path) -> Result<(BTreeSet<String>, u64, Option<f64>)> {
    let mut pages = BTreeSet::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let (mut requests, mut shortest) = (0, None::<u64>);
    for line in BufReader::new(std::fs::File::open(file)?).lines() {
        let asked: Asked = serde_json::from_str(&line?)?;
        requests += 1;
        if asked.status == 200 && !NO_PAGES.iter().any(|prefix| asked.path.starts_with(prefix)) {
            pages.insert(format!("{}{}", asked.host, asked.path));
        }
        if let Some(before) = last.insert(asked.host, asked.arrived_us) {
            let gap = asked.arrived_us.saturating_sub(before);
            shortest = Some(shortest.map_or(gap, |least| least.min(gap)));
        }
    }
    Ok((pages, requests, shortest.map(|us| us as f64 / 1000.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_gives_pages_and_the_shortest_gap() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ledger");
        let line = |at: u64, status: u16, host: &str, path: &str| {
            format!(
                r#"{{"arrived_us":{at},"status":{status},"host":"{host}","path":"{path}","took_us":null}}"#
            )
        };
        let lines = [
            line(0, 200, "a.sim", "/robots.txt"),
            line(1_000_000, 200, "a.sim", "/"),
            line(1_000_500, 200, "b.sim", "/"),
            line(3_000_000, 404, "a.sim", "/x"),
        ];
        std::fs::write(&file, lines.join("\n")).unwrap();
        let (pages, requests, gap) = read_ledger(&file).unwrap();
        assert_eq!((pages.len(), requests, gap), (2, 4, Some(1000.0)));
    }
}
