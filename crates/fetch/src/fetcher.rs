//! The fetcher of one thread: takes a request, brings back a visit.
//!
//! Promise: one call is one request at the server, sent again only if a kept connection turned out to be closed before
//! a byte of the answer came. It never schedules, waits or retries for politeness: that is the caller's.

use std::{
    cell::RefCell,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lycosa_types::{CanonUrl, Failure, UnixMs};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{
    connect,
    decode::Decoder,
    dns::Asker,
    exchange::{Exchange, Progress, Received},
    options::FetchOptions,
    pool::{Connection, Pool},
    request::{CommonFields, Request},
    response::{Head, Protocol, Response, Timing, Visit},
    shared::Shared,
    watch::Watch,
};

/// Fetches for one thread; any number of fetches may be under way at once on it.
pub struct Fetcher {
    shared: Arc<Shared>,
    options: FetchOptions,
    common: CommonFields,
    asker: Asker,
    pool: Pool,
    decoder: RefCell<Decoder>,
}

/// What is known about a visit while it runs.
#[derive(Default)]
struct Trace {
    ip: Option<IpAddr>,
    progress: Progress,
    reused_connection: bool,
    resent: bool,
}

impl Fetcher {
    pub fn new(shared: Arc<Shared>, options: FetchOptions) -> Self {
        Self {
            common: CommonFields::new(&options),
            asker: Asker::new(options.prefer_ipv6),
            pool: Pool::new(options.pool.clone(), Arc::clone(&shared.open)),
            decoder: RefCell::new(Decoder::new()),
            shared,
            options,
        }
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn options(&self) -> &FetchOptions {
        &self.options
    }

    /// Closes idle connections that are past their time; fetching does so too, as it goes.
    pub fn expire_idle(&self) {
        self.pool.expire();
    }

    /// Closes every idle connection.
    pub fn close_idle(&self) {
        self.pool.clear();
    }

    /// Connections kept for reuse.
    pub fn idle_connections(&self) -> usize {
        self.pool.idle()
    }

    /// Where a URL's server is, as far as it may be connected to: for politeness by address. Cached like any lookup.
    pub async fn resolve(&self, url: &CanonUrl) -> Result<Vec<SocketAddr>, Failure> {
        connect::addresses(&self.shared, &self.asker, url, self.options.limits.dns).await
    }

    /// Visits a URL.
    pub async fn fetch(&self, request: &Request<'_>) -> Visit {
        let started = wall_clock();
        let start = Instant::now();
        let head = self.common.write_head(request);
        let mut trace = Trace::default();
        let received = self.receive(request, &head, start, &mut trace).await;
        let result = received.and_then(|received| self.respond(received));
        let since = |at: Instant| at.saturating_duration_since(start);
        Visit {
            result,
            ip: trace.ip,
            timing: Timing {
                started,
                sent: trace.progress.sent.map(since),
                first_byte: trace.progress.first_byte.map(since),
                finished: start.elapsed(),
            },
            request_head: if trace.progress.sent.is_some() {
                head
            } else {
                Bytes::new()
            },
            reused_connection: trace.reused_connection,
            resent: trace.resent,
            bytes_received: trace.progress.bytes_received,
        }
    }

    async fn receive(
        &self,
        request: &Request<'_>,
        head: &Bytes,
        start: Instant,
        trace: &mut Trace,
    ) -> Result<Received, Failure> {
        let limits = &self.options.limits;
        let mut total_at = start + limits.total;
        let mut sleep = pin!(sleep_until(total_at));
        if let Some(connection) = self.pool.take(request.url.origin()) {
            trace.ip = Some(connection.ip);
            trace.reused_connection = true;
            let mut watch = Watch::new(limits, total_at, sleep.as_mut());
            let outcome = self
                .exchange(connection, head, &mut watch, &mut trace.progress)
                .await;
            let was_stale = outcome.as_ref().err() == Some(&Failure::ConnectionLost)
                && trace.progress.bytes_received == 0;
            if !was_stale {
                return outcome;
            }
            *trace = Trace {
                resent: true,
                ..Trace::default()
            };
        }
        // Waiting for a slot is the crawler's own doing and not held against the server.
        let slot = self.pool.slot().await.ok_or(Failure::ConnectError)?;
        let now = Instant::now();
        if !trace.resent {
            total_at = now + limits.total;
        }
        let opening = async {
            let addresses = connect::addresses(&self.shared, &self.asker, request.url, limits.dns).await?;
            let (ip, stream) = connect::connect(&self.shared, request.url, &addresses, limits).await;
            trace.ip = ip;
            stream
        };
        let stream = timeout_at(total_at, opening)
            .await
            .map_err(|_| Failure::TotalTimeout)??;
        let connection = Connection {
            stream,
            origin: request.url.origin().into(),
            ip: trace.ip.ok_or(Failure::ConnectError)?,
            served: 0,
            _slot: slot,
        };
        let mut watch = Watch::new(limits, total_at, sleep);
        self.exchange(connection, head, &mut watch, &mut trace.progress)
            .await
    }

    /// One exchange; the connection goes back to the pool if it can serve another.
    async fn exchange(
        &self,
        mut connection: Connection,
        head: &[u8],
        watch: &mut Watch<'_>,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let exchange = Exchange {
            stream: &mut connection.stream,
            limits: &self.options.limits,
            watch,
            progress,
        };
        let received = exchange.run(head).await?;
        connection.served += 1;
        if received.reusable {
            self.pool.put(connection);
        }
        Ok(received)
    }

    fn respond(&self, received: Received) -> Result<Response, Failure> {
        let head = Head::new(received.head);
        let body = if received.facts.encoded {
            let encodings = head.get_all("content-encoding");
            let mut decoder = self.decoder.borrow_mut();
            decoder.decode(&received.payload, encodings, &self.options.limits)?
        } else {
            received.payload.clone()
        };
        Ok(Response {
            status: received.facts.status,
            protocol: if received.facts.http10 {
                Protocol::Http10
            } else {
                Protocol::Http11
            },
            head,
            raw_body: received.raw_body,
            payload: received.payload,
            body,
        })
    }
}

fn wall_clock() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
