//! Servers that left in doubt where a response ends: they sent bytes that nobody had asked for, or fields that contradict
//! each other. What such a server sends on a kept connection could be taken for the answer to the next request, so it
//! gets a connection for each request from then on, and never several requests at once.
//!
//! Promise: a fault that one thread saw holds for all threads; at most [`FAULTY_ORIGINS`] servers are remembered.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::generations::Generations;

/// Servers remembered. The half of them that faulted last always is.
const FAULTY_ORIGINS: usize = 65_536;

#[derive(Debug)]
pub(crate) struct Faults {
    /// Servers that showed one so far. Where there are none, nobody needs the lock.
    noted: AtomicUsize,
    origins: Mutex<Generations<Box<str>, ()>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self { noted: AtomicUsize::new(0), origins: Mutex::new(Generations::new(FAULTY_ORIGINS)) }
    }
}

impl Faults {
    /// This server showed one.
    pub fn note(&self, origin: &str) {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if origins.get(origin).is_none() {
            origins.insert(origin.into(), ());
            self.noted.fetch_add(1, Ordering::Release);
        }
    }

    /// How many servers did; one that was forgotten counts anew.
    pub fn count(&self) -> usize {
        self.noted.load(Ordering::Acquire)
    }

    /// Whether this server showed one.
    pub fn has(&self, origin: &str) -> bool {
        self.count() > 0 && self.origins.lock().unwrap_or_else(PoisonError::into_inner).get(origin).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_of_one_server_and_stays() {
        let faults = Faults::default();
        assert!(!faults.has("http://a.test"));
        faults.note("http://a.test");
        faults.note("http://a.test");
        assert_eq!(faults.count(), 1);
        assert!(faults.has("http://a.test") && !faults.has("http://b.test"));
    }
}
