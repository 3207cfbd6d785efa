//! A bus in this process: the contract without a server, and faults by the thousand.
//!
//! | module | noun |
//! | --- | --- |
//! | [`server`] | streams, keys and objects behind one lock |
//! | [`faults`] | what goes wrong, drawn from a seed |
//!
//! One [`MemoryServer`] serves many [`MemoryBus`] connections, one per node. All waiting is on the runtime's clock, so under
//! a paused clock a run is repeated exactly by its seed.

mod faults;
mod server;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lycosa_types::PartitionId;
use tokio::time::sleep;

pub use faults::{Chances, Dice, Link};
pub use server::{MemoryServer, SERVER_LIMIT_IN};

use super::{Bus, BusError, KeyUpdate, KeyValue, Keys, Lane, MAX_OBJECT_BYTES, Message, Reader, Watcher};

/// How long a call hangs that nobody answers.
const NO_ANSWER: Duration = Duration::from_millis(1500);

/// A node's connection to the server.
#[derive(Clone, Debug)]
pub struct MemoryBus {
    server: Arc<MemoryServer>,
    link: Arc<Link>,
}

impl MemoryBus {
    pub fn new(server: Arc<MemoryServer>, link: Arc<Link>) -> Self {
        Self { server, link }
    }

    /// Carries a request there, does it, and carries the answer back; either way may fail.
    pub(super) async fn call<T>(
        &self,
        act: impl FnOnce(&MemoryServer) -> Result<T, BusError>,
    ) -> Result<T, BusError> {
        let (there, back) = (self.server.delay(), self.server.delay());
        sleep(there).await;
        self.link.unpaused().await;
        self.reachable().await?;
        let result = act(&self.server);
        sleep(back).await;
        self.link.unpaused().await;
        if result.is_ok() && self.server.loses_answer() {
            return Err(lost("the answer was lost"));
        }
        self.reachable().await?;
        result
    }

    async fn reachable(&self) -> Result<(), BusError> {
        if self.server.is_up() && !self.link.is_cut() {
            return Ok(());
        }
        sleep(NO_ANSWER).await;
        Err(lost("no answer"))
    }
}

fn lost(what: &str) -> BusError {
    BusError::Unavailable(what.to_owned())
}

/// Follows something on the server and notices when the connection breaks.
#[derive(Debug)]
struct Follow {
    bus: MemoryBus,
    /// Server restarts and cuts seen when the following began.
    generation: (u64, u64),
}

impl Follow {
    fn new(bus: &MemoryBus) -> Self {
        Self { generation: (bus.server.generation(), bus.link.generation()), bus: bus.clone() }
    }

    /// Waits for something that `look` finds.
    async fn wait<T>(&self, mut look: impl FnMut(&MemoryServer) -> Option<T>) -> Result<T, BusError> {
        loop {
            let changed = self.bus.server.changed();
            let cut = self.bus.link.changed();
            tokio::pin!(changed, cut);
            // Registered before the look, so that nothing that happens in between is missed.
            changed.as_mut().enable();
            cut.as_mut().enable();
            self.bus.link.unpaused().await;
            if self.generation != (self.bus.server.generation(), self.bus.link.generation()) {
                return Err(lost("the connection broke"));
            }
            if !self.bus.link.is_cut()
                && let Some(found) = look(&self.bus.server)
            {
                return Ok(found);
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = cut => {}
            }
        }
    }
}

#[derive(Debug)]
pub struct MemoryReader {
    follow: Follow,
    partition: PartitionId,
    lane: Lane,
    next: u64,
}

impl Reader for MemoryReader {
    async fn next(&mut self) -> Result<Message, BusError> {
        let (partition, lane, from) = (self.partition, self.lane, self.next);
        let message = self.follow.wait(|server| server.first_from(partition, lane, from)).await?;
        if !self.follow.bus.server.repeats() {
            self.next = message.sequence + 1;
        }
        Ok(message)
    }
}

