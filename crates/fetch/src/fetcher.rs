//! The fetcher of one thread: takes a request, brings back a visit.
//!
//! Promise: one call is one request at the server, sent again only if a kept connection turned out to be closed before
//! a byte of the answer came. It never schedules, waits or retries for politeness: that is the caller's.

use std::{
    cell::RefCell,
    net::{IpAddr, SocketAddr},
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lycosa_types::{CanonUrl, Failure, UnixMs};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::{
    asker::Asker,
    connect,
    decode::Decoder,
    exchange::{Exchange, Progress, Received},
    generations::Generations,
    head::Framing,
    http2::{self, Session},
    line::BROKEN_LINES,
    options::{FetchOptions, Limits},
    pool::{Connection, Pool, Slot},
    request::{CommonFields, Request, RequestKind},
    response::{Head, Protocol, Response, Timing, Visit},
    shared::Shared,
    spare::Spare,
    stream::Stream,
    watch::Watch,
};

/// Fetches for one thread; any number of fetches may be under way at once on it.
pub struct Fetcher {
    shared: Arc<Shared>,
    options: FetchOptions,
    robots_limits: Limits,
    pub(crate) common: CommonFields,
    asker: Asker,
    pub(crate) pool: Pool,
    decoder: RefCell<Decoder>,
    pub(crate) spare: Spare,
    /// Origins that get their requests one at a time.
    pub(crate) broken_lines: RefCell<Generations<Box<str>, ()>>,
}

/// A fresh connection, by the protocol that the server chose.
enum Opened {
    Http1(Connection),
    Http2(Rc<Session>),
}

/// When a visit began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub wall: UnixMs,
    pub at: Instant,
}

impl Begin {
    pub fn now() -> Self {
        Self { wall: wall_clock(), at: Instant::now() }
    }
}

/// What is known about a visit while it runs.
#[derive(Default)]
pub(crate) struct Trace {
    pub ip: Option<IpAddr>,
    pub progress: Progress,
    pub reused_connection: bool,
    pub resent: bool,
}

