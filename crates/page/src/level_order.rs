//! Structure II: the tree of a page in level order, and what changed between two of them.
//!
//! Each element has an id (its place in level order, from 1), its number of children, its level (from 1) and a content
//! value: the root mean square √(Σ code² / n) of the characters it holds directly, 0 if it holds none. The page record
//! keeps size and digest of the first [`KEPT_LEVELS`] levels, the rest folded into the last: levels that changed can be
//! named without the old page; nodes are named when both tables are at hand.

use super::extract::Extract;
use super::structure::stable_tag;
use super::swar;
use super::tree::{NO_PARENT, Tree};
use serde::{Deserialize, Serialize};

/// Levels that are kept for later visits.
pub const KEPT_LEVELS: usize = 64;
/// Nodes named in one report.
pub const MAX_NAMED: usize = 32;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Children.
    pub children: u32,
    /// From 1.
    pub level: u32,
    /// Sum of the squares of the characters it holds directly, and their number.
    squares: u64,
    characters: u32,
    /// The element's name as a number, the same in every build.
    pub tag: u32,
    /// Place of the parent in the table; itself for roots.
    parent: u32,
}

impl Row {
    /// The content value.
    pub fn content(&self) -> f64 {
        if self.characters == 0 { 0.0 } else { (self.squares as f64 / f64::from(self.characters)).sqrt() }
    }

    fn holds_the_same(&self, other: &Self) -> bool {
        (self.squares, self.characters) == (other.squares, other.characters)
            || self.content().to_bits() == other.content().to_bits()
    }
}

/// The table: row `i` is the element with id `i + 1`.
#[derive(Debug, Clone, Default)]
pub struct LevelTable {
    pub rows: Vec<Row>,
    starts: Vec<u32>,
    place: Vec<u32>,
    sums: Vec<(u64, u32)>,
}

/// Size and digest of one level, for the page record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelMark {
    pub size: u32,
    /// Over names and numbers of children, in order.
    pub shape: u32,
}

/// A difference between two tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LevelChanges {
    /// Levels (from 1) whose size or shape differs.
    pub levels: Vec<u32>,
    /// Ids, in the new table, of nodes that have no counterpart in the old.
    pub added: Vec<u32>,
    /// Ids, in the old table, of nodes that have no counterpart in the new.
    pub removed: Vec<u32>,
    /// Ids, in the new table, of nodes whose number of children or content value changed.
    pub altered: Vec<u32>,
}

impl LevelTable {
    /// The table of a page.
    pub fn of(page: &Extract, tree: &Tree) -> Self {
        let mut table = Self::default();
        table.fill(page, tree);
        table
    }

    /// Fills the table from a page; what it held before is forgotten.
    pub fn fill(&mut self, page: &Extract, tree: &Tree) {
        self.measure(page, tree);
        let depth = tree.nodes.iter().map(|n| n.depth as usize + 1).max().unwrap_or(0);
        self.starts.clear();
        self.starts.resize(depth + 1, 0);
        for node in &tree.nodes {
            self.starts[node.depth as usize + 1] += 1;
        }
        for level in 0..depth {
            self.starts[level + 1] += self.starts[level];
        }
        let empty = Row { children: 0, level: 0, squares: 0, characters: 0, tag: 0, parent: 0 };
        self.rows.clear();
        self.rows.resize(tree.nodes.len(), empty);
        self.place.clear();
        // Parents stand before their children, so a stable count by depth is the level order.
        for (node, &(squares, characters)) in tree.nodes.iter().zip(&self.sums) {
            let slot = &mut self.starts[node.depth as usize];
            let at = *slot;
            *slot += 1;
            self.place.push(at);
            self.rows[at as usize] = Row {
                children: node.children,
                level: u32::from(node.depth) + 1,
                squares,
                characters,
                tag: stable_tag(page, node.tag),
                parent: if node.parent == NO_PARENT { at } else { self.place[node.parent as usize] },
            };
        }
    }

    /// A table from the numbers of children in level order, names and contents unknown. Children beyond the list are
    /// leaves that are not there.
    pub fn from_children(children: &[u32]) -> Self {
        let mut table = Self::default();
        let mut owed = std::collections::VecDeque::from([(0u32, 1u32)]);
        for (at, &children) in children.iter().enumerate() {
            let (parent, level) = owed.pop_front().unwrap_or((at as u32, 1));
            table.rows.push(Row { children, level, squares: 0, characters: 0, tag: 0, parent });
            let room = (children as usize).min(1 << 16);
            owed.extend(std::iter::repeat_n((at as u32, level + 1), room));
        }
        table
    }

