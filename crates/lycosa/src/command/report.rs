//! `lycosa report`: the figures of the last run again.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::{Layout, ReaderError, Report};

use super::place::Place;
use super::rank;
use crate::exit::Exit;
use crate::output::stdout;
use crate::summary;

const EXAMPLES: &str = "\
Examples:
  lycosa report docs
  lycosa report docs --curve --svg curve.svg
  lycosa report docs --json | jq .run.pages_per_s";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    #[command(flatten)]
    pub place: Place,
    /// Show how soon the crawl gathered the rank of its pages (see `lycosa rank --curve` for several crawls)
    #[arg(long)]
    pub curve: bool,
    /// Draw that curve into this file
    #[arg(long, value_name = "FILE", requires = "curve")]
    pub svg: Option<PathBuf>,
    /// Print report.json, whose fields are stable; with --curve the curve
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: ReportArgs) -> Result<Exit> {
    let layout = args.place.layout();
    if !layout.exists() {
        return Err(ReaderError::NoCrawl(layout.root).into());
    }
    if args.curve {
        return rank::run(rank::RankArgs::curve(layout.root, args.svg, args.json));
    }
    let Some(report) = read(&layout)? else {
        bail!(
            "the crawl in {0} has not ended yet, so there is no report; `lycosa status {0}` shows where it is",
            layout.root.display()
        );
    };
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(out, "{}", summary::text(&report))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The report of the last run that ended, if one did.
pub fn read(layout: &Layout) -> Result<Option<Report>> {
    let path = layout.report();
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let report = serde_json::from_slice(&text);
    report.map(Some).with_context(|| {
        format!(
            "{} is not a report of this version; the next run of the crawl writes it anew",
            path.display()
        )
    })
}
