//! Messages of every kind as committed bytes: what one version sends, every later one reads as the same.
//!
//! The files lie under tests/fixtures, one for each set: a line is a name and the bytes in hexadecimal.
//! `cargo xtask fixtures` writes a new one, with the set's name in `LYCOSA_MESSAGES`; those that are there stay.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use bytes::Bytes;
use lycosa_cluster::membership::Held;
use lycosa_cluster::plan::table::Slot;
use lycosa_cluster::wire::{BatchHeader, Body, Header, Piece, Record, SnapshotPart, SnapshotRef};
use lycosa_cluster::{Batch, Beat, Change, Figures, Link, NodeId, Table};
use lycosa_types::PartitionId;

const PARTITIONS: u16 = 4;

fn dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn node(name: &str, incarnation: u64) -> NodeId {
    NodeId::new(name, incarnation).unwrap()
}

fn batch() -> (BatchHeader, Batch) {
    let mut batch = Batch::default();
    // In the order of their URLs, in which they travel.
    let links = [
        Link::new("http://a.example/", 1),
        Link { backlinks: 300, importance: 0.25, ..Link::new("http://a.example/caf%C3%A9?x=1&y=2", 2) },
        Link { note: b"\x00note\xff", ..Link::new("https://b.example:8443/", 65_535) },
    ];
    links.iter().for_each(|link| assert!(batch.links.push(link)));
    batch.facts = vec![(1, vec![7; 26]), (2, Vec::new())];
    (BatchHeader { crawl: 0xDEAD_BEEF, partition: 300, sender: u64::MAX, number: 1 << 40 }, batch)
}

fn records() -> Vec<(&'static str, Record)> {
    let header = Header { epoch: 3, number: 200, consumed: 70_000, snapshot: 0 };
    let changes = vec![
        Change::put(b"\x01key".to_vec(), b"value".to_vec()),
        Change::put(b"\x02empty".to_vec(), Vec::new()),
        Change::remove(b"\x03gone".to_vec()),
    ];
    let piece = |piece| Body::Changes { changes: changes.clone(), piece };
    let parts = vec![
        SnapshotPart { bytes: 1 << 33, print: 0x0123_4567_89AB_CDEF },
        SnapshotPart { bytes: 0, print: 0 },
    ];
    let snapshot = SnapshotRef { epoch: 2, number: 9, covers: 1000, consumed: 2000, parts };
    let bodies = [
        ("opened", Body::Opened { node: "a.5".to_owned() }),
        ("changes", piece(Piece::Whole)),
        ("first", piece(Piece::First)),
        ("middle", piece(Piece::Middle)),
        ("last", piece(Piece::Last)),
        ("snapshot", Body::Snapshot(snapshot)),
        ("closed", Body::Closed),
    ];
    bodies.map(|(name, body)| (name, Record { header, body })).into()
}

fn beat() -> Beat {
    let held = Held {
        partition: PartitionId(2),
        epoch: 5,
        weight: 1 << 35,
        passive: true,
        activity: 6,
        consumed: 7,
        lag: 8,
    };
    let figures =
        Figures { pages: 1, bytes: 2, queued: 3, pages_per_minute: 4, links_sent: 5, ..Figures::default() };
    Beat {
        node: node("b", 77),
        number: 12,
        capacity: 100,
        load_percent: 55,
        region: None,
        leaving: true,
        wave: 4,
        table: 9,
        held: vec![held],
        opening: vec![PartitionId(3)],
        figures,
    }
}

fn table() -> Table {
    let slot = |owner: Option<NodeId>, epoch, from: Option<NodeId>| Slot { owner, epoch, from };
    let slots = vec![
        slot(Some(node("a", 1)), 1, None),
        slot(Some(node("b", 77)), 4, Some(node("a", 1))),
        slot(None, 2, Some(node("b", 77))),
        slot(None, 0, None),
    ];
    Table { version: 31, slots }
}

/// Every message as this version writes it.
fn written() -> Vec<(&'static str, Bytes)> {
    let (header, links) = batch();
    let mut all = vec![("batch", Bytes::from(links.encode(&header).unwrap()))];
    all.extend(records().into_iter().map(|(name, record)| (name, record.encode().unwrap())));
    all.push(("beat", beat().encode().into()));
    all.push(("table", table().encode().unwrap().into()));
    all
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>().into()
}

fn same<T: Debug + PartialEq>(set: &str, name: &str, read: T, meant: T) {
    assert_eq!(read, meant, "{name} of {set}");
}

/// While the version bytes stay, so do the bytes: nodes of the newest set understand this version, too.
#[test]
fn messages_of_every_earlier_version_are_read_as_what_they_meant() {
    if let Ok(set) = std::env::var("LYCOSA_MESSAGES") {
        let lines: Vec<String> =
            written().iter().map(|(name, bytes)| format!("{name} {}\n", hex(bytes))).collect();
        std::fs::create_dir_all(dir()).unwrap();
        std::fs::write(dir().join(format!("{set}.messages")), lines.concat()).unwrap();
    }
    let entries = std::fs::read_dir(dir()).expect("cargo xtask fixtures writes the messages");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in &files {
        let set = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let messages: BTreeMap<&str, Bytes> = text
            .lines()
            .map(|line| line.split_once(' ').map(|(name, hex)| (name, unhex(hex))).unwrap())
            .collect();
        let of = |name: &str| messages.get(name).unwrap_or_else(|| panic!("{set} has no {name}"));
        same(set, "batch", Batch::decode(of("batch")), Ok(batch()));
        for (name, record) in records() {
            same(set, name, Record::decode(of(name)), Ok(record));
        }
        same(set, "beat", Beat::decode(of("beat")), Some(beat()));
        same(set, "table", Table::decode(of("table"), PARTITIONS).ok(), Some(table()));
    }
    let now: String = written().iter().map(|(name, bytes)| format!("{name} {}\n", hex(bytes))).collect();
    let newest = std::fs::read_to_string(files.last().expect("a set of messages")).unwrap();
    assert_eq!(now, newest, "messages changed: count their version up, or write a new set");
}
