//! Codings: charsets, content codings and chunks.
//!
//! Promise: each coder turns the body in the scratch buffers into the coded body, in place of it.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::kind::{Charset, Coding};
use crate::response::Scratch;

/// Content codings a client takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accept(u8);

impl Accept {
    /// Reads an `Accept-Encoding` value; a coding with `q=0` is refused.
    pub fn read(value: &[u8]) -> Self {
        let mut bits = 0;
        for part in value.split(|&b| b == b',') {
            let mut fields = part.split(|&b| b == b';').map(<[u8]>::trim_ascii);
            let name = fields.next().unwrap_or_default();
            let refused =
                fields.any(|f| f.starts_with(b"q=0") && !f.iter().any(|b| (b'1'..=b'9').contains(b)));
            let coding = Coding::ALL.iter().find(|c| name.eq_ignore_ascii_case(c.slug().as_bytes()));
            if let (Some(&coding), false) = (coding, refused) {
                bits |= 1 << coding as u8;
            }
        }
        Self(bits)
    }

    pub fn takes(self, coding: Coding) -> bool {
        self.0 & (1 << coding as u8) != 0
    }
}

/// Turns UTF-8 in `scratch.body` into the host's charset.
pub(crate) fn encode_charset(charset: Charset, scratch: &mut Scratch) {
    let encoding = match charset {
        Charset::Utf8 => return,
        // The label iso-8859-1 means windows-1252 on the web.
        Charset::Latin1 => encoding_rs::WINDOWS_1252,
        Charset::Windows1251 => encoding_rs::WINDOWS_1251,
        Charset::ShiftJis => encoding_rs::SHIFT_JIS,
        Charset::Windows1256 => encoding_rs::WINDOWS_1256,
    };
    let text = String::from_utf8_lossy(&scratch.body);
    let (bytes, _, _) = encoding.encode(&text);
    scratch.coded.clear();
    scratch.coded.extend_from_slice(&bytes);
    drop(bytes);
    drop(text);
    std::mem::swap(&mut scratch.body, &mut scratch.coded);
}

/// Compresses `scratch.body`.
pub(crate) fn compress(coding: Coding, scratch: &mut Scratch) {
    if coding == Coding::Identity {
        return;
    }
    scratch.coded.clear();
    let (from, to) = (&scratch.body, &mut scratch.coded);
    // Writing into memory cannot fail; an impossible failure leaves a truncated body, which a client must bear anyway.
    let _ = pack(coding, from, to);
    std::mem::swap(&mut scratch.body, &mut scratch.coded);
}

pub(crate) fn pack(coding: Coding, from: &[u8], to: &mut Vec<u8>) -> std::io::Result<()> {
    match coding {
        Coding::Identity => to.extend_from_slice(from),
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(to, Compression::fast());
            encoder.write_all(from)?;
            encoder.finish()?;
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(to, Compression::fast());
            encoder.write_all(from)?;
            encoder.finish()?;
        }
        Coding::Zstd => to.extend_from_slice(&zstd::bulk::compress(from, 1)?),
        Coding::Brotli => {
            let mut writer = brotli::CompressorWriter::new(to, 16 << 10, 2, 18);
            writer.write_all(from)?;
            writer.flush()?;
        }
    }
    Ok(())
}

/// Compresses `bytes` zeros, without ever holding them.
pub(crate) fn bomb(coding: Coding, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let zeros = vec![0u8; 1 << 20];
    let _ = feed_bomb(coding, bytes, &zeros, &mut out);
    out
}

fn feed_bomb(coding: Coding, bytes: u64, zeros: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let feed = |writer: &mut dyn Write| -> std::io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let now = left.min(zeros.len() as u64);
            writer.write_all(&zeros[..now as usize])?;
            left -= now;
        }
        Ok(())
    };
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(out, Compression::best());
            feed(&mut encoder)?;
            encoder.finish()?;
        }
        Coding::Brotli => feed(&mut brotli::CompressorWriter::new(out, 64 << 10, 2, 22))?,
        Coding::Zstd => {
            let mut encoder = zstd::stream::Encoder::new(out, 1)?;
            feed(&mut encoder)?;
            encoder.finish()?;
        }
        Coding::Identity | Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(out, Compression::best());
            feed(&mut encoder)?;
            encoder.finish()?;
        }
    }
    Ok(())
}

/// Writes a chunked body in chunks of uneven size.
pub(crate) fn put_chunks(out: &mut Vec<u8>, body: &[u8]) {
    let mut rest = body;
    let mut size = 1000;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(size));
        put_chunk(out, chunk);
        rest = after;
        size = size * 2 + 7;
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

pub(crate) fn put_chunk(out: &mut Vec<u8>, chunk: &[u8]) {
    let mut digits = [0u8; 16];
    let mut at = digits.len();
    let mut length = chunk.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[length & 15];
        length >>= 4;
        if length == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(chunk);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_encoding_is_read() {
        let accept = Accept::read(b"gzip;q=0.8, br, zstd;q=0, x-unknown");
        assert!(accept.takes(Coding::Gzip) && accept.takes(Coding::Brotli));
        assert!(!accept.takes(Coding::Zstd) && !accept.takes(Coding::Deflate));
    }

    #[test]
    fn chunks_have_hexadecimal_sizes() {
        let mut out = Vec::new();
        put_chunks(&mut out, &[b'x'; 17]);
        assert_eq!(&out[..4], b"11\r\n");
        assert!(out.ends_with(b"\r\n0\r\n\r\n"));
    }

    #[test]
    fn bombs_are_small_and_heavy() {
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            let packed = bomb(coding, 8 << 20);
            assert!(packed.len() < 64 << 10, "{coding:?}: {}", packed.len());
        }
    }
}
