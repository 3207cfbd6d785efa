//! `lycosa history`: the visits of a page, and what each of them showed.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_types::{KeptLine, PastVisit};
use serde::Serialize;

use crate::exit::Exit;
use crate::figures::{bytes, clip, count, duration, instant};
use crate::output::stdout;

const EXAMPLES: &str = "\
Examples:
  lycosa history https://example.org/news -d docs
  lycosa history --json https://example.org/news -d docs | jq '.visits[] | select(.change == \"text\").at'
  lycosa diff https://example.org/news -d docs       what the last change was";

/// Characters of a line that are shown.
const LINE_WIDTH: usize = 80;

/// With fewer visits an estimate tells of other pages more than of this one, and is not claimed.
const FEW_VISITS: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HistoryArgs {
    /// The page in question
    #[arg(value_name = "URL")]
    pub url: String,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    url: &'a str,
    /// Changes per day, as estimated.
    changes_per_day: Option<f64>,
    /// When the next visit is due, if visits are scheduled.
    due: Option<String>,
    visits: Vec<Line<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    number: usize,
    at: String,
    outcome: &'static str,
    status: Option<u16>,
    change: &'static str,
    signal: &'a str,
    /// Share of the text in common with the visit before.
    share: f64,
    digest: Option<String>,
    bytes: u64,
    archived: bool,
    /// Lines that differed without being news.
    noise: &'a [KeptLine],
}

impl<'a> Line<'a> {
    fn of(number: usize, visit: &'a PastVisit) -> Self {
        Self {
            number,
            at: instant(visit.at),
            outcome: visit.outcome.word(),
            status: visit.outcome.status(),
            change: visit.change.word(),
            signal: &visit.signal,
            share: f64::from(visit.share_permille) / 1000.0,
            digest: visit.digest.map(|digest| digest.to_string()),
            bytes: visit.body_bytes,
            archived: visit.archived.is_some(),
            noise: &visit.kept_lines,
        }
    }
}

pub fn run(args: HistoryArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(args.data))?;
    let record = reader.find(&args.url)?;
    let visits = reader.history(&record)?;
    let course = reader.course(&record)?;
    let rate = course.as_ref().map(|course| reader.change_rate_per_s(course)).transpose()?;
    let answer = Answer {
        url: &record.url,
        changes_per_day: rate.map(|per_s| per_s * 86_400.0),
        due: course.as_ref().and_then(|course| course.due).map(instant),
        visits: visits.iter().enumerate().map(|(at, visit)| Line::of(at + 1, visit)).collect(),
    };
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
    } else {
        write_text(&answer, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn write_text(answer: &Answer<'_>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", answer.url)?;
    if (1..FEW_VISITS).contains(&answer.visits.len()) {
        writeln!(out, "  too few visits to tell how often it changes")?;
    } else if let Some(per_day) = answer.changes_per_day.filter(|per_day| *per_day > 0.0) {
        writeln!(out, "  changes about once in {}", duration(86_400.0 / per_day))?;
    }
    if let Some(due) = &answer.due {
        writeln!(out, "  due again {due}")?;
    }
    if answer.visits.is_empty() {
        writeln!(out, "  not visited yet")?;
    }
    for visit in &answer.visits {
        let status = visit.status.map(|status| format!(" {status}")).unwrap_or_default();
        let because = if visit.signal.is_empty() { String::new() } else { format!(" ({})", visit.signal) };
        writeln!(
            out,
            "  {:>3}  {}  {:<9}{because}  {}{status}, {}{}",
            count(visit.number as u64),
            visit.at,
            visit.change,
            visit.outcome,
            bytes(visit.bytes),
            if visit.archived { "" } else { ", not archived" },
        )?;
        for line in visit.noise {
            writeln!(out, "         {}, line {}: {}", line.rule, line.line, said(&line.text))?;
        }
    }
    Ok(())
}

/// What a line said, or that it is gone.
fn said(text: &str) -> String {
    if text.is_empty() { "gone".to_owned() } else { clip(text, LINE_WIDTH) }
}
