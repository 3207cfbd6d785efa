//! Crashes: torn tails at every byte, lost data, sealing that stopped half-way, disks that fail.

use std::fs;
use std::path::Path;

use lycosa_archive::{Archive, ArchiveError, Compression, DurableEnd, read_span, segments};
use lycosa_types::ArchiveSpan;

use crate::round_trip::ALL;
use crate::sample::{Sample, encode, open, options, sample};

/// Two visits; returns their spans, the end of each, and the bytes of records and index.
struct Written {
    spans: [ArchiveSpan; 2],
    ends: [DurableEnd; 2],
    records: Vec<u8>,
    index: Vec<u8>,
}

fn record_file(dir: &Path, compression: Compression) -> std::path::PathBuf {
    dir.join(format!("test-00001.{}.open", compression.extension()))
}

/// A sample with a small body, since some tests try every byte.
fn short(number: u64) -> Sample {
    let mut sample = sample(number);
    sample.head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    sample.raw.truncate(100);
    sample
}

fn write_two(dir: &Path, compression: Compression) -> Written {
    let mut archive = open(dir, compression);
    let mut one = |n| {
        let span = archive.append(&encode(&short(n), compression)).unwrap();
        (span, archive.sync().unwrap())
    };
    let ((a, a_end), (b, b_end)) = (one(5), one(6));
    Written {
        spans: [a, b],
        ends: [a_end, b_end],
        records: fs::read(record_file(dir, compression)).unwrap(),
        index: fs::read(dir.join("test-00001.cdxj.open")).unwrap(),
    }
}

#[test]
fn a_tail_torn_at_any_byte_costs_only_what_is_torn() {
    for compression in ALL {
        let dir = tempfile::tempdir().unwrap();
        let written = write_two(dir.path(), compression);
        let first_line = written.index.iter().position(|&b| b == b'\n').unwrap() + 1;
        let response_end = written.spans[1].offset + u64::from(written.spans[1].length);
        // Every byte of gzip, which is what crawls write; the others are probed.
        let step = if compression == Compression::Gzip(1) { 1 } else { 17 };
        for cut in (written.ends[0].offset..written.ends[1].offset).step_by(step) {
            fs::write(record_file(dir.path(), compression), &written.records[..cut as usize]).unwrap();
            // The index may be ahead of the records or behind them; here it is ahead.
            fs::write(dir.path().join("test-00001.cdxj.open"), &written.index).unwrap();
            let archive = open(dir.path(), compression);
            let end = archive.end().offset;
            assert!(end <= cut && end >= written.ends[0].offset, "{cut} {end}");
            assert_eq!(fs::metadata(record_file(dir.path(), compression)).unwrap().len(), end);
            let index = fs::read(dir.path().join("test-00001.cdxj.open")).unwrap();
            let expected = if end >= response_end { written.index.len() } else { first_line };
            assert_eq!(index, written.index[..expected], "{cut}");
            read_span(dir.path(), written.spans[0]).unwrap();
        }
    }
}

#[test]
fn writing_goes_on_after_a_torn_tail() {
    for compression in ALL {
        let dir = tempfile::tempdir().unwrap();
        let written = write_two(dir.path(), compression);
        let torn = &written.records[..written.records.len() - 7];
        fs::write(record_file(dir.path(), compression), torn).unwrap();
        let mut archive = open(dir.path(), compression);
        let span = archive.append(&encode(&sample(7), compression)).unwrap();
        archive.sync().unwrap();
        for (n, span) in [(5, written.spans[0]), (6, written.spans[1]), (7, span)] {
            assert_eq!(read_span(dir.path(), span).unwrap().target(), Some(sample(n).url.as_str()));
        }
    }
}

#[test]
fn a_known_end_cuts_what_comes_after_and_mends_the_index() {
    for compression in ALL {
        for index_bytes in [0, 10, usize::MAX] {
            let dir = tempfile::tempdir().unwrap();
            let written = write_two(dir.path(), compression);
            let index_path = dir.path().join("test-00001.cdxj.open");
            fs::write(&index_path, &written.index[..index_bytes.min(written.index.len())]).unwrap();
            let archive = Archive::open_at(dir.path(), options(compression), Some(written.ends[0])).unwrap();
            assert_eq!(archive.end(), written.ends[0]);
            let first_line = written.index.iter().position(|&b| b == b'\n').unwrap() + 1;
            assert_eq!(fs::read(&index_path).unwrap(), written.index[..first_line]);
            assert!(read_span(dir.path(), written.spans[1]).is_err());
        }
    }
}

