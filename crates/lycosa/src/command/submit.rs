//! `lycosa submit`: seeds for a crawl, also while it runs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::{Config, Layout, ReaderError, inbox};

use super::seeds;
use crate::exit::Exit;
use crate::figures::plural;

const EXAMPLES: &str = "\
Examples:
  lycosa submit https://example.org/new -d docs
  lycosa submit more.txt -d docs
  lycosa seeds --from old | lycosa submit - -d docs

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
}

pub fn run(args: SubmitArgs) -> Result<Exit> {
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
    eprintln!("{} submitted", plural(seeds.len() as u64, "seed", "seeds"));
    Ok(Exit::Done)
}
