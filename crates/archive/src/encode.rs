//! From a visit to the bytes of its records: pure work, done on every core.
//!
//! A visit becomes a response (or revisit) record, a request record and a metadata record, each one member, in this
//! order, in one piece of memory that is not copied again. Where it ends up in a segment is decided later by the one
//! thread that appends. Record ids are derived from URL, time and kind, so that the same visit always yields the same bytes.

use std::io::Write as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lycosa_types::UnixMs;

use crate::cdxj::{LineFacts, REVISIT_MIME, push_facts};
use crate::compress::{Compression, Effort, PackError, Packer};
use crate::date::push_warc_date;
use crate::dictionary::dictionary_id;
use crate::digest::PayloadDigest;
use crate::exchange::Exchange;
use crate::fields::{end_record, push_concurrent, push_field, push_record_id, start_record};
use crate::head::{HeadFacts, read_head};

/// Larger visits are refused. The fetcher's body limit lies far below.
pub const MAX_VISIT_BYTES: usize = 1 << 30;

/// Response or revisit, request, metadata.
const MEMBERS: usize = 3;

/// Visits share pieces of memory of this size, or of what a larger visit needs.
const SHARED_BYTES: usize = 256 * 1024;
/// A buffer larger than this is given back after use.
const KEPT_BYTES: usize = 1 << 20;
/// What the records of most visits have besides what was sent and received.
const SPARE_BYTES: usize = 4 * 1024;

/// How visits are encoded.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    pub compression: Compression,
    /// For zstd: what frames refer to. The archive must be opened with the same.
    pub dictionary: Option<Arc<[u8]>>,
}

/// Why a visit could not be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("the visit has {0} bytes, more than {MAX_VISIT_BYTES}; lower the body limit")]
    TooLarge(usize),
    #[error("the compressor failed; out of memory is the only known cause")]
    Compressor,
}

impl From<PackError> for EncodeError {
    fn from(_: PackError) -> Self {
        Self::Compressor
    }
}

/// What a member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    Response,
    Revisit,
    Request,
    Metadata,
}

/// A record's place in [`EncodedVisit::bytes`]. Between plain records lie four bytes of line ends that belong to none,
/// by the custom of the indexing tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub kind: MemberKind,
    pub offset: u64,
    pub length: u64,
}

/// A visit ready to be appended. Its bytes lie where they were made, beside those of other visits.
#[derive(Clone, Debug)]
pub struct EncodedVisit {
    /// The members one after the other.
    pub bytes: Bytes,
    /// The first is the response or revisit.
    members: [Option<Member>; MEMBERS],
    pub payload_digest: PayloadDigest,
    pub(crate) at: UnixMs,
    pub(crate) compression: Compression,
    pub(crate) dictionary_id: u64,
    /// The index line up to the place, which the appender adds.
    pub(crate) line: Bytes,
}

impl EncodedVisit {
    /// The first is the response or revisit.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().flatten()
    }

    /// Whether the body was left out because an earlier visit has it.
    pub fn is_revisit(&self) -> bool {
        self.members().next().is_some_and(|first| first.kind == MemberKind::Revisit)
    }
}

/// Encodes visits. One per thread; buffers and compressors are reused.
#[derive(Debug)]
pub struct Encoder {
    packer: Packer,
    dictionary_id: u64,
    /// The record that is about to be packed.
    record: Vec<u8>,
    line: Vec<u8>,
    /// The members of the current visit; what lies in the same piece of memory before them was handed on.
    out: BytesMut,
    members: [Option<Member>; MEMBERS],
}

impl Encoder {
    pub fn new(options: EncoderOptions) -> Self {
        Self {
            dictionary_id: dictionary_id(options.dictionary.as_deref()),
            packer: Packer::new(options.compression, options.dictionary.as_deref()),
            record: Vec::new(),
            line: Vec::new(),
            out: BytesMut::new(),
            members: [None; MEMBERS],
        }
    }

    /// Encodes one visit.
    pub fn encode(&mut self, exchange: &Exchange<'_>) -> Result<EncodedVisit, EncodeError> {
        let total = exchange.request_head.len() + exchange.response_head.len() + exchange.raw_body.len();
        if total > MAX_VISIT_BYTES {
            return Err(EncodeError::TooLarge(total));
        }
        // What an error left behind.
        self.out.clear();
        self.members = [None; MEMBERS];
        // What is large mostly becomes much smaller; if not, the memory grows.
        let room = SPARE_BYTES + if total > SHARED_BYTES { total / 2 } else { total };
        if self.out.capacity() < room {
            self.out = BytesMut::with_capacity(SHARED_BYTES.max(room));
        }
        let (kind, payload_digest) = self.response(exchange)?;
        if !exchange.request_head.is_empty() {
            self.request(exchange, kind)?;
        }
        if !exchange.metadata.is_empty() {
            self.metadata(exchange, kind)?;
        }
        let bytes = self.out.split().freeze();
        self.out.extend_from_slice(&self.line);
        let line = self.out.split().freeze();
        if self.out.capacity() > KEPT_BYTES {
            self.out = BytesMut::new();
        }
        Ok(EncodedVisit {
            bytes,
            members: self.members,
            payload_digest,
            at: exchange.at,
            compression: self.packer.compression(),
            dictionary_id: self.dictionary_id,
            line,
        })
    }

