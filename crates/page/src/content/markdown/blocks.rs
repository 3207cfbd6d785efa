//! Blocks under each other, each in its lists and quotations.

use super::inline::{Inline, Setting, is_blank, longest_run};

/// What a block stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Item { id: usize, ordered: bool },
    Quotation { id: usize },
}

#[derive(Clone, Debug)]
pub enum Kind {
    Paragraph,
    Heading(u8),
    Code(String),
    Rule,
    /// Rows of cells.
    Table(Vec<Vec<Inline>>),
}

#[derive(Clone, Debug)]
pub struct Block {
    pub kind: Kind,
    containers: Vec<Container>,
    inline: Inline,
}

impl Block {
    pub fn new(kind: Kind, containers: Vec<Container>) -> Self {
        Self { kind, containers, inline: Inline::default() }
    }

    /// Where words go: into the last cell of a table.
    pub fn inline(&mut self) -> &mut Inline {
        match &mut self.kind {
            Kind::Table(rows) => {
                if rows.is_empty() {
                    rows.push(Vec::new());
                }
                let at = rows.len() - 1;
                if rows[at].is_empty() {
                    rows[at].push(Inline::default());
                }
                let last = rows[at].len() - 1;
                &mut rows[at][last]
            }
            _ => &mut self.inline,
        }
    }

    /// Its lines, without what it stands in; none if there is nothing to be read.
    fn lines(&self) -> Vec<String> {
        match &self.kind {
            Kind::Paragraph if self.inline.is_empty() => Vec::new(),
            Kind::Paragraph => self
                .inline
                .text(Setting::Paragraph)
                .split('\n')
                .map(|line| line.trim_matches(is_blank).to_owned())
                .collect(),
            Kind::Heading(_) if self.inline.is_empty() => Vec::new(),
            Kind::Heading(level) => {
                let marks = "#".repeat(usize::from(*level));
                vec![format!("{marks} {}", self.inline.text(Setting::Heading).trim_matches(is_blank))]
            }
            Kind::Code(text) => code(text),
            Kind::Rule => vec!["***".to_owned()],
            Kind::Table(rows) => table(rows),
        }
    }
}

/// A block of code, fenced by more backquotes than stand in it.
fn code(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}");
    let text = text.trim_matches('\n');
    if text.chars().all(is_blank) {
        return Vec::new();
    }
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    let mut lines = vec![fence.clone()];
    lines.extend(text.split('\n').map(str::to_owned));
    lines.push(fence);
    lines
}

/// A table; its first row is the head, as wide as the widest.
fn table(rows: &[Vec<Inline>]) -> Vec<String> {
    let rows: Vec<&Vec<Inline>> = rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())).collect();
    let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for row in rows {
        let mut line = String::from("|");
        for at in 0..width {
            let cell = row.get(at).map(|cell| cell.text(Setting::Cell)).unwrap_or_default();
            line.push_str(&format!(" {} |", cell.trim_matches(is_blank)));
        }
        lines.push(line);
        if lines.len() == 1 {
            lines.push(format!("|{}", " --- |".repeat(width)));
        }
    }
    lines
}

/// All blocks so far.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
}

impl Blocks {
    pub fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut before: Option<&Block> = None;
        for block in &self.blocks {
            let lines = block.lines();
            if lines.is_empty() {
                continue;
            }
            let path = &block.containers;
            let last = before.map_or(&[][..], |before| &before.containers[..]);
            let shared = path.iter().zip(last).take_while(|(own, other)| own == other).count();
            if let Some(before) = before {
                out.push('\n');
                if !follows_closely(before, path, shared) {
                    let margin = prefix(&path[..shared], shared, false);
                    out.push_str(margin.trim_end());
                    out.push('\n');
                }
            }
            for (number, line) in lines.iter().enumerate() {
                if number > 0 {
                    out.push('\n');
                }
                let margin = prefix(path, shared, number == 0);
                out.push_str(if line.is_empty() { margin.trim_end() } else { &margin });
                out.push_str(line);
            }
            before = Some(block);
        }
        out
    }
}

/// Whether a block begins an item of a list that goes on, or the first one under an item's words: no blank line then.
fn follows_closely(before: &Block, path: &[Container], shared: usize) -> bool {
    let [.., Container::Item { .. }] = path else { return false };
    let is_paragraph = matches!(before.kind, Kind::Paragraph);
    shared + 1 == path.len()
        && is_paragraph
        && before.containers.len() >= path.len().saturating_sub(1)
        && before.containers.iter().any(|container| matches!(container, Container::Item { .. }))
        && before.containers.get(shared).is_none_or(|other| matches!(other, Container::Item { .. }))
}

/// What stands in front of a line: the marks of what begins with it, blanks below those.
fn prefix(path: &[Container], shared: usize, is_first: bool) -> String {
    let mut out = String::new();
    for (level, container) in path.iter().enumerate() {
        let begins = is_first && level >= shared;
        out.push_str(match container {
            Container::Quotation { .. } => "> ",
            Container::Item { ordered: true, .. } if begins => "1. ",
            Container::Item { ordered: true, .. } => "   ",
            Container::Item { .. } if begins => "- ",
            Container::Item { .. } => "  ",
        });
    }
    out
}
