//! What to do about a visit that failed, and the failed seeds of a crawl told to people.

use lycosa_engine::seeds::{FailedSeed, SeedFigures};
use lycosa_types::{CanonUrl, Exclusion, Failure, Outcome};

use crate::figures::{count, plural};

/// Why a visit ended without a page, and what can be done.
pub fn of_outcome(outcome: &Outcome, url: &str) -> String {
    match outcome {
        Outcome::Fetched { status } => format!("fetched with status {status}"),
        Outcome::NotModified => "unchanged since the last visit".to_owned(),
        Outcome::Missing { status: status @ (401 | 403 | 407) } => {
            format!("the server answered {status}: it does not let this crawler in; ask its owner, and name yourself with --contact")
        }
        Outcome::Missing { status } => {
            format!("the server answered {status}: there is nothing at this address; look for a typing error")
        }
        Outcome::Redirected { status, to } => format!(
            "it redirects ({status}) to {to}, which is not part of the crawl; start there, or widen the crawl with --scope domain or --scope any"
        ),
        Outcome::Excluded(Exclusion::Robots { line: 0, .. }) => {
            "robots.txt could not be read, so nothing may be asked for; try again later, or use --ignore-robots on a site of your own"
                .to_owned()
        }
        Outcome::Excluded(Exclusion::Robots { line, rule }) => format!(
            "robots.txt forbids it in line {line} (Disallow: {rule}); start at a page that it allows, or use --ignore-robots on a site of your own"
        ),
        Outcome::Excluded(Exclusion::HostErrors { failures }) => format!(
            "the host failed {} in a row and was given up; the same command tries it again",
            plural(u64::from(*failures), "time", "times")
        ),
        Outcome::Excluded(Exclusion::HostBudget { pages }) => {
            format!("the host had its {pages} pages; raise politeness.max_pages_per_host")
        }
        Outcome::Excluded(Exclusion::Port { port }) => format!(
            "port {port} belongs to another service than the web's; if a web server stands there, add --set fetch.allow_ports=[{port}]"
        ),
        Outcome::Excluded(Exclusion::Endless { pages }) => {
            format!("{pages} pages of its path were fetched, and the last ones said nothing new")
        }
        Outcome::Excluded(Exclusion::Mirror { of }) => format!("its host repeats the pages of {of}"),
        Outcome::Failed(failure) => of_failure(*failure, url),
    }
}

/// The same for a visit without a usable response.
pub fn of_failure(failure: Failure, url: &str) -> String {
    let host = host_of(url);
    match failure {
        Failure::PrivateAddress => format!(
            "its address is in a private network, which is closed; open it with --allow-net {}",
            network_of(&host)
        ),
        Failure::DnsNoAddress => {
            format!(
                "{failure}: no name server knows an address of {host}; look for a typing error, or give one with --resolve"
            )
        }
        Failure::DnsTimeout | Failure::DnsError => {
            format!(
                "{failure}: the name server did not tell the address of {host}; check the network, or give one with --resolve"
            )
        }
        Failure::ConnectRefused => {
            format!("{failure}: no program takes connections there; check the port, and http:// or https://")
        }
        Failure::ConnectTimeout | Failure::ConnectError => {
            format!("{failure}: {host} cannot be reached from here; check the network")
        }
        Failure::TlsError => {
            format!(
                "{failure}: this is no TLS port, or one with protocols or keys that are too weak; try http://"
            )
        }
        Failure::Certificate(_) => format!(
            "{failure}: the certificate was not accepted; trust its authority with --ca FILE, or, for a server of your own, \
             --set fetch.accept_invalid_certs=true"
        ),
        Failure::FirstByteTimeout | Failure::TotalTimeout | Failure::TooSlow => {
            format!("{failure}: the server was too slow; the same command tries again")
        }
        Failure::Overloaded { .. } | Failure::ServerError { .. } | Failure::ConnectionLost => {
            format!("{failure}: the server is in trouble; the same command tries again")
        }
        _ => failure.to_string(),
    }
}

fn host_of(url: &str) -> String {
    // Whatever is no URL has no host to be told.
    if !url.starts_with("http") {
        return "the host".to_owned();
    }
    CanonUrl::from_canonical(url.to_owned()).host().to_owned()
}

/// The network that has to be opened for a host.
fn network_of(host: &str) -> &'static str {
    use std::net::IpAddr;
    let name = host.trim_start_matches('[').trim_end_matches(']');
    if name == "localhost" || name.ends_with(".localhost") {
        return "127.0.0.0/8";
    }
    match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => match address.octets() {
            [127, ..] => "127.0.0.0/8",
            [10, ..] => "10.0.0.0/8",
            [192, 168, ..] => "192.168.0.0/16",
            [172, 16..=31, ..] => "172.16.0.0/12",
            [169, 254, ..] => "169.254.0.0/16",
            [100, 64..=127, ..] => "100.64.0.0/10",
            _ => "and its network, for instance 10.0.0.0/8",
        },
        Ok(IpAddr::V6(address)) if address.is_loopback() => "::1/128",
        Ok(IpAddr::V6(address)) if address.segments()[0] & 0xfe00 == 0xfc00 => "fc00::/7",
        Ok(IpAddr::V6(address)) if address.segments()[0] & 0xffc0 == 0xfe80 => "fe80::/10",
        _ => "and its network, for instance 127.0.0.0/8 or 10.0.0.0/8",
    }
}

/// Each failed seed with why and what to do; nothing if none failed.
pub fn of_seeds(seeds: &SeedFigures) -> String {
    if seeds.failed == 0 {
        return String::new();
    }
    let head = match (seeds.seeds, seeds.failed) {
        (1, 1) => "the seed led to no page".to_owned(),
        (all, failed) if failed == all => format!("none of the {} seeds led to a page", count(all)),
        (all, failed) => format!("{} of {} led to no page", count(failed), plural(all, "seed", "seeds")),
    };
    let mut out = format!("{head}\n");
    for FailedSeed { url, at, outcome } in &seeds.named {
        let there = at.as_deref().unwrap_or(url);
        let way = at.as_ref().map(|at| format!(" (redirected to {at})")).unwrap_or_default();
        out.push_str(&format!("  {url}{way}\n    {}\n", of_outcome(outcome, there)));
    }
    let more = seeds.failed.saturating_sub(seeds.named.len() as u64);
    if more > 0 {
        out.push_str(&format!("  and {} more; `lycosa export -f urls` lists all\n", count(more)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_to_open_is_named() {
        for (url, network) in [
            ("http://127.0.0.1:8000/", "127.0.0.0/8"),
            ("http://localhost/", "127.0.0.0/8"),
            ("http://10.1.2.3/", "10.0.0.0/8"),
            ("http://172.20.0.1/", "172.16.0.0/12"),
            ("http://192.168.1.1/", "192.168.0.0/16"),
            ("http://[::1]/", "::1/128"),
            ("http://intranet.example/", "for instance 127.0.0.0/8"),
        ] {
            let told = of_failure(Failure::PrivateAddress, url);
            assert!(told.contains(network) && told.contains("--allow-net"), "{told}");
        }
    }
}
