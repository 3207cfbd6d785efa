//! Pages that read nearly the same, and what is kept of a page to compare later visits with.
//!
//! The table of prints has a fixed size and is shared by the workers; when it is full the oldest page makes room. It is
//! filled again from the stored signatures when a crawl goes on. Prints are made by one of two methods, winnowing or
//! keyword counts; those of the other method, from a time when the configuration was another, are left out.

use std::sync::{Mutex, PoisonError};

use lycosa_frontier::{Store, StoreError};
use lycosa_page::{Extract, Incomparable, KeywordIndex, KeywordPrint, Keywords, PrintIndex, Signatures};
use lycosa_types::{NearDuplicate, UrlId};
use serde::{Deserialize, Serialize};

use crate::config::{JudgingConfig, NearMethod};

/// Pages with fewer minutiae have too little text to be told apart by it.
const LEAST_MINUTIAE: usize = 12;
/// Pages with fewer different keywords likewise.
const LEAST_KEYWORDS: usize = 24;
/// A buffer for records is kept up to this size.
const KEPT_BYTES: usize = 64 << 10;
/// The longest number.
const SHORT_BYTES: usize = 10;
/// Pages that even the smallest table holds.
const LEAST_PAGES: usize = 1024;

/// What the test for near-duplicates knows of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NearPrint {
    /// Nothing: too little text, or a copy of another page.
    #[default]
    None,
    /// The smallest minutiae, which the signatures have.
    Winnowed,
    Keywords(KeywordPrint),
}

/// What is stored of a page under its URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSignatures {
    /// First, since the record's version is its first byte.
    pub signatures: Signatures,
    pub near: NearPrint,
    /// Images that are compared when the page itself shows no change.
    pub pictures: Vec<UrlId>,
}

impl StoredSignatures {
    pub fn encode(&self) -> Option<Vec<u8>> {
        self.encode_by(&mut Vec::new())
    }

    /// The same by way of a buffer that is used again: the record itself is a piece of memory of just its size.
    pub fn encode_by(&self, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
        buffer.clear();
        postcard::serialize_with_flavor(self, Appended(buffer)).ok()?;
        let record = buffer.as_slice().to_vec();
        buffer.shrink_to(KEPT_BYTES);
        Some(record)
    }

    /// Reads what [`Self::encode`] wrote. A record of another version is refused before anything else of it is read:
    /// the page counts as having no earlier visit to compare with.
    pub fn decode(bytes: &[u8]) -> Result<Self, Incomparable> {
        Signatures::check_first_byte(bytes.first())?;
        postcard::from_bytes(bytes).map_err(|_| Incomparable::Damaged)
    }
}

/// Where a record is encoded to. Most of a record are hundreds of short numbers, for which a call that copies is dearer
/// than the bytes.
struct Appended<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Appended<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        if bytes.len() <= SHORT_BYTES {
            bytes.iter().for_each(|&byte| self.0.push(byte));
        } else {
            self.0.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// The near-duplicate test.
#[derive(Debug)]
pub struct NearTable {
    inner: Mutex<Inner>,
    method: NearMethod,
    least: f64,
}

#[derive(Debug)]
struct Inner {
    index: Index,
    /// The pages behind the numbers that the index knows, oldest overwritten first.
    pages: Vec<UrlId>,
    capacity: usize,
    next: u64,
}

#[derive(Debug)]
enum Index {
    Winnowed(PrintIndex),
    Keywords(KeywordIndex),
}

impl NearTable {
    /// Fills a table that takes about `budget_bytes` from the signatures in the store.
    pub fn load(store: &Store, judging: &JudgingConfig, budget_bytes: usize) -> Result<Self, StoreError> {
        let capacity =
            |page_bytes: usize| (budget_bytes / (page_bytes + size_of::<UrlId>())).max(LEAST_PAGES);
        let (index, capacity, least) = match judging.near_method {
            NearMethod::Winnowing => {
                let capacity = capacity(PrintIndex::BYTES_PER_PAGE);
                (Index::Winnowed(PrintIndex::new(capacity)), capacity, judging.least_resemblance)
            }
            NearMethod::Keywords => {
                let capacity = capacity(KeywordIndex::BYTES_PER_PAGE);
                (Index::Keywords(KeywordIndex::new(capacity)), capacity, judging.least_keyword_similarity)
            }
        };
        let mut inner = Inner { index, pages: Vec::with_capacity(capacity), capacity, next: 0 };
        for entry in store.all_signatures() {
            let (id, bytes) = entry?;
            if let Ok(stored) = StoredSignatures::decode(&bytes) {
                inner.insert(id, &stored.near, &stored.signatures.sketch);
            }
        }
        Ok(Self { inner: Mutex::new(inner), method: judging.near_method, least })
    }

    /// The print of a page with such a sketch.
    pub fn print(&self, page: &Extract, sketch: &[u32]) -> NearPrint {
        match self.method {
            NearMethod::Winnowing if sketch.len() >= LEAST_MINUTIAE => NearPrint::Winnowed,
            NearMethod::Keywords => {
                let keywords = Keywords::of(&page.text, language(page.lang()).as_deref());
                if keywords.len() < LEAST_KEYWORDS {
                    return NearPrint::None;
                }
                NearPrint::Keywords(KeywordPrint::of(&keywords))
            }
            NearMethod::Winnowing => NearPrint::None,
        }
    }

    /// The page that this one nearly repeats, if there is one; remembered otherwise.
    pub fn claim(&self, id: UrlId, print: &NearPrint, sketch: &[u32]) -> Option<NearDuplicate> {
        // A panic elsewhere while the lock was held leaves a plain index behind: it is still good.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        let found = match (&mut inner.index, print) {
            (Index::Winnowed(index), NearPrint::Winnowed) => index.lookup_sketch(sketch, self.least, 1),
            (Index::Keywords(index), NearPrint::Keywords(print)) => index.lookup(print, self.least, 1),
            _ => return None,
        };
        let best = found.first().and_then(|candidate| {
            let of = *inner.pages.get(candidate.id as usize % inner.capacity)?;
            let resemblance_permille = (candidate.resemblance.clamp(0.0, 1.0) * 1000.0).round() as u16;
            (of != id).then_some(NearDuplicate { of, resemblance_permille })
        });
        if best.is_none() {
            inner.insert(id, print, sketch);
        }
        best
    }
}

