//! One JSON line for each page fetched, read back from the archive and scanned anew.

use std::io::Write;

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_types::{CanonUrl, Outcome, UrlId, UrlRecord};
use serde::Serialize;

use crate::document::{Document, DocumentReader, HeadingLine, Link};
use crate::figures::instant;

/// Pages that are sorted by their place in the archive before they are read, so that it is read forwards.
const SORTED_AT_ONCE: usize = 1 << 18;

/// The fields, in the order they are written; all are always there.
#[derive(Debug, Serialize)]
struct Line<'a> {
    url: &'a str,
    status: u16,
    title: &'a str,
    text: &'a str,
    links: &'a [Link<'a>],
    /// As the page states it.
    language: &'a str,
    description: &'a str,
    author: &'a str,
    canonical: Option<&'a str>,
    headings: &'a [HeadingLine<'a>],
    kind: &'a str,
    content_type: &'a str,
    charset: &'a str,
    bytes: u64,
    depth: u16,
    noindex: bool,
    visited_at: Option<String>,
    digest: Option<String>,
    duplicate_of: Option<String>,
}

/// Writes every fetched page that the archive holds and returns how many there are. A page that cannot be read back is
/// named on standard error and left out.
pub fn write(reader: &CrawlReader, out: &mut dyn Write) -> Result<u64> {
    let mut documents = DocumentReader::new(reader.config.urls.clone());
    let mut records = reader.store.urls();
    let mut places: Vec<Place> = Vec::new();
    let mut written = 0;
    loop {
        let next = records.next().transpose()?;
        let is_end = next.is_none();
        if let Some((id, record)) = next
            && matches!(record.outcome, Some(Outcome::Fetched { .. }))
            && let Some(span) = record.visit.and_then(|facts| facts.archived)
        {
            places.push((span.segment, span.offset, id));
        }
        if is_end || places.len() >= SORTED_AT_ONCE {
            places.sort_unstable();
            for (_, _, id) in places.drain(..) {
                let Some(record) = reader.store.url(id)? else { continue };
                match write_page(reader, &mut documents, &record, out) {
                    Ok(()) => written += 1,
                    Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Err(error),
                    Err(error) => eprintln!("left out {}: {error:#}", record.url),
                }
            }
        }
        if is_end {
            return Ok(written);
        }
    }
}

/// Segment, offset and id of a page.
type Place = (u32, u64, UrlId);

fn write_page(
    reader: &CrawlReader,
    documents: &mut DocumentReader,
    record: &UrlRecord,
    out: &mut dyn Write,
) -> Result<()> {
    let response = reader.archived(record)?.decode()?;
    let Some(facts) = &record.visit else { return Ok(()) };
    let url = CanonUrl::from_canonical(record.url.clone());
    let document: Document<'_> =
        documents.read(&response.payload, response.header("content-type"), Some(&url));
    let line = Line {
        url: &record.url,
        status: record.outcome.as_ref().and_then(Outcome::status).unwrap_or_default(),
        title: document.title,
        text: &document.text,
        links: &document.links,
        language: document.language,
        description: document.description,
        author: document.author,
        canonical: document.canonical.as_deref(),
        headings: &document.headings,
        kind: document.kind,
        content_type: &facts.content_type,
        charset: document.charset,
        bytes: facts.body_bytes,
        depth: record.depth,
        noindex: facts.noindex,
        visited_at: record.visited_at.map(instant),
        digest: facts.digest.map(|digest| digest.to_string()),
        duplicate_of: match facts.duplicate_of {
            Some(id) => reader.url_of(id)?,
            None => None,
        },
    };
    serde_json::to_writer(&mut *out, &line).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}
