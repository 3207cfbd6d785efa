//! A byte stream to a server: plain or TLS. One type, so that nothing above it is generic or boxed.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

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

    /// Whether an idle stream can still be used, without asking the kernel unless it reported something: the other
    /// side may not speak between requests, so anything readable is an end or an intrusion.
    pub fn is_quiet(&mut self) -> bool {
        let mut byte = [0_u8; 1];
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut buffer = ReadBuf::new(&mut byte);
        Pin::new(self).poll_read(&mut context, &mut buffer).is_pending()
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
