//! What differs between two visits without being news: clocks, dates, counters, tokens, advertisements.
//!
//! A line of visible text is reduced to a [`LineMark`]: its shape, in which numbers, dates and tokens are masked, and
//! the sum of its words, in which they are not. Equal shapes with different sums mean that only numbers changed; whether
//! that is noise the line itself says ([`LineKind`]). Only short lines are ever taken for noise: a number that changes in
//! running text is news. Running text without numbers is hashed as a whole.

use super::line_kind::{LineKind, Looked, MAX_NOISE_WORDS, in_order, look};
pub use super::line_mark::LineMark;
pub(crate) use super::line_mark::flag;
use super::line_mark::{BANNER, NUMBERS, VERSION, VOLATILE};
use super::swar;
use super::word_senses::WordSenses;
use lycosa_cpu::{Registers, widest};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Lines with numbers that are remembered, and the longest of them.
const KNOWN_LINES: usize = 1024;
const LONGEST_KNOWN: usize = 64;

/// A line with numbers, and what was made of it.
#[derive(Debug, Clone, Copy)]
struct KnownLine {
    bytes: [u8; LONGEST_KNOWN],
    len: u8,
    looked: Looked,
}

/// Marks lines, keeping its buffers. Menus and footers stand on page after page, so what was made of the last lines with
/// numbers is kept, too.
#[derive(Debug, Clone)]
pub struct LineMarker {
    places: Vec<Places>,
    known: Box<[KnownLine]>,
    senses: WordSenses,
}

/// What stands at 64 places of a text: one bit for each, that of the first lowest.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// Blanks and control characters, among them the ends of lines.
    blanks: u64,
    line_ends: u64,
    digits: u64,
}

impl Places {
    #[inline(always)]
    fn of(registers: Registers, bytes: &[u8; 64]) -> Self {
        Self {
            blanks: registers.bits(bytes.map(|byte| byte <= b' ')),
            line_ends: registers.bits(bytes.map(|byte| byte == b'\n')),
            digits: registers.bits(bytes.map(|byte| byte.wrapping_sub(b'0') < 10)),
        }
    }
}

impl Default for LineMarker {
    fn default() -> Self {
        let none = KnownLine { bytes: [0; LONGEST_KNOWN], len: 0, looked: Looked::default() };
        Self { places: Vec::new(), known: vec![none; KNOWN_LINES].into(), senses: WordSenses::default() }
    }
}

impl LineMarker {
    /// Calls `line` with the mark of each line of `text`, in order. `banners` are the byte ranges of advertisements, sorted.
    pub fn mark(&mut self, text: &str, banners: &[(u32, u32)], mut line: impl FnMut(LineMark)) {
        self.mark_places(text, banners, |mark, _| line(mark));
    }

    /// As [`mark`](Self::mark), also with the place of each line.
    pub(crate) fn mark_places(
        &mut self,
        text: &str,
        banners: &[(u32, u32)],
        mut line: impl FnMut(LineMark, Range<usize>),
    ) {
        let mut banners = banners.iter().peekable();
        let mut end_line = |mark: LineMark, place: Range<usize>| {
            let at = place.start;
            while banners.next_if(|b| b.1 as usize <= at).is_some() {}
            let inside = banners.peek().is_some_and(|b| (b.0 as usize) <= at);
            line(if inside { mark.in_banner() } else { mark }, place);
        };
        widest(
            #[inline(always)]
            |registers| self.read_lines(registers, text, &mut end_line),
        );
    }

    #[inline(always)]
    fn read_lines(
        &mut self,
        registers: Registers,
        text: &str,
        end_line: &mut impl FnMut(LineMark, Range<usize>),
    ) {
        self.find_places(registers, text.as_bytes());
        let mut line_at = 0;
        for block in 0..self.places.len() {
            let mut line_ends = self.places[block].line_ends;
            while line_ends != 0 {
                let end = 64 * block + line_ends.trailing_zeros() as usize;
                line_ends &= line_ends - 1;
                // Behind the last line there is one only if something stands in it.
                if line_at < text.len() {
                    end_line(self.mark_line(text, line_at..end), line_at..end);
                }
                line_at = end + 1;
            }
        }
    }

