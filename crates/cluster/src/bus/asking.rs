//! Questions to one node, and its answers: past the streams, kept nowhere, waited for no longer than said.
//!
//! Promises: an answer belongs to its question; a question that nobody listens to is told from one that was not answered
//! in time.

use std::future::Future;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Request, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::memory::MemoryBus;
use super::nats::NatsBus;
use super::nats::failure::unavailable;
use super::{Bus, BusError};

/// Questions that wait at a node in memory; more are refused.
const MAX_WAITING: usize = 1024;
/// Largest question or answer in memory: what a NATS server takes by default.
const MEMORY_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("nobody there takes questions")]
    Nobody,
    #[error("no answer in time")]
    Late,
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// A question that waits for its answer.
#[derive(Debug)]
pub struct Question {
    pub body: Bytes,
    back: Back,
}

#[derive(Debug)]
enum Back {
    Memory(oneshot::Sender<Bytes>),
    Nats(Client, Option<Subject>),
}

impl Question {
    /// Sends the answer. Whether somebody still waits for it is not told.
    pub async fn answer(self, body: Bytes) -> Result<(), BusError> {
        match self.back {
            Back::Memory(back) => drop(back.send(body)),
            Back::Nats(_, None) => {}
            Back::Nats(client, Some(to)) => client.publish(to, body).await.map_err(unavailable)?,
        }
        Ok(())
    }
}

/// Takes the questions to one node. After an error it is dropped and another one asked for.
pub trait Listener: Send {
    fn next(&mut self) -> impl Future<Output = Result<Question, BusError>> + Send;
}

/// A bus that carries questions.
pub trait Asking: Bus {
    type Listener: Listener;

    /// Takes the questions of a kind that go to the node with this name.
    fn listen(&self, kind: &str, node: &str)
    -> impl Future<Output = Result<Self::Listener, BusError>> + Send;

    fn ask(
        &self,
        kind: &str,
        node: &str,
        body: Bytes,
        within: Duration,
    ) -> impl Future<Output = Result<Bytes, AskError>> + Send;

    /// The largest question or answer that is carried.
    fn most_bytes(&self) -> usize;
}

#[derive(Debug)]
pub struct NatsListener {
    client: Client,
    questions: Subscriber,
}

impl Listener for NatsListener {
    async fn next(&mut self) -> Result<Question, BusError> {
        let ended = || BusError::Unavailable("the subscription ended".to_owned());
        let message = self.questions.next().await.ok_or_else(ended)?;
        Ok(Question { body: message.payload, back: Back::Nats(self.client.clone(), message.reply) })
    }
}

impl Asking for NatsBus {
    type Listener = NatsListener;

    async fn listen(&self, kind: &str, node: &str) -> Result<NatsListener, BusError> {
        let client = self.client();
        let questions = client.subscribe(self.subject_of_node(node, kind)).await.map_err(unavailable)?;
        // A server takes in what comes over one connection in order: when it has answered, it knows of the subscription, and
        // whoever is told of this node may ask at once.
        self.get(kind).await?;
        Ok(NatsListener { client, questions })
    }

    async fn ask(&self, kind: &str, node: &str, body: Bytes, within: Duration) -> Result<Bytes, AskError> {
        let request = Request::new().payload(body).timeout(Some(within));
        let asked = self.client().send_request(self.subject_of_node(node, kind), request).await;
        asked.map(|answer| answer.payload).map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => AskError::Nobody,
            RequestErrorKind::TimedOut => AskError::Late,
            RequestErrorKind::MaxPayloadExceeded => {
                BusError::Refused("the question is larger than the server's max_payload".to_owned()).into()
            }
            _ => unavailable(error).into(),
        })
    }

    fn most_bytes(&self) -> usize {
        self.client().server_info().max_payload
    }
}

/// Where the questions to one name go.
pub(super) type Waiting = mpsc::Sender<Question>;

#[derive(Debug)]
pub struct MemoryListener(mpsc::Receiver<Question>);

impl Listener for MemoryListener {
    async fn next(&mut self) -> Result<Question, BusError> {
        let ended = || BusError::Unavailable("somebody else listens under this name".to_owned());
        self.0.recv().await.ok_or_else(ended)
    }
}

impl Asking for MemoryBus {
    type Listener = MemoryListener;

    async fn listen(&self, kind: &str, node: &str) -> Result<MemoryListener, BusError> {
        let (waiting, questions) = mpsc::channel(MAX_WAITING);
        self.call(|server| {
            server.listens(format!("{node}.{kind}"), waiting);
            Ok(())
        })
        .await?;
        Ok(MemoryListener(questions))
    }

    async fn ask(&self, kind: &str, node: &str, body: Bytes, within: Duration) -> Result<Bytes, AskError> {
        let (back, answer) = oneshot::channel();
        let question = Question { body, back: Back::Memory(back) };
        let asked = async {
            let listener = self.call(|server| Ok(server.listener(&format!("{node}.{kind}")))).await?;
            listener.ok_or(AskError::Nobody)?.try_send(question).map_err(|_| AskError::Late)?;
            // One who drops the question has given up on it: the asker waits in vain, as on a network.
            match answer.await {
                Ok(answer) => Ok(answer),
                Err(_) => std::future::pending().await,
            }
        };
        timeout(within, asked).await.unwrap_or(Err(AskError::Late))
    }

    fn most_bytes(&self) -> usize {
        MEMORY_BYTES
    }
}
