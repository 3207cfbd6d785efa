//! The main content as Markdown.
//!
//! Headings, paragraphs, lists, quotations, code, tables, links, images and emphasis; everything else is its text. A page
//! cannot write Markdown through its words: what a CommonMark parser reads back are the texts and links that went in.

mod blocks;
mod inline;
mod kept;

use blocks::{Block, Blocks, Container, Kind};
use inline::{Mark, Piece};

use crate::extract::{Extract, TagKind};
use crate::tags::TagId;
use crate::tree::{NO_PARENT, Tree};

/// Nesting of lists and quotations that is shown.
const MAX_INDENT: usize = 16;
/// Cells of a row that are told apart; the words of further ones go into the last.
const MAX_CELLS: usize = 64;

/// Writes the nodes that `holds` says belong to the content.
pub(super) fn write(source: &str, page: &Extract, tree: &Tree, holds: impl Fn(usize) -> bool) -> String {
    let mut writer = Writer { source, page, tree, blocks: Blocks::default(), block: None, open: Vec::new() };
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
    writer.end_block();
    writer.blocks.text()
}

struct Writer<'p> {
    source: &'p str,
    page: &'p Extract,
    tree: &'p Tree,
    /// Those that are complete.
    blocks: Blocks,
    /// The one under way.
    block: Option<Block>,
    /// Open elements that are part of the content.
    open: Vec<usize>,
}

