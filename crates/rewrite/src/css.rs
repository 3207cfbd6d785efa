//! Style sheets: `url()`, `src()`, `@import`, `image-set()`, with escapes anywhere.

use crate::decoded::Decoded;
use crate::edit::Edit;
use crate::escape;
use crate::finder::{Finder, is_space, part, trimmed};
use crate::reference::{Place, Role};

/// What the style sheet is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// With rules.
    Sheet,
    /// The value of a `style` attribute or of a presentation attribute of SVG.
    Declarations,
}

/// What the at-rule under way is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtRule {
    Import,
    FontFace,
    /// Its strings and URLs are names.
    Names,
    Other,
}

/// What an open parenthesis belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Url,
    ImageSet,
    Other,
}

/// Where a reader of a style sheet is.
struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    rule: Option<AtRule>,
    open: Vec<Open>,
    braces: usize,
    /// Braces open where `@font-face` began.
    font_face: Option<usize>,
}

impl Finder<'_> {
    pub(crate) fn css(&mut self, input: &[u8], of: Of, edits: &mut Vec<Edit>) {
        let mut reader = Reader { input, at: 0, rule: None, open: Vec::new(), braces: 0, font_face: None };
        while reader.at < input.len() {
            let before = reader.at;
            self.css_token(&mut reader, of, edits);
            // A token is never empty.
            reader.at = reader.at.max(before + 1);
            self.work(reader.at - before);
        }
    }

    fn css_token(&mut self, css: &mut Reader<'_>, of: Of, edits: &mut Vec<Edit>) {
        let input = css.input;
        let Some(&byte) = input.get(css.at) else { return };
        match byte {
            b'/' if input.get(css.at + 1) == Some(&b'*') => {
                let rest = &input[css.at + 2..];
                css.at += 2 + memchr::memmem::find(rest, b"*/").map_or(rest.len(), |len| len + 2);
            }
            b'"' | b'\'' => {
                let start = css.at + 1;
                let (end, whole) = string_end(input, start, byte);
                css.at = end + usize::from(input.get(end) == Some(&byte));
                if whole && let Some((role, place)) = css.takes_string() {
                    self.css_value(&input[start..end], start, Some(byte), (role, place), edits);
                }
            }
            b'@' if of == Of::Sheet => {
                let (name, end) = ident(input, css.at + 1);
                css.at = end.max(css.at + 1);
                css.rule = Some(at_rule(&name));
            }
            b'(' | b'[' => {
                css.open.push(Open::Other);
                css.at += 1;
            }
            b')' | b']' => {
                css.open.pop();
                css.at += 1;
            }
            b'{' => {
                css.braces += 1;
                if css.rule == Some(AtRule::FontFace) {
                    css.font_face = Some(css.braces);
                }
                css.rule = None;
                css.at += 1;
            }
            b'}' => {
                if css.font_face == Some(css.braces) {
                    css.font_face = None;
                }
                css.braces = css.braces.saturating_sub(1);
                css.rule = None;
                css.open.clear();
                css.at += 1;
            }
            b';' => {
                css.rule = css.rule.filter(|_| !css.open.is_empty());
                css.at += 1;
            }
            b'#' | b'0'..=b'9' => css.at = ident(input, css.at + 1).1.max(css.at + 1),
            _ if starts_ident(input, css.at) => {
                let (name, end) = ident(input, css.at);
                css.at = end.max(css.at + 1);
                if input.get(end) == Some(&b'(') {
                    css.at = end + 1;
                    self.css_function(css, &name, edits);
                }
            }
            _ => css.at += 1,
        }
    }

    fn css_function(&mut self, css: &mut Reader<'_>, name: &[u8], edits: &mut Vec<Edit>) {
        let input = css.input;
        match name {
            b"url" => {
                let mut at = css.at;
                while input.get(at).is_some_and(|&b| is_space(b)) {
                    at += 1;
                }
                if matches!(input.get(at), Some(b'"' | b'\'')) {
                    css.open.push(Open::Url);
                    css.at = at;
                    return;
                }
                let start = at;
                let (end, whole) = url_end(input, start);
                css.at = (end + 1).min(input.len());
                if whole && let Some(target) = css.target() {
                    self.css_value(&input[start..end], start, None, target, edits);
                }
            }
            b"src" => css.open.push(Open::Url),
            b"image-set" | b"-webkit-image-set" => css.open.push(Open::ImageSet),
            _ => css.open.push(Open::Other),
        }
    }

    fn css_value(
        &mut self,
        raw: &[u8],
        start: usize,
        quote: Option<u8>,
        (role, place): (Role, Place<'_>),
        edits: &mut Vec<Edit>,
    ) {
        let value = unescape(raw);
        self.work(raw.len());
        let inner = trimmed(&value.bytes);
        if inner.is_empty() {
            return;
        }
        if let Some(text) = self.ask_part(role, place, &value.bytes[inner.clone()]) {
            let range = match quote {
                Some(_) => start + value.raw(inner.start)..start + value.raw(inner.end),
                // The end of an escape may be white space, which is a part of it.
                None => start + trimmed(raw).start..start + raw_end(raw),
            };
            edits.push(part(range, escape::css(&text, quote)));
        }
    }
}

