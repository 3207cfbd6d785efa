//! Results for readers: a table per corpus in Markdown (also on the terminal), JSON, and a plot.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::Workspace;

use super::plot;
use super::results::{CorpusResult, Results, Turn, median};

/// The rivals that ratios are given against.
const RIVALS: [&str; 2] = ["wget2", "spider"];

const HEADINGS: [&str; 12] = [
    "program",
    "pages",
    "coverage",
    "pages/s",
    "× wget2",
    "× spider",
    "CPU ms/page",
    "peak MiB",
    "middle",
    "end",
    "stored MB",
    "does",
];

/// Writes everything to a directory named by the date, and says where.
pub fn write(workspace: &Workspace, results: &Results) -> Result<PathBuf> {
    let dir = workspace.root.join("bench").join("results").join(format!("{}-crawlers", results.machine.date));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("results.json"), serde_json::to_string_pretty(results)? + "\n")?;
    std::fs::write(dir.join("README.md"), markdown(results)?)?;
    std::fs::write(dir.join("plot.svg"), plot::draw(results))?;
    Ok(dir)
}

fn markdown(results: &Results) -> Result<String> {
    let machine = &results.machine;
    let mut text = format!("# Crawlers side by side, {}\n\n", machine.date);
    writeln!(text, "Server and client share the machine: {} cores of {},", machine.cores, machine.cpu)?;
    writeln!(
        text,
        "{} MiB of memory, Linux {}. Commit {}, {}. Load before the run: {:.2}.\n",
        machine.memory_mib, machine.kernel, machine.commit, machine.rustc, machine.load_before
    )?;
    for note in &results.notes {
        writeln!(text, "Note: {note}\n")?;
    }
    text.push_str(
        "Pages are distinct URLs that the server answered with an HTML page; figures are medians over the rounds, \
         with the range of pages/s\nbehind them; CPU is that of the client alone, user and system. MiB are of memory: at most, in the middle\nfifth of \
         the time, and in the last. The server's files were read once before the first turn, so that none of the programs\nwaited \
         for the server's disk.\n\n![](plot.svg)\n",
    );
    for corpus in &results.corpora {
        writeln!(text, "\n## {}\n\n{}.\n\n{}", corpus.name, corpus.about, table(corpus))?;
    }
    text.push_str("\n## Versions\n\n");
    writeln!(text, "- server: {}", machine.nginx)?;
    for (program, version) in &results.versions {
        writeln!(text, "- {program}: {version}")?;
    }
    Ok(text)
}

/// The table of a corpus, aligned so that it reads well as text too.
pub fn table(corpus: &CorpusResult) -> String {
    let mut rows: Vec<Vec<String>> = vec![HEADINGS.map(str::to_owned).to_vec()];
    for turns in corpus.programs() {
        rows.push(row(corpus, &turns));
    }
    let mut text = align(&rows);
    if let Some(limit) = &corpus.limit {
        text.push_str(&format!(
            "\nwrk on the same URLs: {:.0} requests/s at {:.3} ms of CPU each",
            limit.requests_per_s, limit.cpu_s_per_1000_requests
        ));
        let best = corpus.programs().into_iter().filter(|turns| turns[0].program.starts_with("lycosa"));
        for turns in best {
            let rate = median(turns.iter().map(|turn| turn.pages_per_s)).unwrap_or(0.0);
            text.push_str(&format!(
                "; {} reaches {:.0} % of that",
                turns[0].program,
                rate * 100.0 / limit.requests_per_s
            ));
        }
        text.push_str(".\n");
    }
    let gaps = corpus.turns.iter().filter_map(|turn| turn.shortest_gap_ms);
    if let Some(shortest) = gaps.min_by(f64::total_cmp) {
        text.push_str(&format!("\nShortest gap between two requests to one host: {shortest:.1} ms.\n"));
    }
    text
}

fn row(corpus: &CorpusResult, turns: &[&Turn]) -> Vec<String> {
    let of = |value: fn(&Turn) -> f64| median(turns.iter().map(|turn| value(turn))).unwrap_or(0.0);
    let rates = || turns.iter().map(|turn| turn.pages_per_s);
    let least = rates().fold(f64::INFINITY, f64::min);
    let most = rates().fold(0.0, f64::max);
    let program = turns.first().map_or("", |turn| turn.program);
    let cut = if turns.iter().any(|turn| turn.cost.cut) { " (cut)" } else { "" };
    let [to_wget2, to_spider] = RIVALS.map(|rival| {
        corpus.ratio(program, rival).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
    });
    vec![
        format!("{program}{cut}"),
        format!("{:.0}", of(|turn| turn.pages as f64)),
        format!("{:.1} %", of(|turn| turn.coverage) * 100.0),
        format!("{:.0} ({least:.0}–{most:.0})", of(|turn| turn.pages_per_s)),
        to_wget2,
        to_spider,
        format!("{:.3}", of(|turn| turn.cpu_s_per_1000_pages)),
        mib(of(|turn| turn.cost.peak_rss_bytes as f64)),
        mib(of(|turn| turn.cost.middle_rss_bytes as f64)),
        mib(of(|turn| turn.cost.end_rss_bytes as f64)),
        format!("{:.0}", of(|turn| turn.stored_bytes as f64) / 1e6),
        turns.first().map_or("", |turn| turn.does).to_owned(),
    ]
}

fn mib(bytes: f64) -> String {
    format!("{:.0}", bytes / f64::from(1 << 20))
}

fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_text = |column: usize| column == 0 || column + 1 == columns;
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text.push('|');
        for (column, cell) in row.iter().enumerate() {
            let blank = " ".repeat(widths[column] - cell.chars().count());
            let (left, right) = if is_text(column) { ("", blank.as_str()) } else { (blank.as_str(), "") };
            text.push_str(&format!(" {left}{cell}{right} |"));
        }
        text.push('\n');
        if number == 0 {
            text.push('|');
            for (column, width) in widths.iter().enumerate() {
                let dashes = "-".repeat(width + 1);
                text.push_str(&if is_text(column) { format!("-{dashes}|") } else { format!("{dashes}:|") });
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::peers::Peer;
    use super::super::results::tests::turn;
    use super::*;

    #[test]
    fn a_table_has_a_row_per_program_with_its_ratio() {
        let mut corpus = CorpusResult::new("syn", "pages".to_owned());
        corpus.turns.push(turn(Peer::Lycosa, 1, 1.0, 300));
        corpus.turns.push(turn(Peer::Wget2, 1, 2.0, 300));
        corpus.settle(300);
        let text = table(&corpus);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].contains("|  100.0 % | 300 (300–300) |    2.00 |"), "{text}");
        let width = lines[0].chars().count();
        assert!(lines.iter().all(|line| line.chars().count() == width), "{text}");
    }
}
