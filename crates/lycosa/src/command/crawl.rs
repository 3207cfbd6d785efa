//! `lycosa crawl`: from seeds to a crawl directory, with progress.

use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::{Config, Crawl, CrawlEnd, CrawlError, Layout};
use lycosa_fetch::{NetGuard, Overrides};
use lycosa_frontier::Politeness;
use lycosa_types::CanonUrl;

use super::node::{AllocationArg, LinksArg, PartArgs, take_part};
use super::{seeds, settings::SettingArgs, submit};
use crate::display::Loudness;
use crate::exit::Exit;
use crate::nats::NatsArgs;
use crate::output::{is_closed_pipe, stdout, tell};
use crate::usage::{OrUsage, wrong};
use crate::watch::Watch;
use crate::{advice, signals, summary};

const EXAMPLES: &str = "\
Examples:
  lycosa crawl https://example.org --contact https://example.org/about-me
  lycosa crawl https://example.org/docs/ --scope prefix --max-pages 1000 -d docs
  lycosa crawl seeds.txt --scope any --depth 3 -d wide
  lycosa crawl -d docs --continuous --refresh-budget 2    visit pages again when they are due, until stopped
  lycosa crawl -d docs                 go on with a crawl that was stopped
  lycosa crawl https://example.org -d docs --index && lycosa search 'web crawler' -d docs
  lycosa crawl seeds.txt --nats nats://10.0.0.1:4222 --crawl news -d /data/news    make a cluster's crawl, as its first node
  lycosa crawl http://127.0.0.1:8000/ --allow-net 127.0.0.0/8 --delay 0

Exit codes: 0 nothing is left to fetch, 1 failed, 2 wrong usage, 3 stopped by a limit or a signal with everything saved,
or ended with hosts whose robots.txt failed.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CrawlArgs {
    /// URLs to start from; files with one URL per line; `-` for standard input
    #[arg(value_name = "SEED")]
    pub seeds: Vec<String>,
    /// The directory of this crawl; a crawl that is there already goes on
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub nats: NatsArgs,
    #[command(flatten)]
    pub part: PartArgs,
    /// How partitions are given to nodes, if the crawl is made
    #[arg(long, value_enum, default_value_t, requires = "nats", help_heading = "Cluster")]
    pub allocation: AllocationArg,
    /// What becomes of links to partitions of other nodes, if the crawl is made
    #[arg(long, value_enum, default_value_t, requires = "nats", help_heading = "Cluster")]
    pub links: LinksArg,
    /// Print the report as JSON when done, instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Print a configuration file with every key and its default, and do nothing else
    #[arg(long)]
    pub print_config: bool,
}

pub fn run(args: CrawlArgs) -> Result<Exit> {
    let mut out = stdout();
    if args.print_config {
        out.write_all(lycosa_engine::config::TEMPLATE.as_bytes())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let layout = Layout::new(&args.data);
    let config = args.settings.resolve(&layout)?;
    let seeds = seeds::read(&args.seeds, &config.urls)?;
    if args.nats.nats.is_some() {
        return in_cluster(&args, layout, &config, &seeds);
    }
    expect_room(&layout)?;
    if seeds.is_empty() && !layout.exists() {
        // Before anything is made on disk.
        return Err(CrawlError::NoSeeds).or_usage();
    }
    warn(&config, &seeds);
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Normal };
    let crawl = Crawl::open(layout.clone(), config, &seeds)?;
    // The process ends with the crawl: the system takes its memory back, sooner than the state could be taken apart.
    std::mem::forget(crawl.store());
    let end = run_watched(crawl, layout.clone(), loudness)?;
    match write_end(&args, &layout, &end, &mut out) {
        // The crawl has ended all the same, and how it ended is told by the exit code.
        Err(error) if is_closed_pipe(&error) => {}
        other => other?,
    }
    if end.report.seeds.all_failed() {
        tell!("lycosa: {}", advice::of_seeds(&end.report.seeds).trim_end());
        return Ok(Exit::Failed);
    }
    if end.index.is_some_and(|index| index.failure.is_some()) {
        return Ok(Exit::Failed);
    }
    // Hosts whose robots.txt could not be had wait for the next run.
    let is_done = end.stop == Stop::Exhausted && end.report.robots_failing.is_empty();
    Ok(if is_done { Exit::Done } else { Exit::Stopped })
}

/// What was done, for people or programs.
fn write_end(args: &CrawlArgs, layout: &Layout, end: &CrawlEnd, out: &mut dyn Write) -> Result<()> {
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&end.report)?)?;
    } else if !args.quiet {
        writeln!(out, "{}", summary::text(&end.report))?;
        if !end.report.seeds.all_failed() && end.report.seeds.failed > 0 {
            writeln!(out, "{}", advice::of_seeds(&end.report.seeds))?;
        }
        if let Some(index) = &end.index {
            writeln!(out, "{}", summary::indexed(index))?;
        }
        write!(out, "{}", summary::next_commands(layout, &end.report))?;
    }
    Ok(out.flush()?)
}

