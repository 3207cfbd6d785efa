//! Content decoding: gzip, deflate, br and zstd, stacked if need be, within a budget that holds while decoding.
//!
//! What servers label wrongly is treated as browsers treat it, where the bytes themselves leave no doubt:
//! - a body labelled gzip or zstd that does not begin as one is taken as it is;
//! - `deflate` is read as zlib data, and if it is not, as raw deflate;
//! - a label that names no coding (`utf-8`, `none` …) is passed over;
//! - bytes after a complete stream are ignored, further gzip members and zstd frames are joined.
//!
//! Work is bounded beside size: a body of hundreds of thousands of empty members or frames ends in
//! [`Failure::TooMuchWork`].
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
/// Work that a gzip member or zstd frame takes by itself, in bytes that could be decoded meanwhile.
const PART_WORK: usize = 4096;
/// Parts may cost this much per byte that comes in or out: members of a hundred bytes each pass.
const FAIR_WORK_PER_BYTE: usize = 32;
/// Work that any body may cost: 4,096 parts.
const FREE_WORK: usize = 16 << 20;
/// The end of what every skippable frame begins with; the byte before it is 0x50 to 0x5f.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
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
            // Its parts cannot be told without decoding; each costs little more than its bytes do.
            Coding::Brotli => budget.drain(brotli_decompressor::Decompressor::new(input, 4096)).map(Some),
            Coding::Zstd => {
                budget.bear(zstd_frames(input), 0)?;
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
        let mut out = Room::new(budget.first_capacity(hint));
        self.gunzip_members(input, budget, &mut out)?;
        Ok(out.into_bytes())
    }

    /// Decodes member after member onto `out`, which holds what came before a failure.
    fn gunzip_members(&mut self, input: &[u8], budget: Budget, out: &mut Room) -> Result<(), Failure> {
        let mut rest = input;
        let mut members = 0;
        while let Some(data) = gzip_data(rest) {
            let data = data?;
            members += 1;
            budget.bear(members, out.filled)?;
            let start = out.filled;
            let used = self.inflate(false, data, out, budget)?;
            let trailer = data.get(used..).unwrap_or_default();
            let (Some(crc), Some(length)) = (trailer.first_chunk::<4>(), trailer.get(4..8)) else {
                return Err(Failure::BadEncoding);
            };
            let member = out.bytes.get(start..out.filled).unwrap_or_default();
            let mut sum = Crc::new();
            sum.update(member);
            if u32::from_le_bytes(*crc) != sum.sum() || (member.len() as u32).to_le_bytes() != *length {
                return Err(Failure::BadEncoding);
            }
            rest = trailer.get(8..).unwrap_or_default();
        }
        Ok(())
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
        let mut out = Room::new(budget.first_capacity(0));
        let is_zlib = matches!(input, [a, b, ..]
            if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)).is_multiple_of(31));
        if is_zlib {
            match self.inflate(true, input, &mut out, budget) {
                Ok(_) => return Ok(out.into_bytes()),
                Err(Failure::BadEncoding) => out.filled = 0,
                Err(failure) => return Err(failure),
            }
        }
        self.inflate(false, input, &mut out, budget)?;
        Ok(out.into_bytes())
    }

    /// Inflates one stream onto `out`; returns how much input it took.
    fn inflate(
        &mut self,
        zlib: bool,
        input: &[u8],
        out: &mut Room,
        budget: Budget,
    ) -> Result<usize, Failure> {
        self.inflate.reset(zlib);
        let (mut used, start) = (0, out.filled);
        loop {
            if out.is_full() {
                out.grow(budget.next_capacity(out.filled)?);
            }
            let before = (used, out.filled);
            let rest = input.get(used..).unwrap_or_default();
            let status = self
                .inflate
                .decompress(rest, out.free(), FlushDecompress::None)
                .map_err(|_| Failure::BadEncoding)?;
            used = usize::try_from(self.inflate.total_in()).map_err(|_| Failure::BadEncoding)?;
            let written = usize::try_from(self.inflate.total_out()).map_err(|_| Failure::BadEncoding)?;
            out.filled = start + written;
            if out.filled > budget.max_bytes {
                return Err(Failure::DecodedTooLarge);
            }
            let stuck = (used, out.filled) == before && !out.is_full();
            match status {
                Status::StreamEnd => return Ok(used),
                Status::Ok | Status::BufError if !stuck => {}
                _ => return Err(Failure::BadEncoding),
            }
        }
    }
}

/// Undoes gzip, of several members too, for files that are packed themselves, such as sitemaps. Beyond `most_bytes` the rest
/// is left out, and the second value says so.
pub fn gunzip(input: &[u8], most_bytes: usize) -> Result<(Vec<u8>, bool), Failure> {
    let limits = Limits { decoded_bytes: most_bytes, ..Limits::default() };
    let budget = Budget::new(input.len(), &limits);
    let mut out = Room::new(budget.first_capacity(0));
    match Decoder::new().gunzip_members(input, budget, &mut out) {
        Ok(()) => Ok((out.into_bytes(), false)),
        Err(Failure::DecodedTooLarge) => {
            out.filled = out.filled.min(budget.max_bytes);
            Ok((out.into_bytes(), true))
        }
        Err(failure) => Err(failure),
    }
}

