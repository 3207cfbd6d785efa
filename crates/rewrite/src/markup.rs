//! HTML and XML: tags, comments, text that looks like tags, and the languages inside.

use std::ops::Range;

use crate::attributes::{self, Attribute, Tag};
use crate::css::Of;
use crate::decoded::Decoded;
use crate::edit::{self, Edit};
use crate::elements::{self, Holds, Text};
use crate::finder::{Finder, MAX_DEPTH, part, trimmed};
use crate::reference::{Place, Role, Verdict};
use crate::{entities, escape};

/// Where a reader of markup is.
struct Reader<'a> {
    input: &'a [u8],
    xml: bool,
    tag: Tag,
    /// Open `svg` and `math` (`true`) and the places in them where HTML stands again (`false`).
    foreign: Vec<bool>,
    /// What the text here holds.
    text: Option<Text>,
    text_of: Range<usize>,
}

impl Reader<'_> {
    /// Tags are read as in XML here.
    fn is_strict(&self) -> bool {
        self.xml || self.foreign.last() == Some(&true)
    }
}

impl Finder<'_> {
    pub(crate) fn markup(&mut self, input: &[u8], xml: bool, edits: &mut Vec<Edit>) {
        let mut reader =
            Reader { input, xml, tag: Tag::default(), foreign: Vec::new(), text: None, text_of: 0..0 };
        let mut at = 0;
        let mut has_base = false;
        while at < input.len() {
            let run = memchr::memchr(b'<', &input[at..]).unwrap_or(input.len() - at);
            if reader.text.is_some() && run > 0 {
                self.text(&reader, at..at + run, false, edits);
            }
            self.work(run);
            at += run;
            let before = at;
            at = self.construct(&mut reader, at, &mut has_base, edits).max(at + 1);
            self.work(at.min(input.len()) - before.min(input.len()));
        }
    }

    /// Reads what begins with the `<` at `at`; returns where it ends.
    fn construct(
        &mut self,
        reader: &mut Reader<'_>,
        at: usize,
        has_base: &mut bool,
        edits: &mut Vec<Edit>,
    ) -> usize {
        let input = reader.input;
        let rest = &input[at..];
        let to = |needle: &[u8], from: usize| {
            let found = rest.get(from..).and_then(|rest| memchr::memmem::find(rest, needle));
            found.map_or(input.len(), |len| at + from + len + needle.len())
        };
        match rest {
            [_, b'!', b'-', b'-', ..] => at + comment_len(rest, reader.xml),
            _ if rest.starts_with(b"<![CDATA[") && reader.is_strict() => {
                let end = to(b"]]>", 9);
                let inner_end = if input[..end].ends_with(b"]]>") { end - 3 } else { end };
                if reader.text.is_some() && inner_end > at + 9 {
                    self.text(reader, at + 9..inner_end, true, edits);
                }
                end
            }
            [_, b'!', ..] if reader.xml => doctype_end(input, at),
            [_, b'!', ..] => to(b">", 2),
            [_, b'?', ..] if reader.xml => {
                let end = to(b"?>", 2);
                self.instruction(input, at..end, edits);
                end
            }
            [_, b'?', ..] => to(b">", 2),
            [_, b'/', byte, ..] if byte.is_ascii_alphabetic() => {
                reader.text = None;
                if !attributes::read(input, at + 2, &mut reader.tag) {
                    return input.len();
                }
                let mut buffer = [0; NAME];
                let name = lower(&input[reader.tag.name.clone()], &mut buffer);
                if matches!(name, b"svg" | b"math" | b"foreignobject" | b"desc" | b"title") {
                    let wanted = matches!(name, b"svg" | b"math");
                    if reader.foreign.last() == Some(&wanted) {
                        reader.foreign.pop();
                    }
                }
                reader.tag.end
            }
            [_, b'/', b'>', ..] => at + 3,
            [_, b'/', _, ..] => to(b">", 2),
            [_, byte, ..] if byte.is_ascii_alphabetic() || (reader.xml && *byte == b'_') => {
                if !attributes::read(input, at + 1, &mut reader.tag) {
                    return input.len();
                }
                self.start_tag(reader, has_base, edits)
            }
            _ => at + 1,
        }
    }

    /// Handles the start tag that was read, and the text after it if that is no markup. Returns where to go on.
    fn start_tag(&mut self, reader: &mut Reader<'_>, has_base: &mut bool, edits: &mut Vec<Edit>) -> usize {
        let input = reader.input;
        let tag = std::mem::take(&mut reader.tag);
        let mut buffer = [0; NAME];
        let full = lower(&input[tag.name.clone()], &mut buffer);
        let colon = full.iter().position(|&b| b == b':').filter(|_| reader.xml);
        let (prefix, name) = colon.map_or((b"".as_slice(), full), |at| (&full[..at], &full[at + 1..]));
        reader.text = None;
        if !reader.xml {
            if reader.foreign.last() == Some(&true) && elements::breaks_out(name) {
                reader.foreign.truncate(reader.foreign.iter().rposition(|open| !open).map_or(0, |at| at + 1));
            }
            let integration = matches!(name, b"foreignobject" | b"desc" | b"title");
            if !tag.closed && matches!(name, b"svg" | b"math") {
                reader.foreign.push(true);
            } else if !tag.closed && integration && reader.foreign.last() == Some(&true) {
                reader.foreign.push(false);
                self.attributes(input, &tag, name, has_base, edits);
                reader.tag = tag;
                return reader.tag.end;
            }
        }
        self.attributes(input, &tag, name, has_base, edits);
        let mut end = tag.end;
        if reader.is_strict() {
            if !tag.closed {
                let text = if reader.xml {
                    elements::text(name, prefix, &tag, input)
                } else {
                    (name == b"style").then_some(Text::Css)
                };
                reader.text = text;
                reader.text_of = tag.name.clone();
            }
        } else if elements::is_raw(name) {
            let raw_end = if name == b"plaintext" { input.len() } else { raw_end(input, end, name) };
            if name == b"style" {
                let mut inner = Vec::new();
                self.css(&input[end..raw_end], Of::Sheet, &mut inner);
                edits.extend(inner.into_iter().map(|edit| Edit {
                    start: edit.start + end,
                    end: edit.end + end,
                    ..edit
                }));
            }
            end = raw_end;
        }
        reader.tag = tag;
        end
    }

    fn attributes(
        &mut self,
        input: &[u8],
        tag: &Tag,
        element: &[u8],
        has_base: &mut bool,
        edits: &mut Vec<Edit>,
    ) {
        // Of attributes with one name the first counts. There are no more of these than names that are known.
        let mut handled: Vec<Range<usize>> = Vec::new();
        let first_edit = edits.len();
        let (mut replaced, mut sort) = (false, false);
        for attribute in &tag.attributes {
            let raw_name = &input[attribute.name.clone()];
            let mut buffer = [0; NAME];
            let name = lower(raw_name, &mut buffer);
            let Some(holds) = elements::holds(element, name, tag, input) else { continue };
            if handled.iter().any(|known| input[known.clone()].eq_ignore_ascii_case(raw_name)) {
                continue;
            }
            handled.push(attribute.name.clone());
            let names = (element, name);
            match self.attribute(input, attribute, names, holds, has_base, edits) {
                Outcome::Stays => {}
                Outcome::Replaced => replaced = true,
                Outcome::Removed => {
                    // All with this name: the second would take effect when the first is gone.
                    let same = |a: &&Attribute| input[a.name.clone()].eq_ignore_ascii_case(raw_name);
                    edits.extend(tag.attributes.iter().filter(same).map(|a| removal(input, a)));
                    sort = true;
                }
            }
        }
        if replaced {
            for attribute in &tag.attributes {
                let name = &input[attribute.name.clone()];
                // All of them: a second one would take effect when the first is gone.
                if name.eq_ignore_ascii_case(b"integrity") || name.eq_ignore_ascii_case(b"crossorigin") {
                    edits.push(removal(input, attribute));
                    self.counts.dropped += 1;
                }
            }
        }
        if replaced || sort {
            edits[first_edit..].sort_by_key(|edit| edit.start);
        }
    }

    /// Handles one attribute.
    fn attribute(
        &mut self,
        input: &[u8],
        attribute: &Attribute,
        (element, name): (&[u8], &[u8]),
        holds: Holds,
        has_base: &mut bool,
        edits: &mut Vec<Edit>,
    ) -> Outcome {
        let raw = &input[attribute.value.clone()];
        let value = entities::decode(raw, true);
        self.work(raw.len());
        let place = Place::Attribute { element, attribute: name };
        let list = Place::List { element, attribute: name };
        let mut inner = Vec::new();
        match holds {
            Holds::Perhaps(_) if value.bytes.trim_ascii_start().to_ascii_lowercase().starts_with(b"url(") => {
                self.css(&value.bytes, Of::Declarations, &mut inner);
            }
            Holds::Perhaps(_) if !looks_like_url(&value.bytes) => return Outcome::Stays,
            Holds::Url(role) | Holds::Perhaps(role) => {
                let url = &value.bytes[trimmed(&value.bytes)];
                let verdict = self.ask(role, place, url);
                if role == Role::Base && !*has_base {
                    *has_base = true;
                    self.base = Some(url.to_vec());
                }
                return settle(attribute, verdict, edits);
            }
            Holds::Policy => {
                let verdict = self.ask(Role::Policy, place, &value.bytes);
                return settle(attribute, verdict, edits);
            }
            Holds::Srcset(role) => self.srcset(&value.bytes, role, list, &mut inner),
            Holds::Spaced(role) => self.spaced(&value.bytes, role, list, &mut inner),
            Holds::Css => self.css(&value.bytes, Of::Declarations, &mut inner),
            Holds::Refresh => self.refresh(&value.bytes, &mut inner),
            Holds::Html => self.nested(&value.bytes, &mut inner),
        }
        if inner.is_empty() {
            return Outcome::Stays;
        }
        if attribute.quote.is_some() {
            let offset = attribute.value.start;
            edits.extend(inner.into_iter().map(|edit| edit.outward(&value, offset, escape::markup)));
        } else {
            // What is new may not stand without quotation marks; so the value is written anew.
            let mut whole = Vec::new();
            edit::apply(&value.bytes, &inner, &mut whole);
            edits.push(part(attribute.value.clone(), quoted(&whole)));
        }
        if matches!(holds, Holds::Srcset(_)) { Outcome::Replaced } else { Outcome::Stays }
    }

    /// A document inside a value.
    fn nested(&mut self, value: &[u8], edits: &mut Vec<Edit>) {
        if self.depth >= MAX_DEPTH {
            self.counts.too_deep += 1;
            return;
        }
        self.depth += 1;
        let base = self.base.clone();
        self.markup(value, false, edits);
        self.base = base;
        self.depth -= 1;
    }

    /// The text of an element of XML, or of `<style>` in SVG.
    fn text(&mut self, reader: &Reader<'_>, range: Range<usize>, is_cdata: bool, edits: &mut Vec<Edit>) {
        let raw = &reader.input[range.clone()];
        let value = if is_cdata { Decoded::plain(raw) } else { entities::decode(raw, false) };
        self.work(raw.len());
        let mut inner = Vec::new();
        match reader.text {
            Some(Text::Css) => self.css(&value.bytes, Of::Sheet, &mut inner),
            Some(Text::Html) if memchr::memchr(b'<', &value.bytes).is_some() => {
                self.nested(&value.bytes, &mut inner);
            }
            Some(text @ (Text::Url(role) | Text::Absolute(role))) => {
                let url = trimmed(&value.bytes);
                let place = Place::Text { element: &reader.input[reader.text_of.clone()] };
                let fits = match text {
                    Text::Absolute(_) => value.bytes[url.clone()].starts_with(b"http"),
                    _ => !url.is_empty(),
                };
                if fits && let Some(text) = self.ask_part(role, place, &value.bytes[url.clone()]) {
                    inner.push(part(url, text.into_bytes()));
                }
            }
            _ => {}
        }
        let escape = if is_cdata { escape::cdata } else { escape::markup };
        edits.extend(inner.into_iter().map(|edit| edit.outward(&value, range.start, escape)));
    }

    /// `<?xml-stylesheet href="…"?>`.
    fn instruction(&mut self, input: &[u8], range: Range<usize>, edits: &mut Vec<Edit>) {
        let raw = &input[range.clone()];
        let Some(inside) = raw.strip_prefix(b"<?xml-stylesheet").and_then(|raw| raw.strip_suffix(b"?>"))
        else {
            return;
        };
        // Read as a tag: what follows the name are attributes.
        let mut as_tag = b"x".to_vec();
        as_tag.extend_from_slice(inside);
        as_tag.push(b'>');
        let mut tag = Tag::default();
        self.work(as_tag.len());
        if !attributes::read(&as_tag, 0, &mut tag) || tag.end != as_tag.len() {
            return;
        }
        let Some(href) = tag.attributes.iter().find(|a| &as_tag[a.name.clone()] == b"href") else { return };
        let offset = range.start + b"<?xml-stylesheet".len() - 1;
        let value = entities::decode(&as_tag[href.value.clone()], true);
        let url = trimmed(&value.bytes);
        if let Some(text) = self.ask_part(Role::Style, Place::Instruction, &value.bytes[url.clone()]) {
            let edit = part(url, text.into_bytes());
            edits.push(edit.outward(&value, offset + href.value.start, escape::markup));
        }
    }
}

