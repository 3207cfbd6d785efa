//! From a response record back to what the page's author sent: status, headers, decoded body.

use std::io::Read;

use crate::error::ReadError;
use crate::head::read_head;
use crate::record::{ReadLimits, Record};

/// More content codings than this on one response are refused.
const MAX_CODINGS: usize = 4;
/// Longest line that gives a chunk's size.
const MAX_CHUNK_LINE_BYTES: usize = 4096;

/// An HTTP response read back from the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Zero if the status line has no number.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// The body without transfer and content codings.
    pub payload: Vec<u8>,
}

impl HttpResponse {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Reads a response (or revisit, whose payload is then empty) record.
pub fn http_response(record: &Record, limits: &ReadLimits) -> Result<HttpResponse, ReadError> {
    if !matches!(record.kind(), "response" | "revisit") {
        return Err(ReadError::NotHttp("it is not a response or revisit record"));
    }
    let facts = read_head(&record.block);
    let status = facts.status.ok_or(ReadError::NotHttp("it has no status line"))?;
    let head = String::from_utf8_lossy(record.block.get(..facts.end).unwrap_or_default());
    let headers: Vec<(String, String)> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let mut response =
        HttpResponse { status: status.parse().unwrap_or_default(), headers, payload: Vec::new() };
    if record.kind() == "response" {
        let body = record.block.get(facts.end..).unwrap_or_default();
        let truncated = record.header("WARC-Truncated").is_some();
        response.payload = decode_body(body, &response, truncated, limits.payload_bytes)?;
    }
    Ok(response)
}

/// Undoes chunking, then the content codings from the last to the first. A body known to be cut short yields what can be had.
fn decode_body(
    body: &[u8],
    response: &HttpResponse,
    truncated: bool,
    limit: u64,
) -> Result<Vec<u8>, ReadError> {
    let chunked = response
        .header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    let mut payload = if chunked { unchunk(body, truncated)? } else { body.to_vec() };
    let codings: Vec<String> = response
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
        .flat_map(|(_, value)| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    if codings.len() > MAX_CODINGS {
        return Err(ReadError::Coding {
            coding: "content-encoding".to_owned(),
            reason: format!("{} codings on one another", codings.len()),
        });
    }
    for coding in codings.iter().rev() {
        if !payload.is_empty() {
            payload = decode(&payload, coding, truncated, limit)?;
        }
    }
    if payload.len() as u64 > limit {
        return Err(ReadError::PayloadTooLarge { limit });
    }
    Ok(payload)
}

fn decode(body: &[u8], coding: &str, truncated: bool, limit: u64) -> Result<Vec<u8>, ReadError> {
    match coding {
        "gzip" | "x-gzip" => {
            read_limited(flate2::bufread::MultiGzDecoder::new(body), coding, truncated, limit)
        }
        // What is called deflate is zlib by the standard and raw deflate by habit.
        "deflate" => read_limited(flate2::bufread::ZlibDecoder::new(body), coding, truncated, limit)
            .or_else(|_| read_limited(flate2::bufread::DeflateDecoder::new(body), coding, truncated, limit)),
        "br" => read_limited(brotli_decompressor::Decompressor::new(body, 4096), coding, truncated, limit),
        "zstd" => {
            let decoder = zstd::stream::read::Decoder::with_buffer(body)
                .map_err(|e| ReadError::Coding { coding: coding.to_owned(), reason: e.to_string() })?;
            read_limited(decoder, coding, truncated, limit)
        }
        _ => Err(ReadError::Coding {
            coding: coding.to_owned(),
            reason: "not a coding that is known here".to_owned(),
        }),
    }
}

fn read_limited(reader: impl Read, coding: &str, truncated: bool, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    let result = reader.take(limit.saturating_add(1)).read_to_end(&mut out);
    if out.len() as u64 > limit {
        return Err(ReadError::PayloadTooLarge { limit });
    }
    match result {
        Err(error) if !truncated => {
            Err(ReadError::Coding { coding: coding.to_owned(), reason: error.to_string() })
        }
        _ => Ok(out),
    }
}

/// Joins the chunks. Never longer than its input.
pub fn unchunk(body: &[u8], truncated: bool) -> Result<Vec<u8>, ReadError> {
    let wrong = |reason: &str| ReadError::Coding { coding: "chunked".to_owned(), reason: reason.to_owned() };
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    loop {
        let line_end =
            memchr::memchr(b'\n', rest.get(..MAX_CHUNK_LINE_BYTES.min(rest.len())).unwrap_or_default());
        let Some(line_end) = line_end else {
            return if truncated { Ok(out) } else { Err(wrong("a chunk has no size")) };
        };
        let digits = rest.get(..line_end).unwrap_or_default();
        let digits = digits.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        let size = std::str::from_utf8(digits)
            .ok()
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| usize::from_str_radix(d, 16).ok());
        rest = rest.get(line_end + 1..).unwrap_or_default();
        match size {
            Some(0) => return Ok(out),
            Some(size) if size <= rest.len() => {
                out.extend_from_slice(rest.get(..size).unwrap_or_default());
                rest = rest.get(size..).unwrap_or_default();
                rest = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(rest);
            }
            Some(_) if truncated => {
                out.extend_from_slice(rest);
                return Ok(out);
            }
            Some(_) => return Err(wrong("a chunk is longer than the body")),
            None if truncated => return Ok(out),
            None => return Err(wrong("a chunk's size is not a number")),
        }
    }
}
