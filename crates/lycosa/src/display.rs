//! What a running crawl shows: lines that rewrite themselves on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lycosa_engine::Progress;

use crate::figures::{byte_rate, count, duration, plural, rate};
use crate::output::tell;

/// How often a line is written where nobody can see a live display.
const LINE_EVERY: Duration = Duration::from_secs(10);
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
                let texts = [speed(progress), queue(progress), ends(progress), progress.current.clone()];
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

/// Pages and rates.
pub fn speed(progress: &Progress) -> String {
    format!(
        "{}  {}  {}  {}{}",
        plural(progress.totals.pages, "page", "pages"),
        rate(progress.pages_per_s),
        byte_rate(progress.bytes_per_s),
        duration(progress.totals.seconds),
        if progress.stopping { "  stopping" } else { "" },
    )
}

/// What waits.
pub fn queue(progress: &Progress) -> String {
    let known = count(progress.known);
    format!(
        "queue {}  under way {}  hosts {}  known {known}",
        count(progress.waiting),
        count(progress.leased),
        count(progress.hosts)
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
