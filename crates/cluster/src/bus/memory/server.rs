//! Streams, keys and objects behind one lock. What was acknowledged stays, through every restart.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use xxhash_rust::xxh3::xxh3_64;

use super::super::asking::Waiting;
use super::super::{BusError, KeyUpdate, KeyValue, Keys, Lane, Message};
use super::faults::{Chances, Dice};

/// Messages that `in` of a partition takes before it refuses more.
pub const SERVER_LIMIT_IN: usize = 10_000;
/// Ids of messages remembered per partition.
const IDS_KEPT: usize = 100_000;

#[derive(Debug, Default)]
struct Stream {
    last: u64,
    lanes: [BTreeMap<u64, Bytes>; 2],
    ids: HashMap<String, u64>,
    id_order: BTreeSet<(u64, String)>,
}

#[derive(Debug, Default)]
struct Contents {
    streams: BTreeMap<PartitionId, Stream>,
    revision: u64,
    keys: BTreeMap<String, (Option<Bytes>, u64)>,
    objects: BTreeMap<String, (Bytes, u64)>,
    /// Every record ever written to a log, if asked for.
    history: Option<Vec<(PartitionId, Message)>>,
}

#[derive(Debug)]
pub struct MemoryServer {
    contents: Mutex<Contents>,
    chances: Mutex<(Chances, Dice)>,
    limit_in: usize,
    up: AtomicBool,
    generation: AtomicU64,
    changed: Notify,
    /// Who takes questions, by name.
    listeners: Mutex<HashMap<String, Waiting>>,
}

fn lane_index(lane: Lane) -> usize {
    match lane {
        Lane::In => 0,
        Lane::Log => 1,
    }
}

fn missing(partition: PartitionId) -> BusError {
    BusError::Refused(format!("partition {partition} has no stream; call prepare first"))
}

impl MemoryServer {
    pub fn new(seed: u64, chances: Chances) -> Self {
        Self {
            contents: Mutex::default(),
            chances: Mutex::new((chances, Dice(seed))),
            limit_in: SERVER_LIMIT_IN,
            up: AtomicBool::new(true),
            generation: AtomicU64::new(0),
            changed: Notify::new(),
            listeners: Mutex::default(),
        }
    }

