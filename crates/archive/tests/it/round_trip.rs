//! What is written is read back, in every compression, across rotation and resumption.

use std::sync::Arc;

use lycosa_archive::{
    Archive, ArchiveError, ArchiveOptions, Compression, Encoder, EncoderOptions, PayloadDigest, ReadLimits,
    RevisitReason, SpanReader, http_response, read_span, records, segments,
};
use proptest::prelude::*;

use crate::sample::{encode, encoder, open, options, sample};

pub const ALL: [Compression; 3] = [Compression::Gzip(1), Compression::Zstd(1), Compression::None];

#[test]
fn written_and_read_back_in_every_compression() {
    for compression in ALL {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), compression);
        let mut encoder = encoder(compression);
        let visits: Vec<_> = (0..12)
            .map(|n| {
                let sample = sample(n);
                let span = archive.append(&encoder.encode(&sample.exchange()).unwrap()).unwrap();
                (sample, span)
            })
            .collect();
        archive.sync().unwrap();
        for (sample, span) in &visits {
            let record = read_span(dir.path(), *span).unwrap();
            assert_eq!(record.target(), Some(sample.url.as_str()));
            assert_eq!(record.block, [sample.head.as_slice(), &sample.raw].concat());
            assert_eq!(
                record.header("WARC-Payload-Digest"),
                Some(PayloadDigest::of(&sample.raw).to_string().as_str())
            );
            let response = http_response(&record, &ReadLimits::default()).unwrap();
            assert_eq!((response.status, &response.payload), (200, &sample.payload));
        }
        let kinds: Vec<String> = records(dir.path(), ReadLimits::default())
            .unwrap()
            .map(|(_, placed)| placed.unwrap().record.kind().to_owned())
            .collect();
        assert_eq!(kinds.len(), 1 + 3 * visits.len());
        assert_eq!(kinds[..4], ["warcinfo", "response", "request", "metadata"]);
    }
}

#[test]
fn concurrent_records_point_to_the_response() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    archive.append(&encode(&sample(1), Compression::Gzip(1))).unwrap();
    archive.sync().unwrap();
    let all: Vec<_> = records(dir.path(), ReadLimits::default())
        .unwrap()
        .map(|(_, placed)| placed.unwrap().record)
        .collect();
    let id = all[1].header("WARC-Record-ID");
    assert!(id.is_some_and(|id| id.starts_with("<urn:uuid:") && id.len() == 47));
    assert_eq!((all[2].header("WARC-Concurrent-To"), all[3].header("WARC-Concurrent-To")), (id, id));
    assert_ne!(all[2].header("WARC-Record-ID"), id);
    assert_eq!(all[1].header("WARC-IP-Address"), Some("127.0.0.1"));
    assert_eq!(all[3].block, b"via: http://example.org/\r\nhopsFromSeed: L\r\nfetchTimeMs: 12\r\n");
}

#[test]
fn a_revisit_has_no_body_and_only_stands_for_equal_bytes() {
    let first = sample(1);
    let again = first.found_again();
    let mut exchange = again.exchange();
    exchange.revisit_of = Some(first.revisit_of());
    let mut encoder = encoder(Compression::None);
    let visit = encoder.encode(&exchange).unwrap();
    assert!(visit.is_revisit());
    let text = String::from_utf8_lossy(&visit.bytes);
    assert!(
        text.contains("WARC-Refers-To-Target-URI: http://a.example.com:8080/Dir/p%C3%A4ge-1?b=1&A=1\r\n")
    );
    assert!(text.contains("WARC-Refers-To-Date: 2026-11-15T00:00:01.501Z\r\n"));
    assert!(text.contains(RevisitReason::IdenticalPayload.profile()));

    // The same page in another transfer coding: replaying one with the other's body would garble it.
    let mut other = again.clone();
    other.raw = other.payload.clone();
    let mut exchange = other.exchange();
    exchange.revisit_of = Some(first.revisit_of());
    assert!(!encoder.encode(&exchange).unwrap().is_revisit());
}

#[test]
fn segments_rotate_and_are_sealed_with_a_sorted_index() {
    let dir = tempfile::tempdir().unwrap();
    let rotating = || ArchiveOptions { rotate_bytes: 6000, ..options(Compression::Gzip(1)) };
    let mut archive = Archive::open(dir.path(), rotating()).unwrap();
    let mut spans = Vec::new();
    for n in 0..20 {
        spans.push(archive.append(&encode(&sample(n), Compression::Gzip(1))).unwrap());
    }
    let end = archive.sync().unwrap();
    drop(archive);
    let found = segments(dir.path()).unwrap();
    assert!(found.len() > 3, "{found:?}");
    assert_eq!(found.iter().filter(|s| s.open).count(), 1);
    assert!(found.iter().enumerate().all(|(i, s)| s.number == i as u32 + 1));
    for sealed in found.iter().filter(|s| !s.open) {
        let index = std::fs::read_to_string(sealed.index_path()).unwrap();
        assert!(index.lines().is_sorted() && index.contains(&sealed.name));
    }

    let mut archive = Archive::open_at(dir.path(), rotating(), Some(end)).unwrap();
    assert_eq!(archive.end(), end);
    spans.push(archive.append(&encode(&sample(20), Compression::Gzip(1))).unwrap());
    archive.seal().unwrap();
    assert!(segments(dir.path()).unwrap().iter().all(|s| !s.open));
    let mut reader = SpanReader::new(dir.path(), ReadLimits::default());
    for (n, span) in spans.iter().enumerate() {
        assert_eq!(reader.read(*span).unwrap().target(), Some(sample(n as u64).url.as_str()));
    }
}

