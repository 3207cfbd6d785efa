//! Visits to write in tests, made from a number.

use lycosa_archive::{
    Archive, ArchiveOptions, Compression, EncodedVisit, Encoder, EncoderOptions, Exchange, RevisitOf,
    RevisitReason,
};
use lycosa_types::{CanonUrl, UnixMs};

/// 2026-11-15T00:00:00Z.
pub const START: UnixMs = UnixMs(1_794_700_800_000);

/// A visit that owns its parts.
#[derive(Clone, Debug)]
pub struct Sample {
    pub url: CanonUrl,
    pub at: UnixMs,
    pub head: Vec<u8>,
    pub raw: Vec<u8>,
    pub payload: Vec<u8>,
}

fn text(number: u64) -> Vec<u8> {
    let mut page = format!("<!doctype html><title>page {number}</title>\n").into_bytes();
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for i in 0..40 + number % 50 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        page.extend_from_slice(
            format!("<p>line {i} of {state:x} <a href=\"/p/{}\">next</a></p>\n", state % 977).as_bytes(),
        );
    }
    page
}

pub fn chunk(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in payload.chunks(700) {
        out.extend_from_slice(format!("{:x};ext=1\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

pub fn gzip(payload: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(payload).unwrap();
    encoder.finish().unwrap()
}

/// The visit of this number: plain, chunked, gzip, or both in turn.
pub fn sample(number: u64) -> Sample {
    let payload = text(number);
    let (headers, raw) = match number % 4 {
        0 => (format!("Content-Length: {}\r\n", payload.len()), payload.clone()),
        1 => ("Transfer-Encoding: chunked\r\n".to_owned(), chunk(&payload)),
        2 => {
            let raw = gzip(&payload);
            (format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", raw.len()), raw)
        }
        _ => ("content-encoding: gzip\r\nTransfer-Encoding: chunked\r\n".to_owned(), chunk(&gzip(&payload))),
    };
    let host = ["www.example.org", "a.example.com:8080", "127.0.0.1:81"][(number % 3) as usize];
    Sample {
        url: CanonUrl::from_canonical(format!("http://{host}/Dir/p%C3%A4ge-{number}?b={number}&A=1")),
        at: UnixMs(START.0 + number * 1501),
        head: format!(
            "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/html; charset=utf-8\r\n{headers}\r\n"
        )
        .into_bytes(),
        raw,
        payload,
    }
}

impl Sample {
    pub fn exchange(&self) -> Exchange<'_> {
        Exchange {
            url: &self.url,
            at: self.at,
            ip: Some([127, 0, 0, 1].into()),
            request_head:
                b"GET /x HTTP/1.1\r\nHost: example.org\r\nUser-Agent: lycosa-test\r\nAccept: */*\r\n\r\n",
            response_head: &self.head,
            raw_body: &self.raw,
            revisit_of: None,
            payload_digest: None,
            truncated: None,
            protocol: None,
            metadata: &[("via", "http://example.org/"), ("hopsFromSeed", "L"), ("fetchTimeMs", "12")],
        }
    }

    /// The same page found again under another address.
    pub fn found_again(&self) -> Sample {
        Sample {
            url: CanonUrl::from_canonical(format!("{}&again=1", self.url)),
            at: self.at.plus_ms(700),
            ..self.clone()
        }
    }

    pub fn revisit_of(&self) -> RevisitOf<'_> {
        RevisitOf {
            url: self.url.as_str(),
            at: self.at,
            reason: RevisitReason::IdenticalPayload,
            payload_digest: Some(lycosa_archive::PayloadDigest::of(&self.raw)),
        }
    }
}

pub fn encoder(compression: Compression) -> Encoder {
    Encoder::new(EncoderOptions { compression, dictionary: None })
}

pub fn encode(sample: &Sample, compression: Compression) -> EncodedVisit {
    encoder(compression).encode(&sample.exchange()).unwrap()
}

pub fn options(compression: Compression) -> ArchiveOptions {
    ArchiveOptions { prefix: "test".to_owned(), compression, ..ArchiveOptions::default() }
}

pub fn open(dir: &std::path::Path, compression: Compression) -> Archive {
    Archive::open(dir, options(compression)).unwrap()
}
