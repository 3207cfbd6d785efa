//! `lycosa links`: the links of a page, and the pages that link to it.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_graph::link_index::Node;
use lycosa_graph::{Direction, Edge, Weighting};
use lycosa_types::{CanonUrl, LinkAttributes, UrlKey};
use serde::Serialize;

use crate::document::DocumentReader;
use crate::exit::Exit;
use crate::figures::plural;
use crate::link_graph::LinkGraph;
use crate::output::stdout;

const EXAMPLES: &str = "\
Examples:
  lycosa links https://example.org/ -d docs
  lycosa links https://example.org/ -d docs --in --limit 5
  lycosa links https://example.org/ -d docs --out --json | jq -r '.out[].url'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LinksArgs {
    /// The page in question
    #[arg(value_name = "URL")]
    pub url: String,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Only the pages that link to it
    #[arg(long = "in", conflicts_with = "out")]
    pub inward: bool,
    /// Only the links on it
    #[arg(long)]
    pub out: bool,
    /// Show at most so many links in each direction
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The answer as JSON. A direction that was not asked for is null.
#[derive(Debug, Serialize)]
struct Answer {
    url: String,
    /// Whether its own links are known.
    visited: bool,
    out_links: u32,
    in_links: u32,
    /// Links on the page.
    out: Option<Vec<LinkLine>>,
    /// Pages that link to it.
    #[serde(rename = "in")]
    inward: Option<Vec<LinkLine>>,
}

#[derive(Debug, Serialize)]
struct LinkLine {
    /// The page at the other end; null if neither the crawl nor the archived page tells its address.
    url: Option<String>,
    /// 3 bold and italic, 2 either, 1 neither.
    visibility: u8,
    /// 3 first third of the page, 2 middle, 1 last.
    position: u8,
    /// 1 same host … 5 another domain.
    distance: u8,
    /// What the link counts in ranking, next to others of the same page.
    weight: f32,
}

pub fn run(args: LinksArgs) -> Result<Exit> {
    let graph = LinkGraph::open(CrawlReader::open(Layout::new(args.data.clone()))?)?;
    let url = CanonUrl::parse(&args.url, &graph.reader.config.urls)?;
    let Some(node) = graph.index.node(url.key().low())? else {
        anyhow::bail!(
            "no link leads to {0} or from it in this crawl; `lycosa why {0}` tells more",
            url.as_str()
        );
    };
    let answer = Answer {
        url: url.as_str().to_owned(),
        visited: node.is_visited(),
        out_links: node.out_links,
        in_links: node.in_links,
        out: if args.inward { None } else { Some(lines(&graph, &url, &node, Direction::Out, args.limit)?) },
        inward: if args.out { None } else { Some(lines(&graph, &url, &node, Direction::In, args.limit)?) },
    };
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        write!(out, "{}", text(&answer))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The links in one direction, the weightiest first.
fn lines(
    graph: &LinkGraph,
    url: &CanonUrl,
    node: &Node,
    direction: Direction,
    limit: usize,
) -> Result<Vec<LinkLine>> {
    let edges = graph.index.links(node, direction, limit)?;
    let mut on_page: Option<HashMap<u64, String>> = None;
    let mut lines = Vec::with_capacity(edges.len());
    for Edge { target, attributes } in edges {
        let mut name = graph.record(target)?.map(|record| record.url);
        if name.is_none() && direction == Direction::Out {
            // Out of scope: the crawl keeps no record of it, but the archived page names it.
            let named = on_page.get_or_insert_with(|| addresses(graph, url));
            name = named.get(&target).cloned();
        }
        let LinkAttributes { visibility, position, distance } = LinkAttributes::unpack(attributes);
        let weight = Weighting::Attributes.of(attributes);
        lines.push(LinkLine { url: name, visibility, position, distance, weight });
    }
    lines.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.url.cmp(&b.url)));
    Ok(lines)
}

/// The addresses that the archived page names, by id; none if it is not archived.
fn addresses(graph: &LinkGraph, url: &CanonUrl) -> HashMap<u64, String> {
    let reader = &graph.reader;
    let read = || {
        let record = reader.find(url.as_str()).ok()?;
        let response = reader.archived(&record).ok()?.decode().ok()?;
        let mut documents = DocumentReader::new(reader.config.urls.clone());
        let document = documents.read(&response.payload, response.header("content-type"), Some(url));
        let links = document.links.into_iter().filter_map(|link| link.url);
        Some(links.map(|url| (UrlKey::of(&url).low(), url)).collect())
    };
    read().unwrap_or_default()
}

fn text(answer: &Answer) -> String {
    let mut out = format!("{}\n", answer.url);
    if let Some(links) = &answer.out {
        let head = if answer.visited {
            format!("links to {}", plural(u64::from(answer.out_links), "page", "pages"))
        } else {
            "was not visited as a page, so that its links are not known".to_owned()
        };
        direction(&mut out, &head, answer.out_links, links);
    }
    if let Some(links) = &answer.inward {
        let head = format!("is linked from {}", plural(u64::from(answer.in_links), "page", "pages"));
        direction(&mut out, &head, answer.in_links, links);
    }
    out
}

fn direction(out: &mut String, head: &str, all: u32, links: &[LinkLine]) {
    out.push_str(&format!("{head}\n"));
    if !links.is_empty() {
        out.push_str("  visibility  position  distance\n");
    }
    for link in links {
        let url = link.url.as_deref().unwrap_or("(out of scope and not archived)");
        out.push_str(&format!(
            "  {:>10}  {:>8}  {:>8}  {url}\n",
            link.visibility, link.position, link.distance
        ));
    }
    let left = u64::from(all) - links.len() as u64;
    if left > 0 {
        out.push_str(&format!("  and {} more; --limit shows them\n", plural(left, "link", "links")));
    }
}
