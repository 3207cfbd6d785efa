//! `lycosa export`: a crawl for other programs.

mod markdown;
mod pages;
mod urls;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use lycosa_archive::{Compression, MergedIndex, PackageInfo, Page, export_wacz, export_warc, segments};
use lycosa_engine::crawl::stored_seeds;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_types::{Outcome, UrlRecord};

use crate::exit::Exit;
use crate::figures::{bytes, plural};
use crate::foreign::{Cleaner, Kind};
use crate::out_file::OutFile;
use crate::output::{stdout, stdout_of, tell};
use crate::usage::wrong;

const EXAMPLES: &str = "\
Examples:
  lycosa export -d docs --format wacz -o docs.wacz      open it at https://replayweb.page
  lycosa export -d docs --format jsonl | jq -r .title
  lycosa export -d docs --format markdown -o pages/     one .md file for each page
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
    /// One JSON line for each page fetched: url, title, text, main_text, author, dates, links with attributes, …
    Jsonl,
    /// The main content of each page, behind its url, title, author and dates; with -o DIR a file for each page
    Markdown,
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
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Say as JSON what was written, on standard error where standard output carries the export itself
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: ExportArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(&args.data))?;
    if matches!(args.format, Format::Wacz | Format::Warc | Format::Cdxj) && !reader.layout.archive().is_dir()
    {
        bail!("the crawl in {} was made without an archive; only urls can be exported", args.data.display());
    }
    let file = match (&args.output, args.format) {
        (None, Format::Wacz) => Some(default_package(&args.data)),
        (Some(path), _) if path != Path::new("-") => Some(path.clone()),
        (_, Format::Wacz) => {
            return Err(wrong("a wacz file cannot be written to standard output; name it with -o FILE.wacz"));
        }
        (_, Format::Warc) if std::io::stdout().is_terminal() => {
            bail!("warc records are not for a terminal; name a file with -o FILE.warc.gz")
        }
        _ => None,
    };
    let file = file.as_deref();
    let (written, unit) = match (args.format, file) {
        (Format::Wacz, path) => (write_wacz(&reader, path.unwrap_or(Path::new("crawl.wacz")))?, "pages"),
        (Format::Warc, _) => (write_warc(&reader, file)?, "bytes"),
        (Format::Cdxj, _) => (write_to(file, Kind::Bytes, |out| write_index(&reader, out))?, "lines"),
        (Format::Jsonl, _) => (write_to(file, Kind::Text, |out| pages::write(&reader, out))?, "pages"),
        (Format::Markdown, Some(dir)) => (markdown::write_files(&reader, dir)?, "pages"),
        (Format::Markdown, None) => {
            (write_to(None, Kind::Markup, |out| markdown::write(&reader, out))?, "pages")
        }
        (Format::Urls, _) => (write_to(file, Kind::Text, |out| urls::write(&reader, out))?, "urls"),
    };
    say(&args, file, &written, unit)
}

/// What an export wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Pages, lines or bytes.
    pub figure: u64,
    /// Pages that could not be read back from the archive; each was named.
    pub left_out: u64,
}

/// What was written, for people or programs; on standard output unless that carries the export itself.
fn say(args: &ExportArgs, file: Option<&Path>, written: &Written, unit: &str) -> Result<Exit> {
    let Written { figure, left_out } = *written;
    let text = if args.json {
        let output = file.map(|path| path.display().to_string());
        serde_json::json!({ "output": output, unit: figure, "left_out": left_out }).to_string()
    } else {
        let figure = match unit {
            "bytes" => bytes(figure),
            "urls" => plural(figure, "URL", "URLs"),
            _ => plural(figure, unit.trim_end_matches('s'), unit),
        };
        format!("{figure} written to {}", file.map(|path| path.display().to_string()).unwrap_or_default())
    };
    match file {
        Some(_) => {
            let mut out = stdout();
            writeln!(out, "{text}")?;
            out.flush()?;
        }
        None if args.json => tell!("{text}"),
        None => {}
    }
    if left_out > 0 {
        tell!(
            "lycosa: {} could not be read back from the archive and {} missing in what was written",
            plural(left_out, "page", "pages"),
            if left_out == 1 { "is" } else { "are" }
        );
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

/// Opens the destination, has it filled and completes it.
fn write_to<T>(file: Option<&Path>, kind: Kind, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let Some(path) = file else {
        let mut out = stdout_of(kind);
        let figure = fill(&mut out)?;
        out.flush()?;
        return Ok(figure);
    };
    let mut file = OutFile::create(path)?;
    let mut out = Cleaner::new(&mut file, kind, false);
    let figure = fill(&mut out)?;
    out.flush()?;
    file.finish()?;
    Ok(figure)
}

fn write_warc(reader: &CrawlReader, file: Option<&Path>) -> Result<Written> {
    let compression = compression_for(file);
    let left_out = pages::unreadable(reader)?;
    let bytes = write_to(file, Kind::Bytes, |mut out| {
        Ok(export_warc(&reader.layout.archive(), compression, &mut out)?)
    })?;
    Ok(Written { figure: bytes, left_out })
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

fn write_index(reader: &CrawlReader, out: &mut dyn Write) -> Result<Written> {
    let mut index = MergedIndex::open(&segments(&reader.layout.archive())?)?;
    let mut lines = 0;
    while let Some(line) = index.next_line()? {
        out.write_all(&line)?;
        lines += 1;
    }
    Ok(Written { figure: lines, left_out: 0 })
}

fn write_wacz(reader: &CrawlReader, path: &Path) -> Result<Written> {
    let file = OutFile::create(path)?;
    let left_out = pages::unreadable(reader)?;
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
    let report = export_wacz(&reader.layout.archive(), file.path(), &info, pages)?;
    match failure {
        Some(error) => Err(error).context("the package is not complete"),
        None => {
            file.finish()?;
            Ok(Written { figure: report.pages, left_out })
        }
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
