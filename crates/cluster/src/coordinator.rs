//! The coordinator: while this node holds the leader's key, it turns beats into a table, sees hand-overs through, and
//! notices the end. It never fetches.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::time::{Instant, timeout};

use crate::bus::{Bus, BusError, Keys, Lane, Watcher};
use crate::leader::Leader;
use crate::membership::{Beat, MEMBER_KEYS, OwnBeats, Timing, Tracker, member_key};
use crate::name::NodeId;
use crate::plan::{Allocation, Member, PlanInput, RegionId, Slot, Table, TableError, plan};
use crate::termination::{Detector, PartitionReport, Verdict};

pub const TABLE_KEY: &str = "crawl.table";
pub const WAVE_KEY: &str = "crawl.wave";
pub const FINISHED_KEY: &str = "crawl.finished";

/// How long the bus may take to begin a watch.
const WATCH_PATIENCE: Duration = Duration::from_secs(3);
/// Partitions handed over at a time.
const MOVES_AT_ONCE: usize = 8;

/// What the coordinator needs to know about the crawl.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    pub node: NodeId,
    pub partitions: u16,
    pub allocation: Allocation,
    /// The region each partition was set aside for; may be empty.
    pub regions: Vec<Option<RegionId>>,
    pub timing: Timing,
    /// Whether measured work decides, not only the number of partitions.
    pub load_aware: bool,
    /// Whether the crawl ends when nothing is left to do.
    pub ends: bool,
    /// Nodes of other roles step in a little later than a coordinator does.
    pub standby: bool,
}

pub struct Coordinator<B: Bus> {
    bus: B,
    config: CoordinatorConfig,
    leader: Leader,
    tracker: Tracker,
    watcher: Option<B::Watcher>,
    own_beats: OwnBeats,
    /// Everything that was put before this has been heard: it is when our own beat was put that came back last. A clock
    /// that stands still while the watch is silent, so that nobody is dead on account of that.
    heard_until: Instant,
    /// Since when this node leads.
    leading_since: Option<Instant>,
    table: Option<(Table, u64)>,
    /// Since when, and since which table, a slot waits for its former owner.
    waiting: BTreeMap<(PartitionId, u64), (Instant, u64)>,
    /// With the revision of the wave's key: waves of two coordinators never mix.
    detector: Option<(Detector, u64)>,
    finished: bool,
}

impl<B: Bus> Coordinator<B> {
    pub fn new(bus: B, config: CoordinatorConfig, own_beats: OwnBeats) -> Self {
        let extra = if config.standby { config.timing.beat * 2 } else { Duration::ZERO };
        Self {
            leader: Leader::new(config.node.clone(), config.timing.leader_after + extra),
            tracker: Tracker::new(config.timing.dead_after),
            bus,
            config,
            watcher: None,
            own_beats,
            heard_until: Instant::now(),
            leading_since: None,
            table: None,
            waiting: BTreeMap::new(),
            detector: None,
            finished: false,
        }
    }

