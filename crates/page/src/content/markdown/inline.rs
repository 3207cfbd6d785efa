//! What stands in a line: words, code, links, images and emphasis, written so that nothing else can be read from it.

use super::kept::Kept;
use crate::entities::{self, Context};

/// A kind of mark around words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Strong,
    Emphasis,
    Link,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Words(String),
    Code(String),
    /// One blank between words.
    Blank,
    Break,
    /// A mark begins; where its end stands, once there is one.
    Begin(Mark, Option<usize>, String),
    /// The end of the mark that begins there.
    End(usize),
    Image {
        alt: String,
        src: String,
    },
}

/// The pieces of a paragraph, a heading or a cell.
#[derive(Clone, Debug, Default)]
pub struct Inline {
    pieces: Vec<Piece>,
    /// A blank or a line end that is written if something follows.
    owed: Option<Piece>,
    /// Marks that have not ended: the element, and where its piece stands.
    open: Vec<(usize, usize)>,
    has_content: bool,
    /// A blank or a line end was written last, marks aside.
    is_apart: bool,
}

/// Where a line stands: what may be read from its first characters, and from a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Paragraph,
    Heading,
    Cell,
}

impl Inline {
    pub fn is_empty(&self) -> bool {
        !self.has_content
    }

    /// Whether a blank or a line end has anything to part: not after another, nor at the beginning of a mark, which had its
    /// own in front of it.
    fn may_part(&self) -> bool {
        let begins = matches!(self.pieces.last(), Some(Piece::Begin(..)));
        self.has_content && !begins && !self.is_apart
    }

    pub fn blank(&mut self) {
        if self.may_part() && self.owed.is_none() {
            self.owed = Some(Piece::Blank);
        }
    }

    pub fn line_break(&mut self) {
        if self.may_part() {
            self.owed = Some(Piece::Break);
        }
    }

    fn pay(&mut self) {
        if let Some(owed) = self.owed.take() {
            self.pieces.push(owed);
            self.is_apart = true;
        }
    }

    pub fn push(&mut self, piece: Piece) {
        self.pay();
        self.pieces.push(piece);
        self.has_content = true;
        self.is_apart = false;
    }

    /// Words of the page, or of code in it.
    pub fn words(&mut self, run: &str, is_code: bool) {
        for (number, word) in run.split(is_blank).enumerate() {
            if number > 0 {
                self.blank();
            }
            if word.is_empty() {
                continue;
            }
            let joins = self.owed == Some(Piece::Blank);
            match (self.pieces.last_mut(), is_code) {
                (Some(Piece::Code(text)), true) if joins || self.owed.is_none() => {
                    if self.owed.take().is_some() {
                        text.push(' ');
                    }
                    text.push_str(word);
                }
                (Some(Piece::Words(text)), false) if self.owed.is_none() => text.push_str(word),
                (_, true) => self.push(Piece::Code(word.to_owned())),
                (_, false) => self.push(Piece::Words(word.to_owned())),
            }
        }
    }

    /// A mark begins with the element `number`.
    pub fn begin(&mut self, mark: Mark, number: usize, href: String, blank: bool) {
        if blank {
            self.blank();
        }
        self.pay();
        self.open.push((number, self.pieces.len()));
        self.pieces.push(Piece::Begin(mark, None, href));
        self.has_content |= mark == Mark::Link;
    }

    pub fn end(&mut self, number: usize) {
        let Some(level) = self.open.iter().rposition(|&(own, _)| own == number) else { return };
        let (_, begin) = self.open.remove(level);
        let at = self.pieces.len();
        if let Some(Piece::Begin(_, end, _)) = self.pieces.get_mut(begin) {
            *end = Some(at);
            self.pieces.push(Piece::End(begin));
        }
    }