    /// Says of every place what stands there; the text ends as a line does.
    #[inline(always)]
    fn find_places(&mut self, registers: Registers, bytes: &[u8]) {
        let (blocks, tail) = bytes.as_chunks::<64>();
        let mut last = [b'a'; 64];
        last[..tail.len()].copy_from_slice(tail);
        last[tail.len()] = b'\n';
        self.places.clear();
        self.places.reserve(blocks.len() + 1);
        for block in blocks {
            self.places.push(Places::of(registers, block));
        }
        self.places.push(Places::of(registers, &last));
    }

    #[inline(always)]
    fn mark_line(&mut self, text: &str, line: Range<usize>) -> LineMark {
        let (blanks, has_digits) = self.look_at(line.clone());
        if blanks > MAX_NOISE_WORDS && !has_digits {
            // Nothing is to be masked in running text without numbers, and it is never noise.
            let hash = xxh3_64(text.as_bytes().get(line).unwrap_or_default());
            return LineMark::from_parts((hash >> 32) as u32 & !(VOLATILE | BANNER), hash as u32, 0);
        }
        let state = self.read_words(text.as_bytes(), line.clone());
        // Of running text it is enough that its numbers are masked.
        let close = state.look && state.count <= MAX_NOISE_WORDS && !is_number(text.as_bytes(), &line);
        let looked = match close {
            true => self.looked(state.words, text, line),
            false => Looked { shape: state.shape, ..Looked::default() },
        };
        let shape = (looked.shape >> 32) as u32 & !(VOLATILE | BANNER);
        let kind = match looked.kind {
            LineKind::News if looked.is_version => VERSION,
            LineKind::News if has_digits => NUMBERS,
            kind => kind as u8,
        };
        LineMark::from_parts(
            shape | (u32::from(looked.kind.is_volatile()) * VOLATILE),
            looked.value.unwrap_or(state.words as u32),
            kind | (u8::from(looked.is_hard) * flag::HARD),
        )
    }

    /// How many words a line has, nearly, and whether there are digits.
    #[inline(always)]
    fn look_at(&self, line: Range<usize>) -> (usize, bool) {
        let (first, last) = (line.start / 64, line.end / 64);
        let (mut blanks, mut digits) = (0, 0);
        for (block, places) in (first..).zip(self.places.get(first..=last).unwrap_or_default()) {
            let from = if block == first { u64::MAX << (line.start % 64) } else { u64::MAX };
            let inside = if block == last { from & swar::first_bits(line.end % 64 + 1) } else { from };
            blanks += (places.blanks & inside).count_ones();
            digits |= places.digits & inside;
        }
        (blanks as usize, digits != 0)
    }

    /// What the words of a line add up to.
    #[inline(always)]
    fn read_words(&self, bytes: &[u8], line: Range<usize>) -> LineState {
        // Words are read eight bytes at a time.
        let mut short = [0; 8];
        let bytes = if bytes.len() < short.len() {
            short[..bytes.len()].copy_from_slice(bytes);
            &short
        } else {
            bytes
        };
        let mut state = LineState::default();
        let mut word_at = line.start;
        let mut first = u64::MAX << (line.start % 64);
        for block in line.start / 64..=line.end / 64 {
            let mut blanks = self.places[block].blanks & std::mem::replace(&mut first, u64::MAX);
            while blanks != 0 {
                let end = 64 * block + blanks.trailing_zeros() as usize;
                blanks &= blanks - 1;
                if end > word_at {
                    let (hash, has_digit) = read_word(bytes, word_at, end);
                    state.add(hash, has_digit);
                }
                word_at = end + 1;
                if end == line.end {
                    return state;
                }
            }
        }
        state
    }

    /// As [`look`], which is not asked twice about the same line.
    fn looked(&mut self, words: u64, text: &str, line: Range<usize>) -> Looked {
        let bytes = text.as_bytes().get(line.clone()).unwrap_or_default();
        let known = self.known.get_mut(words as usize % KNOWN_LINES);
        let Some(known) = known.filter(|_| bytes.len() <= LONGEST_KNOWN) else {
            return look(&mut self.senses, text, line);
        };
        if known.bytes.get(..usize::from(known.len)) != Some(bytes) {
            let looked = look(&mut self.senses, text, line);
            *known = KnownLine { bytes: [0; LONGEST_KNOWN], len: bytes.len() as u8, looked };
            known.bytes[..bytes.len()].copy_from_slice(bytes);
        }
        known.looked
    }
}

