//! The tree of a page, made from its tags after the fact, for the stages that ask for one.
//!
//! The nesting rule is simpler than a browser's and fixed: void elements are leaves; `p`, `li`, `dt`, `dd`, `option`,
//! cells, rows and row groups end where the next of their kind, or the block around them, begins; an end tag closes the
//! nearest open element of its name that is not beyond a table cell, and is ignored if there is none; what is never
//! closed lasts to the end of its parent. No element is invented. Elements nested deeper than [`MAX_DEPTH`] become
//! children of the last one allowed.

use super::extract::{Extract, TagKind};
use super::tag_names::NAMES;
use super::tags::TagId;

/// Levels of the tree; what lies deeper is flattened onto the last.
pub const MAX_DEPTH: usize = 512;
/// No parent: the node is a root.
pub const NO_PARENT: u32 = u32::MAX;
/// How far up the stack of open elements an end tag or an implied end looks.
const MAX_LOOK_UP: usize = 256;

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    pub tag: TagId,
    /// Position of the parent in [`Tree::nodes`], smaller than its own; [`NO_PARENT`] for roots.
    pub parent: u32,
    /// Roots are at depth 0.
    pub depth: u16,
    /// Elements directly inside.
    pub children: u32,
    /// The start tag's position in [`Extract::events`].
    pub event: u32,
    /// The visible text inside, descendants included.
    pub text_start: u32,
    pub text_end: u32,
    /// One past the last descendant in [`Tree::nodes`].
    pub end: u32,
}

/// Elements in the order of the source; buffers are kept from page to page.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    open: Vec<Open>,
    /// The innermost open element when the text in front of each event was met.
    holders: Vec<u32>,
}

/// An element whose end was not met yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    id: u32,
    tag: TagId,
}

impl Tree {
    /// Builds the tree of a page; what was held before is forgotten.
    pub fn build(&mut self, page: &Extract) {
        self.nodes.clear();
        self.open.clear();
        self.holders.clear();
        self.holders.reserve(page.events.len() + 1);
        // Most elements have a start and an end.
        self.nodes.reserve(page.events.len() / 2 + 1);
        let mut foreign = 0u32;
        for (at, event) in page.events.iter().enumerate() {
            self.holders.push(self.innermost());
            let tag = event.tag;
            if event.kind == TagKind::End {
                if let Some(level) = self.find_open(tag) {
                    foreign -= self.close_to(level, event.text_at);
                }
                continue;
            }
            if foreign == 0 {
                self.imply_ends(tag, event.text_at);
            }
            let id = self.nodes.len() as u32;
            let parent = self.innermost();
            if let Some(node) = self.nodes.get_mut(parent as usize) {
                node.children += 1;
            }
            self.nodes.push(Node {
                tag,
                parent,
                depth: self.open.len() as u16,
                children: 0,
                event: at as u32,
                text_start: event.text_at,
                text_end: event.text_at,
                end: id + 1,
            });
            let leaf = tag.is_void() || (event.kind == TagKind::StartSelfClosing && foreign > 0);
            if !leaf && self.open.len() + 1 < MAX_DEPTH {
                self.open.push(Open { id, tag });
                foreign += u32::from(is_foreign_root(tag));
            }
        }
        self.holders.push(self.innermost());
        self.close_to(0, page.text.len() as u32);
    }

    /// Calls `run` with each stretch of visible text (its bytes) and the node that directly holds it, in order.
    pub fn for_each_run(&self, page: &Extract, mut run: impl FnMut(u32, &str)) {
        self.for_each_span(page, |holder, from, to| run(holder, page.text.get(from..to).unwrap_or("")));
    }

