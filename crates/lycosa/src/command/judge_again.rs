//! `lycosa refresh --judge-again`: the noise that earlier visits kept, judged by the rules of today. Nothing is asked for.

use std::io::Write;

use anyhow::Result;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_page::{Reason, reason_of_line};
use lycosa_types::{Change, KeptLine, PastVisit};
use serde::Serialize;

use crate::figures::{clip, instant, plural};
use crate::output::stdout;

/// Characters of a line that are shown.
const LINE_WIDTH: usize = 80;

/// A line that was noise and is news now.
#[derive(Debug, Serialize)]
struct Found<'a> {
    url: &'a str,
    at: String,
    line: u32,
    text: &'a str,
    rule_then: &'a str,
}

/// Prints the lines that are news by the rules of today.
pub fn run(layout: Layout, json: bool) -> Result<()> {
    let reader = CrawlReader::open(layout)?;
    let mut out = stdout();
    let (mut visits_seen, mut found_lines) = (0u64, 0u64);
    for row in reader.store.urls() {
        let (_, record) = row?;
        let visits = reader.history(&record)?;
        for visit in since_the_copy(&visits) {
            visits_seen += 1;
            for line in visit.kept_lines.iter().filter(|line| is_news_now(line)) {
                found_lines += 1;
                let (url, at) = (record.url.as_str(), instant(visit.at));
                let found = Found { url, at, line: line.line, text: &line.text, rule_then: &line.rule };
                if json {
                    writeln!(out, "{}", serde_json::to_string(&found)?)?;
                } else {
                    let text = clip(found.text, LINE_WIDTH);
                    writeln!(out, "{url}\n  {}  line {}: {text} (was: {})", found.at, line.line, line.rule)?;
                }
            }
        }
    }
    if !json {
        let visits = plural(visits_seen, "visit", "visits");
        let lines = plural(found_lines, "line is", "lines are");
        writeln!(out, "{visits} called noise judged again: {lines} news by the rules of today")?;
        if found_lines > 0 {
            writeln!(out, "lycosa refresh fetches these pages again: what still differs will be stored")?;
        }
    }
    Ok(out.flush()?)
}

/// Visits after the last stored copy that kept lines.
fn since_the_copy(visits: &[PastVisit]) -> impl Iterator<Item = &PastVisit> {
    let noise =
        visits.iter().rev().take_while(|visit| matches!(visit.change, Change::Noise | Change::Unchanged));
    noise.filter(|visit| !visit.kept_lines.is_empty())
}

/// The words of the line said then that it is noise, and do not any more.
fn is_news_now(line: &KeptLine) -> bool {
    // What was learnt of a host, and rules of the user, cannot be told from one line.
    let by_words = Reason::named(&line.rule).is_none_or(Reason::is_of_words);
    by_words && !line.text.is_empty() && reason_of_line(&line.text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_todays_rules_do_not_explain_are_news() {
        let news = |rule: &str, text: &str| is_news_now(&KeptLine::new(rule, 3, text));
        assert!(news("visit counter", "12 in stock"), "a rule called it a count of visits");
        assert!(news("numbers of the same shape", "Price: 20 EUR"), "a rule that is no more");
        assert!(!news("visit counter", "Views: 12"));
        assert!(!news("rotating text", "A tip for readers") && !news("clock", ""));
    }
}
