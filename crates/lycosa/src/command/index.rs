//! `lycosa index`: the full-text index of a crawl, made or brought up to date from its archive.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::indexing::{Importance, bring_up_to_date};
use lycosa_engine::{CrawlReader, Layout};
use lycosa_graph::Ranks;
use lycosa_search::{Indexer, disk_bytes, index_dir};
use lycosa_types::Digest;

use crate::exit::Exit;
use crate::figures::{byte_rate, bytes, count, duration, rate};
use crate::output::{passing, stdout, tell};
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  lycosa index -d docs              index what is new, drop what has vanished
  lycosa index -d docs --rebuild    make the whole index anew from the archive
  lycosa search 'web crawler' -d docs";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct IndexArgs {
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Throw the index away and make it anew
    #[arg(long)]
    pub rebuild: bool,
    /// Print a JSON object with what was done
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: IndexArgs) -> Result<Exit> {
    let began = Instant::now();
    let reader = CrawlReader::open(Layout::new(&args.data))?;
    if !reader.layout.archive().is_dir() {
        bail!("the crawl in {} was made without an archive; there is nothing to index", args.data.display());
    }
    let dir = index_dir(&args.data);
    let mut indexer = if args.rebuild { Indexer::rebuild(&dir)? } else { Indexer::open(&dir)? };
    let is_quiet = args.json || !std::io::stderr().is_terminal();
    let ranks = ranks_of(&reader.layout)?;
    let rank_of = |id| ranks.as_ref().and_then(|ranks| ranks.rank_of(id));
    let importance = ranks.as_ref().map(|ranks| Importance { id: number_of(ranks), rank_of: &rank_of });
    let walked = bring_up_to_date(&reader, &mut indexer, importance, &mut |pages| {
        if !is_quiet {
            passing(&format!("{} pages", count(pages)));
        }
    })?;
    if !is_quiet {
        passing("");
    }
    for (url, problem) in &walked.unreadable {
        tell!("left out {url}: {problem}");
    }
    let pages = indexer.versions()?.count();
    let fed = indexer.finish()?;
    let seconds = began.elapsed().as_secs_f64();
    let index_bytes = disk_bytes(&dir)?;
    let mut out = stdout();
    if args.json {
        let answer = serde_json::json!({
            "pages": pages, "indexed": fed.put, "removed": fed.deleted, "unchanged": walked.unchanged,
            "unreadable": walked.unreadable.len(), "page_bytes": walked.page_bytes, "text_bytes": fed.text_bytes, "index_bytes": index_bytes,
            "seconds": seconds,
        });
        writeln!(out, "{answer:#}")?;
    } else {
        let mut table = Table::new();
        table.row("pages", count(pages));
        table.row("indexed", format!("{} ({})", count(fed.put), rate(fed.put as f64 / seconds)));
        table.row("removed", count(fed.deleted));
        table.row("unchanged", count(walked.unchanged));
        table.row("unreadable", count(walked.unreadable.len() as u64));
        let text_rate = byte_rate(fed.text_bytes as f64 / seconds);
        table.row("text", format!("{} ({text_rate})", bytes(fed.text_bytes)));
        table.row("index", bytes(index_bytes));
        table.row("took", duration(seconds));
        write!(out, "{}", table.text(0))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The ranks of `lycosa rank`, if it has been run.
fn ranks_of(layout: &Layout) -> Result<Option<Ranks>> {
    let path = layout.graph().join("ranks");
    if !path.is_file() {
        return Ok(None);
    }
    Ok(Some(
        Ranks::open(&path).with_context(|| format!("{}; make it anew with `lycosa rank`", path.display()))?,
    ))
}

/// Another number for ranks of another graph, or made in another way.
fn number_of(ranks: &Ranks) -> u64 {
    let info = &ranks.info;
    let parts = [info.log_bytes, info.damping.to_bits(), u64::from(info.rounds), info.change.to_bits()];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    // 0 stands for no ranks.
    Digest::of(&bytes).0.max(1)
}
