//! Which lines of two visits correspond, which came and which went.
//!
//! Lines are paired by shape: equal ones from both ends first, then a longest common subsequence of what is left, if it
//! is not too much ([`MAX_CELLS`]), else greedily by the next place of equal shape.

use super::line_store::Lines;
use super::noise::LineMark;

/// Work of one comparison: above it, pairing is greedy.
const MAX_CELLS: usize = 1 << 18;

/// One difference between two lists of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    /// The same shape with other numbers: places in the old and in the new list.
    Numbers(usize, usize),
    Removed(usize),
    Added(usize),
}

/// The differences in order.
pub fn changes(old: &Lines, new: &Lines) -> Vec<LineChange> {
    let (a, b) = (&old.kept, &new.kept);
    let mut found = Vec::new();
    let shortest = a.len().min(b.len());
    let prefix = (0..shortest).take_while(|&i| same(a[i], b[i])).count();
    let suffix = (0..shortest - prefix).take_while(|&i| same(a[a.len() - 1 - i], b[b.len() - 1 - i])).count();
    let pair = |i: usize, j: usize, found: &mut Vec<LineChange>| {
        if a[i].words != b[j].words {
            found.push(LineChange::Numbers(i, j));
        }
    };
    (0..prefix).for_each(|i| pair(i, i, &mut found));
    let (a_end, b_end) = (a.len() - suffix, b.len() - suffix);
    let (mut i, mut j) = (prefix, prefix);
    for (x, y) in pairs(&a[prefix..a_end], &b[prefix..b_end]) {
        found.extend((i..prefix + x).map(LineChange::Removed));
        found.extend((j..prefix + y).map(LineChange::Added));
        pair(prefix + x, prefix + y, &mut found);
        (i, j) = (prefix + x + 1, prefix + y + 1);
    }
    found.extend((i..a_end).map(LineChange::Removed));
    found.extend((j..b_end).map(LineChange::Added));
    (0..suffix).for_each(|n| pair(a_end + n, b_end + n, &mut found));
    found
}

fn same(a: LineMark, b: LineMark) -> bool {
    a.shape() == b.shape()
}

/// Places of corresponding lines, ascending in both.
fn pairs(a: &[LineMark], b: &[LineMark]) -> Vec<(usize, usize)> {
    if a.len() * b.len() > MAX_CELLS {
        return greedy(a, b);
    }
    let width = b.len() + 1;
    let mut longest = vec![0u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if same(a[i], b[j]) {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while i < a.len() && j < b.len() {
        if same(a[i], b[j]) {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

fn greedy(a: &[LineMark], b: &[LineMark]) -> Vec<(usize, usize)> {
    let mut places: Vec<(u32, usize)> = b.iter().enumerate().map(|(j, m)| (m.shape(), j)).collect();
    places.sort_unstable();
    let mut from = 0;
    let mut found = Vec::new();
    for (i, mark) in a.iter().enumerate() {
        let at = places.partition_point(|&(shape, j)| (shape, j) < (mark.shape(), from));
        if let Some(&(shape, j)) = places.get(at)
            && shape == mark.shape()
            // A jump over much of the page would leave nothing to pair with.
            && j < from + 1 + b.len() / 8
        {
            found.push((i, j));
            from = j + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::LineMarker;
    use proptest::prelude::*;

    fn lines(text: &str) -> Lines {
        let mut marks = Vec::new();
        LineMarker::default().mark(text, &[], |m| marks.push(m));
        Lines::keep(&marks)
    }

    #[test]
    fn differences_are_placed() {
        let old = lines("a\nb 1\nc\nd\ne");
        let new = lines("a\nb 2\nx\nc\ne");
        assert_eq!(
            changes(&old, &new),
            [LineChange::Numbers(1, 1), LineChange::Added(2), LineChange::Removed(3)]
        );
        assert_eq!(changes(&old, &old), []);
        assert_eq!(changes(&lines(""), &lines("a")), [LineChange::Added(0)]);
    }

    proptest! {
        /// Every line is paired, removed or added, whichever way pairs are found.
        #[test]
        fn nothing_is_forgotten(a in prop::collection::vec(0u32..6, 0..40), b in prop::collection::vec(0u32..6, 0..40)) {
            let marks = |v: &[u32]| v.iter().map(|&n| LineMark::from_parts(n * 4, n, 0)).collect::<Vec<_>>();
            let (x, y) = (marks(&a), marks(&b));
            for found in [pairs(&x, &y), greedy(&x, &y)] {
                prop_assert!(found.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
                prop_assert!(found.iter().all(|&(i, j)| a[i] == b[j]));
            }
            let (old, new) = (Lines::keep(&x), Lines::keep(&y));
            let found = changes(&old, &new);
            let removed = found.iter().filter(|c| matches!(c, LineChange::Removed(_))).count();
            let added = found.iter().filter(|c| matches!(c, LineChange::Added(_))).count();
            prop_assert_eq!(a.len() - removed, b.len() - added);
            prop_assert_eq!(found.is_empty(), a == b);
        }
    }
}
