//! The content-seen test: was this payload fetched before, and under which URL?
//!
//! Workers ask while they hold the page, so the table is shared and cut into locks. Recent payloads answer from
//! memory; older ones from the store. The first to claim a payload is the original; everyone after refers to it.

use std::sync::{Arc, Mutex, MutexGuard};

use foldhash::HashMap;
use lycosa_types::{Digest, UnixMs, UrlId};

use crate::seen::{Seen, SeenSet};
use crate::store::{Store, StoreError};

const SHARDS: usize = 16;
/// Payloads remembered with their URL in memory, per shard and generation. All shards together remember 16,000 at least; of
/// what is not committed there are a few thousand at most.
const RECENT_PER_SHARD: usize = 1024;

/// The first page with a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    pub id: UrlId,
    pub url: Arc<str>,
    pub at: UnixMs,
    pub payload_sha1: Option<[u8; 20]>,
}

#[derive(Debug)]
struct Shard {
    all: SeenSet,
    /// Two generations: when the younger is full, the older is forgotten. Each is large enough to hold what is not committed yet.
    recent: HashMap<u64, First>,
    older: HashMap<u64, First>,
}

#[derive(Debug)]
pub struct PrintTable {
    shards: Vec<Mutex<Shard>>,
    store: Arc<Store>,
}

impl PrintTable {
    /// Loads the digests in the store; they take up to `budget_bytes` of memory.
    pub fn load(store: Arc<Store>, budget_bytes: usize) -> Result<Self, StoreError> {
        let shard = || Shard {
            all: SeenSet::new(budget_bytes / SHARDS),
            recent: HashMap::default(),
            older: HashMap::default(),
        };
        let table = Self { shards: (0..SHARDS).map(|_| Mutex::new(shard())).collect(), store };
        for digest in table.store.digests() {
            let digest = digest?;
            table.lock(digest).all.insert_print(spread(digest));
        }
        Ok(table)
    }

    fn lock(&self, digest: Digest) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[(digest.0 % SHARDS as u64) as usize];
        // A panic elsewhere while the lock was held leaves plain maps behind: they are still good.
        shard.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Claims a payload for a page. Returns the page that had it first, if it is not this one.
    pub fn claim(&self, digest: Digest, page: First) -> Result<Option<First>, StoreError> {
        let mut shard = self.lock(digest);
        let known = shard.all.insert_print(spread(digest));
        if known != Seen::New {
            let found = shard.recent.get(&digest.0).or_else(|| shard.older.get(&digest.0)).cloned();
            let first = match found {
                Some(first) => Some(first),
                None => self.load_first(digest)?,
            };
            if let Some(first) = first {
                return Ok((first.id != page.id).then_some(first));
            }
        }
        if shard.recent.len() >= RECENT_PER_SHARD {
            shard.older = std::mem::take(&mut shard.recent);
        }
        shard.recent.insert(digest.0, page);
        Ok(None)
    }

    fn load_first(&self, digest: Digest) -> Result<Option<First>, StoreError> {
        let Some(id) = self.store.first_with(digest)? else {
            return Ok(None);
        };
        let record = self.store.url(id)?;
        Ok(record.map(|record| First {
            id,
            at: record.visited_at.unwrap_or(record.found_at),
            url: record.url.into(),
            payload_sha1: record.visit.and_then(|visit| visit.payload_sha1),
        }))
    }
}

/// The shard index uses the low bits: give the set inside a shard different ones.
fn spread(digest: Digest) -> u64 {
    digest.0.rotate_left(32) ^ 0x9E37_79B9_7F4A_7C15
}
