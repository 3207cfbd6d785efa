//! `cargo xtask cluster`: what a cluster does and costs, on this machine. Written to `bench/results/`.
//!
//! Everything is counted at the web's server or comes from the reports of the nodes. The web answers after a delay, and each
//! node has few requests under way, so that it is the network that limits a node and not the cores they share. No host has so
//! many pages that its own pace would limit two nodes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::audit::Ledger;
use super::crew::{CrawlOptions, Member, alone, fetched};
use super::nats::Nats;
use super::takeover::{self, Takeover};
use super::web::{Web, WebOptions};
use super::{Programs, unix_ms};
use crate::bench::describe_machine;
use crate::workspace::Workspace;

/// No crawl takes longer.
const PATIENCE: Duration = Duration::from_secs(900);
/// A crawl is well under way so long after its nodes got partitions.
const WARM_UP: Duration = Duration::from_secs(9);
/// Rates are taken over so long.
const WINDOW_MS: u64 = 8_000;
/// Between two deaths.
const RECOVERY: Duration = Duration::from_secs(3);
/// Answers take so much longer where a crawl must not end before all was seen.
const SLOWER: u64 = 3;

#[derive(Debug, Args)]
pub struct FiguresArgs {
    /// Pages of the web
    #[arg(long, default_value_t = 12_000)]
    pages: u32,
    #[arg(long, default_value_t = 1_000)]
    hosts: u32,
    /// Sizes of the clusters
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,8")]
    nodes: Vec<usize>,
    /// Delay before each answer of the web
    #[arg(long, default_value_t = 100)]
    latency_ms: u64,
    /// Requests under way per node
    #[arg(long, default_value_t = 6)]
    concurrency: usize,
    /// Programs are here (`lycosa` and `examples/simweb`), instead of being built
    #[arg(long)]
    bin: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Size {
    nodes: usize,
    pages: usize,
    same_set: bool,
    fetched_twice: usize,
    /// From the first request to the last.
    seconds: f64,
    pages_per_s: f64,
    /// The same over the middle half of the pages: without start and tail.
    steady_pages_per_s: f64,
    busiest_over_mean: f64,
    pages_by_node: Vec<u64>,
    links_sent: u64,
    bytes_sent: u64,
    cpu_ms_per_page: f64,
}

#[derive(Serialize)]
struct Figures {
    machine: crate::bench::Machine,
    command: String,
    sizes: Vec<Size>,
    /// Pages per second of two nodes over those of one, whole crawls.
    two_against_one: Option<f64>,
    takeovers: Vec<Takeover>,
    /// Requests per second of the two nodes before and while a third joins.
    join_before_per_s: f64,
    join_during_per_s: f64,
    join_all_during_per_s: f64,
}

pub fn run(workspace: &Workspace, args: &FiguresArgs) -> Result<()> {
    let programs = Programs::find(workspace, true, args.bin.as_deref())?;
    let machine = describe_machine(workspace);
    let room = tempfile::tempdir()?;
    let stage = Stage { programs: &programs, args, room: room.path() };
    let expected = stage.alone()?;
    let mut sizes = Vec::new();
    for &nodes in &args.nodes {
        let size = stage.size(nodes, &expected)?;
        println!("{}", serde_json::to_string(&size)?);
        sizes.push(size);
    }
    let takeovers = stage.takeovers()?;
    println!("{}", serde_json::to_string(&takeovers)?);
    let [join_before_per_s, join_during_per_s, join_all_during_per_s] = stage.join()?;
    let command = format!(
        "cargo xtask cluster --pages {} --hosts {} --latency-ms {} --concurrency {}{}",
        args.pages,
        args.hosts,
        args.latency_ms,
        args.concurrency,
        if args.bin.is_some() { " --bin … (programs built beforehand)" } else { "" }
    );
    let figures = Figures {
        machine,
        command,
        two_against_one: two_against_one(&sizes),
        sizes,
        takeovers,
        join_before_per_s,
        join_during_per_s,
        join_all_during_per_s,
    };
    let text = describe(&figures)?;
    println!("{text}");
    let out = workspace.root.join("bench/results").join(format!("{}-cluster", figures.machine.date));
    std::fs::create_dir_all(&out)?;
    std::fs::write(out.join("README.md"), text)?;
    std::fs::write(out.join("figures.json"), serde_json::to_string_pretty(&figures)?)?;
    println!("written to {}", workspace.relative(&out).display());
    Ok(())
}

fn describe(figures: &Figures) -> Result<String> {
    let machine = &figures.machine;
    let mut out = format!(
        "# Clusters on one machine\n\n`{}`, {}, commit {}, {} cores, load before {:.1}.\n\n\
         | nodes | pages | same set as one machine alone | fetched twice | pages/s | steady pages/s | busiest ÷ mean | links sent per page | \
         bytes sent per page | CPU ms per page |\n\
         | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        figures.command, machine.date, machine.commit, machine.cores, machine.load_before
    );
    for size in &figures.sizes {
        let per_page = |count: u64| count as f64 / size.pages.max(1) as f64;
        writeln!(
            out,
            "| {} | {} | {} | {} | {:.0} | {:.0} | {:.2} | {:.2} | {:.0} | {:.2} |",
            size.nodes,
            size.pages,
            if size.same_set { "yes" } else { "NO" },
            size.fetched_twice,
            size.pages_per_s,
            size.steady_pages_per_s,
            size.busiest_over_mean,
            per_page(size.links_sent),
            per_page(size.bytes_sent),
            size.cpu_ms_per_page,
        )?;
    }
    if let Some(times) = figures.two_against_one {
        writeln!(
            out,
            "\nTwo nodes made {times:.2} times the pages per second of one, from the first request to the last."
        )?;
    }
    writeln!(
        out,
        "\nTakeover after `kill -9` of a node, default settings, from its death until its partitions are open elsewhere and their pages may be requested:\n"
    )?;
    for takeover in &figures.takeovers {
        let Takeover { coordinated, partitions, median_ms, longest_ms } = takeover;
        let who = if *coordinated { "a node that coordinated as well" } else { "a node" };
        let (median, longest) = (*median_ms as f64 / 1000.0, *longest_ms as f64 / 1000.0);
        writeln!(out, "- {who}, {partitions} partitions: median {median:.1} s, longest {longest:.1} s")?;
    }
    let (before, during) = (figures.join_before_per_s, figures.join_during_per_s);
    writeln!(
        out,
        "\nA third node joins two: these made {before:.0} requests per second before, {during:.0} in the {} s after \
         it came, all three together {:.0}.",
        WINDOW_MS / 1000,
        figures.join_all_during_per_s,
    )?;
    Ok(out)
}

fn two_against_one(sizes: &[Size]) -> Option<f64> {
    let rate = |nodes| sizes.iter().find(|size| size.nodes == nodes).map(|size| size.pages_per_s);
    Some(rate(2)? / rate(1)?)
}

struct Stage<'a> {
    programs: &'a Programs,
    args: &'a FiguresArgs,
    room: &'a Path,
}