    /// As [`for_each_run`](Self::for_each_run), saying where each stretch begins and ends.
    #[inline(always)]
    pub(crate) fn for_each_span(&self, page: &Extract, mut span: impl FnMut(u32, usize, usize)) {
        let mut from = 0;
        let mut give = |holder: u32, to: usize| {
            if to > from {
                span(holder, from, to);
                from = to;
            }
        };
        for (event, &holder) in page.events.iter().zip(&self.holders) {
            give(holder, event.text_at as usize);
        }
        give(self.holders.last().copied().unwrap_or(NO_PARENT), page.text.len());
    }

    fn innermost(&self) -> u32 {
        self.open.last().map_or(NO_PARENT, |open| open.id)
    }

    fn find_open(&self, tag: TagId) -> Option<usize> {
        let table = matches!(
            tag,
            TagId::TABLE | TagId::TR | TagId::TBODY | TagId::THEAD | TagId::TFOOT | TagId::BODY | TagId::HTML
        );
        for (level, open) in self.open.iter().enumerate().rev().take(MAX_LOOK_UP) {
            if open.tag == tag {
                return Some(level);
            }
            if !table && matches!(open.tag, TagId::TD | TagId::TH) {
                return None;
            }
        }
        None
    }

    /// Closes what the start of `tag` ends without saying so.
    fn imply_ends(&mut self, tag: TagId, text_at: u32) {
        let Some(implied) = IMPLIED.get(tag.0 as usize).copied().flatten() else {
            return;
        };
        let mut found = None;
        for (level, open) in self.open.iter().enumerate().rev().take(MAX_LOOK_UP) {
            if implied.closes.holds(open.tag) {
                found = Some(level);
            } else if implied.walls.holds(open.tag) {
                break;
            }
        }
        if let Some(level) = found {
            self.close_to(level, text_at);
        }
    }

    /// Closes the open elements from `level` up; returns how many of them held foreign content.
    fn close_to(&mut self, level: usize, text_at: u32) -> u32 {
        let end = self.nodes.len() as u32;
        let mut foreign = 0;
        while self.open.len() > level
            && let Some(open) = self.open.pop()
        {
            let node = &mut self.nodes[open.id as usize];
            node.text_end = text_at;
            node.end = end;
            foreign += u32::from(is_foreign_root(node.tag));
        }
        foreign
    }
}

fn is_foreign_root(tag: TagId) -> bool {
    matches!(tag, TagId::SVG | TagId::MATH)
}

/// A set of known elements.
#[derive(Clone, Copy)]
struct TagSet([u64; TagSet::WORDS]);

impl TagSet {
    const WORDS: usize = NAMES.len().div_ceil(64);

    const fn of(tags: &[TagId]) -> Self {
        let mut bits = [0; Self::WORDS];
        let mut i = 0;
        while i < tags.len() {
            bits[tags[i].0 as usize / 64] |= 1 << (tags[i].0 % 64);
            i += 1;
        }
        Self(bits)
    }

    #[inline(always)]
    fn holds(&self, tag: TagId) -> bool {
        self.0.get(tag.0 as usize / 64).is_some_and(|bits| bits >> (tag.0 % 64) & 1 != 0)
    }
}

/// The elements that a start tag ends, and those beyond which it ends nothing.
struct Implied {
    closes: TagSet,
    walls: TagSet,
}

/// What the start of each known element ends.
static IMPLIED: [Option<&Implied>; NAMES.len()] = {
    let mut table = [None; NAMES.len()];
    let mut tag = 0;
    while tag < NAMES.len() {
        table[tag] = implied(TagId(tag as u16));
        tag += 1;
    }
    table
};

