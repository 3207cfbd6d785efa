//! The bus on NATS JetStream.
//!
//! | module | noun |
//! | --- | --- |
//! | [`connect`] | address, credentials, TLS |
//! | [`denials`] | what the server has not allowed |
//! | [`failure`] | what the server's refusals mean here |
//!
//! One stream per partition, `lycosa-CRAWL-7`, with the subjects `lycosa.CRAWL.7.in` and `lycosa.CRAWL.7.log`; one bucket of
//! keys and one of objects, both `lycosa-CRAWL`. Questions to a node go to `lycosa.CRAWL.node.NODE.KIND`. The
//! server must sync before it acknowledges (`sync_interval: always`), or what was acknowledged may be lost with it.

mod connect;
mod denials;
pub(super) mod failure;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::kv::{Operation, Store};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::{GetErrorKind, InfoErrorKind, ObjectStore};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{Context, kv, object_store};
use bytes::Bytes;
use futures_util::StreamExt;
use lycosa_types::PartitionId;
use std::time::Duration;
use tokio::io::AsyncReadExt;

pub use connect::{Credentials, NatsOptions};
use denials::Denials;
use failure::{of_publish, unavailable};

use super::{Bus, BusError, KeyUpdate, KeyValue, Keys, Lane, MAX_OBJECT_BYTES, Message, Reader, Watcher};
use crate::name::CrawlName;

/// Messages that a lane holds before the server refuses more.
const MAX_LANE_MESSAGES: i64 = 200_000;
/// No limit of its own: the server would set the space aside. Its `max_file_store` bounds all streams together.
const NO_BYTE_LIMIT: i64 = -1;
/// How long the server remembers ids of messages.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// Streams made at a time.
const STREAMS_AT_ONCE: usize = 16;
/// Size of the pieces in which objects are stored.
const CHUNK_BYTES: usize = 256 << 10;

/// A connection to the streams of one crawl.
#[derive(Clone)]
pub struct NatsBus {
    context: Context,
    crawl: CrawlName,
    replicas: usize,
    keys: Store,
    objects: ObjectStore,
    denials: Denials,
}

impl std::fmt::Debug for NatsBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsBus").field("crawl", &self.crawl).finish_non_exhaustive()
    }
}

impl NatsBus {
    /// Connects, and makes the buckets of the crawl where they are missing.
    pub async fn connect(options: &NatsOptions, crawl: &CrawlName) -> Result<Self, BusError> {
        let denials = Denials::default();
        let context = options.connect(&denials).await?;
        let bucket = format!("lycosa-{crawl}");
        let keys = match context.get_key_value(&bucket).await {
            Ok(keys) => keys,
            Err(_) => {
                let config = kv::Config {
                    bucket: bucket.clone(),
                    num_replicas: options.replicas,
                    ..Default::default()
                };
                context.create_key_value(config).await.map_err(unavailable)?
            }
        };
        let objects = match context.get_object_store(&bucket).await {
            Ok(objects) => objects,
            Err(_) => {
                let config =
                    object_store::Config { bucket, num_replicas: options.replicas, ..Default::default() };
                context.create_object_store(config).await.map_err(unavailable)?
            }
        };
        Ok(Self { context, crawl: crawl.clone(), replicas: options.replicas, keys, objects, denials })
    }

    fn stream_name(&self, partition: PartitionId) -> String {
        format!("lycosa-{}-{partition}", self.crawl)
    }

    fn subject(&self, partition: PartitionId, lane: Lane) -> String {
        format!("lycosa.{}.{partition}.{}", self.crawl, lane.as_str())
    }

    /// Where a node takes questions of a kind. No stream keeps them.
    pub(super) fn subject_of_node(&self, node: &str, kind: &str) -> String {
        format!("lycosa.{}.node.{node}.{kind}", self.crawl)
    }

    pub(super) fn client(&self) -> async_nats::Client {
        self.context.client()
    }

