//! `cargo xtask soak`: a crawl by real processes on real NATS servers while things go wrong, and what must hold at its end.
//!
//! - The pages fetched are those that one machine alone fetches, and each can be found in an archive.
//! - A page is asked for again only if it was under way, or not yet written, when something went wrong with the node that
//!   had asked for it.
//! - No host is asked more often than it may be, as its server sees it.
//! - Every node ends by itself, with exit code 0.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use nix::sys::signal::Signal;

use super::audit::Repeat;
use super::crew::{CrawlOptions, Member, SmallDisk, alone, archived, fetched};
use super::fault::{Fault, Trouble, plan};
use super::nats::Nats;
use super::web::{Web, WebOptions};
use super::{Programs, unix_ms};
use crate::workspace::Workspace;

const NODES: [&str; 3] = ["a", "b", "c"];
/// The node whose disk can be full.
const SMALL: usize = 2;
const SMALL_DISK_MIB: u32 = 512;
const HOSTS: u32 = 24;
const DELAY_MS: u64 = 100;
/// Pages that the crawl needs so that it is still going on when the last fault strikes.
const PAGES_PER_FAULT: u32 = 700;
/// The crawl is well under way before anything goes wrong.
const WARM_UP: Duration = Duration::from_secs(5);
/// From the last fault to the end of the crawl.
const PATIENCE: Duration = Duration::from_secs(400);
/// A node whose disk is full notices at the next commit.
const FULL_PATIENCE: Duration = Duration::from_secs(60);
/// What was asked for so long before a fault is written when it strikes: commits are a fraction of a second apart, and wait
/// for the servers.
const UNDER_WAY_MS: u64 = 3_000;
/// What a node asked for so long after a fault's end may still have belonged to a stay that the fault ended.
const ECHO_MS: u64 = 3_000;

#[derive(Debug, Args)]
pub struct SoakArgs {
    /// How many things go wrong
    #[arg(long, default_value_t = 20)]
    faults: usize,
    /// What goes wrong when follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// NATS servers: 1, or 3 that hold each message together
    #[arg(long, default_value_t = 1)]
    servers: usize,
    /// Programs are here (`lycosa` and `examples/simweb`), instead of being built
    #[arg(long)]
    bin: Option<PathBuf>,
}

impl SoakArgs {
    /// A few faults, for every run of the checks.
    pub fn short() -> Self {
        Self { faults: 3, seed: 1, servers: 1, bin: None }
    }
}

pub fn run(workspace: &Workspace, args: &SoakArgs) -> Result<()> {
    let programs = Programs::find(workspace, false, args.bin.as_deref())?;
    let room = tempfile::tempdir()?;
    let mut soak = Soak::start(&programs, room.path(), args)?;
    soak.suffer(args)?;
    let result = soak.finish();
    if let Err(error) = &result {
        let kept = room.keep();
        eprintln!("everything is kept in {} ({error:#})", kept.display());
    }
    result
}

struct Soak<'a> {
    programs: &'a Programs,
    dir: &'a Path,
    options: CrawlOptions,
    nodes: Vec<Member>,
    coordinator: Member,
    coordinators: usize,
    expected: BTreeSet<String>,
    /// When things were wrong.
    troubles: Vec<(Trouble, u64, u64)>,
    small: Option<SmallDisk>,
    nats: Nats,
    web: Option<Web>,
}

impl<'a> Soak<'a> {
    fn start(programs: &'a Programs, dir: &'a Path, args: &SoakArgs) -> Result<Self> {
        let pages = (args.faults as u32).max(3) * PAGES_PER_FAULT;
        let world = WebOptions { seed: args.seed, hosts: HOSTS, pages, latency_ms: 0 };
        let options =
            CrawlOptions { delay_ms: 0, partitions: 32, concurrency: 64, replicas: args.servers.min(3) };
        let first = Web::start(&programs.simweb, &dir.join("first"), world)?;
        let expected = alone(programs, &first, &dir.join("alone"), &options)?;
        first.finish()?;
        let options = CrawlOptions { delay_ms: DELAY_MS, ..options };
        let nats = Nats::start(&programs.nats, dir, args.servers)?;
        let web = Web::start(&programs.simweb, &dir.join("web"), world)?;
        let mut nodes = NODES.iter().map(|name| Member::new(name, dir, &nats)).collect::<Result<Vec<_>>>()?;
        let small = SmallDisk::mount(&nodes[SMALL].dir, SMALL_DISK_MIB);
        if let Err(error) = &small {
            println!("no disk will be full: {error}");
        }
        for (number, node) in nodes.iter_mut().enumerate() {
            if number == 0 {
                node.crawl(&programs.lycosa, &web, &options)?;
            } else {
                node.join(&programs.lycosa, &options)?;
            }
        }
        let mut coordinator = Member::new("coordinator-0", dir, &nats)?;
        coordinator.coordinate(&programs.lycosa, &options)?;
        println!("{} pages on {HOSTS} hosts, {} nodes, {} servers", expected.len(), NODES.len(), nats.len());
        Ok(Self {
            programs,
            dir,
            options,
            nodes,
            coordinator,
            coordinators: 1,
            expected,
            troubles: Vec::new(),
            small: small.ok(),
            nats,
            web: Some(web),
        })
    }

