//! A WARC record as read back: named fields and a block.

use crate::error::ReadError;

/// Limits on what is read from an archive, which may be anybody's.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// The record's own head.
    pub head_bytes: usize,
    /// The record's block.
    pub block_bytes: u64,
    /// The payload of a response once decoded.
    pub payload_bytes: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { head_bytes: 64 * 1024, block_bytes: 1 << 30, payload_bytes: 1 << 30 }
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Names and values in the order of the record.
    pub headers: Vec<(String, String)>,
    pub block: Vec<u8>,
}

impl Record {
    /// The first field of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// `response`, `request`, `revisit`, `metadata`, `warcinfo`, …; empty if the record does not say.
    pub fn kind(&self) -> &str {
        self.header("WARC-Type").unwrap_or_default()
    }

    /// The target, without the angle brackets that some writers put round it.
    pub fn target(&self) -> Option<&str> {
        let target = self.header("WARC-Target-URI")?;
        Some(target.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(target))
    }
}

/// Reads the fields of a record's head (without the blank line).
pub(crate) fn read_fields(head: &[u8], offset: u64) -> Result<Vec<(String, String)>, ReadError> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    if !lines.next().is_some_and(|version| version.starts_with("WARC/")) {
        return Err(ReadError::NotWarc { offset });
    }
    let mut fields: Vec<(String, String)> = Vec::with_capacity(12);
    for line in lines {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    Ok(fields)
}

/// The block's length by the record's own word.
pub(crate) fn content_length(fields: &[(String, String)], offset: u64) -> Result<u64, ReadError> {
    let value = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let digits = value.map(|(_, v)| v.as_str()).filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
    digits.and_then(|v| v.parse().ok()).ok_or(ReadError::NoLength { offset })
}
