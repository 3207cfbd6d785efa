//! `lycosa export`: a crawl for other programs.

mod pages;
mod urls;

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use lycosa_archive::{Compression, MergedIndex, PackageInfo, Page, export_wacz, export_warc, segments};
use lycosa_engine::crawl::stored_seeds;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_types::{Outcome, UrlRecord};

use crate::exit::Exit;
use crate::figures::{bytes, plural};
use crate::output::stdout;

const EXAMPLES: &str = "\
Examples:
  lycosa export -d docs --format wacz -o docs.wacz      open it at https://replayweb.page
  lycosa export -d docs --format jsonl | jq -r .title
  lycosa export -d docs --format urls | jq -r 'select(.outcome == \"missing\").url'
  lycosa export -d docs --format warc -o docs.warc.gz   (.warc unpacked, .warc.zst by zstd)";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One file with archive, index and page list, for replay tools
    Wacz,
    /// All records in one WARC file
    Warc,
    /// The index of the archive
    Cdxj,
    /// One JSON line for each page fetched: url, title, text, links with attributes, …
    Jsonl,
    /// One JSON line for each URL known: url, state, outcome, status, depth, digest, duplicate_of, …
    Urls,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// What to write
    #[arg(short, long, value_enum)]
    pub format: Format,
    /// Where to write it; `-` is standard output, the default for all but wacz (DIR.wacz)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print a JSON object with what was written on standard error
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: ExportArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(&args.data))?;
    if matches!(args.format, Format::Wacz | Format::Warc | Format::Cdxj) && !reader.layout.archive().is_dir()
    {
        bail!("the crawl in {} was made without an archive; only urls can be exported", args.data.display());
    }
    let to_stdout = args.output.as_deref().is_none_or(|path| path == Path::new("-"));
    let (items, name) = match args.format {
        Format::Wacz => {
            if args.output.as_deref() == Some(Path::new("-")) {
                bail!("a wacz file cannot be written to standard output; name it with -o FILE.wacz");
            }
            let path = args.output.clone().unwrap_or_else(|| default_package(&args.data));
            let items = write_wacz(&reader, &path)?;
            eprintln!("{} pages in {}", items, path.display());
            (items, "pages")
        }
        Format::Warc => {
            if to_stdout && std::io::stdout().is_terminal() {
                bail!("warc records are not for a terminal; name a file with -o FILE.warc.gz");
            }
            let compression = compression_for(args.output.as_deref());
            let mut out = open(args.output.as_deref())?;
            let written = export_warc(&reader.layout.archive(), compression, &mut out)?;
            out.flush()?;
            (written, "bytes")
        }
        Format::Cdxj => {
            let mut out = open(args.output.as_deref())?;
            (write_index(&reader, &mut out)?, "lines")
        }
        Format::Jsonl => {
            let mut out = open(args.output.as_deref())?;
            let items = pages::write(&reader, &mut out)?;
            out.flush()?;
            (items, "pages")
        }
        Format::Urls => {
            let mut out = open(args.output.as_deref())?;
            let items = urls::write(&reader, &mut out)?;
            out.flush()?;
            (items, "urls")
        }
    };
    if args.json {
        eprintln!("{}", serde_json::json!({ name: items, "output": args.output }));
    } else if !to_stdout && args.format != Format::Wacz {
        let figure =
            if name == "bytes" { bytes(items) } else { plural(items, name.trim_end_matches('s'), name) };
        eprintln!("{figure} written");
    }
    Ok(Exit::Done)
}

fn open(path: Option<&Path>) -> Result<Box<dyn Write>> {
    match path {
        Some(path) if path != Path::new("-") => {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            Ok(Box::new(BufWriter::with_capacity(1 << 20, file)))
        }
        _ => Ok(Box::new(stdout())),
    }
}

/// `docs/` becomes `docs.wacz`.
fn default_package(data: &Path) -> PathBuf {
    let name = data.file_name().map_or_else(|| "crawl".into(), std::ffi::OsStr::to_os_string);
    let mut file = name;
    file.push(".wacz");
    PathBuf::from(file)
}

/// By the name of the file; gzip where it says nothing.
fn compression_for(path: Option<&Path>) -> Compression {
    let name = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(".warc") {
        Compression::None
    } else if name.ends_with(".zst") {
        Compression::Zstd(3)
    } else {
        Compression::default()
    }
}

fn write_index(reader: &CrawlReader, out: &mut dyn Write) -> Result<u64> {
    let mut index = MergedIndex::open(&segments(&reader.layout.archive())?)?;
    let mut lines = 0;
    while let Some(line) = index.next_line()? {
        out.write_all(&line)?;
        lines += 1;
    }
    out.flush()?;
    Ok(lines)
}

fn write_wacz(reader: &CrawlReader, path: &Path) -> Result<u64> {
    let seeds = stored_seeds(&reader.store)?;
    let title = seeds.first().map_or_else(|| "a crawl".to_owned(), |seed| format!("Crawl of {seed}"));
    let info = PackageInfo {
        title,
        description: format!("Crawled from {}.", plural(seeds.len() as u64, "seed", "seeds")),
        created: lycosa_engine::clock::now(),
        software: concat!("lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    // The package takes pages, not errors: the first error ends the list and is reported afterwards.
    let mut failure = None;
    let mut records = reader.store.urls();
    let pages = std::iter::from_fn(|| {
        loop {
            match records.next()? {
                Ok((_, record)) => {
                    if let Some(page) = listed(record) {
                        return Some(page);
                    }
                }
                Err(error) => {
                    failure = Some(error);
                    return None;
                }
            }
        }
    });
    let report = export_wacz(&reader.layout.archive(), path, &info, pages)?;
    match failure {
        Some(error) => Err(error).context("the package is not complete"),
        None => Ok(report.pages),
    }
}

/// The entry of a page that somebody may want to open.
fn listed(record: UrlRecord) -> Option<Page> {
    let facts = record.visit?;
    let is_page =
        matches!(record.outcome, Some(Outcome::Fetched { .. })) && facts.content_type.contains("html");
    is_page.then(|| Page {
        url: record.url,
        title: facts.title,
        at: record.visited_at.unwrap_or_default(),
        text: None,
    })
}
