//! Foreign text on its way out: what pages, servers and typed words may do to a terminal, a log or a file is taken from it.
//!
//! A page can write escape sequences into its title, a server into a header. No command has to think of that: all that the
//! program writes goes through a [`Cleaner`] or [`clean`], except bytes that are asked for as they were received
//! (`lycosa cat` into a file, WARC). Taken out are control characters (ESC, BEL, BS, DEL, those from U+0080 to U+009F)
//! other than line ends and tabs, the marks that turn the direction of text around, and the separators that some programs
//! take for line ends.

use std::io::{self, Write};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For people and logs, or JSON. Both name such a character by its number, as JSON does: `\u001b`.
    Text,
    /// Markdown, HTML and SVG, where that would be read as text: U+FFFD stands for the character.
    Markup,
    /// As it was received.
    Bytes,
}

/// Begins bold text in [`Kind::Text`]; on a terminal only. A noncharacter, which no page can do more with than be bold.
pub const BOLD: &str = "\u{fdd0}";
/// Ends it.
pub const PLAIN: &str = "\u{fdd1}";

/// Whether a character must not be written as it is.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{2028}' | '\u{2029}' => true,
        _ => c.is_control(),
    }
}

/// A text as it may be written.
pub fn clean(text: &str, kind: Kind) -> String {
    let mut out = String::with_capacity(text.len());
    push(&mut out, text, kind, false);
    out
}

/// A text in one line, between quotation marks.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    out.extend(text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }));
    out.push('"');
    out
}

fn push(out: &mut String, text: &str, kind: Kind, is_terminal: bool) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The line ends of heads and of many pages.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\u{fdd0}' | '\u{fdd1}' if kind == Kind::Text => {
                if is_terminal {
                    out.push_str(if c == '\u{fdd0}' { "\x1b[1m" } else { "\x1b[0m" });
                }
            }
            _ if !is_unsafe(c) => out.push(c),
            _ if kind == Kind::Markup => out.push('\u{fffd}'),
            _ => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
}

/// A writer that lets through only what may be written.
#[derive(Debug)]
pub struct Cleaner<W: Write> {
    inner: W,
    kind: Kind,
    is_terminal: bool,
    /// The beginning of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Cleaner<W> {
    pub fn new(inner: W, kind: Kind, is_terminal: bool) -> Self {
        Self { inner, kind, is_terminal, begun: Vec::new() }
    }

    /// Ends the writing and gives back what was written to.
    #[cfg(test)]
    pub fn into_inner(mut self) -> io::Result<W> {
        self.end()?;
        Ok(self.inner)
    }

    fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.begun).is_empty() {
            Ok(())
        } else {
            self.inner.write_all("\u{fffd}".as_bytes())
        }
    }
}

/// Whether bytes are plain: ASCII without control characters other than line ends and tabs.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~'))
}

impl<W: Write> Write for Cleaner<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.kind == Kind::Bytes || (self.begun.is_empty() && is_plain(bytes)) {
            self.inner.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let joined;
        let all = if self.begun.is_empty() {
            bytes
        } else {
            joined = [&self.begun, bytes].concat();
            self.begun.clear();
            &joined
        };
        let mut out = String::with_capacity(all.len());
        let mut rest = all;
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    push(&mut out, text, self.kind, self.is_terminal);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    push(&mut out, &String::from_utf8_lossy(valid), self.kind, self.is_terminal);
                    match error.error_len() {
                        Some(length) => {
                            out.push('\u{fffd}');
                            rest = &after[length..];
                        }
                        None => {
                            self.begun = after.to_vec();
                            break;
                        }
                    }
                }
            }
        }
        self.inner.write_all(out.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end()?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "a\x1b]52;c;eA==\x07b\x08c\x7fd\u{9b}2Je\u{202e}f\u{2066}g\rh\u{2028}i\u{0}j\tk\nl\u{e9}\u{1f577}";

    #[test]
    fn foreign_text_is_written_without_what_moves_a_terminal() {
        let text = clean(HOSTILE, Kind::Text);
        assert_eq!(
            text,
            "a\\u001b]52;c;eA==\\u0007b\\u0008c\\u007fd\\u009b2Je\\u202ef\\u2066g\\u000dh\\u2028i\\u0000j\tk\nl\u{e9}\u{1f577}"
        );
        let markup = clean(HOSTILE, Kind::Markup);
        assert!(!markup.contains('\\') && markup.matches('\u{fffd}').count() == 10, "{markup}");
    }

    #[test]
    fn json_stays_json_and_says_the_same() {
        let json = serde_json::json!({ HOSTILE: HOSTILE }).to_string();
        let cleaned = clean(&json, Kind::Text);
        assert!(!cleaned.chars().any(is_unsafe), "{cleaned}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&cleaned).unwrap(),
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }

    #[test]
    fn a_writer_sees_through_every_cut() {
        for cut in 0..=HOSTILE.len() {
            let mut writer = Cleaner::new(Vec::new(), Kind::Text, false);
            writer.write_all(&HOSTILE.as_bytes()[..cut]).unwrap();
            writer.write_all(&HOSTILE.as_bytes()[cut..]).unwrap();
            assert_eq!(String::from_utf8(writer.into_inner().unwrap()).unwrap(), clean(HOSTILE, Kind::Text));
        }
        let mut writer = Cleaner::new(Vec::new(), Kind::Text, false);
        writer.write_all(b"a\xffb\x1b\xe2\x80").unwrap();
        assert_eq!(writer.into_inner().unwrap(), "a\u{fffd}b\\u001b\u{fffd}".as_bytes());
    }

    #[test]
    fn bold_is_for_terminals_and_bytes_are_left_alone() {
        let through = |kind, is_terminal, text: &[u8]| {
            let mut writer = Cleaner::new(Vec::new(), kind, is_terminal);
            writer.write_all(text).unwrap();
            writer.into_inner().unwrap()
        };
        let text = format!("{BOLD}x{PLAIN}");
        assert_eq!(through(Kind::Text, true, text.as_bytes()), b"\x1b[1mx\x1b[0m");
        assert_eq!(through(Kind::Text, false, text.as_bytes()), b"x");
        assert_eq!(through(Kind::Bytes, true, b"\x1b\xff"), b"\x1b\xff");
    }
}
