//! One request and its response over one HTTP/1 connection.
//!
//! Promise: one write per request; the response is read into one buffer that becomes its head and body without copying,
//! and that a small response holds as well as a large one, until [`crate::Fetcher::reuse`] takes it back;
//! memory follows what arrived, not what was announced; every way this can end badly is a [`Failure`].

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
};

use bytes::{Buf, Bytes, BytesMut};
use lycosa_types::Failure;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

use crate::{
    chunked::{ChunkedData, ChunkedReader},
    head::{self, Framing, HeadFacts},
    options::Limits,
    spare::Spare,
    stream::Stream,
    watch::Watch,
};

/// At least this much room for every further read.
const NEXT_READ_BYTES: usize = 16 * 1024;
/// An announced length is believed up to here; beyond, the buffer grows fourfold as bytes arrive.
const TRUSTED_LENGTH_BYTES: usize = 1024 * 1024;
/// Room beyond the announced end, so that a read comes back short: that shows an intruding byte and spares the
/// runtime a read that finds nothing.
const SPARE_BYTES: usize = 64;
/// Interim (1xx) responses before the real one.
const MAX_INTERIM_RESPONSES: usize = 8;

/// A whole response as it came.
#[derive(Debug)]
pub(crate) struct Received {
    pub facts: HeadFacts,
    pub head: Bytes,
    pub raw_body: Bytes,
    pub payload: Bytes,
    /// The connection may carry another request, or the next response.
    pub reusable: bool,
    /// What arrived of the next response.
    pub beyond: Option<BytesMut>,
    /// The connection ended before the body did: this is a part of it.
    pub cut: bool,
    /// The server leaves in doubt where its responses end: nothing more may be asked over its connections.
    pub doubtful: bool,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Bytes,
    /// The other side said that no more comes.
    End,
    /// The connection is gone, and it may have taken bytes with it.
    Cut,
}

/// How far an exchange got, whatever its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub sent: Option<Instant>,
    pub first_byte: Option<Instant>,
    pub bytes_received: u64,
}

pub(crate) struct Exchange<'a, 'w> {
    pub stream: &'a mut Stream,
    pub limits: &'a Limits,
    pub spare: &'a Spare,
    pub watch: &'a mut Watch<'w>,
    pub progress: &'a mut Progress,
    /// The responses to further requests follow on this connection.
    pub followed: bool,
}

impl Exchange<'_, '_> {
    pub async fn run(mut self, request_head: &[u8]) -> Result<Received, Failure> {
        self.send(request_head).await?;
        self.receive(None).await
    }

    /// Receives the response to a request that was sent before; `begun` is what arrived of it already.
    pub async fn receive(mut self, begun: Option<BytesMut>) -> Result<Received, Failure> {
        let mut buffer = match begun {
            Some(begun) => begun,
            None => {
                self.wait().await?;
                self.spare.take()
            }
        };
        let (facts, head_len) = self.read_head(&mut buffer).await?;
        match facts.framing {
            Framing::None => self.finish(facts, buffer, head_len, head_len),
            Framing::Length(length) => self.read_length(facts, buffer, head_len, length).await,
            Framing::Chunked => self.read_chunked(facts, buffer, head_len).await,
            Framing::UntilClose => self.read_until_close(facts, buffer, head_len).await,
        }
    }

    async fn send(&mut self, request_head: &[u8]) -> Result<(), Failure> {
        let now = Instant::now();
        self.progress.sent = Some(now);
        self.watch.sending(now);
        let stream = &mut *self.stream;
        let sent = self
            .watch
            .guard(async {
                stream.write_all(request_head).await?;
                // A plain socket has nothing to flush.
                if stream.is_tls() { stream.flush().await } else { Ok(()) }
            })
            .await?;
        sent.map_err(|error| io_failure(&error))
    }

