//! What a running crawl shows: lines that rewrite themselves on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lycosa_engine::Progress;

use crate::figures::{byte_rate, clip, count, duration, plural, rate};
use crate::foreign::{Kind, clean};
use crate::output::tell;

/// How often a line is written where nobody can see a live display.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Columns in front of a live line, with one to spare behind it.
const MARGIN: usize = 3;
/// Kinds of errors named on the live display.
const SHOWN_ERRORS: usize = 3;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loudness {
    /// Live on a terminal, else lines.
    Normal,
    Quiet,
}

pub enum Display {
    Live { group: MultiProgress, lines: Vec<ProgressBar> },
    Lines { last: Instant },
    Silent,
}

impl Display {
    pub fn new(loudness: Loudness) -> Self {
        if loudness == Loudness::Quiet {
            return Self::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { last: Instant::now() };
        }
        let group = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let style = |template: &str| {
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
        };
        let lines = ["{spinner:.cyan} {wide_msg:.bold}", "  {wide_msg}", "  {wide_msg}", "  {wide_msg:.dim}"];
        let lines = lines.into_iter().map(|template| {
            let bar = group.add(ProgressBar::new_spinner());
            bar.set_style(style(template));
            bar
        });
        let lines = lines.collect();
        Self::Live { group, lines }
    }

    pub fn show(&mut self, progress: &Progress) {
        match self {
            Self::Silent => {}
            Self::Lines { last } => {
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    tell!("{}; {}; {}", speed(progress), queue(progress), ends(progress));
                }
            }
            Self::Live { lines, .. } => {
                let width = usize::from(console::Term::stderr().size().1).saturating_sub(MARGIN);
                let current = clean(&progress.current, Kind::Text);
                let texts = [speed(progress), queue(progress), ends(progress), current];
                let texts = texts.map(|text| fit(&text, width));
                for (line, text) in lines.iter().zip(texts) {
                    line.set_message(text);
                    line.tick();
                }
            }
        }
    }

    /// Removes the live lines.
    pub fn clear(&self) {
        if let Self::Live { group, lines } = self {
            for line in lines {
                line.finish_and_clear();
            }
            // A terminal that went away has nothing to be cleaned.
            let _ = group.clear();
        }
    }
}

/// As many parts of a line as fit: a figure cut off in the middle says something else.
fn fit(line: &str, width: usize) -> String {
    let mut out = String::new();
    for part in line.split("  ") {
        let length = out.chars().count() + 2 * usize::from(!out.is_empty()) + part.chars().count();
        if length > width && !out.is_empty() {
            break;
        }
        if !out.is_empty() {
            out.push_str("  ");
        }
        out.push_str(part);
    }
    clip(&out, width)
}

/// Pages and rates.
pub fn speed(progress: &Progress) -> String {
    format!(
        "{}{}  {}  {}  {}",
        if progress.stopping { "stopping  " } else { "" },
        plural(progress.totals.pages, "page", "pages"),
        rate(progress.pages_per_s),
        duration(progress.totals.seconds),
        byte_rate(progress.bytes_per_s),
    )
}

/// What waits.
pub fn queue(progress: &Progress) -> String {
    let known = count(progress.known);
    format!(
        "queue {}  hosts {}  under way {}  known {known}",
        count(progress.waiting),
        count(progress.hosts),
        count(progress.leased)
    )
}

/// How visits ended, without the pages.
pub fn ends(progress: &Progress) -> String {
    let totals = &progress.totals;
    let mut out = format!("duplicates {}", count(totals.duplicates));
    for word in ["redirected", "missing", "robots"] {
        if let Some(number) = totals.outcomes.get(word) {
            out.push_str(&format!("  {word} {}", count(*number)));
        }
    }
    out.push_str(&format!("  errors {}", count(totals.failures())));
    let mut errors: Vec<(&str, u64)> =
        totals.errors().map(|(word, number)| (word.as_str(), *number)).collect();
    errors.sort_by_key(|&(word, number)| (std::cmp::Reverse(number), word));
    if !errors.is_empty() {
        let named: Vec<String> = errors
            .iter()
            .take(SHOWN_ERRORS)
            .map(|(word, number)| format!("{word} {}", count(*number)))
            .collect();
        let more = if errors.len() > SHOWN_ERRORS { ", …" } else { "" };
        out.push_str(&format!(" ({}{more})", named.join(", ")));
    }
    if totals.retries > 0 {
        out.push_str(&format!("  retries {}", count(totals.retries)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What matters most stands in 40 columns, and no figure is cut.
    #[test]
    fn progress_can_be_read_in_40_columns() {
        let mut progress =
            Progress { pages_per_s: 1234.0, bytes_per_s: 5e7, waiting: 1_234_567, ..Progress::default() };
        (progress.totals.pages, progress.totals.seconds, progress.hosts) = (12_345_678, 3723.0, 4321);
        progress.stopping = true;
        assert_eq!(fit(&speed(&progress), 37), "stopping  12,345,678 pages  1,234/s");
        assert_eq!(fit(&queue(&progress), 37), "queue 1,234,567  hosts 4,321");
        assert!(fit(&ends(&progress), 37).starts_with("duplicates 0"));
        assert_eq!(fit(&"x".repeat(100), 37).chars().count(), 37);
    }
}
