//! The part of a text that shows why a page was found.
//!
//! Promise: [`Snippet::html`] is safe to put into a page: everything but its own `<mark>` is escaped.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::compile::MAX_PREFIX_TERMS;
use crate::language::Language;
use crate::query::Node;
use crate::tokenizer::{Memory, query_terms};

/// The part of a text that is looked through.
const SCANNED_BYTES: usize = 128 << 10;
/// About how long a snippet is.
pub const SNIPPET_BYTES: usize = 240;
/// Matches that are noted in one text.
const MAX_MATCHES: usize = 4096;

/// The terms that a query is looking for: those not under a NOT.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    terms: HashSet<String>,
    beginnings: Vec<String>,
}

impl Wanted {
    pub fn of(node: &Node, languages: &[Language]) -> Self {
        let mut wanted = Self::default();
        wanted.add(node, languages);
        wanted
    }

    fn add(&mut self, node: &Node, languages: &[Language]) {
        match node {
            Node::Word(text) | Node::Phrase(text) | Node::Prefix(text) => {
                for &language in languages {
                    let terms = query_terms(language, text);
                    let last = terms.len().saturating_sub(1);
                    for (place, term) in terms.into_iter().enumerate() {
                        let is_prefix = matches!(node, Node::Prefix(_)) && place == last;
                        if (is_prefix || term.is_beginning) && self.beginnings.len() < MAX_PREFIX_TERMS {
                            self.beginnings.push(term.text);
                        } else {
                            self.terms.insert(term.text);
                        }
                    }
                }
            }
            Node::Filter(_) | Node::Not(_) => {}
            Node::Field(_, inner) => self.add(inner, languages),
            Node::Near { left, right, .. } => {
                self.add(left, languages);
                self.add(right, languages);
            }
            Node::And(parts) | Node::Or(parts) | Node::Xor(parts) | Node::List(parts) => {
                parts.iter().for_each(|part| self.add(part, languages));
            }
        }
    }

    /// A number for a term that is wanted.
    fn number(&self, term: &str) -> Option<u32> {
        let is_wanted =
            self.terms.contains(term) || self.beginnings.iter().any(|start| term.starts_with(start.as_str()));
        is_wanted.then(|| number_of(term))
    }
}

/// Cuts snippets out of the texts of several pages.
#[derive(Debug)]
pub struct Snipper<'w> {
    wanted: &'w Wanted,
    /// The letters that wanted terms begin with.
    begins: [bool; 128],
    memory: Memory<Option<u32>>,
}

impl<'w> Snipper<'w> {
    pub fn new(wanted: &'w Wanted) -> Self {
        let mut begins = [false; 128];
        for term in wanted.terms.iter().chain(&wanted.beginnings) {
            let first = term.as_bytes().first().map_or(0, |first| usize::from(*first));
            if let Some(begins) = begins.get_mut(first) {
                *begins = true;
            }
        }
        Self { wanted, begins, memory: Memory::default() }
    }

    /// The part of a text with the most different terms, and in it the most matches.
    pub fn snip(&mut self, text: &str, language: Language) -> Snippet {
        let scanned = crate::indexer::clip(text, SCANNED_BYTES);
        let mut matches: Vec<(u32, Range<usize>)> = Vec::new();
        self.memory.each(
            language,
            scanned,
            |first| self.begins.get(usize::from(first)).is_none_or(|begins| *begins),
            |term| self.wanted.number(term),
            |number, range| {
                if let Some(number) = number
                    && matches.len() < MAX_MATCHES
                {
                    matches.push((number, range));
                }
            },
        );
        Snippet::around(text, &matches)
    }
}

/// Terms of one query are told apart by a number each.
fn number_of(term: &str) -> u32 {
    term.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A piece of text and what is to be marked in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub text: String,
    /// Byte ranges in the text, in order and apart.
    pub marks: Vec<Range<usize>>,
    /// Whether there is text before it, and behind it.
    pub is_cut: (bool, bool),
}

impl Snippet {
    /// The part of one text that shows best what is wanted.
    pub fn of(text: &str, language: Language, wanted: &Wanted) -> Self {
        Snipper::new(wanted).snip(text, language)
    }

