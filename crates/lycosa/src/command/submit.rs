//! `lycosa submit`: seeds for a crawl, also while it runs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_cluster::CrawlSettings;
use lycosa_cluster::node::reopen;
use lycosa_engine::cluster::briefing;
use lycosa_engine::{Config, Layout, ReaderError, inbox};
use lycosa_types::CanonUrl;

use super::seeds;
use crate::exit::Exit;
use crate::figures::plural;
use crate::nats::{Connection, NatsArgs, patiently, sender};
use crate::output::tell;

const EXAMPLES: &str = "\
Examples:
  lycosa submit https://example.org/new -d docs
  lycosa submit more.txt -d docs
  lycosa submit more.txt --nats nats://10.0.0.1:4222 --crawl news    to a cluster's crawl
  lycosa seeds -d old | lycosa submit - -d docs

A crawl that runs takes them in within a second, one that does not when it goes on.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SubmitArgs {
    /// URLs; files with one URL per line; `-` for standard input
    #[arg(value_name = "SEED", required = true)]
    pub seeds: Vec<String>,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    #[command(flatten)]
    pub nats: NatsArgs,
}

/// Gives seeds to a cluster's crawl. They are durable when this returns; a crawl that was over goes on.
pub fn to_cluster(
    connection: &Connection,
    settings: &CrawlSettings,
    config: &Config,
    seeds: &[CanonUrl],
) -> Result<()> {
    let sender = sender()?;
    // Seeds that arrive twice are taken in once.
    let submit = async || {
        briefing::submit(&connection.bus, settings, config, &sender, seeds).await?;
        Ok(reopen(&connection.bus).await?)
    };
    patiently(|| connection.runtime.block_on(submit()))
}

pub fn run(args: SubmitArgs) -> Result<Exit> {
    if args.nats.nats.is_some() {
        let connection = args.nats.connect()?;
        let (settings, briefing) =
            connection.look()?.with_context(|| format!("there is no crawl {}", connection.crawl))?;
        let seeds = seeds::read(&args.seeds, &briefing.config.urls)?;
        if seeds.is_empty() {
            bail!("there is no URL in what was given");
        }
        to_cluster(&connection, &settings, &briefing.config, &seeds)?;
        tell!("{} submitted", plural(seeds.len() as u64, "seed", "seeds"));
        return Ok(Exit::Done);
    }
    let layout = Layout::new(&args.data);
    if !layout.exists() || !layout.config().exists() {
        return Err(ReaderError::NoCrawl(layout.root).into());
    }
    let config = Config::load(&layout.config())?;
    let seeds = seeds::read(&args.seeds, &config.urls)?;
    if seeds.is_empty() {
        bail!("there is no URL in what was given");
    }
    inbox::submit(&layout.inbox(), &seeds).with_context(|| layout.inbox().display().to_string())?;
    tell!("{} submitted", plural(seeds.len() as u64, "seed", "seeds"));
    Ok(Exit::Done)
}
