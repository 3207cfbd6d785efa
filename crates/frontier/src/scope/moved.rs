//! Seeds that have moved: where their redirects led. The end of such a chain belongs to the scope as the seed does.
//!
//! Workers add to it while others read: a page's links are judged by what is known at that moment. What is not known any
//! more after a restart is read again from the records of the seeds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use foldhash::{HashMap, HashSet};
use lycosa_types::{CanonUrl, UrlKey};

/// Moves that are listed by name; more are counted.
const MAX_LISTED: usize = 1000;

/// A seed whose redirects led to another origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub seed: String,
    pub to: String,
}

#[derive(Debug, Default)]
pub(super) struct Moved {
    any: AtomicBool,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// URLs that redirects of seeds led to and that are not fetched yet, each with its seed.
    chain: HashMap<UrlKey, Box<str>>,
    /// What the scope compares, of the ends of chains.
    anchors: HashSet<String>,
    moves: Vec<Move>,
    count: u64,
}

impl Moved {
    /// A redirect of `seed` leads to `to`, which is not fetched yet.
    pub fn follow(&self, from: UrlKey, seed: &str, to: UrlKey) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.chain.remove(&from);
        inner.chain.insert(to, seed.into());
        self.any.store(true, Ordering::Release);
    }

    /// The seed whose redirects led to this URL.
    pub fn seed_of(&self, key: UrlKey) -> Option<String> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.chain.get(&key).map(|seed| seed.to_string())
    }

    /// The chain ends at `end`: it belongs to the scope from now on. False if that was known.
    pub fn end(&self, end: &CanonUrl, seed: &str, anchor: Option<String>) -> bool {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if inner.chain.remove(&end.key()).is_none() {
            return false;
        }
        inner.anchors.extend(anchor);
        let origin = end.origin();
        if seed.strip_prefix(origin).is_none_or(|rest| !rest.starts_with('/')) {
            inner.count += 1;
            if inner.moves.len() < MAX_LISTED {
                inner.moves.push(Move { seed: seed.to_owned(), to: end.as_str().to_owned() });
            }
        }
        true
    }

    pub fn has_anchor(&self, mut test: impl FnMut(&HashSet<String>) -> bool) -> bool {
        self.any.load(Ordering::Acquire)
            && test(&self.inner.read().unwrap_or_else(PoisonError::into_inner).anchors)
    }

    /// Seeds that moved to another origin, the first of them by name; and how many they are.
    pub fn moves(&self) -> (Vec<Move>, u64) {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        (inner.moves.clone(), inner.count)
    }
}
