//! The state on disk: an embedded LSM store with one keyspace per kind of fact. Layout: `docs/formats.md`.
//!
//! Promise: [`Store::commit`] is atomic and durable when it returns. A failed commit poisons the store: nothing is
//! written after a write whose fate is unknown.

mod backlog;
mod batch;
mod bundle;
mod codec;
mod collect;
mod failure;
mod heap;
mod keys;
mod left_out;
mod long_rows;
mod operations;
mod partitions;
mod picture;
mod placing;
mod queue;
mod rows;
mod seen_log;
mod visits;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::{HashMap, HashSet};

use fjall::compaction::Leveled;
use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{AbstractTree, CompressionType, Database, KeyspaceCreateOptions, PersistMode};
use lycosa_types::{Digest, HostKey, PartitionId, UrlId, UrlKey, UrlRecord};

pub use backlog::Backlog;
pub use codec::{HostRecord, RulesRecord};
pub use keys::HostSlot;
pub use left_out::{LeftOut, LeftOutNotes, LeftOutRule};
pub use operations::{Operation, Operations, PartitionOperations};
pub use partitions::{Pairs, PartitionWrite};
pub use picture::PartitionPicture;
pub(crate) use picture::StoredHost;
pub use placing::{Placement, UnplacedUrl};
pub use queue::{Lying, Stretch};

use crate::course::Amendment;
use crate::frontier::Done;
use crate::host_queue::Entry;
use crate::order::Rank;
use heap::{Heap, HeapLimits};
use long_rows::heap_marks;
use operations::Space;
use queue::read_row;
use rows::Rows;

/// The version of everything below `state/`. A store with another version is refused, except the one before.
pub const FORMAT_VERSION: u32 = 5;
/// The one before, which has no heap; a store with it has the present one from its opening on.
const FORMAT_BEFORE: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}", failure::told(.0))]
    Engine(fjall::Error),
    #[error(
        "the state in {0} is in use by another lycosa process; stop that one first, or use another --data directory"
    )]
    InUse(String),
    #[error(
        "the state was written in format {found}, this version reads format {FORMAT_VERSION}; use the lycosa that made it"
    )]
    Format { found: u32 },
    #[error(
        "a stored {0} cannot be read; the state is damaged, restore it from a copy or crawl into a new directory"
    )]
    Damaged(&'static str),
    #[error(
        "an earlier write failed, so nothing more is written; free space or repair the disk and run again"
    )]
    Poisoned,
}

impl From<fjall::Error> for StoreError {
    fn from(error: fjall::Error) -> Self {
        Self::Engine(error)
    }
}

/// The long values, below the state's directory.
const HEAP_DIR: &str = "heap";

/// A named value of the engine's own: ends of files, totals.
pub type Mark = (&'static str, Vec<u8>);

/// What the frontier wants remembered, besides the visits that ended.
#[derive(Debug, Default)]
pub struct Changes {
    pub epoch: u64,
    /// The last sequence number given out.
    pub sequence: u64,
    pub queued: Backlog,
    /// Fingerprints of what was queued, as far as the seen-set holds them.
    pub seen: Vec<u64>,
    /// Fingerprints of what was queued when the seen-set was full.
    pub known: Vec<(PartitionId, u64)>,
    /// Entries that wait again after a failed try.
    pub retried: Vec<(HostSlot, Entry)>,
    /// Entries whose place on disk changed while they waited.
    pub moved: HashMap<UrlKey, Moved>,
    /// Courses that changed after their visit was handed over.
    pub amended: HashMap<UrlId, Amendment>,
    /// Hosts that have moved entries.
    pub moved_hosts: HashSet<HostSlot>,
    /// Bundles whose entries are in `queued` again, each in a row of its own.
    pub parted: Vec<(HostSlot, Rank)>,
    pub hosts: Vec<(HostSlot, HostRecord)>,
    pub rules: Vec<(HostSlot, RulesRecord)>,
    pub prints: Vec<(Digest, UrlId)>,
    /// Payloads claimed in partitions of this node.
    pub claims: Vec<(PartitionId, Digest, UrlId)>,
    /// Pages that turned out to repeat another one after their visit ended.
    pub copies: HashMap<UrlId, UrlId>,
    /// Hosts that were placed, in crawls with regions.
    pub placements: Vec<(HostSlot, Placement)>,
    /// URLs that wait for their host to be placed; none: it has gone on.
    pub unplaced: HashMap<(HostSlot, UrlKey), Option<Vec<u8>>>,
}

/// An entry that changed its place in the queue.
#[derive(Clone, Debug)]
pub struct Moved {
    pub slot: HostSlot,
    /// Where it stood at the last commit; none if it was found since.
    pub from: Option<Rank>,
    pub entry: Entry,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
            && self.retried.is_empty()
            && self.moved.is_empty()
            && self.amended.is_empty()
            && self.hosts.is_empty()
            && self.rules.is_empty()
            && self.prints.is_empty()
            && self.claims.is_empty()
            && self.copies.is_empty()
            && self.placements.is_empty()
            && self.unplaced.is_empty()
    }
}

