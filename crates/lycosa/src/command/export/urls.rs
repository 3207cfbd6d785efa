//! One JSON line for each known URL.

use std::io::Write;

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_types::UrlState;
use serde::Serialize;

use super::Written;
use crate::known_url::KnownUrl;

#[derive(Debug, Serialize)]
struct Line<'a> {
    url: &'a str,
    /// `queued` or `done`.
    state: UrlState,
    #[serde(flatten)]
    known: KnownUrl<'a>,
}

/// Writes every known URL in key order and returns how many there are.
pub fn write(reader: &CrawlReader, out: &mut dyn Write) -> Result<Written> {
    let mut written = 0;
    for item in reader.store.urls() {
        let (_, record) = item?;
        let line = Line { url: &record.url, state: record.state, known: KnownUrl::new(reader, &record)? };
        // As an I/O error, so that a reader that has seen enough is recognised.
        serde_json::to_writer(&mut *out, &line).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
        written += 1;
    }
    Ok(Written { figure: written, left_out: 0 })
}