    pub(in crate::bus) fn listens(&self, name: String, to: Waiting) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(name, to);
    }

    /// Who listens under a name, unless it has gone.
    pub(in crate::bus) fn listener(&self, name: &str) -> Option<Waiting> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.get(name).filter(|to| !to.is_closed()).cloned()
    }

    /// Keeps every record that is ever written to a log, purged or not, for a look at the end.
    pub fn with_history(self) -> Self {
        self.lock().history = Some(Vec::new());
        self
    }

    pub fn history(&self) -> Vec<(PartitionId, Message)> {
        self.lock().history.clone().unwrap_or_default()
    }

    /// With another limit on waiting messages.
    pub fn with_limit_in(mut self, limit: usize) -> Self {
        self.limit_in = limit;
        self
    }

    /// Takes the server down (every connection breaks), or up again with everything it acknowledged.
    pub fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::SeqCst);
        if !up {
            self.generation.fetch_add(1, Ordering::SeqCst);
        }
        self.changed.notify_waiters();
    }

    pub fn set_chances(&self, chances: Chances) {
        self.dice().0 = chances;
    }

    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::SeqCst)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dice(&self) -> MutexGuard<'_, (Chances, Dice)> {
        self.chances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn delay(&self) -> Duration {
        let mut dice = self.dice();
        let longest = dice.0.longest_way.as_micros() as u64;
        Duration::from_micros(if longest == 0 { 0 } else { dice.1.below(longest) })
    }

    pub(super) fn loses_answer(&self) -> bool {
        let mut dice = self.dice();
        let chance = dice.0.lost_answers;
        dice.1.hits(chance)
    }

    pub(super) fn repeats(&self) -> bool {
        let mut dice = self.dice();
        let chance = dice.0.repeats;
        dice.1.hits(chance)
    }

    pub(super) fn refuses_publish(&self) -> bool {
        let mut dice = self.dice();
        let chance = dice.0.refused_publishes;
        dice.1.hits(chance)
    }

    pub(super) fn prepare(&self, partitions: u16) {
        let mut contents = self.lock();
        for partition in 0..partitions {
            contents.streams.entry(PartitionId(partition)).or_default();
        }
    }

    pub(super) fn publish(&self, partition: PartitionId, id: &str, body: Bytes) -> Result<u64, BusError> {
        let mut contents = self.lock();
        let stream = contents.streams.get_mut(&partition).ok_or_else(|| missing(partition))?;
        if let Some(&sequence) = stream.ids.get(id) {
            return Ok(sequence);
        }
        if stream.lanes[0].len() >= self.limit_in {
            return Err(BusError::Full(partition));
        }
        stream.last += 1;
        let sequence = stream.last;
        stream.lanes[0].insert(sequence, body);
        stream.ids.insert(id.to_owned(), sequence);
        stream.id_order.insert((sequence, id.to_owned()));
        if stream.id_order.len() > IDS_KEPT
            && let Some((_, oldest)) = stream.id_order.pop_first()
        {
            stream.ids.remove(&oldest);
        }
        self.changed.notify_waiters();
        Ok(sequence)
    }

    pub(super) fn append(&self, partition: PartitionId, expected: u64, body: Bytes) -> Result<u64, BusError> {
        let mut contents = self.lock();
        let stream = contents.streams.get_mut(&partition).ok_or_else(|| missing(partition))?;
        let last = stream.lanes[1].last_key_value().map_or(0, |(sequence, _)| *sequence);
        if last != expected {
            return Err(BusError::Fenced { partition, expected });
        }
        stream.last += 1;
        let sequence = stream.last;
        stream.lanes[1].insert(sequence, body.clone());
        if let Some(history) = &mut contents.history {
            history.push((partition, Message { sequence, body }));
        }
        self.changed.notify_waiters();
        Ok(sequence)
    }

    pub(super) fn last(&self, partition: PartitionId, lane: Lane) -> Result<Option<Message>, BusError> {
        let contents = self.lock();
        let stream = contents.streams.get(&partition).ok_or_else(|| missing(partition))?;
        let last = stream.lanes[lane_index(lane)].last_key_value();
        Ok(last.map(|(&sequence, body)| Message { sequence, body: body.clone() }))
    }

    pub(super) fn message(&self, partition: PartitionId, sequence: u64) -> Result<Option<Message>, BusError> {
        let contents = self.lock();
        let stream = contents.streams.get(&partition).ok_or_else(|| missing(partition))?;
        let body = stream.lanes.iter().find_map(|lane| lane.get(&sequence));
        Ok(body.map(|body| Message { sequence, body: body.clone() }))
    }

    /// The first message of a lane from a sequence on. For a look at a stream from outside, too.
    pub fn first_from(&self, partition: PartitionId, lane: Lane, from: u64) -> Option<Message> {
        let contents = self.lock();
        let lane = &contents.streams.get(&partition)?.lanes[lane_index(lane)];
        lane.range(from..).next().map(|(&sequence, body)| Message { sequence, body: body.clone() })
    }

    pub(super) fn purge(&self, partition: PartitionId, lane: Lane, below: u64) -> Result<(), BusError> {
        let mut contents = self.lock();
        let stream = contents.streams.get_mut(&partition).ok_or_else(|| missing(partition))?;
        let lane = &mut stream.lanes[lane_index(lane)];
        *lane = lane.split_off(&below);
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<KeyValue> {
        let contents = self.lock();
        let (value, revision) = contents.keys.get(key)?;
        value.clone().map(|value| KeyValue { value, revision: *revision })
    }

    /// Sets or deletes a key. `expected`: none for any state, some(none) for absent, some(some) for a revision.
    pub(super) fn set(
        &self,
        key: &str,
        value: Option<Bytes>,
        expected: Option<Option<u64>>,
    ) -> Result<u64, BusError> {
        let mut contents = self.lock();
        let current = contents.keys.get(key);
        let is_expected = match expected {
            None => true,
            Some(None) => current.is_none_or(|(value, _)| value.is_none()),
            Some(Some(revision)) => current.is_some_and(|(_, r)| *r == revision),
        };
        if !is_expected {
            return Err(BusError::Conflict(key.to_owned()));
        }
        contents.revision += 1;
        let revision = contents.revision;
        contents.keys.insert(key.to_owned(), (value, revision));
        self.changed.notify_waiters();
        Ok(revision)
    }

    pub(super) fn key_after(&self, keys: Keys<'_>, seen: u64) -> Option<KeyUpdate> {
        let contents = self.lock();
        let newer = contents.keys.iter().filter(|(key, (value, revision))| {
            // Deletions from before the watch began are of no interest.
            *revision > seen && keys.matches(key) && (seen > 0 || value.is_some())
        });
        let (key, (value, revision)) = newer.min_by_key(|(_, (_, revision))| *revision)?;
        Some(KeyUpdate { key: key.clone(), value: value.clone(), revision: *revision })
    }

    pub(super) fn put_object(&self, name: &str, body: Bytes) {
        let print = xxh3_64(&body);
        self.lock().objects.insert(name.to_owned(), (body, print));
    }

    pub(super) fn get_object(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        match self.lock().objects.get(name) {
            Some((body, print)) if xxh3_64(body) != *print => Err(BusError::Damaged(name.to_owned())),
            found => Ok(found.map(|(body, _)| body.clone())),
        }
    }

    pub(super) fn delete_object(&self, name: &str) {
        self.lock().objects.remove(name);
    }

    pub fn objects(&self, prefix: &str) -> Vec<String> {
        self.lock().objects.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }
}
