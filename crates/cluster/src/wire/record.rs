//! A record of a partition's log: the owner opened it, changed it, noted a snapshot, or closed it.
//!
//! Every record names the epoch it was written in and how far the `in` lane had been taken in, so that a replay is
//! exact. A change larger than a message is cut into pieces, one record each; a reader applies them only when the last has
//! come, and forgets them if it does not.

use bytes::Bytes;

use super::frame::{Reader, checked, put_bytes, put_checksum, put_number};
use super::{MAX_MESSAGE_BYTES, WireError};

const KIND: u8 = b'R';
pub const RECORD_VERSION: u8 = 1;
/// Longest key of a change.
pub const MAX_KEY_BYTES: usize = 4096;
/// Longest value of a change.
pub const MAX_VALUE_BYTES: usize = 512 << 10;
/// Most changes of one record.
pub const MAX_CHANGES: usize = 65_536;
/// Most parts of a snapshot.
pub const MAX_PARTS: usize = 8192;
/// Bytes of changes put into one record.
pub const RECORD_BYTES: usize = 384 << 10;

/// A key with its new value, or none if it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub key: Bytes,
    pub value: Option<Bytes>,
}

impl Change {
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: Some(value.into()) }
    }

    pub fn remove(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: None }
    }

    /// Bytes it takes on its way, about.
    pub fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len) + 8
    }
}

/// What every record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub epoch: u64,
    /// Counts the records of an epoch.
    pub number: u64,
    /// The last message of `in` that the state has taken in.
    pub consumed: u64,
    /// The record that notes the latest snapshot (0: there is none).
    pub snapshot: u64,
}

/// A part of a snapshot: its size and print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    pub bytes: u64,
    pub print: u64,
}

/// Where a snapshot lies and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    /// Names the objects, with the epoch in which they were made.
    pub epoch: u64,
    pub number: u64,
    /// The last record of the log that is in it.
    pub covers: u64,
    /// The last message of `in` that is in it.
    pub consumed: u64,
    pub parts: Vec<SnapshotPart>,
}

/// Which piece of a change a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Whole,
    First,
    Middle,
    Last,
}

impl Piece {
    /// The piece number `index` of `count`.
    pub fn of(index: usize, count: usize) -> Self {
        match (index, count) {
            (0, 0 | 1) => Self::Whole,
            (0, _) => Self::First,
            _ if index + 1 == count => Self::Last,
            _ => Self::Middle,
        }
    }

    fn tag(self) -> u8 {
        match self {
            Self::Whole => 2,
            Self::First => 3,
            Self::Middle => 6,
            Self::Last => 7,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Opened { node: String },
    Changes { changes: Vec<Change>, piece: Piece },
    Snapshot(SnapshotRef),
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub header: Header,
    pub body: Body,
}

impl Record {
    pub fn encode(&self) -> Result<Bytes, WireError> {
        let mut out = Vec::with_capacity(64);
        out.extend([KIND, RECORD_VERSION]);
        let Header { epoch, number, consumed, snapshot } = self.header;
        [epoch, number, consumed, snapshot].into_iter().for_each(|n| put_number(&mut out, n));
        match &self.body {
            Body::Opened { node } => {
                out.push(1);
                put_bytes(&mut out, node.as_bytes());
            }
            Body::Changes { changes, piece } => {
                out.push(piece.tag());
                put_changes(&mut out, changes)?;
            }
            Body::Snapshot(snapshot) => {
                out.push(4);
                put_snapshot(&mut out, snapshot);
            }
            Body::Closed => out.push(5),
        }
        put_checksum(&mut out);
        if out.len() > MAX_MESSAGE_BYTES {
            return Err(WireError::Limit("record"));
        }
        Ok(out.into())
    }

    pub fn decode(bytes: &Bytes) -> Result<Self, WireError> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(WireError::Limit("record"));
        }
        let mut reader = Reader::new(checked(bytes)?);
        let header = take_header(&mut reader)?;
        let body = match reader.byte()? {
            1 => {
                let node = reader.bytes(128, "node id")?;
                let node = std::str::from_utf8(node).map_err(|_| WireError::Nonsense("node id"))?;
                Body::Opened { node: node.to_owned() }
            }
            2 => Body::Changes { changes: take_changes(&mut reader, bytes)?, piece: Piece::Whole },
            3 => Body::Changes { changes: take_changes(&mut reader, bytes)?, piece: Piece::First },
            6 => Body::Changes { changes: take_changes(&mut reader, bytes)?, piece: Piece::Middle },
            7 => Body::Changes { changes: take_changes(&mut reader, bytes)?, piece: Piece::Last },
            4 => Body::Snapshot(take_snapshot(&mut reader)?),
            5 => Body::Closed,
            _ => return Err(WireError::Kind),
        };
        if reader.is_empty() { Ok(Self { header, body }) } else { Err(WireError::Nonsense("tail")) }
    }
}

fn take_header(reader: &mut Reader<'_>) -> Result<Header, WireError> {
    if reader.byte()? != KIND {
        return Err(WireError::Kind);
    }
    match reader.byte()? {
        RECORD_VERSION => {}
        other => return Err(WireError::Version(other)),
    }
    Ok(Header {
        epoch: reader.number()?,
        number: reader.number()?,
        consumed: reader.number()?,
        snapshot: reader.number()?,
    })
}

/// Writes a list of changes; also the body of a snapshot's part.
pub fn put_changes(out: &mut Vec<u8>, changes: &[Change]) -> Result<(), WireError> {
    if changes.len() > MAX_CHANGES {
        return Err(WireError::Limit("number of changes"));
    }
    put_number(out, changes.len() as u64);
    for change in changes {
        if change.key.len() > MAX_KEY_BYTES {
            return Err(WireError::Limit("key"));
        }
        put_bytes(out, &change.key);
        match &change.value {
            None => put_number(out, 0),
            Some(value) if value.len() > MAX_VALUE_BYTES => return Err(WireError::Limit("value")),
            Some(value) => {
                put_number(out, value.len() as u64 + 1);
                out.extend_from_slice(value);
            }
        }
    }
    Ok(())
}

