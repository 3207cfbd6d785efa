//! Measures of every element that the choice of the main content rests on.

use super::hints::{self, Hints};
use crate::extract::Extract;
use crate::tags::TagId;
use crate::tree::{NO_PARENT, Tree};

/// Text with fewer bytes than this is no paragraph.
const MIN_PARAGRAPH: u32 = 25;

/// One element, measured. Lengths are bytes of visible text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measure {
    pub hints: Hints,
    /// Left out, with all inside.
    pub out: bool,
    /// Text inside, what is left out excluded.
    pub text: u32,
    /// Of it, text of links.
    pub links: u32,
    /// Text that this block holds without an inner block.
    pub own: u32,
    pub own_commas: u16,
    pub own_links: u32,
    /// Inner blocks, line breaks not counted.
    pub blocks: u16,
    /// Text inside that stands in paragraphs.
    pub prose: u32,
    /// Readability so far.
    pub score: f32,
}

impl Measure {
    pub fn link_density(&self) -> f32 {
        if self.text == 0 { 0.0 } else { self.links as f32 / self.text as f32 }
    }
}

/// All elements of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Outline {
    pub measures: Vec<Measure>,
    /// The innermost block around each node, itself included.
    blocks: Vec<u32>,
    /// Whether a node is inside a link.
    linked: Vec<bool>,
}

impl Outline {
    pub fn fill(&mut self, source: &str, page: &Extract, tree: &Tree) {
        self.measures.clear();
        self.measures.resize(tree.nodes.len(), Measure::default());
        self.blocks.clear();
        self.linked.clear();
        for (at, node) in tree.nodes.iter().enumerate() {
            let parent = node.parent as usize;
            let is_block =
                node.tag != TagId::BR && (node.tag.is_block() || matches!(node.tag, TagId::TD | TagId::TH));
            self.blocks.push(if is_block {
                at as u32
            } else {
                self.blocks.get(parent).copied().unwrap_or(NO_PARENT)
            });
            self.linked.push(node.tag == TagId::A || self.linked.get(parent).copied().unwrap_or(false));
            if is_block
                && let Some(&outer) = self.blocks.get(parent)
                && let Some(m) = self.measures.get_mut(outer as usize)
            {
                m.blocks = m.blocks.saturating_add(1);
            }
            self.measures[at].hints = read_hints(source, page, node.event, node.tag);
        }
    }

    /// Leaves out what `leave` says and measures the rest.
    pub fn measure(&mut self, page: &Extract, tree: &Tree) {
        for m in &mut self.measures {
            *m = Measure { hints: m.hints, out: m.out, blocks: m.blocks, ..Measure::default() };
        }
        let mut at = 0;
        while at < tree.nodes.len() {
            if self.measures[at].out {
                let end = tree.nodes[at].end as usize;
                self.measures[at..end].iter_mut().for_each(|m| m.out = true);
                at = end;
            } else {
                at += 1;
            }
        }
        let (measures, blocks, linked) = (&mut self.measures, &self.blocks, &self.linked);
        tree.for_each_run(page, |holder, run| {
            let Some(m) = measures.get_mut(holder as usize).filter(|m| !m.out) else { return };
            let in_link = linked[holder as usize];
            let length = run.trim().len() as u32;
            m.text += length;
            m.links += if in_link { length } else { 0 };
            if let Some(block) = measures.get_mut(blocks[holder as usize] as usize) {
                block.own += length;
                block.own_links += if in_link { length } else { 0 };
                block.own_commas = block.own_commas.saturating_add(commas(run));
            }
        });
        for at in (0..tree.nodes.len()).rev() {
            let m = measures[at];
            let prose = if is_paragraph(&m) { m.own - m.own_links } else { 0 };
            measures[at].prose += prose;
            if let Some(parent) = measures.get_mut(tree.nodes[at].parent as usize) {
                parent.text += m.text;
                parent.links += m.links;
                parent.prose += m.prose + prose;
            }
        }
    }
}

/// Whether a block holds running text of its own.
pub(super) fn is_paragraph(m: &Measure) -> bool {
    !m.out && m.own >= MIN_PARAGRAPH && m.own_links * 2 <= m.own
}

/// Commas and their kin in other scripts.
fn commas(run: &str) -> u16 {
    if run.is_ascii() {
        return memchr::memchr_iter(b',', run.as_bytes()).count().min(1000) as u16;
    }
    run.chars().filter(|c| matches!(c, ',' | '،' | '、' | '，' | '。' | '﹐')).count().min(1000) as u16
}

fn read_hints(source: &str, page: &Extract, event: u32, tag: TagId) -> Hints {
    let mut hints = Hints::default();
    if matches!(
        tag,
        TagId::HTML | TagId::BODY | TagId::BR | TagId::SCRIPT | TagId::META | TagId::LINK | TagId::IMG
    ) {
        return hints;
    }
    let Some(event) = page.events.get(event as usize) else { return hints };
    event.for_each_attribute(source, |name, value| match name {
        b"class" | b"id" | b"role" | b"itemprop" | b"data-component" | b"data-testid" => {
            hints::read(value, &mut hints)
        }
        b"hidden" => hints.add(Hints::HIDDEN),
        b"aria-hidden" if value == "true" => hints.add(Hints::HIDDEN),
        b"style" if value.replace(' ', "").contains("display:none") => hints.add(Hints::HIDDEN),
        _ => {}
    });
    hints
}
