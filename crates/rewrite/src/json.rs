//! Web app manifests: JSON, of which only strings and the names before them matter.

use crate::decoded::Decoded;
use crate::edit::Edit;
use crate::escape;
use crate::finder::Finder;
use crate::reference::{Place, Role};

impl Finder<'_> {
    pub(crate) fn manifest(&mut self, input: &[u8], edits: &mut Vec<Edit>) {
        self.work(input.len());
        let mut name: &[u8] = b"";
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'"', &input[at..]) {
            let start = at + found + 1;
            let end = string_end(input, start);
            let Some(raw) = input.get(start..end) else { return };
            at = (end + 1).min(input.len());
            let mut next = at;
            while input.get(next).is_some_and(|&b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')) {
                next += 1;
            }
            self.work(raw.len() + next - at);
            at = next;
            if input.get(at) == Some(&b':') {
                name = raw;
                continue;
            }
            if end == input.len() {
                return;
            }
            let role = match name {
                b"src" => Role::Image,
                b"start_url" | b"url" => Role::Page,
                b"action" => Role::Form,
                b"scope" => Role::Other,
                _ => continue,
            };
            let value = unescape(raw);
            if let Some(text) = self.ask_part(role, Place::Member { name }, &value.bytes) {
                edits.push(Edit { start, end, text: escape::json(&text) });
            }
        }
    }
}

/// Where the string ends that begins at `at`: at its quotation mark, or at the end of the input.
fn string_end(input: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', input.get(at..).unwrap_or_default()) {
        at += found;
        if input[at] == b'"' {
            return at;
        }
        at += 2;
    }
    input.len()
}

fn unescape(raw: &[u8]) -> Decoded<'_> {
    Decoded::resolve(raw, b'\\', |raw, out| {
        let plain = match raw.get(1) {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => return unit_escape(raw, out),
            Some(&byte) => byte,
            None => return 0,
        };
        out.push(plain);
        2
    })
}

fn unit_escape(raw: &[u8], out: &mut Vec<u8>) -> usize {
    let unit = |at: usize| {
        let digits = raw
            .get(at..at + 6)
            .filter(|six| six.starts_with(b"\\u") && six[2..].iter().all(u8::is_ascii_hexdigit))?;
        u16::from_str_radix(std::str::from_utf8(&digits[2..]).ok()?, 16).ok()
    };
    let Some(first) = unit(0) else { return 0 };
    let pair = (0xd800..0xdc00).contains(&first).then(|| unit(6)).flatten();
    let (char, taken) = match pair.map(|second| char::decode_utf16([first, second]).next()) {
        Some(Some(Ok(char))) => (char, 12),
        _ => (char::from_u32(u32::from(first)).unwrap_or('\u{fffd}'), 6),
    };
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    taken
}