    /// Sum of squares and number of the characters each node holds directly.
    fn measure(&mut self, page: &Extract, tree: &Tree) {
        self.sums.clear();
        self.sums.resize(tree.nodes.len(), (0, 0));
        let sums = &mut self.sums;
        let bytes = page.text.as_bytes();
        tree.for_each_span(page, |holder, from, to| {
            // The separator in front of a run's first word belongs to nobody.
            let from = from + usize::from(matches!(bytes.get(from), Some(b' ' | b'\n')));
            if let Some((squares, characters)) = sums.get_mut(holder as usize) {
                match ascii_squares(bytes, from, to) {
                    Some(sum) => {
                        *squares += sum;
                        *characters += (to - from) as u32;
                    }
                    None => {
                        let run = page.text.get(from..to).unwrap_or("");
                        let square = |c: char| u64::from(c as u32) * u64::from(c as u32);
                        *squares = squares.saturating_add(run.chars().map(square).sum());
                        *characters += run.chars().count() as u32;
                    }
                }
            }
        });
    }

    /// Number of nodes on each level.
    pub fn level_sizes(&self) -> Vec<u32> {
        let mut sizes = Vec::new();
        for row in &self.rows {
            sizes.resize(sizes.len().max(row.level as usize), 0);
            sizes[row.level as usize - 1] += 1;
        }
        sizes
    }

    /// What is kept of the table.
    pub fn marks(&self) -> Vec<LevelMark> {
        let mut marks = Vec::with_capacity(16);
        for row in &self.rows {
            add_mark(&mut marks, row.level as usize, row.tag, row.children);
        }
        marks
    }

    /// What differs in `new`: levels by size and shape, nodes by walking both trees from the roots down.
    pub fn changes(&self, new: &LevelTable) -> LevelChanges {
        let mut changes =
            LevelChanges { levels: changed_levels(&self.marks(), &new.marks()), ..Default::default() };
        let (old_kids, new_kids) = (self.first_children(), new.first_children());
        let mut pairs = Vec::new();
        pair_up(self, 0..roots(&self.rows), new, 0..roots(&new.rows), &mut pairs, &mut changes);
        while let Some((a, b)) = pairs.pop() {
            let (old, other) = (&self.rows[a], &new.rows[b]);
            if (old.children != other.children || !old.holds_the_same(other))
                && changes.altered.len() < MAX_NAMED
            {
                changes.altered.push(b as u32 + 1);
            }
            pair_up(
                self,
                old_kids[a]..old_kids[a] + old.children as usize,
                new,
                new_kids[b]..new_kids[b] + other.children as usize,
                &mut pairs,
                &mut changes,
            );
        }
        for list in [&mut changes.added, &mut changes.removed, &mut changes.altered] {
            list.sort_unstable();
        }
        changes
    }

    /// Where each node's children begin: they are neighbours in level order.
    fn first_children(&self) -> Vec<usize> {
        let mut next = roots(&self.rows);
        self.rows
            .iter()
            .map(|row| {
                let first = next;
                next = (next + row.children as usize).min(self.rows.len());
                first
            })
            .collect()
    }
}

fn roots(rows: &[Row]) -> usize {
    rows.iter().take_while(|r| r.level == 1).count()
}

