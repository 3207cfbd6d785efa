//! `lycosa why`: what happened to a URL, and why.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::limits::Limit;
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
    /// `done`, `queued`, `rejected`, `left-out` or `unknown`.
    pub state: &'static str,
    /// One sentence for people.
    pub because: &'a str,
    pub partition: u16,
    /// Why it is not part of the crawl.
    pub rejection: Option<&'a Rejection>,
    /// The page whose link to it was left out.
    pub left_out_on: Option<&'a str>,
    /// What limits left out of the page itself, by the limit's name.
    pub cuts: BTreeMap<&'a str, u32>,
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
            left_out_on: why.left_out_on.as_deref(),
            cuts: why.cuts.iter().map(|(limit, count)| (limit.as_str(), *count)).collect(),
            known: why.record.as_ref().map(|record| KnownUrl::new(reader, record)).transpose()?,
        })
    }
}

pub fn run(args: WhyArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(args.data))?;
    let mut out = stdout();
    let mut exit = Exit::Done;
    for raw in &args.urls {
        let mut answer = why(&reader.store, &reader.config, raw);
        if let Ok(answer) = &mut answer {
            find_on_cut_pages(&reader, answer);
        }
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

/// Where a URL is unknown and some pages had more links than were read: reads these pages again, as far as the archive has
/// them, and looks for it among all their links.
fn find_on_cut_pages(reader: &CrawlReader, answer: &mut Why) {
    for (page, cut) in std::mem::take(&mut answer.may_be_on) {
        let links = reader.find(&page).ok().and_then(|record| reader.links_without_limits(&record).ok());
        let Some(links) = links else {
            answer.may_be_on.push((page, cut));
            continue;
        };
        if links.contains(&answer.url) {
            answer.state = "left-out";
            answer.because = format!(
                "not followed: it is one of {} links and entries of {page} that a limit left out; see lycosa why {page}",
                count(u64::from(cut))
            );
            answer.left_out_on = Some(page);
            return;
        }
    }
    if let Some((page, cut)) = answer.may_be_on.first() {
        answer.because.push_str(&format!(
            "; it may be among what limits left out of {} ({}, {} left out)",
            plural(answer.may_be_on.len() as u64, "page", "pages"),
            page,
            count(u64::from(*cut))
        ));
    }
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
        for line in &last.kept_lines {
            writeln!(out, "    no news: {}, line {}", line.rule, line.line)?;
        }
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
            table.row(
                "size",
                format!("{}, {}", bytes(facts.body_bytes), plural(u64::from(facts.links), "link", "links")),
            );
            table.row_if_any("digest", facts.digest.map(|digest| digest.to_string()).unwrap_or_default());
            if let Some(span) = facts.archived {
                let place =
                    format!("segment {}, offset {}, {} bytes", span.segment, span.offset, span.length);
                table.row("archive", place);
            }
        }
    }
    for (limit, number) in &why.cuts {
        let what = Limit::named(limit).map_or("left out", Limit::what);
        table.row("left out", format!("{what}: {} beyond {limit}", count(u64::from(*number))));
    }
    table.row("partition", why.partition.to_string());
    format!("{}\n{}", why.url, table.text(2))
}
