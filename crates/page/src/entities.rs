//! Character references: `&amp;`, `&eacute`, `&#8364;`, `&#x80;`.
//!
//! Names come from HTML's list, kept in `entities.txt` (one name per line, its code points in hexadecimal; a `*` marks
//! the names that old pages may write without the semicolon). The table is laid out at compile time; a look-up
//! allocates nothing.

const LIST: &str = include_str!("entities.txt");
const COUNT: usize = count_lines(LIST.as_bytes());
static TABLE: [Entity; COUNT] = build();

/// No name is longer than this (without `&` and `;`).
const MAX_NAME_BYTES: usize = 31;
/// Names that may lack their semicolon have 2 to 6 letters.
const LEGACY_BYTES: std::ops::RangeInclusive<usize> = 2..=6;

#[derive(Clone, Copy)]
struct Entity {
    start: u16,
    len: u8,
    legacy: bool,
    first: char,
    /// NUL when the name stands for one character only.
    second: char,
}

/// Where a reference stands: the rules differ for attributes, where `&copy=1` is part of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    Text,
    Attribute,
}

/// One or two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chars {
    pub first: char,
    pub second: Option<char>,
}

impl Chars {
    fn one(first: char) -> Self {
        Self { first, second: None }
    }
}

/// Reads the reference at the start of `bytes` (which begins with `&`): what it stands for and how many bytes it
/// takes; `None` when the `&` is only an `&`.
pub fn decode(bytes: &[u8], context: Context) -> Option<(Chars, usize)> {
    match *bytes.get(1)? {
        b'#' => numeric(bytes),
        b if b.is_ascii_alphanumeric() => named(bytes, context),
        _ => None,
    }
}

fn named(bytes: &[u8], context: Context) -> Option<(Chars, usize)> {
    match bytes {
        [_, b'a', b'm', b'p', b';', ..] => return Some((Chars::one('&'), 5)),
        [_, b'l', b't', b';', ..] => return Some((Chars::one('<'), 4)),
        [_, b'g', b't', b';', ..] => return Some((Chars::one('>'), 4)),
        [_, b'q', b'u', b'o', b't', b';', ..] => return Some((Chars::one('"'), 6)),
        [_, b'n', b'b', b's', b'p', b';', ..] => return Some((Chars::one('\u{a0}'), 6)),
        _ => {}
    }
    let rest = bytes.get(1..)?;
    let window = rest.get(..MAX_NAME_BYTES + 1).unwrap_or(rest);
    let run = window.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = window.get(..run)?;
    if window.get(run) == Some(&b';')
        && let Some(entity) = find(name)
    {
        return Some((entity.chars(), run + 2));
    }
    for len in LEGACY_BYTES.rev() {
        let Some(entity) = name.get(..len).and_then(find).filter(|e| e.legacy) else {
            continue;
        };
        let next = rest.get(len).copied().unwrap_or(0);
        if context == Context::Attribute && (next == b'=' || next.is_ascii_alphanumeric()) {
            return None;
        }
        return Some((entity.chars(), len + 1));
    }
    None
}

fn numeric(bytes: &[u8]) -> Option<(Chars, usize)> {
    let (radix, digits_at) = match bytes.get(2)? {
        b'x' | b'X' => (16, 3),
        _ => (10, 2),
    };
    let mut at = digits_at;
    let mut code: u32 = 0;
    while let Some(digit) = bytes.get(at).and_then(|&b| (b as char).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit).min(0x11_0000);
        at += 1;
    }
    if at == digits_at {
        return None;
    }
    at += usize::from(bytes.get(at) == Some(&b';'));
    Some((Chars::one(code_point(code)), at))
}

/// The character a number stands for: the C1 range means windows-1252, what is no character is the replacement one.
fn code_point(code: u32) -> char {
    const WINDOWS_1252: [char; 32] = [
        '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
        '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}',
        '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}',
        '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
    ];
    match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252.get(code as usize - 0x80).copied().unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

impl Entity {
    fn name(&self) -> &'static [u8] {
        let start = self.start as usize;
        LIST.as_bytes().get(start..start + self.len as usize).unwrap_or(b"")
    }

    fn chars(&self) -> Chars {
        Chars { first: self.first, second: (self.second != '\0').then_some(self.second) }
    }
}

