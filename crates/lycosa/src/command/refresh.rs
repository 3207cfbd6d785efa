//! `lycosa refresh`: every known page once again, at the price of a question where nothing changed.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::{Crawl, Layout, ReaderError, clock};
use lycosa_types::UnixMs;

use super::settings::{SettingArgs, parse_time};
use crate::display::Loudness;
use crate::exit::Exit;
use crate::output::stdout;
use crate::summary;

const EXAMPLES: &str = "\
Examples:
  lycosa refresh -d docs                         ask for every page again, store what changed
  lycosa refresh -d docs --older-than 24h        only pages not visited for a day
  lycosa refresh -d docs --max-time 10m          stop in time; the next refresh goes on where this one stopped
  lycosa refresh -d docs --judge-again           what of the noise so far is news by the rules of today
  lycosa history https://example.org/ -d docs    what became of a page

Pages are asked for with their ETag and Last-Modified; a page that did not change leaves a revisit record, one that
changed is archived and compared, and new links are followed as in a crawl. To go on for ever, see crawl --continuous.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RefreshArgs {
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Only pages whose last visit is longer ago (s, m, h allowed)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub older_than: Option<Duration>,
    /// Ask for nothing: judge the noise that earlier visits kept by the rules of today, and print what would be news
    #[arg(long, conflicts_with = "older_than")]
    pub judge_again: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print the report as JSON when done, instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

pub fn run(args: RefreshArgs) -> Result<Exit> {
    let layout = Layout::new(&args.data);
    if !layout.exists() {
        return Err(ReaderError::NoCrawl(layout.root).into());
    }
    if args.judge_again {
        super::judge_again::run(layout, args.json)?;
        return Ok(Exit::Done);
    }
    let mut config = args.settings.resolve(&layout)?;
    config.refresh.continuous = false;
    let older = args.older_than.unwrap_or_default().as_millis() as u64;
    let before = UnixMs(clock::now().0.saturating_sub(older));
    let crawl = Crawl::refresh(layout.clone(), config, before)?;
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Normal };
    let end = super::crawl::run_watched(crawl, layout, loudness)?;
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&end.report)?)?;
    } else if !args.quiet {
        write!(out, "{}", summary::refresh_text(&end.report))?;
    }
    out.flush()?;
    if end.index.is_some_and(|index| index.failure.is_some()) {
        return Ok(Exit::Failed);
    }
    Ok(if end.stop == Stop::Exhausted { Exit::Done } else { Exit::Stopped })
}
