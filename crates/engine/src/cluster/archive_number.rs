//! The number of a node's archive: a span in a record tells by its segment on which node's disk the page lies.
//!
//! Segments of one machine count from 1. Those of archive number N count from N × 2²⁰ + 1, so that spans stay what they are
//! and mean one place in the whole cluster.

use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::{Bus, BusError};
use tokio::time::sleep;

/// Segments of one archive: with a gigabyte each, a petabyte.
pub const SEGMENTS_EACH: u32 = 1 << 20;
/// Most archives of a crawl; number 0 is for crawls on one machine.
pub const MAX_ARCHIVES: u32 = (1 << 12) - 1;
/// The word that all keys begin with that name archives.
pub const ARCHIVE_KEYS: &str = "archive";

const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The archive a segment belongs to.
pub fn archive_of(segment: u32) -> u32 {
    segment / SEGMENTS_EACH
}

/// The first segment of an archive.
pub fn first_segment(archive: u32) -> u32 {
    archive.saturating_mul(SEGMENTS_EACH).saturating_add(1)
}

/// Takes the next free number for a node's directory. None if there are too many.
pub async fn take<B: Bus>(bus: &B, node: &str) -> Result<Option<u32>, BusError> {
    let mut number = 1;
    while number <= MAX_ARCHIVES {
        let key = format!("{ARCHIVE_KEYS}.{number}");
        match bus.create(&key, Bytes::from(node.to_owned())).await {
            Ok(_) => return Ok(Some(number)),
            // Also if the answer to our own try was lost: a number that nobody uses does no harm.
            Err(BusError::Conflict(_)) => number += 1,
            Err(error) if error.is_transient() => sleep(LOOK_AGAIN).await,
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_tells_its_archive() {
        assert_eq!((first_segment(0), archive_of(1)), (1, 0));
        for archive in [1, 7, MAX_ARCHIVES] {
            let first = first_segment(archive);
            assert_eq!(archive_of(first), archive);
            assert_eq!(archive_of(first + (SEGMENTS_EACH - 2)), archive);
        }
    }
}