fn find(name: &[u8]) -> Option<&'static Entity> {
    TABLE.binary_search_by(|e| e.name().cmp(name)).ok().and_then(|i| TABLE.get(i))
}

const fn count_lines(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'\n' {
            count += 1;
        }
        i += 1;
    }
    count
}

const fn build() -> [Entity; COUNT] {
    let bytes = LIST.as_bytes();
    let mut table = [Entity { start: 0, len: 0, legacy: false, first: '\0', second: '\0' }; COUNT];
    let mut line = 0;
    let mut i = 0;
    while line < COUNT {
        let start = i;
        while bytes[i].is_ascii_alphanumeric() {
            i += 1;
        }
        let len = (i - start) as u8;
        let legacy = bytes[i] == b'*';
        i += 1;
        let mut chars = ['\0'; 2];
        let mut which = 0;
        let mut code = 0u32;
        loop {
            let b = bytes[i];
            i += 1;
            if b == b'\n' || b == b' ' {
                if let Some(c) = char::from_u32(code) {
                    chars[which] = c;
                }
                which += 1;
                code = 0;
                if b == b'\n' {
                    break;
                }
            } else {
                code = code * 16 + if b >= b'A' { b - b'A' + 10 } else { b - b'0' } as u32;
            }
        }
        table[line] = Entity { start: start as u16, len, legacy, first: chars[0], second: chars[1] };
        line += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(s: &str) -> Option<(String, usize)> {
        read(s, Context::Text)
    }

    fn read(s: &str, context: Context) -> Option<(String, usize)> {
        decode(s.as_bytes(), context)
            .map(|(c, n)| ([Some(c.first), c.second].into_iter().flatten().collect(), n))
    }

    #[test]
    fn the_list_is_sorted_and_whole() {
        assert_eq!(COUNT, 2125);
        assert_eq!(TABLE.iter().filter(|e| e.legacy).count(), 106);
        assert!(TABLE.windows(2).all(|w| w[0].name() < w[1].name()));
        assert!(TABLE.iter().all(|e| e.name().len() <= MAX_NAME_BYTES));
        assert!(TABLE.iter().filter(|e| e.legacy).all(|e| LEGACY_BYTES.contains(&e.name().len())));
    }

    #[test]
    fn names_with_and_without_semicolon() {
        assert_eq!(text("&eacute;x"), Some(("é".into(), 8)));
        assert_eq!(text("&eacutex"), Some(("é".into(), 7)));
        assert_eq!(text("&notit;"), Some(("¬".into(), 4)));
        assert_eq!(text("&notin;"), Some(("∉".into(), 7)));
        assert_eq!(text("&NotEqualTilde;"), Some(("\u{2242}\u{338}".into(), 15)));
        assert_eq!(text("&CounterClockwiseContourIntegral;"), Some(("∳".into(), 33)));
        assert_eq!(text("&unknown;"), None);
        assert_eq!(text("&"), None);
        assert_eq!(text("& "), None);
    }

    #[test]
    fn attributes_keep_what_looks_like_a_query() {
        assert_eq!(read("&copy=1", Context::Attribute), None);
        assert_eq!(read("&copyx", Context::Attribute), None);
        assert_eq!(read("&copy;=1", Context::Attribute), Some(("©".into(), 6)));
        assert_eq!(read("&copy\"", Context::Attribute), Some(("©".into(), 5)));
        assert_eq!(read("&copy=1", Context::Text), Some(("©".into(), 5)));
    }

    #[test]
    fn numbers() {
        assert_eq!(text("&#65;"), Some(("A".into(), 5)));
        assert_eq!(text("&#65"), Some(("A".into(), 4)));
        assert_eq!(text("&#x41;"), Some(("A".into(), 6)));
        assert_eq!(text("&#x80;"), Some(("€".into(), 6)));
        assert_eq!(text("&#0;"), Some(("\u{fffd}".into(), 4)));
        assert_eq!(text("&#xD800;"), Some(("\u{fffd}".into(), 8)));
        assert_eq!(text("&#99999999999999999999;"), Some(("\u{fffd}".into(), 23)));
        assert_eq!(text("&#;"), None);
        assert_eq!(text("&#x;"), None);
    }
}