#[derive(Debug)]
pub struct MemoryWatcher {
    follow: Follow,
    pattern: (bool, String),
    seen: u64,
}

impl Watcher for MemoryWatcher {
    async fn next(&mut self) -> Result<KeyUpdate, BusError> {
        let (pattern, seen) = (&self.pattern, self.seen);
        let keys = if pattern.0 { Keys::Under(&pattern.1) } else { Keys::One(&pattern.1) };
        let update = self.follow.wait(|server| server.key_after(keys, seen)).await?;
        self.seen = update.revision;
        Ok(update)
    }
}

impl Bus for MemoryBus {
    type Reader = MemoryReader;
    type Watcher = MemoryWatcher;

    async fn prepare(&self, partitions: u16) -> Result<(), BusError> {
        self.call(|server| {
            server.prepare(partitions);
            Ok(())
        })
        .await
    }

    async fn publish(&self, partition: PartitionId, id: &str, body: Bytes) -> Result<u64, BusError> {
        if self.server.refuses_publish() {
            return Err(BusError::Full(partition));
        }
        self.call(|server| server.publish(partition, id, body)).await
    }

    async fn append(&self, partition: PartitionId, expected: u64, body: Bytes) -> Result<u64, BusError> {
        self.call(|server| server.append(partition, expected, body)).await
    }

    async fn last(&self, partition: PartitionId, lane: Lane) -> Result<Option<Message>, BusError> {
        self.call(|server| server.last(partition, lane)).await
    }

    async fn message(&self, partition: PartitionId, sequence: u64) -> Result<Option<Message>, BusError> {
        self.call(|server| server.message(partition, sequence)).await
    }

    async fn read(&self, partition: PartitionId, lane: Lane, from: u64) -> Result<MemoryReader, BusError> {
        let follow = Follow::new(self);
        self.call(|server| server.last(partition, lane).map(|_| ())).await?;
        Ok(MemoryReader { follow, partition, lane, next: from })
    }

    async fn purge(&self, partition: PartitionId, lane: Lane, below: u64) -> Result<(), BusError> {
        self.call(|server| server.purge(partition, lane, below)).await
    }

    async fn get(&self, key: &str) -> Result<Option<KeyValue>, BusError> {
        self.call(|server| Ok(server.get(key))).await
    }

    async fn create(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        self.call(|server| server.set(key, Some(value), Some(None))).await
    }

    async fn update(&self, key: &str, value: Bytes, revision: u64) -> Result<u64, BusError> {
        self.call(|server| server.set(key, Some(value), Some(Some(revision)))).await
    }

    async fn put(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        self.call(|server| server.set(key, Some(value), None)).await
    }

    async fn delete(&self, key: &str) -> Result<(), BusError> {
        self.call(|server| server.set(key, None, None).map(|_| ())).await
    }

    async fn watch(&self, keys: Keys<'_>) -> Result<MemoryWatcher, BusError> {
        let follow = Follow::new(self);
        self.call(|_| Ok(())).await?;
        let pattern = match keys {
            Keys::One(key) => (false, key.to_owned()),
            Keys::Under(word) => (true, word.to_owned()),
        };
        Ok(MemoryWatcher { follow, pattern, seen: 0 })
    }

    async fn put_object(&self, name: &str, body: Bytes) -> Result<(), BusError> {
        if body.len() > MAX_OBJECT_BYTES {
            return Err(BusError::Refused(format!(
                "object {name:?} is larger than {MAX_OBJECT_BYTES} bytes"
            )));
        }
        self.call(|server| {
            server.put_object(name, body);
            Ok(())
        })
        .await
    }

    async fn get_object(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        self.call(|server| server.get_object(name)).await
    }

    async fn delete_object(&self, name: &str) -> Result<(), BusError> {
        self.call(|server| {
            server.delete_object(name);
            Ok(())
        })
        .await
    }

    async fn objects(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        self.call(|server| Ok(server.objects(prefix))).await
    }
}
