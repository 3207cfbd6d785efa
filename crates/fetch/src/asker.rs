//! One thread's way to the name servers.

use std::{
    cell::OnceCell,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    Resolver, TokioResolver,
    config::{
        ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
    },
    net::{NetError, runtime::TokioRuntimeProvider},
};
use lycosa_types::Failure;

use crate::dns::{Addresses, DnsOptions};

/// Addresses kept per name.
const MAX_ADDRESSES: usize = 16;

/// The resolver of one thread. Its sockets belong to that thread's runtime, which is why it is not shared.
#[derive(Debug, Default)]
pub(crate) struct Asker {
    prefer_ipv6: bool,
    resolver: OnceCell<Option<TokioResolver>>,
}

impl Asker {
    pub fn new(prefer_ipv6: bool) -> Self {
        Self { prefer_ipv6, resolver: OnceCell::new() }
    }

    /// Asks for a name's addresses and how long they hold. Bounded neither in time nor in number: the stage is.
    pub async fn ask(&self, options: &DnsOptions, host: &str) -> (Addresses, Option<Duration>) {
        let Some(resolver) = self.resolver.get_or_init(|| self.build(options)) else {
            return (Err(Failure::DnsError), None);
        };
        // A trailing dot spares the search domains; a single label may need them.
        let name = if host.contains('.') { format!("{host}.") } else { host.to_owned() };
        match resolver.lookup_ip(name).await {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(std::time::Instant::now());
                let addresses: Arc<[IpAddr]> = found.iter().take(MAX_ADDRESSES).collect();
                if addresses.is_empty() {
                    return (Err(Failure::DnsNoAddress), None);
                }
                (Ok(addresses), Some(ttl))
            }
            Err(error) => (Err(failure_of(&error)), None),
        }
    }

    fn build(&self, options: &DnsOptions) -> Option<TokioResolver> {
        let mut builder = if options.servers.is_empty() {
            TokioResolver::builder_tokio().ok()?
        } else {
            let servers = options.servers.iter().map(name_server).collect();
            let config = ResolverConfig::from_name_servers(servers);
            Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let ResolverOpts { ip_strategy, cache_size, use_hosts_file, .. } = builder.options_mut();
        // One family is enough for a crawl, and halves the questions.
        *ip_strategy =
            if self.prefer_ipv6 { LookupIpStrategy::Ipv6thenIpv4 } else { LookupIpStrategy::Ipv4thenIpv6 };
        // The cache that counts is the shared one.
        *cache_size = 0;
        *use_hosts_file = ResolveHosts::Auto;
        builder.build().ok()
    }
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let on_port = |mut connection: ConnectionConfig| {
        connection.port = address.port();
        connection
    };
    let connections = vec![on_port(ConnectionConfig::udp()), on_port(ConnectionConfig::tcp())];
    NameServerConfig::new(address.ip(), true, connections)
}

fn failure_of(error: &NetError) -> Failure {
    match error {
        _ if error.is_nx_domain() => Failure::DnsNoAddress,
        // Without a response code this is "the name exists, but not with an address".
        _ if error.is_no_records_found() => Failure::DnsNoAddress,
        NetError::Timeout => Failure::DnsTimeout,
        _ => Failure::DnsError,
    }
}
