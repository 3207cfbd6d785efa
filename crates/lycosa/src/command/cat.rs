//! `lycosa cat`: a page as it was archived.

use std::io::{Cursor, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};

use crate::exit::Exit;
use crate::foreign::Kind;
use crate::output::stdout_of;

const EXAMPLES: &str = "\
Examples:
  lycosa cat https://example.org/ -d docs > index.html
  lycosa cat --headers https://example.org/ -d docs
  lycosa cat --raw https://example.org/ -d docs     head and body byte for byte, codings kept
  lycosa cat --json https://example.org/ -d docs    status, headers and the body as text";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CatArgs {
    /// The URL whose page is wanted
    #[arg(value_name = "URL")]
    pub url: String,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// Print the head of the response instead of its body
    #[arg(long, conflicts_with = "raw")]
    pub headers: bool,
    /// Print the response as stored: head and body, codings and chunks included
    #[arg(long)]
    pub raw: bool,
    /// Print a JSON object with status, headers and the body as text
    #[arg(long, conflicts_with_all = ["headers", "raw"])]
    pub json: bool,
}

pub fn run(args: CatArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(&args.data))?;
    let record = reader.find(&args.url)?;
    let page = reader.archived(&record)?;
    // Into a file or another program a page goes as it is; a terminal would do what it says.
    let is_bytes = !args.json && !std::io::stdout().is_terminal();
    let mut out = stdout_of(if is_bytes { Kind::Bytes } else { Kind::Text });
    if args.json {
        let response = page.decode()?;
        let head = lycosa_archive::http_response(&page.own, &lycosa_archive::ReadLimits::default())?;
        let answer = serde_json::json!({
            "url": record.url,
            "status": head.status,
            "headers": head.headers,
            "payload_of": page.response.target(),
            "body": String::from_utf8_lossy(&response.payload),
        });
        writeln!(out, "{answer:#}")?;
    } else if args.headers {
        out.write_all(page.head())?;
    } else {
        let body = if args.raw { page.response.block } else { page.decode()?.payload };
        let looks_binary = body.iter().take(1024).any(|&byte| byte == 0);
        if looks_binary && std::io::stdout().is_terminal() {
            bail!("{} is not text; send it to a file: lycosa cat … > FILE", record.url);
        }
        std::io::copy(&mut Cursor::new(body), &mut out).context("writing the page")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
