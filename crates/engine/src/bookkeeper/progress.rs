//! Where the crawl stands, for whoever watches.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::Bookkeeper;
use crate::clock;
use crate::totals::Totals;

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Pages and bytes per second over the last few seconds.
pub(super) struct Rate {
    pub(super) at: Instant,
    pub(super) pages: u64,
    pub(super) bytes: u64,
    pub(super) pages_per_s: f64,
    pub(super) bytes_per_s: f64,
}

/// A change of the wall clock that is told; less is what clocks do.
const JUMP_MS: u64 = 60_000;

impl Bookkeeper {
    /// Says once for each jump that the wall clock is not where it was, and how much a wrong clock left behind.
    fn watch_clock(&mut self) {
        let drift_ms = clock::drift_ms();
        if drift_ms.abs_diff(self.told_drift_ms) > JUMP_MS {
            self.told_drift_ms = drift_ms;
            let seconds = drift_ms / 1000;
            tracing::warn!(
                seconds,
                "the wall clock was changed; pauses and dates of this run go by the clock it began with"
            );
        }
        let cut = self.frontier.times_cut();
        if cut > self.told_cut {
            tracing::warn!(
                times = cut - self.told_cut,
                "stored times were further away than any pause, as a wrong clock leaves them; they were cut to the longest pause"
            );
            self.told_cut = cut;
        }
    }

    /// Lets others see where the crawl stands.
    pub(super) fn show_progress(&mut self, stopping: bool) {
        if self.last_progress.elapsed() < PROGRESS_EVERY && !stopping {
            return;
        }
        self.last_progress = Instant::now();
        self.watch_clock();
        self.rate.update(&self.totals);
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.at = clock::now();
        progress.totals.clone_from(&self.totals);
        progress.totals.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        progress.set_counts(self.frontier.counts());
        progress.known = self.totals.accepted;
        progress.pages_per_s = self.rate.pages_per_s;
        progress.bytes_per_s = self.rate.bytes_per_s;
        progress.current.clone_from(&self.current);
        progress.stopping = stopping;
    }
}

impl Rate {
    /// Smooths over about five seconds.
    pub(super) fn update(&mut self, totals: &Totals) {
        let seconds = self.at.elapsed().as_secs_f64();
        if seconds < 0.1 {
            return;
        }
        let weight = if self.pages_per_s == 0.0 { 1.0 } else { (seconds / 5.0).min(1.0) };
        let pages_per_s = (totals.pages - self.pages) as f64 / seconds;
        let bytes_per_s = (totals.received_bytes - self.bytes) as f64 / seconds;
        self.pages_per_s += (pages_per_s - self.pages_per_s) * weight;
        self.bytes_per_s += (bytes_per_s - self.bytes_per_s) * weight;
        self.at = Instant::now();
        self.pages = totals.pages;
        self.bytes = totals.received_bytes;
    }
}