/// Whether a line is a number and nothing else. Such lines, as beside source code, are many; there is nothing to look for in
/// them.
#[inline(always)]
fn is_number(bytes: &[u8], line: &Range<usize>) -> bool {
    let kept = swar::first_bytes(line.len());
    let word = swar::load(bytes, line.start).map_or(0, |word| (word & kept) | (ZEROS & !kept));
    // Digits are what has the upper half of a zero, also with six more.
    let upper = |word: u64| word & (swar::ONES * 0xf0);
    line.len() <= 8 && upper(word) == ZEROS && upper(word.wrapping_add(swar::ONES * 6)) == ZEROS
}

const ZEROS: u64 = swar::ONES * b'0' as u64;

/// The hash of a word, and whether it holds a digit.
#[inline(always)]
fn read_word(bytes: &[u8], from: usize, end: usize) -> (u64, bool) {
    // The first eight bytes stand alone, so that short words need one multiplication.
    let (mut hash, mut digits) = eight_bytes(bytes, from, end, 0);
    let mut at = from + 8;
    while at < end {
        let more;
        (hash, more) = eight_bytes(bytes, at, end, hash);
        digits |= more;
        at += 8;
    }
    (hash, digits != 0)
}

/// The hash of a word with up to eight bytes more, and marks for digits among them.
#[inline(always)]
fn eight_bytes(bytes: &[u8], at: usize, end: usize, hash: u64) -> (u64, u64) {
    // Nearer than that to the end, the last eight are read, and those in front shifted out.
    let from = at.min(bytes.len().saturating_sub(8));
    let word = swar::load(bytes, from).unwrap_or(0) >> (8 * (at - from) % 64);
    let kept = word & swar::first_bytes(end - at);
    let digits = swar::below(kept ^ ZEROS, 10);
    (spread(hash.rotate_left(27) ^ kept), digits)
}

#[derive(Default)]
struct LineState {
    shape: u64,
    words: u64,
    count: usize,
    /// The line holds a digit or `ago` and must be looked at word by word.
    look: bool,
}

impl LineState {
    #[inline(always)]
    fn add(&mut self, hash: u64, has_digit: bool) {
        self.shape = in_order(self.shape, if has_digit { 1 } else { hash });
        self.words = self.words.wrapping_add(hash);
        self.count += 1;
        self.look |= has_digit | (hash == AGO);
    }
}