impl Inner {
    /// Remembers a page if its print is of the method in force.
    fn insert(&mut self, id: UrlId, print: &NearPrint, sketch: &[u32]) {
        match (&mut self.index, print) {
            (Index::Winnowed(index), NearPrint::Winnowed) => index.insert_sketch(self.next, sketch),
            (Index::Keywords(index), NearPrint::Keywords(print)) => {
                index.insert(print);
            }
            _ => return,
        }
        let slot = self.next as usize % self.capacity;
        match self.pages.get_mut(slot) {
            Some(place) => *place = id,
            None => self.pages.push(id),
        }
        self.next += 1;
    }
}

/// The language of a page that says it, without the region: `en` of `en-GB`.
fn language(stated: &str) -> Option<String> {
    let primary = stated.split(['-', '_']).next().unwrap_or_default();
    (!primary.is_empty()).then(|| primary.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_page::{Judger, Limits, Scanner};
    use lycosa_types::{PartitionId, UrlKey};

    fn id(n: u64) -> UrlId {
        UrlId { partition: PartitionId(1), key: UrlKey(u128::from(n)) }
    }

    fn words(from: u64) -> Vec<String> {
        (0..600u64).map(|n| format!("word{}", (from + n).wrapping_mul(7919) % 1009)).collect()
    }

    fn table(store: &Store, near_method: NearMethod) -> NearTable {
        let judging = JudgingConfig { near_method, least_resemblance: 0.8, ..JudgingConfig::default() };
        NearTable::load(store, &judging, 1 << 20).unwrap()
    }

    fn read(table: &NearTable, text: &str) -> StoredSignatures {
        let html = format!("<html lang=en-GB><p>{text}");
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&html, &mut page);
        let mut judger = Judger::default();
        let signatures = judger.sign(&html, &page, None);
        StoredSignatures { near: table.print(&page, &signatures.sketch), signatures, pictures: Vec::new() }
    }

    fn claim(table: &NearTable, n: u64, stored: &StoredSignatures) -> Option<NearDuplicate> {
        table.claim(id(n), &stored.near, &stored.signatures.sketch)
    }

    #[test]
    fn the_second_of_two_alike_refers_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 32 << 20).unwrap();
        for method in [NearMethod::Winnowing, NearMethod::Keywords] {
            let table = table(&store, method);
            let print = |text: &str| read(&table, text);
            let first = print(&words(0).join(" "));
            let mut edited = words(0);
            edited[300] = "another".to_owned();
            let second = print(&edited.join(" "));
            let other = print(&(0..600).map(|n| format!("thing{n}")).collect::<Vec<_>>().join(" "));
            assert_eq!(claim(&table, 1, &first), None);
            assert_eq!(claim(&table, 1, &first), None, "a page is not its own near-duplicate");
            assert_eq!(claim(&table, 2, &second).map(|near| near.of), Some(id(1)), "{method:?}");
            assert_eq!(claim(&table, 3, &other), None);
            assert_eq!(claim(&table, 4, &print("short text")), None);
        }
    }

    #[test]
    fn the_methods_differ_where_words_stand_in_another_order() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 32 << 20).unwrap();
        let text = words(0);
        let mut shuffled = text.clone();
        shuffled.sort_by_key(|word| word.bytes().rev().collect::<Vec<u8>>());
        let found = |method| {
            let table = table(&store, method);
            assert_eq!(claim(&table, 1, &read(&table, &text.join(" "))), None);
            claim(&table, 2, &read(&table, &shuffled.join(" "))).is_some()
        };
        assert!(!found(NearMethod::Winnowing), "no stretch of letters is the same");
        assert!(found(NearMethod::Keywords), "every word is as frequent as before");
    }

    #[test]
    fn records_of_another_version_or_method_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 32 << 20).unwrap();
        let (winnowed, counted) = (table(&store, NearMethod::Winnowing), table(&store, NearMethod::Keywords));
        let text = words(3).join(" ");
        let stored = read(&winnowed, &text);
        let mut bytes = stored.encode().unwrap();
        assert_eq!(bytes, postcard::to_extend(&stored, Vec::new()).unwrap());
        assert_eq!(stored.encode_by(&mut vec![7; 9]).as_ref(), Some(&bytes));
        assert_eq!(StoredSignatures::decode(&bytes), Ok(stored.clone()));
        assert_eq!(StoredSignatures::decode(&bytes[..40]), Err(Incomparable::Damaged));
        assert_eq!(StoredSignatures::decode(&[]), Err(Incomparable::Damaged));
        bytes[0] = 1;
        assert_eq!(StoredSignatures::decode(&bytes), Err(Incomparable::OtherVersion { found: 1 }));
        // A print of the other method is neither looked up nor remembered.
        assert_eq!(claim(&counted, 1, &stored), None);
        assert_eq!(claim(&counted, 2, &read(&counted, &text)), None);
    }
}
