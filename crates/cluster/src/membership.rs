//! Membership: who is there, and how busy. Every node puts a beat under its own key once a second.
//!
//! No clock is compared with another machine's: an observer notes, by its own clock, when a beat last changed, and
//! holds a node for dead when it has not for [`Timing::dead_after`]. A node that cannot put its beat for a little less
//! than that stops fetching by itself, before anybody else may begin on its partitions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lycosa_types::PartitionId;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::name::NodeId;
use crate::plan::{Member, RegionId};
use crate::termination::PartitionReport;

/// The version of a beat's encoding.
pub const BEAT_VERSION: u8 = 1;
/// Largest beat.
pub const MAX_BEAT_BYTES: usize = 768 << 10;
/// Most nodes that are followed.
pub const MAX_MEMBERS: usize = 4096;

/// How fast things are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two beats.
    pub beat: Duration,
    /// A node whose beat has not changed for so long is dead.
    pub dead_after: Duration,
    /// A coordinator that has not renewed its key for so long is replaced.
    pub leader_after: Duration,
    /// How long a hand-over may take before it becomes a takeover.
    pub hand_over: Duration,
    /// How long the first coordinator waits for more nodes before it makes the first table.
    pub gather: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(1),
            dead_after: Duration::from_secs(6),
            leader_after: Duration::from_secs(5),
            hand_over: Duration::from_secs(20),
            gather: Duration::from_secs(3),
        }
    }
}

impl Timing {
    /// How long after its last beat a node may still fetch.
    pub fn lease(&self) -> Duration {
        self.dead_after.saturating_sub(self.beat)
    }
}

/// What a node says about a partition it has open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub partition: PartitionId,
    pub epoch: u64,
    /// Work, as the plan should count it.
    pub weight: u64,
    pub passive: bool,
    pub activity: u64,
    pub consumed: u64,
    /// Messages handed to the crawl and not yet taken in.
    pub lag: u64,
}

/// Totals for the live view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    pub pages: u64,
    pub bytes: u64,
    pub queued: u64,
    pub pages_per_minute: u64,
    pub links_sent: u64,
    pub batches_sent: u64,
    pub bytes_sent: u64,
    pub links_received: u64,
    pub refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    pub node: NodeId,
    pub number: u64,
    /// 0: a coordinator, which owns nothing.
    pub capacity: u32,
    pub load_percent: u8,
    pub region: Option<RegionId>,
    pub leaving: bool,
    /// The last wave of termination detection it has heard of.
    pub wave: u64,
    /// The last table it has acted on.
    pub table: u64,
    pub held: Vec<Held>,
    /// Partitions it is about to open, or has not yet let go.
    pub opening: Vec<PartitionId>,
    pub figures: Figures,
}

impl Beat {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![BEAT_VERSION];
        // Plain numbers and short strings into memory: this cannot fail.
        out.extend(postcard::to_stdvec(self).unwrap_or_default());
        out
    }

    /// None: malformed, too large, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_BEAT_BYTES {
            return None;
        }
        let (version, rest) = bytes.split_first()?;
        if *version != BEAT_VERSION { None } else { postcard::from_bytes(rest).ok() }
    }

    /// Whether it has the partition open, or may open it yet.
    pub fn holds(&self, partition: PartitionId) -> bool {
        self.opening.contains(&partition) || self.held.iter().any(|held| held.partition == partition)
    }

    fn is_idle(&self) -> bool {
        self.held.iter().all(|held| held.passive)
    }
}

/// The key under which a node's beat lies.
pub fn member_key(node: &NodeId) -> String {
    format!("member.{node}")
}

/// The word that all such keys begin with.
pub const MEMBER_KEYS: &str = "member";

/// When this node put its own beats. One that comes back through the watch proves that everything put before it was heard.
#[derive(Clone, Debug, Default)]
pub struct OwnBeats(Arc<Mutex<VecDeque<(u64, Instant)>>>);

/// Own beats remembered.
const OWN_BEATS: usize = 64;

impl OwnBeats {
    pub fn put(&self, number: u64, at: Instant) {
        let mut beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        beats.push_back((number, at));
        if beats.len() > OWN_BEATS {
            beats.pop_front();
        }
    }

    pub fn put_at(&self, number: u64) -> Option<Instant> {
        let beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        beats.iter().find(|(n, _)| *n == number).map(|(_, at)| *at)
    }
}

#[derive(Debug)]
struct Followed {
    beat: Beat,
    changed: Instant,
}

/// Follows beats and knows who is alive.
#[derive(Debug)]
pub struct Tracker {
    dead_after: Duration,
    members: BTreeMap<NodeId, Followed>,
    pub malformed: u64,
    pub stale: u64,
}

impl Tracker {
    pub fn new(dead_after: Duration) -> Self {
        Self { dead_after, members: BTreeMap::new(), malformed: 0, stale: 0 }
    }