impl Writer<'_> {
    fn tag(&self, at: usize) -> TagId {
        self.tree.nodes[at].tag
    }

    fn inside(&self, tags: &[TagId]) -> bool {
        self.open.iter().any(|&at| tags.contains(&self.tag(at)))
    }

    fn in_cell(&self) -> bool {
        self.inside(&[TagId::TD, TagId::TH])
    }

    fn in_code_block(&self) -> bool {
        self.inside(&[TagId::PRE]) && !self.in_cell()
    }

    /// The block that what comes next belongs to.
    fn block(&mut self) -> &mut Block {
        let block = match self.block.take() {
            Some(block) => block,
            None => {
                let kind = match self.heading() {
                    _ if self.in_code_block() => Kind::Code(String::new()),
                    Some(level) => Kind::Heading(level),
                    None => Kind::Paragraph,
                };
                Block::new(kind, self.containers())
            }
        };
        self.block.insert(block)
    }

    fn heading(&self) -> Option<u8> {
        self.open.iter().rev().find_map(|&at| self.tag(at).heading_level())
    }

    /// The lists and quotations around, the outermost first.
    fn containers(&self) -> Vec<Container> {
        let mut ordered = false;
        let mut containers = Vec::new();
        for &at in &self.open {
            match self.tag(at) {
                TagId::UL => ordered = false,
                TagId::OL => ordered = true,
                TagId::LI => containers.push(Container::Item { id: at, ordered }),
                TagId::BLOCKQUOTE => containers.push(Container::Quotation { id: at }),
                _ => {}
            }
        }
        containers.truncate(MAX_INDENT);
        containers
    }

    fn end_block(&mut self) {
        if let Some(block) = self.block.take() {
            self.blocks.push(block);
        }
    }

    /// A block of the page begins or ends here: in a cell, words keep apart; elsewhere a paragraph is over.
    fn part(&mut self) {
        if !self.in_cell() {
            self.end_block();
        } else if let Some(block) = &mut self.block {
            block.inline().blank();
        }
    }

    /// Words of the content; only those whose innermost open element is held.
    fn run(&mut self, holds: &impl Fn(usize) -> bool, run: &str, event: usize, next: usize) {
        let Some(holder) = self.holder(event, next) else { return };
        if !holds(holder) {
            return;
        }
        self.leave_to(holder as u32);
        let in_code = self.inside(&[TagId::CODE, TagId::PRE]);
        if self.in_code_block() {
            if let Kind::Code(text) = &mut self.block().kind {
                text.push_str(run);
            }
            return;
        }
        if run.chars().all(inline::is_blank) {
            if let Some(block) = &mut self.block {
                block.inline().blank();
            }
            return;
        }
        let in_cell = self.in_cell();
        let inline = self.block().inline();
        if run.starts_with('\n') && !in_cell {
            inline.line_break();
        }
        inline.words(run, in_code);
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

    fn enter(&mut self, at: usize) {
        let tag = self.tag(at);
        match tag {
            TagId::TABLE if !self.in_cell() => {
                self.end_block();
                let containers = self.containers();
                self.block = Some(Block::new(Kind::Table(Vec::new()), containers));
            }
            TagId::TR | TagId::TD | TagId::TH if !self.in_cell() => self.table_part(tag),
            TagId::HR => {
                self.part();
                if !self.in_cell() {
                    let containers = self.containers();
                    self.blocks.push(Block::new(Kind::Rule, containers));
                }
            }
            TagId::BR => {
                let in_line = self.in_cell() || self.heading().is_some();
                if self.in_code_block() {
                    // The text has the line end itself.
                } else if let Some(block) = &mut self.block {
                    if in_line { block.inline().blank() } else { block.inline().line_break() }
                }
            }
            TagId::IMG => self.image(at),
            TagId::B | TagId::STRONG | TagId::I | TagId::EM | TagId::A => self.mark(at, true),
            _ if tag.is_block() || tag.heading_level().is_some() || tag == TagId::LI => self.part(),
            _ => {}
        }
        if !tag.is_void() {
            self.open.push(at);
        }
    }

    /// A row or a cell begins; outside of a table it is a block like others.
    fn table_part(&mut self, tag: TagId) {
        let Some(Block { kind: Kind::Table(rows), .. }) = &mut self.block else {
            self.end_block();
            if tag != TagId::TR {
                let containers = self.containers();
                self.block = Some(Block::new(Kind::Table(vec![vec![inline::Inline::default()]]), containers));
            }
            return;
        };
        if tag == TagId::TR || rows.is_empty() {
            rows.push(Vec::new());
        }
        if let Some(row) = rows.last_mut().filter(|row| tag != TagId::TR && row.len() < MAX_CELLS) {
            row.push(inline::Inline::default());
        }
    }

    /// Starts or ends an inline mark.
    fn mark(&mut self, at: usize, start: bool) {
        if self.in_code_block() {
            return;
        }
        let mark = match self.tag(at) {
            TagId::B | TagId::STRONG => Mark::Strong,
            TagId::I | TagId::EM => Mark::Emphasis,
            _ => Mark::Link,
        };
        if start {
            let href = match mark {
                Mark::Link => self.address(at, "href"),
                _ => Some(String::new()),
            };
            let blank = self.starts_with_blank(at);
            if let Some(href) = href {
                self.block().inline().begin(mark, at, href, blank);
            }
        } else if let Some(block) = &mut self.block {
            block.inline().end(at);
        }
    }

    fn starts_with_blank(&self, at: usize) -> bool {
        let first = self.page.text.as_bytes().get(self.tree.nodes[at].text_start as usize);
        matches!(first, Some(b' ' | b'\n'))
    }

    fn image(&mut self, at: usize) {
        let alt = self.attribute(at, "alt").map(inline::decoded).unwrap_or_default();
        let Some(src) = self.address(at, "src") else { return };
        if !self.in_code_block() {
            self.block().inline().push(Piece::Image { alt, src });
        }
    }

    /// Where a link or an image leads, if a document should lead there.
    fn address(&self, at: usize, name: &str) -> Option<String> {
        inline::destination(&inline::decoded(self.attribute(at, name)?))
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
            match node.tag {
                TagId::B | TagId::STRONG | TagId::I | TagId::EM | TagId::A => self.mark(at, false),
                TagId::TABLE if !self.open[..self.open.len() - 1].iter().any(|&n| self.is_cell(n)) => {
                    self.end_block();
                }
                TagId::TR | TagId::TD | TagId::TH => {}
                tag if tag.is_block() || tag.heading_level().is_some() || tag == TagId::LI => self.part(),
                _ => {}
            }
            self.open.pop();
        }
    }

    fn is_cell(&self, at: usize) -> bool {
        matches!(self.tag(at), TagId::TD | TagId::TH)
    }
}

#[cfg(test)]
mod tests;
