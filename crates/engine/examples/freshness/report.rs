//! The figures of the crawls: as JSON, as tables, as curves.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// One policy with one kind of rates and one budget. The steady state is the second half of the time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub rates: String,
    pub changes_per_s: f64,
    pub budget_per_s: f64,
    pub policy: String,
    /// Share of pages whose copies are fresh.
    pub freshness: f64,
    pub to_oracle_percent: f64,
    /// Mean age of copies.
    pub age_s: f64,
    pub requests_per_s: f64,
    /// Share of requests answered with 304.
    pub not_modified: f64,
    /// Over the whole time.
    pub received_bytes: u64,
    /// In each tenth of the time.
    pub freshness_over_time: Vec<f64>,
    pub age_s_over_time: Vec<f64>,
    pub requests_per_s_over_time: Vec<f64>,
}

/// Rows that were measured side by side.
fn cells(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.rates == b.rates && a.budget_per_s == b.budget_per_s).collect()
}

pub fn tables(rows: &[Row]) -> String {
    let mut out = String::new();
    for cell in cells(rows) {
        let first = &cell[0];
        let part = first.budget_per_s / first.changes_per_s;
        let _ = writeln!(
            out,
            "\n{} rates, {:.1} changes/s, budget {} requests/s ({part:.2} of the changes):\n",
            first.rates, first.changes_per_s, first.budget_per_s
        );
        out.push_str(
            "| policy | freshness | to oracle | age, s | requests/s | 304 | freshness in tenths of the time, % |\n",
        );
        out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
        for row in cell {
            let tenths: Vec<String> =
                row.freshness_over_time.iter().map(|fresh| format!("{:.1}", fresh * 100.0)).collect();
            let _ = writeln!(
                out,
                "| {} | {:.4} | {:+.2} % | {:.2} | {:.1} | {:.0} % | {} |",
                row.policy,
                row.freshness,
                row.to_oracle_percent,
                row.age_s,
                row.requests_per_s,
                100.0 * row.not_modified,
                tenths.join(" "),
            );
        }
    }
    out
}

const PANEL: (f64, f64) = (300.0, 190.0);
const PLOT: (f64, f64) = (230.0, 130.0);
const COLOURS: [(&str, &str); 5] = [
    ("oracle", "#888888"),
    ("optimal", "#0b6e4f"),
    ("uniform", "#c1666b"),
    ("proportional", "#d4b483"),
    ("age", "#4281a4"),
];

/// Freshness over time, one panel for each cell.
pub fn svg(rows: &[Row]) -> String {
    let cells = cells(rows);
    let lines = cells.len().div_ceil(3);
    let (width, height) = (3.0 * PANEL.0, lines as f64 * PANEL.1 + 30.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, cell) in cells.iter().enumerate() {
        let origin = ((at % 3) as f64 * PANEL.0 + 45.0, (at / 3) as f64 * PANEL.1 + 30.0);
        panel(&mut out, cell, origin);
    }
    for (at, (name, colour)) in COLOURS.iter().enumerate() {
        let x = 45.0 + at as f64 * 110.0;
        let y = height - 12.0;
        let _ = writeln!(
            out,
            "<path d=\"M{x} {y}h20\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{}\">{name}</text>",
            x + 25.0,
            y + 3.0
        );
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, cell: &[Row], (left, top): (f64, f64)) {
    let values = || cell.iter().flat_map(|row| row.freshness_over_time.iter().skip(1).copied());
    let least = (values().fold(1.0, f64::min) * 20.0).floor() / 20.0;
    let most = ((values().fold(0.0, f64::max) * 20.0).ceil() / 20.0).max(least + 0.05);
    let first = &cell[0];
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{}\">{} rates, {} requests/s for {:.1} changes/s</text>",
        top - 8.0,
        first.rates,
        first.budget_per_s,
        first.changes_per_s
    );
    let _ = writeln!(
        out,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#ccc\"/>",
        PLOT.0, PLOT.1
    );
    for (value, y) in [(most, top + 4.0), (least, top + PLOT.1)] {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{:.0} %</text>",
            left - 4.0,
            100.0 * value
        );
    }
    for row in cell {
        let colour = COLOURS.iter().find(|(name, _)| *name == row.policy).map_or("black", |(_, c)| *c);
        let count = row.freshness_over_time.len().max(2) - 1;
        let mut path = String::new();
        for (at, value) in row.freshness_over_time.iter().enumerate() {
            let x = left + PLOT.0 * at as f64 / count as f64;
            let y = top + PLOT.1 * (1.0 - (value.min(most) - least) / (most - least));
            let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>");
    }
}
