//! `lycosa search`: asks the index of a crawl, or those of all nodes of a cluster.

pub mod cluster;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use lycosa_search::evaluate::Explanation;
use lycosa_search::searcher::MAX_LIMIT;
use lycosa_search::{Answer, FacetCount, Found, QueryError, Request, SearchError, SearchIndex, Sort};

use super::settings::parse_time;
use crate::exit::Exit;
use crate::figures::{clip, count, instant, plural};
use crate::foreign::{BOLD, Kind, PLAIN};
use crate::index_place::OpenIndex;
use crate::nats::NatsArgs;
use crate::output::{stdout_of, tell};
use crate::usage::wrong;

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
  lycosa search 'web crawler' --nats nats://10.0.0.1:4222 --crawl news    all nodes of a cluster
  lycosa search --serve --nats nats://10.0.0.1:4222 --crawl news -d /data/news    be asked, when the crawl is over

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
    #[arg(value_name = "QUERY", required_unless_present_any = ["serve", "forget"], num_args = 1.., allow_hyphen_values = false)]
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
    #[arg(long, conflicts_with_all = ["html", "explain", "all", "offset", "nats"])]
    pub suggest: bool,
    /// Print the results as a piece of HTML
    #[arg(long, conflicts_with = "json")]
    pub html: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub nats: NatsArgs,
    /// How long the nodes of a cluster may take: 3, 500ms
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_time, requires = "nats", help_heading = "Cluster")]
    pub timeout: Duration,
    /// Do not search: let others search what this node's directory holds, until stopped
    #[arg(long, requires = "nats", conflicts_with_all = ["query", "forget"], help_heading = "Cluster")]
    pub serve: bool,
    /// With --serve: the node that the directory belongs to [default: the one that made it, or the name of the machine]
    #[arg(long, value_name = "NAME", requires = "serve", help_heading = "Cluster")]
    pub node: Option<String>,
    /// Do not search: ask this node no more, its index will not come back
    #[arg(long, value_name = "NODE", requires = "nats", conflicts_with = "query", help_heading = "Cluster")]
    pub forget: Option<String>,
}

pub fn run(args: SearchArgs) -> Result<Exit> {
    if args.limit > MAX_LIMIT {
        return Err(wrong(format!("--limit takes at most {MAX_LIMIT}; page through more with --offset")));
    }
    if args.serve {
        return cluster::serve(&args);
    }
    if let Some(node) = &args.forget {
        return cluster::forget(&args, node);
    }
    let query = args.query.join(" ");
    if args.suggest {
        let index = OpenIndex::of(&args.data)?;
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
    // What is wrong with a query is said before anybody is asked.
    if let Err(error) = lycosa_search::parse(&query) {
        return Err(pointed(error, &query));
    }
    let mut out = stdout_of(if args.html { Kind::Markup } else { Kind::Text });
    if args.nats.nats.is_some() {
        let joint = cluster::ask(&args.nats, &request, args.timeout)?;
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&joint)?)?;
        } else if args.html {
            out.write_all(joint.answer.html().as_bytes())?;
            tell!("{}", cluster::who_answered(&joint));
        } else {
            write_answer(&joint.answer, &args, &mut out)?;
            writeln!(out, "{}", one_line_each(&cluster::who_answered(&joint)))?;
        }
        out.flush()?;
        return Ok(Exit::Done);
    }
    let index = OpenIndex::of(&args.data)?;
    let began = Instant::now();
    let answer = match index.search(&request, || began.elapsed()) {
        Err(SearchError::Query(error)) => return Err(pointed(error, &query)),
        other => other?,
    };
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

/// An error with the place in the query that it is about.
fn pointed(error: QueryError, query: &str) -> anyhow::Error {
    let place = format!("the query\n{}\n", error.pointed(query));
    anyhow::Error::from(error).context(place)
}

fn suggest(index: &SearchIndex, typed: &str, args: &SearchArgs) -> Result<Exit> {
    let suggestions = index.suggest(typed, args.limit)?;
    let mut out = stdout_of(Kind::Text);
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
    let (open, close) = (BOLD, PLAIN);
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

/// Lines without other control characters: nodes say why they cannot answer.
fn one_line_each(text: &str) -> String {
    text.lines().map(one_line).collect::<Vec<_>>().join("\n")
}

/// Without control characters, which a page could use to play with the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