/// The keyspaces of one crawl.
pub struct Store {
    db: Database,
    meta: Rows,
    urls: Rows,
    seen: Rows,
    known: Rows,
    queue: Rows,
    hosts: Rows,
    rules: Rows,
    prints: Rows,
    signatures: Rows,
    /// Where the values of `signatures` lie.
    heap: Heap,
    courses: Rows,
    due: Rows,
    history: Rows,
    claims: Rows,
    placing: Rows,
    left_out: Rows,
    poisoned: AtomicBool,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens (or makes) the state in `dir`, with `memory_bytes` for caches and write buffers together.
    pub fn open(dir: &Path, memory_bytes: u64) -> Result<Self, StoreError> {
        Self::open_with(dir, memory_bytes, HeapLimits::default())
    }

    fn open_with(dir: &Path, memory_bytes: u64, heap: HeapLimits) -> Result<Self, StoreError> {
        // A row takes some 150 bytes more in a write buffer than it is long: twice its size, or five times if it is short. And
        // while tables are merged, some full buffers wait for each that is filled.
        let memtable = (memory_bytes / 32).clamp(4 << 20, 32 << 20);
        let short_rows = (memtable / 8).max(1 << 20);
        let queue_buffer = memtable * 6;
        let db = Database::builder(dir)
            .cache_size((memory_bytes / 4).max(16 << 20))
            // What has to be written to tables again when a crawl is opened after a crash.
            .max_journaling_size((memory_bytes / 2).clamp(64 << 20, 512 << 20))
            // With more than one, the first spins while the others merge tables: it hands their work back and forth.
            .worker_threads(1)
            // What is long in it are prints, which cannot be made smaller.
            .journal_compression(CompressionType::None)
            .manual_journal_persist(true)
            .open()
            .map_err(|error| match error {
                fjall::Error::Locked => StoreError::InUse(dir.display().to_string()),
                other => StoreError::Engine(other),
            })?;
        let filter = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let sized = |memtable: u64| {
            // More of the small buffers are merged at once, and with no more tables than they are worth.
            let table = (memtable * 2).max(4 << 20);
            let merging = Leveled::default().with_l0_threshold(8).with_table_target_size(table);
            KeyspaceCreateOptions::default()
                .max_memtable_size(memtable)
                .filter_policy(FilterPolicy::all(filter))
                .compaction_strategy(Arc::new(merging))
        };
        // They may become somewhat larger than they should be: small tables cost more merges.
        let (long, short) = ((memtable, memtable * 2), (short_rows, short_rows * 4));
        let rows = |name, (memtable, most): (u64, u64)| Rows::open(&db, name, sized(memtable), most);
        let meta = rows("meta", short)?;
        check_format(&db, &meta)?;
        if dir.join(HEAP_DIR).exists() {
            // Files without a mark are deleted: that there is none must be durable.
            db.persist(PersistMode::SyncAll)?;
        }
        let heap = Heap::open(&dir.join(HEAP_DIR), &heap_marks(&meta)?, heap).map_err(fjall::Error::Io)?;
        Ok(Self {
            meta,
            heap,
            urls: rows("urls", long)?,
            known: rows("known", short)?,
            hosts: rows("hosts", short)?,
            rules: rows("rules", short)?,
            prints: rows("prints", short)?,
            courses: rows("courses", short)?,
            due: rows("due", short)?,
            history: rows("history", long)?,
            claims: rows("claims", short)?,
            placing: rows("placing", short)?,
            left_out: rows("left-out", short)?,
            signatures: rows("signatures", short)?,
            // Read in order, from end to end, and nothing in it can be made smaller.
            seen: {
                let options = sized(memtable)
                    .filter_policy(FilterPolicy::disabled())
                    .data_block_compression_policy(CompressionPolicy::disabled());
                Rows::open(&db, "seen", options, long.1)?
            },
            // Most of what is written, and read in stretches, where no filter could tell what is not there. The more is merged
            // into a level at once, the less often its tables are written again: so its buffers are larger, and more of them wait.
            queue: {
                let merging = Leveled::default().with_l0_threshold(10).with_table_target_size(memtable * 5);
                let options = sized(queue_buffer)
                    .filter_policy(FilterPolicy::disabled())
                    .compaction_strategy(Arc::new(merging));
                Rows::open(&db, "queue", options, queue_buffer)?
            },
            poisoned: AtomicBool::new(false),
            db,
        })
    }

