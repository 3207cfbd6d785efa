//! Content decoding: gzip, deflate, br and zstd, stacked if need be, within a budget that holds while decoding.
//!
//! What servers label wrongly is treated as browsers treat it, where the bytes themselves leave no doubt:
//! - a body labelled gzip or zstd that does not begin as one is taken as it is;
//! - `deflate` is read as zlib data, and if it is not, as raw deflate;
//! - a label that names no coding (`utf-8`, `none` …) is passed over;
//! - bytes after a complete stream are ignored, further gzip members and zstd frames are joined.
//!
//! Everything else that does not decode, a stream that stops short or fails its checksum included, is a
//! [`Failure::BadEncoding`].

use std::io::Read;

use bytes::Bytes;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use lycosa_types::Failure;

use crate::{head::tokens, options::Limits};

/// Encodings applied on top of each other; more is an attack or a mistake.
const MAX_STACKED: usize = 3;
/// Window of a zstd stream, as RFC 9659 bounds it for the web: 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// First guess at how far a body expands.
const USUAL_RATIO: usize = 4;
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    /// A coding that exists but is not spoken here.
    Foreign,
}

impl Coding {
    fn of(token: &[u8]) -> Option<Self> {
        let is = |name: &str| token.eq_ignore_ascii_case(name.as_bytes());
        if is("gzip") || is("x-gzip") {
            Some(Self::Gzip)
        } else if is("br") {
            Some(Self::Brotli)
        } else if is("zstd") {
            Some(Self::Zstd)
        } else if is("deflate") {
            Some(Self::Deflate)
        } else if ["compress", "x-compress", "sdch", "dcb", "dcz", "exi", "pack200-gzip"].into_iter().any(is)
        {
            Some(Self::Foreign)
        } else {
            None
        }
    }
}

/// Decodes bodies; keeps its inflate state between them.
pub(crate) struct Decoder {
    inflate: Decompress,
    /// Twice as fast, but only for a whole body of known size.
    inflate_whole: libdeflater::Decompressor,
}

impl Decoder {
    pub fn new() -> Self {
        Self { inflate: Decompress::new(false), inflate_whole: libdeflater::Decompressor::new() }
    }

    /// Undoes the encodings that the Content-Encoding fields list. The payload itself if there are none.
    pub fn decode<'a>(
        &mut self,
        payload: &Bytes,
        content_encodings: impl Iterator<Item = &'a [u8]>,
        limits: &Limits,
    ) -> Result<Bytes, Failure> {
        let mut stack = [Coding::Foreign; MAX_STACKED];
        let mut depth = 0;
        for coding in content_encodings.flat_map(tokens).filter_map(Coding::of) {
            *stack.get_mut(depth).ok_or(Failure::BadEncoding)? = coding;
            depth += 1;
        }
        let mut body = payload.clone();
        for coding in stack.iter().take(depth).rev() {
            if body.is_empty() {
                break;
            }
            if let Some(decoded) = self.undo(*coding, &body, limits)? {
                body = Bytes::from(decoded);
            }
        }
        Ok(body)
    }

    /// None if the bytes are not what the label says and are better left alone.
    fn undo(&mut self, coding: Coding, input: &[u8], limits: &Limits) -> Result<Option<Vec<u8>>, Failure> {
        let budget = Budget::new(input.len(), limits);
        match coding {
            Coding::Gzip if !input.starts_with(&GZIP_MAGIC) => Ok(None),
            Coding::Zstd if !input.starts_with(&ZSTD_MAGIC) => Ok(None),
            Coding::Gzip => self.gunzip(input, budget).map(Some),
            Coding::Deflate => self.undeflate(input, budget).map(Some),
            Coding::Brotli => budget.drain(brotli_decompressor::Decompressor::new(input, 4096)).map(Some),
            Coding::Zstd => {
                let mut decoder =
                    zstd::stream::read::Decoder::with_buffer(input).map_err(|_| Failure::BadEncoding)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|_| Failure::BadEncoding)?;
                budget.drain(decoder).map(Some)
            }
            Coding::Foreign => Err(Failure::BadEncoding),
        }
    }

    fn gunzip(&mut self, input: &[u8], budget: Budget) -> Result<Vec<u8>, Failure> {
        // The last four bytes of a lone member are its length.
        let hint = input.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        if let Some(whole) = self.gunzip_lone(input, hint, budget) {
            return Ok(whole);
        }
        let mut out = Vec::with_capacity(budget.first_capacity(hint));
        let mut rest = input;
        while let Some(data) = gzip_data(rest) {
            let data = data?;
            let start = out.len();
            let used = self.inflate(false, data, &mut out, budget)?;
            let trailer = data.get(used..).unwrap_or_default();
            let (Some(crc), Some(length)) = (trailer.first_chunk::<4>(), trailer.get(4..8)) else {
                return Err(Failure::BadEncoding);
            };
            let member = out.get(start..).unwrap_or_default();
            let mut sum = Crc::new();
            sum.update(member);
            if u32::from_le_bytes(*crc) != sum.sum() || (member.len() as u32).to_le_bytes() != *length {
                return Err(Failure::BadEncoding);
            }
            rest = trailer.get(8..).unwrap_or_default();
        }
        Ok(out)
    }

    /// Decodes a lone, sound member of known length in one go; none if that is not what this is.
    fn gunzip_lone(&mut self, input: &[u8], length: usize, budget: Budget) -> Option<Vec<u8>> {
        let rest = input.get(1..)?;
        // Further members would go unnoticed, so anything that may begin one is left to the streaming way.
        let is_lone = memchr::memmem::find(rest, &GZIP_MAGIC).is_none();
        if !is_lone || !budget.believes(length) {
            return None;
        }
        let mut out = vec![0; length];
        let written = self.inflate_whole.gzip_decompress(input, &mut out).ok()?;
        (written == length).then_some(out)
    }

    fn undeflate(&mut self, input: &[u8], budget: Budget) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::with_capacity(budget.first_capacity(0));
        let is_zlib = matches!(input, [a, b, ..]
            if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)).is_multiple_of(31));
        if is_zlib {
            match self.inflate(true, input, &mut out, budget) {
                Ok(_) => return Ok(out),
                Err(Failure::BadEncoding) => out.clear(),
                Err(failure) => return Err(failure),
            }
        }
        self.inflate(false, input, &mut out, budget)?;
        Ok(out)
    }

    /// Inflates one stream onto `out`; returns how much input it took.
    fn inflate(
        &mut self,
        zlib: bool,
        input: &[u8],
        out: &mut Vec<u8>,
        budget: Budget,
    ) -> Result<usize, Failure> {
        self.inflate.reset(zlib);
        loop {
            if out.len() == out.capacity() {
                out.reserve(budget.next_capacity(out.len())?);
            }
            let used = usize::try_from(self.inflate.total_in()).map_err(|_| Failure::BadEncoding)?;
            let rest = input.get(used..).unwrap_or_default();
            let before = out.len();
            let status = self
                .inflate
                .decompress_vec(rest, out, FlushDecompress::None)
                .map_err(|_| Failure::BadEncoding)?;
            if out.len() > budget.max_bytes {
                return Err(Failure::DecodedTooLarge);
            }
            let used_now = usize::try_from(self.inflate.total_in()).map_err(|_| Failure::BadEncoding)?;
            let stuck = used_now == used && out.len() == before && out.len() < out.capacity();
            match status {
                Status::StreamEnd => return Ok(used_now),
                Status::Ok | Status::BufError if !stuck => {}
                _ => return Err(Failure::BadEncoding),
            }
        }
    }
}

