//! How long a page takes to encode and to append, and how small it becomes: `cargo run --release --example encode_speed [FILE…]`.
//!
//! Without files a page of about 24 KB is made up; with files each is taken as a page.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use lycosa_archive::{
    Archive, ArchiveOptions, Compression, Encoder, EncoderOptions, Exchange, PayloadDigest,
};
use lycosa_types::{CanonUrl, UnixMs};

/// Batches, of which the fastest counts: the machine is rarely alone.
const BATCHES: usize = 30;
const BATCH_PAGES: usize = 300;

fn made_up_page() -> Vec<u8> {
    const WORDS: [&str; 24] = [
        "the",
        "of",
        "function",
        "returns",
        "value",
        "a",
        "to",
        "when",
        "iterator",
        "module",
        "is",
        "example",
        "slice",
        "and",
        "for",
        "string",
        "trait",
        "that",
        "implementation",
        "panics",
        "if",
        "in",
        "type",
        "see",
    ];
    let mut page =
        b"<!doctype html><html lang=en><head><meta charset=utf-8><title>A page</title></head><body>\n"
            .to_vec();
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    while page.len() < 24_000 {
        page.extend_from_slice(
            format!("<section id=\"s{}\"><h2>{}</h2><p>", next(10_000), WORDS[next(24)]).as_bytes(),
        );
        for _ in 0..next(40) {
            match next(8) {
                0 => page.extend_from_slice(
                    format!(
                        "<a class=\"link\" href=\"../{}/{}.html#m{}\">{}</a> ",
                        WORDS[next(24)],
                        WORDS[next(24)],
                        next(999),
                        WORDS[next(24)]
                    )
                    .as_bytes(),
                ),
                _ => page.extend_from_slice(format!("{} ", WORDS[next(24)]).as_bytes()),
            }
        }
        page.extend_from_slice(b"</p></section>\n");
    }
    page
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut pages: Vec<Vec<u8>> = Vec::new();
    for path in std::env::args().skip(1) {
        pages.push(std::fs::read(path)?);
    }
    if pages.is_empty() {
        pages.push(made_up_page());
    }
    let rounds = (BATCH_PAGES / pages.len()).max(1);
    let url = CanonUrl::from_canonical("http://www.example.org/docs/reference/page-1.html".to_owned());
    let head = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 15 Nov 2026 03:35:08 GMT\r\nContent-Type: text/html\r\nContent-Length: 24000\r\nLast-Modified: Sun, 15 Nov 2026 03:35:08 GMT\r\nConnection: keep-alive\r\nETag: \"65544f3c-5dc0\"\r\nAccept-Ranges: bytes\r\n\r\n";
    let request = b"GET /docs/reference/page-1.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: lycosa/0.1 (+https://example.org/bot)\r\nAccept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n";
    let metadata = [("via", "http://www.example.org/docs/"), ("hopsFromSeed", "LLL"), ("fetchTimeMs", "12")];
    for compression in [
        Compression::Gzip(1),
        Compression::Gzip(2),
        Compression::Gzip(6),
        Compression::Zstd(1),
        Compression::None,
    ] {
        let mut encoder = Encoder::new(EncoderOptions { compression, dictionary: None });
        let mut last = None;
        let (mut raw, mut packed, mut members) = (0, 0, [0u64; 3]);
        let mut encode_us = f64::MAX;
        for round in 0..BATCHES {
            let started = Instant::now();
            for page in pages.iter().cycle().take(rounds * pages.len()) {
                let exchange = Exchange {
                    url: &url,
                    at: UnixMs(1_794_700_800_000 + round as u64),
                    ip: Some([127, 0, 0, 1].into()),
                    request_head: request,
                    response_head: head,
                    raw_body: page,
                    revisit_of: None,
                    payload_digest: None,
                    truncated: None,
                    protocol: None,
                    metadata: &metadata,
                };
                let visit = encoder.encode(&exchange)?;
                raw += page.len();
                packed += visit.bytes.len();
                for (sum, member) in members.iter_mut().zip(visit.members()) {
                    *sum += member.length;
                }
                last = Some(black_box(visit));
            }
            encode_us = encode_us.min(started.elapsed().as_secs_f64() * 1e6 / (rounds * pages.len()) as f64);
        }
        let count = BATCHES * rounds * pages.len();
        let dir = tempfile::tempdir()?;
        let mut archive =
            Archive::open(dir.path(), ArchiveOptions { compression, ..ArchiveOptions::default() })?;
        let started = Instant::now();
        for visit in last.iter().cycle().take(count) {
            black_box(archive.append(visit)?);
        }
        let append_us = started.elapsed().as_secs_f64() * 1e6 / count as f64;
        println!(
            "{compression:?}: {} bytes a page, encode {encode_us:.1} µs, append {append_us:.1} µs, ratio {:.3}, response/request/metadata {:?} bytes",
            raw / count,
            packed as f64 / raw as f64,
            members.map(|sum| sum / count as u64),
        );
    }
    let fastest = |work: &mut dyn FnMut(&[u8])| {
        let batch = |_| {
            let started = Instant::now();
            pages.iter().for_each(|page| work(page));
            started.elapsed().as_secs_f64() * 1e6 / pages.len() as f64
        };
        (0..BATCHES).map(batch).fold(f64::MAX, f64::min)
    };
    let digest_us = fastest(&mut |page| {
        black_box(PayloadDigest::of(page));
    });
    println!("sha-1 alone: {digest_us:.1} µs");
    // What level 1 was before: each plain record as a member made by libdeflate.
    let mut plain = Encoder::new(EncoderOptions { compression: Compression::None, dictionary: None });
    let mut ours = Encoder::new(EncoderOptions { compression: Compression::Gzip(1), dictionary: None });
    let mut compressor =
        libdeflater::Compressor::new(libdeflater::CompressionLvl::new(1).unwrap_or_default());
    let mut out = vec![0; 64 << 20];
    let mut members = Vec::new();
    let base = Exchange {
        url: &url,
        at: UnixMs(1_794_700_800_000),
        ip: Some([127, 0, 0, 1].into()),
        request_head: request,
        response_head: head,
        raw_body: b"",
        revisit_of: None,
        payload_digest: None,
        truncated: None,
        protocol: None,
        metadata: &metadata,
    };
    let (mut libdeflate_bytes, mut our_bytes) = ([0usize; 3], [0usize; 3]);
    let (mut libdeflate_us, mut our_us) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        let us = fastest(&mut |page| {
            let Ok(visit) = plain.encode(&Exchange { raw_body: page, ..base }) else {
                return;
            };
            members.clear();
            for (sum, member) in libdeflate_bytes.iter_mut().zip(visit.members()) {
                let record = visit.bytes.get(member.offset as usize..).unwrap_or_default();
                let record = record.get(..member.length as usize + 4).unwrap_or_default();
                let length = compressor.gzip_compress(record, &mut out).unwrap_or_default();
                members.extend_from_slice(out.get(..length).unwrap_or_default());
                *sum += length;
            }
            black_box(&members);
        });
        libdeflate_us = libdeflate_us.min(us);
        let us = fastest(&mut |page| {
            let Ok(visit) = ours.encode(&Exchange { raw_body: page, ..base }) else {
                return;
            };
            for (sum, member) in our_bytes.iter_mut().zip(visit.members()) {
                *sum += member.length as usize;
            }
            black_box(&visit);
        });
        our_us = our_us.min(us);
    }
    let raw: usize = pages.iter().map(Vec::len).sum();
    for (name, us, bytes) in
        [("libdeflate 1", libdeflate_us, libdeflate_bytes), ("our encoder", our_us, our_bytes)]
    {
        println!(
            "{name}: a visit in {us:.1} µs, response/request/metadata {:?} bytes, ratio {:.4}",
            bytes.map(|sum| sum / (3 * BATCHES * pages.len())),
            bytes.iter().sum::<usize>() as f64 / (3 * BATCHES * raw) as f64,
        );
    }
    Ok(())
}
