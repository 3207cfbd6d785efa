//! Watches a running crawl from a thread beside it: shows it, and keeps `progress.json` fresh for `lycosa status`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_engine::layout::write_atomically;
use lycosa_engine::{Handle, Layout};

use crate::display::{Display, Loudness};

const LOOK_EVERY: Duration = Duration::from_millis(200);
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// A watch under way; [`Watch::finish`] ends it.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub fn start(handle: Handle, layout: Layout, loudness: Loudness) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch(&handle, &layout, loudness, &told))?;
        Ok(Self { over, thread })
    }

    /// Clears the display and removes `progress.json`.
    pub fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // A display that panicked takes nothing with it: the crawl is what counts.
        let _ = self.thread.join();
    }
}

fn watch(handle: &Handle, layout: &Layout, loudness: Loudness, over: &AtomicBool) {
    let mut display = Display::new(loudness);
    let mut written: Option<Instant> = None;
    while !over.load(Ordering::Relaxed) {
        let mut progress = handle.progress();
        display.show(&progress);
        if written.is_none_or(|at| at.elapsed() >= WRITE_EVERY) {
            // Before the first moment is known there is still a crawl to be seen from outside.
            if progress.at.0 == 0 {
                progress.at = lycosa_engine::clock::now();
            }
            if let Ok(text) = serde_json::to_vec_pretty(&progress)
                && let Err(error) = write_atomically(&layout.progress(), &text)
            {
                tracing::debug!(%error, "progress.json could not be written");
                if !layout.exists() {
                    // Files that are open would take in more, for nobody.
                    handle.lost();
                }
            }
            written = Some(Instant::now());
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    display.clear();
    let _ = std::fs::remove_file(layout.progress());
}
