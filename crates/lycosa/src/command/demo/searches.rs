//! A few questions to the index of a demo: words, a phrase, nearness, a slip of the pen.

use std::time::Instant;

use anyhow::Result;
use lycosa_engine::Layout;
use lycosa_search::{Request, SearchIndex, index_dir};
use serde::Serialize;

use crate::figures::{clip, plural};
use crate::table::Table;

const LINE_WIDTH: usize = 70;

/// A question and the beginning of its answer.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub query: String,
    pub pages: u64,
    pub first: Option<String>,
    pub title: String,
    pub did_you_mean: Option<String>,
    pub elapsed_us: u64,
}

/// Asks for what the titles speak of.
pub fn ask<'t>(layout: &Layout, titles: impl Iterator<Item = &'t str>) -> Result<Vec<Shown>> {
    let index = SearchIndex::open(&index_dir(&layout.root))?;
    let mut shown = Vec::new();
    for query in queries(titles) {
        let began = Instant::now();
        let answer = index.search(&Request::new(query), || began.elapsed())?;
        let first = answer.results.into_iter().next();
        shown.push(Shown {
            query: answer.query,
            pages: answer.total,
            title: first.as_ref().map(|found| found.title.clone()).unwrap_or_default(),
            first: first.map(|found| found.url),
            did_you_mean: answer.did_you_mean,
            elapsed_us: answer.elapsed_us,
        });
    }
    Ok(shown)
}

/// One query of each kind, made from words of titles.
fn queries<'t>(titles: impl Iterator<Item = &'t str>) -> Vec<String> {
    let words: Vec<String> = titles
        .flat_map(|title| title.split(|c: char| !c.is_alphabetic()))
        .filter(|word| word.is_ascii() && (5..20).contains(&word.len()))
        .map(str::to_lowercase)
        .collect();
    let [first, second, ..] = words.as_slice() else { return Vec::new() };
    let slip: String =
        first.chars().enumerate().filter(|(at, _)| *at != 2).map(|(_, letter)| letter).collect();
    vec![
        format!("{first} {second}"),
        format!("\"{first} {second}\""),
        format!("{first} NEAR/5 {second} AND NOT title:{second}"),
        slip,
    ]
}

pub fn text(shown: &[Shown]) -> String {
    let mut table = Table::new();
    for one in shown {
        let milliseconds = one.elapsed_us as f64 / 1000.0;
        let mut line = format!("{} in {milliseconds:.1} ms", plural(one.pages, "page", "pages"));
        if let Some(better) = &one.did_you_mean {
            line.push_str(&format!("; did you mean: {better}"));
        }
        if let Some(url) = &one.first {
            line.push_str(&format!("; first {url} {}", one.title));
        }
        table.row(one.query.as_str(), clip(&line, LINE_WIDTH * 2));
    }
    format!("searches\n{}", table.text(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_made_of_titles() {
        let queries = queries(["The harbour & mountains", "x"].into_iter());
        assert_eq!(queries[0], "harbour mountains");
        assert_eq!(queries[3], "habour");
        assert!(super::queries(["日本 a"].into_iter()).is_empty());
    }
}
