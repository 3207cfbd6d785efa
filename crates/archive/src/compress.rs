//! One record, one member: the compressions a segment can have.
//!
//! Each record is a gzip member (or zstd frame) of its own, so that a record can be read from its offset alone and a
//! torn tail costs only the torn record.

use bytes::BytesMut;
use libdeflater::{CompressionLvl, Compressor};

use crate::deflate::Deflater;

/// How a segment's records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `.warc.gz`, which every tool opens. Level 1 is our own encoder for speed; 2 to 12 are libdeflate's.
    Gzip(u8),
    /// `.warc.zst`, with or without a dictionary. The level is zstd's, 1 to 19.
    Zstd(u8),
    /// `.warc`.
    None,
}

impl Default for Compression {
    /// gzip at the cheapest level: what it saves in time is worth more than what the next level saves in space.
    fn default() -> Self {
        Self::Gzip(1)
    }
}

impl Compression {
    /// The end of a segment's file name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip(_) => "warc.gz",
            Self::Zstd(_) => "warc.zst",
            Self::None => "warc",
        }
    }
}

impl Compression {
    /// Bytes between two records that belong to neither: the line ends that close a plain record. In a member they are
    /// inside.
    pub(crate) fn gap_bytes(self) -> u8 {
        if self == Self::None { 4 } else { 0 }
    }
}

/// Scratch larger than this is given back after use, so that one huge body does not stay in memory for ever.
const KEEP_BYTES: usize = 4 << 20;

/// Compresses members into a buffer, with everything reusable reused.
pub(crate) struct Packer {
    compression: Compression,
    method: Method,
    scratch: Vec<u8>,
}

/// What does the work.
enum Method {
    Fast(Box<Deflater>),
    Dense(Compressor),
    /// Without a compressor each pack reports the failure.
    Zstd(Option<zstd::bulk::Compressor<'static>>),
    None,
}

/// How much work a member is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Dense,
    /// The bytes are compressed already: wrap them, do not try again.
    Stored,
}

impl Packer {
    pub fn new(compression: Compression, dictionary: Option<&[u8]>) -> Self {
        let method = match compression {
            Compression::Gzip(level) => match CompressionLvl::new(i32::from(level)) {
                Ok(dense) if level > 1 => Method::Dense(Compressor::new(dense)),
                _ => Method::Fast(Box::new(Deflater::new())),
            },
            Compression::Zstd(level) => Method::Zstd(
                zstd::bulk::Compressor::with_dictionary(
                    i32::from(level.clamp(1, 19)),
                    dictionary.unwrap_or_default(),
                )
                .ok(),
            ),
            Compression::None => Method::None,
        };
        Self { compression, method, scratch: Vec::new() }
    }

    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Appends `record` to `out` as one member.
    pub fn pack(&mut self, record: &[u8], effort: Effort, out: &mut BytesMut) -> Result<(), PackError> {
        match (&mut self.method, effort) {
            (Method::None, _) => out.extend_from_slice(record),
            (Method::Fast(_) | Method::Dense(_), Effort::Stored) => Deflater::store(record, out),
            (Method::Fast(deflater), Effort::Dense) => deflater.pack(record, out),
            (Method::Dense(compressor), Effort::Dense) => {
                let bound = compressor.gzip_compress_bound(record.len());
                if self.scratch.len() < bound {
                    self.scratch.resize(bound, 0);
                }
                let length = compressor.gzip_compress(record, &mut self.scratch).map_err(|_| PackError)?;
                out.extend_from_slice(self.scratch.get(..length).unwrap_or_default());
            }
            (Method::Zstd(compressor), _) => {
                let compressor = compressor.as_mut().ok_or(PackError)?;
                self.scratch.clear();
                self.scratch.reserve(zstd::zstd_safe::compress_bound(record.len()));
                compressor.compress_to_buffer(record, &mut self.scratch).map_err(|_| PackError)?;
                out.extend_from_slice(&self.scratch);
            }
        }
        if self.scratch.len() > KEEP_BYTES {
            self.scratch = Vec::new();
        }
        Ok(())
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("compression", &self.compression).finish_non_exhaustive()
    }
}

/// The compressor refused; with buffers of the size it asked for it does not.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the compressor failed; out of memory is the only known cause")]
pub struct PackError;