    /// Waits for the first bytes, so that no buffer lies idle meanwhile.
    async fn wait(&mut self) -> Result<(), Failure> {
        let Stream::Plain(stream) = &*self.stream else { return Ok(()) };
        let ready = self.watch.guard(stream.readable()).await?;
        ready.map_err(|error| io_failure(&error))
    }

    /// Reads once.
    async fn read(&mut self, buffer: &mut BytesMut) -> Result<Got, Failure> {
        let stream = &mut *self.stream;
        let reading = poll_fn(|cx| {
            let got = pin!(stream.read_buf(buffer)).poll(cx);
            if got.is_pending() && !buffer.is_empty() {
                stream.acknowledge();
            }
            got
        });
        let got = match self.watch.guard(reading).await? {
            Ok(0) => return Ok(Got::End),
            Ok(got) => got,
            // A reset, or a TLS peer that hangs up without a goodbye: a network can do that in its place.
            Err(error) if io_failure(&error) == Failure::ConnectionLost => return Ok(Got::Cut),
            Err(error) => return Err(io_failure(&error)),
        };
        self.progress.bytes_received += got as u64;
        if let Some(now) = self.watch.arrived(got) {
            self.progress.first_byte = Some(now);
        }
        Ok(Got::Bytes)
    }

    async fn read_head(&mut self, buffer: &mut BytesMut) -> Result<(HeadFacts, usize), Failure> {
        let mut scanned = 0;
        let mut interim = 0;
        loop {
            while let Some(end) = head::find_end(buffer, &mut scanned) {
                if end > self.limits.header_bytes {
                    return Err(Failure::HeaderTooLarge);
                }
                let raw = buffer.get(..end).unwrap_or_default();
                let facts = head::parse(raw, self.limits.header_fields)?;
                match facts.status {
                    101 => return Err(Failure::BadResponse),
                    100..=199 => {
                        interim += 1;
                        if interim > MAX_INTERIM_RESPONSES {
                            return Err(Failure::BadResponse);
                        }
                        buffer.advance(end);
                        scanned = 0;
                    }
                    _ => return Ok((facts, end)),
                }
            }
            if !starts_like_http(buffer) {
                return Err(Failure::BadResponse);
            }
            if buffer.len() > self.limits.header_bytes {
                return Err(Failure::HeaderTooLarge);
            }
            grow(buffer, NEXT_READ_BYTES);
            if self.read(buffer).await? != Got::Bytes {
                return Err(Failure::ConnectionLost);
            }
        }
    }

    async fn read_length(
        &mut self,
        facts: HeadFacts,
        mut buffer: BytesMut,
        head_len: usize,
        length: u64,
    ) -> Result<Received, Failure> {
        let announced = usize::try_from(length).ok().filter(|length| *length <= self.limits.body_bytes);
        let Some(length) = announced.or(self.limits.cut_body.then_some(self.limits.body_bytes)) else {
            return Err(Failure::BodyTooLarge);
        };
        let end = head_len + length;
        while buffer.len() < end {
            let missing = end - buffer.len() + SPARE_BYTES;
            if buffer.capacity() - buffer.len() < missing {
                let step = TRUSTED_LENGTH_BYTES.max(3 * buffer.len());
                grow(&mut buffer, missing.min(step));
            }
            if self.read(&mut buffer).await? != Got::Bytes {
                return self.finish_cut(facts, buffer, head_len);
            }
        }
        if announced.is_none() {
            return self.finish_at_limit(facts, buffer, head_len);
        }
        self.finish(facts, buffer, head_len, end)
    }

