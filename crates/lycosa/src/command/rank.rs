//! `lycosa rank`: what pages are worth by the links between them, and how soon a crawl found the best.

mod curve;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_graph::{RankOptions, Ranks, Weighting};
use serde::Serialize;

use super::place::DEFAULT_DIR;
use crate::exit::Exit;
use crate::figures::{clip, count, plural};
use crate::foreign::quoted;
use crate::link_graph::LinkGraph;
use crate::output::stdout;
use crate::usage::wrong;

const EXAMPLES: &str = "\
Examples:
  lycosa rank docs
  lycosa rank docs --top 5 --json | jq -r '.top[].url'
  lycosa rank breadth-first best-first --curve --svg curves.svg";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RankArgs {
    /// The directory of the crawl; several with --curve [default: crawl]
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// The same, as the other commands spell it
    #[arg(short, long, value_name = "DIR", conflicts_with = "dirs")]
    data: Option<PathBuf>,
    /// Show so many of the best pages
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Count every link alike, whatever its visibility, position and distance
    #[arg(long)]
    plain: bool,
    /// The chance that a reader follows a link rather than going anywhere
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, value_parser = damping)]
    damping: f64,
    /// Compare how soon crawls gathered the rank of their pages
    #[arg(long)]
    curve: bool,
    /// Judge all crawls by the ranks of this one instead of each by its own
    #[arg(long, value_name = "DIR", requires = "curve")]
    of: Option<PathBuf>,
    /// Draw the curves into this file
    #[arg(long, value_name = "FILE", requires = "curve")]
    svg: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn damping(raw: &str) -> Result<f64, String> {
    match raw.parse() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("must be at least 0 and less than 1".to_owned()),
    }
}

impl RankArgs {
    /// The curve of one crawl.
    pub fn curve(dir: PathBuf, svg: Option<PathBuf>, json: bool) -> Self {
        let RankOptions { damping, .. } = RankOptions::default();
        Self { dirs: vec![dir], data: None, top: 0, plain: false, damping, curve: true, of: None, svg, json }
    }

    fn options(&self) -> RankOptions {
        let weighting = if self.plain { Weighting::Plain } else { Weighting::Attributes };
        RankOptions { damping: self.damping, weighting, ..RankOptions::default() }
    }
}

/// The result as JSON.
#[derive(Debug, Serialize)]
struct Answer {
    /// URLs that link or are linked.
    urls: u32,
    /// Pages whose links are known.
    pages: u64,
    links: u64,
    damping: f64,
    /// Whether links count by their attributes.
    weighted: bool,
    rounds: u32,
    /// How much the last round changed, all ranks together being 1.
    change: f64,
    top: Vec<Ranked>,
}

#[derive(Debug, Serialize)]
struct Ranked {
    url: String,
    /// The average is 1.
    rank: f32,
    in_links: u32,
    out_links: u32,
    title: String,
}

pub fn run(args: RankArgs) -> Result<Exit> {
    let mut dirs = args.dirs.clone();
    dirs.extend(args.data.clone());
    if dirs.is_empty() {
        dirs.push(PathBuf::from(DEFAULT_DIR));
    }
    if args.curve {
        return curve::run(&dirs, &args);
    }
    let [dir] = dirs.as_slice() else {
        return Err(wrong("several crawls are compared with --curve; rank them one by one otherwise"));
    };
    let graph = LinkGraph::open(CrawlReader::open(Layout::new(dir))?)?;
    let ranks = graph.ranks(&args.options())?;
    let answer = Answer {
        urls: graph.index.nodes(),
        pages: graph.index.pages(),
        links: graph.index.edges(),
        damping: ranks.info.damping,
        weighted: ranks.info.weighting == Weighting::Attributes,
        rounds: ranks.info.rounds,
        change: ranks.info.change,
        top: best(&graph, &ranks, args.top)?,
    };
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
    } else {
        write!(out, "{}", text(&answer))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The best URLs that the crawl has a record of.
fn best(graph: &LinkGraph, ranks: &Ranks, count: usize) -> Result<Vec<Ranked>> {
    // Popular pages out of scope are ranked too, but have no name here.
    let mut wanted = count.saturating_mul(2);
    loop {
        let mut top = Vec::new();
        let best = ranks.best(wanted);
        for &(id, rank) in &best {
            if top.len() == count {
                break;
            }
            if let (Some(record), Some(node)) = (graph.record(id)?, graph.index.node(id)?) {
                let title = record.visit.map(|facts| facts.title).unwrap_or_default();
                let (in_links, out_links) = (node.in_links, node.out_links);
                top.push(Ranked { url: record.url, rank, in_links, out_links, title });
            }
        }
        if top.len() == count || best.len() == ranks.len() {
            return Ok(top);
        }
        wanted = wanted.saturating_mul(4);
    }
}

fn text(answer: &Answer) -> String {
    let links = if answer.weighted { "links by visibility, position and distance" } else { "plain links" };
    let mut out = format!(
        "{}, {}; {links}, damping {}, {}\n    rank  links to it\n",
        plural(u64::from(answer.urls), "URL", "URLs"),
        plural(answer.links, "link", "links"),
        answer.damping,
        plural(u64::from(answer.rounds), "round", "rounds")
    );
    for page in &answer.top {
        let linked = count(u64::from(page.in_links));
        out.push_str(&format!(
            "{:>8.2}  {linked:>11}  {}  {}\n",
            page.rank,
            page.url,
            quoted(&clip(&page.title, 40))
        ));
    }
    out
}
