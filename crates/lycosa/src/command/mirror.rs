//! `lycosa mirror`: a browsable copy of a crawl, made from its archive.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use lycosa_engine::{CrawlReader, Layout};
use lycosa_mirror::{LinkCounts, Linker, MISSING_PAGE, Missing, Tree, Written, path_of};
use lycosa_rewrite::Language;
use lycosa_types::{CanonUrl, Outcome, UrlKey, UrlRecord};
use serde::Serialize;

use crate::exit::Exit;
use crate::figures::{bytes, count};
use crate::output::stdout;

const EXAMPLES: &str = "\
Examples:
  lycosa mirror --from docs --out site                    then open site/HOST/index.html in a browser
  lycosa mirror --from docs --out site --adjust-extension  pages without .html in their names show, too
  lycosa mirror --from docs --out site --delete            again, after a refresh: what is gone goes
  lycosa mirror --from docs --out site --json

Exit codes: 0 everything archived is in the mirror, 1 failed or something could not be read, 2 wrong usage.";

/// Redirects followed from a link to its file.
const MAX_REDIRECTS: usize = 10;
/// Failures that are named; the others are counted.
const MAX_NAMED: usize = 20;

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum MissingArg {
    #[default]
    Live,
    Page,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MirrorArgs {
    /// The directory of the crawl; nothing is asked of the network
    #[arg(long, value_name = "CRAWL")]
    pub from: PathBuf,
    /// The directory of the mirror; one that is there is brought up to date
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Add the extension of its media type to a name that has another, or none
    #[arg(long)]
    pub adjust_extension: bool,
    /// Where links to pages lead that are not in the mirror: to the live page, or to a page that says so
    #[arg(long, value_enum, default_value_t)]
    pub missing: MissingArg,
    /// Remove files of URLs that are not in the crawl any more
    #[arg(long)]
    pub delete: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a URL has in the mirror.
enum Fate {
    File(Option<&'static str>),
    Redirect(Box<str>),
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Done {
    files: u64,
    new: u64,
    changed: u64,
    unchanged: u64,
    removed: u64,
    bytes: u64,
    local_links: u64,
    live_links: u64,
    missing_requisites: u64,
    /// URLs that are known and have no file, by outcome.
    left_out: std::collections::BTreeMap<String, u64>,
    /// URLs whose copy could not be read or written, and why; the first of them.
    failed: u64,
    failures: Vec<String>,
}

pub fn run(args: MirrorArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(&args.from))?;
    let mut done = Done::default();
    let fates = fates(&reader, args.adjust_extension, &mut done)?;
    let mut tree = Tree::open(&args.out)?;
    let mut hosts = BTreeSet::new();
    for entry in reader.store.urls() {
        let (_, record) = entry?;
        let url = CanonUrl::from_canonical(record.url.clone());
        let Some(Fate::File(extension)) = fates.get(&url.key()) else { continue };
        let path = path_of(&url, *extension);
        hosts.extend(path.split('/').next().map(str::to_owned));
        if let Err(error) =
            mirror_one(&reader, &fates, &record, &url, &path, args.missing, &mut tree, &mut done)
        {
            done.failed += 1;
            if done.failures.len() < MAX_NAMED {
                done.failures.push(format!("{url}: {error:#}"));
            }
        }
    }
    tree.write(MISSING_PAGE, MISSING_TEXT.as_bytes())?;
    if hosts.len() > 1 {
        tree.write("index.html", top(&hosts).as_bytes())?;
    }
    if args.delete {
        let files: std::collections::HashSet<u64> = fates
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::File(_)))
            .map(|(key, _)| key.low())
            .collect();
        let keep = |path: &str| match lycosa_mirror::url_of(path) {
            Some(url) => files.contains(&UrlKey::of(&url).low()),
            // The name of a long one is its key.
            None => {
                let hash = path.rsplit('/').next().and_then(|name| name.get(..32));
                let key = hash.and_then(|hash| u128::from_str_radix(hash, 16).ok());
                key.is_none_or(|key| files.contains(&UrlKey(key).low()))
            }
        };
        done.removed = tree.remove_others(&keep)?;
    }
    tell(&args, &done)?;
    Ok(if done.failed > 0 { Exit::Failed } else { Exit::Done })
}

/// What each URL of the crawl has in the mirror.
fn fates(reader: &CrawlReader, adjust: bool, done: &mut Done) -> Result<HashMap<UrlKey, Fate>> {
    let mut fates = HashMap::new();
    for entry in reader.store.urls() {
        let (_, record) = entry?;
        let key = UrlKey::of(&record.url);
        let archived = record.visit.as_ref().filter(|visit| visit.archived.is_some());
        match (&record.outcome, archived) {
            (Some(Outcome::Fetched { .. } | Outcome::NotModified), Some(visit)) => {
                let extension = if adjust { extension_of(&visit.content_type) } else { None };
                fates.insert(key, Fate::File(extension));
            }
            (Some(Outcome::Redirected { to, .. }), _) => {
                fates.insert(key, Fate::Redirect(to.as_str().into()));
            }
            (outcome, _) => {
                let word = outcome.as_ref().map_or("waiting", |outcome| outcome.word());
                *done.left_out.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(fates)
}

fn find(fates: &HashMap<UrlKey, Fate>, url: &CanonUrl) -> Option<String> {
    let mut url = url.clone();
    for _ in 0..=MAX_REDIRECTS {
        match fates.get(&url.key())? {
            Fate::File(extension) => return Some(path_of(&url, *extension)),
            Fate::Redirect(to) => url = CanonUrl::from_canonical(to.to_string()),
        }
    }
    None
}

#[allow(clippy::too_many_arguments)]
fn mirror_one(
    reader: &CrawlReader,
    fates: &HashMap<UrlKey, Fate>,
    record: &UrlRecord,
    url: &CanonUrl,
    path: &str,
    missing: MissingArg,
    tree: &mut Tree,
    done: &mut Done,
) -> Result<()> {
    let response = reader.archived(record)?.decode()?;
    let content_type = record.visit.as_ref().map_or("", |visit| visit.content_type.as_str());
    let mut body = response.payload;
    let is_html = content_type.is_empty() && body.trim_ascii_start().starts_with(b"<");
    let language = Language::of_media_type(content_type).or(is_html.then_some(Language::Html));
    if let Some(language) = language {
        let missing = match missing {
            MissingArg::Live => Missing::Live,
            MissingArg::Page => Missing::Page,
        };
        let find = |url: &CanonUrl| find(fates, url);
        let linker = Linker { url, path, rules: &reader.config.urls, missing, find: &find };
        let mut led = Vec::with_capacity(body.len());
        let LinkCounts { local, live, missing_requisites } = linker.rewrite(language, &body, &mut led);
        done.local_links += local;
        done.live_links += live;
        done.missing_requisites += missing_requisites;
        body = led;
    }
    match tree.write(path, &body).with_context(|| path.to_owned())? {
        Written::New => done.new += 1,
        Written::Changed => done.changed += 1,
        Written::Same => done.unchanged += 1,
    }
    done.files += 1;
    done.bytes += body.len() as u64;
    Ok(())
}

/// The extension by which browsers know a media type again.
fn extension_of(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match essence.as_str() {
        "text/html" => "html",
        "application/xhtml+xml" => "xhtml",
        "text/css" => "css",
        "text/javascript" | "application/javascript" => "js",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "font/woff2" => "woff2",
        "font/woff" => "woff",
        _ => return None,
    })
}

const MISSING_TEXT: &str = "<!DOCTYPE html>\n<meta charset=utf-8>\n<title>Not mirrored</title>\n\
    <p>This page is not in the mirror. On the network it is here:\n\
    <p><script>var a = document.createElement('a'); var u = location.hash.slice(1);\n\
    if (/^https?:/.test(u)) { a.href = u; a.textContent = u; document.body.appendChild(a); }</script>\n";

/// The page that lists the mirrored sites. Names of directories hold nothing that HTML would misread but `&`.
fn top(hosts: &BTreeSet<String>) -> String {
    let mut page = "<!DOCTYPE html>\n<meta charset=utf-8>\n<title>Mirrored sites</title>\n<ul>\n".to_owned();
    for host in hosts {
        let host = host.replace('&', "&amp;");
        page.push_str(&format!("<li><a href=\"{host}/\">{host}</a>\n"));
    }
    page.push_str("</ul>\n");
    page
}

fn tell(args: &MirrorArgs, done: &Done) -> Result<()> {
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(done)?)?;
    } else {
        let Done { files, new, changed, unchanged, removed, .. } = done;
        writeln!(out, "{} files, {}, in {}", count(*files), bytes(done.bytes), args.out.display())?;
        writeln!(
            out,
            "{} new, {} changed, {} unchanged, {} removed",
            count(*new),
            count(*changed),
            count(*unchanged),
            count(*removed)
        )?;
        writeln!(
            out,
            "links: {} to files, {} to live pages; {} requisites missing",
            count(done.local_links),
            count(done.live_links),
            count(done.missing_requisites)
        )?;
        for (word, number) in &done.left_out {
            writeln!(out, "left out: {} {word}", count(*number))?;
        }
        for failure in &done.failures {
            writeln!(out, "failed: {failure}")?;
        }
        let more = done.failed.saturating_sub(done.failures.len() as u64);
        if more > 0 {
            writeln!(out, "failed: {} more", count(more))?;
        }
    }
    out.flush()?;
    Ok(())
}