    /// The lines as Markdown.
    pub fn text(&self, setting: Setting) -> String {
        let kept = Kept::of(&self.pieces);
        let mut out = String::new();
        // Open marks and how each of them ends.
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut line = 0;
        // Code and code beside each other are one: the fences would run together.
        let mut code = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let is_shown = kept.marks[at] || !matches!(piece, Piece::Begin(..) | Piece::End(_));
            if is_shown && !matches!(piece, Piece::Code(_)) {
                push_code(&mut out, &std::mem::take(&mut code), setting);
            }
            match piece {
                Piece::Words(words) => {
                    let is_before_link = kept.after(&self.pieces, at) == Some('[');
                    escape(&mut out, words, (setting, line), is_before_link);
                }
                Piece::Code(more) => code.push_str(more),
                Piece::Blank => out.push(' '),
                Piece::Break if setting == Setting::Paragraph => {
                    out.push('\n');
                    line = out.len();
                }
                Piece::Break => out.push(' '),
                Piece::Image { alt, src } => {
                    out.push_str("![");
                    let words: Vec<&str> = alt.split_whitespace().collect();
                    escape(&mut out, &words.join(" "), (setting, line), false);
                    out.push_str("](");
                    push_destination(&mut out, src, setting);
                    out.push(')');
                }
                Piece::Begin(mark, _, href) if kept.marks[at] => {
                    let (begin, end) = match mark {
                        Mark::Strong => ("**", "**".to_owned()),
                        Mark::Emphasis => ("*", "*".to_owned()),
                        Mark::Link => {
                            let mut end = "](".to_owned();
                            push_destination(&mut end, href, setting);
                            end.push(')');
                            ("[", end)
                        }
                    };
                    out.push_str(begin);
                    open.push((at, end));
                }
                Piece::End(begin) if kept.marks[at] => {
                    if let Some(level) = open.iter().rposition(|(own, _)| own == begin) {
                        out.push_str(&open.remove(level).1);
                    }
                }
                Piece::Begin(..) | Piece::End(_) => {}
            }
        }
        push_code(&mut out, &code, setting);
        while let Some((_, end)) = open.pop() {
            out.push_str(&end);
        }
        out
    }
}

/// What separates words: blanks that can be seen stay.
pub fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Words whose characters mean themselves. `line` is where the line begins in `out`.
fn escape(out: &mut String, words: &str, (setting, line): (Setting, usize), is_before_link: bool) {
    let mut chars = words.chars().peekable();
    while let Some(c) = chars.next() {
        let so_far = &out[line..];
        let is_first = so_far.is_empty();
        let is_number = || so_far.bytes().all(|byte| byte.is_ascii_digit());
        let next = chars.peek().copied();
        let is_special = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '~' | '|' => true,
            '#' => is_first || setting == Setting::Heading,
            '>' | '+' | '-' | '=' | ':' => is_first,
            '.' | ')' => !is_first && is_number(),
            '&' => next.is_none_or(|next| next.is_ascii_alphanumeric() || next == '#'),
            '!' => next.is_none() && is_before_link,
            _ => false,
        };
        if is_special {
            out.push('\\');
        }
        out.push(if c == '\0' { '\u{fffd}' } else { c });
    }
}

/// Code between as many backquotes as it takes.
fn push_code(out: &mut String, code: &str, setting: Setting) {
    if code.is_empty() {
        return;
    }
    let fence = "`".repeat(longest_run(code) + 1);
    let pad = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    // In a table even code needs its bars escaped.
    let code = if setting == Setting::Cell { code.replace('|', "\\|") } else { code.to_owned() };
    out.push_str(&format!("{fence}{pad}{code}{pad}{fence}"));
}

/// The longest run of backquotes.
pub fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// An attribute's value, its character references read.
pub fn decoded(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at(at);
        out.push_str(before);
        match entities::decode(reference.as_bytes(), Context::Attribute) {
            Some((chars, length)) => {
                out.push(chars.first);
                out.extend(chars.second);
                rest = reference.get(length..).unwrap_or("");
            }
            None => {
                out.push('&');
                rest = &reference[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The address of a link or an image, as a browser would read it; none if it leads nowhere that a document should lead.
pub fn destination(raw: &str) -> Option<String> {
    let trimmed = raw.trim_matches(|c: char| c <= ' ');
    let mut address = String::with_capacity(trimmed.len());
    for c in trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')) {
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c <= ' ' || c.is_control() || c.is_whitespace() || turns {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| address.push_str(&format!("%{byte:02X}")));
        } else {
            address.push(c);
        }
    }
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let scheme = address.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| is_scheme(scheme));
    let is_known = scheme.is_none_or(|scheme| {
        ["http", "https", "mailto", "tel", "ftp"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    (is_known && !address.is_empty()).then_some(address)
}

fn push_destination(out: &mut String, address: &str, setting: Setting) {
    let is_plain = is_balanced(address) && !address.starts_with('<');
    if !is_plain {
        out.push('<');
    }
    let mut chars = address.chars().peekable();
    while let Some(c) = chars.next() {
        let is_special = match c {
            '\\' | '<' | '>' => true,
            '|' => setting == Setting::Cell,
            '&' => chars.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '#'),
            _ => false,
        };
        if is_special {
            out.push('\\');
        }
        out.push(c);
    }
    if !is_plain {
        out.push('>');
    }
}

/// Whether the parentheses of an address are balanced and nested no deeper than every parser takes.
fn is_balanced(address: &str) -> bool {
    let mut depth = 0;
    for c in address.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if !(0..=3).contains(&depth) {
            return false;
        }
    }
    depth == 0
}
