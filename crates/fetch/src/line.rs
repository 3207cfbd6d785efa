//! Several requests sent at once over one kept connection (HTTP/1.1 pipelining).
//!
//! Promise: every request has a visit of its own, in order. One whose answer did not come because of the company it was
//! in is sent again, alone; and a server that lost an answer so gets its requests one at a time from then on.

use bytes::{Bytes, BytesMut};
use lycosa_types::Failure;
use tokio::time::Instant;

use crate::{
    exchange::{Exchange, Progress, Received},
    fetcher::{Begin, Fetcher, Trace, is_doubtful},
    head::Framing,
    pool::Connection,
    request::Request,
    response::Visit,
    watch::Watch,
};

/// Room for the heads of a few ordinary requests, and for where they end.
const FIRST_HEADS_BYTES: usize = 1024;
const FIRST_HEADS: usize = 4;
/// No further request joins a line whose heads are this long: what the two systems keep for a connection must hold them, for
/// a server that cannot get rid of an answer hears no more requests, and nobody takes answers while requests are sent.
const MOST_HEADS_BYTES: usize = 8 * 1024;
/// Origins remembered for having broken a line.
pub(crate) const BROKEN_LINES: usize = 4096;

/// Requests to one origin on their way together; see [`Fetcher::fetch_in_line`].
#[derive(Debug, Default)]
pub struct Line {
    sent: Option<Sent>,
    /// Requests next in line that were sent in vain.
    lost: usize,
}

#[derive(Debug)]
struct Sent {
    connection: Connection,
    begin: Begin,
    /// Heads of the requests that have no answer yet.
    heads: std::vec::IntoIter<Bytes>,
    /// What arrived of the next answer.
    begun: Option<BytesMut>,
}

impl Fetcher {
    /// Visits a URL; where a connection to its origin is kept, the requests that follow are sent along, as far as there is room.
    /// They must be of the same origin, and each of them must be the next that is fetched in this line.
    pub async fn fetch_in_line<'r>(
        &self,
        line: &mut Line,
        request: &Request<'_>,
        following: impl Iterator<Item = Request<'r>>,
    ) -> Visit {
        if line.lost > 0 {
            line.lost -= 1;
            return self.fetch_with(request, Trace { resent: true, ..Trace::default() }).await;
        }
        let (sent, heads) = match line.sent.take() {
            Some(sent) => (sent, None),
            None => match self.line_up(request, following).await {
                Some((sent, heads)) => (sent, Some(heads)),
                None => return self.fetch(request).await,
            },
        };
        self.receive_next(line, request, sent, heads).await
    }

    /// A connection and the heads to send over it, one by one and as one.
    async fn line_up<'r>(
        &self,
        request: &Request<'_>,
        following: impl Iterator<Item = Request<'r>>,
    ) -> Option<(Sent, Bytes)> {
        let origin = request.url.origin();
        let mut following = following.peekable();
        following.peek()?;
        if self.broken_lines.borrow_mut().get(origin).is_some() {
            return None;
        }
        let connection = self.pool.take(origin, &self.shared().faults).await?;
        if !connection.is_http11 {
            self.pool.put(connection);
            return None;
        }
        let begin = Begin::now();
        let (mut heads, mut ends) = (Vec::with_capacity(FIRST_HEADS_BYTES), Vec::with_capacity(FIRST_HEADS));
        self.common.append_head(request, &mut heads);
        ends.push(heads.len());
        for request in following {
            if heads.len() >= MOST_HEADS_BYTES {
                break;
            }
            self.common.append_head(&request, &mut heads);
            ends.push(heads.len());
        }
        let all = Bytes::from(heads);
        let mut start = 0;
        let heads: Vec<Bytes> =
            ends.into_iter().map(|end| all.slice(std::mem::replace(&mut start, end)..end)).collect();
        Some((Sent { connection, begin, heads: heads.into_iter(), begun: None }, all))
    }

    /// The visit whose answer is next on a connection; `heads` is what has still to be sent.
    async fn receive_next(
        &self,
        line: &mut Line,
        request: &Request<'_>,
        mut sent: Sent,
        heads: Option<Bytes>,
    ) -> Visit {
        let mut trace = Trace { ip: Some(sent.connection.ip), reused_connection: true, ..Trace::default() };
        let head = sent.heads.next().unwrap_or_default();
        let begin = sent.begin;
        let outcome = self.exchange_in_line(&mut sent, heads.as_deref(), &mut trace.progress).await;
        line.lost = sent.heads.len();
        if is_doubtful(&outcome) {
            self.shared().faults.note(request.url.origin());
        }
        match outcome {
            Ok(received) if received.cut => self.fetch_alone(request, heads.is_some(), &trace, sent).await,
            Ok(mut received) => {
                sent.connection.served += 1;
                sent.connection.was_empty = received.facts.framing == Framing::None;
                let origin = request.url.origin();
                if received.reusable && !(sent.heads.len() == 0 && self.shared().faults.has(origin)) {
                    line.lost = 0;
                    if sent.heads.len() == 0 {
                        self.pool.put(sent.connection);
                    } else {
                        sent.begun = received.beyond.take();
                        line.sent = Some(sent);
                    }
                }
                self.conclude(Ok(received), head, begin, trace)
            }
            Err(failure) if is_lost(failure, heads.is_some()) => {
                self.fetch_alone(request, heads.is_some(), &trace, sent).await
            }
            Err(failure) => self.conclude(Err(failure), head, begin, trace),
        }
    }

    /// Asks again for what may be missing because of the requests beside it.
    async fn fetch_alone(&self, request: &Request<'_>, is_first: bool, trace: &Trace, sent: Sent) -> Visit {
        let was_stale = is_first && trace.progress.bytes_received == 0;
        if !was_stale {
            self.broken_lines.borrow_mut().insert(request.url.origin().into(), ());
        }
        drop(sent);
        self.fetch_with(request, Trace { resent: true, ..Trace::default() }).await
    }

    async fn exchange_in_line(
        &self,
        sent: &mut Sent,
        heads: Option<&[u8]>,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let limits = &self.options().limits;
        let now = Instant::now();
        let connection = &mut sent.connection;
        let mut watch = Watch::new(limits, now + limits.total, connection.timer.as_mut());
        let begun = sent.begun.take();
        if heads.is_none() {
            progress.sent = Some(sent.begin.at);
            watch.sending(now);
            match &begun {
                Some(begun) => {
                    progress.bytes_received = begun.len() as u64;
                    progress.first_byte = watch.arrived(begun.len());
                }
                None => connection.stream.acknowledge(),
            }
        }
        let exchange = Exchange {
            stream: &mut connection.stream,
            limits,
            spare: &self.spare,
            watch: &mut watch,
            progress,
            followed: sent.heads.len() > 0,
        };
        match heads {
            Some(heads) => exchange.run(heads).await,
            None => exchange.receive(begun).await,
        }
    }
}

/// Whether an answer may be missing because of the requests beside it. The first one in line is as late as it would be
/// alone.
fn is_lost(failure: Failure, is_first: bool) -> bool {
    match failure {
        Failure::ConnectionLost | Failure::Truncated | Failure::BadResponse => true,
        Failure::FirstByteTimeout => !is_first,
        _ => false,
    }
}
