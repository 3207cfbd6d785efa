//! Lives: which process bears a node's name. The bus hands them out, one after the other, so no two processes ever have
//! the same one, whatever their clocks say and whenever they start.
//!
//! - [`begin`] takes the next life of a name. While the last one still sends heartbeats, the name is refused.
//! - [`end`] marks a life as over, so that the next start need not listen for it.
//! - [`is_over`] tells a process that a later life has taken its name, for instance after a long pause of its machine.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};

use super::NodeError;
use crate::bus::{Bus, BusError};
use crate::membership::{Beat, Timing, member_key};
use crate::name::NodeId;
use crate::owner::Backoff;

/// How many heartbeats a life may miss before its name is given to another process.
const PATIENCE_BEATS: u32 = 3;
/// The shortest pause between two looks at a heartbeat.
const SHORTEST_LOOK: Duration = Duration::from_millis(50);

/// What lies under a name's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    incarnation: u64,
    running: bool,
}

impl Life {
    fn encode(self) -> Bytes {
        let mut bytes = self.incarnation.to_be_bytes().to_vec();
        bytes.push(u8::from(self.running));
        bytes.into()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (incarnation, running) = bytes.split_first_chunk::<8>()?;
        let running = match running {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(Self { incarnation: u64::from_be_bytes(*incarnation), running })
    }
}

fn life_key(name: &str) -> String {
    format!("life.{name}")
}

/// Takes the next life of `name`, with an incarnation of at least `at_least`. Fails with [`NodeError::NameTaken`] while
/// another process of this name sends heartbeats. A process that was killed costs its successor three heartbeats of waiting.
pub async fn begin<B: Bus>(bus: &B, name: &str, at_least: u64, timing: Timing) -> Result<NodeId, NodeError> {
    let key = life_key(name);
    // Checks the name before it becomes a key.
    NodeId::new(name, at_least)?;
    let mut backoff = Backoff::default();
    loop {
        let found = match bus.get(&key).await {
            Ok(found) => found,
            Err(error) if error.is_transient() => {
                backoff.pause().await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // A value that cannot be read is no life: it is replaced.
        let last = found.as_ref().and_then(|found| Life::decode(&found.value));
        if let Some(last) = last.filter(|last| last.running) {
            let other = NodeId::new(name, last.incarnation)?;
            if is_beating(bus, &other, timing).await? {
                return Err(NodeError::NameTaken { name: name.to_owned(), life: other });
            }
        }
        let incarnation = last.map_or(at_least, |last| at_least.max(last.incarnation.saturating_add(1)));
        let value = Life { incarnation, running: true }.encode();
        let written = match found {
            None => bus.create(&key, value).await,
            Some(found) => bus.update(&key, value, found.revision).await,
        };
        match written {
            Ok(_) => return Ok(NodeId::new(name, incarnation)?),
            // Another process of this name was faster, or the answer was lost: the next look tells.
            Err(BusError::Conflict(_)) => {}
            Err(error) if error.is_transient() => backoff.pause().await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Marks a life as over. What the bus cannot be told costs the next start its patience, nothing else.
pub(super) async fn end<B: Bus>(bus: &B, node: &NodeId) {
    let key = life_key(node.name());
    let Ok(Some(found)) = bus.get(&key).await else { return };
    let own = Life::decode(&found.value).filter(|life| life.incarnation == node.incarnation());
    if own.is_some() {
        let over = Life { incarnation: node.incarnation(), running: false };
        let _ = bus.update(&key, over.encode(), found.revision).await;
    }
}

/// Whether a later life has taken the name. What cannot be asked is not over.
pub(super) async fn is_over<B: Bus>(bus: &B, node: &NodeId) -> bool {
    let Ok(Some(found)) = bus.get(&life_key(node.name())).await else { return false };
    Life::decode(&found.value).is_some_and(|life| life.incarnation > node.incarnation())
}

/// Whether a life sends heartbeats: whether its number changes while we look.
async fn is_beating<B: Bus>(bus: &B, node: &NodeId, timing: Timing) -> Result<bool, NodeError> {
    let key = member_key(node);
    let until = Instant::now() + timing.beat * PATIENCE_BEATS;
    let mut first = None;
    loop {
        match bus.get(&key).await {
            Ok(found) => {
                let number = found.and_then(|found| Beat::decode(&found.value)).map(|beat| beat.number);
                match (first, number) {
                    (None, _) => first = Some(number),
                    (Some(before), Some(_)) if before != number => return Ok(true),
                    _ => {}
                }
            }
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        sleep((timing.beat / 4).max(SHORTEST_LOOK)).await;
    }
}

#[cfg(test)]
mod tests;
