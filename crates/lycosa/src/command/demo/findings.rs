//! What a crawl found: the most linked pages and a few URLs whose story is worth telling.

use std::collections::HashMap;

use anyhow::Result;
use lycosa_engine::{CrawlReader, Layout, Why, why};
use lycosa_graph::most_linked;
use lycosa_types::{Outcome, UrlRecord};
use serde::Serialize;

use crate::command::why::Answer;
use crate::figures::{clip, count};
use crate::foreign::quoted;
use crate::invocation::{program, word};
use crate::table::{Table, figures};

const MOST_LINKED: usize = 5;

#[derive(Debug)]
pub struct Findings {
    pub most_linked: Vec<Linked>,
    /// One URL of each kind of end that was met.
    pub answers: Vec<Told>,
}

#[derive(Debug, Serialize)]
pub struct Linked {
    pub url: String,
    pub title: String,
    /// Pages that link to it.
    pub linked_from: u64,
}

/// A URL whose story is told.
#[derive(Debug)]
pub struct Told {
    /// `forbidden`, `duplicate`, `redirect` or `failure`.
    pub kind: &'static str,
    pub why: Why,
}

/// The findings as JSON.
#[derive(Debug, Serialize)]
pub struct FindingsLine<'a> {
    most_linked: &'a [Linked],
    answers: Vec<AnswerLine<'a>>,
}

#[derive(Debug, Serialize)]
struct AnswerLine<'a> {
    kind: &'static str,
    #[serde(flatten)]
    answer: Answer<'a>,
}

impl Findings {
    pub fn as_json(&self, reader: &CrawlReader) -> Result<FindingsLine<'_>> {
        let told = self.answers.iter();
        let answers: Result<Vec<AnswerLine<'_>>> = told
            .map(|told| Ok(AnswerLine { kind: told.kind, answer: Answer::new(reader, &told.why)? }))
            .collect();
        Ok(FindingsLine { most_linked: &self.most_linked, answers: answers? })
    }
}

/// Kinds of ends, in the order they are shown.
const KINDS: [&str; 4] = ["forbidden", "duplicate", "redirect", "failure"];

fn kind_of(record: &UrlRecord) -> Option<&'static str> {
    match record.outcome.as_ref()? {
        Outcome::Excluded(lycosa_types::Exclusion::Robots { line, .. }) if *line > 0 => Some("forbidden"),
        Outcome::Fetched { .. } => {
            let facts = record.visit.as_ref()?;
            // Pages that say nothing but "not found" are all alike; a whole page tells more.
            (facts.duplicate_of.is_some() && facts.links > 10).then_some("duplicate")
        }
        Outcome::Redirected { .. } => Some("redirect"),
        Outcome::Failed(_) => Some("failure"),
        _ => None,
    }
}

/// Walks the known URLs once.
pub fn look(reader: &CrawlReader) -> Result<Findings> {
    let ranked = most_linked(&reader.layout.edges(), MOST_LINKED)?;
    let mut linked: HashMap<u64, UrlRecord> = HashMap::new();
    let mut examples: HashMap<&'static str, String> = HashMap::new();
    for item in reader.store.urls() {
        let (id, record) = item?;
        if let Some(kind) = kind_of(&record) {
            examples.entry(kind).or_insert_with(|| record.url.clone());
        }
        if ranked.iter().any(|(low, _)| *low == id.key.low()) {
            linked.insert(id.key.low(), record);
        }
    }
    let most_linked = ranked
        .into_iter()
        .filter_map(|(low, linked_from)| {
            let record = linked.remove(&low)?;
            let title = record.visit.map(|facts| facts.title).unwrap_or_default();
            Some(Linked { url: record.url, title, linked_from })
        })
        .collect();
    let mut answers = Vec::new();
    for kind in KINDS {
        if let Some(url) = examples.get(kind) {
            answers.push(Told { kind, why: why(&reader.store, &reader.config, url)? });
        }
    }
    Ok(Findings { most_linked, answers })
}

/// The findings for people, and the commands that tell more.
pub fn text(findings: &Findings, layout: &Layout) -> String {
    let mut out = String::from("most linked pages\n");
    let rows: Vec<(String, String)> = findings
        .most_linked
        .iter()
        .map(|page| (count(page.linked_from), format!("{}  {}", page.url, quoted(&clip(&page.title, 40)))))
        .collect();
    out.push_str(&figures(rows.iter().map(|(figure, name)| (figure.clone(), name.as_str())), 2));
    out.push_str("\nwhy, for one URL of each kind\n");
    for answer in &findings.answers {
        out.push_str(&format!("  {}\n    {}\n", answer.why.url, answer.why.because));
        if let Some(parent) = &answer.why.found_on {
            out.push_str(&format!("    found on {parent}\n"));
        }
    }
    out.push_str(&format!("\ntry next\n{}", next(findings, layout).text(2)));
    out
}

fn next(findings: &Findings, layout: &Layout) -> Table {
    let (lycosa, dir) = (program(), word(&layout.root.to_string_lossy()));
    let page = findings.most_linked.first().map_or("URL", |page| page.url.as_str());
    let odd = word(findings.answers.first().map_or(page, |answer| answer.why.url.as_str()));
    let page = word(page);
    let mut table = Table::new();
    for (command, meaning) in [
        (format!("{lycosa} why {odd} -d {dir}"), "the whole story of a URL"),
        (format!("{lycosa} cat {page} -d {dir}"), "a page as it was archived"),
        (format!("{lycosa} cat {page} -d {dir} | {lycosa} inspect - --base {page}"), "what is read from it"),
        (format!("{lycosa} index -d {dir}"), "make it searchable, then"),
        (format!("{lycosa} search 'river lantern' -d {dir}"), "search it (docs/query.md says how)"),
        (format!("{lycosa} export -d {dir} --format jsonl | head -1"), "titles, texts and links as data"),
        (format!("{lycosa} export -d {dir} --format wacz"), "one file for replay tools"),
        (format!("{lycosa} report {dir} --json"), "the figures as data"),
    ] {
        // Whole, however long: it is meant to be copied.
        table.row(command, meaning);
    }
    table
}