/// The deflate data of the gzip member that `input` begins with; none if it begins with something else.
fn gzip_data(input: &[u8]) -> Option<Result<&[u8], Failure>> {
    if !input.starts_with(&GZIP_MAGIC) {
        return None;
    }
    let skip = || -> Option<&[u8]> {
        let flags = *input.get(3)?;
        let mut rest = input.get(10..)?;
        if flags & 4 != 0 {
            let length = usize::from(u16::from_le_bytes(*rest.first_chunk::<2>()?));
            rest = rest.get(2 + length..)?;
        }
        // File name and comment.
        for flag in [8, 16] {
            if flags & flag != 0 {
                rest = rest.get(memchr::memchr(0, rest)? + 1..)?;
            }
        }
        if flags & 2 != 0 {
            rest = rest.get(2..)?;
        }
        Some(rest)
    };
    Some(skip().ok_or(Failure::BadEncoding))
}

/// How much one encoding may expand to.
#[derive(Clone, Copy, Debug)]
struct Budget {
    input_bytes: usize,
    max_bytes: usize,
}

impl Budget {
    fn new(input_bytes: usize, limits: &Limits) -> Self {
        let by_ratio = input_bytes.saturating_mul(limits.decoded_ratio).max(limits.ratio_floor_bytes);
        Self { input_bytes, max_bytes: limits.decoded_bytes.min(by_ratio) }
    }

    /// Whether a body may well expand to this many bytes, so that room for them can be made at once.
    fn believes(self, length: usize) -> bool {
        let believable = self.input_bytes.saturating_mul(16).max(1024);
        length > 0 && length <= believable && length <= self.max_bytes
    }

    /// One byte more than the budget is room enough to see it exceeded; a hint is believed within reason.
    fn first_capacity(self, hint: usize) -> usize {
        let guess = if self.believes(hint) { hint } else { self.input_bytes.saturating_mul(USUAL_RATIO) };
        guess.saturating_add(1).min(self.max_bytes.saturating_add(1))
    }

    fn next_capacity(self, len: usize) -> Result<usize, Failure> {
        match self.max_bytes.saturating_add(1).saturating_sub(len) {
            0 => Err(Failure::DecodedTooLarge),
            left => Ok(left.min(len.max(4096))),
        }
    }

    fn drain(self, reader: impl Read) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::with_capacity(self.first_capacity(0));
        let most = self.max_bytes.saturating_add(1) as u64;
        let outcome = reader.take(most).read_to_end(&mut out);
        if out.len() > self.max_bytes {
            return Err(Failure::DecodedTooLarge);
        }
        outcome.map(|_| out).map_err(|_| Failure::BadEncoding)
    }
}
