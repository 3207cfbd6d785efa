//! WARC files that are nearly what they should be.

use lycosa_archive::{ReadLimits, RecordReader};
use lycosa_testkit::{Mutations, ROUNDS};

use crate::sample::gzip;

fn record(kind: &str, block: &str) -> Vec<u8> {
    let length = block.len();
    format!("WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: <http://a.example/>\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n")
        .into_bytes()
}

/// Limits hold, places follow one another, and what stands before the damage is read as ever.
#[test]
fn damaged_archives_are_read_up_to_the_damage() {
    let good = record("warcinfo", "software: x\r\n");
    let answer = record("response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let packed = gzip(&answer);
    let both = [answer.clone(), record("request", "GET / HTTP/1.1\r\n\r\n")].concat();
    let corpus: [&[u8]; 3] = [&answer, &packed, &both];
    let words =
        ["WARC/1.1\r\n", "\r\n\r\n", "Content-Length: 3\r\n", "\r\n", "\x1f", "WARC-Type: revisit\r\n", ": "];
    let mut mutations = Mutations::new(44, &corpus, &words);
    let limits = ReadLimits { head_bytes: 1000, block_bytes: 5000, payload_bytes: 5000 };
    let (mut whole, mut refused, mut most) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let bytes = [good.clone(), mutations.bytes()].concat();
        let mut end = 0;
        for (index, placed) in RecordReader::new(bytes.as_slice(), 0, limits).enumerate() {
            let Ok(placed) = placed else {
                refused += 1;
                continue;
            };
            assert!(placed.offset >= end && placed.length > 0, "{bytes:?}");
            end = placed.offset + placed.length;
            assert!(end <= bytes.len() as u64 && placed.record.block.len() <= 5000, "{bytes:?}");
            if index == 0 {
                assert_eq!(
                    (placed.offset, placed.record.block.as_slice()),
                    (0, b"software: x\r\n".as_slice())
                );
            }
            whole += 1;
        }
        assert!(end > 0, "the record before the damage is lost: {bytes:?}");
        most = most.max(end);
    }
    assert!(whole > ROUNDS && refused > ROUNDS / 20, "{whole} read, {refused} refused");
    assert!(most > good.len() as u64, "{most}");
}