const fn implied(tag: TagId) -> Option<&'static Implied> {
    const fn ends(closes: &[TagId], walls: &[TagId]) -> Implied {
        Implied { closes: TagSet::of(closes), walls: TagSet::of(walls) }
    }
    use TagId as T;
    static ITEM: Implied = ends(&[T::LI], &[T::UL, T::OL, T::MENU, T::TABLE, T::TD, T::TH]);
    static TERM: Implied = ends(&[T::DT, T::DD], &[T::DL, T::TABLE, T::TD, T::TH]);
    static OPTION: Implied = ends(&[T::OPTION], &[T::SELECT, T::OPTGROUP, T::DATALIST]);
    static OPTION_GROUP: Implied = ends(&[T::OPTION, T::OPTGROUP], &[T::SELECT]);
    static CELL: Implied = ends(&[T::TD, T::TH, T::CAPTION], &[T::TR, T::TABLE]);
    static ROW: Implied = ends(&[T::TR, T::TD, T::TH, T::CAPTION], &[T::TABLE]);
    static ROWS: Implied =
        ends(&[T::TBODY, T::THEAD, T::TFOOT, T::TR, T::TD, T::TH, T::CAPTION], &[T::TABLE]);
    static BODY: Implied = ends(&[T::HEAD], &[]);
    static BLOCK: Implied = ends(
        &[T::P],
        &[
            T::TD,
            T::TH,
            T::TABLE,
            T::CAPTION,
            T::BUTTON,
            T::OBJECT,
            T::TEMPLATE,
            T::DIV,
            T::SECTION,
            T::ARTICLE,
            T::LI,
            T::BODY,
        ],
    );
    Some(match tag {
        T::LI => &ITEM,
        T::DT | T::DD => &TERM,
        T::OPTION => &OPTION,
        T::OPTGROUP => &OPTION_GROUP,
        T::TD | T::TH => &CELL,
        T::TR => &ROW,
        T::TBODY | T::THEAD | T::TFOOT => &ROWS,
        T::BODY => &BODY,
        T::BR | T::BUTTON | T::LEGEND | T::CAPTION => return None,
        _ if tag.is_block() => &BLOCK,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn outline(html: &str) -> String {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        let shown = tree.nodes.iter().map(|n| format!("{}{}", n.depth, page.tag_name(n.tag)));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn implied_ends() {
        assert_eq!(outline("<div><p>a<p>b<div>c</div></div>"), "0div 1p 1p 1div");
        assert_eq!(outline("<ul><li>a<ul><li>b</ul><li>c</ul>"), "0ul 1li 2ul 3li 1li");
        assert_eq!(outline("<table><tr><td>a<td>b<tr><th>c</table><p>"), "0table 1tr 2td 2td 1tr 2th 0p");
        assert_eq!(outline("<dl><dt>a<dd>b<dt>c</dl>"), "0dl 1dt 1dd 1dt");
        assert_eq!(outline("<head><meta><body><br><p>"), "0head 1meta 0body 1br 1p");
    }

    #[test]
    fn stray_and_missing_end_tags() {
        assert_eq!(outline("</p><div><b>x</i></div><p>"), "0div 1b 0p");
        assert_eq!(outline("<div><table><tr><td></div>x<p></table></div><p>"), "0div 1table 2tr 3td 4p 0p");
        assert_eq!(outline("<svg><g/><path/></svg><g/><b>"), "0svg 1g 1path 0g 1b");
        assert_eq!(outline("<!-- <b> --><script>'<i>'</script><u>"), "0script 0u");
    }

    #[test]
    fn depth_is_bounded() {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&"<i>x".repeat(3 * MAX_DEPTH), &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        assert_eq!(tree.nodes.len(), 3 * MAX_DEPTH);
        assert_eq!(tree.nodes.iter().map(|n| n.depth).max(), Some(MAX_DEPTH as u16 - 1));
    }

    #[test]
    fn runs_cover_the_text() {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan("a<p>b <i>c</i> d</p>e", &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        let mut runs = Vec::new();
        tree.for_each_run(&page, |holder, run| runs.push((holder, run.to_owned())));
        let expected = [(NO_PARENT, "a"), (0, "\nb"), (1, " c"), (0, " d"), (NO_PARENT, "\ne")];
        assert_eq!(runs, expected.map(|(h, r)| (h, r.to_owned())));
    }
}
