//! HTTP/2: many requests of one origin over one connection.
//!
//! HTTP/2 has no head as bytes, so one is synthesised in the form of HTTP/1.1, which is what archives hold and tools
//! read; [`Protocol::Http2`] on the response says so. All limits hold as for HTTP/1.

use std::{cell::Cell, net::IpAddr, rc::Rc, time::Duration};

use bytes::{Bytes, BytesMut};
use h2::client::{Builder, SendRequest};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use lycosa_types::Failure;
use tokio::{net::TcpStream, sync::oneshot, time::Instant};
use tokio_rustls::client::TlsStream;

use crate::{
    exchange::{Progress, Received},
    head::{Framing, HeadFacts},
    options::Limits,
    pool::Slot,
    request::{CommonFields, Request},
    response::Protocol,
    watch::Watch,
};

/// What a server may send on one stream before it is read.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// What a server may send on one connection before it is read.
const CONNECTION_WINDOW_BYTES: u32 = 8 * 1024 * 1024;
/// Streams under way on one connection, where the server allows more.
const MAX_STREAMS: usize = 100;
/// How long a connection that nobody uses may take to close, before it is cut.
const MAX_GOODBYE: Duration = Duration::from_secs(5);

/// One open connection.
#[derive(Debug)]
pub(crate) struct Session {
    origin: Box<str>,
    pub ip: IpAddr,
    send: SendRequest<Bytes>,
    streams: Cell<usize>,
    last_used: Cell<Instant>,
    /// Gone with the session: the connection then has little time left.
    _in_use: oneshot::Sender<()>,
}

/// Whether the server chose HTTP/2 in the handshake.
pub(crate) fn was_chosen(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

impl Session {
    /// Opens a session on a fresh connection. The slot is held until the connection is closed, which happens when
    /// the last user of the session is gone.
    pub async fn open(
        stream: TlsStream<TcpStream>,
        origin: &str,
        ip: IpAddr,
        limits: &Limits,
        slot: Slot,
    ) -> Result<Rc<Self>, Failure> {
        let (send, connection) = Builder::new()
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .handshake(stream)
            .await
            .map_err(|error| failure_of(&error))?;
        let (in_use, unused) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let _slot = slot;
            let unwanted = async {
                let _ = unused.await;
                tokio::time::sleep(MAX_GOODBYE).await;
            };
            // How the connection ended shows in the streams that were under way.
            tokio::select! {
                _ = connection => {}
                () = unwanted => {}
            }
        });
        Ok(Rc::new(Self {
            origin: origin.into(),
            ip,
            send,
            streams: Cell::new(0),
            last_used: Cell::new(Instant::now()),
            _in_use: in_use,
        }))
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// No request is under way.
    pub fn is_idle(&self) -> bool {
        self.streams.get() == 0
    }

    pub fn has_room(&self) -> bool {
        self.streams.get() < MAX_STREAMS
    }

    pub fn last_used(&self) -> Instant {
        self.last_used.get()
    }

    /// One request and its response.
    pub async fn exchange(
        &self,
        request: &Request<'_>,
        common: &CommonFields,
        limits: &Limits,
        watch: &mut Watch<'_>,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let _stream = StreamCount::new(&self.streams);
        self.last_used.set(Instant::now());
        let now = Instant::now();
        progress.sent = Some(now);
        watch.sending(now);
        let message = message(request, common)?;
        let asked = async {
            let mut send = self.send.clone().ready().await?;
            send.send_request(message, true)?.0.await
        };
        let response = watch.guard(asked).await?.map_err(|error| failure_of(&error))?;
        let (parts, mut stream) = response.into_parts();
        if parts.headers.len() > limits.header_fields {
            return Err(Failure::HeaderTooLarge);
        }
        let head = synthesise(parts.status, &parts.headers);
        progress.first_byte = Some(Instant::now());
        progress.bytes_received += head.len() as u64;
        watch.arrived(head.len());
        let mut body = Body::default();
        let mut cut = false;
        while let Some(data) = watch.guard(stream.data()).await? {
            let data = match data {
                Ok(data) => data,
                Err(error) if failure_of(&error) == Failure::ConnectionLost => {
                    cut = true;
                    break;
                }
                Err(error) => return Err(failure_of(&error)),
            };
            progress.bytes_received += data.len() as u64;
            watch.arrived(data.len());
            // A stream that is already closed needs no more room.
            let _ = stream.flow_control().release_capacity(data.len());
            body.push(data);
            if body.len() > limits.body_bytes {
                if limits.cut_body {
                    break;
                }
                return Err(Failure::BodyTooLarge);
            }
        }
        let payload = body.into_bytes();
        Ok(Received {
            facts: HeadFacts {
                status: parts.status.as_u16(),
                protocol: Protocol::Http2,
                framing: Framing::None,
                keep_alive: true,
                doubtful: false,
                encoded: parts.headers.contains_key(http::header::CONTENT_ENCODING),
            },
            head,
            raw_body: payload.clone(),
            payload,
            reusable: false,
            beyond: None,
            cut,
            doubtful: false,
        })
    }
}