    fn stream_config(&self, partition: PartitionId) -> Config {
        Config {
            name: self.stream_name(partition),
            subjects: vec![self.subject(partition, Lane::In), self.subject(partition, Lane::Log)],
            retention: RetentionPolicy::Limits,
            storage: StorageType::File,
            num_replicas: self.replicas,
            // Full lanes push back; they never lose what they hold.
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            max_messages_per_subject: MAX_LANE_MESSAGES,
            max_bytes: NO_BYTE_LIMIT,
            duplicate_window: DUPLICATE_WINDOW,
            ..Config::default()
        }
    }

    async fn stream(&self, partition: PartitionId) -> Result<Stream<()>, BusError> {
        self.context.get_stream_no_info(self.stream_name(partition)).await.map_err(unavailable)
    }

    async fn send(
        &self,
        partition: PartitionId,
        lane: Lane,
        message: PublishMessage,
        expected: u64,
    ) -> Result<u64, BusError> {
        let failed = |error| of_publish(error, partition, expected);
        let subject = self.subject(partition, lane);
        let call = async {
            let ack = self.context.send_publish(subject.clone(), message).await.map_err(failed)?;
            Ok(ack.await.map_err(failed)?.sequence)
        };
        self.denials.watch(&subject, call).await
    }
}

pub struct NatsReader(pull::Ordered);

impl std::fmt::Debug for NatsReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NatsReader")
    }
}

impl Reader for NatsReader {
    async fn next(&mut self) -> Result<Message, BusError> {
        let message = self.0.next().await.ok_or_else(|| BusError::Unavailable("the stream ended".into()))?;
        let message = message.map_err(unavailable)?;
        let sequence = message.info().map_err(|e| BusError::Refused(e.to_string()))?.stream_sequence;
        Ok(Message { sequence, body: message.payload.clone() })
    }
}

pub struct NatsWatcher(kv::Watch);

impl std::fmt::Debug for NatsWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NatsWatcher")
    }
}

impl Watcher for NatsWatcher {
    async fn next(&mut self) -> Result<KeyUpdate, BusError> {
        let entry = self.0.next().await.ok_or_else(|| BusError::Unavailable("the watch ended".into()))?;
        let entry = entry.map_err(unavailable)?;
        let value = (entry.operation == Operation::Put).then_some(entry.value);
        Ok(KeyUpdate { key: entry.key, value, revision: entry.revision })
    }
}

impl Bus for NatsBus {
    type Reader = NatsReader;
    type Watcher = NatsWatcher;

    async fn prepare(&self, partitions: u16) -> Result<(), BusError> {
        let make = |partition| self.context.get_or_create_stream(self.stream_config(PartitionId(partition)));
        let mut made =
            futures_util::stream::iter((0..partitions).map(make)).buffer_unordered(STREAMS_AT_ONCE);
        while let Some(stream) = made.next().await {
            stream.map_err(unavailable)?;
        }
        Ok(())
    }

    async fn publish(&self, partition: PartitionId, id: &str, body: Bytes) -> Result<u64, BusError> {
        let message = PublishMessage::build().payload(body).message_id(id);
        self.send(partition, Lane::In, message, 0).await
    }

    async fn append(&self, partition: PartitionId, expected: u64, body: Bytes) -> Result<u64, BusError> {
        let message = PublishMessage::build().payload(body).expected_last_subject_sequence(expected);
        self.send(partition, Lane::Log, message, expected).await
    }

