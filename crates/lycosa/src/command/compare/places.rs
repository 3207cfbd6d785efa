//! Where two pages differ: tags, nodes and lines by name.

use lycosa_page::{Comparison, LevelChanges, LevelTable};
use serde::Serialize;

use super::reading::Reading;

/// The first start tag that differs.
#[derive(Debug, Serialize)]
pub struct FirstTag {
    /// From 1.
    pub number: u32,
    /// Null where the page ends before.
    pub old: Option<String>,
    pub new: Option<String>,
}

impl FirstTag {
    pub fn of(number: u32, old: &Reading, new: &Reading) -> Self {
        let name = |reading: &Reading| {
            let at = (number as usize).checked_sub(1)?;
            let tag = reading.page.start_tags().nth(at)?;
            Some(reading.page.tag_name(tag).to_owned())
        };
        Self { number, old: name(old), new: name(new) }
    }
}

/// An element in level order.
#[derive(Debug, Serialize)]
pub struct Node {
    /// Its place in level order, from 1.
    pub id: u32,
    pub level: u32,
    pub tag: String,
}

/// Elements that came, went, or hold other things.
#[derive(Debug, Serialize)]
pub struct Nodes {
    pub added: Vec<Node>,
    pub removed: Vec<Node>,
    pub altered: Vec<Node>,
}

impl Nodes {
    /// Of the pages that were signed last.
    pub fn of(old: &Reading, new: &Reading) -> Self {
        let table = |reading: &Reading| reading.judger.level_table(&reading.page);
        let (old_table, new_table) = (table(old), table(new));
        let LevelChanges { added, removed, altered, .. } = old_table.changes(&new_table);
        let (old_names, new_names) = (names(old), names(new));
        Self {
            added: named(&new_table, &new_names, &added),
            removed: named(&old_table, &old_names, &removed),
            altered: named(&new_table, &new_names, &altered),
        }
    }
}

fn named(table: &LevelTable, names: &[&str], ids: &[u32]) -> Vec<Node> {
    let rows = &table.rows;
    let node = |&id: &u32| {
        let at = (id as usize).checked_sub(1)?;
        Some(Node { id, level: rows.get(at)?.level, tag: (*names.get(at)?).to_owned() })
    };
    ids.iter().filter_map(node).collect()
}

/// Names in level order: that is the order of the source, sorted by depth.
fn names(reading: &Reading) -> Vec<&str> {
    let mut nodes: Vec<_> = reading.judger.tree().nodes.iter().collect();
    nodes.sort_by_key(|node| node.depth);
    nodes.into_iter().map(|node| reading.page.tag_name(node.tag)).collect()
}

/// A line of visible text.
#[derive(Debug, Serialize)]
pub struct Line {
    /// From 1.
    pub number: u32,
    pub text: String,
}

/// The lines with these numbers.
fn lines(reading: &Reading, numbers: &[u32]) -> Vec<Line> {
    let text: Vec<&str> = reading.page.text.split('\n').collect();
    let line = |&number: &u32| {
        let at = (number as usize).checked_sub(1)?;
        Some(Line { number, text: (*text.get(at)?).to_owned() })
    };
    numbers.iter().filter_map(line).collect()
}

/// Lines that went and lines that came.
pub fn changed_lines(found: &Comparison, old: &Reading, new: &Reading) -> (Vec<Line>, Vec<Line>) {
    (lines(old, &found.old_lines), lines(new, &found.new_lines))
}
