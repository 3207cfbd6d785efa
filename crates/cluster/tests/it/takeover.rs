//! How soon partitions have new owners, by the clock of the model: default settings, no faults on the way.

use std::sync::Arc;
use std::time::Duration;

use lycosa_cluster::bus::memory::{Chances, Link, MemoryBus, MemoryServer};
use lycosa_cluster::node::{join, start};
use lycosa_cluster::{
    Change, CrawlSettings, Event, MemoryState, NodeConfig, NodeHandle, NodeId, PartitionChanges, Partitioner,
};
use lycosa_types::PartitionId;
use tokio::time::{Instant, sleep, timeout};

const PARTITIONS: u16 = 16;

struct Machine {
    handle: NodeHandle,
    wire: Arc<Link>,
    state: Arc<MemoryState>,
}

/// A node whose crawl only lets go when asked.
async fn machine(server: &Arc<MemoryServer>, name: &str, capacity: u32) -> Machine {
    machine_of(server, name, capacity, PARTITIONS).await
}

async fn machine_of(server: &Arc<MemoryServer>, name: &str, capacity: u32, partitions: u16) -> Machine {
    let wire = Arc::new(Link::default());
    let bus = MemoryBus::new(server.clone(), wire.clone());
    let mut settings = CrawlSettings::new(1);
    settings.partitioner = Partitioner { partitions, ..Partitioner::default() };
    let settings = join(&bus, &settings).await.unwrap();
    let mut config = NodeConfig::new(NodeId::new(name, 1).unwrap(), settings);
    config.capacity = capacity;
    config.ends = false;
    let state = Arc::new(MemoryState::default());
    let (handle, mut events) = start(bus, config, state.clone());
    let crawl = handle.clone();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Event::Leaving { partition, epoch } = event {
                crawl.release(partition, epoch).await;
            }
        }
    });
    Machine { handle, wire, state }
}

fn owned(machine: &Machine) -> usize {
    let partitions = machine.handle.table().slots.len() as u16;
    (0..partitions).filter(|&p| machine.handle.owns(PartitionId(p))).count()
}

async fn until(what: &str, done: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    let waiting = async {
        while !done() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(Duration::from_secs(120), waiting).await.is_ok(), "{what}");
    began.elapsed()
}

fn server() -> Arc<MemoryServer> {
    let chances = Chances { longest_way: Duration::from_millis(5), ..Chances::default() };
    Arc::new(MemoryServer::new(1, chances))
}

#[tokio::test(start_paused = true)]
async fn a_dead_node_is_replaced_within_15_s_even_if_it_coordinated() {
    let server = server();
    let first = machine(&server, "a", 100).await;
    sleep(Duration::from_secs(1)).await;
    let others = [machine(&server, "b", 100).await, machine(&server, "c", 100).await];
    let all = |machines: &[Machine]| machines.iter().map(owned).sum::<usize>() == usize::from(PARTITIONS);
    until("all partitions have owners", || owned(&first) + others.iter().map(owned).sum::<usize>() == 16)
        .await;
    assert!(owned(&first) >= 5);
    // The first one to come coordinates as well.
    assert_eq!(server.get("leader").unwrap().value, first.handle.node().to_string());
    first.handle.kill();
    let took = until("the dead node's partitions are taken over", || all(&others)).await;
    assert!(took <= Duration::from_secs(15), "{took:?}");
}

/// Hundreds of partitions, dozens of hand-overs under way to and from the node that dies, and it coordinates.
#[tokio::test(start_paused = true)]
async fn many_partitions_on_the_move_are_taken_over_within_15_s() {
    const MANY: u16 = 400;
    let server = server();
    let first = machine_of(&server, "a", 100, MANY).await;
    let second = machine_of(&server, "b", 100, MANY).await;
    until("two share", || owned(&first) + owned(&second) == usize::from(MANY)).await;
    let mut others = vec![second];
    for name in ["c", "d"] {
        others.push(machine_of(&server, name, 100, MANY).await);
    }
    until("the new ones have begun", || others.iter().skip(1).map(owned).sum::<usize>() > 8).await;
    assert_eq!(server.get("leader").unwrap().value, first.handle.node().to_string());
    let moving = first.handle.table().slots.iter().filter(|slot| slot.from.is_some()).count();
    assert!(moving > 0 && owned(&first) > 50, "{moving} moves under way");
    first.handle.kill();
    let table = || others[0].handle.table();
    let its = |slot: &lycosa_cluster::plan::Slot| slot.owner.as_ref() == Some(first.handle.node());
    let took = until("the dead node's partitions are taken over", || {
        let held = others.iter().map(owned).sum::<usize>();
        // Hand-overs between the living go on; none of them waits for the dead one.
        held + 8 >= usize::from(MANY) && !table().slots.iter().any(its)
    })
    .await;
    assert!(took <= Duration::from_secs(15), "{took:?}");
    until("everything has an owner", || others.iter().map(owned).sum::<usize>() == usize::from(MANY)).await;
}

#[tokio::test(start_paused = true)]
async fn a_join_takes_its_share_and_a_leave_gives_it_back() {
    let server = server();
    let a = machine(&server, "a", 100).await;
    let b = machine(&server, "b", 100).await;
    until("two share", || owned(&a) == 8 && owned(&b) == 8).await;
    let c = machine(&server, "c", 100).await;
    until("three share", || owned(&a) + owned(&b) + owned(&c) == 16 && owned(&c) == 5).await;
    c.handle.leave().await;
    assert!(c.handle.is_stopped());
    until("two share again", || owned(&a) == 8 && owned(&b) == 8).await;
}

#[tokio::test(start_paused = true)]
async fn a_zombie_may_not_fetch_and_what_it_writes_is_refused() {
    let server = server();
    let a = machine(&server, "a", 100).await;
    let b = machine(&server, "b", 100).await;
    until("two share", || owned(&a) == 8 && owned(&b) == 8).await;
    let mine = (0..PARTITIONS).map(PartitionId).find(|&p| b.handle.owns(p)).unwrap();
    let epoch = b.handle.table().slot(mine).unwrap().epoch;
    assert!(b.handle.may_fetch(mine, epoch));
    b.wire.set_cut(true);
    until("it stops by itself", || !b.handle.may_fetch(mine, epoch)).await;
    // By then nobody else has begun.
    assert!(!a.handle.owns(mine));
    until("the other takes over", || owned(&a) == 16).await;
    b.wire.set_cut(false);
    let changes = PartitionChanges { epoch, changes: vec![Change::put("k", "v")], consumed: None };
    assert!(b.handle.append(mine, changes).await.is_err());
    assert!(!b.handle.may_fetch(mine, epoch));
    until("it is a member again", || owned(&b) == 8).await;
    assert!((0..PARTITIONS).all(|p| b.state.get(PartitionId(p), b"k").is_none()));
}
