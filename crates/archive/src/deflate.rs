//! A gzip encoder for speed: what the default compression of a segment does.
//!
//! Records are many and small, so what counts is what a member costs before its first byte as much as what a byte costs.
//! One greedy pass finds repetitions with one look into a small table per position ([`search`]), the block is then
//! written with a Huffman code of its own, or, for records so small that making a code would cost more than it saves,
//! with one that was made beforehand from what small records look like ([`code`], [`header`], [`block`]). What does not
//! become smaller is stored.
//!
//! Promise: every input gives a whole member that any gzip reader opens; the same input gives the same bytes, whatever was
//! encoded before; nothing panics. Matches are verified against the input itself, so a wrong entry in the table costs
//! space, never correctness.
//!
//! Format: RFC 1951 (deflate) and RFC 1952 (gzip).

mod bits;
mod block;
mod code;
mod header;
mod search;
mod slot;

use bytes::BytesMut;

use bits::Bits;
use block::BlockCode;
use code::Workshop;
use search::Search;

/// Input bytes of one block: what a stored block can hold, and no more than the code's counts are good for.
const BLOCK_BYTES: usize = 65_535;

/// Members up to this long take the code made beforehand.
const SMALL_BYTES: usize = 1024;

/// Places are counted in 32 bits; what is longer is stored. A visit lies far below.
const MAX_BYTES: usize = u32::MAX as usize - BLOCK_BYTES;

/// No name, no time; made on an unknown system, so that the same record gives the same bytes everywhere.
const MEMBER_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

/// What small records look like: the sample from which their code is made.
const SMALL_SAMPLE: &[u8] = b"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:0a1b2c3d-4e5f-8678-9a0b-1c2d3e4f5a6b>\r\nWARC-Date: \
2026-11-15T03:35:08.250Z\r\nWARC-Target-URI: http://www.example.org/docs/reference/page-1.html\r\nWARC-Concurrent-To: <urn:uuid:\
98765432-10fe-8dcb-a012-3456789abcde>\r\nContent-Type: application/http; msgtype=request\r\nContent-Length: 217\r\n\r\nGET /docs/\
reference/page-1.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: lycosa/0.1 (+https://example.org/bot)\r\nAccept: text/html,\
application/xhtml+xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\nvia: hopsFromSeed: LLL fetchTimeMs: 12\r\n\r\n\r\n";

/// Makes gzip members, with its tables reused.
pub(crate) struct Deflater {
    search: Search,
    /// Of small members.
    small: BlockCode,
    /// Of the current block.
    own: BlockCode,
    workshop: Workshop,
}

impl Deflater {
    pub fn new() -> Self {
        let mut search = Search::new();
        search.run_small(SMALL_SAMPLE);
        let (mut small, mut workshop) = (BlockCode::new(), Workshop::new());
        small.make_for_any_input(&search.counts, &mut workshop);
        Self { search, small, own: BlockCode::new(), workshop }
    }

    /// Appends `input` to `out` as one member.
    pub fn pack(&mut self, input: &[u8], out: &mut BytesMut) {
        if input.len() > MAX_BYTES {
            return Self::store(input, out);
        }
        out.extend_from_slice(&MEMBER_HEAD);
        let is_small = input.len() <= SMALL_BYTES;
        if !is_small {
            self.search.start();
        }
        let mut bits = Bits::default();
        let mut from = 0;
        loop {
            let to = input.len().min(from + BLOCK_BYTES);
            let seen = input.get(..to).unwrap_or_default();
            let last = to == input.len();
            let code = if is_small {
                self.search.run_small(seen);
                &self.small
            } else {
                self.search.run(seen, from as u32);
                self.own.make(&self.search.counts, &mut self.workshop);
                &self.own
            };
            let cost_bits = code.cost_bits(&self.search.counts);
            if cost_bits / 8 < (to - from) as u64 {
                block::write(
                    code,
                    cost_bits,
                    self.search.sequences(),
                    seen,
                    from as u32,
                    last,
                    &mut bits,
                    out,
                );
            } else {
                block::store(seen.get(from..).unwrap_or_default(), last, &mut bits, out);
            }
            from = to;
            if last {
                break;
            }
        }
        bits.finish(out);
        push_trailer(input, out);
    }

