//! Faults in random order from a seed, and what must be true afterwards.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa_cluster::bus::Bus;
use lycosa_cluster::bus::memory::{Chances, Dice, Link as Wire, MemoryBus, MemoryServer};
use lycosa_cluster::membership::Timing;
use lycosa_cluster::name::NodeId;
use lycosa_cluster::node::{NodeHandle, join};
use lycosa_cluster::owner::{MemoryState, Owner};
use lycosa_cluster::wire::{Batch, BatchHeader, Link};
use lycosa_types::PartitionId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::toy::{Toy, settings};
use super::web::url;
use super::{Chronicle, Shared, Web, check_history, trace};

const PARTITIONS: u16 = 12;
const SEEDS: [u32; 3] = [0, 11, 200];

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    pub wrongs: Vec<String>,
    pub faults: u32,
    pub pages: usize,
    pub repeated: u32,
    /// Nodes that were asked to leave, and those that were let go.
    pub leaves: (u32, u32),
    pub seconds: f64,
}

struct Node {
    name: String,
    wire: Arc<Wire>,
    disk: Arc<MemoryState>,
    task: JoinHandle<bool>,
    handle: Option<NodeHandle>,
    handles: mpsc::UnboundedReceiver<NodeHandle>,
}

struct World {
    server: Arc<MemoryServer>,
    web: Arc<Web>,
    chronicle: Shared,
    nodes: Vec<Node>,
    lives: u64,
    leaves: (u32, u32),
    dice: Dice,
}

impl World {
    fn spawn(&mut self, name: &str, disk: Arc<MemoryState>, capacity: u32) -> Node {
        self.lives += 1;
        let id = NodeId::new(name, self.lives).unwrap();
        let wire = Arc::new(Wire::default());
        let bus = MemoryBus::new(self.server.clone(), wire.clone());
        let toy = Toy::new(&self.web, &self.chronicle, &disk, self.dice.word());
        let (sender, handles) = mpsc::unbounded_channel();
        let task = tokio::spawn(toy.run(bus, id, capacity, Timing::default(), sender));
        Node { name: name.to_owned(), wire, disk, task, handle: None, handles }
    }

    fn handle(node: &mut Node) -> Option<NodeHandle> {
        if let Ok(handle) = node.handles.try_recv() {
            node.handle = Some(handle);
        }
        node.handle.clone()
    }

    /// One fault, and its repair some time later.
    async fn fault(&mut self) {
        let victim = self.dice.below(self.nodes.len() as u64) as usize;
        let long = Duration::from_millis(500 + self.dice.below(14_000));
        let kind = self.dice.below(12);
        trace(None, || format!("fault {kind} on {} for {long:?}", self.nodes[victim].name));
        match kind {
            // Killed; another life later, with its disk or without.
            0..=2 => {
                self.nodes[victim].task.abort();
                sleep(long).await;
                self.revive(victim);
            }
            // Stopped and continued.
            3 | 4 => {
                let wire = self.nodes[victim].wire.clone();
                wire.set_paused(true);
                tokio::spawn(async move {
                    sleep(long).await;
                    wire.set_paused(false);
                });
            }
            5 | 6 => {
                let wire = self.nodes[victim].wire.clone();
                wire.set_cut(true);
                tokio::spawn(async move {
                    sleep(long).await;
                    wire.set_cut(false);
                });
            }
            7 => {
                self.server.set_up(false);
                sleep(long / 2).await;
                self.server.set_up(true);
            }
            8 => {
                let chances = Chances { lost_answers: 200, refused_publishes: 100, ..calm() };
                self.server.set_chances(chances);
                sleep(long / 2).await;
                self.server.set_chances(calm());
            }
            9 if self.nodes.len() < 7 => {
                let name = format!("late{}", self.lives);
                let node = self.spawn(&name, Arc::default(), 100);
                self.nodes.push(node);
            }
            // Leaves in good order, comes back under the same name.
            10 | 11 => {
                if let Some(handle) = Self::handle(&mut self.nodes[victim]) {
                    self.leaves.0 += 1;
                    // It may be cut off just now; that it is always so would be a fault.
                    self.leaves.1 +=
                        u32::from(timeout(Duration::from_secs(40), handle.leave()).await.is_ok());
                    self.nodes[victim].task.abort();
                    self.revive(victim);
                }
            }
            // All at once.
            _ => {
                self.nodes.iter().for_each(|node| node.task.abort());
                sleep(long).await;
                (0..self.nodes.len()).for_each(|i| self.revive(i));
            }
        }
    }

    fn revive(&mut self, index: usize) {
        let name = self.nodes[index].name.clone();
        let kept = self.dice.below(2) == 0;
        let disk = if kept { self.nodes[index].disk.clone() } else { Arc::default() };
        let capacity = if name == "coordinator" { 0 } else { 100 };
        let next = self.spawn(&name, disk, capacity);
        let before = std::mem::replace(&mut self.nodes[index], next);
        // How the life before ended: killed or over, but not by a panic.
        let chronicle = self.chronicle.clone();
        tokio::spawn(async move {
            if let Err(error) = before.task.await
                && error.is_panic()
            {
                chronicle.lock().unwrap().wrongs.push(format!("{} panicked", before.name));
            }
        });
    }
}

