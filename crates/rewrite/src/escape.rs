//! Replacements, written for the place where they will stand. All of it is ASCII.

/// For an attribute in quotes of either kind, and for text.
pub fn markup(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            '&' => out.extend_from_slice(b"&amp;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&#39;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            // A parser drops NUL and turns the other controls into something else: as a URL would have them.
            '\0'..='\x1f' | '\x7f' => out.extend_from_slice(format!("%{:02X}", u32::from(char)).as_bytes()),
            ' '..='~' => out.push(char as u8),
            _ => out.extend_from_slice(format!("&#x{:X};", u32::from(char)).as_bytes()),
        }
    }
    out
}

/// For a CDATA section: nothing is escaped there, so the bytes that would end it are written as a URL would have them.
pub fn cdata(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            ']' => out.extend_from_slice(b"%5D"),
            ' '..='~' | '\n' | '\t' => out.push(char as u8),
            _ => percent(char, &mut out),
        }
    }
    out
}

/// For a style sheet; `quote` is the quotation mark around it, if any.
pub fn css(text: &str, quote: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' => out.extend_from_slice(b"\\\\"),
            // `<` too: a style sheet may stand in an element, which ends at `</style`.
            '\0'..='\x1f' | '\x7f'.. | '<' => {
                let code = if char == '\0' { 0xfffd } else { u32::from(char) };
                out.extend_from_slice(format!("\\{code:x} ").as_bytes());
            }
            '"' | '\'' if quote.is_some_and(|quote| quote != char as u8) => out.push(char as u8),
            '"' | '\'' => {
                out.push(b'\\');
                out.push(char as u8);
            }
            '(' | ')' if quote.is_none() => {
                out.push(b'\\');
                out.push(char as u8);
            }
            ' ' if quote.is_none() => out.extend_from_slice(b"\\20 "),
            _ => out.push(char as u8),
        }
    }
    out
}

/// For a string of JSON.
pub fn json(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut units = [0; 2];
    for char in text.chars() {
        match char {
            '"' | '\\' => {
                out.push(b'\\');
                out.push(char as u8);
            }
            ' '..='~' => out.push(char as u8),
            _ => {
                for unit in char.encode_utf16(&mut units) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out
}

/// For a list that white space and commas part: what would part it is written as a URL would have it. `None` when nothing
/// is left to stand there.
pub fn listed(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let last = text.len().saturating_sub(1);
    for (at, char) in text.char_indices() {
        match char {
            ',' if at == 0 || at == last => out.extend_from_slice(b"%2C"),
            '!'..='~' => out.push(char as u8),
            _ => percent(char, &mut out),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// For a refresh: quotation marks and white space would end it.
pub fn refreshed(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '!' | '#'..='&' | '('..='~' => out.push(char as u8),
            _ => percent(char, &mut out),
        }
    }
    out
}

fn percent(char: char, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for byte in char.encode_utf8(&mut utf8).bytes() {
        out.extend_from_slice(format!("%{byte:02X}").as_bytes());
    }
}