/// Pairs the children of two paired nodes: equal ones from both ends, then by name in order.
fn pair_up(
    old: &LevelTable,
    a: std::ops::Range<usize>,
    new: &LevelTable,
    b: std::ops::Range<usize>,
    pairs: &mut Vec<(usize, usize)>,
    changes: &mut LevelChanges,
) {
    let (a_end, b_end) = (a.end.min(old.rows.len()), b.end.min(new.rows.len()));
    let (mut i, mut j) = (a.start, b.start);
    let (mut ie, mut je) = (a_end, b_end);
    let same = |x: usize, y: usize| {
        let (x, y) = (&old.rows[x], &new.rows[y]);
        x.tag == y.tag && x.children == y.children && x.holds_the_same(y)
    };
    while i < ie && j < je && same(i, j) {
        pairs.push((i, j));
        (i, j) = (i + 1, j + 1);
    }
    while i < ie && j < je && same(ie - 1, je - 1) {
        (ie, je) = (ie - 1, je - 1);
        pairs.push((ie, je));
    }
    while i < ie && j < je {
        if old.rows[i].tag == new.rows[j].tag {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if ie - i > je - j {
            name(&mut changes.removed, i);
            i += 1;
        } else {
            name(&mut changes.added, j);
            j += 1;
        }
    }
    (i..ie).for_each(|at| name(&mut changes.removed, at));
    (j..je).for_each(|at| name(&mut changes.added, at));
}

/// Sum of the squares of the bytes from `from` to `to`, if all of them are ASCII.
#[inline(always)]
fn ascii_squares(bytes: &[u8], from: usize, to: usize) -> Option<u64> {
    let (mut sum, mut all) = (0u64, 0u64);
    let mut at = from;
    while to.saturating_sub(at) >= 8 {
        let word = swar::load(bytes, at).unwrap_or(0);
        all |= word;
        sum += swar::squares(word);
        at += 8;
    }
    let left = to.saturating_sub(at);
    let last = swar::load(bytes, at).unwrap_or_else(|| swar::tail(bytes, at)) & ((1 << (left * 8)) - 1);
    all |= last;
    (all & swar::HIGH == 0).then_some(sum + swar::squares(last))
}

fn name(list: &mut Vec<u32>, at: usize) {
    if list.len() < MAX_NAMED {
        list.push(at as u32 + 1);
    }
}

/// What is kept of the table of a page. The elements of each level stand in the same order in the source as in the table,
/// so the table itself is not needed.
pub(crate) fn marks(page: &Extract, tree: &Tree) -> Vec<LevelMark> {
    let mut marks = Vec::with_capacity(16);
    for node in &tree.nodes {
        add_mark(&mut marks, node.depth as usize + 1, stable_tag(page, node.tag), node.children);
    }
    marks
}

#[inline(always)]
fn add_mark(marks: &mut Vec<LevelMark>, level: usize, tag: u32, children: u32) {
    let level = level.clamp(1, KEPT_LEVELS);
    if marks.len() < level {
        marks.resize(level, LevelMark::default());
    }
    let mark = &mut marks[level - 1];
    mark.size += 1;
    let word = tag ^ children.wrapping_mul(0x9e37_79b1);
    mark.shape = (mark.shape.rotate_left(5) ^ word).wrapping_mul(0x85eb_ca6b);
}

/// Levels (from 1) whose marks differ; a level that only one of them has differs.
pub fn changed_levels(old: &[LevelMark], new: &[LevelMark]) -> Vec<u32> {
    let none = LevelMark::default();
    (0..old.len().max(new.len()))
        .filter(|&i| old.get(i).unwrap_or(&none) != new.get(i).unwrap_or(&none))
        .map(|i| i as u32 + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn table(html: &str) -> LevelTable {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        LevelTable::of(&page, &tree)
    }

    #[test]
    fn the_papers_example() {
        let old = LevelTable::from_children(&[1, 2, 1, 1, 0, 1, 2, 0, 1, 4, 0, 1, 0, 0, 0]);
        assert_eq!(old.level_sizes(), [1, 1, 2, 2, 1, 2, 1, 4, 1]);
        let new = LevelTable::from_children(&[1, 2, 1, 1, 0, 1, 2, 1, 1, 1, 4, 1, 0, 1, 0, 1, 0, 0, 0]);
        assert_eq!(new.level_sizes(), [1, 1, 2, 2, 1, 2, 2, 5, 3]);
        let sizes = |t: &LevelTable| -> Vec<LevelMark> {
            t.level_sizes().into_iter().map(|size| LevelMark { size, shape: 0 }).collect()
        };
        assert_eq!(changed_levels(&sizes(&old), &sizes(&new)), [7, 8, 9]);
    }

    #[test]
    fn rows_say_what_they_should() {
        let table = table("<div><p>aa</p><ul><li>b<li></ul></div>");
        let shown: Vec<_> = table.rows.iter().map(|r| (r.children, r.level, r.content())).collect();
        assert_eq!(shown, [(2, 1, 0.0), (0, 2, 97.0), (2, 2, 0.0), (0, 3, 98.0), (0, 3, 0.0)]);
    }

    #[test]
    fn marks_need_no_table() {
        let html = "<div><p>a<p>b<ul><li>x<li><b>y</b></ul></div><x-a><p>z".repeat(7);
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        assert_eq!(marks(&page, &tree), table(&html).marks());
    }

    #[test]
    fn contents_of_any_length_and_script() {
        for length in 0..40 {
            for end in ["", "é", "€uro"] {
                let run: String = (0..length).map(|i| (b'a' + i % 26) as char).collect::<String>() + end;
                let table = table(&format!("<p>{run}</p><b>z</b>"));
                let sum: f64 = run.chars().map(|c| f64::from(c as u32).powi(2)).sum();
                let expected = if run.is_empty() { 0.0 } else { (sum / run.chars().count() as f64).sqrt() };
                assert_eq!(table.rows[0].content(), expected, "{run}");
            }
        }
    }

    #[test]
    fn added_removed_and_altered_nodes_are_named() {
        let old = table("<div><p>a</p><p>b</p><h2>t</h2></div>");
        let new = table("<div><p>a</p><p>b</p><ul><li>x</ul><h2>t</h2></div>");
        let changes = old.changes(&new);
        assert_eq!(changes.levels, [1, 2, 3]);
        assert_eq!(
            (&changes.added[..], &changes.removed[..], &changes.altered[..]),
            (&[4][..], &[][..], &[1][..])
        );
        assert_eq!(new.changes(&old).removed, [4]);
        let edited = table("<div><p>a</p><p>c</p><h2>t</h2></div>");
        let changes = old.changes(&edited);
        assert_eq!((changes.levels.len(), &changes.altered[..]), (0, &[3][..]));
        assert_eq!(old.changes(&old), LevelChanges::default());
    }
}
