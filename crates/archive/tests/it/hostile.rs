//! Archives written by somebody who wishes us ill.

use std::io::Write;

use lycosa_archive::{ReadError, ReadLimits, Record, RecordReader, http_response};
use proptest::prelude::*;

use crate::sample::gzip;

fn read_all(bytes: &[u8], limits: ReadLimits) -> Result<usize, ReadError> {
    let mut count = 0;
    for placed in RecordReader::new(bytes, 0, limits) {
        placed?;
        count += 1;
    }
    Ok(count)
}

fn small() -> ReadLimits {
    ReadLimits { head_bytes: 1000, block_bytes: 10_000, payload_bytes: 10_000 }
}

fn record(length: &str, block: &[u8]) -> Vec<u8> {
    let mut out = format!("WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    out.extend_from_slice(block);
    out.extend_from_slice(b"\r\n\r\n");
    out
}

#[test]
fn lies_end_in_typed_errors() {
    let told = |bytes: &[u8]| read_all(bytes, small());
    assert!(matches!(told(b"GIF89a"), Err(ReadError::NotWarc { offset: 0 })));
    assert!(matches!(told(&record("x", b"")), Err(ReadError::NoLength { .. })));
    assert!(matches!(told(&record("-1", b"")), Err(ReadError::NoLength { .. })));
    assert!(matches!(told(&record("99999999999999999999", b"")), Err(ReadError::NoLength { .. })));
    assert!(matches!(told(&record("18446744073709551615", b"")), Err(ReadError::BlockTooLarge { .. })));
    assert!(matches!(told(&record("9000", b"short")), Err(ReadError::Damaged { .. })));
    let head = format!("WARC/1.1\r\nX: {}", "y".repeat(2000));
    assert!(matches!(told(head.as_bytes()), Err(ReadError::HeadTooLarge { .. })));
    assert!(matches!(told(&gzip(head.as_bytes())), Err(ReadError::HeadTooLarge { .. })));
    let two_in_one = gzip(&[record("1", b"a"), record("1", b"b")].concat());
    assert!(matches!(told(&two_in_one), Err(ReadError::Damaged { .. })));
    assert!(matches!(
        told(&[0x5d, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff]),
        Err(ReadError::Damaged { .. })
    ));
    assert!(matches!(told(&[0x5d, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]), Err(ReadError::Damaged { .. })));
    let mut wrong_sum = gzip(&record("1", b"a"));
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    assert!(matches!(told(&wrong_sum), Err(ReadError::Damaged { .. })));
    assert_eq!(told(&[gzip(&record("1", b"a")), record("2", b"bc")].concat()).unwrap(), 2);
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let block = vec![b'a'; 50_000_000];
    assert!(matches!(
        read_all(&gzip(&record("50000000", &block)), small()),
        Err(ReadError::BlockTooLarge { .. })
    ));
    let mut body = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    body.extend(gzip(&block));
    let response = response(body);
    assert!(matches!(http_response(&response, &small()), Err(ReadError::PayloadTooLarge { limit: 10_000 })));
}

fn response(block: Vec<u8>) -> Record {
    Record { headers: vec![("WARC-Type".to_owned(), "response".to_owned())], block }
}

#[test]
fn payloads_that_are_not_what_they_say() {
    for (head, body) in [
        ("Content-Encoding: gzip", "not gzip"),
        ("Content-Encoding: br", "not brotli"),
        ("Content-Encoding: zstd", "not zstd"),
        ("Content-Encoding: deflate", "\u{0}\u{1}\u{2}"),
        ("Content-Encoding: rot13", "x"),
        ("Content-Encoding: gzip, gzip, gzip, gzip, gzip", "x"),
        ("Transfer-Encoding: chunked", "zz\r\n"),
        ("Transfer-Encoding: chunked", "ffffffffffffffffff\r\nx"),
        ("Transfer-Encoding: chunked", "5\r\nabc"),
        ("Transfer-Encoding: chunked", "no size at all"),
    ] {
        let mut record = response(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes());
        assert!(matches!(http_response(&record, &small()), Err(ReadError::Coding { .. })), "{head} {body}");
        record.headers.push(("WARC-Truncated".to_owned(), "disconnect".to_owned()));
        let forgiven = http_response(&record, &small());
        let unknown = head.contains("rot13") || head.contains("gzip, gzip");
        assert_eq!(forgiven.is_err(), unknown, "{head} {body}");
    }
}

#[test]
fn what_is_no_response_is_told() {
    let mut record = response(Vec::new());
    assert!(matches!(http_response(&record, &small()), Err(ReadError::NotHttp(_))));
    record.headers.clear();
    record.block = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    assert!(matches!(http_response(&record, &small()), Err(ReadError::NotHttp(_))));
}

#[test]
fn codings_are_undone() {
    let page = b"<p>hello</p>".repeat(20);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&page).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    raw.write_all(&page).unwrap();
    for (head, body) in [
        ("Content-Encoding: deflate", zlib.finish().unwrap()),
        ("Content-Encoding: deflate", raw.finish().unwrap()),
        ("Content-Encoding: zstd", zstd::encode_all(page.as_slice(), 1).unwrap()),
        ("Content-Encoding: gzip, identity", gzip(&page)),
        ("Content-Encoding: gzip\r\nContent-Encoding: x-gzip", gzip(&gzip(&page))),
        ("Transfer-Encoding: Chunked", crate::sample::chunk(&page)),
    ] {
        let mut block = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes();
        block.extend(body);
        let read = http_response(&response(block), &small()).unwrap();
        assert_eq!(read.payload, page, "{head}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_data(bytes in proptest::collection::vec(any::<u8>(), 0..600), magic in 0usize..4) {
        let start: &[u8] = [b"".as_slice(), b"\x1f\x8b\x08\0\0\0\0\0\0\0", b"\x28\xb5\x2f\xfd", b"WARC/1.1\r\n"][magic];
        let _ = read_all(&[start, &bytes].concat(), small());
        let _ = http_response(&response(bytes), &small());
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0usize..600, value in any::<u8>(), packed in any::<bool>()) {
        let block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
        let body = crate::sample::chunk(&gzip(&b"abc".repeat(100)));
        let block = [block.as_slice(), &body].concat();
        let mut bytes = record(&block.len().to_string(), &block);
        if packed {
            bytes = gzip(&bytes);
        }
        let at = at % bytes.len();
        bytes[at] = value;
        for placed in RecordReader::new(bytes.as_slice(), 0, small()).flatten() {
            let _ = http_response(&placed.record, &small());
        }
    }
}
