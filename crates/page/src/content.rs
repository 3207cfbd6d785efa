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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn read(html: &str, url: Option<&str>) -> Content {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        ContentReader::default().read(html, &page, url)
    }

    const ARTICLE: &str = "<html lang=en-GB><title>Night hunters - Spider News</title>\
        <meta name=author content='Ada Webb'><meta property=article:modified_time content='2020-02-03T10:00:00Z'>\
        <body><header><nav><ul><li><a href=/>Home</a><li><a href=/news>News</a></ul></nav></header>\
        <div class=post><h1>Night hunters</h1><div class=entry-content>\
        <p>Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.</p>\
        <p>They do not build webs; they run, and they see well, with eight eyes in three rows.</p>\
        <div class=share-buttons><a href=/s>Share this</a></div>\
        <p>When the young hatch, they climb onto their mother, and stay there for a week, or two.</p></div></div>\
        <div class=related><p>Other stories: the garden spider, which builds a web, and waits in it all day long.</p></div>\
        <footer><p>Copyright, all rights reserved, by the publishers of Spider News, in every country.</p></footer>";

    #[test]
    fn an_article_without_its_surroundings() {
        let content = read(ARTICLE, Some("https://spider.news/2020/01/02/night-hunters"));
        let lines: Vec<&str> = content.text.lines().collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("Wolf spiders") && lines[2].starts_with("When the young"));
        assert_eq!(content.title, "Night hunters");
        assert_eq!(content.author.as_deref(), Some("Ada Webb"));
        assert_eq!(content.published.as_deref(), Some("2020-01-02"));
        assert_eq!(content.modified.as_deref(), Some("2020-02-03T10:00:00Z"));
        assert_eq!(content.language.as_deref(), Some("en"));
    }

    #[test]
    fn the_text_tells_the_language() {
        let german = "<p>Die Spinne sitzt in ihrem Netz und wartet auf eine Fliege, die nicht weiß, was sie erwartet.</p>";
        let content = read(&german.repeat(4), None);
        assert_eq!(content.language.as_deref(), Some("de"));
        assert_eq!(read("<p>ok</p>", None).language, None);
    }

    #[test]
    fn pages_without_prose_have_no_content() {
        assert_eq!(read("", None), Content::default());
        assert_eq!(read("<nav><a href=/>x</a></nav>", None).text, "");
    }
}
