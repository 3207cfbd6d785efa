//! Whether what a node has archived is safe. Each node says which of its segments the central archive holds; whoever takes
//! over the partitions of a node that died looks there, and has the rest fetched again.
//!
//! A node counts as lost while the table does not name it. One that leaves ships everything first; one whose machine comes
//! back later has its pages twice in the archive, which does no harm.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::{Bus, BusError};
use lycosa_cluster::{NodeHandle, Table};
use lycosa_types::UrlRecord;
use tokio::time::sleep;

use super::archive_number::{ARCHIVE_KEYS, MAX_ARCHIVES, archive_of};

/// The word that all keys begin with that say what is safe.
const SHIPPED_KEYS: &str = "shipped";
/// Most stretches of segments that are told; segments are shipped in order, so that there are few.
const MAX_RANGES: usize = 10_000;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Segments from the first to the last, both included.
pub type Range = (u32, u32);

/// An archive whose node is gone, and what of it is safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostArchive {
    pub archive: u32,
    pub safe: Vec<Range>,
}

/// Numbers as ranges.
pub fn ranges(segments: &BTreeSet<u32>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for &segment in segments {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == segment => *last = segment,
            _ => ranges.push((segment, segment)),
        }
    }
    ranges
}

/// Says which segments of an archive are safe. False if the bus did not take it.
pub async fn tell<B: Bus>(bus: &B, archive: u32, safe: &[Range]) -> bool {
    let Ok(text) = serde_json::to_vec(&safe[..safe.len().min(MAX_RANGES)]) else { return false };
    bus.put(&format!("{SHIPPED_KEYS}.{archive}"), Bytes::from(text)).await.is_ok()
}

/// Whether the copy of a page is lost.
pub fn is_lost(record: &UrlRecord, lost: &[LostArchive]) -> bool {
    let Some(span) = record.visit.as_ref().and_then(|visit| visit.archived) else { return false };
    let archive = archive_of(span.segment);
    lost.iter()
        .filter(|lost| lost.archive == archive)
        .any(|lost| !lost.safe.iter().any(|(first, last)| (*first..=*last).contains(&span.segment)))
}

/// Archives of nodes that the table does not name.
pub async fn lost_archives<B: Bus>(bus: &B, node: &NodeHandle) -> Vec<LostArchive> {
    let mut lost = Vec::new();
    for archive in 1..=MAX_ARCHIVES {
        let Some(name) = get(bus, &format!("{ARCHIVE_KEYS}.{archive}")).await else { break };
        if name == node.node().name().as_bytes() || is_named(&node.table(), &name) {
            continue;
        }
        let told = get(bus, &format!("{SHIPPED_KEYS}.{archive}")).await;
        let safe = told.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        lost.push(LostArchive { archive, safe });
    }
    lost
}

fn is_named(table: &Table, name: &[u8]) -> bool {
    let mut nodes = table.slots.iter().flat_map(|slot| slot.owner.iter().chain(&slot.from));
    nodes.any(|node| node.name().as_bytes() == name)
}

/// A key's value, asked for until the bus answers.
async fn get<B: Bus>(bus: &B, key: &str) -> Option<Bytes> {
    loop {
        match bus.get(key).await {
            Ok(found) => return found.map(|found| found.value),
            Err(BusError::Refused(_) | BusError::Damaged(_)) => return None,
            Err(_) => sleep(LOOK_AGAIN).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{ArchiveSpan, UnixMs, VisitFacts};

    fn page(segment: Option<u32>) -> UrlRecord {
        let mut record = UrlRecord::queued("http://a.test/".to_owned(), 0, None, UnixMs(0));
        let archived = segment.map(|segment| ArchiveSpan { segment, offset: 0, length: 1 });
        record.visit = Some(VisitFacts { archived, ..VisitFacts::default() });
        record
    }

    #[test]
    fn what_is_safe_or_elsewhere_is_not_lost() {
        let first = super::super::archive_number::first_segment(3);
        let safe = ranges(&[first, first + 1, first + 4].into());
        assert_eq!(safe, [(first, first + 1), (first + 4, first + 4)]);
        let lost = [LostArchive { archive: 3, safe }];
        let is_lost = |segment| is_lost(&page(segment), &lost);
        assert!(!is_lost(None) && !is_lost(Some(1)) && !is_lost(Some(first)) && !is_lost(Some(first + 4)));
        assert!(is_lost(Some(first + 2)) && is_lost(Some(first + 5)));
    }
}
