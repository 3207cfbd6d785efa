//! A node: joins a crawl, keeps the partitions that the table gives it, and tells the crawl what happens.
//!
//! | module | noun |
//! | --- | --- |
//! | [`event`] | what the crawl is told, and how a node is set up |
//! | [`handle`] | what the crawl calls |
//! | [`life`] | which process bears a node's name |
//! | `keeper` | one open partition |
//! | `shared` | what the tasks share |
//!
//! ```text
//! table ─→ manager ─→ keeper per partition ─→ events ─→ the crawl
//!                       ↑ append, release  ←─ handle ←─┘
//! beats ─→ bus ─→ coordinator (on one node) ─→ table
//! ```
//!
//! [`start`] spawns everything on the runtime it is called on. Give the node a runtime of its own: its beats must not wait
//! for pages.

pub mod event;
pub mod handle;
mod keeper;
pub mod life;
mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

pub use event::{CrawlSettings, Event, NodeConfig, NodeError};
pub use handle::{Commit, Committed, NodeHandle, PartitionChanges, PartitionLoad};
use keeper::{Command, Keeper, Standing};
use shared::Shared;

use crate::bus::{Bus, BusError, Keys, Watcher};
use crate::coordinator::{Coordinator, CoordinatorConfig, FINISHED_KEY, TABLE_KEY, WAVE_KEY, read_wave};
use crate::membership::member_key;
use crate::owner::{Backoff, PartitionState};
use crate::plan::Table;

pub const SETTINGS_KEY: &str = "crawl.settings";
/// The word that all keys begin with that nodes follow.
const CRAWL_KEYS: &str = "crawl";
/// Events that may wait for the crawl.
const EVENTS: usize = 1024;
/// The table is looked up now and then even if the watch is silent.
const TABLE_AGAIN: Duration = Duration::from_secs(3);
/// Heartbeats between two looks whether a later life has taken this node's name.
const LOOK_AT_LIFE_EVERY: u64 = 5;
/// Beats that must reach the bus before a node that was out of touch may fetch again.
const BEATS_AFTER_SILENCE: u32 = 2;

/// Makes the crawl on the bus if it is not there, or checks that it is the same one. Returns the settings in force.
pub async fn join<B: Bus>(bus: &B, settings: &CrawlSettings) -> Result<CrawlSettings, NodeError> {
    let mut backoff = Backoff::default();
    loop {
        match try_join(bus, settings).await {
            Err(NodeError::Bus(error @ (BusError::Conflict(_) | BusError::Unavailable(_)))) => {
                tracing::debug!(%error, "joining is tried again");
                backoff.pause().await;
            }
            other => return other,
        }
    }
}

async fn try_join<B: Bus>(bus: &B, settings: &CrawlSettings) -> Result<CrawlSettings, NodeError> {
    if let Some(found) = read_settings(bus).await? {
        if !found.agrees(settings) {
            return Err(NodeError::Settings { found: format!("{found:?}") });
        }
        return Ok(found);
    }
    bus.prepare(settings.partitioner.partitions).await?;
    let body = serde_json::to_vec(settings).map_err(|e| BusError::Refused(e.to_string()))?;
    bus.create(SETTINGS_KEY, Bytes::from(body)).await?;
    Ok(settings.clone())
}

/// The settings of the crawl, if it was made.
pub async fn read_settings<B: Bus>(bus: &B) -> Result<Option<CrawlSettings>, NodeError> {
    let Some(found) = bus.get(SETTINGS_KEY).await? else {
        return Ok(None);
    };
    let settings = serde_json::from_slice(&found.value);
    settings.map(Some).map_err(|error| NodeError::Settings { found: error.to_string() })
}

/// Lets a crawl that was over go on, with new seeds or on new nodes.
pub async fn reopen<B: Bus>(bus: &B) -> Result<(), NodeError> {
    if bus.get(FINISHED_KEY).await?.is_some() {
        bus.delete(FINISHED_KEY).await?;
    }
    Ok(())
}

/// Starts a node. `config.settings` must be what [`join`] returned.
pub fn start<B: Bus, S: PartitionState>(
    bus: B,
    config: NodeConfig,
    state: Arc<S>,
) -> (NodeHandle, mpsc::Receiver<Event>) {
    let shared = Arc::new(Shared::new(config));
    let (events, receiver) = mpsc::channel(EVENTS);
    let (stopped_sender, stopped) = watch::channel(false);
    let node = Manager { bus, shared: shared.clone(), state, events };
    let task = tokio::spawn(async move {
        node.run().await;
        let _ = stopped_sender.send(true);
    });
    (NodeHandle { shared, task: task.abort_handle(), stopped }, receiver)
}

