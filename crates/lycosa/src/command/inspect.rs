//! `lycosa inspect`: everything that is extracted from a page, and how it is judged.

mod judgement;

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use lycosa_page::{WinnowConfig, sniff};
use lycosa_types::{CanonRules, CanonUrl};
use serde::Serialize;

use crate::command::compare::reading::Reading;
use crate::document::{Document, DocumentReader, Link};
use crate::download::{Downloader, NetArgs, is_url, literal_rules, read_file};
use crate::exit::Exit;
use crate::figures::{bytes, clip, count, plural};
use crate::foreign::{Kind, quoted};
use crate::output::stdout_of;
use crate::table::Table;
use judgement::{Judgement, picture_of};

/// How much the short form shows.
const SHOWN_HEADINGS: usize = 10;
const SHOWN_LINKS: usize = 15;
const SHOWN_TAGS: usize = 12;
const SHOWN_TEXT: usize = 400;
const LINE_WIDTH: usize = 100;
/// For those who meet the words for the first time.
const MEANINGS: &str = "  (structure I has the first and last letters of all tags in order, II the number of elements on each level; text I and
  II are numbers made of the letters; minutiae are hashes of the text by which pages that read nearly the same are found)";

const EXAMPLES: &str = "\
Examples:
  lycosa inspect page.html --base https://example.org/docs/
  lycosa inspect https://example.org --links
  lycosa inspect page.html --json | jq '.links[] | select(.visibility > 1)'
  lycosa inspect page.html --json | jq '.signatures, .prints, .main.title'
  lycosa inspect https://example.org --markdown
  lycosa cat https://example.org/ -d docs | lycosa inspect - --base https://example.org/ --text";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    /// A page: a file, `-` for standard input, or a URL
    #[arg(value_name = "FILE|URL")]
    pub source: String,
    /// The address of the page, against which its links are resolved (known already for a URL)
    #[arg(long, value_name = "URL")]
    pub base: Option<String>,
    /// The page's Content-Type, for instance 'text/html; charset=latin1' (known already for a URL)
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Print the visible text and nothing else
    #[arg(long, conflicts_with_all = ["links", "json"])]
    pub text: bool,
    /// Print all links with their attributes and nothing else
    #[arg(long, conflicts_with = "json")]
    pub links: bool,
    /// Print the main content as Markdown and nothing else
    #[arg(long, conflicts_with_all = ["text", "links", "json"])]
    pub markdown: bool,
    #[command(flatten)]
    pub net: NetArgs,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// The JSON form: where the page came from, then what it says.
#[derive(Debug, Serialize)]
struct Inspection<'a> {
    source: &'a str,
    /// The address links are resolved against.
    url: Option<&'a str>,
    /// Null unless the page was fetched.
    status: Option<u16>,
    content_type: Option<&'a str>,
    bytes: usize,
    #[serde(flatten)]
    document: &'a Document<'a>,
    #[serde(flatten)]
    judgement: Judgement,
}

