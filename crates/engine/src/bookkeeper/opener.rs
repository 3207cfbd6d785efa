//! Partitions that have come are read on a thread of their own: a big one takes seconds, and meanwhile the others are
//! crawled.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use lycosa_frontier::store::PartitionPicture;
use lycosa_frontier::{PictureWanted, Store, StoreError};
use lycosa_types::{PartitionId, UrlId, UrlRecord};

use crate::cluster::custody::{LostArchive, is_lost};

/// A partition to be read.
pub(super) struct Unread {
    pub partition: PartitionId,
    pub epoch: u64,
    pub wanted: PictureWanted,
    /// Pages that lie there alone are looked for.
    pub lost: Vec<LostArchive>,
}

/// A partition as it was read.
pub(super) struct Read {
    pub partition: PartitionId,
    pub epoch: u64,
    pub picture: Result<PartitionPicture, StoreError>,
    /// Pages whose only copy is lost.
    pub lost: Vec<(UrlId, UrlRecord)>,
}

/// The way to the thread. It ends when this goes away.
pub struct Opener {
    unread: Sender<Unread>,
    read: Receiver<Read>,
}

impl Opener {
    /// The opener, and what its thread does.
    pub fn new(store: Arc<Store>) -> (Self, impl FnOnce() + Send + 'static) {
        let (unread, inbox) = channel::<Unread>();
        let (outbox, read) = channel();
        let thread = move || {
            while let Ok(unread) = inbox.recv() {
                if outbox.send(open(&store, unread)).is_err() {
                    return;
                }
            }
        };
        (Self { unread, read }, thread)
    }

    /// Has a partition read. Nobody writes to it until it is opened.
    pub(super) fn ask(&self, unread: Unread) {
        // The thread is there for as long as this is.
        let _ = self.unread.send(unread);
    }

    pub(super) fn next(&self) -> Option<Read> {
        self.read.try_recv().ok()
    }
}

fn open(store: &Store, unread: Unread) -> Read {
    let Unread { partition, epoch, wanted, lost } = unread;
    let mut pages = Vec::new();
    let picture = wanted.take(store, partition).and_then(|picture| {
        if !lost.is_empty() {
            let all = store.partition_urls(partition);
            let found = all.filter(|page| page.as_ref().map_or(true, |(_, record)| is_lost(record, &lost)));
            pages = found.collect::<Result<_, _>>()?;
        }
        Ok(picture)
    });
    Read { partition, epoch, picture, lost: pages }
}