fn calm() -> Chances {
    Chances { repeats: 30, lost_answers: 5, longest_way: Duration::from_millis(15), ..Chances::default() }
}

/// Puts seeds on the bus, as anyone may.
pub async fn submit<B: Bus>(bus: &B, web: &Web, pages: &[u32]) {
    let crawl = join(bus, &settings(web)).await.unwrap().print();
    for &page in pages {
        let partition = web.partition(page);
        let mut batch = Batch::default();
        batch.links.push(&Link::new(&url(page), 0));
        let header = BatchHeader { crawl, partition: partition.0, sender: 1, number: u64::from(page) };
        let body = bytes::Bytes::from(batch.encode(&header).unwrap());
        while bus.publish(partition, &format!("seed-{page}"), body.clone()).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A crawl of `pages` pages under `faults` faults, all drawn from the seed.
pub async fn run(seed: u64, pages: u32, faults: u32) -> Outcome {
    let began = tokio::time::Instant::now();
    let server = Arc::new(MemoryServer::new(seed, calm()).with_history());
    let web = Arc::new(Web::new(seed, pages, PARTITIONS));
    let chronicle: Shared = Arc::new(Mutex::new(Chronicle::default()));
    let mut world = World {
        server: server.clone(),
        web: web.clone(),
        chronicle: chronicle.clone(),
        nodes: Vec::new(),
        lives: 0,
        leaves: (0, 0),
        dice: Dice(seed ^ 0xFA17),
    };
    for name in ["coordinator", "a", "b", "c"] {
        let capacity = if name == "coordinator" { 0 } else { 100 };
        let node = world.spawn(name, Arc::default(), capacity);
        world.nodes.push(node);
    }
    let calm_bus = MemoryBus::new(server.clone(), Arc::new(Wire::default()));
    submit(&calm_bus, &web, &SEEDS).await;
    for _ in 0..faults {
        let pause = Duration::from_millis(world.dice.below(4_000));
        sleep(pause).await;
        world.fault().await;
    }
    // Everything is mended, and the crawl must come to its end.
    server.set_up(true);
    server.set_chances(calm());
    let mut wrongs = Vec::new();
    for i in 0..world.nodes.len() {
        world.nodes[i].wire.set_paused(false);
        world.nodes[i].wire.set_cut(false);
        if world.nodes[i].task.is_finished() && !server_finished(&server) {
            world.revive(i);
        }
    }
    let waited = timeout(Duration::from_secs(900), async {
        while !server_finished(&server) {
            sleep(Duration::from_millis(500)).await;
        }
    });
    if waited.await.is_err() {
        wrongs.push("the crawl does not end".to_owned());
        for node in &mut world.nodes {
            if let Some(handle) = World::handle(node) {
                let beat = handle.beat();
                let held: Vec<_> =
                    beat.held.iter().map(|h| (h.partition.0, h.passive, h.lag, h.consumed)).collect();
                wrongs.push(format!(
                    "{} may_fetch {} wave {} {held:?}",
                    node.name,
                    handle.is_in_touch(),
                    beat.wave
                ));
            }
        }
    }
    for node in &mut world.nodes {
        match timeout(Duration::from_secs(60), &mut node.task).await {
            Err(_) => wrongs.push(format!("{} does not stop", node.name)),
            Ok(Err(error)) if error.is_panic() => wrongs.push(format!("{} panicked", node.name)),
            Ok(_) => {}
        }
    }
    // What is there, read as a new owner would.
    let expected = web.reachable(&SEEDS);
    let mut done = BTreeSet::new();
    let reader = NodeId::new("reader", u64::MAX).unwrap();
    for partition in (0..PARTITIONS).map(PartitionId) {
        let state = MemoryState::default();
        let mut owner = Owner::open(&calm_bus, partition, u64::MAX, &reader, false).await.unwrap();
        owner.load(&state).await.unwrap();
        for (key, value) in state.pairs(partition) {
            let page = u32::from_be_bytes(key[..].try_into().unwrap());
            if &value[..] == b"d" {
                done.insert(page);
            } else {
                wrongs.push(format!("page {page} still waits"));
            }
        }
    }
    if done != expected {
        let missing: Vec<&u32> = expected.difference(&done).take(10).collect();
        wrongs.push(format!("{} pages of {} are done, missing {missing:?}", done.len(), expected.len()));
    }
    wrongs.extend(check_history(&server.history()));
    let chronicle = chronicle.lock().unwrap();
    wrongs.extend(chronicle.wrongs.iter().take(10).cloned());
    if let Some(page) = expected.iter().find(|page| !chronicle.fetched.contains_key(page)) {
        wrongs.push(format!("page {page} was never fetched"));
    }
    // Only what was in flight when something broke is fetched again.
    if chronicle.repeated > chronicle.abandoned {
        wrongs.push(format!("{} repeated, {} abandoned", chronicle.repeated, chronicle.abandoned));
    }
    Outcome {
        wrongs,
        faults,
        pages: expected.len(),
        repeated: chronicle.repeated,
        leaves: world.leaves,
        seconds: began.elapsed().as_secs_f64(),
    }
}

fn server_finished(server: &MemoryServer) -> bool {
    server.get("crawl.finished").is_some()
}