    /// Follows beats, and coordinates whenever this node leads. Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            self.follow(Instant::now() + self.config.timing.beat / 2).await;
            let now = Instant::now();
            let led = self.leading_since.is_some();
            if self.tracker.is_superseded(&self.config.node) {
                // A later life of this node coordinates from now on, if any does.
                self.leader.resign(&self.bus).await;
                self.leading_since = None;
                continue;
            }
            match self.leader.tick(&self.bus).await {
                Ok(true) if !led => {
                    tracing::info!(node = %self.config.node, "this node coordinates");
                    self.leading_since = Some(now);
                    self.table = None;
                    self.detector = None;
                }
                Ok(true) => {}
                Ok(false) => self.leading_since = None,
                Err(_) if self.leader.is_leading(now) => {}
                Err(_) => self.leading_since = None,
            }
            if self.leading_since.is_some()
                && let Err(error) = self.coordinate().await
            {
                tracing::debug!(%error, "the coordinator tries again");
                self.table = None;
                self.detector = None;
            }
        }
    }

    /// Takes in beats until `until`.
    async fn follow(&mut self, until: Instant) {
        // Beats of many nodes may come without a gap: whatever is there at the end is still heard, and then time has passed.
        let latest = until + self.config.timing.beat;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let watcher = match &mut self.watcher {
                Some(watcher) => watcher,
                None => match timeout(WATCH_PATIENCE, self.bus.watch(Keys::Under(MEMBER_KEYS))).await {
                    Ok(Ok(watcher)) => {
                        // Silence while we were not listening is no sign of death.
                        self.tracker.forgive(Instant::now());
                        self.watcher.insert(watcher)
                    }
                    Ok(Err(_)) | Err(_) => {
                        tokio::time::sleep_until(until).await;
                        return;
                    }
                },
            };
            match timeout(left, watcher.next()).await {
                Ok(Ok(update)) => {
                    self.tracker.observe(&update.key, update.value.as_deref(), Instant::now());
                    let number = self.tracker.number_of(&self.config.node);
                    if let Some(at) = number.and_then(|number| self.own_beats.put_at(number)) {
                        self.heard_until = self.heard_until.max(at);
                    }
                    if Instant::now() > latest {
                        return;
                    }
                }
                Ok(Err(_)) => self.watcher = None,
                Err(_) => {
                    // A watch that does not bring our own beats is deaf: another one may not be.
                    if Instant::now().duration_since(self.heard_until) > self.config.timing.dead_after {
                        self.watcher = None;
                    }
                    return;
                }
            }
        }
    }

    async fn coordinate(&mut self) -> Result<(), BusError> {
        let now = Instant::now();
        let heard = self.heard_until;
        // A watch that does not even bring our own beats tells nothing about others.
        let is_deaf = now.duration_since(heard) > self.config.timing.dead_after;
        if self.watcher.is_none() || is_deaf || !self.tracker.alive(heard).any(|b| b.node == self.config.node)
        {
            return Ok(());
        }
        if self.table.is_none() {
            self.read_table().await?;
        }
        for node in self.tracker.forgotten(heard) {
            self.bus.delete(&member_key(&node)).await?;
        }
        let Some((table, revision)) = &self.table else {
            return Ok(());
        };
        let since = self.leading_since.unwrap_or(now);
        let gathering = table.version == 0 && now.duration_since(since) < self.config.timing.gather;
        let beats: Vec<&Beat> = self.tracker.alive(heard).collect();
        let members: Vec<Member> = beats.iter().map(|beat| Member::from(*beat)).collect();
        if gathering || beats.iter().all(|beat| beat.capacity == 0) {
            return Ok(());
        }
        let alive = |node: &NodeId| beats.iter().any(|beat| beat.node == *node);
        let weights =
            if self.config.load_aware { weights(&beats, self.config.partitions) } else { Vec::new() };
        let mut settled = table.clone();
        for partition in self.overdue(table, now, &beats) {
            if let Some(slot) = settled.slots.get_mut(usize::from(partition.0)) {
                slot.from = None;
            }
        }
        open_in_later_terms(&mut settled, &beats);
        let moving = settled.slots.iter().filter(|slot| slot.from.is_some()).count();
        let mut owners = plan(&PlanInput {
            members: &members,
            weights: &weights,
            regions: &self.config.regions,
            current: &settled,
            allocation: self.config.allocation,
            max_moves: MOVES_AT_ONCE.saturating_sub(moving),
        });
        // A hand-over is seen through before the next one begins, unless the receiver dies.
        for (slot, owner) in settled.slots.iter().zip(&mut owners) {
            if slot.from.is_some() && slot.owner.as_ref().is_some_and(alive) {
                owner.clone_from(&slot.owner);
            }
        }
        let mut next = settled.advance(&owners, alive).unwrap_or(settled);
        if next.slots != table.slots {
            next.version = table.version + 1;
            let body = next.encode().map_err(|error| BusError::Refused(error.to_string()))?;
            let written = match *revision {
                0 => self.bus.create(TABLE_KEY, body.into()).await?,
                revision => self.bus.update(TABLE_KEY, body.into(), revision).await?,
            };
            tracing::info!(version = next.version, members = members.len(), "a new table");
            self.waiting.retain(|(partition, epoch), _| {
                next.slot(*partition).is_some_and(|s| s.epoch == *epoch && s.from.is_some())
            });
            for (partition, slot) in next.iter().filter(|(_, slot)| slot.from.is_some()) {
                self.waiting.entry((partition, slot.epoch)).or_insert((now, next.version));
            }
            self.table = Some((next, written));
            self.detector = None;
            return Ok(());
        }
        self.look_for_the_end(heard).await
    }

    async fn read_table(&mut self) -> Result<(), BusError> {
        let found = self.bus.get(TABLE_KEY).await?;
        self.table = Some(match found {
            // None yet, or it was deleted.
            None => (self.table_from_beats(), 0),
            Some(found) => match Table::decode(&found.value, self.config.partitions) {
                Ok(table) => (table, found.revision),
                // A later version of this program may read it: only what no version wrote is replaced.
                Err(error @ (TableError::Newer | TableError::Size { .. })) => {
                    return Err(BusError::Refused(error.to_string()));
                }
                Err(TableError::Malformed) => {
                    tracing::error!(
                        bytes = found.value.len(),
                        "the partition table cannot be read; it is made anew from what the nodes hold"
                    );
                    (self.table_from_beats(), found.revision)
                }
            },
        });
        let now = Instant::now();
        if let Some((table, _)) = &self.table {
            for (partition, slot) in table.iter().filter(|(_, slot)| slot.from.is_some()) {
                self.waiting.entry((partition, slot.epoch)).or_insert((now, table.version));
            }
        }
        Ok(())
    }

    /// The table as the heartbeats of the living tell it. What nobody holds is given out; where its log has gone on in a later
    /// term, its new owner says so and the term is raised.
    fn table_from_beats(&self) -> Table {
        let mut table = Table::new(self.config.partitions);
        for beat in self.tracker.alive(self.heard_until) {
            table.version = table.version.max(beat.table);
            for held in &beat.held {
                if let Some(slot) = table.slots.get_mut(usize::from(held.partition.0))
                    && held.epoch > slot.epoch
                {
                    *slot = Slot { owner: Some(beat.node.clone()), epoch: held.epoch, from: None };
                }
            }
        }
        table
    }

    /// Hand-overs that are done, that the giver knows nothing of, or that take too long: nobody is waited for any longer.
    fn overdue(&self, table: &Table, now: Instant, beats: &[&Beat]) -> Vec<PartitionId> {
        let beat_of = |node: &NodeId| beats.iter().find(|beat| beat.node == *node);
        let is_over = |partition: PartitionId, slot: &Slot, from: &NodeId| {
            let waiting = self.waiting.get(&(partition, slot.epoch));
            let (since, version) = waiting.copied().unwrap_or((now, u64::MAX));
            // The giver knows that it is not to have the partition, and has not.
            let let_go = beat_of(from).is_some_and(|b| b.table >= version && !b.holds(partition));
            let taken = slot.owner.as_ref().and_then(beat_of).is_some_and(|beat| {
                beat.held.iter().any(|held| held.partition == partition && held.epoch == slot.epoch)
            });
            let_go || taken || now.duration_since(since) >= self.config.timing.hand_over
        };
        table
            .iter()
            .filter(|(partition, slot)| {
                slot.from.as_ref().is_some_and(|from| is_over(*partition, slot, from))
            })
            .map(|(partition, _)| partition)
            .collect()
    }

    /// One step of termination detection.
    async fn look_for_the_end(&mut self, heard: Instant) -> Result<(), BusError> {
        if !self.config.ends || self.finished {
            return Ok(());
        }
        let Some((table, _)) = &self.table else {
            return Ok(());
        };
        let mut reports: Vec<Option<PartitionReport>> = vec![None; usize::from(self.config.partitions)];
        let mut highest = 0;
        for beat in self.tracker.alive(heard) {
            highest = highest.max(beat.wave);
            for held in &beat.held {
                let slot = table.slot(held.partition);
                let is_owner = slot.is_some_and(|slot| {
                    slot.owner.as_ref() == Some(&beat.node) && slot.epoch == held.epoch && slot.from.is_none()
                });
                if is_owner && let Some(report) = reports.get_mut(usize::from(held.partition.0)) {
                    *report = Some(held.report(beat.wave));
                }
            }
        }
        // A crawl that nobody has given a seed yet is not over: it has not begun.
        if !reports.iter().flatten().any(|report| report.consumed > 0 || report.activity > 0) {
            return Ok(());
        }
        if self.detector.is_none() {
            // A wave that nobody can have heard of: above what any coordinator before us made known.
            let found = self.bus.get(WAVE_KEY).await?;
            let known = found.as_ref().and_then(|found| read_wave(&found.value)).unwrap_or(0);
            let detector = Detector::new(known.max(highest) + 1);
            let wave = wave_value(detector.wave());
            let revision = match found {
                None => self.bus.create(WAVE_KEY, wave).await?,
                Some(found) => self.bus.update(WAVE_KEY, wave, found.revision).await?,
            };
            self.detector = Some((detector, revision));
        }
        let Some((detector, revision)) = &mut self.detector else {
            return Ok(());
        };
        let mut last_sent = Vec::new();
        if detector.is_quiet(&reports) {
            for partition in 0..self.config.partitions {
                let last = self.bus.last(PartitionId(partition), Lane::In).await?;
                last_sent.push(last.map_or(0, |message| message.sequence));
            }
        }
        let before = detector.wave();
        let verdict = detector.judge(&reports, &last_sent);
        if detector.wave() != before {
            match self.bus.update(WAVE_KEY, wave_value(detector.wave()), *revision).await {
                Ok(next) => *revision = next,
                Err(error) => {
                    self.detector = None;
                    return Err(error);
                }
            }
        }
        if verdict == Verdict::Finished {
            self.bus.put(FINISHED_KEY, Bytes::from_static(b"finished")).await?;
            self.finished = true;
            tracing::info!("every queue is empty and nothing is on its way: the crawl is over");
        }
        Ok(())
    }
}