/// Names that matter are no longer.
const NAME: usize = 32;

/// A name in lower case; one that is too long to matter becomes empty.
fn lower<'b>(name: &[u8], buffer: &'b mut [u8; NAME]) -> &'b [u8] {
    let Some(room) = buffer.get_mut(..name.len()) else { return b"" };
    room.copy_from_slice(name);
    room.make_ascii_lowercase();
    room
}

/// What came of an attribute.
enum Outcome {
    /// The element refers to what it did.
    Stays,
    Replaced,
    /// It is to go.
    Removed,
}

fn settle(attribute: &Attribute, verdict: Verdict, edits: &mut Vec<Edit>) -> Outcome {
    match verdict {
        Verdict::Keep => return Outcome::Stays,
        Verdict::Remove => return Outcome::Removed,
        Verdict::Replace(text) if attribute.quote.is_some() => {
            edits.push(part(attribute.value.clone(), escape::markup(text.as_bytes())));
        }
        Verdict::Replace(text) => {
            let mut written = if attribute.has_value { b"\"".to_vec() } else { b"=\"".to_vec() };
            written.extend(escape::markup(text.as_bytes()));
            written.push(b'"');
            edits.push(part(attribute.value.clone(), written));
        }
    }
    Outcome::Replaced
}

fn removal(input: &[u8], attribute: &Attribute) -> Edit {
    let spaces =
        input[..attribute.name.start].iter().rev().take_while(|&&b| crate::finder::is_space(b)).count();
    Edit { start: attribute.name.start - spaces, end: attribute.end, text: Vec::new() }
}