pub fn run(args: InspectArgs) -> Result<Exit> {
    let mut base = match &args.base {
        Some(raw) => Some(CanonUrl::parse(raw, &literal_rules()).with_context(|| format!("--base {raw}"))?),
        None => None,
    };
    let mut content_type = args.content_type.clone();
    let mut status = None;
    let body = if is_url(&args.source) {
        let url = CanonUrl::parse(&args.source, &literal_rules())?;
        let (url, response) = Downloader::new(&args.net)?.page(url)?;
        status = Some(response.status);
        content_type = content_type.or_else(|| response.content_type().map(str::to_owned));
        base = base.or(Some(url));
        response.body.to_vec()
    } else {
        read_file(&args.source)?
    };
    let mut out = stdout_of(if args.markdown { Kind::Markup } else { Kind::Text });
    let config = WinnowConfig::default();
    let mut reading = Reading::new(config);
    let kind = sniff(content_type.as_deref(), &body);
    let picture = picture_of(kind, &body);
    // An image has no text to judge.
    let page = if picture.is_some() { &[][..] } else { &body };
    let source = reading.scan(kind, page, content_type.as_deref());
    if args.markdown {
        writeln!(out, "{}", reading.markdown(&source).trim_end())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let judgement =
        Judgement::of(&mut reading, &source, base.as_ref().map(CanonUrl::as_str), config, picture);
    let mut documents = DocumentReader::new(CanonRules::default());
    let document = documents.read(&body, content_type.as_deref(), base.as_ref());
    let inspection = Inspection {
        source: &args.source,
        url: base.as_ref().map(CanonUrl::as_str),
        status,
        content_type: content_type.as_deref(),
        bytes: body.len(),
        document: &document,
        judgement,
    };
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&inspection)?)?;
    } else if args.text {
        writeln!(out, "{}", document.text)?;
    } else if args.links {
        for link in &document.links {
            writeln!(out, "{}", link_line(link, usize::MAX))?;
        }
    } else {
        write_short(&inspection, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn write_short(inspection: &Inspection<'_>, out: &mut dyn Write) -> Result<()> {
    let document = inspection.document;
    let mut table = Table::new();
    let kind = format!("{}, {}", document.kind, bytes(inspection.bytes as u64));
    table.row("kind", kind);
    if let Some(status) = inspection.status {
        table.row("status", status.to_string());
    }
    let errors = if document.charset_errors { ", with bytes that mean nothing in it" } else { "" };
    table.row("charset", format!("{} ({}{errors})", document.charset, document.charset_source));
    table.row_if_any("address", inspection.url.unwrap_or_default());
    for (name, value) in [
        ("title", document.title),
        ("language", document.language),
        ("description", document.description),
        ("keywords", document.keywords),
        ("author", document.author),
        ("generator", document.generator),
        ("site", document.site_name),
        ("canonical", document.canonical.as_deref().unwrap_or_default()),
        ("base", document.base.unwrap_or_default()),
    ] {
        table.row_if_any(name, clip(value, LINE_WIDTH));
    }
    let dates: Vec<String> =
        document.dates.iter().map(|date| format!("{} {}", date.kind, date.value)).collect();
    table.row_if_any("dates", dates.join(", "));
    table.row_if_any("robots", document.robots.join(", "));
    if let Some(refresh) = &document.refresh {
        table.row("refresh", format!("after {} s to {}", refresh.delay_s, refresh.href.unwrap_or("itself")));
    }
    table.row_if_any("tags", tag_line(&document.tags));
    table.row_if_any("truncated", document.truncated.join(", "));
    writeln!(out, "{}\n{}", inspection.source, table.text(2).trim_end())?;
    writeln!(out, "judged\n{}", inspection.judgement.table().text(2).trim_end())?;
    if inspection.judgement.picture.is_none() {
        writeln!(out, "{MEANINGS}")?;
    }
    if !document.headings.is_empty() {
        writeln!(out, "{}", plural(document.headings.len() as u64, "heading", "headings"))?;
        for heading in document.headings.iter().take(SHOWN_HEADINGS) {
            let indent = 2 * usize::from(heading.level);
            writeln!(out, "{:indent$}{}", "", clip(heading.text, LINE_WIDTH))?;
        }
        write_rest(document.headings.len(), SHOWN_HEADINGS, "--json shows all", out)?;
    }
    writeln!(out, "{}{}", plural(document.links.len() as u64, "link", "links"), kinds(&document.links))?;
    for link in document.links.iter().take(SHOWN_LINKS) {
        writeln!(out, "  {}", link_line(link, LINE_WIDTH))?;
    }
    write_rest(document.links.len(), SHOWN_LINKS, "--links shows all", out)?;
    let words = document.text.split_whitespace().count();
    writeln!(out, "{} of text", plural(words as u64, "word", "words"))?;
    for line in clip(&document.text, SHOWN_TEXT).lines() {
        writeln!(out, "  {line}")?;
    }
    write_rest(document.text.chars().count(), SHOWN_TEXT, "--text shows all", out)
}

fn write_rest(number: usize, shown: usize, hint: &str, out: &mut dyn Write) -> Result<()> {
    if number > shown {
        writeln!(out, "  ({} more; {hint})", count((number - shown) as u64))?;
    }
    Ok(())
}

/// `v2 p3 d1 anchor https://example.org/ "words" nofollow`.
fn link_line(link: &Link<'_>, width: usize) -> String {
    let distance = link.distance.map_or_else(|| "-".to_owned(), |distance| distance.to_string());
    let url = link.url.as_deref().unwrap_or(&link.href);
    let mut line =
        format!("v{} p{} d{distance} {:<10} {}", link.visibility, link.position, link.kind, clip(url, width));
    if !link.anchor.is_empty() {
        line.push_str(&format!(" {}", quoted(&clip(link.anchor, width))));
    }
    if !link.rel.is_empty() {
        line.push_str(&format!(" rel={}", link.rel.join(",")));
    }
    line
}

/// ` (50 anchor, 3 image)`.
fn kinds(links: &[Link<'_>]) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for link in links {
        *kinds.entry(link.kind).or_default() += 1;
    }
    let listed: Vec<String> =
        kinds.into_iter().map(|(kind, number)| format!("{} {kind}", count(number))).collect();
    if listed.is_empty() {
        return String::new();
    }
    format!(" ({}); v visibility 1–3, p position 1–3, d distance 1–5", listed.join(", "))
}

/// The most frequent tags.
fn tag_line(tags: &BTreeMap<String, u32>) -> String {
    let mut ranked: Vec<(&String, &u32)> = tags.iter().collect();
    ranked.sort_by_key(|&(name, number)| (std::cmp::Reverse(*number), name));
    let listed: Vec<String> =
        ranked.iter().take(SHOWN_TAGS).map(|(name, number)| format!("{name} {number}")).collect();
    let more = if ranked.len() > SHOWN_TAGS { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}
