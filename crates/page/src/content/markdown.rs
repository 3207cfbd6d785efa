//! The main content as Markdown.
//!
//! Headings, paragraphs, lists, quotations, code, tables, links, images and emphasis; everything else is its text.
//! Marks that would be read as Markdown are escaped.

use crate::extract::{Extract, TagKind};
use crate::tags::TagId;
use crate::tree::{NO_PARENT, Tree};

/// Nesting of lists and quotations that is shown.
const MAX_INDENT: usize = 16;

/// Writes the nodes that `holds` says belong to the content.
pub(super) fn write(source: &str, page: &Extract, tree: &Tree, holds: impl Fn(usize) -> bool) -> String {
    let mut writer = Writer {
        source,
        page,
        tree,
        out: String::new(),
        open: Vec::new(),
        break_owed: 0,
        fresh: false,
        cells: 0,
    };
    let mut next = 0;
    let mut from = 0usize;
    for (at, event) in page.events.iter().enumerate() {
        let to = event.text_at as usize;
        if to > from {
            writer.run(&holds, page.text.get(from..to).unwrap_or(""), at, next);
            from = to;
        }
        if event.kind != TagKind::End && tree.nodes.get(next).is_some_and(|n| n.event as usize == at) {
            writer.leave_to(tree.nodes[next].parent);
            if holds(next) {
                writer.enter(next);
            }
            next += 1;
        } else if event.kind == TagKind::End {
            writer.end_tag(event.tag);
        }
    }
    if page.text.len() > from {
        writer.run(&holds, page.text.get(from..).unwrap_or(""), page.events.len(), next);
    }
    writer.leave_to(NO_PARENT);
    let kept = writer.out.trim_end().len();
    writer.out.truncate(kept);
    writer.out
}

struct Writer<'p> {
    source: &'p str,
    page: &'p Extract,
    tree: &'p Tree,
    out: String,
    /// Open elements that are part of the content.
    open: Vec<usize>,
    /// Line ends owed in front of the next words.
    break_owed: u8,
    /// An opening mark was written last: the words follow without a separator.
    fresh: bool,
    /// Cells met in the open row.
    cells: u32,
}

