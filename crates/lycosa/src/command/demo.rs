//! `lycosa demo`: a synthetic web on loopback, crawled with the live display, and what the crawl found.

mod findings;
mod searches;

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::{Config, Crawl, CrawlReader, Layout, ReaderError, Report};
use lycosa_frontier::ScopeKind;
use lycosa_search::index_dir;
use lycosa_simweb::{Fault, Server, ServerConfig, World, WorldConfig};
use lycosa_types::CanonUrl;
use serde::Serialize;

use super::crawl::run_watched;
use crate::display::Loudness;
use crate::exit::Exit;
use crate::figures::plural;
use crate::output::stdout;
use crate::summary;

/// Says that a directory was made by this command and may be made anew by it.
const MARKER: &str = "demo.json";
/// More than this is no demonstration any more.
const MAX_PAGES: u32 = 10_000_000;
/// Hostile responses that the demo meets: each ends quickly, in an outcome of its own.
const FAULTS: [Fault; 5] =
    [Fault::GzipTruncated, Fault::EncodingLie, Fault::LengthTooLong, Fault::BombGzip, Fault::HugeHeader];

const EXAMPLES: &str = "\
Examples:
  lycosa demo
  lycosa demo --pages 2000 -d /tmp/small
  lycosa demo --seed 7 --hosts 1000 --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArgs {
    /// Pages of the synthetic web, about
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(10..=i64::from(MAX_PAGES)))]
    pub pages: u32,
    /// Its hosts [default: one for each 80 pages]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub hosts: Option<u32>,
    /// Another number is another web
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the crawl goes; a demo that is there already is made anew
    #[arg(short, long, value_name = "DIR", default_value = "lycosa-demo")]
    pub data: PathBuf,
    /// Print report and findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// The JSON form.
#[derive(Debug, Serialize)]
struct Whole<'a> {
    report: &'a Report,
    findings: findings::FindingsLine<'a>,
    searches: &'a [searches::Shown],
}

pub fn run(args: DemoArgs) -> Result<Exit> {
    let layout = Layout::new(&args.data);
    make_room(&layout)?;
    let hosts = args.hosts.unwrap_or_else(|| (args.pages / 80).clamp(5, 5_000));
    let server = serve(args.seed, hosts, args.pages)?;
    write_marker(&layout, &args, hosts)?;
    let mut out = stdout();
    if !args.json && !args.quiet {
        writeln!(
            out,
            "A synthetic web of some {} on {} is served on {} and crawled into {}.",
            plural(u64::from(args.pages), "page", "pages"),
            plural(u64::from(hosts), "host", "hosts"),
            server.addr,
            args.data.display()
        )?;
        out.flush()?;
    }
    let config = settings(server.port());
    let seeds = seeds(server.world(), &config)?;
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Normal };
    let end = run_watched(Crawl::open(layout.clone(), config, &seeds)?, layout.clone(), loudness)?;
    server.shutdown();
    let reader = CrawlReader::open(layout)?;
    let found = findings::look(&reader)?;
    let shown = searches::ask(&reader.layout, found.most_linked.iter().map(|page| page.title.as_str()))?;
    if args.json {
        let whole = Whole { report: &end.report, findings: found.as_json(&reader)?, searches: &shown };
        writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?;
    } else {
        writeln!(
            out,
            "{}\n{}\n{}",
            summary::text(&end.report),
            searches::text(&shown),
            findings::text(&found, &reader.layout)
        )?;
    }
    out.flush()?;
    Ok(if end.stop == Stop::Exhausted { Exit::Done } else { Exit::Stopped })
}

/// Everything at once: odd pages, mirrors, traps, robots files of all sorts.
fn serve(seed: u64, hosts: u32, pages: u32) -> Result<Server> {
    let mut world = WorldConfig::full(seed, hosts, pages);
    // Seconds between two requests would make a demonstration of patience.
    world.crawl_delay_s = 0;
    let addrs = vec![(Ipv4Addr::LOCALHOST, 0).into()];
    let config = ServerConfig { addrs, threads: 1, ledger: false };
    Server::start_with(Arc::new(World::new(world)), config).context("serving the synthetic web")
}

/// Settings for a web that is our own: a short pause, few tries, traps cut off early.
fn settings(port: u16) -> Config {
    let mut config = Config::default();
    config.scope.kind = ScopeKind::Any;
    // The truth it is compared with is about pages.
    config.archive.requisites = false;
    config.scope.depth = 20;
    config.politeness.delay_ms = 1;
    config.politeness.ip_delay_ms = 0;
    config.politeness.slow_factor = 0;
    config.politeness.retry_ms = 200;
    config.politeness.rules_patience_ms = 0;
    config.politeness.max_tries = 2;
    config.traps.max_queries_per_path = 100;
    config.index.during_crawl = true;
    config.fetch.allow_net = vec!["127.0.0.0/8".to_owned()];
    config.fetch.resolve = vec![format!("*:80:127.0.0.1:{port}")];
    config
}

/// The web's first page, from which all else is found, and a few hostile ones.
fn seeds(world: &World, config: &Config) -> Result<Vec<CanonUrl>> {
    let hostile = FAULTS.iter().flat_map(|&fault| world.fault_urls(fault).into_iter().take(1));
    let raw = world.seeds(1).into_iter().chain(hostile);
    raw.map(|raw| CanonUrl::parse(&raw, &config.urls).with_context(|| raw.clone())).collect()
}

/// Removes an earlier demo; refuses to touch anything else.
fn make_room(layout: &Layout) -> Result<()> {
    let dir = &layout.root;
    let is_empty = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| dir.display().to_string()),
    };
    if is_empty {
        return Ok(());
    }
    if !dir.join(MARKER).is_file() {
        bail!(
            "{0} exists and was not made by `lycosa demo`; name another directory with -d DIR, or remove it",
            dir.display()
        );
    }
    if let Err(error @ ReaderError::Running(_)) = CrawlReader::open(layout.clone()).map(drop) {
        return Err(error.into());
    }
    // What a crawl leaves and nothing else: whatever else lies here is somebody's own.
    for path in [layout.state(), layout.archive(), layout.graph(), index_dir(&layout.root)] {
        remove(&path, |path| std::fs::remove_dir_all(path))?;
    }
    for path in [layout.config(), layout.report(), layout.progress(), dir.join(MARKER)] {
        remove(&path, |path| std::fs::remove_file(path))?;
    }
    Ok(())
}

fn remove(path: &Path, by: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    match by(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn write_marker(layout: &Layout, args: &DemoArgs, hosts: u32) -> Result<()> {
    let path = layout.root.join(MARKER);
    let marker = serde_json::json!({ "seed": args.seed, "hosts": hosts, "pages": args.pages });
    std::fs::create_dir_all(&layout.root)
        .and_then(|()| std::fs::write(&path, format!("{marker}\n")))
        .with_context(|| path.display().to_string())
}
