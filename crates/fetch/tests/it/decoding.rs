//! Content encodings, honest and not.

use std::io::Write;

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use lycosa_types::Failure;

use crate::server::{Server, Step, fetcher, fetcher_with, get};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 1).unwrap()
}

/// A stored Brotli block by hand: a 16-bit window, one uncompressed meta-block, an empty last one.
fn brotli(data: &[u8]) -> Vec<u8> {
    let head = (u32::try_from(data.len()).unwrap() - 1) << 4 | 1 << 20;
    [&head.to_le_bytes()[..3], data, &[3]].concat()
}

fn script(encoding: &str, body: &[u8]) -> Vec<Step> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n", body.len());
    vec![Step::Read, Step::Send([head.as_bytes(), body].concat())]
}

async fn decoded(encoding: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let server = Server::once(script(encoding, body)).await;
    let response = get(&fetcher(), &server, "/").await.result?;
    assert_eq!(response.payload, body, "the payload stays as sent");
    Ok(response.body.to_vec())
}

fn text() -> Vec<u8> {
    b"the spider waits at the edge of its web. ".repeat(500)
}

#[tokio::test]
async fn each_encoding_decodes() {
    let text = text();
    assert_eq!(decoded("gzip", &gzip(&text)).await.unwrap(), text);
    assert_eq!(decoded("X-GZIP", &gzip(&text)).await.unwrap(), text);
    assert_eq!(decoded("deflate", &zlib(&text)).await.unwrap(), text);
    assert_eq!(decoded("deflate", &raw_deflate(&text)).await.unwrap(), text);
    assert_eq!(decoded("zstd", &zstd(&text)).await.unwrap(), text);
    assert_eq!(decoded("br", &brotli(&text)).await.unwrap(), text);
    assert_eq!(decoded("identity", &text).await.unwrap(), text);
}

#[tokio::test]
async fn encodings_stack_up_to_three() {
    let text = text();
    assert_eq!(decoded("br, gzip", &gzip(&brotli(&text))).await.unwrap(), text);
    let thrice = zstd(&zlib(&gzip(&text)));
    assert_eq!(decoded("gzip, identity, deflate ,zstd", &thrice).await.unwrap(), text);
    let four = gzip(&gzip(&gzip(&gzip(&text))));
    assert_eq!(decoded("gzip,gzip,gzip,gzip", &four).await, Err(Failure::BadEncoding));
}

#[tokio::test]
async fn several_members_are_one_body_and_what_follows_is_ignored() {
    let both = [gzip(b"one "), gzip(b"two")].concat();
    assert_eq!(decoded("gzip", &both).await.unwrap(), b"one two");
    let same = [gzip(b"one"), gzip(b"one")].concat();
    assert_eq!(decoded("gzip", &same).await.unwrap(), b"oneone");
    let padded = [gzip(b"one"), b"\0\0\0junk".to_vec()].concat();
    assert_eq!(decoded("gzip", &padded).await.unwrap(), b"one");
    let frames = [zstd(b"one "), zstd(b"two")].concat();
    assert_eq!(decoded("zstd", &frames).await.unwrap(), b"one two");
}

#[tokio::test]
async fn plain_text_under_a_false_label_is_taken_as_it_is() {
    for label in ["gzip", "zstd", "utf-8", "none", ""] {
        assert_eq!(decoded(label, b"<html>plain").await.unwrap(), b"<html>plain", "{label}");
    }
    assert_eq!(decoded("gzip", b"").await.unwrap(), b"");
}

#[tokio::test]
async fn what_does_not_decode_is_refused() {
    let text = text();
    let whole = gzip(&text);
    let mut flipped = whole.clone();
    let middle = flipped.len() - 6;
    flipped[middle] ^= 1;
    assert_eq!(decoded("gzip", &flipped).await, Err(Failure::BadEncoding));
    for cut in [4, 12, whole.len() / 2, whole.len() - 3] {
        assert_eq!(decoded("gzip", &whole[..cut]).await, Err(Failure::BadEncoding), "cut at {cut}");
    }
    assert_eq!(decoded("deflate", b"\xff\xff\xff\xff").await, Err(Failure::BadEncoding));
    assert_eq!(decoded("br", &brotli(&text)[..50]).await, Err(Failure::BadEncoding));
    assert_eq!(decoded("zstd", &zstd(&text)[..20]).await, Err(Failure::BadEncoding));
    assert_eq!(decoded("compress", b"\x1f\x9d\x90").await, Err(Failure::BadEncoding));
}

#[tokio::test]
async fn bombs_do_not_go_off() {
    let zeros = vec![0_u8; 3_000_000];
    for (encoding, bomb) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("zstd", zstd(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        let server = Server::once(script(encoding, &bomb)).await;
        let fetcher = fetcher_with(|options| options.limits.decoded_bytes = 1_000_000);
        let failure = get(&fetcher, &server, "/").await.result.unwrap_err();
        assert_eq!(failure, Failure::DecodedTooLarge, "{encoding}");

        let server = Server::once(script(encoding, &bomb)).await;
        let by_ratio = fetcher_with(|options| {
            options.limits.decoded_ratio = 10;
            options.limits.ratio_floor_bytes = 100_000;
        });
        let failure = get(&by_ratio, &server, "/").await.result.unwrap_err();
        assert_eq!(failure, Failure::DecodedTooLarge, "{encoding} by ratio");
    }
    let server = Server::once(script("gzip", &gzip(&zeros))).await;
    assert_eq!(get(&fetcher(), &server, "/").await.result.unwrap().body.len(), zeros.len());
}
