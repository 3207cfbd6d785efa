//! Which way a gzip body takes, and how much room is made for it.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::*;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn text() -> Vec<u8> {
    (0..400u32)
        .flat_map(|n| format!("line {} of a page\n", n.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

fn budget(input_bytes: usize, max_bytes: usize) -> Budget {
    Budget { input_bytes, max_bytes }
}

/// An ordinary body is decoded in one go; what that way cannot promise is left to the other, which tells the same.
#[test]
fn an_ordinary_gzip_body_takes_the_quick_way_and_others_the_slow_one() {
    let mut decoder = Decoder::new();
    let (text, body) = (text(), gzip(&text()));
    let room = Budget::new(body.len(), &Limits::default());
    assert_eq!(decoder.gunzip_lone(&body, text.len(), room), Some(text.clone()));
    for wrong in [text.len() - 1, text.len() + 1, 0] {
        assert_eq!(decoder.gunzip_lone(&body, wrong, room), None, "{wrong}");
    }
    assert_eq!(decoder.gunzip_lone(&body, text.len(), budget(body.len(), text.len() - 1)), None);
    assert!(decoder.gunzip_lone(&body, text.len(), budget(body.len(), text.len())).is_some());
    let two = [body.clone(), body.clone()].concat();
    assert_eq!(decoder.gunzip_lone(&two, text.len(), room), None, "a second member would go unnoticed");
    let mut damaged = body.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xFF;
    assert_eq!(decoder.gunzip_lone(&damaged, text.len(), room), None);
    assert_eq!(decoder.gunzip_lone(b"", 5, room), None);

    assert_eq!(decoder.gunzip(&body, room), Ok(text.clone()));
    assert_eq!(decoder.gunzip(&two, room), Ok([text.clone(), text.clone()].concat()));
    assert_eq!(decoder.gunzip(&[body.as_slice(), b"trailing"].concat(), room), Ok(text.clone()));
    assert_eq!(decoder.gunzip(&damaged, room), Err(Failure::BadEncoding));
    assert_eq!(decoder.gunzip(&body, budget(body.len(), text.len())), Ok(text.clone()));
    assert_eq!(decoder.gunzip(&body, budget(body.len(), text.len() - 1)), Err(Failure::DecodedTooLarge));
    for cut in [1, 4, 8, 9, body.len() / 2] {
        assert_eq!(decoder.gunzip(&body[..body.len() - cut], room), Err(Failure::BadEncoding), "{cut}");
    }
}

#[test]
fn a_length_is_believed_within_reason_and_within_the_budget() {
    for (input, max, length, believed) in [
        (100, 10_000, 0, false),
        (100, 10_000, 1, true),
        (100, 10_000, 1600, true),
        (100, 10_000, 1601, false),
        (10, 10_000, 1024, true),
        (10, 10_000, 1025, false),
        (100, 500, 500, true),
        (100, 500, 501, false),
    ] {
        assert_eq!(budget(input, max).believes(length), believed, "{length} from {input}, at most {max}");
    }
}

#[test]
fn room_is_made_for_what_is_believed_and_never_more_than_one_byte_beyond_the_budget() {
    assert_eq!(budget(100, 10_000).first_capacity(1600), 1601);
    assert_eq!(budget(100, 10_000).first_capacity(1601), 401);
    assert_eq!(budget(100, 10_000).first_capacity(0), 401);
    assert_eq!(budget(100, 300).first_capacity(0), 301);
    assert_eq!(budget(100, 300).first_capacity(300), 301);
    assert_eq!(budget(100, 10_000).next_capacity(0), Ok(4096));
    assert_eq!(budget(100, 10_000).next_capacity(5000), Ok(5000));
    assert_eq!(budget(100, 10_000).next_capacity(9000), Ok(1001));
    assert_eq!(budget(100, 10_000).next_capacity(10_000), Ok(1));
    assert_eq!(budget(100, 10_000).next_capacity(10_001), Err(Failure::DecodedTooLarge));
}

#[test]
fn a_budget_is_the_smaller_of_what_the_ratio_and_the_limit_leave() {
    let limits = |decoded_bytes| Limits {
        decoded_bytes,
        decoded_ratio: 10,
        ratio_floor_bytes: 2000,
        ..Limits::default()
    };
    for (input, decoded_bytes, max) in
        [(100, 50_000, 2000), (200, 50_000, 2000), (201, 50_000, 2010), (100, 1500, 1500)]
    {
        assert_eq!(Budget::new(input, &limits(decoded_bytes)).max_bytes, max, "{input} {decoded_bytes}");
    }
}

/// A member whose head has all the fields that it may have.
#[test]
fn every_field_of_a_gzip_head_is_passed_over() {
    let plain = gzip(b"the spider waits");
    let data = &plain[10..];
    let head = |flags: u8| [&[0x1f, 0x8b, 8, flags][..], &[0; 6]].concat();
    let extra = [&[3, 0][..], b"abc"].concat();
    let mut decoder = Decoder::new();
    for (flags, fields) in [
        (0, Vec::new()),
        (1, Vec::new()),
        (4, extra.clone()),
        (8, b"name\0".to_vec()),
        (16, b"comment\0".to_vec()),
        (2, vec![1, 2]),
        (31, [&extra[..], b"name\0comment\0", &[1, 2]].concat()),
    ] {
        let body = [&head(flags)[..], &fields, data].concat();
        assert_eq!(gzip_data(&body), Some(Ok(data)), "{flags}");
        // The stream's own way, which reads these fields itself.
        let two = [body.clone(), body].concat();
        let decoded = decoder.gunzip(&two, budget(two.len(), 1000));
        assert_eq!(decoded.as_deref(), Ok(b"the spider waitsthe spider waits".as_slice()), "{flags}");
    }
    for cut in [b"name".to_vec(), Vec::new()] {
        assert_eq!(gzip_data(&[&head(8)[..], &cut].concat()), Some(Err(Failure::BadEncoding)));
    }
    assert_eq!(gzip_data(&head(4)), Some(Err(Failure::BadEncoding)));
    assert_eq!(gzip_data(b"\x1f\x8b\x08"), Some(Err(Failure::BadEncoding)));
    assert_eq!(gzip_data(b"\x1f\x8b\x09"), None);
}
