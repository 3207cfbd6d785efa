//! The named fields of a record, and what opens and closes it.

use std::io::Write as _;

use lycosa_types::UnixMs;

use crate::date::push_warc_date;
use crate::encode::{EncodedVisit, MemberKind};
use crate::exchange::Exchange;

/// Metadata values are cut here; a metadata record is a note, not a store.
pub const MAX_METADATA_VALUE_BYTES: usize = 64 * 1024;

/// Clears `out` and writes the fields that every record of a visit has.
pub(crate) fn start_record(out: &mut Vec<u8>, kind_name: &str, exchange: &Exchange<'_>, kind: MemberKind) {
    out.clear();
    out.extend_from_slice(b"WARC/1.1\r\nWARC-Type: ");
    out.extend_from_slice(kind_name.as_bytes());
    out.extend_from_slice(b"\r\nWARC-Record-ID: ");
    push_record_id(out, exchange.url.as_str().as_bytes(), exchange.at, kind_seed(kind));
    out.extend_from_slice(b"\r\nWARC-Date: ");
    push_warc_date(out, exchange.at);
    out.extend_from_slice(b"\r\nWARC-Target-URI: ");
    out.extend_from_slice(exchange.url.as_str().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Content type, length, blank line, block, and the two line ends that close a record.
pub(crate) fn end_record(out: &mut Vec<u8>, content_type: &str, block: &[&[u8]]) {
    let length: usize = block.iter().map(|part| part.len()).sum();
    let _ = write!(out, "Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
    out.reserve(length + 4);
    for part in block {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n\r\n");
}

pub(crate) fn push_concurrent(out: &mut Vec<u8>, exchange: &Exchange<'_>, visit: &EncodedVisit) {
    let kind = visit.members.first().map_or(MemberKind::Response, |m| m.kind);
    out.extend_from_slice(b"WARC-Concurrent-To: ");
    push_record_id(out, exchange.url.as_str().as_bytes(), exchange.at, kind_seed(kind));
    out.extend_from_slice(b"\r\n");
}

/// One field on one line: line ends and other control characters in it become blanks.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend(name.bytes().map(|b| if b.is_ascii_graphic() && b != b':' { b } else { b'-' }));
    out.extend_from_slice(b": ");
    let cut = value.floor_char_boundary(MAX_METADATA_VALUE_BYTES);
    let value = value.get(..cut).unwrap_or_default();
    out.extend(value.bytes().map(|b| if b.is_ascii_control() { b' ' } else { b }));
    out.extend_from_slice(b"\r\n");
}

fn kind_seed(kind: MemberKind) -> u64 {
    match kind {
        MemberKind::Response => 1,
        MemberKind::Revisit => 2,
        MemberKind::Request => 3,
        MemberKind::Metadata => 4,
    }
}

/// `<urn:uuid:…>`: version 8 (made by us), from the hash of what the record is about.
pub(crate) fn push_record_id(out: &mut Vec<u8>, about: &[u8], at: UnixMs, kind: u64) {
    let seed = at.0.wrapping_mul(8).wrapping_add(kind);
    let hash = xxhash_rust::xxh3::xxh3_128_with_seed(about, seed);
    let bits = hash & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    out.extend_from_slice(b"<urn:uuid:");
    for i in 0..32u32 {
        if matches!(i, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        let nibble = (bits >> (124 - 4 * i)) & 0xf;
        out.push(b"0123456789abcdef"[nibble as usize]);
    }
    out.push(b'>');
}
