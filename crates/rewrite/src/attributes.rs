//! A tag taken apart: its name and attributes as ranges of the document.

use std::ops::Range;

use crate::finder::is_space;

#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: Range<usize>,
    /// Without quotation marks.
    pub value: Range<usize>,
    /// The quotation mark around the value.
    pub quote: Option<u8>,
    /// An equals sign follows the name.
    pub has_value: bool,
    /// With quotation marks.
    pub end: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Tag {
    pub name: Range<usize>,
    pub attributes: Vec<Attribute>,
    /// It ends with `/>`.
    pub closed: bool,
    /// After the `>`.
    pub end: usize,
}

impl Tag {
    /// The raw value of the first attribute with this name.
    pub fn value<'a>(&self, input: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
        let found = self.attributes.iter().find(|a| input[a.name.clone()].eq_ignore_ascii_case(name))?;
        input.get(found.value.clone())
    }
}

/// Reads the tag whose name begins at `at`; `false` if the document ends inside it: then it is none.
pub fn read(input: &[u8], mut at: usize, tag: &mut Tag) -> bool {
    tag.attributes.clear();
    tag.closed = false;
    let start = at;
    while input.get(at).is_some_and(|&b| !is_space(b) && b != b'/' && b != b'>') {
        at += 1;
    }
    tag.name = start..at;
    loop {
        tag.closed = false;
        while let Some(&byte) = input.get(at) {
            match byte {
                b'/' => tag.closed = true,
                _ if is_space(byte) => tag.closed = false,
                _ => break,
            }
            at += 1;
        }
        match input.get(at) {
            None => return false,
            Some(b'>') => {
                tag.end = at + 1;
                return true;
            }
            Some(_) => {}
        }
        let name = at;
        at += 1;
        while input.get(at).is_some_and(|&b| !is_space(b) && !matches!(b, b'/' | b'>' | b'=')) {
            at += 1;
        }
        let name = name..at;
        let mut after = at;
        while input.get(after).is_some_and(|&b| is_space(b)) {
            after += 1;
        }
        if input.get(after) != Some(&b'=') {
            let value = at..at;
            tag.attributes.push(Attribute { name, value, quote: None, has_value: false, end: at });
            at = after;
            // White space was skipped: what stands here is the next name, a slash or the end.
            continue;
        }
        at = after + 1;
        while input.get(at).is_some_and(|&b| is_space(b)) {
            at += 1;
        }
        let attribute = match input.get(at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let start = at + 1;
                let Some(len) = memchr::memchr(quote, &input[start..]) else { return false };
                let value = start..start + len;
                Attribute { name, end: value.end + 1, value, quote: Some(quote), has_value: true }
            }
            _ => {
                let start = at;
                let mut end = at;
                while input.get(end).is_some_and(|&b| !is_space(b) && b != b'>') {
                    end += 1;
                }
                Attribute { name, value: start..end, quote: None, has_value: true, end }
            }
        };
        at = attribute.end;
        tag.attributes.push(attribute);
    }
}