/// Refuses a directory with files that no crawl made: they would lie among those of the crawl.
pub fn expect_room(layout: &Layout) -> Result<()> {
    if layout.exists() || layout.is_unfinished() {
        return Ok(());
    }
    let entries = match std::fs::read_dir(&layout.root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| layout.root.display().to_string()),
    };
    for entry in entries {
        let name = entry.with_context(|| layout.root.display().to_string())?.file_name();
        // Settings may be laid there before.
        if layout.root.join(&name) != layout.config() {
            return Err(wrong(format!(
                "{0} is not empty and holds no crawl ({1} is in it); name another directory with -d DIR, for instance {0}/crawl",
                layout.root.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Makes a crawl in a cluster, unless it is there, gives it seeds, and takes part in it.
fn in_cluster(args: &CrawlArgs, layout: Layout, config: &Config, seeds: &[CanonUrl]) -> Result<Exit> {
    if let Some(region) = args.part.region.as_ref().filter(|_| !config.partitions.regions.is_empty()) {
        // Before anything is made on the bus.
        config.regions()?.named(region).context("--region").or_usage()?;
    }
    let connection = args.nats.connect()?;
    let (settings, mut briefing) = connection.make(config, args.allocation.into(), args.links.into())?;
    if !seeds.is_empty() {
        submit::to_cluster(&connection, &settings, &briefing.config, seeds)?;
        // The seeds decide what is within scope: from the beginning, here too.
        if let Some((_, now)) = connection.look()? {
            briefing = now;
        }
    }
    if !config.partitions.regions.is_empty()
        && config.partitions.regions != briefing.config.partitions.regions
    {
        bail!("the crawl {} was made with other regions; use those, or another name", connection.crawl);
    }
    // What is on the bus wins; what was typed here holds here, and so does where this machine stands.
    let mut shared = briefing.config.clone();
    shared.partitions.region.clone_from(&config.partitions.region);
    let config = args.settings.over(shared)?;
    warn(&config, seeds);
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Normal };
    take_part(&connection, layout, config, (settings, briefing), &args.part, (args.json, loudness))
}

/// Runs an open crawl with its display, stopped by signals.
pub fn run_watched(crawl: Crawl, layout: Layout, loudness: Loudness) -> Result<CrawlEnd> {
    let handle = crawl.handle();
    signals::listen(handle.clone(), layout.progress()).context("listening for signals")?;
    let watch = Watch::start(handle, layout, loudness).context("starting the display")?;
    let end = crawl.run();
    watch.finish();
    let end = end?;
    if let Some(failure) = end.index.as_ref().and_then(|index| index.failure.as_ref()) {
        tell!("warning: the index fell behind: {failure}; `lycosa index` brings it up to date");
    }
    Ok(end)
}

/// Says what the user may not have meant: a crawler on the open web that does not say whom to ask about it; several requests
/// at a time to a host whose address is asked one by one.
fn warn(config: &Config, seeds: &[CanonUrl]) {
    let overrides = Overrides::parse(config.fetch.resolve.iter().map(String::as_str)).unwrap_or_default();
    if config.agent.contact.is_empty() && seeds.iter().any(|seed| is_public(seed, &overrides)) {
        tell!(
            "warning: nobody can tell whose crawler this is; set --contact to a page or address where site owners reach you"
        );
    }
    let Politeness { per_host, delay_ms, ip_delay_ms, .. } = config.politeness;
    if per_host > 1 && ip_delay_ms > delay_ms {
        tell!(
            "warning: {per_host} requests at a time to a host come to little while its address is asked once in {ip_delay_ms} ms; \
             --ip-delay 0 lifts that, for a server of your own"
        );
    }
}

/// Whether a URL may lead beyond private networks, as far as can be told without asking a name server.
fn is_public(url: &CanonUrl, overrides: &Overrides) -> bool {
    let host = url.host().trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> =
        host.parse().ok().or_else(|| overrides.find(url.host(), url.port()).map(|to| to.ip()));
    match address {
        // The guard with nothing opened lets only public addresses through.
        Some(address) => NetGuard::new(Vec::new()).allows(address),
        None => host != "localhost" && !host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;

    #[test]
    fn private_seeds_need_no_contact() {
        let rules = Overrides::parse(["*.sim:80:127.0.0.1:8080"]).unwrap();
        let public = |raw: &str| is_public(&CanonUrl::parse(raw, &CanonRules::default()).unwrap(), &rules);
        assert!(public("http://example.org/") && public("http://93.184.216.34/"));
        for private in ["http://127.0.0.1:8000/", "http://[::1]/", "http://localhost/", "http://a.sim/"] {
            assert!(!public(private), "{private}");
        }
    }
}
