//! The outbox: links gathered per partition, sealed into batches, published until the bus has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lycosa_types::PartitionId;
use tokio::sync::Notify;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::sent::{DEFAULT_SENT_LINKS, SentMemory, Sighting};
use crate::bus::Bus;
use crate::name::NodeId;
use crate::owner::Backoff;
use crate::wire::{Batch, BatchHeader, Link};

/// When batches leave, and how much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Links after which a batch leaves.
    pub batch_links: usize,
    /// Age at which a batch leaves, however small.
    pub batch_age: Duration,
    /// Links that may wait or be on their way.
    pub max_links: usize,
    /// Bytes of URLs that may wait or be on their way.
    pub max_bytes: usize,
    /// Links remembered as sent.
    pub sent_links: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            batch_links: 500,
            batch_age: Duration::from_millis(100),
            max_links: 200_000,
            max_bytes: 32 << 20,
            sent_links: DEFAULT_SENT_LINKS,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outbox is full: the bus or the owners of the links are behind; wait before fetching more")]
pub struct OutboxFull;

#[derive(Debug)]
struct Gathering {
    batch: Batch,
    since: Instant,
}

#[derive(Debug)]
struct Sealed {
    ticket: u64,
    partition: PartitionId,
    batch: Batch,
}

#[derive(Debug)]
struct Contents {
    gathering: BTreeMap<PartitionId, Gathering>,
    ready: VecDeque<Sealed>,
    /// Sealed and not yet on the bus.
    open: BTreeSet<u64>,
    next_ticket: u64,
    links: usize,
    bytes: usize,
    sent: SentMemory,
    totals: OutboxTotals,
}

/// What went through the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxTotals {
    /// Links met.
    pub met: u64,
    /// Links sent.
    pub sent: u64,
    /// Links too long to travel.
    pub oversized: u64,
    pub batches: u64,
    /// Bytes on the bus.
    pub bytes: u64,
    /// Tries that failed and were repeated.
    pub retries: u64,
}

/// Links on their way out.
#[derive(Debug)]
pub struct Outbox {
    contents: Mutex<Contents>,
    limits: OutboxLimits,
    crawl: u32,
    node: NodeId,
    ready: Notify,
    settled: Notify,
}

