//! One contract for both buses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::memory::{Chances, Link, MemoryBus, MemoryServer};
use lycosa_cluster::bus::nats::{NatsBus, NatsOptions};
use lycosa_cluster::bus::{Bus, BusError, Keys, Lane, Reader, Watcher};
use lycosa_cluster::name::{CrawlName, NodeId};
use lycosa_cluster::owner::{MemoryState, Owner, OwnerError, PartitionState, store_snapshot};
use lycosa_cluster::wire::Change;
use lycosa_testkit::Server;
use lycosa_types::PartitionId;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);
const P: PartitionId = PartitionId(1);

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

async fn within<T>(call: impl Future<Output = Result<T, BusError>>) -> T {
    timeout(PATIENCE, call).await.expect("no answer").unwrap()
}

/// Everything a bus promises, on one that was just made.
async fn keeps_the_contract<B: Bus>(bus: B) {
    within(bus.prepare(3)).await;
    within(bus.prepare(3)).await;
    streams(&bus).await;
    keys(&bus).await;
    objects(&bus).await;
    ownership(&bus).await;
}

async fn streams<B: Bus>(bus: &B) {
    assert_eq!(within(bus.last(P, Lane::In)).await, None);
    assert_eq!(within(bus.last(P, Lane::Log)).await, None);
    let first = within(bus.publish(P, "one", text("m1"))).await;
    let again = within(bus.publish(P, "one", text("m1"))).await;
    assert_eq!(first, again, "the same id is taken once");
    // The fence.
    let log = within(bus.append(P, 0, text("r1"))).await;
    assert!(log > first);
    for wrong in [0, log - 1, log + 1] {
        let refused = bus.append(P, wrong, text("no")).await;
        assert_eq!(refused, Err(BusError::Fenced { partition: P, expected: wrong }));
    }
    let second = within(bus.publish(P, "two", text("m2"))).await;
    // Messages on `in` do not move the fence.
    let log2 = within(bus.append(P, log, text("r2"))).await;
    assert_eq!(within(bus.last(P, Lane::Log)).await.unwrap().sequence, log2);
    assert_eq!(within(bus.last(P, Lane::In)).await.unwrap().body, text("m2"));
    assert_eq!(within(bus.message(P, log)).await.unwrap().body, text("r1"));
    // Reading: from a sequence, in order, and whatever comes later.
    let mut reader = within(bus.read(P, Lane::In, first)).await;
    assert_eq!(within(reader.next()).await.body, text("m1"));
    assert_eq!(within(reader.next()).await.sequence, second);
    let third = within(bus.publish(P, "three", text("m3"))).await;
    assert_eq!(within(reader.next()).await.sequence, third);
    let mut later = within(bus.read(P, Lane::Log, log + 1)).await;
    assert_eq!(within(later.next()).await.body, text("r2"));
    // Purging: one lane, below a sequence, and the fence stays.
    within(bus.purge(P, Lane::In, third)).await;
    within(bus.purge(P, Lane::Log, log2)).await;
    assert_eq!(within(bus.message(P, second)).await, None);
    assert_eq!(within(bus.last(P, Lane::In)).await.unwrap().sequence, third);
    assert_eq!(within(bus.last(P, Lane::Log)).await.unwrap().sequence, log2);
    assert!(matches!(bus.append(P, 0, text("no")).await, Err(BusError::Fenced { .. })));
    within(bus.append(P, log2, text("r3"))).await;
    let mut reader = within(bus.read(P, Lane::In, 1)).await;
    assert_eq!(within(reader.next()).await.sequence, third);
    // Another partition is another stream.
    assert_eq!(within(bus.last(PartitionId(2), Lane::Log)).await, None);
}