#[test]
fn a_visit_for_another_compression_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    let refused = archive.append(&encode(&sample(0), Compression::Zstd(1)));
    assert!(matches!(refused, Err(ArchiveError::Mixed { .. })));
    archive.append(&encode(&sample(0), Compression::Gzip(6))).unwrap();
}

#[test]
fn resuming_with_another_compression_starts_a_new_segment() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    let old = archive.append(&encode(&sample(0), Compression::Gzip(1))).unwrap();
    archive.sync().unwrap();
    let mut archive = open(dir.path(), Compression::Zstd(1));
    let new = archive.append(&encode(&sample(1), Compression::Zstd(1))).unwrap();
    archive.sync().unwrap();
    assert_eq!((old.segment, new.segment), (1, 2));
    for (n, span) in [(0, old), (1, new)] {
        assert_eq!(read_span(dir.path(), span).unwrap().target(), Some(sample(n).url.as_str()));
    }
}

#[test]
fn a_dictionary_travels_with_the_segment() {
    let dir = tempfile::tempdir().unwrap();
    let plain: Vec<_> =
        (100..400).map(|n| encode(&sample(n * 4), Compression::None).bytes.to_vec()).collect();
    let parts: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let dictionary: Arc<[u8]> = lycosa_archive::dictionary::train(&parts, 16 * 1024).unwrap().into();
    let compression = Compression::Zstd(3);
    let with = || ArchiveOptions { dictionary: Some(dictionary.clone()), ..options(compression) };
    let mut encoder = Encoder::new(EncoderOptions { compression, dictionary: Some(dictionary.clone()) });
    let mut archive = Archive::open(dir.path(), with()).unwrap();
    assert!(matches!(archive.append(&encode(&sample(0), compression)), Err(ArchiveError::Dictionary)));
    let visit = encoder.encode(&sample(0).exchange()).unwrap();
    assert!(visit.bytes.len() < encode(&sample(0), compression).bytes.len());
    let mut spans = vec![archive.append(&visit).unwrap()];
    let end = archive.sync().unwrap();
    spans.push(archive.append(&encoder.encode(&sample(1).exchange()).unwrap()).unwrap());
    archive.sync().unwrap();

    // Repair needs the dictionary too, from the start and from a known end.
    for known in [None, Some(end)] {
        let archive = Archive::open_at(dir.path(), with(), known).unwrap();
        assert_eq!(archive.end() == end, known.is_some());
    }
    assert_eq!(read_span(dir.path(), spans[0]).unwrap().target(), Some(sample(0).url.as_str()));
    assert!(read_span(dir.path(), spans[1]).is_err());
    let mut kinds = records(dir.path(), ReadLimits::default()).unwrap();
    assert_eq!(kinds.by_ref().filter(|(_, r)| r.is_ok()).count(), 4);

    // Without it the segment is sealed and a new one begun.
    let mut archive = open(dir.path(), compression);
    assert_eq!(archive.append(&encode(&sample(2), compression)).unwrap().segment, 2);
    let mut gzip = Vec::new();
    archive.sync().unwrap();
    lycosa_archive::export_warc(dir.path(), Compression::Gzip(1), &mut gzip).unwrap();
    let read = lycosa_archive::RecordReader::new(gzip.as_slice(), 0, ReadLimits::default());
    assert_eq!(read.map(Result::unwrap).count(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_head_and_body_come_back(
        head in proptest::collection::vec(any::<u8>(), 0..200),
        body in proptest::collection::vec(any::<u8>(), 0..4000),
        value in ".{0,40}",
        which in 0usize..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut visit = sample(3);
        visit.head = head;
        visit.raw = body;
        let mut exchange = visit.exchange();
        let metadata = [("note: odd", value.as_str())];
        exchange.metadata = &metadata;
        let mut archive = open(dir.path(), ALL[which]);
        let span = archive.append(&encoder(ALL[which]).encode(&exchange).unwrap()).unwrap();
        archive.sync().unwrap();
        let record = read_span(dir.path(), span).unwrap();
        prop_assert_eq!(&record.block, &[visit.head.as_slice(), &visit.raw].concat());
        let all: Result<Vec<_>, _> = records(dir.path(), ReadLimits::default()).unwrap().map(|(_, r)| r).collect();
        let all = all.unwrap();
        prop_assert_eq!(all.len(), 4);
        prop_assert_eq!(all[3].record.block.iter().filter(|&&b| b == b'\n').count(), 1);
        let index = std::fs::read(dir.path().join("test-00001.cdxj.open")).unwrap();
        drop(archive);
        open(dir.path(), ALL[which]);
        let rebuilt = std::fs::read(dir.path().join("test-00001.cdxj.open")).unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&index), String::from_utf8_lossy(&rebuilt));
    }
}
