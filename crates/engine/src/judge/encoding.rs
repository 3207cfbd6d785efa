//! A visit as archive records.

use lycosa_archive::{Compression, EncodedVisit, Encoder, Exchange, PayloadDigest, RevisitOf, RevisitReason};
use lycosa_fetch::{Protocol, Response, Visit};
use lycosa_frontier::First;
use lycosa_types::{CanonUrl, Failure, UnixMs};

use crate::config::ArchiveCompression;

/// The archive's word for a choice of the configuration.
pub fn compression(choice: ArchiveCompression) -> Compression {
    match choice {
        ArchiveCompression::Gzip => Compression::default(),
        ArchiveCompression::Zstd => Compression::Zstd(3),
        ArchiveCompression::None => Compression::None,
    }
}

/// Encodes a visit; `revisit` is the visit that brought the same payload, and how that is known.
pub(super) fn encode(
    encoder: &mut Encoder,
    url: &CanonUrl,
    visit: &Visit,
    response: &Response,
    revisit: Option<(&First, RevisitReason)>,
    payload_digest: Option<PayloadDigest>,
    metadata: &[(&str, &str)],
) -> Result<EncodedVisit, Failure> {
    let exchange = Exchange {
        url,
        at: UnixMs(visit.timing.started.0),
        ip: visit.ip,
        request_head: &visit.request_head,
        response_head: response.head.raw(),
        raw_body: &response.raw_body,
        revisit_of: revisit.map(|(first, reason)| RevisitOf {
            url: &first.url,
            at: first.at,
            reason,
            payload_digest: first.payload_sha1.map(PayloadDigest),
        }),
        payload_digest,
        truncated: None,
        protocol: (response.protocol == Protocol::Http2).then_some("h2"),
        metadata,
    };
    encoder.encode(&exchange).map_err(|error| {
        tracing::error!(%url, %error, "a visit could not be encoded");
        Failure::BodyTooLarge
    })
}
