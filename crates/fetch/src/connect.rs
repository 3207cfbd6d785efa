//! From a URL to an open connection: static answers, DNS, the network guard, TCP, TLS.
//!
//! Promise: no packet goes to an address that the guard refuses; addresses are tried in turn within one time limit.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use lycosa_types::{CanonUrl, Failure};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use crate::{asker::Asker, options::Limits, ports, shared::Shared, stream::Stream};

/// Addresses of one name that are tried before giving up.
const MAX_ATTEMPTS: usize = 4;

/// Where a URL's server is, by override or DNS, as far as the guard lets through. Never empty.
pub(crate) async fn addresses(
    shared: &Shared,
    asker: &Asker,
    url: &CanonUrl,
    dns_limit: Duration,
) -> Result<Vec<SocketAddr>, Failure> {
    let (host, port) = (url.host(), url.port());
    if ports::is_refused(port) && !shared.allow_ports.contains(&port) {
        return Err(Failure::RefusedPort { port });
    }
    let mut found = match shared.overrides.find(host, port) {
        Some(address) => vec![address],
        None => {
            let resolved = shared.dns.resolve(asker, host, dns_limit).await?;
            resolved.iter().map(|ip| SocketAddr::new(*ip, port)).collect()
        }
    };
    found.retain(|address| shared.guard.allows(address.ip()));
    if found.is_empty() {
        return Err(Failure::PrivateAddress);
    }
    found.truncate(MAX_ATTEMPTS);
    Ok(found)
}

/// Opens a connection; returns the address that answered, or the last one tried.
pub(crate) async fn connect(
    shared: &Shared,
    url: &CanonUrl,
    addresses: &[SocketAddr],
    limits: &Limits,
) -> (Option<IpAddr>, Result<Stream, Failure>) {
    let until = Instant::now() + limits.connect;
    let mut last = (None, Err(Failure::ConnectError));
    for (tried, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        let others = u32::try_from(addresses.len() - tried - 1).unwrap_or(0);
        // The last address may use all that is left; an earlier one leaves half for those after it.
        let share = if others > 0 { left / 2 } else { left };
        let outcome = match timeout_at(now + share, TcpStream::connect(*address)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(connect_failure(&error)),
            Err(_) => Err(Failure::ConnectTimeout),
        };
        match outcome {
            Ok(stream) => return (Some(address.ip()), secure(shared, url, stream, until).await),
            Err(failure) => last = (Some(address.ip()), Err(failure)),
        }
    }
    last
}

async fn secure(
    shared: &Shared,
    url: &CanonUrl,
    stream: TcpStream,
    until: Instant,
) -> Result<Stream, Failure> {
    // A request is one write; holding it back for company only delays it. A socket that refuses is slower, not broken.
    let _ = stream.set_nodelay(true);
    if !url.is_https() {
        return Ok(Stream::Plain(stream));
    }
    match timeout_at(until, shared.tls.connect(url.host(), stream)).await {
        Ok(secured) => secured.map(|stream| Stream::Tls(Box::new(stream))),
        Err(_) => Err(Failure::ConnectTimeout),
    }
}

fn connect_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Failure::ConnectRefused,
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        _ => Failure::ConnectError,
    }
}
