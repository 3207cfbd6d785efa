//! One record, one member: the compressions a segment can have.
//!
//! Each record is a gzip member (or zstd frame) of its own, so that a record can be read from its offset alone and a
//! torn tail costs only the torn record.

use libdeflater::{CompressionLvl, Compressor};

/// How a segment's records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `.warc.gz`, which every tool opens. The level is libdeflate's, 1 to 12.
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
    dense: Compressor,
    stored: Compressor,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    scratch: Vec<u8>,
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
        let level =
            |level: u8| CompressionLvl::new(i32::from(level)).unwrap_or_else(|_| CompressionLvl::fastest());
        let dense = match compression {
            Compression::Gzip(l) => level(l),
            _ => CompressionLvl::fastest(),
        };
        // Without a compressor each pack reports the failure.
        let zstd = match compression {
            Compression::Zstd(l) => zstd::bulk::Compressor::with_dictionary(
                i32::from(l.clamp(1, 19)),
                dictionary.unwrap_or_default(),
            )
            .ok(),
            _ => None,
        };
        Self {
            compression,
            dense: Compressor::new(dense),
            stored: Compressor::new(level(0)),
            zstd,
            scratch: Vec::new(),
        }
    }

    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Appends `record` to `out` as one member.
    pub fn pack(&mut self, record: &[u8], effort: Effort, out: &mut Vec<u8>) -> Result<(), PackError> {
        match self.compression {
            Compression::None => out.extend_from_slice(record),
            Compression::Gzip(_) => {
                let compressor = match effort {
                    Effort::Dense => &mut self.dense,
                    Effort::Stored => &mut self.stored,
                };
                let bound = compressor.gzip_compress_bound(record.len());
                if self.scratch.len() < bound {
                    self.scratch.resize(bound, 0);
                }
                let length = compressor.gzip_compress(record, &mut self.scratch).map_err(|_| PackError)?;
                out.extend_from_slice(self.scratch.get(..length).unwrap_or_default());
            }
            Compression::Zstd(_) => {
                let compressor = self.zstd.as_mut().ok_or(PackError)?;
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
