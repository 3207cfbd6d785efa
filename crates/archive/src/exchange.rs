//! One visit as it comes from the fetcher: what was asked, what was answered, byte for byte.

use std::net::IpAddr;

use lycosa_types::{CanonUrl, UnixMs};

use crate::digest::PayloadDigest;

/// A request and its response, borrowed from the fetcher's buffers.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub url: &'a CanonUrl,
    /// When the request was sent.
    pub at: UnixMs,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// Request line and headers with the blank line. Empty: no request record is written.
    pub request_head: &'a [u8],
    /// Status line and headers exactly as received, with the blank line.
    pub response_head: &'a [u8],
    /// The body on the wire: still chunked if it was chunked, still compressed if it was compressed.
    pub raw_body: &'a [u8],
    /// An earlier visit that brought the same body: a revisit record is written instead of the body.
    pub revisit_of: Option<RevisitOf<'a>>,
    /// The digest of `raw_body`, where the caller has worked it out already.
    pub payload_digest: Option<PayloadDigest>,
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncation>,
    /// The protocol, where the head bytes do not tell: HTTP/2 has no head as bytes, so the fetcher writes one in the
    /// spelling of HTTP/1.1 and says `h2` here.
    pub protocol: Option<&'a str>,
    /// Fields of the metadata record (`via`, `hopsFromSeed`, `fetchTimeMs`, …). Empty: none is written.
    pub metadata: &'a [(&'a str, &'a str)],
}

/// The visit that a revisit record points to.
#[derive(Clone, Copy, Debug)]
pub struct RevisitOf<'a> {
    pub url: &'a str,
    pub at: UnixMs,
    pub reason: RevisitReason,
    /// The payload digest of that visit. A revisit record shows this visit's head with that visit's stored body, so
    /// the stored bodies must be equal: when the digest given here differs from this body's, the whole response is
    /// written instead. With none the caller vouches for the equality.
    pub payload_digest: Option<PayloadDigest>,
}

/// Why no body is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisitReason {
    /// The same bytes came again.
    IdenticalPayload,
    /// The server answered 304.
    NotModified,
}

impl RevisitReason {
    /// The URI that stands in `WARC-Profile`.
    pub fn profile(self) -> &'static str {
        match self {
            Self::IdenticalPayload => "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            Self::NotModified => "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        }
    }
}

/// Why a body was cut short, in the words of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    Length,
    Time,
    Disconnect,
    Unspecified,
}

impl Truncation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}
