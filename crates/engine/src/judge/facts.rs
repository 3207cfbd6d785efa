//! What is remembered of a response.

use std::borrow::Cow;

use lycosa_fetch::Response;
use lycosa_types::VisitFacts;

/// Longest title, type, ETag or date that is kept in a record.
const MAX_FACT_BYTES: usize = 512;

/// The facts that the head tells.
pub(super) fn facts(response: &Response, elapsed_ms: u64) -> VisitFacts {
    let owned = |value: Option<&str>| value.map(|value| clip(value).into_owned());
    VisitFacts {
        content_type: owned(response.content_type()).unwrap_or_default(),
        body_bytes: response.body.len() as u64,
        etag: owned(response.etag()),
        last_modified: owned(response.last_modified()),
        elapsed_ms: elapsed_ms.min(u64::from(u32::MAX)) as u32,
        ..VisitFacts::default()
    }
}

/// The start of a text, as long as a record keeps.
pub(super) fn clip(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_FACT_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_FACT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Cow::Borrowed(&text[..end])
}
