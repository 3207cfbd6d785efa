//! A depot: a central archive at a parent node. Other nodes bring it sealed segments over HTTPS.
//!
//! | module | noun |
//! | --- | --- |
//! | [`door`] | who may come in: certificates and tokens |
//! | `request` | one request, read with limits |
//! | [`shelf`] | segments on disk, whole or partly there |
//!
//! | request | answer |
//! | --- | --- |
//! | `HEAD /NAME` | 200 and `lycosa-offset`: so many bytes are here, and go on from there; `lycosa-sha256` if all of it is |
//! | `PUT /NAME`, `content-range: bytes FROM-TO/ALL` | 202 and `lycosa-offset` while more is to come, 201 once the segment is whole |
//!
//! Both name the checksum of the whole segment in `lycosa-sha256`. Refusals: 400 not understood, 401 not let in, 405 another
//! method, 408 too slow, 409 out of step (with the offset to go on from) or the name is taken by another segment, 411
//! without a length, 413 too large, 422 the checksum does not hold and the upload begins anew, 423 somebody else brings the
//! same segment now, 431 headers too long, 503 too many connections, 507 the disk does not take it.
//!
//! Promises: whoever is let in may add segments and ask for their state; nothing is read out, changed or removed. A segment
//! has its name only when it is whole, its checksum holds and it is on disk.

pub mod door;
mod request;
pub mod shelf;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

pub use door::{Door, DoorError, DoorOptions};
use request::{Head, Method};
pub use request::{MAX_HEADER_BYTES, MAX_PIECE_BYTES};
pub use shelf::{Shelf, Standing};

use crate::ship::ShipError;

/// Connections served at a time; more are turned away.
pub const MAX_CONNECTIONS: usize = 64;
/// How long a connection may take to become a safe one, and a request to name what it wants.
const OPENING: Duration = Duration::from_secs(10);
/// How long a connection may say nothing between two requests.
const SILENCE: Duration = Duration::from_secs(90);
/// How long a piece may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(120);
/// How long an answer may take to be read.
const REPLY: Duration = Duration::from_secs(30);
/// Pause after the listener failed: out of file handles, most likely.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// What has happened at a depot.
#[derive(Debug, Default)]
pub struct DepotCounts {
    pub segments: AtomicU64,
    pub bytes: AtomicU64,
    pub refused: AtomicU64,
}

/// A depot that listens.
pub struct Depot {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    door: Arc<Door>,
    shelf: Arc<Shelf>,
    counts: Arc<DepotCounts>,
}

/// An answer: a status, and what goes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Answer {
    status: u16,
    offset: Option<u64>,
    sha256: Option<String>,
    /// For people: why it was refused.
    text: &'static str,
    /// What follows on the connection cannot be understood any more.
    hang_up: bool,
}

impl Answer {
    fn refusal(status: u16, text: &'static str) -> Self {
        Self { status, text, ..Self::default() }
    }

    fn hanging_up(status: u16, text: &'static str) -> Self {
        Self { hang_up: true, ..Self::refusal(status, text) }
    }
}

impl Depot {
    pub async fn open(listen: SocketAddr, door: Door, shelf: Shelf) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let acceptor = TlsAcceptor::from(door.tls());
        Ok(Self { listener, acceptor, door: Arc::new(door), shelf: Arc::new(shelf), counts: Arc::default() })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub fn counts(&self) -> Arc<DepotCounts> {
        Arc::clone(&self.counts)
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        // Dropped with this future: a depot that is stopped leaves nothing running.
        let mut guests = tokio::task::JoinSet::new();
        loop {
            while guests.try_join_next().is_some() {}
            let (stream, from) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(AFTER_FAILURE).await;
                    continue;
                }
            };
            // Without a place there is not even a handshake: the sender tries again later.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let guest = Guest {
                door: Arc::clone(&self.door),
                shelf: Arc::clone(&self.shelf),
                counts: Arc::clone(&self.counts),
                from,
            };
            let acceptor = self.acceptor.clone();
            guests.spawn(async move {
                guest.welcome(acceptor, stream).await;
                drop(place);
            });
        }
    }
}

/// One connection.
struct Guest {
    door: Arc<Door>,
    shelf: Arc<Shelf>,
    counts: Arc<DepotCounts>,
    from: SocketAddr,
}

