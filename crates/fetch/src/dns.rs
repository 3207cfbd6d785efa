//! Names to addresses: one bounded, cached stage shared by all fetchers.
//!
//! Promise: a name is looked up once however many ask at the same time; lookups under way are bounded; answers, good
//! and bad, are kept for their time to live within bounds; whatever goes wrong is one of the three DNS failures. A
//! machine without a resolver configuration gets [`Failure::DnsError`] per name, not an error at start.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use lycosa_types::Failure;
use tokio::{sync::Semaphore, time::Instant};

use crate::{asker::Asker, generations::Generations};

/// Names remembered per address: shared hosting puts thousands on one.
const MAX_NAMES_PER_ADDRESS: usize = 32;
/// Longest name that DNS can carry.
const MAX_NAME_BYTES: usize = 253;

/// How names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsOptions {
    /// Name servers to ask instead of the system's.
    pub servers: Vec<SocketAddr>,
    /// Answers kept. 65,536.
    pub cache_entries: usize,
    /// An answer is kept at least this long, whatever its time to live. 60 s.
    pub min_ttl: Duration,
    /// An answer is kept at most this long. 6 h.
    pub max_ttl: Duration,
    /// How long "no such name" is kept. 10 min.
    pub negative_ttl: Duration,
    /// How long a timeout or error is kept. 30 s.
    pub error_ttl: Duration,
    /// Lookups under way at once, over all fetchers. 64.
    pub concurrent_lookups: usize,
}

impl Default for DnsOptions {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            cache_entries: 65_536,
            min_ttl: Duration::from_secs(60),
            max_ttl: Duration::from_secs(6 * 3_600),
            negative_ttl: Duration::from_secs(600),
            error_ttl: Duration::from_secs(30),
            concurrent_lookups: 64,
        }
    }
}

/// What a name resolved to.
pub(crate) type Addresses = Result<Arc<[IpAddr]>, Failure>;

#[derive(Clone, Debug)]
struct Answer {
    addresses: Addresses,
    expires: Instant,
}

/// Filled by whoever asks first; the others wait on it.
type Pending = Arc<tokio::sync::OnceCell<Answer>>;

/// The stage itself, shared by all threads.
#[derive(Debug)]
pub(crate) struct Dns {
    options: DnsOptions,
    answers: Mutex<Generations<Box<str>, Pending>>,
    names: Mutex<Generations<IpAddr, Vec<Box<str>>>>,
    lookups: Semaphore,
}

impl Dns {
    pub fn new(options: DnsOptions) -> Self {
        Self {
            answers: Mutex::new(Generations::new(options.cache_entries)),
            names: Mutex::new(Generations::new(options.cache_entries)),
            lookups: Semaphore::new(options.concurrent_lookups.clamp(1, Semaphore::MAX_PERMITS)),
            options,
        }
    }

    /// The addresses of a host: a name, or an address written out.
    pub async fn resolve(&self, asker: &Asker, host: &str, limit: Duration) -> Addresses {
        if let Some(address) = literal(host) {
            return Ok(Arc::from([address]));
        }
        if is_localhost(host) {
            let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
            return Ok(Arc::from([v4, v6]));
        }
        if host.len() > MAX_NAME_BYTES {
            return Err(Failure::DnsNoAddress);
        }
        let pending = self.pending(host);
        let answer = pending.get_or_init(|| self.ask(asker, host, limit)).await;
        answer.addresses.clone()
    }

    fn pending(&self, host: &str) -> Pending {
        let mut answers = lock(&self.answers);
        match answers.get(host) {
            Some(known) if known.get().is_none_or(|answer| answer.expires > Instant::now()) => {
                Arc::clone(known)
            }
            _ => {
                let fresh = Pending::default();
                answers.insert(host.into(), Arc::clone(&fresh));
                fresh
            }
        }
    }

    async fn ask(&self, asker: &Asker, host: &str, limit: Duration) -> Answer {
        let _permit = self.lookups.acquire().await;
        let (addresses, ttl) = match tokio::time::timeout(limit, asker.ask(&self.options, host)).await {
            Ok(found) => found,
            Err(_) => (Err(Failure::DnsTimeout), None),
        };
        let ttl = match (&addresses, ttl) {
            (Ok(_), ttl) => ttl.unwrap_or_default().max(self.options.min_ttl).min(self.options.max_ttl),
            (Err(Failure::DnsNoAddress), _) => self.options.negative_ttl,
            (Err(_), _) => self.options.error_ttl,
        };
        if let Ok(found) = &addresses {
            self.remember(found, host);
        }
        Answer { addresses, expires: Instant::now() + ttl }
    }

    fn remember(&self, addresses: &[IpAddr], host: &str) {
        let mut names = lock(&self.names);
        for address in addresses {
            match names.get_mut(address) {
                Some(known)
                    if known.len() < MAX_NAMES_PER_ADDRESS && !known.iter().any(|one| **one == *host) =>
                {
                    known.push(host.into());
                }
                Some(_) => {}
                None => names.insert(*address, vec![host.into()]),
            }
        }
    }

    /// Names that were seen to resolve to this address; some of them, where there are many.
    pub fn names_of(&self, address: IpAddr) -> Vec<Box<str>> {
        lock(&self.names).get(&address).cloned().unwrap_or_default()
    }
}

/// Nothing done under these locks can leave them half-changed, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

/// RFC 6761: these never leave the machine.
fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_and_localhost_need_no_resolver() {
        let dns = Dns::new(DnsOptions::default());
        let asker = Asker::default();
        let limit = Duration::from_secs(1);
        let resolved = async |host: &str| dns.resolve(&asker, host, limit).await.unwrap().to_vec();
        assert_eq!(resolved("192.0.2.7").await, ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(resolved("[2001:db8::1]").await, ["2001:db8::1".parse::<IpAddr>().unwrap()]);
        assert_eq!(resolved("localhost").await.len(), 2);
        assert_eq!(resolved("a.localhost").await.len(), 2);
    }

    #[tokio::test]
    async fn a_name_too_long_for_dns_has_no_address() {
        let dns = Dns::new(DnsOptions::default());
        let long = "a.".repeat(130);
        let found = dns.resolve(&Asker::default(), &long, Duration::from_secs(1)).await;
        assert_eq!(found, Err(Failure::DnsNoAddress));
    }
}
