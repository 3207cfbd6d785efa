//! `lycosa status`: where a crawl is, asked from outside while it runs or afterwards.

mod cluster;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use lycosa_engine::{CrawlReader, Layout, Progress, ReaderError, Report, Totals};
use lycosa_types::UnixMs;
use serde::Serialize;

use super::place::Place;
use super::report;
use crate::exit::Exit;
use crate::figures::{count, instant, plural};
use crate::nats::NatsArgs;
use crate::output::{stdout, tell};
use crate::{display, summary};

/// A crawl writes its progress every second; what is older than this was left by one that died.
const FRESH_MS: u64 = 10_000;

const EXAMPLES: &str = "\
Examples:
  lycosa status docs
  watch lycosa status docs
  lycosa status --nats nats://10.0.0.1:4222 --crawl news    all nodes of a cluster
  lycosa status docs --json | jq .progress.pages_per_s";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArgs {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Status {
    /// `running`, `done`, `stopped` (more is waiting) or `interrupted` (the last run did not end by itself).
    pub state: &'static str,
    /// Of the running crawl.
    pub progress: Option<Progress>,
    /// Over all runs.
    pub totals: Totals,
    pub waiting: u64,
    pub hosts: u64,
    /// Of the last run that ended.
    pub report: Option<Report>,
}

pub fn run(args: StatusArgs) -> Result<Exit> {
    if args.nats.nats.is_some() {
        let status = cluster::look(&args.nats)?;
        let mut out = stdout();
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?;
        } else {
            write!(out, "{}", cluster::text(&status))?;
        }
        out.flush()?;
        return Ok(Exit::Done);
    }
    let layout = args.place.layout();
    let status = look(&layout, lycosa_engine::clock::now())?;
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?;
    } else {
        write!(out, "{}", text(&layout, &status))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn look(layout: &Layout, now: UnixMs) -> Result<Status> {
    if !layout.exists() {
        return Err(ReaderError::NoCrawl(layout.root.clone()).into());
    }
    let left: Option<Progress> =
        std::fs::read(layout.progress()).ok().and_then(|text| serde_json::from_slice(&text).ok());
    // The state knows more: a report that cannot be read stops nothing.
    let report = report::read(layout).unwrap_or_else(|error| {
        tell!("warning: {error:#}");
        None
    });
    let running = |progress: Progress, report| Status {
        state: "running",
        totals: progress.totals.clone(),
        waiting: progress.waiting,
        hosts: progress.hosts,
        progress: Some(progress),
        report,
    };
    if let Some(progress) = left.as_ref().filter(|progress| now.since_ms(progress.at) < FRESH_MS) {
        return Ok(running(progress.clone(), report));
    }
    let reader = match CrawlReader::open(layout.clone()) {
        Ok(reader) => reader,
        // It holds the state, so it runs, however long ago it last had time to say so.
        Err(ReaderError::Running(_)) => return Ok(running(left.unwrap_or_default(), report)),
        Err(error) => return Err(error.into()),
    };
    let (hosts, waiting) = reader.waiting()?;
    let state = match (reader.ended_cleanly()?, waiting) {
        (false, _) => "interrupted",
        (true, 0) => "done",
        (true, _) => "stopped",
    };
    Ok(Status { state, progress: None, totals: reader.totals()?, waiting, hosts, report })
}

fn text(layout: &Layout, status: &Status) -> String {
    let dir = layout.root.display();
    if let Some(progress) = &status.progress {
        if progress.at.0 == 0 {
            return format!("running in {dir}, without figures yet\n");
        }
        let lines = [
            display::speed(progress),
            display::queue(progress),
            display::ends(progress),
            progress.current.clone(),
        ];
        return format!("running in {dir} ({})\n  {}\n", instant(progress.at), lines.join("\n  ").trim_end());
    }
    let head = match (status.state, &status.report) {
        ("interrupted", _) => {
            format!(
                "interrupted: the last run did not end by itself; `lycosa crawl -d {dir}` goes on, nothing is lost"
            )
        }
        (_, Some(report)) => summary::headline(report),
        (state, None) => state.to_owned(),
    };
    let mut out = format!(
        "{head}\n{} of {} on {}; {} waiting\n\n{}",
        plural(status.totals.pages, "page", "pages"),
        plural(status.totals.accepted, "URL", "URLs"),
        plural(status.hosts, "host", "hosts"),
        count(status.waiting),
        summary::outcomes(&status.totals)
    );
    if status.state == "stopped" {
        out.push_str(&format!("\n`lycosa crawl -d {dir}` goes on\n"));
    }
    out
}