    async fn last(&self, partition: PartitionId, lane: Lane) -> Result<Option<Message>, BusError> {
        let stream = self.stream(partition).await?;
        match stream.get_last_raw_message_by_subject(&self.subject(partition, lane)).await {
            Ok(found) => Ok(Some(Message { sequence: found.sequence, body: found.payload })),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn message(&self, partition: PartitionId, sequence: u64) -> Result<Option<Message>, BusError> {
        let stream = self.stream(partition).await?;
        match stream.get_raw_message(sequence).await {
            Ok(found) => Ok(Some(Message { sequence: found.sequence, body: found.payload })),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn read(&self, partition: PartitionId, lane: Lane, from: u64) -> Result<NatsReader, BusError> {
        let config = pull::OrderedConfig {
            filter_subject: self.subject(partition, lane),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from.max(1) },
            ..Default::default()
        };
        let consumer = self.stream(partition).await?.create_consumer(config).await.map_err(unavailable)?;
        Ok(NatsReader(consumer.messages().await.map_err(unavailable)?))
    }

    async fn purge(&self, partition: PartitionId, lane: Lane, below: u64) -> Result<(), BusError> {
        let stream = self.stream(partition).await?;
        let filtered = stream.purge().filter(self.subject(partition, lane)).sequence(below);
        filtered.await.map(|_| ()).map_err(unavailable)
    }

    async fn get(&self, key: &str) -> Result<Option<KeyValue>, BusError> {
        let call = async { self.keys.entry(key).await.map_err(unavailable) };
        let entry = self.denials.watch(key, call).await?;
        let live = entry.filter(|entry| entry.operation == Operation::Put);
        Ok(live.map(|entry| KeyValue { value: entry.value, revision: entry.revision }))
    }

    async fn create(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        let call = async {
            self.keys.create(key, value).await.map_err(|error| match error.kind() {
                kv::CreateErrorKind::AlreadyExists => BusError::Conflict(key.to_owned()),
                _ => unavailable(error),
            })
        };
        self.denials.watch(key, call).await
    }

    async fn update(&self, key: &str, value: Bytes, revision: u64) -> Result<u64, BusError> {
        let call = async {
            self.keys.update(key, value, revision).await.map_err(|error| match error.kind() {
                kv::UpdateErrorKind::WrongLastRevision => BusError::Conflict(key.to_owned()),
                _ if failure::is_wrong_sequence(&error) => BusError::Conflict(key.to_owned()),
                _ => unavailable(error),
            })
        };
        self.denials.watch(key, call).await
    }

    async fn put(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
        let call = async { self.keys.put(key, value).await.map_err(unavailable) };
        self.denials.watch(key, call).await
    }

    async fn delete(&self, key: &str) -> Result<(), BusError> {
        let call = async { self.keys.purge(key).await.map_err(unavailable) };
        self.denials.watch(key, call).await
    }

    async fn watch(&self, keys: Keys<'_>) -> Result<NatsWatcher, BusError> {
        let pattern = match keys {
            Keys::One(key) => key.to_owned(),
            Keys::Under(word) => format!("{word}.>"),
        };
        // With history: the watch begins with what is there.
        self.keys.watch_with_history(pattern).await.map(NatsWatcher).map_err(unavailable)
    }

    async fn put_object(&self, name: &str, body: Bytes) -> Result<(), BusError> {
        if body.len() > MAX_OBJECT_BYTES {
            return Err(BusError::Refused(format!(
                "object {name:?} is larger than {MAX_OBJECT_BYTES} bytes"
            )));
        }
        let meta = object_store::ObjectMetadata {
            name: name.to_owned(),
            chunk_size: Some(CHUNK_BYTES),
            ..Default::default()
        };
        self.objects.put(meta, &mut &body[..]).await.map(|_| ()).map_err(unavailable)
    }

    async fn get_object(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        let mut object = match self.objects.get(name).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        let size = object.info().size;
        if size > MAX_OBJECT_BYTES {
            return Err(BusError::Refused(format!(
                "object {name:?} is larger than {MAX_OBJECT_BYTES} bytes"
            )));
        }
        let mut body = Vec::with_capacity(size);
        match object.read_to_end(&mut body).await {
            Ok(_) if body.len() == size => Ok(Some(body.into())),
            Ok(_) => Err(BusError::Damaged(name.to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Err(BusError::Damaged(name.to_owned()))
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn delete_object(&self, name: &str) -> Result<(), BusError> {
        match self.objects.info(name).await {
            Ok(info) if info.deleted => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == InfoErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unavailable(error)),
        }
        self.objects.delete(name).await.map_err(unavailable)
    }

    async fn objects(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        let mut list = self.objects.list().await.map_err(unavailable)?;
        let mut names = Vec::new();
        while let Some(info) = list.next().await {
            let info = info.map_err(unavailable)?;
            if !info.deleted && info.name.starts_with(prefix) {
                names.push(info.name);
            }
        }
        Ok(names)
    }
}