    fn suffer(&mut self, args: &SoakArgs) -> Result<()> {
        std::thread::sleep(WARM_UP);
        let small = self.small.as_ref().map(|_| SMALL);
        for (number, fault) in
            plan(args.seed, args.faults, NODES.len(), self.nats.len(), small).iter().enumerate()
        {
            if self.nodes.iter_mut().any(|node| matches!(node.ended(), Ok(Some(_)))) {
                self.tell_ends()?;
                bail!("the crawl ended after {number} of {} faults", args.faults);
            }
            println!("{:>3}. {fault}", number + 1);
            let began = unix_ms();
            self.strike(fault)?;
            self.troubles.push((fault.trouble, began, unix_ms()));
            std::thread::sleep(Duration::from_millis(fault.calm_ms));
        }
        Ok(())
    }

    fn strike(&mut self, fault: &Fault) -> Result<()> {
        let down = Duration::from_millis(fault.down_ms);
        let lycosa = &self.programs.lycosa;
        match fault.trouble {
            Trouble::KillNode(node) => {
                self.nodes[node].kill();
                std::thread::sleep(down);
                self.nodes[node].join(lycosa, &self.options)?;
            }
            Trouble::KillCoordinator => {
                self.coordinator.kill();
                std::thread::sleep(down);
                let name = format!("coordinator-{}", self.coordinators);
                self.coordinators += 1;
                self.coordinator = Member::new(&name, self.dir, &self.nats)?;
                self.coordinator.coordinate(lycosa, &self.options)?;
            }
            Trouble::KillServer(server) => {
                self.nats.kill(server);
                std::thread::sleep(down);
                self.nats.up(server)?;
            }
            Trouble::Pause(node) => {
                self.nodes[node].signal(Signal::SIGSTOP)?;
                std::thread::sleep(down);
                self.nodes[node].signal(Signal::SIGCONT)?;
            }
            Trouble::Cut(node) => {
                self.nodes[node].set_cut(true);
                std::thread::sleep(down);
                self.nodes[node].set_cut(false);
            }
            Trouble::FullDisk(node) => {
                let Some(disk) = &self.small else { return Ok(()) };
                disk.fill()?;
                let ended = self.nodes[node].wait(FULL_PATIENCE)?;
                if ended.success() {
                    bail!("node {node} ended well although its disk was full");
                }
                disk.free()?;
                self.nodes[node].join(lycosa, &self.options)?;
            }
        }
        Ok(())
    }

    /// Says how the nodes that have ended did so.
    fn tell_ends(&mut self) -> Result<()> {
        for node in &mut self.nodes {
            if let Some(status) = node.ended()? {
                println!("node {} ended with {status}:\n{}", node.name, node.log_tail());
            }
        }
        Ok(())
    }

    /// Whether something was wrong with the node that had asked first.
    fn explains(&self, repeat: &Repeat) -> bool {
        self.troubles.iter().any(|&(trouble, began, ended)| {
            let struck = match trouble {
                Trouble::KillNode(node)
                | Trouble::Pause(node)
                | Trouble::Cut(node)
                | Trouble::FullDisk(node) => repeat.before == NODES[node],
                Trouble::KillServer(_) => true,
                Trouble::KillCoordinator => false,
            };
            struck && (began.saturating_sub(UNDER_WAY_MS)..ended + ECHO_MS).contains(&repeat.before_ms)
        })
    }

    fn finish(mut self) -> Result<()> {
        let mut wrongs = Vec::new();
        for node in &mut self.nodes {
            match node.wait(PATIENCE) {
                Ok(status) if status.success() => {}
                Ok(status) => {
                    wrongs.push(format!("node {} ended with {status}:\n{}", node.name, node.log_tail()))
                }
                Err(error) => wrongs.push(format!("{error}:\n{}", node.log_tail())),
            }
        }
        self.nodes.iter_mut().for_each(Member::kill);
        self.coordinator.kill();
        let ledger = self.web.take().map(Web::finish).transpose()?.unwrap_or_default();
        let (mut found, mut kept) = (BTreeSet::new(), BTreeSet::new());
        for node in &self.nodes {
            found.extend(fetched(&self.programs.lycosa, &node.dir)?);
            kept.extend(archived(&node.dir)?);
        }
        for (what, set) in [("fetched", &found), ("archived", &kept)] {
            let missing: Vec<&String> = self.expected.difference(set).take(5).collect();
            if !missing.is_empty() {
                let count = self.expected.difference(set).count();
                wrongs.push(format!("{count} of {} pages are not {what}: {missing:?}", self.expected.len()));
            }
        }
        let more: Vec<&String> = found.difference(&self.expected).take(5).collect();
        if !more.is_empty() {
            wrongs.push(format!("pages that one machine alone does not fetch: {more:?}"));
        }
        let repeats = ledger.repeats();
        let unexplained: Vec<_> = repeats.iter().filter(|repeat| !self.explains(repeat)).collect();
        if !unexplained.is_empty() {
            let first: Vec<String> = unexplained.iter().take(5).map(|repeat| repeat.to_string()).collect();
            wrongs.push(format!("{} pages were asked for again without need: {first:#?}", unexplained.len()));
        }
        let too_soon = ledger.too_soon(DELAY_MS * 1000);
        if !too_soon.is_empty() {
            wrongs.push(format!(
                "{} requests came too soon: {:?}",
                too_soon.len(),
                &too_soon[..too_soon.len().min(5)]
            ));
        }
        let requests = ledger.pages().count();
        println!(
            "{} pages, {requests} requests, {} of them repeats ({:.2} %) after {} faults",
            found.len(),
            repeats.len(),
            repeats.len() as f64 * 100.0 / requests.max(1) as f64,
            self.troubles.len()
        );
        if wrongs.is_empty() { Ok(()) } else { bail!("{}", wrongs.join("\n")) }
    }
}
