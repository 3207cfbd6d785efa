//! Running text: white space collapsed, references decoded, blocks on lines of their own.
//!
//! Separators are owed, not written: a blank or a line end goes out only in front of the next word, so a text never
//! starts or ends with one and never holds two in a row.

use super::byte_class::{SPACE, TEXT_STOP, is, skip};
use super::entities::{self, Context};
use super::swar;
use std::ops::Range;

/// Eight bytes each: a run that has not ended within so many is taken for a long one.
const SHORT_WORDS: usize = 2;

/// How the characters of a run are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Ordinary text: references decoded, NUL dropped.
    Text,
    /// `<title>`: references decoded, NUL replaced.
    Rcdata,
    /// An attribute's value: references decoded by its rules, NUL replaced.
    Attribute,
    /// `<xmp>`, `<plaintext>`, CDATA: as it stands, NUL replaced.
    Raw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owed {
    Nothing,
    Blank,
    Line,
}

/// The state of a text being written to a buffer.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// Where the text starts in its buffer: nothing is owed in front of it.
    base: usize,
    /// The buffer grows to this length at most.
    limit: usize,
    owed: Owed,
    /// Line ends in the source are line ends in the text (`<pre>`).
    pub keep_lines: bool,
    /// The limit was reached; the rest is dropped.
    pub full: bool,
}

impl Flow {
    pub fn new(base: usize, limit: usize) -> Self {
        Self { base, limit, owed: Owed::Nothing, keep_lines: false, full: false }
    }

    /// The next word starts a new line.
    #[inline(always)]
    pub fn line(&mut self) {
        self.owed = Owed::Line;
    }

    /// The next word is separated from the last.
    #[inline(always)]
    pub fn blank(&mut self) {
        if self.owed == Owed::Nothing {
            self.owed = Owed::Blank;
        }
    }

    /// Writes the run `start..end` of `source`.
    #[inline]
    pub fn push(&mut self, out: &mut String, source: &str, run: Range<usize>, reading: Reading) {
        if self.full {
            return;
        }
        let bytes = source.as_bytes();
        let end = run.end.min(bytes.len());
        let mut i = run.start;
        while i < end {
            let b = bytes.get(i).copied().unwrap_or(0);
            if is(b, SPACE) {
                let start = i;
                i = skip(bytes, i + 1, SPACE).min(end);
                self.blank();
                if self.keep_lines && bytes.get(start..i).is_some_and(|s| s.contains(&b'\n')) {
                    self.line();
                }
                continue;
            }
            if is(b, TEXT_STOP) {
                i += self.special(out, source.get(i..end).unwrap_or(""), reading);
                continue;
            }
            let start = i;
            i = words_end(bytes, i + 1, end);
            self.write(out, source.get(start..i).unwrap_or(""));
        }
    }

    /// Writes what the `&` or NUL at the start of `tail` stands for; returns how many bytes that took.
    #[cold]
    fn special(&mut self, out: &mut String, tail: &str, reading: Reading) -> usize {
        if tail.starts_with('\0') {
            if reading != Reading::Text {
                self.write(out, "\u{fffd}");
            }
            return 1;
        }
        let context = match reading {
            Reading::Raw => None,
            Reading::Attribute => Some(Context::Attribute),
            Reading::Text | Reading::Rcdata => Some(Context::Text),
        };
        let Some((chars, len)) = context.and_then(|c| entities::decode(tail.as_bytes(), c)) else {
            self.write(out, "&");
            return 1;
        };
        if chars.first.is_ascii() && is(chars.first as u8, SPACE) {
            self.blank();
        } else {
            self.write(out, chars.first.encode_utf8(&mut [0; 4]));
        }
        if let Some(second) = chars.second {
            self.write(out, second.encode_utf8(&mut [0; 4]));
        }
        len
    }

    #[inline(always)]
    fn write(&mut self, out: &mut String, words: &str) {
        if self.full {
            return;
        }
        if out.len().saturating_add(words.len()) >= self.limit {
            self.write_last(out, words);
            return;
        }
        if self.owed != Owed::Nothing {
            if out.len() > self.base {
                out.push(if self.owed == Owed::Line { '\n' } else { ' ' });
            }
            self.owed = Owed::Nothing;
        }
        out.push_str(words);
    }

    #[cold]
    fn write_last(&mut self, out: &mut String, words: &str) {
        let separator = usize::from(self.owed != Owed::Nothing && out.len() > self.base);
        let room = self.limit.saturating_sub(out.len() + separator);
        let kept = words.get(..words.floor_char_boundary(room)).unwrap_or("").trim_end_matches(' ');
        self.full = kept.len() < words.len();
        if !kept.is_empty() {
            if separator > 0 {
                out.push(if self.owed == Owed::Line { '\n' } else { ' ' });
            }
            out.push_str(kept);
        }
        self.owed = Owed::Nothing;
    }
}

