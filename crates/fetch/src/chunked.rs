//! Chunked framing: finds the data among the framing, in any number of pieces.
//!
//! Promise: each byte is looked at once and copied at most once; a body in one chunk is not copied at all. Lines and
//! trailers are bounded. Bare line feeds are let through, anything else that is not chunked framing is not.

use std::ops::Range;

use lycosa_types::Failure;

/// A size line may carry an extension, but not a novel.
const MAX_SIZE_LINE_BYTES: usize = 4 * 1024;
/// Everything between the last chunk and the end.
const MAX_TRAILER_BYTES: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    Done,
}

/// Reads chunked framing out of a buffer that grows.
#[derive(Debug)]
pub(crate) struct ChunkedReader {
    state: State,
    /// How far the buffer was understood.
    position: usize,
    trailer_from: usize,
    /// Data of the first chunk, as a part of the buffer.
    first: Option<Range<usize>>,
    /// Data of all chunks so far, once there are two.
    joined: Vec<u8>,
}

/// Where the data of a finished body is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkedData {
    /// A part of the body's raw bytes.
    Slice(Range<usize>),
    Joined(Vec<u8>),
}

impl ChunkedReader {
    pub fn new() -> Self {
        Self { state: State::Size, position: 0, trailer_from: 0, first: None, joined: Vec::new() }
    }

    /// Reads on in `body`, which starts where it always did. True when the body is complete.
    pub fn advance(&mut self, body: &[u8]) -> Result<bool, Failure> {
        loop {
            let rest = body.get(self.position..).unwrap_or_default();
            match self.state {
                State::Size => {
                    let Some(line) = line(rest, MAX_SIZE_LINE_BYTES)? else {
                        // What cannot become a size is refused before its line ends, if it ever does.
                        let may_be_size =
                            rest.first().is_none_or(|b| b.is_ascii_hexdigit() || b" \t".contains(b));
                        return if may_be_size { Ok(false) } else { Err(Failure::BadResponse) };
                    };
                    let size = parse_size(line).ok_or(Failure::BadResponse)?;
                    self.position += line.len() + 1;
                    self.trailer_from = self.position;
                    self.state = if size == 0 { State::Trailer } else { State::Data(size) };
                }
                State::Data(left) => {
                    if rest.is_empty() {
                        return Ok(false);
                    }
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    self.keep(body, self.position..self.position + taken);
                    self.position += taken;
                    let left = left - taken as u64;
                    self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
                }
                State::DataEnd => {
                    self.position += match rest {
                        [b'\r', b'\n', ..] => 2,
                        [b'\n', ..] => 1,
                        [] | [b'\r'] => return Ok(false),
                        _ => return Err(Failure::BadResponse),
                    };
                    self.state = State::Size;
                }
                State::Trailer => {
                    let spent = self.position - self.trailer_from;
                    let room = MAX_TRAILER_BYTES.saturating_sub(spent);
                    let Some(line) = line(rest, room)? else {
                        return Ok(false);
                    };
                    self.position += line.len() + 1;
                    if line.is_empty() || line == b"\r" {
                        self.state = State::Done;
                    }
                }
                State::Done => return Ok(true),
            }
        }
    }

    fn keep(&mut self, body: &[u8], data: Range<usize>) {
        if self.joined.is_empty() {
            match &mut self.first {
                None => {
                    self.first = Some(data);
                    return;
                }
                Some(first) if first.end == data.start => {
                    first.end = data.end;
                    return;
                }
                Some(first) => {
                    self.joined.reserve(first.len() + data.len() * 2);
                    self.joined.extend_from_slice(body.get(first.clone()).unwrap_or_default());
                }
            }
        }
        self.joined.extend_from_slice(body.get(data).unwrap_or_default());
    }

    /// How many bytes of the buffer belong to the body so far.
    pub fn consumed(&self) -> usize {
        self.position
    }

    pub fn into_data(self) -> ChunkedData {
        if self.joined.is_empty() {
            ChunkedData::Slice(self.first.unwrap_or(0..0))
        } else {
            ChunkedData::Joined(self.joined)
        }
    }
}

/// The first line without its line feed, if it is all there.
fn line(rest: &[u8], max_bytes: usize) -> Result<Option<&[u8]>, Failure> {
    match memchr::memchr(b'\n', rest) {
        Some(end) if end <= max_bytes => Ok(rest.get(..end)),
        None if rest.len() <= max_bytes => Ok(None),
        _ => Err(Failure::BadResponse),
    }
}

fn parse_size(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|&b| b == b';').unwrap_or(line.len());
    let digits = line.get(..end)?.trim_ascii();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(body: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Failure> {
        let mut reader = ChunkedReader::new();
        if !reader.advance(body)? {
            return Ok(None);
        }
        let consumed = reader.consumed();
        let data = match reader.into_data() {
            ChunkedData::Slice(range) => body[range].to_vec(),
            ChunkedData::Joined(data) => data,
        };
        Ok(Some((data, consumed)))
    }

    #[test]
    fn well_formed_bodies() {
        assert_eq!(read(b"0\r\n\r\n"), Ok(Some((vec![], 5))));
        assert_eq!(read(b"3\r\nabc\r\n0\r\n\r\nrest"), Ok(Some((b"abc".to_vec(), 13))));
        assert_eq!(
            read(b"3;x=\"y\"\r\nabc\r\n02 \r\nde\r\n0\r\nTrailer: 1\r\n\r\n").unwrap().unwrap().0,
            b"abcde"
        );
        assert_eq!(read(b"1\na\n0\n\n").unwrap().unwrap().0, b"a");
    }

    #[test]
    fn one_chunk_is_not_copied() {
        let mut reader = ChunkedReader::new();
        assert!(!reader.advance(b"5\r\nab").unwrap());
        assert!(reader.advance(b"5\r\nabcde\r\n0\r\n\r\n").unwrap());
        assert_eq!(reader.into_data(), ChunkedData::Slice(3..8));
    }

    #[test]
    fn broken_framing_is_refused() {
        for bad in [
            &b"x\r\n"[..],
            b"\r\n",
            b"-1\r\n",
            b"3\r\nabcd\r\n",
            b"ffffffffffffffff\r\n",
            b"0x3\r\nabc",
            b"3 3\r\nabc",
        ] {
            assert_eq!(read(bad), Err(Failure::BadResponse), "{:?}", String::from_utf8_lossy(bad));
        }
        assert_eq!(read(&b"1".repeat(5000)), Err(Failure::BadResponse));
        let endless = [b"0\r\n".to_vec(), b"A: b\r\n".repeat(4000)].concat();
        assert_eq!(read(&endless), Err(Failure::BadResponse));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_data(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            step in 1_usize..9,
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            let mut reader = ChunkedReader::new();
            let mut end = 0;
            while end < wire.len() {
                end = (end + step).min(wire.len());
                prop_assert_eq!(reader.advance(&wire[..end]).unwrap(), end == wire.len());
            }
            let data = match reader.into_data() {
                ChunkedData::Slice(range) => wire[range].to_vec(),
                ChunkedData::Joined(data) => data,
            };
            prop_assert_eq!(data, chunks.concat());
        }

        #[test]
        fn no_bytes_panic(wire in prop::collection::vec(prop::sample::select(b"0123af;\r\n x".to_vec()), 0..80)) {
            let _ = read(&wire);
        }
    }
}