/// A value in quotation marks; bytes beyond ASCII stay.
fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = b"\"".to_vec();
    for &byte in value {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

fn looks_like_url(value: &[u8]) -> bool {
    let value = &value[trimmed(value)];
    !value.is_empty()
        && !value.iter().any(|&b| b <= b' ' || matches!(b, b'{' | b'<' | b'>' | b'"' | b'\''))
        // A class of a style sheet begins with a dot.
        && (value.contains(&b'/') || (value.contains(&b'.') && !value.starts_with(b".")))
}

fn comment_len(rest: &[u8], xml: bool) -> usize {
    if !xml {
        if rest.starts_with(b"<!-->") {
            return 5;
        }
        if rest.starts_with(b"<!--->") {
            return 6;
        }
    }
    let mut at = 4;
    while let Some(found) = rest.get(at..).and_then(|rest| memchr::memmem::find(rest, b"--")) {
        at += found;
        match rest.get(at + 2..).unwrap_or_default() {
            [b'>', ..] => return at + 3,
            [b'!', b'>', ..] if !xml => return at + 4,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Where a document type declaration ends: it may have declarations in brackets.
fn doctype_end(input: &[u8], mut at: usize) -> usize {
    let mut inside = false;
    let mut quote = None;
    while let Some(&byte) = input.get(at) {
        match byte {
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => {}
            b'"' | b'\'' => quote = Some(byte),
            b'[' => inside = true,
            b']' => inside = false,
            b'>' if !inside => return at + 1,
            _ => {}
        }
        at += 1;
    }
    input.len()
}

/// Where the text of a raw element ends: at the `<` of its end tag, or with the document.
fn raw_end(input: &[u8], mut at: usize, name: &[u8]) -> usize {
    // Text of a script that was hidden from old browsers may hold a script's end tag.
    let (mut hidden, mut nested) = (false, false);
    let is_tag = |at: usize, name: &[u8]| {
        input.get(at..at + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && input
                .get(at + name.len())
                .is_some_and(|&b| crate::finder::is_space(b) || matches!(b, b'/' | b'>'))
    };
    while let Some(found) = memchr::memchr2(b'<', b'-', input.get(at..).unwrap_or_default()) {
        at += found;
        let rest = &input[at..];
        if rest.starts_with(b"-->") {
            (hidden, nested) = (false, false);
        } else if name == b"script" && rest.starts_with(b"<!--") {
            hidden = true;
            // `<!-->` ends at once.
            at += 2;
            continue;
        } else if rest.starts_with(b"</") && is_tag(at + 2, name) {
            if !nested {
                return at;
            }
            nested = false;
        } else if hidden && rest.starts_with(b"<") && is_tag(at + 1, b"script") {
            nested = true;
        }
        at += 1;
    }
    input.len()
}