const fn spread(word: u64) -> u64 {
    let x = (word ^ (word >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

const AGO: u64 = spread(swar::pack(b"ago"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    /// The mark of one line.
    fn mark_line(text: &str) -> LineMark {
        let mut mark = LineMark::default();
        LineMarker::default().mark(text, &[], |m| mark = m);
        mark
    }

    fn noise(old: &str, new: &str) -> bool {
        let (a, b) = (mark_line(old), mark_line(new));
        assert_ne!(a.words, b.words, "{old} {new}");
        a.shape() == b.shape() && a.is_volatile() && b.is_volatile()
    }

    #[test]
    fn numbers_that_are_noise() {
        for (old, new) in [
            ("Views: 1204", "Views: 1211"),
            (
                "Page generated 2026-11-15T04:18:25Z in 0.023 s",
                "Page generated 2026-11-15T05:19:25Z in 0.091 s",
            ),
            ("Last updated: Nov 3, 2026 10:15 am", "Last updated: Dec 12, 2026 9:02 pm"),
            ("3 hours ago", "2 days ago"),
            ("an hour ago", "5 minutes ago"),
            ("© 2025 Spider Society", "© 2026 Spider Society"),
            ("17 users online", "4 users online"),
            ("Request id 9f86d081884c7d65", "Request id 60303ae22b998861"),
        ] {
            assert!(noise(old, new), "{old} / {new}");
        }
    }

    #[test]
    fn numbers_that_are_news() {
        for (old, new) in [
            ("Price: 20 EUR", "Price: 25 EUR"),
            ("Version 3.11.2 was released", "Version 3.11.4 was released"),
            (
                "The council voted on 5 May 2024 to close the bridge over the river",
                "The council voted on 6 May 2024 to close the bridge over the river",
            ),
            ("Timeout: 30 seconds", "Timeout: 60 seconds"),
            ("12,400", "12,900"),
            // Nothing tells a clock from the opening hours, or today from the day of a concert.
            ("04:18", "05:00"),
            ("Sunday, 15 November 2026", "Monday, 16 November 2026"),
        ] {
            assert!(!noise(old, new), "{old} / {new}");
        }
    }

    #[test]
    fn a_number_alone_is_what_a_close_look_makes_of_it() {
        for line in
            ["7", "31", "2026", "0012", "12345678", "123456789", "1:30", "12a", "a12", "-5", "1/2/26", "/0:9"]
        {
            let number = line.len() <= 8 && line.bytes().all(|byte| byte.is_ascii_digit());
            let text = format!("{line}\nmore words");
            assert_eq!(is_number(text.as_bytes(), &(0..line.len())), number, "{line}");
            let looked = look(&mut WordSenses::default(), &text, 0..line.len());
            let mark = mark_line(line);
            assert_eq!(
                (mark.shape(), mark.kind()),
                ((looked.shape >> 32) as u32 & !3, looked.kind),
                "{line}"
            );
        }
    }

    #[test]
    fn words_change_the_shape() {
        assert_ne!(mark_line("Views: 12 today").shape(), mark_line("Views: 12 yesterdays").shape());
        assert_ne!(mark_line("wolf spider").shape(), mark_line("spider wolf").shape());
        assert_eq!(mark_line("wolf spider").words, mark_line("spider wolf").words);
    }

    #[test]
    fn the_same_replacement_has_the_same_difference() {
        let delta = |a: &str, b: &str| mark_line(b).words.wrapping_sub(mark_line(a).words);
        assert_eq!(
            delta("abc — Python 3.11.2 manual", "abc — Python 3.11.4 manual"),
            delta("os 3.11.2", "os 3.11.4")
        );
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let mut dice = Dice(8);
        let parts = [
            "a",
            "word",
            " ",
            "  ",
            "\n",
            "1",
            "2026-11-15",
            "é",
            "\u{1}",
            "longer-than-eight",
            "ago",
            "exactly8",
        ];
        let running = ["word", " ", "a", " ", "é", " ", "longer-than-eight", " ", "ago", "  "];
        let mut marker = LineMarker::default();
        let mut whole = 0;
        for round in 0..6_000 {
            let text = [dice.text(round % 60, &parts), dice.text(round % 90, &running)].concat();
            let mut marks = Vec::new();
            marker.mark(&text, &[], |mark| marks.push(mark));
            let lines: Vec<&str> = text.split_terminator('\n').collect();
            assert_eq!(marks.len(), lines.len(), "{text:?}");
            for (mark, line) in marks.iter().zip(lines) {
                let words = line.split(|c: char| c <= ' ').filter(|word| !word.is_empty());
                let sum = words.map(plain_hash).fold(0u64, u64::wrapping_add);
                let blanks = line.bytes().filter(|&byte| byte <= b' ').count();
                let is_running = blanks >= MAX_NOISE_WORDS && !line.contains(|c: char| c.is_ascii_digit());
                let expected = if is_running { xxh3_64(line.as_bytes()) } else { sum };
                let says_one_value =
                    matches!(mark.kind(), LineKind::Elapsed | LineKind::TimeAlone | LineKind::DayAlone);
                assert!(says_one_value || mark.words == expected as u32, "{line:?}");
                assert_eq!(*mark, mark_line(line), "{line:?}");
                whole += u32::from(is_running);
            }
        }
        assert!(whole > 1000);
    }

    /// By its definition: eight bytes after the other, the last of them filled up with zeros.
    fn plain_hash(word: &str) -> u64 {
        let padded = [word.as_bytes(), &vec![0; word.len().next_multiple_of(8) - word.len()]].concat();
        let (chunks, _) = padded.as_chunks::<8>();
        chunks.iter().fold(0, |hash: u64, chunk| spread(hash.rotate_left(27) ^ u64::from_le_bytes(*chunk)))
    }

    #[test]
    fn lines_in_banners_are_marked() {
        let mut marks = Vec::new();
        let mut marker = LineMarker::default();
        marker.mark("one\ntwo three\nfour", &[(4, 13)], |m| marks.push(m.is_banner()));
        assert_eq!(marks, [false, true, false]);
        let mut count = 0;
        marker.mark("", &[], |_| count += 1);
        assert_eq!(count, 0);
    }
}