    /// Writes everything in one atomic, durable batch: what ended, what changed, and the engine's own marks.
    pub fn commit(&self, done: &[Done], changes: &Changes, marks: &[Mark]) -> Result<(), StoreError> {
        self.guarded(|| self.write_batch(done, changes, marks))
    }

    /// Writes, unless an earlier write failed.
    fn guarded(&self, write: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(StoreError::Poisoned);
        }
        let result = write().and_then(|()| self.change_full_buffers());
        if result.is_err() {
            self.poisoned.store(true, Ordering::Release);
        }
        result
    }

    /// Changes write buffers that are full for empty ones. The engine leaves that to the thread that merges tables, which
    /// may take seconds to come to it, and the buffer would grow meanwhile. While four full ones wait, commits wait, too.
    fn change_full_buffers(&self) -> Result<(), StoreError> {
        for rows in self.all() {
            if let Some(keyspace) = rows.there()
                && keyspace.tree.active_memtable().size() > rows.most
            {
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    fn all(&self) -> [&Rows; 15] {
        [
            &self.meta,
            &self.urls,
            &self.seen,
            &self.known,
            &self.queue,
            &self.hosts,
            &self.rules,
            &self.prints,
            &self.signatures,
            &self.courses,
            &self.due,
            &self.history,
            &self.claims,
            &self.placing,
            &self.left_out,
        ]
    }

    fn batch(&self, size: usize) -> fjall::OwnedWriteBatch {
        fjall::OwnedWriteBatch::with_capacity(self.db.clone(), size).durability(Some(PersistMode::SyncData))
    }

    fn space(&self, space: Space) -> &Rows {
        match space {
            Space::Urls => &self.urls,
            Space::Queue => &self.queue,
            Space::Hosts => &self.hosts,
            Space::Rules => &self.rules,
            Space::Signatures => &self.signatures,
            Space::Courses => &self.courses,
            Space::Due => &self.due,
            Space::History => &self.history,
            Space::Claims => &self.claims,
            Space::Placing => &self.placing,
        }
    }

    pub fn mark(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.meta.get(name)?.map(|bytes| bytes.to_vec()))
    }

    /// What is known of a URL that was visited.
    pub fn url(&self, id: UrlId) -> Result<Option<UrlRecord>, StoreError> {
        self.urls.get(id.to_bytes())?.map(|bytes| codec::decode_url(&bytes)).transpose()
    }

    /// Every known URL: the visited ones in key order, then those that wait, by host.
    pub fn urls(&self) -> impl Iterator<Item = Result<(UrlId, UrlRecord), StoreError>> + '_ {
        // One moment for both: beside a crawl, a URL must not slip from one to the other unseen.
        let moment = self.db.snapshot();
        let visited = self.urls.iter_at(&moment).map(|guard| {
            let (key, value) = guard.into_inner()?;
            Ok((UrlId::from_bytes(&key).ok_or(StoreError::Damaged("url key"))?, codec::decode_url(&value)?))
        });
        let waiting = self.queue.iter_at(&moment).flat_map(|guard| {
            let mut row = Vec::new();
            let read = read_row(guard, |slot, Lying { entry, .. }| {
                let id = UrlId { partition: slot.partition, key: entry.key };
                row.push(Ok((id, entry.into_record())));
            });
            row.extend(read.err().map(Err));
            row
        });
        visited.chain(waiting)
    }

    pub fn host(&self, slot: HostSlot) -> Result<Option<HostRecord>, StoreError> {
        self.hosts.get(keys::host(slot))?.map(|bytes| codec::decode_host(&bytes)).transpose()
    }

    pub fn hosts(&self) -> impl Iterator<Item = Result<(HostSlot, HostRecord), StoreError>> + '_ {
        self.hosts.iter().map(|guard| {
            let (key, value) = guard.into_inner()?;
            Ok((keys::read_host(&key).ok_or(StoreError::Damaged("host key"))?, codec::decode_host(&value)?))
        })
    }

    /// Up to `limit` hosts after `after`, in key order.
    pub fn hosts_after(
        &self,
        after: Option<HostSlot>,
        limit: usize,
    ) -> Result<Vec<(HostSlot, HostRecord)>, StoreError> {
        use std::ops::Bound;
        let from = after.map_or(Bound::Unbounded, |slot| Bound::Excluded(keys::host(slot).to_vec()));
        let range = self.hosts.range((from, Bound::<Vec<u8>>::Unbounded));
        let read = |guard: fjall::Guard| {
            let (key, value) = guard.into_inner()?;
            Ok((keys::read_host(&key).ok_or(StoreError::Damaged("host key"))?, codec::decode_host(&value)?))
        };
        range.take(limit).map(read).collect()
    }

    pub fn rules(&self, slot: HostSlot) -> Result<Option<RulesRecord>, StoreError> {
        self.rules.get(keys::host(slot))?.map(|bytes| codec::decode_rules(&bytes)).transpose()
    }

    /// The first URL that was stored with this payload.
    pub fn first_with(&self, digest: Digest) -> Result<Option<UrlId>, StoreError> {
        let Some(bytes) = self.prints.get(digest.0.to_be_bytes())? else {
            return Ok(None);
        };
        UrlId::from_bytes(&bytes).map(Some).ok_or(StoreError::Damaged("print"))
    }

    /// The page that a payload was claimed for, in the partition that the payload's value belongs to.
    pub fn claim(&self, partition: PartitionId, digest: Digest) -> Result<Option<UrlId>, StoreError> {
        let Some(bytes) = self.claims.get(keys::claim(partition, digest))? else { return Ok(None) };
        UrlId::from_bytes(&bytes).map(Some).ok_or(StoreError::Damaged("claim"))
    }

    pub fn digests(&self) -> impl Iterator<Item = Result<Digest, StoreError>> + '_ {
        self.prints.iter().map(|guard| {
            let bytes = <[u8; 8]>::try_from(&*guard.key()?).map_err(|_| StoreError::Damaged("print"))?;
            Ok(Digest(u64::from_be_bytes(bytes)))
        })
    }

    /// Bytes the state takes on disk.
    pub fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.db.disk_space()? + self.heap.total_bytes())
    }

    /// A host slot of `origin` in `partition`.
    pub fn slot(partition: PartitionId, origin: &str) -> HostSlot {
        HostSlot { partition, host: HostKey::of(origin) }
    }
}

fn check_format(db: &Database, meta: &Rows) -> Result<(), StoreError> {
    if let Some(bytes) = meta.get("format")? {
        let found = <[u8; 4]>::try_from(&*bytes).map_err(|_| StoreError::Damaged("format mark"))?;
        match u32::from_be_bytes(found) {
            FORMAT_VERSION => return Ok(()),
            FORMAT_BEFORE => {}
            found => return Err(StoreError::Format { found }),
        }
    }
    meta.made()?.insert("format", FORMAT_VERSION.to_be_bytes())?;
    Ok(db.persist(PersistMode::SyncAll)?)
}
