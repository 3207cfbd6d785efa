//! Character references of attribute values and text.
//!
//! Of the named ones those are known that stand for ASCII and Latin-1 characters: others don't occur in URLs that work.

use crate::decoded::Decoded;

/// Names of ASCII characters, all with a semicolon; `true` for those that may lack it.
const ASCII: [(&[u8], u8, bool); 44] = [
    (b"amp", b'&', true),
    (b"AMP", b'&', true),
    (b"lt", b'<', true),
    (b"LT", b'<', true),
    (b"gt", b'>', true),
    (b"GT", b'>', true),
    (b"quot", b'"', true),
    (b"QUOT", b'"', true),
    (b"apos", b'\'', false),
    (b"Tab", b'\t', false),
    (b"NewLine", b'\n', false),
    (b"excl", b'!', false),
    (b"num", b'#', false),
    (b"dollar", b'$', false),
    (b"percnt", b'%', false),
    (b"lpar", b'(', false),
    (b"rpar", b')', false),
    (b"ast", b'*', false),
    (b"midast", b'*', false),
    (b"plus", b'+', false),
    (b"comma", b',', false),
    (b"period", b'.', false),
    (b"sol", b'/', false),
    (b"colon", b':', false),
    (b"semi", b';', false),
    (b"equals", b'=', false),
    (b"quest", b'?', false),
    (b"commat", b'@', false),
    (b"lsqb", b'[', false),
    (b"lbrack", b'[', false),
    (b"bsol", b'\\', false),
    (b"rsqb", b']', false),
    (b"rbrack", b']', false),
    (b"Hat", b'^', false),
    (b"lowbar", b'_', false),
    (b"UnderBar", b'_', false),
    (b"grave", b'`', false),
    (b"lcub", b'{', false),
    (b"lbrace", b'{', false),
    (b"verbar", b'|', false),
    (b"vert", b'|', false),
    (b"VerticalLine", b'|', false),
    (b"rcub", b'}', false),
    (b"rbrace", b'}', false),
];

/// Names of U+00A0 to U+00FF in order. All of them may lack the semicolon.
const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 \
    acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig \
    Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave \
    Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave \
    iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/// Longest name looked for.
const MAX_NAME: usize = 12;

/// What numbers from 0x80 to 0x9F stand for in HTML.
const WINDOWS: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d,
    0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a,
    0x153, 0x9d, 0x17e, 0x178,
];

/// Resolves the character references of a value.
pub fn decode(raw: &[u8], in_attribute: bool) -> Decoded<'_> {
    Decoded::resolve(raw, b'&', |raw, out| match raw.get(1) {
        Some(b'#') => numeric(raw, out),
        Some(byte) if byte.is_ascii_alphabetic() => named(raw, in_attribute, out),
        _ => 0,
    })
}

fn numeric(raw: &[u8], out: &mut Vec<u8>) -> usize {
    let hex = matches!(raw.get(2), Some(b'x' | b'X'));
    let (start, radix) = if hex { (3, 16) } else { (2, 10) };
    let mut end = start;
    let mut code = 0_u32;
    while let Some(digit) = raw.get(end).and_then(|&byte| char::from(byte).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        end += 1;
    }
    if end == start {
        return 0;
    }
    let code = match code {
        0x80..=0x9f => WINDOWS.get(code as usize - 0x80).map_or(code, |&code| u32::from(code)),
        0 => 0xfffd,
        _ => code,
    };
    push(char::from_u32(code).unwrap_or('\u{fffd}'), out);
    end + usize::from(raw.get(end) == Some(&b';'))
}

fn named(raw: &[u8], in_attribute: bool, out: &mut Vec<u8>) -> usize {
    let name = &raw[1..];
    let len = name.iter().take(MAX_NAME + 1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if name.get(len) == Some(&b';') {
        return match find(&name[..len], false) {
            Some(char) => {
                push(char, out);
                len + 2
            }
            None => 0,
        };
    }
    // Without its semicolon the longest name counts; in an attribute only if neither `=` nor a letter follows.
    for shorter in (2..=len.min(6)).rev() {
        let Some(char) = find(&name[..shorter], true) else { continue };
        let next = name.get(shorter);
        if in_attribute && next.is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric()) {
            return 0;
        }
        push(char, out);
        return shorter + 1;
    }
    0
}

fn find(name: &[u8], bare: bool) -> Option<char> {
    let ascii = ASCII.iter().find(|(known, _, may_lack)| *known == name && (*may_lack || !bare));
    if let Some(&(_, byte, _)) = ascii {
        return Some(char::from(byte));
    }
    let latin = LATIN.split_ascii_whitespace().position(|known| known.as_bytes() == name)?;
    char::from_u32(0xa0 + latin as u32)
}

fn push(char: char, out: &mut Vec<u8>) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_browsers_do() {
        for (raw, expected) in [
            ("a&amp;b", "a&b"),
            ("a&ampb", "a&ampb"),
            ("a&amp=b", "a&amp=b"),
            ("a&amp", "a&"),
            ("?a=1&copy=2", "?a=1&copy=2"),
            ("&copy;&yuml;&nbsp;", "©ÿ\u{a0}"),
            ("&#47;&#x2F;&#X2f&#x80;", "///€"),
            ("&#0;&#x110000;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("&sol;&quest;&nothing;&;&#;&#x;", "/?&nothing;&;&#;&#x;"),
        ] {
            assert_eq!(String::from_utf8_lossy(&decode(raw.as_bytes(), true).bytes), expected, "{raw}");
        }
    }
}