impl Writer<'_> {
    fn tag(&self, at: usize) -> TagId {
        self.tree.nodes[at].tag
    }

    fn inside(&self, tags: &[TagId]) -> bool {
        self.open.iter().any(|&at| tags.contains(&self.tag(at)))
    }

    fn owe(&mut self, lines: u8) {
        self.break_owed = self.break_owed.max(lines);
    }

    /// Words of the content; only those whose innermost open element is held.
    fn run(&mut self, holds: &impl Fn(usize) -> bool, run: &str, event: usize, next: usize) {
        let Some(holder) = self.holder(event, next) else { return };
        if !holds(holder) {
            return;
        }
        self.leave_to(holder as u32);
        let pre = self.inside(&[TagId::PRE]);
        let code = pre || self.inside(&[TagId::CODE]);
        let starts_blank = run.starts_with([' ', '\n']);
        if run.starts_with('\n') && !pre && !self.fresh {
            self.owe(1);
        }
        if run.trim().is_empty() {
            return;
        }
        self.pay();
        if starts_blank && !self.fresh && !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(if pre && run.starts_with('\n') { '\n' } else { ' ' });
        }
        self.fresh = false;
        let words = if pre { run.trim_start_matches('\n') } else { run.trim_start() };
        for c in words.chars() {
            match c {
                '\n' if !pre => self.out.push(' '),
                '\\' | '*' | '_' | '`' | '[' | ']' | '<' if !code => self.out.extend(['\\', c]),
                '|' if self.cells > 0 => self.out.push_str("\\|"),
                _ => self.out.push(c),
            }
        }
    }

    /// The node that holds the text in front of `event`, `next` being the first node not yet met.
    fn holder(&self, event: usize, next: usize) -> Option<usize> {
        let mut at = next.checked_sub(1)?;
        let text_at = self.page.events.get(event).map_or(self.page.text.len() as u32, |e| e.text_at);
        loop {
            let node = &self.tree.nodes[at];
            let closed = (node.end as usize) < next || node.text_end < text_at || node.tag.is_void();
            if !closed {
                return Some(at);
            }
            at = match node.parent {
                NO_PARENT => return None,
                parent => parent as usize,
            };
        }
    }

    fn pay(&mut self) {
        if self.break_owed > 0 && !self.out.is_empty() {
            let kept = self.out.trim_end_matches(' ').len();
            self.out.truncate(kept);
            let have = self.out.bytes().rev().take_while(|&b| b == b'\n').count();
            let quotes =
                self.open.iter().filter(|&&at| self.tag(at) == TagId::BLOCKQUOTE).count().min(MAX_INDENT);
            for _ in have..usize::from(self.break_owed) {
                self.out.push('\n');
            }
            for _ in 0..quotes {
                self.out.push_str("> ");
            }
        }
        self.break_owed = 0;
    }

    fn enter(&mut self, at: usize) {
        let tag = self.tag(at);
        if let Some(level) = tag.heading_level() {
            self.owe(2);
            self.pay();
            (0..level).for_each(|_| self.out.push('#'));
            self.out.push(' ');
            self.fresh = true;
        }
        match tag {
            _ if tag.heading_level().is_some() => {}
            TagId::LI => {
                self.owe(1);
                self.pay();
                let lists =
                    self.open.iter().filter(|&&n| matches!(self.tag(n), TagId::UL | TagId::OL)).count();
                (1..lists.min(MAX_INDENT)).for_each(|_| self.out.push_str("  "));
                let ordered = self.open.iter().rev().find(|&&n| matches!(self.tag(n), TagId::UL | TagId::OL));
                self.out.push_str(if ordered.is_some_and(|&n| self.tag(n) == TagId::OL) {
                    "1. "
                } else {
                    "- "
                });
                self.fresh = true;
            }
            TagId::TR => {
                self.owe(1);
                self.pay();
                self.cells = 0;
            }
            TagId::TD | TagId::TH => {
                self.pay();
                self.out.push_str("| ");
                self.fresh = true;
                self.cells += 1;
            }
            TagId::PRE => {
                self.owe(2);
                self.pay();
                self.out.push_str("```\n");
                self.fresh = true;
            }
            TagId::HR => {
                self.owe(2);
                self.pay();
                self.out.push_str("---");
                self.owe(2);
            }
            TagId::BR => self.owe(1),
            TagId::IMG => self.image(at),
            TagId::B | TagId::STRONG | TagId::I | TagId::EM | TagId::A | TagId::CODE => self.mark(at, true),
            _ if tag.is_block() => self
                .owe(if matches!(tag, TagId::UL | TagId::OL) && self.inside(&[TagId::LI]) { 1 } else { 2 }),
            _ => {}
        }
        if !tag.is_void() {
            self.open.push(at);
        }
    }

    /// Starts or ends an inline mark; marks around nothing are harmless.
    fn mark(&mut self, at: usize, start: bool) {
        if self.inside(&[TagId::PRE]) {
            return;
        }
        let mark = match self.tag(at) {
            TagId::B | TagId::STRONG => "**",
            TagId::I | TagId::EM => "*",
            TagId::CODE => "`",
            _ if start => "[",
            _ => "]",
        };
        if start {
            self.pay();
            if self.starts_with_blank(at)
                && !self.fresh
                && !self.out.is_empty()
                && !self.out.ends_with([' ', '\n'])
            {
                self.out.push(' ');
            }
        }
        self.out.push_str(mark);
        self.fresh = start;
        if mark == "]" {
            let href = self.attribute(at, "href").unwrap_or("").trim().replace([' ', '(', ')'], "%20");
            self.out.push('(');
            self.out.push_str(&href);
            self.out.push(')');
        }
    }

    fn starts_with_blank(&self, at: usize) -> bool {
        self.page.text.as_bytes().get(self.tree.nodes[at].text_start as usize) == Some(&b' ')
    }

    fn image(&mut self, at: usize) {
        let (alt, src) = (self.attribute(at, "alt").unwrap_or(""), self.attribute(at, "src").unwrap_or(""));
        if src.is_empty() || src.starts_with("data:") {
            return;
        }
        let image = format!(
            "![{}]({})",
            alt.replace(['[', ']', '\n'], " "),
            src.trim().replace([' ', '(', ')'], "%20")
        );
        self.pay();
        self.out.push_str(&image);
    }

    fn attribute(&self, at: usize, name: &str) -> Option<&str> {
        let event = self.page.events.get(self.tree.nodes[at].event as usize)?;
        event.attribute(self.source, name)
    }

    fn end_tag(&mut self, tag: TagId) {
        if let Some(level) = self.open.iter().rposition(|&at| self.tag(at) == tag) {
            let parent = level.checked_sub(1).map_or(NO_PARENT, |n| self.open[n] as u32);
            self.leave_to(parent);
        }
    }

    /// Closes open elements until the innermost is `holder` or around it.
    fn leave_to(&mut self, holder: u32) {
        while let Some(&at) = self.open.last() {
            let node = &self.tree.nodes[at];
            if holder != NO_PARENT && (at as u32 == holder || (at as u32) < holder && holder < node.end) {
                return;
            }
            self.open.pop();
            match node.tag {
                TagId::B | TagId::STRONG | TagId::I | TagId::EM | TagId::A | TagId::CODE => {
                    self.mark(at, false)
                }
                TagId::PRE => {
                    self.out.push_str("\n```");
                    self.owe(2);
                }
                TagId::TR => {
                    self.out.push_str(" |");
                    self.cells = 0;
                    self.owe(1);
                }
                TagId::TD | TagId::TH => self.out.push(' '),
                TagId::LI => self.owe(1),
                tag if tag.is_block() => self.owe(2),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ContentReader, Extract, Limits, Scanner};

    fn markdown(body: &str) -> String {
        let filler =
            "<p>Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.</p>";
        let html = format!("<nav><a href=/>Home</a></nav><article>{filler}{body}{filler}</article>");
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&html, &mut page);
        let all = ContentReader::default().markdown(&html, &page);
        let plain = "Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.";
        let inner = all.strip_prefix(plain).and_then(|s| s.strip_suffix(plain));
        inner.unwrap_or(&all).trim().to_owned()
    }

    #[test]
    fn blocks() {
        assert_eq!(markdown("<h2>Eyes</h2><p>Eight of them.</p>"), "## Eyes\n\nEight of them.");
        assert_eq!(
            markdown("<ul><li>one of them, and more words<li>two of them, and more words</ul>"),
            "- one of them, and more words\n- two of them, and more words"
        );
        assert_eq!(
            markdown("<blockquote><p>They see well, all of them do, in the dark.</p></blockquote>"),
            "> They see well, all of them do, in the dark."
        );
        assert_eq!(markdown("<pre>let a = 1;\nlet b = a;</pre>"), "```\nlet a = 1;\nlet b = a;\n```");
    }

    #[test]
    fn inline_marks_and_escapes() {
        assert_eq!(
            markdown(
                "<p>A <b>bold</b> and <i>soft</i> word, with <a href='/x'>a link</a>, and more words.</p>"
            ),
            "A **bold** and *soft* word, with [a link](/x), and more words."
        );
        assert_eq!(
            markdown("<p>Stars * and _lines_ and [brackets], which mean nothing, in <code>a*b</code>.</p>"),
            "Stars \\* and \\_lines\\_ and \\[brackets\\], which mean nothing, in `a*b`."
        );
    }
}
