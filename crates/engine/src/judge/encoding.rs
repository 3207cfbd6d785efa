//! A visit as archive records.

use lycosa_archive::{
    Compression, EncodedVisit, Encoder, Exchange, PayloadDigest, RevisitOf, RevisitReason, Truncation,
};
use lycosa_fetch::{Protocol, Response, Visit};
use lycosa_frontier::First;
use lycosa_frontier::host_queue::Entry;
use lycosa_types::{CanonUrl, Failure, UnixMs, VisitFacts};

use super::facts::facts;
use super::{Judge, Judged};
use crate::config::ArchiveCompression;

/// The archive's word for a choice of the configuration.
pub fn compression(choice: ArchiveCompression) -> Compression {
    match choice {
        ArchiveCompression::Gzip => Compression::default(),
        ArchiveCompression::Zstd => Compression::Zstd(3),
        ArchiveCompression::None => Compression::None,
    }
}

/// Encodes a visit; `revisit` is the visit that brought the same payload, and how that is known; `truncated` says why the
/// body is not whole, if it is not.
#[expect(clippy::too_many_arguments, reason = "each is a field of one record")]
pub(super) fn encode(
    encoder: &mut Encoder,
    url: &CanonUrl,
    visit: &Visit,
    response: &Response,
    revisit: Option<(&First, RevisitReason)>,
    payload_digest: Option<PayloadDigest>,
    truncated: Option<Truncation>,
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
        truncated,
        protocol: (response.protocol == Protocol::Http2).then_some("h2"),
        metadata,
    };
    encoder.encode(&exchange).map_err(|error| {
        tracing::error!(%url, %error, "a visit could not be encoded");
        Failure::BodyTooLarge
    })
}

impl Judge {
    /// A part of a response is archived as such, if the URL is not tried again. It is never read: half a page is no page.
    pub(super) fn archive_partial(&mut self, entry: &Entry, visit: &Visit, judged: &mut Judged) {
        let (Some(partial), Some(encoder)) = (&visit.partial, self.encoder.as_mut()) else { return };
        let depth = entry.depth.to_string();
        let (cut, metadata) = (Some(Truncation::Disconnect), [("hopsFromSeed", depth.as_str())]);
        let encoded = encode(encoder, &entry.url, visit, partial, None, None, cut, &metadata);
        judged.encoded = encoded.ok();
        judged.end.visit = judged.encoded.as_ref().map(|encoded| VisitFacts {
            payload_sha1: Some(encoded.payload_digest.0),
            ..facts(partial, judged.end.elapsed_ms)
        });
    }
}