impl Guest {
    async fn welcome(&self, acceptor: TlsAcceptor, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let stream = match timeout(OPENING, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                tracing::info!(from = %self.from, %error, "a connection is refused");
                return;
            }
            Err(_) => return,
        };
        let has_certificate = stream.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
        if let Err(error) = self.serve(BufReader::new(stream), has_certificate).await {
            tracing::debug!(from = %self.from, %error, "a connection ended");
        }
    }

    async fn serve<S>(&self, mut stream: BufReader<S>, has_certificate: bool) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            match timeout(SILENCE, stream.fill_buf()).await {
                Ok(Ok(bytes)) if !bytes.is_empty() => {}
                Ok(Err(error)) => return Err(error),
                Ok(Ok(_)) | Err(_) => return Ok(()),
            }
            let answer = match timeout(OPENING, request::read_head(&mut stream)).await {
                Ok(Ok(Some(Ok(head)))) => self.answer(&mut stream, &head, has_certificate).await?,
                Ok(Ok(Some(Err(refusal)))) => refusal,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Err(_) => Answer::hanging_up(408, "the request took too long"),
            };
            if answer.status >= 400 {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                tracing::info!(from = %self.from, status = answer.status, why = answer.text, "a request is refused");
            }
            let text = request::write_answer(&answer);
            let sent = async {
                stream.get_mut().write_all(text.as_bytes()).await?;
                stream.get_mut().flush().await
            };
            timeout(REPLY, sent).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if answer.hang_up {
                return stream.get_mut().shutdown().await;
            }
        }
    }

    async fn answer<S>(
        &self,
        stream: &mut BufReader<S>,
        head: &Head,
        has_certificate: bool,
    ) -> io::Result<Answer>
    where
        S: AsyncRead + Unpin,
    {
        // Whoever is not let in is not listened to: the connection ends with the answer.
        if !self.door.lets_in(has_certificate, head.token.as_deref()) {
            return Ok(Answer::hanging_up(401, "a token or a certificate is missing or wrong"));
        }
        let Some(sha256) = &head.sha256 else {
            return Ok(Answer::hanging_up(400, "lycosa-sha256 names the checksum of the segment"));
        };
        let body = match timeout(ARRIVAL, request::read_body(stream, head.length)).await {
            Ok(body) => body?,
            Err(_) => return Ok(Answer::hanging_up(408, "the piece took too long")),
        };
        let (shelf, name, sha256) = (Arc::clone(&self.shelf), head.name.clone(), sha256.clone());
        let (method, range) = (head.method, head.range);
        let told = sha256.clone();
        let done = tokio::task::spawn_blocking(move || match (method, range) {
            (Method::Head, _) => shelf.look(&name, &sha256),
            (Method::Put, Some(range)) => shelf.add(&name, &sha256, range, &body),
            (Method::Put, None) => Ok(Standing::Unclear),
        });
        let standing = done.await.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(self.tell(standing, head, told))
    }

    fn tell(&self, standing: Result<Standing, ShipError>, head: &Head, sha256: String) -> Answer {
        let at = |status, offset, text| Answer { status, offset: Some(offset), text, ..Answer::default() };
        match standing {
            Ok(Standing::Whole { bytes, new }) => {
                if new {
                    self.counts.segments.fetch_add(1, Ordering::Relaxed);
                    self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                    tracing::info!(segment = head.name, bytes, from = %self.from, "a segment is here");
                }
                let status = if new { 201 } else { 200 };
                Answer { sha256: Some(sha256), ..at(status, bytes, "") }
            }
            Ok(Standing::Partly { bytes }) => {
                at(if head.method == Method::Put { 202 } else { 200 }, bytes, "")
            }
            Ok(Standing::OutOfStep { bytes }) => at(409, bytes, "go on from lycosa-offset"),
            Ok(Standing::Taken) => Answer::refusal(409, "another segment has this name"),
            Ok(Standing::Broken) => at(422, 0, "the checksum does not hold; begin anew"),
            Ok(Standing::Busy) => Answer::refusal(423, "somebody else brings this segment now"),
            Ok(Standing::Unclear) => Answer::refusal(400, "content-range says where the piece belongs"),
            Err(error) => {
                tracing::error!(segment = head.name, %error, "a segment cannot be kept");
                Answer::refusal(507, "the depot's disk does not take it")
            }
        }
    }
}
