//! The inbox of one partition: what arrives on `in`, read in order, checked and counted.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::time::{Instant, sleep_until};
use xxhash_rust::xxh3::xxh3_64;

use crate::bus::{Bus, BusError, Lane, Message, Reader};
use crate::wire::Batch;

/// Senders whose batches are remembered per partition.
const MAX_SENDERS: usize = 4096;
/// Numbers of batches remembered per sender.
const NUMBERS_KEPT: usize = 256;
/// Before a broken way is tried again.
const PAUSE: Duration = Duration::from_millis(300);

/// What was refused, and why; counted for the whole node.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Cannot be read.
    pub malformed: AtomicU64,
    /// For another crawl, another cut of partitions, or another partition.
    pub foreign: AtomicU64,
    /// Of an epoch or a life that is over.
    pub stale: AtomicU64,
    /// Taken in before.
    pub repeated: AtomicU64,
}

impl Refusals {
    /// Malformed, foreign, stale, repeated.
    pub fn counts(&self) -> [u64; 4] {
        [&self.malformed, &self.foreign, &self.stale, &self.repeated].map(|n| n.load(Ordering::Relaxed))
    }
}

type Opening<R> = Pin<Box<dyn Future<Output = Result<R, BusError>> + Send>>;

/// The way to the bus. Kept from call to call, so that a call that is dropped does not begin it anew.
enum Way<R> {
    /// Closed until then.
    Closed(Instant),
    Opening(Opening<R>),
    Open(R),
}

/// Reads `in` from a position on. Every message comes once, in order; what may not be taken in comes as none, so that
/// its sequence can still be counted as consumed.
pub struct Inbox<B: Bus> {
    bus: B,
    partition: PartitionId,
    crawl: u32,
    next: u64,
    way: Way<B::Reader>,
    /// Prints of late batches by sender, oldest first.
    seen: BTreeMap<u64, VecDeque<u64>>,
}

impl<B: Bus> Inbox<B> {
    pub fn new(bus: B, partition: PartitionId, crawl: u32, consumed: u64) -> Self {
        let way = Way::Closed(Instant::now());
        Self { bus, partition, crawl, next: consumed + 1, way, seen: BTreeMap::new() }
    }

    /// The next message. May be dropped while it waits; nothing is lost by that.
    pub async fn next(&mut self, refusals: &Refusals) -> (u64, Option<Batch>) {
        let Message { sequence, body } = loop {
            match &mut self.way {
                Way::Closed(until) => {
                    sleep_until(*until).await;
                    let (bus, partition, from) = (self.bus.clone(), self.partition, self.next);
                    self.way =
                        Way::Opening(Box::pin(async move { bus.read(partition, Lane::In, from).await }));
                }
                Way::Opening(opening) => {
                    self.way = match opening.await {
                        Ok(reader) => Way::Open(reader),
                        Err(_) => Way::Closed(Instant::now() + PAUSE),
                    };
                }
                Way::Open(reader) => match reader.next().await {
                    Ok(message) if message.sequence < self.next => {}
                    Ok(message) => break message,
                    Err(_) => self.way = Way::Closed(Instant::now() + PAUSE),
                },
            }
        };
        self.next = sequence + 1;
        (sequence, self.judge(&body, refusals))
    }

