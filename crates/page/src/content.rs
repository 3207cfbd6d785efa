//! The main content of a page: the article without navigation, and what is said about it.
//!
//! [`ContentReader::read`] works on a scanned page; it keeps its buffers and never fails. A page without any running
//! text has an empty content. Linear in the page but for the climb from each paragraph to a few elders.

mod choose;
mod day;
mod facts;
mod hints;
mod json_ld;
mod markdown;
mod outline;

use super::extract::Extract;
use super::tree::Tree;
use outline::Outline;

/// What a page is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    /// The article's text, a line per block.
    pub text: String,
    /// The best of its headings and titles.
    pub title: String,
    pub author: Option<String>,
    /// Dates as ISO 8601, at least the day.
    pub published: Option<String>,
    pub modified: Option<String>,
    /// Two-letter code.
    pub language: Option<String>,
}

/// Reads contents, keeping its buffers from page to page.
#[derive(Debug, Clone, Default)]
pub struct ContentReader {
    tree: Tree,
    outline: Outline,
    chosen: Vec<usize>,
}

impl ContentReader {
    /// The content of `page`, which was scanned from `source` and fetched from `url`, if known.
    pub fn read(&mut self, source: &str, page: &Extract, url: Option<&str>) -> Content {
        self.find(source, page);
        let text = self.text(page);
        let said = facts::statement(source, page);
        let dates = facts::dates(page, &said, url);
        Content {
            title: facts::title(page, &said),
            author: facts::author(page, &said),
            published: dates.published,
            modified: dates.modified,
            language: facts::language(page, &text),
            text,
        }
    }

    /// The main content of `page` as text, nothing else.
    pub fn main_text(&mut self, source: &str, page: &Extract) -> String {
        self.find(source, page);
        self.text(page)
    }

    /// The main content of `page` as Markdown, links as the page states them.
    pub fn markdown(&mut self, source: &str, page: &Extract) -> String {
        self.find(source, page);
        markdown::write(source, page, &self.tree, |at| self.holds(at))
    }

    fn find(&mut self, source: &str, page: &Extract) {
        self.tree.build(page);
        self.outline.fill(source, page, &self.tree);
        self.chosen = choose::choose(&mut self.outline, page, &self.tree);
    }

    /// Whether a node belongs to the content.
    fn holds(&self, at: usize) -> bool {
        let after = self.chosen.partition_point(|&root| root <= at);
        let inside = after > 0 && at < self.tree.nodes[self.chosen[after - 1]].end as usize;
        inside && !self.outline.measures[at].out
    }

    fn text(&self, page: &Extract) -> String {
        let mut text = String::new();
        let mut skipped = true;
        self.tree.for_each_run(page, |holder, run| {
            if !self.holds(holder as usize) {
                skipped = true;
                return;
            }
            let words = if text.is_empty() { run.trim_start() } else { run };
            if skipped && !text.is_empty() && !words.starts_with([' ', '\n']) {
                text.push('\n');
            }
            text.push_str(words);
            skipped = false;
        });
        text
    }
}
