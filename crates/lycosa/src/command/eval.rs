//! `lycosa eval`: how well an index answers queries whose answers are known.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use lycosa_search::evaluation::{
    DEPTH, Figures, GAIN_CUT, Judgements, as_words, mean, measure, read_queries,
};
use lycosa_search::parse;

use crate::exit::Exit;
use crate::index_place::OpenIndex;
use crate::output::stdout;

/// More results than this are no ranking any more.
const MAX_DEPTH: usize = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  lycosa eval --queries queries.txt --qrels qrels.txt -d docs
  lycosa eval --queries queries.txt --qrels qrels.txt -d docs --operators

queries.txt: lines of NUMBER TEXT. qrels.txt: lines of NUMBER 0 DOCUMENT GRADE, where a document is named by
its URL or by the last part of its path, with or without its ending.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EvalArgs {
    /// The queries
    #[arg(long, value_name = "FILE")]
    pub queries: PathBuf,
    /// The judgements, in the format of TREC
    #[arg(long, value_name = "FILE")]
    pub qrels: PathBuf,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Take the texts as queries with operators instead of plain words
    #[arg(long)]
    pub operators: bool,
    /// How many results of a query are looked at
    #[arg(long, value_name = "N", default_value_t = DEPTH, value_parser = depth)]
    pub depth: usize,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: EvalArgs) -> Result<Exit> {
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let queries = read_queries(&read(&args.queries)?)?;
    let judgements = Judgements::read(&read(&args.qrels)?)?;
    let index = OpenIndex::of(&args.data)?;
    let mut rows: Vec<(String, Figures)> = Vec::new();
    for (number, text) in &queries {
        let text = if args.operators { text.clone() } else { as_words(text) };
        let node = parse(&text).with_context(|| format!("query {number}"))?;
        let ranked: Vec<String> = index.ranked(&node, args.depth)?.into_iter().map(|(url, _)| url).collect();
        rows.extend(measure(number, &ranked, &judgements).map(|figures| (number.clone(), figures)));
    }
    let each: Vec<Figures> = rows.iter().map(|(_, figures)| figures.clone()).collect();
    let mean = mean(&each)?;
    let mut out = stdout();
    if args.json {
        let queries: Vec<_> = rows
            .iter()
            .map(|(number, figures)| serde_json::json!({ "query": number, "figures": figures }))
            .collect();
        writeln!(out, "{:#}", serde_json::json!({ "queries": queries, "mean": mean }))?;
    } else {
        let cuts: String = mean.precision_at.keys().map(|cut| format!("{:>8}", format!("P@{cut}"))).collect();
        let gain = format!("nDCG@{GAIN_CUT}");
        writeln!(out, "{:<10}{:>8}{:>8}{cuts}{:>8}{gain:>9}", "query", "recall", "prec", "AP")?;
        for (number, figures) in &rows {
            write_row(number, figures, &mut out)?;
        }
        write_row("mean", &mean, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MAX_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("a number from 1 to {MAX_DEPTH}"))
}

fn write_row(name: &str, figures: &Figures, out: &mut dyn Write) -> Result<()> {
    write!(out, "{name:<10}{:>8.4}{:>8.4}", figures.recall, figures.precision)?;
    for value in figures.precision_at.values() {
        write!(out, "{value:>8.4}")?;
    }
    writeln!(out, "{:>8.4}{:>9.4}", figures.average_precision, figures.ndcg)?;
    Ok(())
}
