//! The toy crawler: takes events, fetches by waiting, commits as the real one does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::Bus;
use lycosa_cluster::bus::memory::Dice;
use lycosa_cluster::membership::{Figures, Timing};
use lycosa_cluster::name::NodeId;
use lycosa_cluster::node::{
    Commit, Event, NodeConfig, NodeHandle, PartitionChanges, PartitionLoad, join, start,
};
use lycosa_cluster::owner::{MemoryState, PartitionState};
use lycosa_cluster::wire::{Change, Link};
use lycosa_cluster::{CrawlSettings, Partitioner};
use lycosa_types::PartitionId;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::web::{page_of, url};
use super::{Shared, Web, trace};

/// Pages fetched side by side on a node.
const AT_ONCE: usize = 8;

pub fn settings(web: &Web) -> CrawlSettings {
    let mut settings = CrawlSettings::new(77);
    settings.partitioner = Partitioner { partitions: web.partitions, ..Partitioner::default() };
    settings
}

pub struct Toy {
    pub web: Arc<Web>,
    pub chronicle: Shared,
    pub state: Arc<MemoryState>,
    pub dice: Dice,
    /// Longest time a page takes.
    pub slowest: Duration,
    /// Pages known per partition that is here: true if done.
    pages: BTreeMap<PartitionId, BTreeMap<u32, bool>>,
    epochs: BTreeMap<PartitionId, u64>,
    leaving: BTreeSet<PartitionId>,
}

fn key(page: u32) -> Bytes {
    page.to_be_bytes().to_vec().into()
}

impl Toy {
    pub fn new(web: &Arc<Web>, chronicle: &Shared, state: &Arc<MemoryState>, seed: u64) -> Self {
        Self {
            web: web.clone(),
            chronicle: chronicle.clone(),
            state: state.clone(),
            dice: Dice(seed),
            slowest: Duration::from_millis(800),
            pages: BTreeMap::new(),
            epochs: BTreeMap::new(),
            leaving: BTreeSet::new(),
        }
    }

    /// Joins and crawls until the end. Returns whether the end was announced.
    pub async fn run<B: Bus>(
        mut self,
        bus: B,
        node: NodeId,
        capacity: u32,
        timing: Timing,
        handles: mpsc::UnboundedSender<NodeHandle>,
    ) -> bool {
        let settings = join(&bus, &settings(&self.web)).await.unwrap();
        let mut config = NodeConfig::new(node, settings);
        config.capacity = capacity;
        config.timing = timing;
        config.snapshot_records = 15;
        config.window = 8;
        config.outbox.batch_links = 20;
        let (handle, mut events) = start(bus, config, self.state.clone());
        let _ = handles.send(handle.clone());
        let killer = Killer(handle.clone());
        let mut last_report = Instant::now();
        loop {
            // Take what is there; wait only if there is nothing to do.
            let idle = self.next_pages().is_empty();
            let wait = if idle { Duration::from_millis(250) } else { Duration::ZERO };
            let event = match events.try_recv() {
                Ok(event) => Some(event),
                Err(mpsc::error::TryRecvError::Disconnected) => break,
                Err(mpsc::error::TryRecvError::Empty) if !idle => None,
                Err(_) => tokio::time::timeout(wait, events.recv()).await.unwrap_or_default(),
            };
            if let Some(event) = event {
                if matches!(event, Event::Finished) {
                    tokio::select! {
                        () = handle.leave() => {}
                        () = async { while events.recv().await.is_some() {} } => {}
                    }
                    drop(killer);
                    return true;
                }
                self.take(&handle, event).await;
                continue;
            }
            if handle.is_stopped() {
                break;
            }
            if handle.is_in_touch() && handle.has_room() {
                self.crawl_some(&handle).await;
            }
            if idle || last_report.elapsed() > Duration::from_millis(500) {
                self.report(&handle);
                last_report = Instant::now();
            }
            if !idle && !handle.is_in_touch() {
                sleep(Duration::from_millis(100)).await;
            }
        }
        drop(killer);
        false
    }

    fn report(&self, handle: &NodeHandle) {
        let loads: Vec<PartitionLoad> = self
            .pages
            .iter()
            .map(|(&partition, pages)| {
                let waiting = pages.values().filter(|done| !**done).count() as u64;
                let epoch = self.epochs.get(&partition).copied().unwrap_or(0);
                PartitionLoad { partition, epoch, weight: 1 + waiting, idle: waiting == 0 }
            })
            .collect();
        handle.report(50, Figures::default(), &loads);
    }

    fn next_pages(&self) -> Vec<(PartitionId, u32)> {
        let here = self.pages.iter().filter(|(partition, _)| !self.leaving.contains(partition));
        let waiting = here.flat_map(|(&partition, pages)| {
            pages.iter().filter(|(_, done)| !**done).map(move |(&page, _)| (partition, page)).take(3)
        });
        waiting.take(AT_ONCE).collect()
    }