/// Collects a body; one in a single piece is not copied.
#[derive(Default)]
struct Body {
    first: Bytes,
    joined: BytesMut,
}

impl Body {
    fn len(&self) -> usize {
        self.first.len().max(self.joined.len())
    }

    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

fn message(request: &Request<'_>, common: &CommonFields) -> Result<http::Request<()>, Failure> {
    let mut message = http::Request::new(());
    *message.uri_mut() = uri(request.url.as_str()).ok_or(Failure::BadResponse)?;
    *message.version_mut() = http::Version::HTTP_2;
    for (name, value) in common.fields(request) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            message.headers_mut().append(name, value);
        }
    }
    Ok(message)
}

/// A canonical URL may hold, in its query, characters that this type of URI does not take bare.
fn uri(url: &str) -> Option<Uri> {
    url.parse().ok().or_else(|| {
        let mut escaped = String::with_capacity(url.len() + 8);
        for c in url.chars() {
            match c {
                '`' | '<' | '>' | '"' | '{' | '}' | '|' | '^' | '\\' => {
                    escaped.push_str(&format!("%{:02X}", u32::from(c)))
                }
                _ => escaped.push(c),
            }
        }
        escaped.parse().ok()
    })
}

fn synthesise(status: StatusCode, fields: &HeaderMap) -> Bytes {
    let size: usize = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let mut head = Vec::with_capacity(size + 48);
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
    for (name, value) in fields {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    Bytes::from(head)
}

/// What the network did, or a server that took no notice of the request, is a loss, after which a request may be sent
/// again. A stream that the server broke off, or frames that break the protocol, are a bad response.
fn failure_of(error: &h2::Error) -> Failure {
    let untouched = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    // A farewell is an end; one that complains, or that this side had to send, tells of a broken protocol.
    let farewell = error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR);
    if error.is_io() || farewell || untouched { Failure::ConnectionLost } else { Failure::BadResponse }
}

/// Counts a stream, even if its fetch is dropped half-way.
struct StreamCount<'a>(&'a Cell<usize>);

impl<'a> StreamCount<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for StreamCount<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_odd_queries_can_be_asked_for() {
        for url in ["https://a.test/", "https://a.test/x?q=`a`|{b}", "https://[::1]:8443/%20?\"<>"] {
            assert!(uri(url).is_some(), "{url}");
        }
    }

    #[test]
    fn a_synthesised_head_reads_like_one() {
        let mut fields = HeaderMap::new();
        fields.append("content-type", HeaderValue::from_static("text/html"));
        fields.append("x-robots-tag", HeaderValue::from_static("noindex"));
        let head = synthesise(StatusCode::OK, &fields);
        assert_eq!(head, "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nx-robots-tag: noindex\r\n\r\n");
    }
}
