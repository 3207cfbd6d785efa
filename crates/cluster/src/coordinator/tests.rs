//! A coordinator whose watch of heartbeats falls silent declares no living node dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lycosa_types::Partitioner;
use tokio::time::sleep;

use super::*;
use crate::bus::memory::{Chances, Link, MemoryBus, MemoryReader, MemoryServer, MemoryWatcher};
use crate::bus::{KeyUpdate, KeyValue, Message};
use crate::node::{CrawlSettings, Event, NodeConfig, NodeHandle, join, start};
use crate::owner::MemoryState;

/// A connection on which one watch falls silent, without an error; everything else works.
#[derive(Clone, Debug)]
struct DeafBus {
    inner: MemoryBus,
    word: &'static str,
    deaf: Arc<AtomicBool>,
}

struct DeafWatcher(MemoryWatcher, Option<Arc<AtomicBool>>);

impl Watcher for DeafWatcher {
    async fn next(&mut self) -> Result<KeyUpdate, BusError> {
        let update = self.0.next().await;
        if self.1.as_ref().is_some_and(|deaf| deaf.load(Ordering::SeqCst)) {
            std::future::pending::<()>().await;
        }
        update
    }
}

impl Bus for DeafBus {
    type Reader = MemoryReader;
    type Watcher = DeafWatcher;
    async fn prepare(&self, partitions: u16) -> Result<(), BusError> {
        self.inner.prepare(partitions).await
    }
    async fn publish(&self, p: PartitionId, id: &str, body: Bytes) -> Result<u64, BusError> {
        self.inner.publish(p, id, body).await
    }
    async fn append(&self, p: PartitionId, expected: u64, body: Bytes) -> Result<u64, BusError> {
        self.inner.append(p, expected, body).await
    }
    async fn last(&self, p: PartitionId, lane: Lane) -> Result<Option<Message>, BusError> {
        self.inner.last(p, lane).await
    }
    async fn message(&self, p: PartitionId, s: u64) -> Result<Option<Message>, BusError> {
        self.inner.message(p, s).await
    }
    async fn read(&self, p: PartitionId, lane: Lane, from: u64) -> Result<MemoryReader, BusError> {
        self.inner.read(p, lane, from).await
    }
    async fn purge(&self, p: PartitionId, lane: Lane, below: u64) -> Result<(), BusError> {
        self.inner.purge(p, lane, below).await
    }
    async fn get(&self, key: &str) -> Result<Option<KeyValue>, BusError> {
        self.inner.get(key).await
    }
    async fn create(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        self.inner.create(key, value).await
    }
    async fn update(&self, key: &str, value: Bytes, revision: u64) -> Result<u64, BusError> {
        self.inner.update(key, value, revision).await
    }
    async fn put(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        self.inner.put(key, value).await
    }
    async fn delete(&self, key: &str) -> Result<(), BusError> {
        self.inner.delete(key).await
    }
    async fn watch(&self, keys: Keys<'_>) -> Result<DeafWatcher, BusError> {
        let deaf = matches!(keys, Keys::Under(word) if word == self.word).then(|| self.deaf.clone());
        Ok(DeafWatcher(self.inner.watch(keys).await?, deaf))
    }
    async fn put_object(&self, name: &str, body: Bytes) -> Result<(), BusError> {
        self.inner.put_object(name, body).await
    }
    async fn get_object(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        self.inner.get_object(name).await
    }
    async fn delete_object(&self, name: &str) -> Result<(), BusError> {
        self.inner.delete_object(name).await
    }
    async fn objects(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        self.inner.objects(prefix).await
    }
}

const PARTITIONS: u16 = 16;

struct Machine {
    handle: NodeHandle,
    deaf: Arc<AtomicBool>,
    wire: Arc<Link>,
}

async fn machine(server: &Arc<MemoryServer>, name: &str, capacity: u32, word: &'static str) -> Machine {
    let wire = Arc::new(Link::default());
    let (inner, deaf) = (MemoryBus::new(server.clone(), wire.clone()), Arc::new(AtomicBool::new(false)));
    let mut settings = CrawlSettings::new(1);
    settings.partitioner = Partitioner { partitions: PARTITIONS, ..Partitioner::default() };
    let settings = join(&inner, &settings).await.unwrap();
    let mut config = NodeConfig::new(NodeId::new(name, 1).unwrap(), settings);
    config.capacity = capacity;
    config.candidate = capacity == 0;
    config.ends = false;
    let bus = DeafBus { inner, word, deaf: deaf.clone() };
    let (handle, mut events) = start(bus, config, Arc::new(MemoryState::default()));
    let crawl = handle.clone();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Event::Leaving { partition, epoch } = event {
                crawl.release(partition, epoch).await;
            }
        }
    });
    Machine { handle, deaf, wire }
}