    async fn take(&mut self, handle: &NodeHandle, event: Event) {
        match event {
            Event::Arrived { partition, epoch, planned, loaded, position } => {
                trace(Some(partition), || {
                    format!(
                        "{} arrived {partition} epoch {epoch} planned {planned} {loaded:?} {position:?}",
                        handle.node()
                    )
                });
                let pairs = self.state.pairs(partition);
                let page = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap());
                self.pages.insert(partition, pairs.iter().map(|(k, v)| (page(k), &v[..] == b"d")).collect());
                self.epochs.insert(partition, epoch);
                self.leaving.remove(&partition);
            }
            Event::Leaving { partition, epoch } => {
                trace(Some(partition), || format!("{} leaving {partition}", handle.node()));
                // Nothing is in flight between two events of the toy.
                self.leaving.insert(partition);
                self.pages.remove(&partition);
                handle.release(partition, epoch).await;
            }
            Event::Lost { partition, .. } => {
                trace(Some(partition), || format!("{} lost {partition}", handle.node()));
                self.pages.remove(&partition);
                self.leaving.remove(&partition);
            }
            Event::Links { partition, epoch, sequence, batch } => {
                let Some(known) = self.pages.get(&partition) else { return };
                let found: BTreeSet<u32> = batch
                    .links
                    .iter()
                    .filter_map(|link| page_of(link.url))
                    .filter(|page| !known.contains_key(page))
                    .collect();
                let changes: Vec<Change> = found.iter().map(|&page| Change::put(key(page), "q")).collect();
                let part = PartitionChanges { epoch, changes: changes.clone(), consumed: Some(sequence) };
                if let Ok(position) = handle.append(partition, part).await {
                    self.state.apply(partition, &changes, Some(position)).unwrap();
                    if let Some(known) = self.pages.get_mut(&partition) {
                        known.extend(found.iter().map(|&page| (page, false)));
                    }
                }
            }
            Event::Finished => {}
            // Every node of the model has a name of its own: without this one, pages will be missing.
            Event::Superseded => handle.kill(),
        }
    }

    async fn crawl_some(&mut self, handle: &NodeHandle) {
        let mut chosen = self.next_pages();
        chosen.retain(|(partition, _)| handle.may_fetch(*partition, self.epochs[partition]));
        if chosen.is_empty() {
            sleep(Duration::from_millis(50)).await;
            return;
        }
        {
            let mut chronicle = self.chronicle.lock().unwrap();
            let who = handle.node().to_string();
            chosen.iter().for_each(|&(_, page)| chronicle.fetch(page, &who));
            chronicle.in_flight = chronicle.in_flight.max(chosen.len() as u32);
            // Counted as abandoned until they are committed.
            chronicle.abandoned += chosen.len() as u32;
        }
        for &(partition, page) in &chosen {
            trace(Some(partition), || format!("{} fetches {page}", handle.node()));
        }
        let time = self.dice.below(self.slowest.as_millis() as u64);
        sleep(Duration::from_millis(time)).await;
        let mut changes: BTreeMap<PartitionId, BTreeMap<u32, bool>> = BTreeMap::new();
        for &(partition, page) in &chosen {
            changes.entry(partition).or_default().insert(page, true);
            for &link in self.web.links(page) {
                let target = self.web.partition(link);
                if target != partition {
                    handle.send(target, &Link::new(&url(link), 1)).await;
                } else if !self.pages.get(&partition).is_some_and(|known| known.contains_key(&link)) {
                    changes.entry(partition).or_default().entry(link).or_insert(false);
                }
            }
        }
        let encode = |pages: &BTreeMap<u32, bool>| -> Vec<Change> {
            let value = |done: bool| if done { "d" } else { "q" };
            pages.iter().map(|(&page, &done)| Change::put(key(page), value(done))).collect()
        };
        let part = |partition, pages| {
            let epoch = self.epochs.get(&partition).copied().unwrap_or(0);
            (partition, PartitionChanges { epoch, changes: encode(pages), consumed: None })
        };
        let done = changes.iter().map(|(&partition, pages)| part(partition, pages)).collect();
        let Ok(committed) = handle.commit(Commit { found: Vec::new(), done }).await else { return };
        for &partition in &committed.lost {
            trace(Some(partition), || format!("{} could not commit {partition}", handle.node()));
        }
        for (partition, position) in committed.positions {
            trace(Some(partition), || {
                format!("{} committed {:?} at {position:?}", handle.node(), changes.get(&partition))
            });
            let Some(pages) = changes.get(&partition) else { continue };
            self.state.apply(partition, &encode(pages), Some(position)).unwrap();
            if let Some(known) = self.pages.get_mut(&partition) {
                known.extend(pages.iter().map(|(&page, &done)| (page, done)));
            }
            let mut chronicle = self.chronicle.lock().unwrap();
            let finished = pages.iter().filter(|(_, done)| **done).map(|(&page, _)| page);
            chronicle.committed.extend(finished.clone());
            chronicle.abandoned -= finished.count() as u32;
        }
    }
}

/// A toy that ends, however it ends, takes its node with it.
struct Killer(NodeHandle);

impl Drop for Killer {
    fn drop(&mut self) {
        self.0.kill();
    }
}
