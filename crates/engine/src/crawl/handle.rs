//! A running crawl, watched and stopped from any thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::totals::Progress;

/// Watches and stops a running crawl, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Handle {
    pub(super) stop: Arc<AtomicBool>,
    lost: Arc<AtomicBool>,
    pub(super) progress: Arc<Mutex<Progress>>,
}

impl Handle {
    /// The directory of the crawl is gone: ends the crawl, which then fails.
    pub fn lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Asks the crawl to save and stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
