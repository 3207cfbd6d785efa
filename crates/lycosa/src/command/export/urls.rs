//! One JSON line for each known URL.

use std::io::Write;

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_types::{Exclusion, Outcome, UrlRecord, UrlState};
use serde::Serialize;

use crate::figures::instant;

/// The fields, in the order they are written; all are always there.
#[derive(Debug, Serialize)]
struct Line<'a> {
    url: &'a str,
    /// `queued` or `done`.
    state: UrlState,
    /// `fetched`, `missing`, `redirected`, `robots`, … as in the report; null before the first visit ended.
    outcome: Option<&'static str>,
    status: Option<u16>,
    depth: u16,
    /// Fingerprint of the decoded payload, 16 hexadecimal digits.
    digest: Option<String>,
    /// The first URL with the same payload.
    duplicate_of: Option<String>,
    found_on: Option<String>,
    tries: u16,
    visited_at: Option<String>,
    /// Where a redirect leads.
    redirect_to: Option<&'a str>,
    /// The line of robots.txt that forbids it.
    robots_line: Option<u32>,
    content_type: Option<&'a str>,
    bytes: Option<u64>,
    title: Option<&'a str>,
}

/// Writes every known URL in key order and returns how many there are.
pub fn write(reader: &CrawlReader, out: &mut dyn Write) -> Result<u64> {
    let mut written = 0;
    for item in reader.store.urls() {
        let (_, record) = item?;
        serde_json::to_writer(&mut *out, &line(reader, &record)?).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
        written += 1;
    }
    Ok(written)
}

fn line<'a>(reader: &CrawlReader, record: &'a UrlRecord) -> Result<Line<'a>> {
    let outcome = record.outcome.as_ref();
    let facts = record.visit.as_ref();
    let url_of = |id| match id {
        Some(id) => reader.url_of(id),
        None => Ok(None),
    };
    Ok(Line {
        url: &record.url,
        state: record.state,
        outcome: outcome.map(Outcome::word),
        status: outcome.and_then(Outcome::status),
        depth: record.depth,
        digest: facts.and_then(|facts| facts.digest).map(|digest| digest.to_string()),
        duplicate_of: url_of(facts.and_then(|facts| facts.duplicate_of))?,
        found_on: url_of(record.found_on)?,
        tries: record.tries,
        visited_at: record.visited_at.map(instant),
        redirect_to: match outcome {
            Some(Outcome::Redirected { to, .. }) => Some(to),
            _ => None,
        },
        robots_line: match outcome {
            Some(Outcome::Excluded(Exclusion::Robots { line, .. })) => Some(*line),
            _ => None,
        },
        content_type: facts.map(|facts| facts.content_type.as_str()).filter(|name| !name.is_empty()),
        bytes: facts.map(|facts| facts.body_bytes),
        title: facts.map(|facts| facts.title.as_str()).filter(|title| !title.is_empty()),
    })
}
