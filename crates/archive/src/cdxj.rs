//! The index beside each segment: one line per response or revisit.
//!
//! `KEY TIMESTAMP {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, "filename": …}`, spelled like
//! the lines of the public indexing tools to the last blank, so that indexes can be compared byte for byte. `mime` and
//! `status` are left out where the response had none. Requests, metadata and warcinfo are not indexed.

use std::io::Write as _;

use lycosa_types::{CanonUrl, UnixMs};

use crate::date::push_timestamp;
use crate::digest::PayloadDigest;
use crate::surt::push_surt;

/// The mime type that stands for a revisit.
pub const REVISIT_MIME: &str = "warc/revisit";

/// What a line says before the record has a place.
#[derive(Debug)]
pub(crate) struct LineFacts<'a> {
    pub url: &'a CanonUrl,
    pub at: UnixMs,
    pub mime: Option<&'a str>,
    pub status: Option<&'a str>,
    pub digest: Option<PayloadDigest>,
}

/// Appends everything up to the length. The line ends with [`push_place`].
pub(crate) fn push_facts(out: &mut Vec<u8>, facts: &LineFacts<'_>) {
    push_surt(out, facts.url);
    out.push(b' ');
    push_timestamp(out, facts.at);
    out.extend_from_slice(b" {\"url\": ");
    push_json(out, facts.url.as_str());
    for (name, value) in [("mime", facts.mime), ("status", facts.status)] {
        if let Some(value) = value {
            out.extend_from_slice(b", \"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\": ");
            push_json(out, value);
        }
    }
    if let Some(digest) = facts.digest {
        out.extend_from_slice(b", \"digest\": \"");
        out.extend_from_slice(&digest.text());
        out.push(b'"');
    }
}

/// Appends the rest of the line, once it is known where the record is.
pub(crate) fn push_place(out: &mut Vec<u8>, length: u64, offset: u64, filename: &str) {
    // Writing into a vector does not fail.
    let _ = write!(out, ", \"length\": \"{length}\", \"offset\": \"{offset}\", \"filename\": \"");
    out.extend_from_slice(filename.as_bytes());
    out.extend_from_slice(b"\"}\n");
}

/// Appends a JSON string in ASCII.
fn push_json(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().all(|b| (0x20..=0x7e).contains(&b) && b != b'"' && b != b'\\') {
        out.extend_from_slice(text.as_bytes());
    } else {
        for c in text.chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\u{8}' => out.extend_from_slice(b"\\b"),
                '\u{c}' => out.extend_from_slice(b"\\f"),
                ' '..='~' => out.push(c as u8),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            }
        }
    }
    out.push(b'"');
}

/// Where a line's record is: (offset, length). None if the line is not whole.
pub(crate) fn read_place(line: &[u8]) -> Option<(u64, u64)> {
    let line = line.strip_suffix(b"\"}\n")?;
    let field = |name: &[u8]| -> Option<u64> {
        let at = memchr::memmem::rfind(line, name)? + name.len();
        let digits = line.get(at..)?;
        let end = memchr::memchr(b'"', digits)?;
        std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
    };
    Some((field(b", \"offset\": \"")?, field(b", \"length\": \"")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_its_place() {
        let url = CanonUrl::from_canonical("http://e.org/a\"".to_owned());
        let facts = LineFacts {
            url: &url,
            at: UnixMs(0),
            mime: Some("tëxt/\u{1F600}"),
            status: Some("200"),
            digest: Some(PayloadDigest::of(b"")),
        };
        let mut line = Vec::new();
        push_facts(&mut line, &facts);
        push_place(&mut line, 12, 345, "x-00001.warc.gz");
        let expected = "org,e)/a\" 19700101000000 {\"url\": \"http://e.org/a\\\"\", \"mime\": \"t\\u00ebxt/\\ud83d\\ude00\", \
            \"status\": \"200\", \"digest\": \"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\", \"length\": \"12\", \"offset\": \"345\", \
            \"filename\": \"x-00001.warc.gz\"}\n";
        assert_eq!(std::str::from_utf8(&line), Ok(expected));
        assert_eq!(read_place(&line), Some((345, 12)));
        for end in 0..line.len() {
            assert_eq!(read_place(&line[..end]), None);
        }
    }
}
