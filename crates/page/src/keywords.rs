//! Near-duplicates by keyword counts, the second method: stop words removed, words stemmed, counts compared.
//!
//! Words are runs of letters and digits in small letters. Texts in English are stemmed and lose their stop words; in
//! other languages only words of one letter are dropped. Only the [`MAX_KEYWORDS`] most frequent are kept.

use super::stemmer;
use super::winnow::common;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Keywords that are kept of a page.
pub const MAX_KEYWORDS: usize = 256;
/// Similarity from which two pages are taken for near-duplicates.
pub const KEYWORD_THRESHOLD: f64 = 0.95;
/// Distinct words counted on one page; new ones beyond are not.
const MAX_DISTINCT: usize = 1 << 16;

const STOP_WORDS: &str = "a about above after again against all am an and any are as at be because been before being \
    below between both but by can could did do does doing down during each few for from further had has have having he \
    her here hers herself him himself his how i if in into is it its itself just me more most my myself no nor not now \
    of off on once only or other our ours ourselves out over own same she should so some such than that the their \
    theirs them themselves then there these they this those through to too under until up us very was we were what \
    when where which while who whom why will with would you your yours yourself yourselves";

/// How often a page uses its most frequent words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keywords {
    /// Hashes of stems, sorted, and how often each occurs.
    counts: Vec<(u32, u16)>,
}

impl Keywords {
    /// Counts the words of `text`; `english` as its language says (`None` counts as English).
    pub fn of(text: &str, language: Option<&str>) -> Self {
        let english = language.is_none_or(|l| l == "en");
        let stops = stop_words();
        let mut counts: HashMap<u32, u16, FixedState> = HashMap::default();
        let mut word: Vec<u8> = Vec::new();
        for written in text.split(|c: char| !(c.is_alphanumeric() || c == '\'')) {
            word.clear();
            if written.len() > stemmer::MAX_WORD {
                continue;
            }
            if written.is_ascii() {
                word.extend(written.bytes().map(|b| b.to_ascii_lowercase()));
            } else {
                word.extend_from_slice(written.to_lowercase().as_bytes());
            }
            if word.len() < 2 || english && stops.binary_search(&word.as_slice()).is_ok() {
                continue;
            }
            if english {
                stemmer::stem(&mut word);
            }
            let key = (xxh3_64(&word) >> 32) as u32;
            if counts.len() < MAX_DISTINCT || counts.contains_key(&key) {
                let count = counts.entry(key).or_insert(0);
                *count = count.saturating_add(1);
            }
        }
        let mut counts: Vec<(u32, u16)> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|&(key, count)| (std::cmp::Reverse(count), key));
        counts.truncate(MAX_KEYWORDS);
        counts.sort_unstable();
        Self { counts }
    }

    /// Cosine of the angle between two counts, from 0 to 1; two empty ones are alike.
    pub fn similarity(&self, other: &Self) -> f64 {
        cosine(&self.counts, &other.counts)
    }

    pub(crate) fn counts(&self) -> &[(u32, u16)] {
        &self.counts
    }

    /// How many keywords two pages share.
    pub fn shared(&self, other: &Self) -> usize {
        let keys = |k: &Self| k.counts.iter().map(|c| c.0).collect::<Vec<_>>();
        common(&keys(self), &keys(other))
    }

    /// Keywords kept.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// Whether English texts do without this word, in small letters.
pub(crate) fn is_stop_word(word: &[u8]) -> bool {
    stop_words().binary_search(&word).is_ok()
}

/// Cosine of the angle between two lists of counts, sorted by key.
fn cosine(a: &[(u32, u16)], b: &[(u32, u16)]) -> f64 {
    let norm =
        |counts: &[(u32, u16)]| counts.iter().map(|&(_, n)| f64::from(n) * f64::from(n)).sum::<f64>().sqrt();
    let (mut i, mut j, mut product) = (0, 0, 0.0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.0 == y.0 {
            product += f64::from(x.1) * f64::from(y.1);
        }
        i += usize::from(x.0 <= y.0);
        j += usize::from(y.0 <= x.0);
    }
    let length = norm(a) * norm(b);
    if length == 0.0 { f64::from(a.len() == b.len()) } else { (product / length).min(1.0) }
}

fn stop_words() -> &'static [&'static [u8]] {
    static WORDS: std::sync::LazyLock<Vec<&'static [u8]>> = std::sync::LazyLock::new(|| {
        let mut words: Vec<&[u8]> = STOP_WORDS.split_ascii_whitespace().map(str::as_bytes).collect();
        words.sort_unstable();
        words
    });
    &WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_words_count_together() {
        let a = Keywords::of("The spider crawls and the spiders were crawling.", Some("en"));
        let b = Keywords::of("Spiders crawl; a spider crawled!", None);
        assert!(a.len() == 2 && a.similarity(&b) > 0.999_999);
        assert_eq!(a.shared(&b), 2);
        let c = Keywords::of("Ships sail", None);
        assert_eq!(a.similarity(&c), 0.0);
    }

    #[test]
    fn empty_and_huge_texts() {
        let none = Keywords::of("the of and", None);
        assert!(none.is_empty() && none.similarity(&none) == 1.0);
        let many: String = (0..5000).map(|n| format!("word{n}x ")).collect();
        assert_eq!(Keywords::of(&many, Some("de")).len(), MAX_KEYWORDS);
        let kept = Keywords::of(&many, Some("de"));
        let packed = postcard::to_stdvec(&kept).unwrap();
        assert_eq!(postcard::from_bytes::<Keywords>(&packed).unwrap(), kept);
    }
}
