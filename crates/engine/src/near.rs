//! Pages that read nearly the same, and what is kept of a page to compare later visits with.
//!
//! The table of prints has a fixed size and is shared by the workers; when it is full the oldest page makes room. It is
//! filled again from the stored signatures when a crawl goes on.

use std::sync::{Mutex, PoisonError};

use lycosa_frontier::{Store, StoreError};
use lycosa_page::{Print, PrintIndex, Signatures};
use lycosa_types::{NearDuplicate, UrlId};
use serde::{Deserialize, Serialize};

/// Pages with fewer minutiae have too little text to be told apart by it.
const LEAST_MINUTIAE: usize = 12;

/// What is stored of a page under its URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSignatures {
    pub signatures: Signatures,
    /// The print's sketch; empty if the page has too little text.
    pub sketch: Vec<u32>,
    /// Images that are compared when the page itself shows no change.
    pub pictures: Vec<UrlId>,
}

impl StoredSignatures {
    pub fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(self).ok()
    }

    /// Reads what [`Self::encode`] wrote; none if it was written by another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// The near-duplicate test.
#[derive(Debug)]
pub struct NearTable {
    inner: Mutex<Inner>,
    least_resemblance: f64,
}

#[derive(Debug)]
struct Inner {
    index: PrintIndex,
    /// The pages behind the numbers that the index knows, oldest overwritten first.
    pages: Vec<UrlId>,
    capacity: usize,
    next: u64,
}

impl NearTable {
    /// Fills a table that takes about `budget_bytes` from the signatures in the store.
    pub fn load(store: &Store, least_resemblance: f64, budget_bytes: usize) -> Result<Self, StoreError> {
        let capacity = (budget_bytes / (PrintIndex::BYTES_PER_PAGE + size_of::<UrlId>())).max(1024);
        let mut inner = Inner { index: PrintIndex::new(capacity), pages: Vec::new(), capacity, next: 0 };
        for entry in store.all_signatures() {
            let (id, bytes) = entry?;
            if let Some(stored) = StoredSignatures::decode(&bytes)
                && !stored.sketch.is_empty()
            {
                inner.insert(id, stored.sketch);
            }
        }
        Ok(Self { inner: Mutex::new(inner), least_resemblance })
    }

    /// The print's sketch for a page with these minutiae; empty if they are too few.
    pub fn sketch(minutiae: &[u64]) -> Vec<u32> {
        if minutiae.len() < LEAST_MINUTIAE { Vec::new() } else { Print::new(0, minutiae).sketch }
    }

    /// The page that this one nearly repeats, if there is one; remembered otherwise.
    pub fn claim(&self, id: UrlId, sketch: &[u32]) -> Option<NearDuplicate> {
        if sketch.is_empty() {
            return None;
        }
        // A panic elsewhere while the lock was held leaves a plain index behind: it is still good.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let print = Print { id: inner.next, sketch: sketch.to_vec() };
        let found = inner.index.lookup(&print, self.least_resemblance, 1);
        let best = found.first().and_then(|candidate| {
            let of = *inner.pages.get(candidate.id as usize % inner.capacity)?;
            let resemblance_permille = (candidate.resemblance.clamp(0.0, 1.0) * 1000.0).round() as u16;
            (of != id).then_some(NearDuplicate { of, resemblance_permille })
        });
        if best.is_none() {
            inner.insert(id, print.sketch);
        }
        best
    }
}

impl Inner {
    fn insert(&mut self, id: UrlId, sketch: Vec<u32>) {
        let slot = self.next as usize % self.capacity;
        if slot < self.pages.len() {
            self.pages[slot] = id;
        } else {
            self.pages.push(id);
        }
        self.index.insert(&Print { id: self.next, sketch });
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_page::Winnower;
    use lycosa_types::{PartitionId, UrlKey};

    #[test]
    fn the_second_of_two_alike_refers_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 32 << 20).unwrap();
        let table = NearTable::load(&store, 0.8, 1 << 20).unwrap();
        let id = |n: u64| UrlId { partition: PartitionId(1), key: UrlKey(u128::from(n)) };
        let words: Vec<String> =
            (0..600u64).map(|n| format!("word{}", n.wrapping_mul(7919) % 1009)).collect();
        let mut winnower = Winnower::new(lycosa_page::WinnowConfig::default());
        let mut sketch = |text: &str| NearTable::sketch(winnower.minutiae(text));
        let first = sketch(&words.join(" "));
        let mut edited = words.clone();
        edited[300] = "another".to_owned();
        let second = sketch(&edited.join(" "));
        let other = sketch(&(0..600).map(|n| format!("thing{n}")).collect::<Vec<_>>().join(" "));
        assert_eq!(table.claim(id(1), &first), None);
        assert_eq!(table.claim(id(1), &first), None, "a page is not its own near-duplicate");
        assert_eq!(table.claim(id(2), &second).map(|near| near.of), Some(id(1)));
        assert_eq!(table.claim(id(3), &other), None);
        assert_eq!(table.claim(id(4), &sketch("short text")), None);
    }
}