async fn keys<B: Bus>(bus: &B) {
    assert_eq!(within(bus.get("table")).await, None);
    let revision = within(bus.create("table", text("v1"))).await;
    assert!(matches!(bus.create("table", text("no")).await, Err(BusError::Conflict(_))));
    let next = within(bus.update("table", text("v2"), revision)).await;
    assert!(next > revision);
    assert!(matches!(bus.update("table", text("no"), revision).await, Err(BusError::Conflict(_))));
    let found = within(bus.get("table")).await.unwrap();
    assert_eq!((found.value, found.revision), (text("v2"), next));
    // Watching: what is there, then what comes.
    within(bus.put("member.a.1", text("beat 1"))).await;
    within(bus.put("membership", text("another word"))).await;
    let mut watcher = within(bus.watch(Keys::Under("member"))).await;
    let update = within(watcher.next()).await;
    assert_eq!((update.key.as_str(), update.value), ("member.a.1", Some(text("beat 1"))));
    within(bus.put("member.b.1", text("beat 1"))).await;
    assert_eq!(within(watcher.next()).await.key, "member.b.1");
    within(bus.delete("member.a.1")).await;
    let update = within(watcher.next()).await;
    assert_eq!((update.key.as_str(), update.value), ("member.a.1", None));
    assert_eq!(within(bus.get("member.a.1")).await, None);
    within(bus.create("member.a.1", text("again"))).await;
    let mut one = within(bus.watch(Keys::One("table"))).await;
    assert_eq!(within(one.next()).await.value, Some(text("v2")));
}

async fn objects<B: Bus>(bus: &B) {
    assert_eq!(within(bus.get_object("p1.e1.n1.0")).await, None);
    let big = Bytes::from((0..3_000_000u32).map(|i| (i / 7) as u8).collect::<Vec<_>>());
    within(bus.put_object("p1.e1.n1.0", big.clone())).await;
    within(bus.put_object("p11.e1.n1.0", text("x"))).await;
    within(bus.put_object("empty", Bytes::new())).await;
    assert_eq!(within(bus.get_object("p1.e1.n1.0")).await, Some(big));
    assert_eq!(within(bus.get_object("empty")).await, Some(Bytes::new()));
    assert_eq!(within(bus.objects("p1.")).await, ["p1.e1.n1.0"]);
    within(bus.put_object("p11.e1.n1.0", text("y"))).await;
    assert_eq!(within(bus.get_object("p11.e1.n1.0")).await, Some(text("y")));
    within(bus.delete_object("p1.e1.n1.0")).await;
    within(bus.delete_object("p1.e1.n1.0")).await;
    within(bus.delete_object("never was")).await;
    assert_eq!(within(bus.get_object("p1.e1.n1.0")).await, None);
    assert!(within(bus.objects("p1.")).await.is_empty());
}

/// Ownership on this very bus: what one node wrote another finds, and the first is refused.
async fn ownership<B: Bus>(bus: &B) {
    let p = PartitionId(0);
    let node = |name| NodeId::new(name, 1).unwrap();
    let (first, second) = (MemoryState::default(), MemoryState::default());
    let mut owner = Owner::open(bus, p, 1, &node("a"), true).await.unwrap();
    owner.load(&first).await.unwrap();
    for i in 0..30u8 {
        let changes = [Change::put(vec![i], vec![i; 1000]), Change::remove(vec![i / 2])];
        let position = owner.append(&changes, Some(u64::from(i))).await.unwrap();
        first.apply(p, &changes, Some(position)).unwrap();
        if i % 10 == 9 {
            let snapshot = store_snapshot(bus, &first, p, 1, owner.next_snapshot()).await.unwrap();
            owner.note_snapshot(snapshot).await.unwrap();
        }
    }
    owner.append(&[Change::put("k", "v")], None).await.unwrap();
    let mut next = Owner::open(bus, p, 2, &node("b"), false).await.unwrap();
    let loaded = next.load(&second).await.unwrap();
    assert!(loaded.from_snapshot > 0 && loaded.replayed >= 2, "{loaded:?}");
    assert!(matches!(owner.append(&[], None).await, Err(OwnerError::Fenced { epoch: 2, .. })));
    let mut pairs = first.pairs(p);
    pairs.push((text("k"), text("v")));
    assert_eq!(second.pairs(p), pairs);
    assert_eq!(next.position().consumed, 29);
}

#[tokio::test(start_paused = true)]
async fn the_bus_in_memory_keeps_the_contract() {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    keeps_the_contract(MemoryBus::new(server, Arc::new(Link::default()))).await;
}

#[tokio::test]
async fn nats_keeps_the_contract() {
    let server = Server::start();
    let crawl = CrawlName::new("contract").unwrap();
    let bus = NatsBus::connect(&NatsOptions::new(&server.url()), &crawl).await.unwrap();
    keeps_the_contract(bus).await;
}