    fn judge(&mut self, body: &Bytes, refusals: &Refusals) -> Option<Batch> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let Ok((header, batch)) = Batch::decode(body) else {
            count(&refusals.malformed);
            return None;
        };
        if header.crawl != self.crawl || header.partition != self.partition.0 {
            count(&refusals.foreign);
            return None;
        }
        if !self.seen.contains_key(&header.sender) && self.seen.len() >= MAX_SENDERS {
            self.seen.pop_first();
        }
        // Of the whole message, sender and number included: only the same bytes are a repetition. What merely bears the same
        // numbers comes from somebody else, and to pass over it would lose its links.
        let print = xxh3_64(body);
        let prints = self.seen.entry(header.sender).or_default();
        if prints.contains(&print) {
            count(&refusals.repeated);
            tracing::info!(partition = %self.partition, sender = header.sender, number = header.number, "a batch came twice");
            return None;
        }
        prints.push_back(print);
        if prints.len() > NUMBERS_KEPT {
            prints.pop_front();
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::{Chances, Link as Wire, MemoryBus, MemoryServer};
    use crate::wire::{BatchHeader, Link};
    use std::sync::Arc;

    const P: PartitionId = PartitionId(1);

    fn batch(crawl: u32, partition: u16, number: u64) -> Bytes {
        let mut batch = Batch::default();
        batch.links.push(&Link::new("http://a.test/", 1));
        batch.encode(&BatchHeader { crawl, partition, sender: 5, number }).unwrap().into()
    }

    #[tokio::test(start_paused = true)]
    async fn bad_batches_are_counted_and_passed_over() {
        let chances = Chances { repeats: 300, ..Chances::default() };
        let server = Arc::new(MemoryServer::new(2, chances));
        let bus = MemoryBus::new(server.clone(), Arc::new(Wire::default()));
        bus.prepare(2).await.unwrap();
        let bodies = [
            batch(9, 1, 1),
            Bytes::from_static(b"rubbish"),
            batch(8, 1, 2),
            batch(9, 0, 3),
            batch(9, 1, 1),
            batch(9, 1, 2),
        ];
        for (i, body) in bodies.into_iter().enumerate() {
            bus.publish(P, &format!("id{i}"), body).await.unwrap();
        }
        let refusals = Refusals::default();
        let mut inbox = Inbox::new(bus.clone(), P, 9, 0);
        let mut taken = Vec::new();
        for i in 0..6 {
            if i == 3 {
                // A restart in the middle.
                server.set_up(false);
                let server = server.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    server.set_up(true);
                });
            }
            let (sequence, batch) = inbox.next(&refusals).await;
            assert_eq!(sequence, i + 1);
            taken.push(batch.is_some());
        }
        assert_eq!(taken, [true, false, false, false, false, true]);
        assert_eq!(refusals.counts(), [1, 2, 0, 1]);
    }

    /// Two nodes whose numbers are the same by chance send different batches under the same count: both are taken in. What one
    /// node sends twice is refused.
    #[tokio::test(start_paused = true)]
    async fn only_the_same_bytes_are_a_repetition() {
        let server = Arc::new(MemoryServer::new(2, Chances::default()));
        let bus = MemoryBus::new(server.clone(), Arc::new(Wire::default()));
        bus.prepare(2).await.unwrap();
        let of = |url: &str| -> Bytes {
            let mut batch = Batch::default();
            batch.links.push(&Link::new(url, 7));
            batch
                .encode(&BatchHeader { crawl: 9, partition: 1, sender: 0x93d0_ddf6_ae9a_8cca, number: 426 })
                .unwrap()
                .into()
        };
        let bodies =
            [of("http://h53.test/p21.html"), of("http://h10.test/p28.html"), of("http://h53.test/p21.html")];
        for (i, body) in bodies.into_iter().enumerate() {
            bus.publish(P, &format!("id{i}"), body).await.unwrap();
        }
        let refusals = Refusals::default();
        let mut inbox = Inbox::new(bus.clone(), P, 9, 0);
        let mut urls = Vec::new();
        for _ in 0..3 {
            let (_, batch) = inbox.next(&refusals).await;
            urls.push(batch.and_then(|batch| batch.links.get(0).map(|link| link.url.to_owned())));
        }
        assert_eq!(
            urls,
            [Some("http://h53.test/p21.html".to_owned()), Some("http://h10.test/p28.html".to_owned()), None]
        );
        assert_eq!(refusals.counts(), [0, 0, 0, 1]);
    }

    /// The whole way, with the lives of the evidence: every link that an outbox took is given to the owner.
    #[tokio::test(start_paused = true)]
    async fn what_twenty_outboxes_send_arrives() {
        let server = Arc::new(MemoryServer::new(2, Chances::default()));
        let bus = MemoryBus::new(server.clone(), Arc::new(Wire::default()));
        bus.prepare(2).await.unwrap();
        let mut sent = std::collections::BTreeSet::new();
        for node in ["n06.000001a1f07bdcba", "n09.000001a1f07bdcbf"] {
            let outbox = Arc::new(crate::exchange::Outbox::new(
                node.parse().unwrap(),
                9,
                crate::exchange::OutboxLimits::default(),
            ));
            let (publisher, way) = (outbox.clone(), bus.clone());
            tokio::spawn(async move { publisher.run_publisher(&way).await });
            for i in 0..50 {
                let url = format!("http://h{i}.test/{node}");
                outbox.send(P, &Link::new(&url, 1)).await;
                outbox.flush().await;
                sent.insert(url);
            }
        }
        let refusals = Refusals::default();
        let mut inbox = Inbox::new(bus.clone(), P, 9, 0);
        let mut met = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let (_, batch) = inbox.next(&refusals).await;
            met.extend(batch.iter().flat_map(|batch| batch.links.iter().map(|link| link.url.to_owned())));
        }
        assert_eq!(sent.difference(&met).count(), 0, "lost");
    }
}