/// A cluster at work.
struct Scene {
    nodes: Vec<Member>,
    options: CrawlOptions,
    dir: PathBuf,
    web: Web,
    nats: Nats,
}

impl Stage<'_> {
    fn world(&self) -> WebOptions {
        WebOptions {
            seed: 1,
            hosts: self.args.hosts,
            pages: self.args.pages,
            latency_ms: self.args.latency_ms,
        }
    }

    fn options(&self) -> CrawlOptions {
        CrawlOptions { delay_ms: 0, partitions: 64, concurrency: self.args.concurrency, replicas: 1 }
    }

    fn alone(&self) -> Result<BTreeSet<String>> {
        let dir = self.room.join("alone");
        let web = Web::start(
            &self.programs.simweb,
            &dir.join("web"),
            WebOptions { latency_ms: 0, ..self.world() },
        )?;
        alone(self.programs, &web, &dir.join("node"), &self.options())
    }

    fn scene(&self, name: &str, count: usize, slower: u64) -> Result<Scene> {
        let dir = self.room.join(name);
        let web = Web::start(
            &self.programs.simweb,
            &dir.join("web"),
            WebOptions { latency_ms: self.args.latency_ms * slower, ..self.world() },
        )?;
        let nats = Nats::start(&self.programs.nats, &dir, 1)?;
        let options = self.options();
        let mut nodes = Vec::new();
        for number in 0..count {
            let mut node = Member::new(&format!("n{number}"), &dir, &nats)?;
            if number == 0 {
                node.crawl(&self.programs.lycosa, &web, &options)?;
            } else {
                node.join(&self.programs.lycosa, &options)?;
            }
            nodes.push(node);
        }
        Ok(Scene { nodes, options, dir, web, nats })
    }

    fn size(&self, count: usize, expected: &BTreeSet<String>) -> Result<Size> {
        let mut scene = self.scene(&format!("size-{count}"), count, 1)?;
        let (mut found, mut links_sent, mut bytes_sent, mut cpu_s) = (BTreeSet::new(), 0, 0, 0.0);
        for node in &mut scene.nodes {
            let status = node.wait(PATIENCE)?;
            if !status.success() {
                bail!("{} ended with {status}:\n{}", node.name, node.log_tail());
            }
            let report: Value = node.report()?;
            links_sent += report["cluster"]["links_sent"].as_u64().unwrap_or(0);
            bytes_sent += report["cluster"]["bytes_sent"].as_u64().unwrap_or(0);
            cpu_s += report["run"]["cpu_s"].as_f64().unwrap_or(0.0);
            found.extend(fetched(&self.programs.lycosa, &node.dir)?);
        }
        let ledger = scene.web.finish()?;
        let times: Vec<u64> = ledger.pages().map(|request| request.arrived_us).collect();
        let (first, last) = (times.first().context("no page was asked for")?, times.last().unwrap_or(&0));
        let seconds = (last - first) as f64 / 1e6;
        let (early, late) = (times[times.len() / 4], times[times.len() * 3 / 4]);
        let pages = times.len();
        Ok(Size {
            nodes: count,
            pages,
            same_set: found == *expected,
            fetched_twice: ledger.repeats().len(),
            seconds,
            pages_per_s: pages as f64 / seconds.max(1e-9),
            steady_pages_per_s: pages as f64 / 2.0 / ((late - early).max(1) as f64 / 1e6),
            busiest_over_mean: ledger.balance(count),
            pages_by_node: ledger.pages_by_node().into_values().collect(),
            links_sent,
            bytes_sent,
            cpu_ms_per_page: cpu_s * 1000.0 / pages.max(1) as f64,
        })
    }

    /// A node dies, and then the one that coordinates.
    fn takeovers(&self) -> Result<Vec<Takeover>> {
        let mut scene = self.scene("takeover", 4, SLOWER)?;
        takeover::all_at_work(&scene.nodes)?;
        std::thread::sleep(WARM_UP);
        let first = takeover::measure(&mut scene.nodes, false)?;
        std::thread::sleep(RECOVERY);
        let second = takeover::measure(&mut scene.nodes, true)?;
        scene.end()?;
        Ok(vec![first, second])
    }

    fn join(&self) -> Result<[f64; 3]> {
        let mut scene = self.scene("join", 2, SLOWER)?;
        takeover::all_at_work(&scene.nodes)?;
        std::thread::sleep(WARM_UP);
        let mut third = Member::new("n2", &scene.dir, &scene.nats)?;
        let joined = unix_ms();
        third.join(&self.programs.lycosa, &scene.options)?;
        scene.nodes.push(third);
        std::thread::sleep(Duration::from_millis(WINDOW_MS + 1000));
        let ledger = scene.end()?;
        let (from, until) = (joined - WINDOW_MS, joined + WINDOW_MS);
        Ok([
            ledger.rate(from, joined, |node| node != "n2"),
            ledger.rate(joined, until, |node| node != "n2"),
            ledger.rate(joined, until, |_| true),
        ])
    }
}

impl Scene {
    /// Stops everybody, whatever is left.
    fn end(mut self) -> Result<Ledger> {
        self.nodes.iter_mut().for_each(Member::kill);
        self.web.finish()
    }
}
