//! `lycosa compare`: what changed between two visits of a page, told from files.

mod pairs;
pub mod picture;
mod places;
pub mod reading;
mod report;
mod scores;

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lycosa_page::winnow::{MAX_K, MAX_W};
use lycosa_page::{ContentKind, WinnowConfig, WinnowHash};

use crate::download::read_file;
use crate::exit::Exit;
use crate::output::stdout;
use crate::usage::wrong;
use reading::{Reading, kind_of_file};

const EXAMPLES: &str = "\
Examples:
  lycosa compare monday.html tuesday.html
  lycosa compare old.png new.png --json
  lycosa cat https://example.org/ -d docs | lycosa compare old.html -
  lycosa compare --pairs pairs.jsonl | jq -r 'select(.verdict == \"text\").new'
A line of pairs: {\"old\": \"a/1.html\", \"new\": \"b/1.html\", \"host\": \"example.org\"}";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// The page (or image) as it was: a file, `-` for standard input
    #[arg(required_unless_present = "pairs")]
    pub old: Option<String>,
    /// The page (or image) as it is
    #[arg(required_unless_present = "pairs")]
    pub new: Option<String>,
    /// Compare many pairs: JSON lines with `old`, `new` and, optionally, `host`; what changes on most
    /// pages of a host in the same way is template, not news. Prints one JSON line each
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["old", "new"])]
    pub pairs: Option<String>,
    #[command(flatten)]
    pub prints: PrintArgs,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// How prints are taken.
#[derive(Clone, Debug, Args)]
pub struct PrintArgs {
    /// Characters hashed together: shorter matches are never found
    #[arg(long, value_name = "N", default_value_t = WinnowConfig::default().k, value_parser = up_to::<MAX_K>)]
    pub k: usize,
    /// Hashes in a window: matches of K + W - 1 characters are always found
    #[arg(long, value_name = "N", default_value_t = WinnowConfig::default().w, value_parser = up_to::<MAX_W>)]
    pub w: usize,
    /// The hash of K characters
    #[arg(long, value_enum, default_value_t = HashName::Fast)]
    pub hash: HashName,
}

impl PrintArgs {
    pub fn config(&self) -> WinnowConfig {
        WinnowConfig { k: self.k, w: self.w, hash: self.hash.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HashName {
    /// A rolling hash
    Fast,
    /// MD5
    Md5,
}

impl From<HashName> for WinnowHash {
    fn from(name: HashName) -> Self {
        match name {
            HashName::Fast => Self::Fast,
            HashName::Md5 => Self::Md5,
        }
    }
}

/// A number from 1 to `MOST`.
fn up_to<const MOST: usize>(typed: &str) -> Result<usize, String> {
    match typed.parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("a number from 1 to {MOST} is expected")),
    }
}

pub fn run(args: CompareArgs) -> Result<Exit> {
    let config = args.prints.config();
    let mut out = stdout();
    match (&args.pairs, &args.old, &args.new) {
        (Some(list), _, _) => pairs::write(list, config, &mut out)?,
        (None, Some(old), Some(new)) => write_one(old, new, config, args.json, &mut out)?,
        _ => bail!("name two files, or a list of pairs with --pairs"),
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn write_one(old: &str, new: &str, config: WinnowConfig, json: bool, out: &mut dyn Write) -> Result<()> {
    if old == "-" && new == "-" {
        return Err(wrong("only one of the two can come from standard input; name a file for the other"));
    }
    let bodies = (read_file(old)?, read_file(new)?);
    write_bodies((old, &bodies.0), (new, &bodies.1), config, json, out)
}

/// What changed between two bodies, each given with a name.
pub fn write_bodies(
    old: (&str, &[u8]),
    new: (&str, &[u8]),
    config: WinnowConfig,
    json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    if is_picture(old.0, old.1) && is_picture(new.0, new.1) {
        let report = picture::Report::of(old.0, new.0, old.1, new.1);
        return if json { write_json(&report, out) } else { report.write(out) };
    }
    let mut readings = (Reading::new(config), Reading::new(config));
    let report = report::Report::of(&mut readings, old, new);
    if json { write_json(&report, out) } else { report.write(out) }
}

fn write_json(report: &impl serde::Serialize, out: &mut dyn Write) -> Result<()> {
    Ok(writeln!(out, "{}", serde_json::to_string_pretty(report)?)?)
}

fn is_picture(path: &str, body: &[u8]) -> bool {
    kind_of_file(path, body) == ContentKind::Image
}

/// The name of a verdict, signal or extent, the same in text as in JSON.
fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
