//! A row of the queue that holds several entries of a host: those that were left to the disk together. Rows are merged into
//! larger tables about a dozen times, so fewer of them, and shorter ones, are what keeps a long queue cheap.
//!
//! A bundle is never changed. When it is read, its entries are written again, each in a row of its own, and the first of
//! those takes the bundle's place: from then on each can end or move by itself. Layout: `docs/formats.md`.

use lycosa_types::{CanonUrl, PartitionId, UnixMs, UrlId};
use serde::{Deserialize, Serialize};

use super::StoreError;
use super::codec;
use crate::host_queue::Entry;
use crate::order::Rank;

/// The first byte of a bundle, where other rows have the version of their entry.
const BUNDLE: u8 = 3;
/// Entries in a bundle, at most: they come into memory together.
pub(super) const MAX_BUNDLED: usize = 16;

/// An entry, as far as it differs from the one before it.
#[derive(Serialize, Deserialize)]
struct Bundled<'a> {
    /// Steps from the sequence number of the one before.
    steps: u64,
    is_crossed: bool,
    /// None: as the one before.
    origin: Option<Origin>,
    /// Bytes at the start of the URL that the one before begins with, too.
    shared: u16,
    rest: &'a str,
}

/// What entries found on one page have in common.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    depth: u16,
    tries: u16,
    redirects: u8,
    found_on: Option<UrlId>,
    found_at: UnixMs,
}

/// Appends the bundle of entries of one host and one priority, in the order of their ranks, as they lie in a backlog.
pub(super) fn append(entries: &[(Rank, &[u8])], out: &mut Vec<u8>) -> Result<(), StoreError> {
    let (mut sequence, mut origin, mut url) = (None, None, "");
    let mut bytes = std::mem::take(out);
    bytes.push(BUNDLE);
    for (rank, encoded) in entries {
        let (is_crossed, stored) = codec::read_entry(encoded)?;
        let here = Origin {
            depth: stored.depth,
            tries: stored.tries,
            redirects: stored.redirects,
            found_on: stored.found_on,
            found_at: stored.found_at,
        };
        let shared = shared_bytes(url, stored.url);
        let bundled = Bundled {
            steps: rank.sequence.saturating_sub(sequence.unwrap_or(rank.sequence)),
            is_crossed,
            origin: (origin != Some(here)).then_some(here),
            shared,
            rest: stored.url.get(usize::from(shared)..).unwrap_or_default(),
        };
        bytes = postcard::to_extend(&bundled, bytes).map_err(|_| damaged())?;
        (sequence, origin, url) = (Some(rank.sequence), Some(here), stored.url);
    }
    *out = bytes;
    Ok(())
}

/// How many bytes two URLs begin with alike.
fn shared_bytes(before: &str, url: &str) -> u16 {
    let alike =
        before.bytes().zip(url.bytes()).take(usize::from(u16::MAX)).take_while(|(a, b)| a == b).count();
    url.floor_char_boundary(alike) as u16
}

pub(super) fn is_bundle(row: &[u8]) -> bool {
    row.first() == Some(&BUNDLE)
}

/// The entries of a row at `rank`: one, or those of a bundle, in their order.
pub(super) fn read_row(
    partition: PartitionId,
    rank: Rank,
    row: &[u8],
    mut take: impl FnMut(Entry),
) -> Result<(), StoreError> {
    if !is_bundle(row) {
        take(codec::decode_entry(partition, rank, row)?);
        return Ok(());
    }
    let mut left = row.get(1..).unwrap_or_default();
    let (mut rank, mut origin, mut url) = (rank, None, String::new());
    while !left.is_empty() {
        let (bundled, behind) = postcard::take_from_bytes::<Bundled>(left).map_err(|_| damaged())?;
        left = behind;
        rank.sequence = rank.sequence.checked_add(bundled.steps).ok_or_else(damaged)?;
        let here = bundled.origin.or(origin).ok_or_else(damaged)?;
        origin = Some(here);
        let shared = url.get(..usize::from(bundled.shared)).ok_or_else(damaged)?;
        url = [shared, bundled.rest].concat();
        take(Entry {
            rank,
            key: codec::key_of(&url, bundled.is_crossed, partition),
            depth: here.depth,
            tries: here.tries,
            redirects: here.redirects,
            found_on: here.found_on,
            found_at: here.found_at,
            revisit: false,
            late: rank.is_late(),
            refused: 0,
            url: CanonUrl::from_canonical(url.clone()),
        });
    }
    Ok(())
}

fn damaged() -> StoreError {
    StoreError::Damaged("queue entry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::UrlKey;
    use proptest::prelude::*;

    fn entry(sequence: u64, url: &str, found_on: Option<u128>, crossed: bool) -> Entry {
        let url = CanonUrl::from_canonical(url.to_owned());
        let partition = PartitionId(7);
        Entry {
            rank: Rank { priority: 5, sequence },
            key: if crossed { UrlKey::crossed(url.as_str(), partition) } else { url.key() },
            depth: 3,
            tries: 0,
            redirects: 1,
            found_on: found_on.map(|key| UrlId { partition, key: UrlKey(key) }),
            found_at: UnixMs(1_700_000_000_000 + sequence),
            revisit: false,
            late: false,
            refused: 0,
            url,
        }
    }

    proptest! {
        #[test]
        fn a_bundle_holds_what_was_put_into_it(
            described in prop::collection::vec((1u64..1 << 40, "[a-zä/]{0,12}", any::<Option<u128>>(), any::<bool>()), 1..MAX_BUNDLED),
        ) {
            let mut sequence = 0;
            let entries: Vec<Entry> = described
                .iter()
                .map(|(steps, path, found_on, crossed)| {
                    sequence += steps;
                    entry(sequence, &format!("http://a.test/{path}"), *found_on, *crossed)
                })
                .collect();
            let encoded: Vec<(Rank, Vec<u8>)> = entries
                .iter()
                .map(|entry| {
                    let mut bytes = Vec::new();
                    codec::append_entry(entry, &mut bytes).unwrap();
                    (entry.rank, bytes)
                })
                .collect();
            let borrowed: Vec<(Rank, &[u8])> = encoded.iter().map(|(rank, bytes)| (*rank, &**bytes)).collect();
            let mut row = Vec::new();
            append(&borrowed, &mut row).unwrap();
            prop_assert!(is_bundle(&row));
            let mut read = Vec::new();
            read_row(PartitionId(7), entries[0].rank, &row, |entry| read.push(entry)).unwrap();
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn a_damaged_bundle_is_told(row in prop::collection::vec(any::<u8>(), 0..64)) {
            let row = [&[BUNDLE], &*row].concat();
            let rank = Rank { priority: 0, sequence: u64::MAX };
            let _ = read_row(PartitionId(0), rank, &row, |_| ());
        }
    }
}