/// What happens when the coordinator's watch of beats falls silent at `phase` within a second. Partitions that living
/// nodes lost, and for how long two nodes might fetch from one partition.
async fn silence(phase_ms: u64, nodes_deaf: bool, cut: bool) -> (usize, Duration) {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let a = machine(&server, "a", 100, "crawl").await;
    sleep(Duration::from_millis(500)).await;
    let k = machine(&server, "k", 0, MEMBER_KEYS).await;
    sleep(Duration::from_millis(300)).await;
    let b = machine(&server, "b", 100, "crawl").await;
    sleep(Duration::from_millis(29_200)).await;
    let before = b.handle.table();
    assert!(before.iter().all(|(_, slot)| slot.owner.is_some() && slot.from.is_none()));
    sleep(Duration::from_millis(phase_ms)).await;
    k.deaf.store(true, Ordering::SeqCst);
    a.deaf.store(nodes_deaf, Ordering::SeqCst);
    let mut both = Duration::ZERO;
    let step = Duration::from_millis(10);
    let mut was = server.get(TABLE_KEY).unwrap().revision;
    for _ in 0..4000 {
        sleep(step).await;
        let now = server.get(TABLE_KEY).unwrap();
        if now.revision != was && cut {
            a.wire.set_cut(true);
        }
        was = now.revision;
        let table = Table::decode(&now.value, PARTITIONS).unwrap();
        let twice = table.iter().any(|(partition, slot)| {
            let old = before.slot(partition).unwrap().epoch;
            slot.epoch > old
                && [(&a, &b), (&b, &a)].iter().any(|(old_owner, new_owner)| {
                    old_owner.handle.may_fetch(partition, old)
                        && new_owner.handle.may_fetch(partition, slot.epoch)
                })
        });
        both += if twice { step } else { Duration::ZERO };
    }
    let after = Table::decode(&server.get(TABLE_KEY).unwrap().value, PARTITIONS).unwrap();
    let lost = after.iter().filter(|(p, slot)| before.slot(*p).unwrap().epoch != slot.epoch).count();
    (lost, both)
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_kills_nobody() {
    let mut worst = (0, Duration::ZERO);
    for nodes_deaf in [false, true] {
        for cut in [false, true] {
            for phase in (0..1000).step_by(200) {
                let (lost, both) = silence(phase, nodes_deaf, cut).await;
                println!(
                    "phase {phase} ms, nodes' own watch silent {nodes_deaf}, node cut off at that moment {cut}: {lost} of 16 partitions taken from the living; two may fetch for {both:?}"
                );
                worst = (worst.0.max(lost), worst.1.max(both));
            }
        }
    }
    assert_eq!(worst, (0, Duration::ZERO));
}

/// Whether both nodes hold all partitions between them, within a minute.
async fn all_held(nodes: &[&Machine]) -> bool {
    for _ in 0..60 {
        sleep(Duration::from_secs(1)).await;
        let held = (0..PARTITIONS).filter(|p| nodes.iter().any(|n| n.handle.owns(PartitionId(*p)))).count();
        if held == usize::from(PARTITIONS) {
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_table_that_cannot_be_read_or_is_gone_is_made_anew() {
    for rubbish in [Some(&b"garbage"[..]), Some(&b""[..]), None] {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let _k = machine(&server, "k", 0, "none").await;
        let a = machine(&server, "a", 100, "none").await;
        let b = machine(&server, "b", 100, "none").await;
        assert!(all_held(&[&a, &b]).await);
        let bus = MemoryBus::new(server.clone(), Arc::new(Link::default()));
        match rubbish {
            Some(bytes) => drop(bus.put(TABLE_KEY, Bytes::from_static(bytes)).await.unwrap()),
            None => bus.delete(TABLE_KEY).await.unwrap(),
        }
        // One of them dies, so that the table must change.
        a.handle.kill();
        assert!(all_held(&[&b]).await, "after {rubbish:?}");
        let table = Table::decode(&server.get(TABLE_KEY).unwrap().value, PARTITIONS).unwrap();
        assert!(table.iter().all(|(_, slot)| slot.owner.as_ref() == Some(b.handle.node())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_behind_the_logs_catches_up() {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let bus = MemoryBus::new(server.clone(), Arc::new(Link::default()));
    bus.prepare(PARTITIONS).await.unwrap();
    // Terms that the table knows nothing of: it was lost together with all nodes.
    for p in 0..PARTITIONS {
        let old = NodeId::new("old", 9).unwrap();
        crate::owner::Owner::open(&bus, PartitionId(p), 40 + u64::from(p), &old, false).await.unwrap();
    }
    let _k = machine(&server, "k", 0, "none").await;
    let a = machine(&server, "a", 100, "none").await;
    assert!(all_held(&[&a]).await);
}