impl Outbox {
    /// `crawl` is the print of the crawl's settings.
    pub fn new(node: NodeId, crawl: u32, limits: OutboxLimits) -> Self {
        let contents = Contents {
            gathering: BTreeMap::new(),
            ready: VecDeque::new(),
            open: BTreeSet::new(),
            next_ticket: 0,
            links: 0,
            bytes: 0,
            sent: SentMemory::new(limits.sent_links),
            totals: OutboxTotals::default(),
        };
        Self {
            contents: Mutex::new(contents),
            limits,
            crawl,
            node,
            ready: Notify::new(),
            settled: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn totals(&self) -> OutboxTotals {
        self.lock().totals
    }

    /// Nothing waits and nothing is on its way.
    pub fn is_empty(&self) -> bool {
        let contents = self.lock();
        contents.gathering.is_empty() && contents.open.is_empty()
    }

    /// Whether more may be given without waiting.
    pub fn has_room(&self) -> bool {
        let contents = self.lock();
        contents.links < self.limits.max_links && contents.bytes < self.limits.max_bytes
    }

    /// Gives a link, or says that it must wait. What was sent lately is counted and not sent.
    pub fn try_send(&self, partition: PartitionId, link: &Link<'_>) -> Result<(), OutboxFull> {
        let mut contents = self.lock();
        if contents.links >= self.limits.max_links || contents.bytes >= self.limits.max_bytes {
            return Err(OutboxFull);
        }
        contents.totals.met += 1;
        // The same URL may travel twice where there are regions: to its home, and on from there.
        let key = xxh3_64(link.url.as_bytes()) ^ u64::from(partition.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let Sighting::Send { backlinks, importance } = contents.sent.note(key, link.depth, link.importance)
        else {
            return Ok(());
        };
        // The first sighting brings the caller's own count; later ones what was gathered.
        let backlinks = backlinks - 1 + link.backlinks.max(1);
        let link = Link { backlinks, importance, ..*link };
        let now = Instant::now();
        let fresh = || Gathering { batch: Batch::default(), since: now };
        let mut gathering = contents.gathering.remove(&partition).unwrap_or_else(fresh);
        if !gathering.batch.links.push(&link) {
            // Full by bytes: it leaves, and the link starts the next one, or is too long for any.
            self.seal(&mut contents, partition, gathering.batch);
            gathering = fresh();
            if !gathering.batch.links.push(&link) {
                contents.sent.forget(key);
                contents.totals.oversized += 1;
                return Ok(());
            }
        }
        contents.links += 1;
        contents.bytes += link.url.len() + link.note.len();
        contents.totals.sent += 1;
        self.keep_or_seal(&mut contents, partition, gathering);
        Ok(())
    }

    /// Gives a fact of another kind.
    pub fn try_send_fact(&self, partition: PartitionId, kind: u8, body: &[u8]) -> Result<(), OutboxFull> {
        let mut contents = self.lock();
        if contents.links >= self.limits.max_links || contents.bytes >= self.limits.max_bytes {
            return Err(OutboxFull);
        }
        if body.len() > crate::wire::batch::MAX_FACT_BYTES {
            contents.totals.oversized += 1;
            return Ok(());
        }
        let fresh = || Gathering { batch: Batch::default(), since: Instant::now() };
        let mut gathering = contents.gathering.remove(&partition).unwrap_or_else(fresh);
        gathering.batch.facts.push((kind, body.to_vec()));
        contents.links += 1;
        contents.bytes += body.len();
        self.keep_or_seal(&mut contents, partition, gathering);
        Ok(())
    }

    fn keep_or_seal(&self, contents: &mut Contents, partition: PartitionId, gathering: Gathering) {
        let fact_bytes: usize = gathering.batch.facts.iter().map(|(_, body)| body.len() + 4).sum();
        let count = gathering.batch.links.len() + gathering.batch.facts.len();
        if count >= self.limits.batch_links || fact_bytes >= 64 << 10 {
            self.seal(contents, partition, gathering.batch);
        } else {
            contents.gathering.insert(partition, gathering);
        }
    }

    /// Gives a link, waiting for room if need be.
    pub async fn send(&self, partition: PartitionId, link: &Link<'_>) {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            if self.try_send(partition, link).is_ok() {
                return;
            }
            settled.await;
        }
    }

    fn seal(&self, contents: &mut Contents, partition: PartitionId, batch: Batch) {
        let ticket = contents.next_ticket;
        contents.next_ticket += 1;
        contents.open.insert(ticket);
        contents.ready.push_back(Sealed { ticket, partition, batch });
        self.ready.notify_one();
    }

    /// Seals batches that are old enough, or all.
    fn seal_old(&self, all: bool) {
        let mut contents = self.lock();
        let now = Instant::now();
        let age = self.limits.batch_age;
        let due = |g: &Gathering| all || now.duration_since(g.since) >= age;
        let old: Vec<PartitionId> =
            contents.gathering.iter().filter(|(_, g)| due(g)).map(|(p, _)| *p).collect();
        for partition in old {
            if let Some(gathering) = contents.gathering.remove(&partition) {
                self.seal(&mut contents, partition, gathering.batch);
            }
        }
    }

    /// Returns when everything given before is durable on the bus.
    pub async fn flush(&self) {
        self.seal_old(true);
        let mark = self.lock().next_ticket;
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            if self.lock().open.first().is_none_or(|&oldest| oldest >= mark) {
                return;
            }
            settled.await;
        }
    }

    /// Seals batches as they come of age. Runs until it is dropped.
    pub async fn run_clock(&self) {
        let mut ticks = tokio::time::interval(self.limits.batch_age.max(Duration::from_millis(1)) / 2);
        loop {
            ticks.tick().await;
            self.seal_old(false);
        }
    }

    /// Publishes batches until it is dropped. Several may run side by side.
    pub async fn run_publisher<B: Bus>(&self, bus: &B) {
        loop {
            let sealed = loop {
                let ready = self.ready.notified();
                if let Some(sealed) = self.lock().ready.pop_front() {
                    break sealed;
                }
                ready.await;
            };
            self.publish(bus, &sealed).await;
            let mut contents = self.lock();
            contents.open.remove(&sealed.ticket);
            contents.links -= sealed.batch.links.len() + sealed.batch.facts.len();
            let fact_bytes: usize = sealed.batch.facts.iter().map(|(_, body)| body.len()).sum();
            contents.bytes -= sealed.batch.links.bytes() + fact_bytes;
            drop(contents);
            self.settled.notify_waiters();
        }
    }

