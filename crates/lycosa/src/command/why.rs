//! `lycosa why`: what happened to a URL, and why.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::why::WhyError;
use lycosa_engine::{CrawlReader, Layout, Why, why};
use lycosa_frontier::Rejection;
use lycosa_types::UrlRecord;
use serde::Serialize;

use crate::exit::Exit;
use crate::figures::{bytes, count, instant, plural};
use crate::known_url::KnownUrl;
use crate::output::stdout;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  lycosa why https://example.org/private/ -d docs
  lycosa why --json https://example.org/a https://example.org/b -d docs | jq .because";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArgs {
    /// The URLs in question
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Print one JSON line for each URL
    #[arg(long)]
    pub json: bool,
}

/// The answer as JSON. The fields of [`KnownUrl`] are there if the URL is known.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    /// In canonical form.
    pub url: &'a str,
    /// `done`, `queued`, `rejected` or `unknown`.
    pub state: &'static str,
    /// One sentence for people.
    pub because: &'a str,
    pub partition: u16,
    /// Why it is not part of the crawl.
    pub rejection: Option<&'a Rejection>,
    #[serde(flatten)]
    pub known: Option<KnownUrl<'a>>,
}

impl<'a> Answer<'a> {
    pub fn new(reader: &CrawlReader, why: &'a Why) -> Result<Self> {
        Ok(Self {
            url: &why.url,
            state: why.state,
            because: &why.because,
            partition: why.partition.0,
            rejection: why.rejection.as_ref(),
            known: why.record.as_ref().map(|record| KnownUrl::new(reader, record)).transpose()?,
        })
    }
}

pub fn run(args: WhyArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(args.data))?;
    let mut out = stdout();
    let mut exit = Exit::Done;
    for raw in &args.urls {
        let answer = why(&reader.store, &reader.config, raw);
        match (answer, args.json) {
            (Ok(answer), true) => {
                writeln!(out, "{}", serde_json::to_string(&Answer::new(&reader, &answer)?)?)?
            }
            (Ok(answer), false) => {
                write!(out, "{}", text(&answer))?;
                if let Some(record) = &answer.record {
                    write_visits(&reader, record, &mut out)?;
                }
            }
            (Err(error), json) => {
                let is_typed = matches!(error, WhyError::Url(_));
                exit = if is_typed { Exit::Usage } else { Exit::Failed };
                if json {
                    let answer = serde_json::json!({ "url": raw, "error": error.to_string() });
                    writeln!(out, "{answer}")?;
                } else {
                    writeln!(out, "{raw}\n  {error}")?;
                }
            }
        }
    }
    out.flush()?;
    Ok(exit)
}

/// What the last of several visits showed.
fn write_visits(reader: &CrawlReader, record: &UrlRecord, out: &mut dyn Write) -> Result<()> {
    let visits = reader.history(record)?;
    if let [.., last] = visits.as_slice()
        && visits.len() > 1
    {
        let because = if last.signal.is_empty() { String::new() } else { format!(" ({})", last.signal) };
        let visited = plural(visits.len() as u64, "time", "times");
        writeln!(
            out,
            "  visited {visited}; the last visit showed: {}{because}; see lycosa history",
            last.change.word()
        )?;
    }
    Ok(())
}

/// The answer for people.
pub fn text(why: &Why) -> String {
    let mut table = Table::new();
    table.row("state", why.state).row("because", why.because.as_str());
    if let Some(record) = &why.record {
        table.row("depth", count(u64::from(record.depth)));
        let found = why.found_on.as_deref().map_or_else(
            || "given as a seed, or named by a sitemap line of robots.txt".to_owned(),
            |parent| format!("found on {parent}"),
        );
        table.row("origin", format!("{found}, {}", instant(record.found_at)));
        if let Some(at) = record.visited_at {
            table.row("visited", instant(at));
        }
        if let Some(facts) = &record.visit {
            table.row_if_any("title", facts.title.as_str());
            table.row_if_any("type", facts.content_type.as_str());
            table
                .row("size", format!("{}, {} links", bytes(facts.body_bytes), count(u64::from(facts.links))));
            table.row_if_any("digest", facts.digest.map(|digest| digest.to_string()).unwrap_or_default());
            if let Some(span) = facts.archived {
                let place =
                    format!("segment {}, offset {}, {} bytes", span.segment, span.offset, span.length);
                table.row("archive", place);
            }
        }
    }
    table.row("partition", why.partition.to_string());
    format!("{}\n{}", why.url, table.text(2))
}