/// The end, at most `end`, of the words that start in front of `from`: single blanks between words are taken along.
#[inline(always)]
fn words_end(bytes: &[u8], from: usize, end: usize) -> usize {
    let mut i = from;
    let mut blank_before = 0;
    let mut tried = 0;
    loop {
        if tried == SHORT_WORDS {
            i = long_run(bytes.get(..end).unwrap_or(bytes), i, &mut blank_before);
        }
        tried += 1;
        let stop = match swar::load(bytes, i) {
            Some(word) => {
                // A false mark cuts a run in two, which comes to the same.
                let blanks = swar::equal(word, b' ');
                let second_blank = blanks & (blanks << 8 | blank_before);
                blank_before = blanks >> 56;
                swar::first(swar::below(word, b' ') | swar::equal(word, b'&') | second_blank)
            }
            None => {
                let blank_at = |at: usize| bytes.get(at) == Some(&b' ');
                let ends = |b: u8, at: usize| is(b, TEXT_STOP) && (b != b' ' || blank_at(at - 1));
                let rest = bytes.get(i..).unwrap_or(b"");
                rest.iter().enumerate().position(|(n, &b)| ends(b, i + n)).unwrap_or(rest.len())
            }
        };
        i += stop;
        if stop < 8 || i >= end {
            let i = i.min(end);
            return i - usize::from(bytes.get(i - 1) == Some(&b' '));
        }
    }
}

/// Steps over stretches in which nothing ends a run; what is left of it ends soon.
#[inline(never)]
fn long_run(bytes: &[u8], from: usize, blank_before: &mut u64) -> usize {
    let mut at = from;
    while let Some([before, here @ ..]) =
        bytes.get(at.wrapping_sub(1)..).and_then(|rest| rest.first_chunk::<33>())
    {
        let mut before = *before;
        let mut ends = false;
        for &b in here {
            ends |= (b < b' ') | (b == b'&') | ((b == b' ') & (before == b' '));
            before = b;
        }
        if ends {
            break;
        }
        at += here.len();
    }
    *blank_before = if at > 0 && bytes.get(at - 1) == Some(&b' ') { 0x80 } else { 0 };
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn push(flow: &mut Flow, out: &mut String, run: &str, reading: Reading) {
        flow.push(out, run, 0..run.len(), reading);
    }

    /// Words of all lengths at all distances from the end, against the plain way of saying it.
    #[test]
    fn words_end_where_they_should() {
        let mut dice = Dice(7);
        for _ in 0..20_000 {
            let source = format!("a{}", dice.text(24, &[" ", "b", "!", "d", "\n", "é", "e", " "]));
            let end = source.floor_char_boundary(1 + dice.roll(source.len()));
            let mut out = String::new();
            Flow::new(0, 1000).push(&mut out, &source, 0..end, Reading::Text);
            let expected: Vec<_> = source[..end].split_ascii_whitespace().collect();
            assert_eq!(out, expected.join(" "), "{source:?} {end}");
        }
    }

    fn flow(runs: &[&str]) -> String {
        let mut out = String::new();
        let mut flow = Flow::new(0, 1000);
        runs.iter().for_each(|r| push(&mut flow, &mut out, r, Reading::Text));
        out
    }

    #[test]
    fn white_space_collapses_across_runs() {
        assert_eq!(flow(&["  a  b ", " c\n\t", "d", "e "]), "a b c de");
        assert_eq!(flow(&["a&#32; b&nbsp;c&amp;d & e"]), "a b\u{a0}c&d & e");
        assert_eq!(flow(&["a\0b &bogus; x&ltx"]), "ab &bogus; x<x");
        assert_eq!(flow(&["\n \t"]), "");
    }

    #[test]
    fn lines_win_over_blanks() {
        let mut out = String::new();
        let mut flow = Flow::new(0, 1000);
        flow.line();
        push(&mut flow, &mut out, "a ", Reading::Text);
        flow.line();
        push(&mut flow, &mut out, " b", Reading::Text);
        flow.keep_lines = true;
        push(&mut flow, &mut out, " c \n d", Reading::Text);
        assert_eq!(out, "a\nb c\nd");
    }

    #[test]
    fn the_limit_cuts_between_characters() {
        for limit in 0..8 {
            let mut out = String::new();
            let mut flow = Flow::new(0, limit);
            push(&mut flow, &mut out, "é é é", Reading::Text);
            assert!(out.len() <= limit && "é é é".starts_with(&out) && flow.full, "{limit} {out}");
        }
        let mut out = String::new();
        let mut flow = Flow::new(0, 8);
        push(&mut flow, &mut out, "é é é", Reading::Text);
        assert!(!flow.full);
    }

    #[test]
    fn raw_text_keeps_references() {
        let mut out = String::new();
        push(&mut Flow::new(0, 1000), &mut out, "a&amp;\0 b", Reading::Raw);
        assert_eq!(out, "a&amp;\u{fffd} b");
    }
}
