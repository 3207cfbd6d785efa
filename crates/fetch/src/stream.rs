//! A byte stream to a server: plain or TLS. One type, so that nothing above it is generic or boxed.

use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// An idle TLS connection that has more to say than this is not worth listening to.
const MOST_TLS_READS: usize = 16;

#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    // Boxed: the TLS state is large, and most connections of a crawl live in a pool.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Tells the other side at once what has arrived, where the system would wait a while for something to say it with: a
    /// server may hold the end of what it sends until then (Nagle's algorithm).
    pub fn acknowledge(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let stream = match self {
                Self::Plain(stream) => stream,
                Self::Tls(stream) => stream.get_ref().0,
            };
            // It saves time where it can be had.
            let _ = stream.set_quickack(true);
        }
    }

    /// What an idle stream has to say right now: the system itself is asked, for the event loop may not have heard yet of
    /// what came since it looked last.
    pub fn silence(&mut self) -> Silence {
        match self {
            Self::Plain(stream) => match waiting(stream) {
                Waiting::Nothing => Silence::Quiet,
                Waiting::Bytes => Silence::Broken,
                Waiting::End => Silence::Over,
            },
            Self::Tls(stream) => {
                let (socket, session) = stream.get_mut();
                for _ in 0..MOST_TLS_READS {
                    match session.process_new_packets() {
                        Ok(state) if state.plaintext_bytes_to_read() > 0 => return Silence::Broken,
                        Ok(state) if state.peer_has_closed() => return Silence::Over,
                        Ok(_) => {}
                        Err(_) => return Silence::Over,
                    }
                    match waiting(socket) {
                        Waiting::Nothing => return Silence::Quiet,
                        Waiting::End => return Silence::Over,
                        // Not all that TLS sends belongs to an answer: tickets for later sessions come at any time.
                        Waiting::Bytes => match session.read_tls(&mut &*SockRef::from(&*socket)) {
                            Ok(0) | Err(_) => return Silence::Over,
                            Ok(_) => {}
                        },
                    }
                }
                Silence::Over
            }
        }
    }
}

/// What a stream says on which no answer is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Nothing: it can be used.
    Quiet,
    /// The other side ended it.
    Over,
    /// Bytes that nobody asked for.
    Broken,
}

enum Waiting {
    Nothing,
    Bytes,
    End,
}

/// What the system holds for a socket, which it goes on holding.
fn waiting(stream: &TcpStream) -> Waiting {
    match SockRef::from(stream).peek(&mut [MaybeUninit::uninit()]) {
        Ok(0) => Waiting::End,
        Ok(_) => Waiting::Bytes,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Waiting::Nothing,
        Err(_) => Waiting::End,
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
