//! `cargo xtask same`: the same crawl of the synthetic web as recorded: URLs with their outcomes, statuses and digests, the
//! totals, and what searches find.
//!
//! A change that is meant to leave behaviour alone is held to it. What bench/same.txt says is expected, or what another binary
//! does with the same web (`--against`); `--update` writes the file anew, and its difference shows what a change did.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::program;
use crate::synthetic::SyntheticWeb;
use crate::workspace::Workspace;

/// Small enough to be crawled in seconds, with every robots file, redirects, duplicates and codings.
const WORLD: [&str; 7] = ["--seed", "11", "--hosts", "16", "--pages", "400", "--full"];
/// What does not depend on how long anything took, and in which order hosts were served.
const TOTALS: [&str; 7] = ["pages", "accepted", "links", "rejected", "outcomes", "statuses", "duplicates"];
const QUERIES: [&str; 4] =
    ["garden", "garden AND NOT castle", "title:village OR heading:paper", "\"wagons valleys\""];
/// What traps lead to depends on who was served first.
const TRAPS: [&str; 3] = ["*/session/*", "*/calendar/*", "*/deep/*"];
/// Differences that are shown.
const SHOWN: usize = 20;

#[derive(Debug, Default, Args)]
pub struct SameArgs {
    /// Compare with this binary instead of with bench/same.txt
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Write bench/same.txt anew: behaviour was meant to change
    #[arg(long)]
    update: bool,
}

pub fn run(workspace: &Workspace, args: &SameArgs) -> Result<()> {
    let lycosa = workspace.build_tested()?;
    let simweb = workspace.target.join("debug/examples/simweb");
    let now = crawl(&lycosa, &simweb)?;
    let file = workspace.root.join("bench/same.txt");
    if args.update {
        return std::fs::write(&file, now).with_context(|| format!("writing {}", file.display()));
    }
    let then = match &args.against {
        Some(binary) => crawl(binary, &simweb)?,
        None => std::fs::read_to_string(&file)
            .with_context(|| format!("reading {}; `cargo xtask same --update` writes it", file.display()))?,
    };
    let different = differences(&then, &now);
    different.iter().take(SHOWN).for_each(|line| eprintln!("{line}"));
    if !different.is_empty() {
        bail!(
            "{} lines differ; where this is meant, run `cargo xtask same --update` and look at the difference",
            different.len()
        );
    }
    println!("{} lines are the same", now.lines().count());
    Ok(())
}

fn crawl(lycosa: &Path, simweb: &Path) -> Result<String> {
    let web = SyntheticWeb::start(simweb, WORLD)?;
    let work = tempfile::tempdir()?;
    let asked = |args: &[&str]| {
        let mut command = Command::new(lycosa);
        command.current_dir(work.path()).env_remove("RUST_LOG").args(args);
        command
    };
    let mut start = asked(&["crawl", &web.seed, "-d", "crawl", "--quiet", "--scope", "any", "--index"]);
    start.args(["--delay", "0", "--ip-delay", "0", "--concurrency", "1"]);
    start.args(["--set", "politeness.retry_ms=50", "--set", "politeness.max_tries=1"]);
    TRAPS.iter().for_each(|pattern| {
        start.args(["--exclude", pattern]);
    });
    start.args(["--allow-net", "127.0.0.0/8", "--resolve", &web.resolve]);
    program::run(&mut start)?;
    let urls = program::capture(&mut asked(&["export", "-d", "crawl", "-f", "urls"]))?;
    let mut lines = urls.lines().map(url_line).collect::<Result<Vec<_>>>()?;
    lines.sort();
    let mut text = lines.concat();
    let report: Value = serde_json::from_str(&program::capture(&mut asked(&["report", "crawl", "--json"]))?)?;
    for name in TOTALS {
        writeln!(text, "total {name} {}", report["totals"][name])?;
    }
    for query in QUERIES {
        let answer =
            program::capture(&mut asked(&["search", query, "-d", "crawl", "--json", "--all", "-n", "1000"]))?;
        let answer: Value = serde_json::from_str(&answer)?;
        let found = answer["results"].as_array().into_iter().flatten();
        let mut found: Vec<&str> = found.filter_map(|result| result["url"].as_str()).collect();
        // Equal scores come in the order of the index, which follows from who was served first.
        found.sort_unstable();
        writeln!(text, "search {query}: {} found, {}", answer["total"], found.join(" "))?;
    }
    Ok(text)
}

fn url_line(line: &str) -> Result<String> {
    let line: Value = serde_json::from_str(line)?;
    let word = |name: &str| line[name].as_str().map_or_else(|| line[name].to_string(), str::to_owned);
    let words: Vec<String> = ["url", "state", "outcome", "status", "digest"].map(word).into();
    Ok(words.join(" ") + "\n")
}

/// Lines that stand on one side only.
fn differences(then: &str, now: &str) -> Vec<String> {
    let only = |text: &str, other: &str, sign: char| -> Vec<String> {
        let others: std::collections::BTreeSet<&str> = other.lines().collect();
        text.lines().filter(|line| !others.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only(then, now, '-'), only(now, then, '+')].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown_from_both_sides() {
        assert!(differences("a\nb\n", "b\na\n").is_empty());
        assert_eq!(differences("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
        let line =
            r#"{"url":"http://a/","state":"done","outcome":"fetched","status":200,"digest":null,"tries":1}"#;
        assert_eq!(url_line(line).unwrap(), "http://a/ done fetched 200 null\n");
    }
}