/// Starts and ends keepers as the table says.
struct Manager<B, S> {
    bus: B,
    shared: Arc<Shared>,
    state: Arc<S>,
    events: mpsc::Sender<Event>,
}

impl<B: Bus, S: PartitionState> Manager<B, S> {
    async fn run(self) {
        // Dropped with this future: a node that is killed leaves nothing running.
        let mut services = JoinSet::new();
        self.spawn_services(&mut services);
        let mut table = self.shared.table.subscribe();
        let mut keepers: JoinSet<PartitionId> = JoinSet::new();
        let mut standings: BTreeMap<PartitionId, (u64, watch::Sender<Standing>)> = BTreeMap::new();
        let mut told = false;
        let mut ticks = tokio::time::interval(self.shared.config.timing.beat);
        loop {
            let current = table.borrow_and_update().clone();
            self.reconcile(&current, &mut keepers, &mut standings);
            self.shared.acted_on.store(current.version, Ordering::SeqCst);
            if self.shared.finished.load(Ordering::SeqCst) && !told {
                told = true;
                let _ = self.events.send(Event::Finished).await;
            }
            if self.shared.superseded.load(Ordering::SeqCst) {
                tracing::error!(
                    node = %self.shared.config.node,
                    "another process has taken this node's name; start one of the two with another name (--node)"
                );
                let _ = self.events.send(Event::Superseded).await;
                return;
            }
            if self.shared.leaving.load(Ordering::SeqCst) {
                let node = &self.shared.config.node;
                let owns = current.slots.iter().any(|slot| slot.owner.as_ref() == Some(node));
                let finished = self.shared.finished.load(Ordering::SeqCst);
                if standings.is_empty() && (!owns || finished) {
                    break;
                }
                if finished {
                    // Nobody needs them any more: they are closed, not handed over.
                    standings.values().for_each(|(_, standing)| {
                        standing.send_replace(Standing::Gone);
                    });
                }
            }
            tokio::select! {
                biased;
                changed = table.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
                Some(ended) = keepers.join_next() => {
                    if let Ok(partition) = ended {
                        standings.remove(&partition);
                        self.shared.kept().remove(&partition);
                    }
                }
                _ = ticks.tick() => {}
            }
        }
        self.shared.outbox.flush().await;
        drop(services);
        let _ = self.bus.delete(&member_key(&self.shared.config.node)).await;
        life::end(&self.bus, &self.shared.config.node).await;
    }

    fn spawn_services(&self, services: &mut JoinSet<()>) {
        let (bus, shared) = (self.bus.clone(), self.shared.clone());
        services.spawn(async move { beat(&bus, &shared).await });
        let (bus, shared) = (self.bus.clone(), self.shared.clone());
        services.spawn(async move { follow(&bus, &shared).await });
        let shared = self.shared.clone();
        services.spawn(async move { shared.outbox.run_clock().await });
        for _ in 0..self.shared.config.publishers.max(1) {
            let (bus, shared) = (self.bus.clone(), self.shared.clone());
            services.spawn(async move { shared.outbox.run_publisher(&bus).await });
        }
        let config = &self.shared.config;
        if config.candidate {
            let coordinator = CoordinatorConfig {
                node: config.node.clone(),
                partitions: config.settings.partitioner.partitions,
                allocation: config.settings.allocation,
                regions: config.settings.partitioner.regions_of_partitions(),
                timing: config.timing,
                load_aware: config.load_aware,
                ends: config.ends,
                standby: config.capacity > 0,
            };
            services
                .spawn(Coordinator::new(self.bus.clone(), coordinator, self.shared.own_beats.clone()).run());
        }
    }

