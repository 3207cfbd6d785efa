//! How a visit ended. A closed set: whatever a server, resolver or page does, it ends in exactly one of these.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of one visit to one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A whole page was received and archived.
    Fetched { status: u16 },
    /// The server said that there is nothing here, or not for us: 4xx. Its answer was archived.
    Missing { status: u16 },
    /// The server said 304 to a conditional request.
    NotModified,
    /// A 3xx with a usable Location; the target became a frontier event of its own.
    Redirected { status: u16, to: String },
    /// Never requested, and why.
    Excluded(Exclusion),
    /// Requested (or tried), without a usable response.
    Failed(Failure),
}

/// Why a URL that was accepted is not requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exclusion {
    /// Forbidden by a line of the host's robots.txt (1-based; 0 when the whole file is unreachable).
    Robots { line: u32, rule: String },
    /// The host does not answer: neither pages nor robots.txt nor its front page.
    HostErrors { failures: u32 },
    /// The host reached its page budget.
    HostBudget { pages: u64 },
    /// The host mirrors another one that is being crawled.
    Mirror { of: String },
    /// The port belongs to another service than the web's, and browsers refuse it too.
    Port { port: u16 },
    /// The queries of its path go on for ever, and their pages say nothing new.
    Endless { pages: u32 },
}

/// A visit without a usable response. Each limit that can end a visit has its own case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The name does not exist or has no address.
    DnsNoAddress,
    DnsTimeout,
    DnsError,
    /// Every address is in a network that is closed to this crawl.
    PrivateAddress,
    ConnectRefused,
    ConnectTimeout,
    ConnectError,
    TlsError,
    /// The connection ended before the response did.
    ConnectionLost,
    /// Nothing arrived in time after the request was sent.
    FirstByteTimeout,
    /// The response took longer than a whole visit may.
    TotalTimeout,
    /// Bytes arrived slower than the minimum rate.
    TooSlow,
    /// The response head is larger, or has more fields, than allowed.
    HeaderTooLarge,
    /// Not HTTP, or HTTP that cannot be understood.
    BadResponse,
    /// The body as sent is larger than allowed.
    BodyTooLarge,
    /// The body would decode to more than allowed.
    DecodedTooLarge,
    /// The body does not decode by its Content-Encoding.
    BadEncoding,
    /// The body is shorter than its framing promised.
    Truncated,
    /// A 3xx without a usable Location.
    BadRedirect,
    /// 429 or 503: the server asks for patience.
    Overloaded {
        status: u16,
    },
    /// Any other 5xx.
    ServerError {
        status: u16,
    },
    /// The body takes more work to decode than its size allows: thousands of empty parts, for one.
    TooMuchWork,
    /// The port belongs to another service than the web's; see [`Exclusion::Port`].
    RefusedPort {
        port: u16,
    },
    /// The server's certificate is not to be trusted, and why.
    Certificate(CertificateFault),
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateFault {
    Expired,
    NotYetValid,
    /// It is for another name.
    WrongName,
    /// No authority that is trusted signed it.
    UnknownAuthority,
    Revoked,
    /// Its signature is false, or made in a way that is trusted no more.
    Signature,
    /// It cannot be read, or may not be used for this.
    Unusable,
}

impl CertificateFault {
    pub const ALL: [Self; 7] = [
        Self::Expired,
        Self::NotYetValid,
        Self::WrongName,
        Self::UnknownAuthority,
        Self::Revoked,
        Self::Signature,
        Self::Unusable,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Expired => "certificate-expired",
            Self::NotYetValid => "certificate-not-yet-valid",
            Self::WrongName => "certificate-for-another-name",
            Self::UnknownAuthority => "certificate-of-unknown-authority",
            Self::Revoked => "certificate-revoked",
            Self::Signature => "certificate-signature",
            Self::Unusable => "certificate-unusable",
        }
    }
}

impl Failure {
    /// Whether trying again later can help.
    pub fn is_transient(self) -> bool {
        !matches!(
            self,
            Self::PrivateAddress
                | Self::DnsNoAddress
                | Self::HeaderTooLarge
                | Self::BodyTooLarge
                | Self::DecodedTooLarge
                | Self::BadEncoding
                | Self::BadRedirect
                | Self::TooMuchWork
                | Self::RefusedPort { .. }
        )
    }

    /// The word used in reports, metrics and `why`.
    pub fn word(self) -> &'static str {
        match self {
            Self::DnsNoAddress => "dns-no-address",
            Self::DnsTimeout => "dns-timeout",
            Self::DnsError => "dns-error",
            Self::PrivateAddress => "private-address",
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::ConnectError => "connect-error",
            Self::TlsError => "tls-error",
            Self::ConnectionLost => "connection-lost",
            Self::FirstByteTimeout => "first-byte-timeout",
            Self::TotalTimeout => "total-timeout",
            Self::TooSlow => "too-slow",
            Self::HeaderTooLarge => "header-too-large",
            Self::BadResponse => "bad-response",
            Self::BodyTooLarge => "body-too-large",
            Self::DecodedTooLarge => "decoded-too-large",
            Self::BadEncoding => "bad-encoding",
            Self::Truncated => "truncated",
            Self::BadRedirect => "bad-redirect",
            Self::Overloaded { .. } => "rate-limited",
            Self::ServerError { .. } => "server-error",
            Self::TooMuchWork => "too-much-work",
            Self::RefusedPort { .. } => "refused-port",
            Self::Certificate(fault) => fault.word(),
        }
    }

    /// The status code the server sent, where the failure is one.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Overloaded { status } | Self::ServerError { status } => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status() {
            Some(status) => write!(f, "{} ({status})", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

impl Exclusion {
    pub fn word(&self) -> &'static str {
        self.reason().word()
    }
}

impl Outcome {
    /// The word used in reports and exports: `fetched`, `redirected`, `robots`, `dns-timeout` …
    pub fn word(&self) -> &'static str {
        match self {
            Self::Fetched { .. } => "fetched",
            Self::Missing { .. } => "missing",
            Self::NotModified => "not-modified",
            Self::Redirected { .. } => "redirected",
            Self::Excluded(exclusion) => exclusion.word(),
            Self::Failed(failure) => failure.word(),
        }
    }

    /// The HTTP status the server sent, if it sent one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Fetched { status } | Self::Missing { status } | Self::Redirected { status, .. } => {
                Some(*status)
            }
            Self::NotModified => Some(304),
            Self::Excluded(_) => None,
            Self::Failed(failure) => failure.status(),
        }
    }
}
