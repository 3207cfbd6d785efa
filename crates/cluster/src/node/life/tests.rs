//! Names on a bus in memory: two processes at once, one after the other, and clocks that go back.

use std::sync::Arc;

use lycosa_types::{PartitionId, Partitioner};

use super::*;
use crate::bus::memory::{Chances, Link, MemoryBus, MemoryServer};
use crate::node::{CrawlSettings, Event, NodeConfig, NodeHandle, join, start};
use crate::owner::MemoryState;

const PARTITIONS: u16 = 8;

fn bus(server: &Arc<MemoryServer>) -> MemoryBus {
    MemoryBus::new(server.clone(), Arc::new(Link::default()))
}

async fn node(server: &Arc<MemoryServer>, name: &str, clock: u64) -> Result<NodeHandle, NodeError> {
    let bus = bus(server);
    let mut settings = CrawlSettings::new(1);
    settings.partitioner = Partitioner { partitions: PARTITIONS, ..Partitioner::default() };
    let settings = join(&bus, &settings).await?;
    let id = begin(&bus, name, clock, Timing::default()).await?;
    let mut config = NodeConfig::new(id, settings);
    config.ends = false;
    let (handle, mut events) = start(bus, config, Arc::new(MemoryState::default()));
    let crawl = handle.clone();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            match event {
                Event::Leaving { partition, epoch } => {
                    crawl.release(partition, epoch).await;
                }
                Event::Superseded => crawl.kill(),
                _ => {}
            }
        }
    });
    Ok(handle)
}

fn owned(handle: &NodeHandle) -> usize {
    (0..PARTITIONS).filter(|p| handle.owns(PartitionId(*p))).count()
}

async fn owns_all(handle: &NodeHandle) -> bool {
    for _ in 0..60 {
        sleep(Duration::from_secs(1)).await;
        if owned(handle) == usize::from(PARTITIONS) {
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn two_nodes_of_one_name_the_second_is_refused_and_the_crawl_goes_on() {
    for second_clock in [5_000, 1_000, 900] {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let first = node(&server, "box", 1_000).await.unwrap();
        assert!(owns_all(&first).await);
        let refused = node(&server, "box", second_clock).await;
        let Err(error @ NodeError::NameTaken { .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains("--node"), "{error}");
        assert!(owns_all(&first).await, "the first lost its partitions");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_again_takes_over_even_if_its_clock_went_back() {
    for clock in [2_000, 1_000, 3] {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let first = node(&server, "box", 1_000).await.unwrap();
        assert!(owns_all(&first).await);
        first.kill();
        let second = node(&server, "box", clock).await.unwrap();
        assert!(owns_all(&second).await, "after a start at {clock}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_left_is_not_waited_for() {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let first = node(&server, "box", 1_000).await.unwrap();
    let other = node(&server, "other", 1_000).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert!(owned(&first) > 0 && owned(&other) > 0);
    first.leave().await;
    let before = Instant::now();
    node(&server, "box", 7).await.unwrap();
    assert!(before.elapsed() < Timing::default().beat, "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn starts_at_the_same_moment_end_with_one_owner_of_the_name() {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let (a, b) = tokio::join!(node(&server, "box", 1_000), node(&server, "box", 1_000));
    let lives: Vec<&NodeHandle> = [&a, &b].into_iter().filter_map(|node| node.as_ref().ok()).collect();
    assert_eq!(lives.len(), 1, "{a:?} {b:?}");
    assert!(owns_all(lives[0]).await);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_wakes_after_its_name_was_taken_stops() {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let first = node(&server, "box", 1_000).await.unwrap();
    assert!(owns_all(&first).await);
    // Another process takes the name although the first still runs, as after a long stop of its machine.
    let key = life_key("box");
    let found = bus(&server).get(&key).await.unwrap().unwrap();
    let next = Life { incarnation: 1_001, running: true };
    bus(&server).update(&key, next.encode(), found.revision).await.unwrap();
    for _ in 0..30 {
        sleep(Duration::from_secs(1)).await;
        if first.is_stopped() {
            return;
        }
    }
    panic!("it goes on under a name that is no longer its own");
}

#[test]
fn only_whole_lives_are_read() {
    let life = Life { incarnation: 0x0102_0304_0506_0708, running: true };
    assert_eq!(&life.encode()[..], [1, 2, 3, 4, 5, 6, 7, 8, 1]);
    assert_eq!(Life::decode(&life.encode()), Some(life));
    for bad in [&b""[..], b"12345678", b"123456789", b"12345678\x01\x00"] {
        assert_eq!(Life::decode(bad), None);
    }
}