/// A node cannot open a partition whose log has gone on in a later term than the table's, as after the table was lost. It
/// tells that term; the partition is then given out in the one after it.
fn open_in_later_terms(table: &mut Table, beats: &[&Beat]) {
    for beat in beats {
        for held in &beat.held {
            if let Some(slot) = table.slots.get_mut(usize::from(held.partition.0))
                && slot.owner.as_ref() == Some(&beat.node)
                && held.epoch > slot.epoch
            {
                tracing::warn!(partition = %held.partition, term = held.epoch + 1, "the log is ahead of the table; the partition is given out in a later term");
                slot.epoch = held.epoch + 1;
                slot.from = None;
            }
        }
    }
}

fn wave_value(wave: u64) -> Bytes {
    wave.to_be_bytes().to_vec().into()
}

/// A wave's number from its key.
pub fn read_wave(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}

/// Work per partition, as its owners measured it.
fn weights(beats: &[&Beat], partitions: u16) -> Vec<u64> {
    let held: BTreeMap<PartitionId, u64> =
        beats.iter().flat_map(|beat| &beat.held).map(|held| (held.partition, held.weight)).collect();
    if held.values().all(|&weight| weight == 0) {
        return Vec::new();
    }
    let mean = held.values().sum::<u64>() / held.len().max(1) as u64;
    (0..partitions).map(|p| held.get(&PartitionId(p)).copied().unwrap_or(mean)).collect()
}

#[cfg(test)]
mod tests;