    /// Tries until the bus has the batch: refusals and restarts delay it, nothing loses it.
    async fn publish<B: Bus>(&self, bus: &B, sealed: &Sealed) {
        let header = BatchHeader {
            crawl: self.crawl,
            partition: sealed.partition.0,
            sender: self.node.hash(),
            number: sealed.ticket,
        };
        let body = match sealed.batch.encode(&header) {
            Ok(body) => bytes::Bytes::from(body),
            Err(error) => {
                // The limits of the outbox are below those of a batch, so this is a fault of this program.
                tracing::error!(partition = %sealed.partition, %error, "a batch cannot travel");
                return;
            }
        };
        let id = format!("{}-{}", self.node, sealed.ticket);
        let mut backoff = Backoff::default();
        while let Err(error) = bus.publish(sealed.partition, &id, body.clone()).await {
            if error.is_transient() {
                tracing::debug!(partition = %sealed.partition, %error, "a batch is sent again");
            } else {
                tracing::warn!(partition = %sealed.partition, %error, "a batch is refused; it is sent again");
            }
            self.lock().totals.retries += 1;
            backoff.pause().await;
        }
        let mut contents = self.lock();
        contents.totals.batches += 1;
        contents.totals.bytes += body.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::{Chances, Link as Wire, MemoryBus, MemoryServer};
    use crate::bus::{Bus, Lane, Reader};
    use std::sync::Arc;

    const P: PartitionId = PartitionId(0);

    async fn setup(limits: OutboxLimits, server: MemoryServer) -> (Arc<Outbox>, MemoryBus) {
        let bus = MemoryBus::new(Arc::new(server), Arc::new(Wire::default()));
        bus.prepare(4).await.unwrap();
        let outbox = Arc::new(Outbox::new(NodeId::new("a", 1).unwrap(), 9, limits));
        for _ in 0..3 {
            let (outbox, bus) = (outbox.clone(), bus.clone());
            tokio::spawn(async move { outbox.run_publisher(&bus).await });
        }
        let clock = outbox.clone();
        tokio::spawn(async move { clock.run_clock().await });
        (outbox, bus)
    }

    #[tokio::test(start_paused = true)]
    async fn batches_leave_by_size_or_age_and_flush_waits_for_the_bus() {
        let chances = Chances {
            lost_answers: 300,
            refused_publishes: 300,
            longest_way: Duration::from_millis(30),
            ..Chances::default()
        };
        let (outbox, bus) = setup(OutboxLimits::default(), MemoryServer::new(3, chances)).await;
        for i in 0..1201 {
            outbox.send(P, &Link::new(&format!("http://h{i}.test/"), 1)).await;
            outbox.send(P, &Link::new(&format!("http://h{i}.test/"), 1)).await;
            outbox.send(P, &Link::new(&format!("http://h{i}.test/"), 1)).await;
        }
        outbox.flush().await;
        assert!(outbox.is_empty());
        let totals = outbox.totals();
        // Each link is sent, and once more when its count has doubled.
        assert_eq!((totals.met, totals.sent, totals.batches), (3603, 2402, 5));
        let mut urls = std::collections::BTreeMap::new();
        let last = bus.last(P, Lane::In).await;
        let last = last.ok().flatten().map_or(5, |m| m.sequence);
        let mut reader = loop {
            if let Ok(reader) = bus.read(P, Lane::In, 1).await {
                break reader;
            }
        };
        loop {
            let message = reader.next().await.unwrap();
            let (header, batch) = Batch::decode(&message.body).unwrap();
            assert_eq!((header.crawl, header.partition), (9, 0));
            for link in batch.links.iter() {
                *urls.entry(link.url.to_owned()).or_insert(0) += link.backlinks;
            }
            if message.sequence >= last {
                break;
            }
        }
        assert_eq!(urls.len(), 1201);
        assert!(urls.values().all(|&n| n == 2));
        // By age alone.
        outbox.send(P, &Link::new("http://alone.test/", 1)).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(outbox.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_partition_pushes_back_to_the_sender() {
        let limits = OutboxLimits { batch_links: 10, max_links: 50, ..OutboxLimits::default() };
        let server = MemoryServer::new(1, Chances::default()).with_limit_in(3);
        let (outbox, bus) = setup(limits, server).await;
        let mut given = 0;
        let mut give = |outbox: &Outbox| {
            let taken = outbox.try_send(P, &Link::new(&format!("http://h{given}.test/"), 1)).is_ok();
            given += usize::from(taken);
            taken
        };
        for _ in 0..500 {
            give(&outbox);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!outbox.has_room());
        assert!(!give(&outbox));
        // The owner catches up: all goes on, and nothing was lost on the way.
        bus.purge(P, Lane::In, u64::MAX).await.unwrap();
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(outbox.has_room() && give(&outbox));
        assert_eq!(given, 30 + 50 + 1);
    }
}
