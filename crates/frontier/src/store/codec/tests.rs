//! Values of the store as bytes, spelt out: a change of these is a change of the format.

use lycosa_types::{ArchiveSpan, CanonRules, CanonUrl, Change, Digest, Outcome};

use super::*;

#[test]
fn a_past_visit_is_stored_as_it_was_and_always_in_the_same_bytes() {
    let visit = PastVisit {
        at: UnixMs(1000),
        outcome: Outcome::Fetched { status: 200 },
        change: Change::Text,
        signal: "lines".to_owned(),
        share_permille: 900,
        digest: Some(Digest(7)),
        body_bytes: 300,
        archived: Some(ArchiveSpan { segment: 2, offset: 5, length: 6 }),
        kept_lines: Vec::new(),
    };
    let bytes = encode_past_visit(&visit).unwrap();
    assert_eq!(decode_past_visit(&bytes).unwrap(), visit);
    assert_eq!(
        bytes,
        [
            VALUE_VERSION,
            0xE8,
            7,
            0,
            0xC8,
            1,
            4,
            5,
            b'l',
            b'i',
            b'n',
            b'e',
            b's',
            0x84,
            7,
            1,
            7,
            0xAC,
            2,
            1,
            2,
            5,
            6
        ]
    );
    for damaged in [&bytes[1..], &bytes[..bytes.len() - 1], &[2, 0, 0], b""] {
        assert!(matches!(decode_past_visit(damaged), Err(StoreError::Damaged("past visit"))), "{damaged:?}");
    }
}

#[test]
fn a_host_and_its_rules_are_stored_as_they_were_and_always_in_the_same_bytes() {
    let host = HostRecord { origin: "http://a".to_owned(), waiting: 3, fetched: 2, ..HostRecord::default() };
    let bytes = encode_host(&host).unwrap();
    assert_eq!(decode_host(&bytes).unwrap(), host);
    assert_eq!(bytes[..11], [HOST_VERSION, 8, b'h', b't', b't', b'p', b':', b'/', b'/', b'a', 3]);
    // The version before ends where the pace begins.
    let before = [&[VALUE_VERSION], &bytes[1..bytes.len() - 1]].concat();
    assert_eq!(decode_host(&before).unwrap(), host);
    assert!(matches!(decode_host(&bytes[..5]), Err(StoreError::Damaged("host record"))));
    let rules = RulesRecord { fetched_at: UnixMs(5), status: 404, body: b"x".to_vec() };
    let bytes = encode_rules(&rules).unwrap();
    assert_eq!(bytes, [VALUE_VERSION, 5, 0x94, 3, 1, b'x']);
    assert_eq!(decode_rules(&bytes).unwrap(), rules);
    assert!(matches!(decode_rules(b"\x02"), Err(StoreError::Damaged("rules record"))));
}

#[test]
fn an_entry_says_whether_it_waits_in_a_partition_that_is_not_its_own() {
    let url = CanonUrl::parse("http://a/b", &CanonRules::default()).unwrap();
    let partition = PartitionId(9);
    for (key, version) in [(url.key(), VALUE_VERSION), (UrlKey::crossed(url.as_str(), partition), CROSSED)] {
        let rank = Rank { priority: 4, sequence: 5 };
        let entry = Entry {
            rank,
            key,
            depth: 3,
            tries: 2,
            redirects: 1,
            found_on: None,
            found_at: UnixMs(6),
            revisit: false,
            late: false,
            refused: 0,
            url: url.clone(),
        };
        let mut bytes = b"before".to_vec();
        append_entry(&entry, &mut bytes).unwrap();
        assert_eq!(bytes, [b"before".as_slice(), &[version, 3, 2, 1, 0, 6, 10], b"http://a/b"].concat());
        let read = decode_entry(partition, rank, &bytes[6..]).unwrap();
        assert_eq!((read.key, read.depth, read.tries, read.redirects), (key, 3, 2, 1));
        assert_eq!(
            (read.found_at, read.found_on, read.revisit, read.url),
            (UnixMs(6), None, false, url.clone())
        );
    }
    for damaged in [b"".as_slice(), &[3, 0, 0], &[VALUE_VERSION, 3]] {
        assert!(matches!(read_entry(damaged), Err(StoreError::Damaged("queue entry"))));
    }
}