    /// Appends `input` to `out` as one member without trying to make it smaller.
    pub fn store(input: &[u8], out: &mut BytesMut) {
        out.reserve(input.len() + input.len() / BLOCK_BYTES * 5 + 32);
        out.extend_from_slice(&MEMBER_HEAD);
        let mut bits = Bits::default();
        let mut rest = input;
        loop {
            let (part, after) = rest.split_at(rest.len().min(BLOCK_BYTES));
            block::store(part, after.is_empty(), &mut bits, out);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        push_trailer(input, out);
    }
}

/// Checksum and length (modulo 2³², as the format has it).
fn push_trailer(input: &[u8], out: &mut BytesMut) {
    out.extend_from_slice(&libdeflater::crc32(input).to_le_bytes());
    out.extend_from_slice(&(input.len() as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read as _;

    /// Reads members with two readers that know nothing of each other.
    fn unpacked(members: &[u8], length: usize) -> Vec<u8> {
        let mut by_stream = Vec::new();
        flate2::bufread::MultiGzDecoder::new(members).read_to_end(&mut by_stream).unwrap();
        let mut whole = vec![0; length];
        let first = libdeflater::Decompressor::new().gzip_decompress(members, &mut whole);
        assert!(first.is_ok_and(|first| whole.get(..first) == by_stream.get(..first)));
        by_stream
    }

    fn packed(input: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::from(&b"before"[..]);
        Deflater::new().pack(input, &mut out);
        assert!(out.starts_with(b"before\x1f\x8b"));
        out.split_off(6).to_vec()
    }

    /// Returns the length of the member.
    fn check(input: &[u8]) -> usize {
        let member = packed(input);
        assert!(unpacked(&member, input.len()) == input, "{} bytes", input.len());
        let trailer = [libdeflater::crc32(input).to_le_bytes(), (input.len() as u32).to_le_bytes()].concat();
        assert!(member.ends_with(&trailer));
        let mut stored = BytesMut::new();
        Deflater::store(input, &mut stored);
        assert!(unpacked(&stored, input.len()) == input);
        assert!(member.len() <= stored.len(), "{} bytes became {}", input.len(), member.len());
        member.len()
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x2545_F491_4F6C_DD1Du64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    fn text(length: usize) -> Vec<u8> {
        let words = ["<p class=\"x\">", "value", " of ", "the ", "iterator", "</p>\n", "ä", "0x"];
        noise(length).iter().flat_map(|&byte| words[usize::from(byte) % 8].bytes()).take(length).collect()
    }

    #[test]
    fn all_sorts_of_input() {
        for length in
            [0, 1, 2, 3, 7, 8, 9, 15, 257, 258, 259, 1023, 1024, 1025, 65_534, 65_535, 65_536, 131_071]
        {
            check(&noise(length));
            check(&text(length));
            check(&vec![b'a'; length]);
        }
        assert!(check(&noise(3 << 20)) <= (3 << 20) + 300, "what does not become smaller is stored");
        assert!(check(&text(3 << 20)) < 1 << 20);
        assert!(check(&vec![0; 3 << 20]) < 1 << 14);
        // Repetitions at the edge of the window and beyond it.
        for distance in [32_766, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537] {
            let start = noise(distance);
            check(&[&start[..], &start[..]].concat());
        }
        // Counts that grow like Fibonacci's numbers make the deepest trees.
        let (mut skewed, mut counts) = (Vec::new(), (1, 1));
        for symbol in 0..22u8 {
            skewed.extend(std::iter::repeat_n([symbol, noise(1)[0]], counts.0).flatten());
            counts = (counts.1, counts.0 + counts.1);
        }
        check(&skewed);
    }

    #[test]
    fn a_member_does_not_depend_on_the_one_before() {
        let mut deflater = Deflater::new();
        let mut out = BytesMut::new();
        for input in [text(70_000), noise(500), text(300), text(70_000)] {
            out.clear();
            deflater.pack(&input, &mut out);
            assert!(out == packed(&input));
        }
    }

    #[test]
    fn members_in_a_row() {
        let mut deflater = Deflater::new();
        let (mut out, mut all) = (BytesMut::new(), Vec::new());
        for length in [400, 0, 20_000, 600, 1] {
            all.extend(text(length));
            deflater.pack(&text(length), &mut out);
        }
        assert!(unpacked(&out, all.len()) == all);
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(input in proptest::collection::vec(any::<u8>(), 0..3000)) {
            check(&input);
        }

        #[test]
        fn repetitive_bytes_come_back(
            parts in proptest::collection::vec((proptest::collection::vec(0u8..4, 1..20), 1usize..200), 0..40),
        ) {
            check(&parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect::<Vec<u8>>());
        }

        #[test]
        fn markup_comes_back(input in "(<[a-d]{1,3} (id|class)=\"[a-z]{1,9}\">[a-zäé ]{0,30}</[a-d]>\n){0,200}") {
            check(input.as_bytes());
        }
    }
}
