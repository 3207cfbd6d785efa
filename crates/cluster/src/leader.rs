//! The leader's key: whoever holds it coordinates. Held by renewing it; taken from whoever has stopped.
//!
//! Two nodes may believe to lead for a moment. That does no harm: the table is replaced only by revision, so one of the
//! two fails, and looks again.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::bus::{Bus, BusError, KeyValue};
use crate::name::NodeId;

pub const LEADER_KEY: &str = "leader";

/// One candidate's view of the key.
#[derive(Debug)]
pub struct Leader {
    node: NodeId,
    /// The key is up for taking when it has not changed for so long.
    patience: Duration,
    /// The revision last seen, and when it was first seen.
    seen: Option<(u64, Instant)>,
    /// The revision under which we hold it, and until when we may believe so.
    held: Option<(u64, Instant)>,
}

impl Leader {
    pub fn new(node: NodeId, patience: Duration) -> Self {
        Self { node, patience, seen: None, held: None }
    }

    pub fn is_leading(&self, now: Instant) -> bool {
        self.held.is_some_and(|(_, until)| now < until)
    }

    /// Renews the key, or takes it if it is free. Returns whether this node leads.
    pub async fn tick<B: Bus>(&mut self, bus: &B) -> Result<bool, BusError> {
        let result = match self.held {
            Some((revision, _)) => self.write(bus, Some(revision)).await,
            None => self.try_take(bus).await,
        };
        let result = match result {
            Err(BusError::Conflict(_)) => {
                // Somebody else took it, or the answer to our last renewal was lost: the key tells.
                self.held = None;
                self.try_take(bus).await
            }
            other => other,
        };
        match result {
            Err(BusError::Conflict(_)) => self.held = None,
            Err(error) => {
                let now = Instant::now();
                if !self.is_leading(now) {
                    self.held = None;
                }
                return Err(error);
            }
            Ok(()) => {}
        }
        Ok(self.is_leading(Instant::now()))
    }

    async fn try_take<B: Bus>(&mut self, bus: &B) -> Result<(), BusError> {
        let Some(KeyValue { value, revision }) = bus.get(LEADER_KEY).await? else {
            return self.write(bus, None).await;
        };
        let now = Instant::now();
        // Our own, from a try whose answer was lost.
        if value == self.value() {
            return self.write(bus, Some(revision)).await;
        }
        match self.seen {
            Some((seen, since)) if seen == revision => {
                if now.duration_since(since) < self.patience {
                    return Ok(());
                }
                self.write(bus, Some(revision)).await
            }
            _ => {
                self.seen = Some((revision, now));
                Ok(())
            }
        }
    }

    fn value(&self) -> Bytes {
        self.node.to_string().into()
    }

    async fn write<B: Bus>(&mut self, bus: &B, revision: Option<u64>) -> Result<(), BusError> {
        let began = Instant::now();
        let written = match revision {
            None => bus.create(LEADER_KEY, self.value()).await?,
            Some(revision) => bus.update(LEADER_KEY, self.value(), revision).await?,
        };
        self.held = Some((written, began + self.patience));
        self.seen = None;
        Ok(())
    }

    /// Gives the key up, so that another may have it at once.
    pub async fn resign<B: Bus>(&mut self, bus: &B) {
        if self.held.take().is_some() {
            let _ = bus.delete(LEADER_KEY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::{Chances, Link, MemoryBus, MemoryServer};
    use std::sync::Arc;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn one_leads_and_another_takes_over_when_it_stops() {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let bus = MemoryBus::new(server.clone(), Arc::new(Link::default()));
        let leader = |name: &str| Leader::new(NodeId::new(name, 1).unwrap(), Duration::from_secs(5));
        let (mut a, mut b) = (leader("a"), leader("b"));
        assert!(a.tick(&bus).await.unwrap());
        for _ in 0..20 {
            assert!(a.tick(&bus).await.unwrap() && !b.tick(&bus).await.unwrap());
            sleep(Duration::from_secs(1)).await;
        }
        // a stops; b waits its patience and leads.
        let mut taken_after = 0;
        while !b.tick(&bus).await.unwrap() {
            sleep(Duration::from_secs(1)).await;
            taken_after += 1;
        }
        assert!((4..=6).contains(&taken_after), "{taken_after}");
        assert!(!a.is_leading(Instant::now()));
        assert!(!a.tick(&bus).await.unwrap());
        b.resign(&bus).await;
        assert!(a.tick(&bus).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn lost_answers_cost_no_leader() {
        let server = Arc::new(MemoryServer::new(4, Chances { lost_answers: 50, ..Chances::default() }));
        let bus = MemoryBus::new(server, Arc::new(Link::default()));
        let mut a = Leader::new(NodeId::new("a", 1).unwrap(), Duration::from_secs(5));
        let mut led = 0;
        for _ in 0..200 {
            let _ = a.tick(&bus).await;
            led += usize::from(a.is_leading(Instant::now()));
            sleep(Duration::from_millis(500)).await;
        }
        assert!(led > 160, "{led}");
    }
}