    fn reconcile(
        &self,
        table: &Table,
        keepers: &mut JoinSet<PartitionId>,
        standings: &mut BTreeMap<PartitionId, (u64, watch::Sender<Standing>)>,
    ) {
        let node = &self.shared.config.node;
        for (partition, slot) in table.iter() {
            let ours = slot.owner.as_ref() == Some(node);
            if !ours {
                self.shared.ahead().remove(&partition);
            }
            let standing = Standing::Ours { wait: slot.from.is_some() };
            match standings.get(&partition) {
                Some((epoch, sender)) => {
                    let next = if ours && *epoch == slot.epoch {
                        standing
                    } else if slot.from.as_ref() == Some(node) && *epoch < slot.epoch {
                        Standing::Leaving
                    } else {
                        Standing::Gone
                    };
                    sender.send_if_modified(|s| std::mem::replace(s, next) != next);
                }
                None if ours && !self.shared.finished.load(Ordering::SeqCst) => {
                    let (sender, receiver) = watch::channel(standing);
                    standings.insert(partition, (slot.epoch, sender));
                    self.shared.kept().insert(partition);
                    let keeper = Keeper {
                        bus: self.bus.clone(),
                        state: self.state.clone(),
                        shared: self.shared.clone(),
                        partition,
                        epoch: slot.epoch,
                        standing: receiver,
                        events: self.events.clone(),
                    };
                    keepers.spawn(async move {
                        keeper.run().await;
                        partition
                    });
                }
                None => {}
            }
        }
    }
}

/// Puts a beat once in a while, and renews the right to fetch with each.
async fn beat<B: Bus>(bus: &B, shared: &Shared) {
    let timing = shared.config.timing;
    let key = member_key(&shared.config.node);
    let mut ticks = tokio::time::interval(timing.beat);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut in_a_row = 0;
    for number in 1.. {
        ticks.tick().await;
        if number % LOOK_AT_LIFE_EVERY == 0 && life::is_over(bus, &shared.config.node).await {
            // The manager sees it at its next tick; until then nothing more is fetched.
            shared.superseded.store(true, Ordering::SeqCst);
            shared.end_lease();
            return;
        }
        let at = Instant::now();
        shared.own_beats.put(number, at);
        let body = Bytes::from(shared.beat(number).encode());
        if !matches!(timeout(timing.lease(), bus.put(&key, body)).await, Ok(Ok(_))) {
            in_a_row = 0;
            continue;
        }
        in_a_row += 1;
        if shared.lease_is_good() {
            shared.renew_lease(at);
        } else if in_a_row >= BEATS_AFTER_SILENCE {
            // Out of touch for longer than a lease: whatever is held may be somebody else's by now. The coordinator has
            // had time to hear of us again; what passes the fence after that is still ours.
            if timeout(timing.lease(), prove_all(shared)).await.is_ok() {
                shared.renew_lease(at);
            }
        }
    }
}

/// Asks every keeper to pass the fence; those that cannot lose their partition.
async fn prove_all(shared: &Shared) {
    let keepers: Vec<_> = shared.held().values().map(|held| held.commands.clone()).collect();
    for keeper in keepers {
        let (reply, answer) = oneshot::channel();
        if keeper.send(Command::Prove { reply }).await.is_ok() {
            let _ = answer.await;
        }
    }
}

/// Follows the table, the wave and the end.
async fn follow<B: Bus>(bus: &B, shared: &Shared) {
    let mut backoff = Backoff::default();
    loop {
        let Ok(mut watcher) = bus.watch(Keys::Under(CRAWL_KEYS)).await else {
            backoff.pause().await;
            continue;
        };
        backoff = Backoff::default();
        loop {
            match timeout(TABLE_AGAIN, watcher.next()).await {
                Ok(Ok(update)) => {
                    if let Some(value) = update.value {
                        take_key(shared, &update.key, &value);
                    }
                }
                Ok(Err(_)) => break,
                // A silent watch may be a dead one.
                Err(_) => {
                    for key in [TABLE_KEY, WAVE_KEY, FINISHED_KEY] {
                        if let Ok(Some(found)) = bus.get(key).await {
                            take_key(shared, key, &found.value);
                        }
                    }
                }
            }
        }
        backoff.pause().await;
    }
}

fn take_key(shared: &Shared, key: &str, value: &[u8]) {
    match key {
        TABLE_KEY => match Table::decode(value, shared.config.settings.partitioner.partitions) {
            Ok(table) => {
                shared.table.send_if_modified(|current| {
                    let newer = table.version > current.version;
                    if newer {
                        *current = Arc::new(table);
                    }
                    newer
                });
            }
            Err(error) => {
                shared.refusals.malformed.fetch_add(1, Ordering::Relaxed);
                tracing::error!(%error, "the table is refused");
            }
        },
        WAVE_KEY => {
            if let Some(wave) = read_wave(value) {
                shared.wave.fetch_max(wave, Ordering::SeqCst);
            }
        }
        FINISHED_KEY => {
            shared.finished.store(true, Ordering::SeqCst);
            shared.table.send_modify(|_| {});
        }
        _ => {}
    }
}