/// What is known to be durable is trusted where the index leads through it: damage within it is for readers to meet, not a
/// reason to refuse the whole archive.
#[test]
fn records_before_a_known_end_are_not_read_again_where_the_index_has_them() {
    for compression in ALL {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), compression);
        let mut one = |n| {
            let span = archive.append(&encode(&short(n), compression)).unwrap();
            (span, archive.sync().unwrap())
        };
        let spans: Vec<_> = (5..9).map(&mut one).collect();
        drop(archive);
        let (records_path, index_path) =
            (record_file(dir.path(), compression), dir.path().join("test-00001.cdxj.open"));
        let index = fs::read(&index_path).unwrap();
        let lines: Vec<&[u8]> = index.split_inclusive(|&b| b == b'\n').collect();
        assert_eq!(lines.len(), 4);
        let whole = fs::read(&records_path).unwrap();
        let mut damaged = whole.clone();
        let start = spans[1].0.offset as usize;
        damaged[start..start + 16].fill(0xEE);
        // The index as it was, and with its last line torn: that one is written anew from its record.
        for torn in [0, 9] {
            fs::write(&records_path, &damaged).unwrap();
            fs::write(&index_path, &index[..lines[..3].concat().len() - torn]).unwrap();
            let archive = Archive::open_at(dir.path(), options(compression), Some(spans[2].1)).unwrap();
            assert_eq!(archive.end(), spans[2].1);
            drop(archive);
            assert_eq!(fs::read(&index_path).unwrap(), lines[..3].concat());
            assert!(read_span(dir.path(), spans[1].0).is_err());
            read_span(dir.path(), spans[2].0).unwrap();
        }
        // Lines that lie behind the end go.
        fs::write(&records_path, &damaged).unwrap();
        fs::write(&index_path, &index).unwrap();
        let archive = Archive::open_at(dir.path(), options(compression), Some(spans[2].1)).unwrap();
        assert_eq!(archive.end(), spans[2].1);
        drop(archive);
        assert_eq!(fs::read(&index_path).unwrap(), lines[..3].concat());
    }
}

#[test]
fn a_known_end_that_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let written = write_two(dir.path(), Compression::Gzip(1));
    let at = |segment, offset| {
        Archive::open_at(dir.path(), options(Compression::Gzip(1)), Some(DurableEnd { segment, offset }))
    };
    assert!(matches!(at(1, written.ends[1].offset + 1), Err(ArchiveError::Lost { .. })));
    assert!(matches!(at(2, 5), Err(ArchiveError::Lost { .. })));
    assert!(matches!(at(1, written.ends[0].offset + 1), Err(ArchiveError::NotABoundary { .. })));
    // A wrong end costs nothing: what was there still is.
    assert_eq!(fs::read(record_file(dir.path(), Compression::Gzip(1))).unwrap(), written.records);
    assert_eq!(fs::read(dir.path().join("test-00001.cdxj.open")).unwrap(), written.index);
}

#[test]
fn a_segment_begun_after_the_known_end_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    archive.append(&encode(&sample(0), Compression::Gzip(1))).unwrap();
    archive.seal().unwrap();
    let known = archive.sync().unwrap();
    archive.append(&encode(&sample(1), Compression::Gzip(1))).unwrap();
    archive.sync().unwrap();
    drop(archive);
    let mut archive = Archive::open_at(dir.path(), options(Compression::Gzip(1)), Some(known)).unwrap();
    assert_eq!(archive.end(), known);
    assert_eq!(segments(dir.path()).unwrap().len(), 1);
    let span = archive.append(&encode(&sample(2), Compression::Gzip(1))).unwrap();
    assert_eq!(span.segment, 2);
}

#[test]
fn sealing_that_stopped_half_way_is_undone_or_finished() {
    let dir = tempfile::tempdir().unwrap();
    let written = write_two(dir.path(), Compression::Gzip(1));
    // Stopped after the sorted index was written.
    fs::write(dir.path().join("test-00001.cdxj"), b"sorted").unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    assert!(!dir.path().join("test-00001.cdxj").exists());
    archive.seal().unwrap();
    drop(archive);
    // Stopped before the open index was removed.
    fs::write(dir.path().join("test-00001.cdxj.open"), b"unsorted").unwrap();
    let archive = open(dir.path(), Compression::Gzip(1));
    assert!(!dir.path().join("test-00001.cdxj.open").exists());
    assert_eq!(archive.end(), written.ends[1]);
    let index = fs::read_to_string(dir.path().join("test-00001.cdxj")).unwrap();
    assert_eq!(index.lines().count(), 2);
}

#[test]
fn a_segment_with_nothing_whole_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(record_file(dir.path(), Compression::Gzip(1)), b"\x1f\x8b\x08").unwrap();
    let mut archive = open(dir.path(), Compression::Gzip(1));
    let span = archive.append(&encode(&sample(2), Compression::Gzip(1))).unwrap();
    archive.sync().unwrap();
    assert_eq!(span.segment, 1);
    read_span(dir.path(), span).unwrap();
}
