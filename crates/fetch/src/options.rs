//! Every limit and choice of a fetcher, with its default. A limit that is reached ends the visit in a
//! [`lycosa_types::Failure`] of its own.

use std::time::Duration;

use crate::robots::line::MAX_ROBOTS_BYTES;

/// How the crawler names itself: `lycosa/0.1.0 (+https://example.org/contact)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAgent {
    /// Also the token that robots.txt groups are matched against.
    pub product: String,
    pub version: String,
    /// A page or address that tells a site's owner whom to ask.
    pub contact: Option<String>,
}

impl Default for UserAgent {
    fn default() -> Self {
        Self { product: "lycosa".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), contact: None }
    }
}

impl UserAgent {
    /// The value of the `User-Agent` field. Bytes that have no place in a field value are left out.
    pub fn header_value(&self) -> String {
        let mut value = format!("{}/{}", self.product, self.version);
        if let Some(contact) = &self.contact {
            value.push_str(" (+");
            value.push_str(contact);
            value.push(')');
        }
        value.retain(|c| c == ' ' || c.is_ascii_graphic());
        value
    }
}

/// What a response may cost. Checked while bytes arrive, not after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the response head. 64 KiB.
    pub header_bytes: usize,
    /// Fields of the response head. 200; more than [`MAX_HEADER_FIELDS`] has no effect.
    pub header_fields: usize,
    /// Bytes of the body as sent, chunk framing included. 20 MiB.
    pub body_bytes: usize,
    /// Bytes of the body after content decoding. 40 MiB.
    pub decoded_bytes: usize,
    /// Decoded bytes per encoded byte, once [`Limits::ratio_floor_bytes`] are out. 200.
    pub decoded_ratio: usize,
    /// Decoded bytes below which the ratio is not looked at: small pages of blanks compress very well. 8 MiB.
    pub ratio_floor_bytes: usize,
    /// From asking the resolver to its answer. 10 s.
    pub dns: Duration,
    /// From the first SYN to a connection, TLS handshake included. 10 s.
    pub connect: Duration,
    /// From the request to the first byte of the response. 15 s.
    pub first_byte: Duration,
    /// From the start of the visit to its end. 120 s.
    pub total: Duration,
    /// How long a response may be slow before its rate is looked at. 10 s.
    pub slow_grace: Duration,
    /// The span over which the rate is averaged. 10 s.
    pub slow_window: Duration,
    /// Fewer bytes per second than this, averaged over a window, is too slow. 256; 0 switches the check off.
    pub slow_bytes_per_s: u64,
    /// A longer body is read up to `body_bytes` instead of failing, and its connection is closed.
    pub cut_body: bool,
}

impl Limits {
    /// These limits for a robots.txt: one that is too long, or endless, is read as far as any is (RFC 9309, section 2.5).
    pub fn for_robots(&self) -> Self {
        // The one byte beyond tells the reader that its last line is cut.
        Self { body_bytes: MAX_ROBOTS_BYTES + 1, cut_body: true, ..self.clone() }
    }
}

/// The most fields that a response head is ever parsed into.
pub const MAX_HEADER_FIELDS: usize = 256;

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 64 * 1024,
            header_fields: 200,
            body_bytes: 20 * 1024 * 1024,
            decoded_bytes: 40 * 1024 * 1024,
            decoded_ratio: 200,
            ratio_floor_bytes: 8 * 1024 * 1024,
            dns: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(15),
            total: Duration::from_secs(120),
            slow_grace: Duration::from_secs(10),
            slow_window: Duration::from_secs(10),
            slow_bytes_per_s: 256,
            cut_body: false,
        }
    }
}

/// How many connections one fetcher keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Open connections of this fetcher, idle ones included: its share of the crawl's total. 512.
    pub connections: usize,
    /// Idle connections kept per origin. 8.
    pub idle_per_origin: usize,
    /// How long a connection is kept idle. 30 s.
    pub idle: Duration,
    /// Before a server's connection is used again for the first time, it must have been silent this long: a server that
    /// sends more than its answer is known for it then. 30 ms, once per server, and once more after an answer without a
    /// body.
    pub listen: Duration,
    /// Requests over one connection before it is closed, so that load balancers get to balance. 10,000.
    pub requests_per_connection: u32,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            idle_per_origin: 8,
            idle: Duration::from_secs(30),
            listen: Duration::from_millis(30),
            requests_per_connection: 10_000,
        }
    }
}

/// Everything a [`crate::Fetcher`] is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    pub user_agent: UserAgent,
    pub limits: Limits,
    pub pool: PoolLimits,
    /// Ask for `gzip, br, zstd, deflate`; otherwise for `identity`. On.
    pub compression: bool,
    /// The `Accept-Language` field, if any. None.
    pub accept_language: Option<String>,
    /// Try IPv6 addresses before IPv4 ones. Off.
    pub prefer_ipv6: bool,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            user_agent: UserAgent::default(),
            limits: Limits::default(),
            pool: PoolLimits::default(),
            compression: true,
            accept_language: None,
            prefer_ipv6: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_names_product_and_contact() {
        let mut agent = UserAgent { version: "0.1".to_owned(), ..UserAgent::default() };
        assert_eq!(agent.header_value(), "lycosa/0.1");
        agent.contact = Some("https://example.org/bot".to_owned());
        assert_eq!(agent.header_value(), "lycosa/0.1 (+https://example.org/bot)");
    }

    #[test]
    fn the_user_agent_cannot_smuggle_a_field() {
        let agent = UserAgent { contact: Some("x\r\nHost: evil".to_owned()), ..UserAgent::default() };
        assert!(!agent.header_value().contains(['\r', '\n']));
    }
}
