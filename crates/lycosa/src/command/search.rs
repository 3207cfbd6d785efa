//! `lycosa search`: asks the index of a crawl.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use lycosa_search::evaluate::Explanation;
use lycosa_search::searcher::MAX_LIMIT;
use lycosa_search::{Answer, FacetCount, Found, Request, SearchError, SearchIndex, Sort, index_dir};

use crate::exit::Exit;
use crate::figures::{clip, count, instant, plural};
use crate::output::stdout;

/// Other addresses that are listed for people.
const SHOWN_ALSO_AT: usize = 3;
const TITLE_WIDTH: usize = 100;

const EXAMPLES: &str = "\
Examples:
  lycosa search 'web crawler' -d docs
  lycosa search '\"breadth first\" OR (crawl* NEAR/5 order)' -d docs
  lycosa search 'title:robots -site:old.example.org after:2024' -d docs --sort date
  lycosa search 'spider' -d docs --json | jq -r '.results[].url'
  lycosa search 'wolf sp' -d docs --suggest

Words, \"phrases\", AND, OR, XOR, NOT or -word, NEAR and NEAR/n, ( ), beginning*, and
title: heading: text: url: anchor: author: site: type: lang: before: after:";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The best first
    Score,
    /// The newest first
    Date,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SearchArgs {
    /// What to look for
    #[arg(value_name = "QUERY", required = true, num_args = 1.., allow_hyphen_values = false)]
    pub query: Vec<String>,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// How many results to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    /// How many results to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Order::Score)]
    pub sort: Order,
    /// Show results below a tenth of the best score, too
    #[arg(long)]
    pub all: bool,
    /// Show the parts of each score
    #[arg(long)]
    pub explain: bool,
    /// Do not search: suggest how what was typed may go on
    #[arg(long, conflicts_with_all = ["html", "explain", "all", "offset"])]
    pub suggest: bool,
    /// Print the results as a piece of HTML
    #[arg(long, conflicts_with = "json")]
    pub html: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: SearchArgs) -> Result<Exit> {
    if args.limit > MAX_LIMIT {
        bail!("--limit takes at most {MAX_LIMIT}; page through more with --offset");
    }
    let index = SearchIndex::open(&index_dir(&args.data))?;
    let query = args.query.join(" ");
    if args.suggest {
        return suggest(&index, &query, &args);
    }
    let request = Request {
        query: query.clone(),
        limit: args.limit,
        offset: args.offset,
        sort: match args.sort {
            Order::Score => Sort::Score,
            Order::Date => Sort::Date,
        },
        all: args.all,
        explain: args.explain,
        facets: true,
    };
    let began = Instant::now();
    let answer = match index.search(&request, || began.elapsed()) {
        Err(SearchError::Query(error)) => {
            return Err(error.clone()).with_context(|| format!("the query\n{}\n", error.pointed(&query)));
        }
        other => other?,
    };
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
    } else if args.html {
        out.write_all(answer.html().as_bytes())?;
    } else {
        write_answer(&answer, &args, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn suggest(index: &SearchIndex, typed: &str, args: &SearchArgs) -> Result<Exit> {
    let suggestions = index.suggest(typed, args.limit)?;
    let mut out = stdout();
    if args.json {
        writeln!(out, "{:#}", serde_json::json!({ "typed": typed, "suggestions": suggestions }))?;
    } else {
        for suggestion in &suggestions {
            writeln!(out, "{}", one_line(suggestion))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn write_answer(answer: &Answer, args: &SearchArgs, out: &mut dyn Write) -> Result<()> {
    let (open, close) = if std::io::stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    if let Some(better) = &answer.did_you_mean {
        writeln!(out, "Did you mean: {}\n", one_line(better))?;
    }
    for (place, found) in answer.results.iter().enumerate() {
        let title = if found.title.is_empty() { "(no title)" } else { found.title.as_str() };
        writeln!(out, "{}. {open}{}{close}", args.offset + place + 1, clip(&one_line(title), TITLE_WIDTH))?;
        writeln!(out, "   {}", found.url)?;
        let line = found.snippet.line(open, close);
        if !line.trim().is_empty() {
            writeln!(out, "   {}", line.split_whitespace().collect::<Vec<_>>().join(" "))?;
        }
        write_notes(found, out)?;
        writeln!(out)?;
    }
    writeln!(
        out,
        "{} in {:.1} ms{}",
        plural(answer.total, "page", "pages"),
        answer.elapsed_us as f64 / 1000.0,
        match answer.hidden {
            0 => String::new(),
            hidden => format!("; {} below a tenth of the best are hidden, --all shows them", count(hidden)),
        }
    )?;
    for (name, values) in
        [("site", &answer.facets.site), ("lang", &answer.facets.language), ("type", &answer.facets.kind)]
    {
        if values.len() > 1 {
            writeln!(out, "  {name}: {}", facet_line(values))?;
        }
    }
    Ok(())
}

fn write_notes(found: &Found, out: &mut dyn Write) -> Result<()> {
    if !found.author.is_empty() {
        writeln!(out, "   by {}", clip(&one_line(&found.author), TITLE_WIDTH))?;
    }
    if let Some(date_s) = found.date_s {
        let at = lycosa_types::UnixMs(u64::try_from(date_s).unwrap_or(0).saturating_mul(1000));
        writeln!(out, "   dated {}", instant(at).split('T').next().unwrap_or_default())?;
    }
    if !found.also_at.is_empty() {
        let shown: Vec<&str> = found.also_at.iter().take(SHOWN_ALSO_AT).map(String::as_str).collect();
        let more = found.also_at.len().saturating_sub(SHOWN_ALSO_AT);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(out, "   also at {}{more}", shown.join(", "))?;
    }
    if let Some(parts) = &found.explanation {
        writeln!(
            out,
            "   score {:.3} = (words {:.3} + nearness {:.3}) × rank {:.3} ({:.2} of the average) × depth {:.3} ({})",
            found.score,
            parts.words,
            parts.nearness,
            parts.rank_factor,
            parts.rank,
            parts.depth_factor,
            parts.depth
        )?;
        write_explanation(&parts.detail, 5, out)?;
    }
    Ok(())
}

/// A part of a score and, further in, what it is made of.
fn write_explanation(part: &Explanation, indent: usize, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{:indent$}{:.3}  {}", "", part.value, one_line(&part.what))?;
    for inner in &part.parts {
        write_explanation(inner, indent + 2, out)?;
    }
    Ok(())
}

fn facet_line(values: &[FacetCount]) -> String {
    let listed: Vec<String> =
        values.iter().map(|facet| format!("{} {}", one_line(&facet.value), count(facet.count))).collect();
    listed.join(", ")
}

/// Without control characters, which a page could use to play with the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
