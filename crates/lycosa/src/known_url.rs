//! What is known of a URL, in the form `why` and `export` print as JSON.

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_types::{ArchiveSpan, Exclusion, Outcome, UrlRecord};
use serde::Serialize;

use crate::figures::instant;

/// The fields, in the order they are written; all are always there.
#[derive(Debug, Serialize)]
pub struct KnownUrl<'a> {
    /// `fetched`, `missing`, `redirected`, `robots`, … as in the report; null before the first visit ended.
    pub outcome: Option<&'static str>,
    pub status: Option<u16>,
    pub depth: u16,
    /// Fingerprint of the decoded payload, 16 hexadecimal digits.
    pub digest: Option<String>,
    /// The first URL with the same payload.
    pub duplicate_of: Option<String>,
    /// An earlier page with nearly the same text, and the share of it that is the same.
    pub near_duplicate_of: Option<String>,
    pub resemblance: Option<f64>,
    /// The page it was first found on; null for a seed.
    pub found_on: Option<String>,
    pub found_at: String,
    pub tries: u16,
    pub visited_at: Option<String>,
    /// Where a redirect leads.
    pub redirect_to: Option<&'a str>,
    /// The line of robots.txt that forbids it; 0 if the file could not be read.
    pub robots_line: Option<u32>,
    pub content_type: Option<&'a str>,
    pub bytes: Option<u64>,
    pub title: Option<&'a str>,
    /// As the page states it.
    pub language: Option<&'a str>,
    /// Links met on it.
    pub links: Option<u32>,
    pub noindex: Option<bool>,
    pub elapsed_ms: Option<u32>,
    /// Where its record lies: segment, offset, length.
    pub archived: Option<ArchiveSpan>,
}

impl<'a> KnownUrl<'a> {
    pub fn new(reader: &CrawlReader, record: &'a UrlRecord) -> Result<Self> {
        let outcome = record.outcome.as_ref();
        let facts = record.visit.as_ref();
        let near = facts.and_then(|facts| facts.near_duplicate);
        let url_of = |id| match id {
            Some(id) => reader.url_of(id),
            None => Ok(None),
        };
        let stated = |text: &'a String| Some(text.as_str()).filter(|text| !text.is_empty());
        Ok(Self {
            outcome: outcome.map(Outcome::word),
            status: outcome.and_then(Outcome::status),
            depth: record.depth,
            digest: facts.and_then(|facts| facts.digest).map(|digest| digest.to_string()),
            duplicate_of: url_of(facts.and_then(|facts| facts.duplicate_of))?,
            near_duplicate_of: url_of(near.map(|near| near.of))?,
            resemblance: near.map(|near| f64::from(near.resemblance_permille) / 1000.0),
            found_on: url_of(record.found_on)?,
            found_at: instant(record.found_at),
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
            content_type: facts.and_then(|facts| stated(&facts.content_type)),
            bytes: facts.map(|facts| facts.body_bytes),
            title: facts.and_then(|facts| stated(&facts.title)),
            language: facts.and_then(|facts| stated(&facts.language)),
            links: facts.map(|facts| facts.links),
            noindex: facts.map(|facts| facts.noindex),
            elapsed_ms: facts.map(|facts| facts.elapsed_ms),
            archived: facts.and_then(|facts| facts.archived),
        })
    }
}