/// Reads a list of changes out of `whole`, sharing its bytes.
pub fn take_changes(reader: &mut Reader<'_>, whole: &Bytes) -> Result<Vec<Change>, WireError> {
    let count = reader.count(MAX_CHANGES, "number of changes")?;
    let mut changes = Vec::with_capacity(count.min(4096));
    for _ in 0..count {
        let key = whole.slice_ref(reader.bytes(MAX_KEY_BYTES, "key")?);
        let value = match reader.count(MAX_VALUE_BYTES + 1, "value")? {
            0 => None,
            length => Some(whole.slice_ref(reader.take(length - 1)?)),
        };
        changes.push(Change { key, value });
    }
    Ok(changes)
}

fn put_snapshot(out: &mut Vec<u8>, snapshot: &SnapshotRef) {
    let SnapshotRef { epoch, number, covers, consumed, parts } = snapshot;
    [*epoch, *number, *covers, *consumed, parts.len() as u64].into_iter().for_each(|n| put_number(out, n));
    for part in parts {
        put_number(out, part.bytes);
        out.extend(part.print.to_le_bytes());
    }
}

fn take_snapshot(reader: &mut Reader<'_>) -> Result<SnapshotRef, WireError> {
    let (epoch, number) = (reader.number()?, reader.number()?);
    let (covers, consumed) = (reader.number()?, reader.number()?);
    let count = reader.count(MAX_PARTS, "number of parts")?;
    let part = |reader: &mut Reader<'_>| {
        Ok(SnapshotPart { bytes: reader.number()?, print: u64::from_le_bytes(reader.array()?) })
    };
    let parts = (0..count).map(|_| part(reader)).collect::<Result<_, WireError>>()?;
    Ok(SnapshotRef { epoch, number, covers, consumed, parts })
}

/// Cuts changes into records that fit a message, in order.
pub fn split(changes: &[Change]) -> Result<Vec<&[Change]>, WireError> {
    let mut pieces = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (i, change) in changes.iter().enumerate() {
        if change.key.len() > MAX_KEY_BYTES {
            return Err(WireError::Limit("key"));
        }
        if change.value.as_ref().is_some_and(|value| value.len() > MAX_VALUE_BYTES) {
            return Err(WireError::Limit("value"));
        }
        if i > start && (size + change.bytes() > RECORD_BYTES || i - start >= MAX_CHANGES) {
            pieces.push(&changes[start..i]);
            (start, size) = (i, 0);
        }
        size += change.bytes();
    }
    pieces.push(&changes[start..]);
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..30);
        let one = (bytes(), prop::option::of(bytes()));
        let change = |(key, value): (Vec<u8>, Option<Vec<u8>>)| Change {
            key: key.into(),
            value: value.map(Bytes::from),
        };
        prop::collection::vec(one.prop_map(change), 0..40)
    }

    fn body() -> impl Strategy<Value = Body> {
        let part = any::<(u64, u64)>().prop_map(|(bytes, print)| SnapshotPart { bytes, print });
        prop_oneof![
            "[a-z.0-9]{0,60}".prop_map(|node| Body::Opened { node }),
            (changes(), 0usize..4, 1usize..4)
                .prop_map(|(changes, i, n)| Body::Changes { changes, piece: Piece::of(i.min(n - 1), n) }),
            (any::<[u64; 4]>(), prop::collection::vec(part, 0..20)).prop_map(
                |([epoch, number, covers, consumed], parts)| {
                    Body::Snapshot(SnapshotRef { epoch, number, covers, consumed, parts })
                }
            ),
            Just(Body::Closed),
        ]
    }

    proptest! {
        #[test]
        fn records_come_back(body in body(), h: [u64; 4]) {
            let header = Header { epoch: h[0], number: h[1], consumed: h[2], snapshot: h[3] };
            let record = Record { header, body };
            let bytes = record.encode().unwrap();
            prop_assert_eq!(Record::decode(&bytes), Ok(record));
            prop_assert!(Record::decode(&bytes.slice(..bytes.len() - 1)).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..8) {
            bytes.splice(0..0, [KIND, RECORD_VERSION, 1, 2, 3, 4, kind]);
            put_checksum(&mut bytes);
            let _ = Record::decode(&bytes.into());
        }

        #[test]
        fn pieces_hold_everything_in_order(sizes in prop::collection::vec(0usize..200_000, 0..20)) {
            let changes: Vec<Change> =
                sizes.iter().map(|&n| Change::put(vec![1; 8], vec![0; n])).collect();
            let pieces = split(&changes).unwrap();
            prop_assert_eq!(pieces.concat(), changes.clone());
            for piece in pieces {
                let body = Body::Changes { changes: piece.to_vec(), piece: Piece::Whole };
                let header = Header { epoch: 0, number: 0, consumed: 0, snapshot: 0 };
                let record = Record { header, body };
                prop_assert!(record.encode().is_ok());
            }
        }
    }

    #[test]
    fn what_cannot_travel_is_refused_before_it_is_sent() {
        let big = Change::put(vec![0; MAX_KEY_BYTES + 1], vec![]);
        assert_eq!(split(&[big]).map(|_| ()), Err(WireError::Limit("key")));
        let big = Change::put(vec![0], vec![0; MAX_VALUE_BYTES + 1]);
        assert_eq!(split(&[big]).map(|_| ()), Err(WireError::Limit("value")));
    }
}