    async fn read_chunked(
        &mut self,
        facts: HeadFacts,
        mut buffer: BytesMut,
        head_len: usize,
    ) -> Result<Received, Failure> {
        let mut reader = ChunkedReader::new();
        let mut is_whole = true;
        while !reader.advance(buffer.get(head_len..).unwrap_or_default())? {
            if buffer.len() - head_len > self.limits.body_bytes {
                is_whole = false;
                break;
            }
            grow(&mut buffer, NEXT_READ_BYTES);
            if self.read(&mut buffer).await? != Got::Bytes {
                return self.finish_cut(facts, buffer, head_len);
            }
        }
        let end = head_len + reader.consumed();
        is_whole &= end - head_len <= self.limits.body_bytes;
        if !is_whole && !self.limits.cut_body {
            return Err(Failure::BodyTooLarge);
        }
        let end = if is_whole { end } else { buffer.len() };
        let mut received = self.finish(facts, buffer, head_len, end)?;
        received.reusable &= is_whole;
        received.payload = match reader.into_data() {
            ChunkedData::Slice(range) => received.raw_body.slice(range),
            ChunkedData::Joined(data) => Bytes::from(data),
        };
        Ok(received)
    }

    async fn read_until_close(
        &mut self,
        facts: HeadFacts,
        mut buffer: BytesMut,
        head_len: usize,
    ) -> Result<Received, Failure> {
        loop {
            if buffer.len() - head_len > self.limits.body_bytes {
                if self.limits.cut_body {
                    return self.finish_at_limit(facts, buffer, head_len);
                }
                return Err(Failure::BodyTooLarge);
            }
            grow(&mut buffer, NEXT_READ_BYTES);
            match self.read(&mut buffer).await? {
                Got::Bytes => {}
                Got::End => {
                    let end = buffer.len();
                    return self.finish(facts, buffer, head_len, end);
                }
                // Nothing but a proper end says that this was all (RFC 9112, section 9.8).
                Got::Cut => return self.finish_cut(facts, buffer, head_len),
            }
        }
    }

    /// The body is longer than is read of it.
    fn finish_at_limit(
        &mut self,
        facts: HeadFacts,
        mut buffer: BytesMut,
        head_len: usize,
    ) -> Result<Received, Failure> {
        buffer.truncate(head_len + self.limits.body_bytes);
        let end = buffer.len();
        let received = self.finish(facts, buffer, head_len, end)?;
        Ok(Received { reusable: false, ..received })
    }

    /// The connection ended within the body.
    fn finish_cut(
        &mut self,
        facts: HeadFacts,
        buffer: BytesMut,
        head_len: usize,
    ) -> Result<Received, Failure> {
        let end = buffer.len();
        let received = self.finish(facts, buffer, head_len, end)?;
        Ok(Received { cut: true, reusable: false, ..received })
    }

    fn finish(
        &mut self,
        facts: HeadFacts,
        mut buffer: BytesMut,
        head_len: usize,
        end: usize,
    ) -> Result<Received, Failure> {
        // Bytes beyond the last response were never asked for: whatever they are, the next request must not meet them.
        let doubtful = facts.doubtful || (!self.followed && buffer.len() > end);
        let reusable = facts.keep_alive && !doubtful;
        // Responses that came together share their memory.
        let beyond = (reusable && buffer.len() > end).then(|| buffer.split_off(end));
        self.progress.bytes_received -= beyond.as_ref().map_or(0, BytesMut::len) as u64;
        let mut raw_body = buffer.freeze();
        raw_body.truncate(end);
        let head = raw_body.split_to(head_len);
        let payload = raw_body.clone();
        Ok(Received { facts, head, payload, raw_body, reusable, beyond, cut: false, doubtful })
    }
}

/// Makes room for at least `bytes` more, doubling a buffer that is full.
fn grow(buffer: &mut BytesMut, bytes: usize) {
    if buffer.capacity() - buffer.len() < bytes.min(NEXT_READ_BYTES) {
        buffer.reserve(bytes.max(buffer.len().min(TRUSTED_LENGTH_BYTES)));
    }
}

/// Whether these first bytes can become a status line.
fn starts_like_http(buffer: &[u8]) -> bool {
    let shown = buffer.len().min(5);
    buffer.get(..shown) == b"HTTP/".get(..shown)
}

fn io_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::InvalidData => Failure::TlsError,
        _ => Failure::ConnectionLost,
    }
}