/// Bytes decoded so far, and room for more that was cleared once: clearing it for each member of a body would cost the
/// square of their number.
struct Room {
    bytes: Vec<u8>,
    filled: usize,
}

impl Room {
    fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], filled: 0 }
    }

    fn is_full(&self) -> bool {
        self.filled >= self.bytes.len()
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len() + bytes, 0);
    }

    fn free(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.filled..).unwrap_or_default()
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.filled);
        self.bytes
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

/// How many zstd frames, skippable ones included, `input` holds at most: what looks like the beginning of one within the
/// data of another counts too, which is one chance in four thousand millions per byte.
fn zstd_frames(input: &[u8]) -> usize {
    let frames = memchr::memmem::find_iter(input, &ZSTD_MAGIC).count();
    let skippable = memchr::memmem::find_iter(input, &ZSTD_SKIPPABLE);
    frames + skippable.filter(|at| *at > 0 && input.get(at - 1).is_some_and(|byte| byte >> 4 == 5)).count()
}

/// How much one encoding may expand to, and how much work that may be.
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

    /// Whether so many members or frames may be decoded that brought so many bytes. Each costs some thousand steps before its
    /// first byte, so that empty ones cost hundreds of times what their bytes do.
    fn bear(self, parts: usize, decoded_bytes: usize) -> Result<(), Failure> {
        let work = parts.saturating_mul(PART_WORK);
        let fair = self.input_bytes.saturating_add(decoded_bytes).saturating_mul(FAIR_WORK_PER_BYTE);
        if work > fair.max(FREE_WORK) { Err(Failure::TooMuchWork) } else { Ok(()) }
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

#[cfg(test)]
mod ways;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const ALL: [Coding; 5] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd, Coding::Foreign];

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// The smallest parts that a stream of a coding can be made of, each with what it decodes to.
    fn parts(coding: Coding) -> Vec<(Vec<u8>, &'static [u8])> {
        match coding {
            Coding::Gzip => vec![(gzip(b""), b""), (gzip(b"x"), b"x")],
            Coding::Zstd => vec![
                (zstd::stream::encode_all(&b""[..], 1).unwrap(), b""),
                (zstd::stream::encode_all(&b"x"[..], 1).unwrap(), b"x"),
                ([0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].to_vec(), b""),
            ],
            // One stream, whose parts are blocks; a label that names no decoder has nothing to decode.
            Coding::Deflate | Coding::Brotli | Coding::Foreign => Vec::new(),
        }
    }

    #[test]
    fn a_body_of_empty_parts_is_given_up_before_it_costs_much() {
        let limits = Limits::default();
        let mut decoder = Decoder::new();
        for coding in ALL {
            for (part, data) in parts(coding) {
                let first = match coding {
                    Coding::Zstd => zstd::stream::encode_all(&b""[..], 1).unwrap(),
                    _ => Vec::new(),
                };
                let body = |count: usize| [first.clone(), part.repeat(count)].concat();
                // What is common passes, what is an attack does not.
                let few = decoder.undo(coding, &body(2_000), &limits);
                assert_eq!(few, Ok(Some(data.repeat(2_000))), "{coding:?}");
                let many = decoder.undo(coding, &body((16 << 20) / part.len()), &limits);
                assert_eq!(many, Err(Failure::TooMuchWork), "{coding:?} of {} bytes", part.len());
            }
        }
    }

    #[test]
    fn a_packed_file_is_cut_at_its_limit() {
        let packed = gzip(&b"<url/>".repeat(2_000_000));
        let (text, is_cut) = gunzip(&packed, 1 << 20).unwrap();
        assert!(is_cut && text.len() == 1 << 20 && text.ends_with(b"<url"), "{}", text.len());
        assert_eq!(gunzip(&gzip(b"x").repeat(3), 100), Ok((b"xxx".to_vec(), false)));
        assert!(gunzip(b"\x1f\x8b\x08rubbish", 100).is_err());
    }

    #[test]
    fn members_with_something_in_them_pass_however_many() {
        let text: String = (0..40).map(|line| format!("{line} the spider waits\n")).collect();
        let body = gzip(text.as_bytes()).repeat(20_000);
        let limits = Limits::default();
        let decoded = Decoder::new().undo(Coding::Gzip, &body, &limits);
        assert_eq!(decoded.map(|body| body.map(|body| body.len())), Ok(Some(20_000 * text.len())));
    }

    #[test]
    fn room_is_cleared_once_whatever_the_number_of_members() {
        let budget = Budget::new(1 << 20, &Limits::default());
        let mut room = Room::new(budget.first_capacity(0));
        let place = room.bytes.as_ptr();
        let (mut decoder, empty) = (Decoder::new(), gzip(b""));
        let data = gzip_data(&empty).unwrap().unwrap();
        for _ in 0..1_000 {
            decoder.inflate(false, data, &mut room, budget).unwrap();
        }
        assert_eq!((room.filled, room.bytes.as_ptr()), (0, place));
    }
}
