//! What a measurement found, as a table for readers and as JSON, and the survivors that were accepted before.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::trial::Verdict;

/// bench/mutants-accepted.toml: survivors that stay, each with the reason.
#[derive(Debug, Default, Deserialize)]
pub struct Accepted {
    #[serde(default)]
    mutant: Vec<AcceptedMutant>,
}

#[derive(Debug, Deserialize)]
struct AcceptedMutant {
    file: String,
    what: String,
    reason: String,
}

impl Accepted {
    pub fn read(text: &str) -> Result<Self> {
        toml::from_str(text).context("reading bench/mutants-accepted.toml")
    }

    /// Lines move, so a mutant is known by its file and by what it does.
    fn reason(&self, row: &Row) -> Option<&str> {
        let is_it = |one: &&AcceptedMutant| one.file == row.file && one.what == row.what;
        self.mutant.iter().find(is_it).map(|one| one.reason.as_str())
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub package: String,
    pub file: String,
    pub line: usize,
    pub kind: &'static str,
    pub what: String,
    pub verdict: &'static str,
    /// The test that failed.
    pub by: String,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub date: String,
    pub commit: String,
    pub seed: u64,
    pub sample: usize,
    pub packages: Vec<String>,
    /// Unit tests alone, or the integration tests, too.
    pub tests: &'static str,
    pub tests_run: usize,
    /// Tests that fail without a mutant, and were left out.
    pub left_out: Vec<String>,
    pub unviable: BTreeMap<String, usize>,
    pub rows: Vec<Row>,
}

impl Report {
    pub fn text(&self, accepted: &Accepted) -> Result<String> {
        let mut text = String::from("# Mutants\n\n");
        writeln!(
            text,
            "Commit {}, {}, seed {}, {} mutants drawn, {} tests ({}).\n",
            self.commit, self.date, self.seed, self.sample, self.tests_run, self.tests
        )?;
        text.push_str("| crate | drawn | caught | timed out | survived | unreached | unviable | rate |\n");
        text.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.package.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.package == name).collect();
            line(&mut text, name, &rows, self.unviable.get(name).copied().unwrap_or(0))?;
        }
        line(&mut text, "all", &self.rows.iter().collect::<Vec<_>>(), self.unviable.values().sum())?;
        if !self.left_out.is_empty() {
            text.push_str("\nLeft out, because they fail without a mutant:\n\n");
            self.left_out.iter().try_for_each(|name| writeln!(text, "- {name}"))?;
        }
        text.push_str(
            "\n## Survivors\n\n| place | what | verdict | why it stays |\n| --- | --- | --- | --- |\n",
        );
        for row in self.rows.iter().filter(|row| !is_caught(row)) {
            let reason = accepted.reason(row).unwrap_or("–");
            let what = row.what.replace('|', "\\|");
            writeln!(text, "| {}:{} | {what} | {} | {reason} |", row.file, row.line, row.verdict)?;
        }
        Ok(text)
    }
}

fn is_caught(row: &Row) -> bool {
    [Verdict::Caught, Verdict::TimedOut].iter().any(|verdict| verdict.word() == row.verdict)
}

fn line(text: &mut String, name: &str, rows: &[&Row], unviable: usize) -> Result<()> {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict.word()).count();
    let caught = rows.iter().filter(|row| is_caught(row)).count();
    writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {} | {unviable} | {:.1} % |",
        rows.len(),
        count(Verdict::Caught),
        count(Verdict::TimedOut),
        count(Verdict::Survived),
        count(Verdict::Unreached),
        caught as f64 * 100.0 / rows.len().max(1) as f64
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(file: &str, verdict: Verdict) -> Row {
        let (package, what, by) = ("types".to_owned(), "a | b".to_owned(), String::new());
        Row { package, file: file.to_owned(), line: 3, kind: "body", what, verdict: verdict.word(), by }
    }

    #[test]
    fn the_table_counts_and_survivors_have_their_reasons() {
        let rows = vec![
            row("a.rs", Verdict::Caught),
            row("a.rs", Verdict::TimedOut),
            row("b.rs", Verdict::Survived),
            row("c.rs", Verdict::Unreached),
        ];
        let report = Report {
            date: "D".to_owned(),
            commit: "C".to_owned(),
            seed: 1,
            sample: 4,
            packages: Vec::new(),
            tests: "all",
            tests_run: 9,
            left_out: vec!["flaky".to_owned()],
            unviable: BTreeMap::from([("types".to_owned(), 2)]),
            rows,
        };
        let accepted =
            Accepted::read("[[mutant]]\nfile = \"b.rs\"\nwhat = \"a | b\"\nreason = \"log\"\n").unwrap();
        let text = report.text(&accepted).unwrap();
        assert!(text.contains("| types | 4 | 1 | 1 | 1 | 1 | 2 | 50.0 % |"), "{text}");
        assert!(text.contains("| b.rs:3 | a \\| b | survived | log |"), "{text}");
        assert!(text.contains("| c.rs:3 | a \\| b | unreached | – |") && text.contains("- flaky"), "{text}");
        assert!(Accepted::read("[[mutant]]\nfile = 1").is_err());
    }
}
