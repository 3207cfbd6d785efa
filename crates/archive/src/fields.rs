//! The named fields of a record, and what opens and closes it.

use lycosa_types::UnixMs;

use crate::date::push_warc_date;
use crate::encode::MemberKind;
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
    out.reserve(content_type.len() + length + 64);
    out.extend_from_slice(b"Content-Type: ");
    out.extend_from_slice(content_type.as_bytes());
    out.extend_from_slice(b"\r\nContent-Length: ");
    push_decimal(out, length);
    out.extend_from_slice(b"\r\n\r\n");
    for part in block {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n\r\n");
}

fn push_decimal(out: &mut Vec<u8>, mut value: usize) {
    // As many digits as the largest number has.
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        // The remainder is below ten, so the digit fits a byte.
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        used += 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// Names the visit's first record, which is of this kind.
pub(crate) fn push_concurrent(out: &mut Vec<u8>, exchange: &Exchange<'_>, kind: MemberKind) {
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
    let mut id = *b"<urn:uuid:00000000-0000-0000-0000-000000000000>";
    let places = id.iter_mut().skip(10).filter(|place| **place == b'0');
    for (i, place) in places.enumerate() {
        // Thirty-two places of four bits each; a remainder of sixteen fits a byte.
        let nibble = (bits >> (124 - 4 * i as u32)) as u8 & 0xf;
        *place = nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
    }
    out.extend_from_slice(&id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids() {
        for number in [0, 9, 10, 217, 1 << 30, usize::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
        let mut id = Vec::new();
        push_record_id(&mut id, b"http://example.org/", UnixMs(1), 1);
        let hash = xxhash_rust::xxh3::xxh3_128_with_seed(b"http://example.org/", 9);
        let hex = format!("{hash:032x}");
        let id = String::from_utf8(id).unwrap();
        let plain: String = id.chars().filter(|&c| c != '-').collect();
        assert_eq!(&plain[10..22], &hex[..12]);
        assert_eq!((&plain[22..23], &plain[23..26], &plain[27..42]), ("8", &hex[13..16], &hex[17..]));
        assert!(id.starts_with("<urn:uuid:") && id.ends_with('>') && id.len() == 47);
        for dash in [18, 23, 28, 33] {
            assert_eq!(&id[dash..=dash], "-");
        }
    }
}