impl Reader<'_> {
    /// What a URL here is for; `None` if it is a name. An `@import` has one.
    fn target(&mut self) -> Option<(Role, Place<'static>)> {
        match self.rule {
            Some(AtRule::Import) => {
                self.rule = Some(AtRule::Other);
                Some((Role::Style, Place::CssImport))
            }
            Some(AtRule::Names) => None,
            _ if self.font_face.is_some() => Some((Role::Font, Place::CssValue)),
            _ => Some((Role::Image, Place::CssValue)),
        }
    }

    /// What a string here is for, if it is a URL.
    fn takes_string(&mut self) -> Option<(Role, Place<'static>)> {
        match self.open.last_mut() {
            Some(open @ Open::Url) => {
                // Modifiers may follow.
                *open = Open::Other;
                self.target()
            }
            Some(Open::ImageSet) => self.target(),
            Some(Open::Other) => None,
            None if self.rule == Some(AtRule::Import) => self.target(),
            None => None,
        }
    }
}

fn at_rule(name: &[u8]) -> AtRule {
    match name {
        b"import" => AtRule::Import,
        b"font-face" => AtRule::FontFace,
        b"namespace" | b"document" | b"-moz-document" => AtRule::Names,
        _ => AtRule::Other,
    }
}

/// Without the white space at the end that no escape needs.
fn raw_end(raw: &[u8]) -> usize {
    let end = trimmed(raw).end;
    // `\41 ` ends with a space that belongs to the escape.
    let digits = raw[..end].iter().rev().take_while(|b| b.is_ascii_hexdigit()).count();
    let escaped = (1..=6).contains(&digits) && end > digits && raw[end - digits - 1] == b'\\';
    if escaped && end < raw.len() { end + 1 } else { end }
}

fn is_ident(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte >= 0x80
}

fn starts_ident(input: &[u8], at: usize) -> bool {
    match input.get(at) {
        Some(b'\\') => input.get(at + 1).is_some_and(|&b| b != b'\n'),
        Some(&byte) => is_ident(byte) && !byte.is_ascii_digit(),
        None => false,
    }
}

/// The identifier at `at` in lower case, its escapes resolved (as far as a name that matters is long), and its end.
fn ident(input: &[u8], mut at: usize) -> (Vec<u8>, usize) {
    let mut name = Vec::new();
    while let Some(&byte) = input.get(at) {
        if byte == b'\\' && input.get(at + 1).is_some_and(|&b| b != b'\n') {
            let taken = css_escape(&input[at..], &mut name);
            at += taken;
        } else if is_ident(byte) {
            name.push(byte);
            at += 1;
        } else {
            break;
        }
        name.truncate(32);
    }
    name.make_ascii_lowercase();
    (name, at)
}

/// Where a string ends, and whether it is one: a line break that isn't escaped spoils it.
fn string_end(input: &[u8], mut at: usize, quote: u8) -> (usize, bool) {
    while let Some(&byte) = input.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' | b'\r' | b'\x0c' => return (at, false),
            _ if byte == quote => return (at, true),
            _ => at += 1,
        }
    }
    (input.len(), true)
}

/// Where a `url()` without quotation marks ends, and whether it is one.
fn url_end(input: &[u8], mut at: usize) -> (usize, bool) {
    let mut whole = true;
    let mut spaced = false;
    while let Some(&byte) = input.get(at) {
        match byte {
            b')' => return (at, whole),
            b'\\' => {
                whole &= input.get(at + 1) != Some(&b'\n') && !spaced;
                // The white space after an escape belongs to it.
                at += css_escape(&input[at..], &mut Vec::new()).max(1);
                continue;
            }
            b'"' | b'\'' | b'(' => whole = false,
            _ if is_space(byte) => spaced = true,
            _ => whole &= !spaced,
        }
        at += 1;
    }
    (input.len(), whole)
}

fn unescape(raw: &[u8]) -> Decoded<'_> {
    Decoded::resolve(raw, b'\\', css_escape)
}

/// The escape at the start of `raw`: how many bytes it takes.
fn css_escape(raw: &[u8], out: &mut Vec<u8>) -> usize {
    let digits = raw.iter().skip(1).take(6).take_while(|b| b.is_ascii_hexdigit()).count();
    if digits > 0 {
        let code =
            std::str::from_utf8(&raw[1..=digits]).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let char = code.filter(|&code| code != 0).and_then(char::from_u32).unwrap_or('\u{fffd}');
        out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        let space = match raw.get(digits + 1..).unwrap_or_default() {
            [b'\r', b'\n', ..] => 2,
            [byte, ..] if is_space(*byte) => 1,
            _ => 0,
        };
        return 1 + digits + space;
    }
    match raw.get(1..).unwrap_or_default() {
        [b'\r', b'\n', ..] => 3,
        [b'\n' | b'\r' | b'\x0c', ..] => 2,
        [byte, ..] => {
            out.push(*byte);
            2
        }
        // At the end it stands for nothing.
        [] => 1,
    }
}
