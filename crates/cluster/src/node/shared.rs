//! What the tasks of a node share: the partitions it holds, what the crawl last reported, until when it may fetch.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lycosa_types::PartitionId;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::event::NodeConfig;
use super::keeper::Command;
use crate::exchange::{Outbox, Refusals};
use crate::membership::{Beat, Figures, Held, OwnBeats};
use crate::plan::Table;

/// A partition that is open here.
#[derive(Debug)]
pub(super) struct HeldPartition {
    pub epoch: u64,
    pub commands: mpsc::Sender<Command>,
    pub weight: u64,
    /// The crawl said that nothing is left to do, after everything that happened here.
    pub passive: bool,
    pub activity: u64,
    pub consumed: u64,
    /// Messages handed out and not yet committed.
    pub outstanding: VecDeque<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Reported {
    pub load_percent: u8,
    pub figures: Figures,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub config: NodeConfig,
    pub outbox: Outbox,
    pub refusals: Refusals,
    pub held: Mutex<BTreeMap<PartitionId, HeldPartition>>,
    /// Partitions that have a keeper, open or not.
    pub kept: Mutex<BTreeSet<PartitionId>>,
    pub reported: Mutex<Reported>,
    pub table: watch::Sender<Arc<Table>>,
    pub wave: AtomicU64,
    /// The last table that was acted on.
    pub acted_on: AtomicU64,
    pub links_received: AtomicU64,
    pub leaving: AtomicBool,
    pub finished: AtomicBool,
    /// A later life has taken this node's name.
    pub superseded: AtomicBool,
    /// Partitions that the table gives to this node, although their logs have gone on in a later term than the table's.
    pub ahead: Mutex<BTreeMap<PartitionId, u64>>,
    /// When each of this node's last beats was put, by number.
    pub own_beats: OwnBeats,
    started: Instant,
    /// Milliseconds since the start until which this node may fetch.
    lease_until_ms: AtomicU64,
}

impl Shared {
    pub fn new(config: NodeConfig) -> Self {
        let partitions = config.settings.partitioner.partitions;
        Self {
            outbox: Outbox::new(config.node.clone(), config.settings.print(), config.outbox),
            refusals: Refusals::default(),
            held: Mutex::default(),
            kept: Mutex::default(),
            reported: Mutex::default(),
            table: watch::Sender::new(Arc::new(Table::new(partitions))),
            wave: AtomicU64::new(0),
            acted_on: AtomicU64::new(0),
            links_received: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            superseded: AtomicBool::new(false),
            ahead: Mutex::default(),
            own_beats: OwnBeats::default(),
            started: Instant::now(),
            lease_until_ms: AtomicU64::new(0),
            config,
        }
    }

    pub fn held(&self) -> MutexGuard<'_, BTreeMap<PartitionId, HeldPartition>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn kept(&self) -> MutexGuard<'_, BTreeSet<PartitionId>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ahead(&self) -> MutexGuard<'_, BTreeMap<PartitionId, u64>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known about an open partition; anything that happens to it makes it active.
    pub fn touch(&self, partition: PartitionId, change: impl FnOnce(&mut HeldPartition)) {
        if let Some(held) = self.held().get_mut(&partition) {
            held.activity += 1;
            held.passive = false;
            change(held);
        }
    }

    /// What this node says about itself now.
    pub fn beat(&self, number: u64) -> Beat {
        // Wave and table first: what is said after they were heard.
        let wave = self.wave.load(Ordering::SeqCst);
        let table = self.acted_on.load(Ordering::SeqCst);
        let opening = self.kept().iter().copied().collect();
        let outbox_empty = self.outbox.is_empty();
        let totals = self.outbox.totals();
        let mut held: Vec<Held> = self
            .held()
            .iter()
            .map(|(partition, held)| Held {
                partition: *partition,
                epoch: held.epoch,
                weight: held.weight,
                passive: held.passive && held.outstanding.is_empty() && outbox_empty,
                activity: held.activity,
                consumed: held.consumed,
                lag: held.outstanding.len() as u64,
            })
            .collect();
        // Told as held in the later term: the coordinator then gives the partition out in a term after that one.
        held.extend(self.ahead().iter().map(|(&partition, &epoch)| Held {
            partition,
            epoch,
            weight: 0,
            passive: false,
            activity: 0,
            consumed: 0,
            lag: 0,
        }));
        let reported = self.reported();
        Beat {
            node: self.config.node.clone(),
            number,
            capacity: self.config.capacity,
            load_percent: reported.load_percent,
            region: self.config.region,
            leaving: self.leaving.load(Ordering::SeqCst),
            wave,
            table,
            held,
            opening,
            figures: Figures {
                links_sent: totals.sent,
                batches_sent: totals.batches,
                bytes_sent: totals.bytes,
                links_received: self.links_received.load(Ordering::Relaxed),
                refused: self.refusals.counts().iter().sum(),
                ..reported.figures
            },
        }
    }

    /// A beat that was put at `at` reached the bus.
    pub fn renew_lease(&self, at: Instant) {
        let until = at + self.config.timing.lease();
        let ms = until.duration_since(self.started).as_millis() as u64;
        self.lease_until_ms.fetch_max(ms, Ordering::SeqCst);
    }

    /// Nothing more may be fetched.
    pub fn end_lease(&self) {
        self.lease_until_ms.store(0, Ordering::SeqCst);
    }

    pub fn lease_is_good(&self) -> bool {
        let now = Instant::now().duration_since(self.started).as_millis() as u64;
        now < self.lease_until_ms.load(Ordering::SeqCst)
    }
}