    /// Takes in what was found under a member's key; none if it was deleted.
    pub fn observe(&mut self, key: &str, value: Option<&[u8]>, now: Instant) {
        let node = key.strip_prefix(MEMBER_KEYS).and_then(|rest| rest.strip_prefix('.'));
        let Some(node) = node.and_then(|node| node.parse::<NodeId>().ok()) else {
            self.malformed += 1;
            return;
        };
        let Some(value) = value else {
            self.members.remove(&node);
            return;
        };
        let Some(beat) = Beat::decode(value).filter(|beat| beat.node == node) else {
            self.malformed += 1;
            return;
        };
        let room = self.members.len() < MAX_MEMBERS;
        match self.members.get_mut(&node) {
            Some(followed) if beat.number > followed.beat.number => {
                *followed = Followed { beat, changed: now };
            }
            Some(_) => self.stale += 1,
            None if room => {
                self.members.insert(node, Followed { beat, changed: now });
            }
            None => self.malformed += 1,
        }
    }

    /// The number of the last beat heard of a node.
    pub fn number_of(&self, node: &NodeId) -> Option<u64> {
        self.members.get(node).map(|followed| followed.beat.number)
    }

    /// The observer itself was out of touch until now: nobody is held for dead on account of that.
    pub fn forgive(&mut self, now: Instant) {
        for followed in self.members.values_mut() {
            followed.changed = now;
        }
    }

    /// Beats of the living: those that changed lately and are nobody's former life.
    pub fn alive(&self, now: Instant) -> impl Iterator<Item = &Beat> {
        self.members
            .values()
            .filter(move |f| now.duration_since(f.changed) < self.dead_after)
            .filter(move |f| !self.is_superseded(&f.beat.node))
            .map(|followed| &followed.beat)
    }

    /// Whether a later life of the node has been heard.
    pub fn is_superseded(&self, node: &NodeId) -> bool {
        self.members.keys().any(|other| other.supersedes(node))
    }

    /// Keys of nodes that have been dead for long.
    pub fn forgotten(&self, now: Instant) -> Vec<NodeId> {
        let long = self.dead_after * 10;
        let old = self.members.iter().filter(|(_, f)| now.duration_since(f.changed) > long);
        old.map(|(node, _)| node.clone()).collect()
    }
}

impl From<&Beat> for Member {
    fn from(beat: &Beat) -> Self {
        Self {
            node: beat.node.clone(),
            capacity: if beat.leaving { 0 } else { beat.capacity },
            load_percent: beat.load_percent,
            region: beat.region,
            idle: beat.is_idle(),
        }
    }
}

impl Held {
    pub fn report(&self, wave: u64) -> PartitionReport {
        PartitionReport {
            epoch: self.epoch,
            wave,
            passive: self.passive,
            activity: self.activity,
            consumed: self.consumed,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn beat(name: &str, incarnation: u64, number: u64) -> Beat {
        Beat {
            node: NodeId::new(name, incarnation).unwrap(),
            number,
            capacity: 1,
            load_percent: 50,
            region: None,
            leaving: false,
            wave: 0,
            table: 0,
            held: Vec::new(),
            opening: Vec::new(),
            figures: Figures::default(),
        }
    }

    fn names(tracker: &Tracker, now: Instant) -> Vec<String> {
        tracker.alive(now).map(|beat| beat.node.to_string()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_silent_die_and_a_new_life_replaces_the_old_at_once() {
        let mut tracker = Tracker::new(Duration::from_secs(6));
        let start = Instant::now();
        let put = |tracker: &mut Tracker, beat: &Beat, after: u64| {
            let at = start + Duration::from_secs(after);
            tracker.observe(&member_key(&beat.node), Some(&beat.encode()), at);
        };
        put(&mut tracker, &beat("a", 1, 1), 0);
        put(&mut tracker, &beat("b", 1, 1), 0);
        for second in 1..6 {
            put(&mut tracker, &beat("a", 1, 1 + second), second);
            // The same beat, delivered again, is no sign of life.
            put(&mut tracker, &beat("b", 1, 1), second);
        }
        assert_eq!(tracker.stale, 5);
        let now = start + Duration::from_secs(7);
        assert_eq!(names(&tracker, now), ["a.0000000000000001"]);
        put(&mut tracker, &beat("a", 2, 1), 7);
        assert_eq!(names(&tracker, now), ["a.0000000000000002"]);
        tracker.observe("member.a.0000000000000002", None, now);
        assert_eq!(names(&tracker, now), ["a.0000000000000001"]);
        tracker.observe("member.a.0000000000000001", Some(b"rubbish"), now);
        tracker.observe("member.x", Some(b""), now);
        let other = beat("c", 1, 1).encode();
        tracker.observe("member.a.0000000000000001", Some(&other), now);
        assert_eq!(tracker.malformed, 3);
        assert_eq!(tracker.forgotten(start + Duration::from_secs(100)).len(), 2);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_beat_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200), version: bool) {
            let mut bytes = bytes;
            if version {
                bytes.insert(0, BEAT_VERSION);
            }
            let _ = Beat::decode(&bytes);
        }
    }
}
