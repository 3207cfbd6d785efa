//! The pages fetched, read back from the archive and scanned anew: one JSON line for each.

use std::io::Write;

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_page::{Content, ContentKind, WinnowConfig, sniff};
use lycosa_types::{CanonUrl, Outcome, UrlId, UrlRecord};
use serde::Serialize;

use super::Written;
use crate::command::compare::reading::Reading;
use crate::document::{Document, DocumentReader, HeadingLine, Link};
use crate::figures::instant;
use crate::output::tell;

/// Pages that are sorted by their place in the archive before they are read, so that it is read forwards.
const SORTED_AT_ONCE: usize = 1 << 18;

/// The fields, in the order they are written; all are always there.
#[derive(Debug, Serialize)]
struct Line<'a> {
    url: &'a str,
    status: u16,
    title: &'a str,
    text: &'a str,
    /// The article without what surrounds it.
    main_text: &'a str,
    links: &'a [Link<'a>],
    /// As the page states it.
    language: &'a str,
    description: &'a str,
    author: &'a str,
    /// As ISO 8601.
    published: Option<&'a str>,
    modified: Option<&'a str>,
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

/// Writes every fetched page that the archive holds and returns how many there are.
pub fn write(reader: &CrawlReader, out: &mut dyn Write) -> Result<Written> {
    let mut documents = DocumentReader::new(reader.config.urls.clone());
    let mut reading = Reading::new(WinnowConfig::default());
    each_page(reader, |_, record, payload, content_type| {
        let Some(facts) = &record.visit else { return Ok(false) };
        let url = CanonUrl::from_canonical(record.url.clone());
        let document: Document<'_> = documents.read(payload, content_type, Some(&url));
        let content = match sniff(content_type, payload) {
            ContentKind::Html => {
                let source = reading.scan(ContentKind::Html, payload, content_type);
                reading.content(&source, Some(&record.url))
            }
            // Only a page of HTML has something around its content.
            _ => Content::default(),
        };
        let line = Line {
            url: &record.url,
            status: record.outcome.as_ref().and_then(Outcome::status).unwrap_or_default(),
            title: document.title,
            text: &document.text,
            main_text: &content.text,
            links: &document.links,
            language: document.language,
            description: document.description,
            author: content.author.as_deref().unwrap_or(document.author),
            published: content.published.as_deref(),
            modified: content.modified.as_deref(),
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
        Ok(true)
    })
}

/// Segment, offset and id of a page.
type Place = (u32, u64, UrlId);

/// Reads every fetched page that the archive holds and has it taken, with its body and its Content-Type; returns how many
/// were. A page that cannot be read back is named on standard error and left out.
pub fn each_page(
    reader: &CrawlReader,
    take: impl FnMut(UrlId, &UrlRecord, &[u8], Option<&str>) -> Result<bool>,
) -> Result<Written> {
    each(reader, |outcome| matches!(outcome, Outcome::Fetched { .. }), take)
}

/// Reads everything that the archive should hold of known URLs, names what cannot be read and counts it.
pub fn unreadable(reader: &CrawlReader) -> Result<u64> {
    Ok(each(reader, |_| true, |_, _, _, _| Ok(true))?.left_out)
}

fn each(
    reader: &CrawlReader,
    wanted: impl Fn(&Outcome) -> bool,
    mut take: impl FnMut(UrlId, &UrlRecord, &[u8], Option<&str>) -> Result<bool>,
) -> Result<Written> {
    let mut records = reader.store.urls();
    let mut places: Vec<Place> = Vec::new();
    let mut written = Written::default();
    loop {
        let next = records.next().transpose()?;
        let is_end = next.is_none();
        if let Some((id, record)) = next
            && record.outcome.as_ref().is_some_and(&wanted)
            && let Some(span) = record.visit.and_then(|facts| facts.archived)
        {
            places.push((span.segment, span.offset, id));
        }
        if is_end || places.len() >= SORTED_AT_ONCE {
            places.sort_unstable();
            for (_, _, id) in places.drain(..) {
                let Some(record) = reader.store.url(id)? else { continue };
                match read_page(reader, id, &record, &mut take) {
                    Ok(is_taken) => written.figure += u64::from(is_taken),
                    Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Err(error),
                    Err(error) => {
                        tell!("left out {}: {error:#}", record.url);
                        written.left_out += 1;
                    }
                }
            }
        }
        if is_end {
            return Ok(written);
        }
    }
}

fn read_page(
    reader: &CrawlReader,
    id: UrlId,
    record: &UrlRecord,
    take: &mut impl FnMut(UrlId, &UrlRecord, &[u8], Option<&str>) -> Result<bool>,
) -> Result<bool> {
    let response = reader.archived(record)?.decode()?;
    take(id, record, &response.payload, response.header("content-type"))
}