    fn around(text: &str, matches: &[(u32, Range<usize>)]) -> Self {
        let mut best = (0, 0, 0);
        let mut different: Vec<u32> = Vec::new();
        for (first, (_, range)) in matches.iter().enumerate() {
            different.clear();
            let mut inside = 0;
            for (number, _) in
                matches[first..].iter().take_while(|(_, r)| r.end <= range.start + SNIPPET_BYTES / 2)
            {
                inside += 1;
                if !different.contains(number) {
                    different.push(*number);
                }
            }
            let value = (different.len(), inside.min(8));
            if value > (best.0, best.1) {
                best = (value.0, value.1, first);
            }
        }
        let around = matches.get(best.2).map_or(0, |(_, range)| range.start);
        let start = word_start(text, around.saturating_sub(SNIPPET_BYTES / 4));
        let end = word_end(text, start.saturating_add(SNIPPET_BYTES));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for (_, range) in matches.iter().filter(|(_, range)| range.start >= start && range.end <= end) {
            let range = range.start - start..range.end - start;
            match marks.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        Self {
            text: text.get(start..end).unwrap_or_default().to_owned(),
            marks,
            is_cut: (start > 0, end < text.len()),
        }
    }

    /// The text with each mark between `open` and `close`, every piece passed through `piece`.
    fn written(&self, open: &str, close: &str, piece: impl Fn(&str, &mut String)) -> String {
        let mut out = String::with_capacity(self.text.len() + 32);
        if self.is_cut.0 {
            out.push_str("… ");
        }
        let mut at = 0;
        for mark in &self.marks {
            piece(self.text.get(at..mark.start).unwrap_or_default(), &mut out);
            out.push_str(open);
            piece(self.text.get(mark.clone()).unwrap_or_default(), &mut out);
            out.push_str(close);
            at = mark.end;
        }
        piece(self.text.get(at..).unwrap_or_default(), &mut out);
        if self.is_cut.1 {
            out.push_str(" …");
        }
        out
    }

    pub fn html(&self) -> String {
        self.written("<mark>", "</mark>", escape)
    }

    /// For a terminal: marks between `open` and `close`, control characters and line ends as blanks.
    pub fn line(&self, open: &str, close: &str) -> String {
        self.written(open, close, |text, out| {
            out.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        })
    }
}

/// Appends a text so that it means itself in HTML, within elements and within quoted attributes.
pub fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
}

/// The nearest beginning of a word, a few letters back at most.
fn word_start(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = text.get(..at).unwrap_or_default();
    let back = before.chars().rev().take_while(|c| !c.is_whitespace()).take(24);
    let back: usize = back.map(char::len_utf8).sum();
    at - back
}

/// The nearest end of a word, a few letters on at most.
fn word_end(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let on = text.get(at..).unwrap_or_default().chars().take_while(|c| !c.is_whitespace()).take(24);
    let on: usize = on.map(char::len_utf8).sum();
    at + on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parse;

    fn of(text: &str, query: &str) -> Snippet {
        let english = Language::of_tag("en");
        Snippet::of(text, english, &Wanted::of(&parse(query).unwrap(), &[Language::NONE, english]))
    }

    #[test]
    fn the_matching_part_is_shown_and_marked() {
        let text = format!(
            "{}The spiders crawled <b>fast</b> & far.{}",
            "lorem ipsum ".repeat(50),
            " dolor".repeat(80)
        );
        let snippet = of(&text, "spider crawling NOT far");
        let html = snippet.html();
        assert!(
            html.contains("The <mark>spiders</mark> <mark>crawled</mark> &lt;b&gt;fast&lt;/b&gt; &amp; far."),
            "{html}"
        );
        assert!(html.starts_with("… ") && html.ends_with(" …"));
        assert!(snippet.text.len() < 2 * SNIPPET_BYTES);
    }

    #[test]
    fn dense_scripts_are_marked_as_one() {
        assert_eq!(of("これは日本語です", "日本語").line("[", "]"), "これは[日本語]です");
    }

    proptest::proptest! {
        #[test]
        fn nothing_of_a_page_reaches_the_html(text in "[<>&\"' a-c日é]{0,400}", query in "[a-c]{1,2}") {
            let html = of(&text, &query).html().replace("<mark>", "").replace("</mark>", "");
            proptest::prop_assert!(!html.contains(['<', '>', '"', '\'']));
        }
    }
}