    fn response(&mut self, exchange: &Exchange<'_>) -> Result<(MemberKind, PayloadDigest), EncodeError> {
        let mut facts = read_head(exchange.response_head);
        let block;
        let digest = if facts.whole && facts.end == exchange.response_head.len() {
            exchange.payload_digest.unwrap_or_else(|| PayloadDigest::of(exchange.raw_body))
        } else {
            // A head that ends early, or does not end, for whoever reads the record: say what they will find.
            block = [exchange.response_head, exchange.raw_body].concat();
            facts = read_head(&block);
            PayloadDigest::of(block.get(facts.end..).unwrap_or_default())
        };
        let revisit_of = exchange.revisit_of.filter(|first| {
            facts.end == exchange.response_head.len() && first.payload_digest.is_none_or(|d| d == digest)
        });
        let kind = if revisit_of.is_some() { MemberKind::Revisit } else { MemberKind::Response };
        let out = &mut self.record;
        start_record(out, if revisit_of.is_some() { "revisit" } else { "response" }, exchange, kind);
        if let Some(ip) = exchange.ip {
            // Writing into a vector does not fail.
            let _ = write!(out, "WARC-IP-Address: {ip}\r\n");
        }
        out.extend_from_slice(b"WARC-Payload-Digest: ");
        out.extend_from_slice(&digest.text());
        out.extend_from_slice(b"\r\n");
        if let Some(protocol) = exchange.protocol {
            push_field(out, "WARC-Protocol", protocol);
        }
        let body = match revisit_of {
            None => {
                if let Some(truncated) = exchange.truncated {
                    push_field(out, "WARC-Truncated", truncated.as_str());
                }
                exchange.raw_body
            }
            Some(first) => {
                push_field(out, "WARC-Profile", first.reason.profile());
                push_field(out, "WARC-Refers-To-Target-URI", first.url);
                out.extend_from_slice(b"WARC-Refers-To-Date: ");
                push_warc_date(out, first.at);
                out.extend_from_slice(b"\r\n");
                &[]
            }
        };
        end_record(out, "application/http; msgtype=response", &[exchange.response_head, body]);
        let effort = if is_packed(&facts, body) { Effort::Stored } else { Effort::Dense };
        self.pack(0, kind, effort)?;
        let mime = if revisit_of.is_some() { Some(REVISIT_MIME) } else { facts.mime.as_deref() };
        self.line.clear();
        push_facts(
            &mut self.line,
            &LineFacts {
                url: exchange.url,
                at: exchange.at,
                mime,
                status: facts.status.as_deref(),
                digest: Some(digest),
            },
        );
        Ok((kind, digest))
    }

    fn request(&mut self, exchange: &Exchange<'_>, first: MemberKind) -> Result<(), EncodeError> {
        start_record(&mut self.record, "request", exchange, MemberKind::Request);
        push_concurrent(&mut self.record, exchange, first);
        end_record(&mut self.record, "application/http; msgtype=request", &[exchange.request_head]);
        self.pack(1, MemberKind::Request, Effort::Dense)
    }

    fn metadata(&mut self, exchange: &Exchange<'_>, first: MemberKind) -> Result<(), EncodeError> {
        let mut fields = Vec::with_capacity(256);
        for (name, value) in exchange.metadata {
            push_field(&mut fields, name, value);
        }
        start_record(&mut self.record, "metadata", exchange, MemberKind::Metadata);
        push_concurrent(&mut self.record, exchange, first);
        end_record(&mut self.record, "application/warc-fields", &[&fields]);
        self.pack(2, MemberKind::Metadata, Effort::Dense)
    }

    fn pack(&mut self, place: usize, kind: MemberKind, effort: Effort) -> Result<(), EncodeError> {
        let offset = self.out.len();
        self.packer.pack(&self.record, effort, &mut self.out)?;
        let length = (self.out.len() - offset) as u64 - u64::from(self.packer.compression().gap_bytes());
        if let Some(member) = self.members.get_mut(place) {
            *member = Some(Member { kind, offset: offset as u64, length });
        }
        if self.record.capacity() > KEPT_BYTES {
            self.record = Vec::new();
        }
        Ok(())
    }

    /// The member that opens a segment. `fields` are lines of `application/warc-fields`.
    pub(crate) fn warcinfo(
        &mut self,
        at: UnixMs,
        filename: &str,
        fields: &[(String, String)],
    ) -> Result<Bytes, EncodeError> {
        let out = &mut self.record;
        out.clear();
        out.extend_from_slice(b"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: ");
        push_record_id(out, filename.as_bytes(), at, 0);
        out.extend_from_slice(b"\r\nWARC-Date: ");
        push_warc_date(out, at);
        out.extend_from_slice(b"\r\n");
        push_field(out, "WARC-Filename", filename);
        let mut block = Vec::new();
        for (name, value) in fields {
            push_field(&mut block, name, value);
        }
        end_record(out, "application/warc-fields", &[&block]);
        let mut member = BytesMut::new();
        self.packer.pack(&self.record, Effort::Dense, &mut member)?;
        Ok(member.freeze())
    }
}

/// Whether compressing the body again would only cost time. A visit to a 6 KB gzip page was measured at 49 µs when
/// compressed again and 17 µs when only wrapped, for 1 % of its size.
fn is_packed(facts: &HeadFacts<'_>, body: &[u8]) -> bool {
    if body.is_empty() {
        return false;
    }
    let Some(mime) = facts.mime.as_deref() else {
        return facts.coded;
    };
    let starts = |start: &str| mime.get(..start.len()).is_some_and(|m| m.eq_ignore_ascii_case(start));
    let image = starts("image/") && !starts("image/svg") && !starts("image/bmp");
    let packed =
        ["video/", "audio/", "font/woff", "application/zip", "application/gzip", "application/x-gzip"];
    facts.coded || image || packed.into_iter().any(starts)
}
