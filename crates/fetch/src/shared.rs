//! What all fetchers of a process share: the network guard, static answers, the DNS cache, the TLS configuration and
//! the count of open connections.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    dns::{Dns, DnsOptions},
    faults::Faults,
    guard::NetGuard,
    overrides::Overrides,
    tls::{Tls, TlsOptions, TlsSetupError},
};

/// What the shared parts are told.
#[derive(Clone, Debug, Default)]
pub struct SharedOptions {
    pub guard: NetGuard,
    /// Ports that are asked although browsers refuse them.
    pub allow_ports: Vec<u16>,
    pub overrides: Overrides,
    pub dns: DnsOptions,
    pub tls: TlsOptions,
}

/// Made once, then handed to every [`crate::Fetcher`].
pub struct Shared {
    pub(crate) guard: NetGuard,
    pub(crate) allow_ports: Vec<u16>,
    pub(crate) overrides: Overrides,
    pub(crate) dns: Dns,
    pub(crate) tls: Tls,
    pub(crate) http2: bool,
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) faults: Faults,
}

impl Shared {
    /// Fails only on root certificates that cannot be used.
    pub fn new(options: SharedOptions) -> Result<Arc<Self>, TlsSetupError> {
        Ok(Arc::new(Self {
            tls: Tls::new(&options.tls)?,
            http2: options.tls.http2,
            guard: options.guard,
            allow_ports: options.allow_ports,
            overrides: options.overrides,
            dns: Dns::new(options.dns),
            open: Arc::default(),
            faults: Faults::default(),
        }))
    }

    /// Connections open now, over all fetchers.
    pub fn open_connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Servers that left in doubt where a response ends. Each request to them gets a connection of its own.
    pub fn doubtful_servers(&self) -> usize {
        self.faults.count()
    }

    /// Host names that were seen to resolve to this address; some of them, where there are many.
    pub fn names_of(&self, address: IpAddr) -> Vec<Box<str>> {
        self.dns.names_of(address)
    }
}