impl Fetcher {
    pub fn new(shared: Arc<Shared>, options: FetchOptions) -> Self {
        Self {
            robots_limits: options.limits.for_robots(),
            common: CommonFields::new(&options),
            asker: Asker::new(options.prefer_ipv6),
            pool: Pool::new(options.pool.clone(), Arc::clone(&shared.open)),
            decoder: RefCell::new(Decoder::new()),
            spare: Spare::default(),
            broken_lines: RefCell::new(Generations::new(BROKEN_LINES)),
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
        self.fetch_with(request, Trace::default()).await
    }

    pub(crate) async fn fetch_with(&self, request: &Request<'_>, mut trace: Trace) -> Visit {
        let begin = Begin::now();
        let head = self.common.write_head(request);
        let received = self.receive(request, &head, begin.at, &mut trace).await;
        self.conclude(received, head, begin, trace)
    }

    pub(crate) fn conclude(
        &self,
        received: Result<Received, Failure>,
        request_head: Bytes,
        begin: Begin,
        trace: Trace,
    ) -> Visit {
        let mut partial = None;
        let result = received.and_then(|received| {
            if received.cut {
                partial = Some(as_received(received));
                return Err(Failure::Truncated);
            }
            self.respond(received)
        });
        let since = |at: Instant| at.saturating_duration_since(begin.at);
        Visit {
            result,
            partial,
            ip: trace.ip,
            timing: Timing {
                started: begin.wall,
                sent: trace.progress.sent.map(since),
                first_byte: trace.progress.first_byte.map(since),
                finished: begin.at.elapsed(),
            },
            request_head: if trace.progress.sent.is_some() { request_head } else { Bytes::new() },
            reused_connection: trace.reused_connection,
            resent: trace.resent,
            bytes_received: trace.progress.bytes_received,
        }
    }

    /// Takes a visit back that nobody looks at any more, for the memory its response lies in.
    pub fn reuse(&self, visit: Visit) {
        let Ok(Response { head, raw_body, payload, body, .. }) = visit.result else { return };
        drop((raw_body, payload, body));
        if let Ok(buffer) = head.into_raw().try_into_mut() {
            self.spare.put(buffer);
        }
    }

    async fn receive(
        &self,
        request: &Request<'_>,
        head: &Bytes,
        start: Instant,
        trace: &mut Trace,
    ) -> Result<Received, Failure> {
        let total_at = start + self.options.limits.total;
        if let Some(outcome) = self.receive_on_kept(request, head, total_at, trace).await {
            let was_stale = outcome.as_ref().err() == Some(&Failure::ConnectionLost)
                && trace.progress.bytes_received == 0;
            if !was_stale {
                return outcome;
            }
            *trace = Trace { resent: true, ..Trace::default() };
        }
        // Waiting for a slot is the crawler's own doing and not held against the server.
        let waiting_since = Instant::now();
        let slot = self.pool.slot().await.ok_or(Failure::ConnectError)?;
        let total_at = total_at + waiting_since.elapsed();
        let opening = self.open(request.url, slot, &mut trace.ip);
        let opened = timeout_at(total_at, opening).await.map_err(|_| Failure::TotalTimeout)??;
        match opened {
            Opened::Http1(connection) => {
                let limits = self.limits_of(request);
                self.exchange(connection, head, limits, total_at, &mut trace.progress).await
            }
            Opened::Http2(session) => {
                self.exchange_on(&session, request, total_at, &mut trace.progress).await
            }
        }
    }

    fn limits_of(&self, request: &Request<'_>) -> &Limits {
        match request.kind {
            RequestKind::Robots => &self.robots_limits,
            _ => &self.options.limits,
        }
    }

    /// The outcome over a connection that was kept, if there is one.
    async fn receive_on_kept(
        &self,
        request: &Request<'_>,
        head: &Bytes,
        total_at: Instant,
        trace: &mut Trace,
    ) -> Option<Result<Received, Failure>> {
        let origin = request.url.origin();
        if self.shared.http2
            && let Some(session) = self.pool.sessions.get(origin)
        {
            trace.ip = Some(session.ip);
            trace.reused_connection = true;
            let exchange = self.exchange_on(&session, request, total_at, &mut trace.progress);
            return Some(exchange.await);
        }
        let connection = self.pool.take(origin, &self.shared.faults).await?;
        trace.ip = Some(connection.ip);
        trace.reused_connection = true;
        let limits = self.limits_of(request);
        Some(self.exchange(connection, head, limits, total_at, &mut trace.progress).await)
    }

    async fn open(&self, url: &CanonUrl, slot: Slot, ip: &mut Option<IpAddr>) -> Result<Opened, Failure> {
        let limits = &self.options.limits;
        let addresses = connect::addresses(&self.shared, &self.asker, url, limits.dns).await?;
        let (address, stream) = connect::connect(&self.shared, url, &addresses, limits).await;
        *ip = address;
        let (address, stream) = (address.ok_or(Failure::ConnectError)?, stream?);
        match stream {
            Stream::Tls(stream) if self.shared.http2 && http2::was_chosen(&stream) => {
                let session = Session::open(*stream, url.origin(), address, limits, slot).await?;
                self.pool.sessions.put(&session);
                Ok(Opened::Http2(session))
            }
            stream => Ok(Opened::Http1(Connection {
                stream,
                origin: url.origin().into(),
                ip: address,
                timer: Box::pin(sleep(limits.first_byte)),
                served: 0,
                is_http11: false,
                was_empty: false,
                heard: [false; 2],
                _slot: slot,
            })),
        }
    }

    /// One exchange over HTTP/2; a session that broke is not used again.
    async fn exchange_on(
        &self,
        session: &Rc<Session>,
        request: &Request<'_>,
        total_at: Instant,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let limits = self.limits_of(request);
        let timer = pin!(sleep_until(total_at));
        let mut watch = Watch::new(limits, total_at, timer);
        let outcome = session.exchange(request, &self.common, limits, &mut watch, progress).await;
        if matches!(outcome, Err(Failure::ConnectionLost | Failure::BadResponse)) {
            self.pool.sessions.remove(session);
        }
        self.pool.done(session);
        outcome
    }

    /// One exchange; the connection goes back to the pool if it can serve another.
    async fn exchange(
        &self,
        mut connection: Connection,
        head: &[u8],
        limits: &Limits,
        total_at: Instant,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let watch = &mut Watch::new(limits, total_at, connection.timer.as_mut());
        let stream = &mut connection.stream;
        let exchange = Exchange { stream, limits, spare: &self.spare, watch, progress, followed: false };
        let received = exchange.run(head).await;
        if is_doubtful(&received) {
            self.shared.faults.note(&connection.origin);
        }
        let received = received?;
        connection.served += 1;
        connection.is_http11 = received.facts.protocol == Protocol::Http11;
        connection.was_empty = received.facts.framing == Framing::None;
        if received.reusable && !self.shared.faults.has(&connection.origin) {
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
            protocol: received.facts.protocol,
            head,
            raw_body: received.raw_body,
            payload: received.payload,
            body,
        })
    }
}

/// Whether an outcome shows that a server cannot be trusted to end its responses where it says.
pub(crate) fn is_doubtful(outcome: &Result<Received, Failure>) -> bool {
    match outcome {
        Ok(received) => received.doubtful,
        Err(failure) => *failure == Failure::BadResponse,
    }
}

/// What came of a response that was cut off, without looking into it.
fn as_received(received: Received) -> Response {
    Response {
        status: received.facts.status,
        protocol: received.facts.protocol,
        head: Head::new(received.head),
        body: received.payload.clone(),
        raw_body: received.raw_body,
        payload: received.payload,
    }
}

fn wall_clock() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
