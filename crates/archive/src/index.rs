//! Index lines from records: the way back, for repair and for archives that others wrote.

use lycosa_types::{CanonRules, CanonUrl, UnixMs};

use crate::cdxj::{LineFacts, REVISIT_MIME, push_facts, push_place};
use crate::date::parse_warc_date;
use crate::digest::PayloadDigest;
use crate::head::read_head;
use crate::reader::PlacedRecord;
use crate::record::Record;

/// Appends the line of a record if it is one that is indexed. Returns the new length of `lines`.
pub(crate) fn push_line(lines: &mut Vec<u8>, placed: &PlacedRecord, filename: &str) -> usize {
    let record = &placed.record;
    let revisit = record.kind() == "revisit";
    if !revisit && record.kind() != "response" {
        return lines.len();
    }
    let Some(url) = record.target().and_then(canonical) else {
        return lines.len();
    };
    let facts = read_head(&record.block);
    let mime = if revisit { Some(REVISIT_MIME) } else { facts.mime.as_deref() };
    let line = LineFacts {
        url: &url,
        at: date_of(record),
        mime,
        status: facts.status.as_deref(),
        digest: Some(
            record
                .header("WARC-Payload-Digest")
                .and_then(PayloadDigest::parse)
                .unwrap_or_else(|| PayloadDigest::of(record.block.get(facts.end..).unwrap_or_default())),
        ),
    };
    push_facts(lines, &line);
    push_place(lines, placed.length, placed.offset, filename);
    lines.len()
}

fn date_of(record: &Record) -> UnixMs {
    record.header("WARC-Date").and_then(parse_warc_date).unwrap_or_default()
}

/// Our own targets are canonical already, whatever rules they were made under: they are kept as they stand.
fn canonical(target: &str) -> Option<CanonUrl> {
    let bare = CanonRules {
        tracking_parameters: Vec::new(),
        session_parameters: Vec::new(),
        drop_repeated: false,
        sort_query: false,
    };
    let parsed = CanonUrl::parse(target, &bare).ok()?;
    Some(if parsed.as_str() == target { parsed } else { CanonUrl::from_canonical(target.to_owned()) })
}
