//! The tables: plain, Markdown or JSON.

use crate::run::{Outcome, STRETCHES};
use crate::world::{Pace, Spread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    Markdown,
    Json,
}

/// One policy in one cell.
pub struct Row {
    pub pace: Pace,
    pub spread: Spread,
    /// The budget as a share of all changes.
    pub part: f64,
    pub name: &'static str,
    pub outcome: Outcome,
    /// Freshness of the oracle in the same cell, as simulated.
    pub best: f64,
    /// The same in theory.
    pub exact: f64,
}

impl Row {
    fn spread(&self) -> &'static str {
        match self.spread {
            Spread::Uniform => "uniform",
            Spread::PowerLaw => "power law",
        }
    }

    /// Ages and delays are told in days, or in seconds.
    fn unit(&self) -> (&'static str, f64) {
        match self.pace {
            Pace::Years => ("days", 1.0),
            Pace::Minutes => ("s", 86_400.0),
        }
    }

    /// Distance to the oracle in percent.
    fn distance(&self) -> f64 {
        100.0 * (self.outcome.freshness() / self.best - 1.0)
    }
}

pub fn print(rows: &[Row], form: Form) {
    match form {
        Form::Json => json(rows),
        Form::Plain | Form::Markdown => {
            let edge = if form == Form::Markdown { "| " } else { "" };
            let glue = if form == Form::Markdown { " | " } else { "  " };
            table(rows, edge, glue, form == Form::Markdown);
            println!();
            over_time(rows, edge, glue, form == Form::Markdown);
        }
    }
}

fn line(cells: &[String], edge: &str, glue: &str) {
    println!("{edge}{}{}", cells.join(glue), edge.chars().rev().collect::<String>());
}

fn rule(count: usize, ruled: bool) {
    if ruled {
        println!("|{}", " --- |".repeat(count));
    }
}

fn table(rows: &[Row], edge: &str, glue: &str, ruled: bool) {
    let unit = rows.first().map_or("days", |row| row.unit().0);
    let (age, late) = (format!("age, {unit}"), format!("late, {unit}"));
    let head = ["rates", "budget", "policy", "freshness", "to oracle", &age, "budget used", &late];
    let widths = [9, 6, 28, 9, 9, 9, 11, 10];
    let head: Vec<String> = head.iter().zip(widths).map(|(h, w)| format!("{h:<w$}")).collect();
    line(&head, edge, glue);
    rule(head.len(), ruled);
    for row in rows {
        let o = &row.outcome;
        let cells = [
            format!("{:<9}", row.spread()),
            format!("{:<6}", row.part),
            format!("{:<28}", row.name),
            format!("{:<9.4}", o.freshness()),
            format!("{:<9}", format!("{:+.2} %", row.distance())),
            format!("{:<9.2}", o.age_days() * row.unit().1),
            format!("{:<11}", format!("{:.1} %", 100.0 * o.used)),
            format!("{:<10.2}", o.late_days * row.unit().1),
        ];
        line(&cells, edge, glue);
    }
    println!();
    println!("The oracle's freshness in theory, for the same cells in order:");
    let exact = rows.iter().filter(|r| r.name == "oracle").map(|r| format!("{:.4}", r.exact));
    println!("{}.", exact.collect::<Vec<_>>().join(", "));
}

fn over_time(rows: &[Row], edge: &str, glue: &str, ruled: bool) {
    println!("Freshness over the run in tenths (the first five are warm-up):");
    println!();
    let mut head = vec![format!("{:<9}", "rates"), format!("{:<6}", "budget"), format!("{:<28}", "policy")];
    head.extend((1..=STRETCHES).map(|n| format!("{n:<5}")));
    line(&head, edge, glue);
    rule(head.len(), ruled);
    for row in rows.iter().filter(|r| r.name.starts_with("lycosa") || r.name == "oracle") {
        let mut cells =
            vec![format!("{:<9}", row.spread()), format!("{:<6}", row.part), format!("{:<28}", row.name)];
        cells.extend(row.outcome.stretches.iter().map(|s| format!("{:.3}", s.freshness)));
        line(&cells, edge, glue);
    }
}

fn json(rows: &[Row]) {
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let o = &row.outcome;
            let series = |value: fn(&crate::run::Stretch) -> f64| {
                o.stretches.iter().map(|s| format!("{:.5}", value(s))).collect::<Vec<_>>().join(",")
            };
            format!(
                "{{\"pace\":\"{}\",\"rates\":\"{}\",\"budget\":{},\"policy\":\"{}\",\"freshness\":{:.5},\"oracle\":{:.5},\"oracle_theory\":{:.5},\"age_days\":{:.4},\"used\":{:.4},\"late_days\":{:.4},\"freshness_over_time\":[{}],\"age_days_over_time\":[{}]}}",
                row.pace.name(),
                row.spread(),
                row.part,
                row.name,
                o.freshness(),
                row.best,
                row.exact,
                o.age_days(),
                o.used,
                o.late_days,
                series(|s| s.freshness),
                series(|s| s.age_days),
            )
        })
        .collect();
    println!("[\n{}\n]", lines.join(",\n"));
}
