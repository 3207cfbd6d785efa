//! A topic: weighted words, and how well a text suits them. For crawls that look for pages on a subject.
//!
//! Words are compared by their stems (the keyword method's), so that forms of a word count together. A page suits the
//! topic fully when it uses [`FULL_TERMS`] of the heaviest words as often as texts on a subject do; anchors and URLs are
//! too short for counting and suit it by what they name at all.
//!
//! A word that most pages use says little about any of them. A topic notes on how many of the pages off the topic (less
//! relevant than most that it is asked about) each of its words occurs, and such words lose weight as it learns: an example
//! page may be taken with all its words. Pages on the topic are not counted, or its own words would lose theirs.

use super::stemmer;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use xxhash_rust::xxh3::xxh3_64;

/// Words of a topic that are kept.
pub const MAX_TERMS: usize = 256;
/// As many of the heaviest words, used well, make a page fully relevant.
const FULL_TERMS: usize = 4;
/// As many make an anchor or a URL fully relevant.
const FULL_NAMES: usize = 2;
/// Occurrences in a thousand words at which a word counts half.
const HALF_PER_MILLE: f32 = 1.5;
/// Pages after which what was seen begins to count.
const LEARN_PAGES: f32 = 16.0;
/// How much the page a link stands on counts for it; the rest is what the link says itself. Anchors are often chance words.
const PAGE_SHARE: f32 = 0.75;
/// Pages less relevant than this share of the running mean are off the topic.
const OFF_TOPIC: f32 = 0.6;
/// How much one page moves the running mean.
const MEAN_STEP: f32 = 0.05;
/// Short pages are counted as if they had this many more words.
const SHORT_WORDS: f32 = 60.0;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Topic {
    /// By hash of the stem: its number and weight.
    terms: HashMap<u64, (u16, f32), FixedState>,
    seen: Arc<Seen>,
}

/// Pages asked about, and on how many of them each word occurred.
#[derive(Debug)]
struct Seen {
    pages: AtomicU32,
    /// Running mean of the relevance of all pages, as bits.
    mean: AtomicU32,
    with: [AtomicU32; MAX_TERMS],
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            pages: AtomicU32::new(0),
            mean: AtomicU32::new(0.5_f32.to_bits()),
            with: [const { AtomicU32::new(0) }; MAX_TERMS],
        }
    }
}

impl Topic {
    /// From words, each with an optional weight behind a colon: `solar`, `wind:0.5`. Text of several words counts as
    /// its words.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut topic = Self::default();
        for entry in words {
            let (text, weight) = match entry.rsplit_once(':') {
                Some((text, weight)) => (text, weight.trim().parse().unwrap_or(1.0)),
                None => (entry, 1.0_f32),
            };
            let weight = if weight.is_finite() { weight.clamp(0.001, 1000.0) } else { 1.0 };
            for_each_stem(text, |stem| {
                let number = topic.terms.len();
                if number < MAX_TERMS {
                    topic.terms.entry(stem).or_insert((number as u16, weight));
                }
            });
        }
        topic
    }

    /// What a word weighs by what was seen so far: all of its weight while it is rare, little once every page has it.
    fn weight(&self, number: u16, weight: f32) -> f32 {
        let pages = self.seen.pages.load(Relaxed) as f32;
        let with = self.seen.with[usize::from(number)].load(Relaxed) as f32;
        let rarity = ((pages + LEARN_PAGES) / (with + 1.0)).ln() / (pages + LEARN_PAGES).ln();
        weight * rarity.clamp(0.0, 1.0) * rarity.clamp(0.0, 1.0)
    }

    /// The weight of the `most` heaviest words together.
    fn full(&self, most: usize) -> f32 {
        let mut weights: Vec<f32> =
            self.terms.values().map(|&(number, weight)| self.weight(number, weight)).collect();
        weights.sort_unstable_by(|a, b| b.total_cmp(a));
        weights.iter().take(most).sum::<f32>().max(f32::MIN_POSITIVE)
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How well a page with this text suits the topic, 0 to 1. The page is noted.
    pub fn relevance(&self, text: &str) -> f32 {
        if self.is_empty() {
            return 0.0;
        }
        let mut counts = [0u32; MAX_TERMS];
        let mut words = 0u32;
        for_each_stem(text, |stem| {
            words += 1;
            if let Some(&(number, _)) = self.terms.get(&stem) {
                counts[usize::from(number)] += 1;
            }
        });
        let per_mille = 1000.0 / (words as f32 + SHORT_WORDS);
        let sum: f32 = self
            .terms
            .values()
            .map(|&(number, weight)| {
                let often = counts[usize::from(number)] as f32 * per_mille;
                self.weight(number, weight) * often / (often + HALF_PER_MILLE)
            })
            .sum();
        let relevance = (sum / self.full(FULL_TERMS)).min(1.0);
        let mean = f32::from_bits(self.seen.mean.load(Relaxed));
        self.seen.mean.store((mean + (relevance - mean) * MEAN_STEP).to_bits(), Relaxed);
        if relevance > OFF_TOPIC * mean {
            return relevance;
        }
        self.seen.pages.fetch_add(1, Relaxed);
        for (with, _) in self.seen.with.iter().zip(counts).filter(|(_, count)| *count > 0) {
            with.fetch_add(1, Relaxed);
        }
        relevance
    }

    /// How much of the topic an anchor, or the words of a URL, names, 0 to 1.
    pub fn named_in(&self, text: &str) -> f32 {
        if self.is_empty() || text.is_empty() {
            return 0.0;
        }
        let mut sum = 0.0;
        for_each_stem(text, |stem| {
            sum += self.terms.get(&stem).map_or(0.0, |&(number, weight)| self.weight(number, weight));
        });
        // Most links name nothing of it.
        if sum == 0.0 { 0.0 } else { (sum / self.full(FULL_NAMES)).min(1.0) }
    }

    /// How well a page that is not fetched yet can be expected to suit the topic: by the link's anchor, the text around
    /// it, the words of its URL and the page it stands on.
    pub fn link_relevance(&self, anchor: &str, around: &str, url: &str, page: f32) -> f32 {
        let missed = (1.0 - self.named_in(anchor))
            * (1.0 - 0.5 * self.named_in(around))
            * (1.0 - 0.5 * self.named_in(url));
        PAGE_SHARE * page + (1.0 - PAGE_SHARE) * (1.0 - missed)
    }

    /// The words that tell most about a text, heaviest first, as [`Self::new`] takes them.
    pub fn words_of(text: &str, most: usize) -> Vec<String> {
        let mut counts: HashMap<u64, (u32, String), FixedState> = HashMap::default();
        for word in words(text) {
            let mut stem = word.to_lowercase().into_bytes();
            if is_stop(&stem) || stem.len() < 3 || stem.iter().all(u8::is_ascii_digit) {
                continue;
            }
            stemmer::stem(&mut stem);
            counts.entry(xxh3_64(&stem)).or_insert_with(|| (0, word.to_lowercase())).0 += 1;
        }
        let mut counts: Vec<(u32, String)> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.truncate(most);
        let top = counts.first().map_or(1, |(count, _)| *count) as f32;
        counts.into_iter().map(|(count, word)| format!("{word}:{:.3}", count as f32 / top)).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1 && word.len() <= stemmer::MAX_WORD)
}

fn is_stop(word: &[u8]) -> bool {
    super::keywords::is_stop_word(word)
}

fn for_each_stem(text: &str, mut found: impl FnMut(u64)) {
    let mut stem: Vec<u8> = Vec::with_capacity(32);
    for word in words(text) {
        stem.clear();
        if word.is_ascii() {
            stem.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
        } else {
            stem.extend_from_slice(word.to_lowercase().as_bytes());
        }
        if is_stop(&stem) {
            continue;
        }
        stemmer::stem(&mut stem);
        found(xxh3_64(&stem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLAR: &str = "Solar panels turn light into power. A panel of silicon cells powers a home; solar farms power towns.";
    const FISH: &str =
        "The trout is a fish of cold rivers. Anglers catch trout with flies in spring and autumn.";

    #[test]
    fn a_page_on_the_topic_is_more_relevant_than_another() {
        let topic = Topic::new(["solar power", "panel:2", "silicon"]);
        assert!(topic.relevance(SOLAR) > 0.8, "{}", topic.relevance(SOLAR));
        assert_eq!(topic.relevance(FISH), 0.0);
        assert_eq!(Topic::new([]).relevance(SOLAR), 0.0);
    }

    #[test]
    fn anchors_urls_and_the_page_decide_about_a_link() {
        let topic = Topic::new(["solar", "panels", "power"]);
        let link = |anchor, url, page| topic.link_relevance(anchor, "", url, page);
        assert!(link("Solar panels", "http://a.org/x", 0.0) > link("More", "http://a.org/x", 0.0));
        assert!(link("More", "http://a.org/solar-panel", 0.0) > link("More", "http://a.org/x", 0.0));
        assert!(link("More", "http://a.org/x", 0.9) > link("More", "http://a.org/x", 0.1));
        assert!(link("Solar power", "http://a.org/panels", 1.0) <= 1.0);
    }

    #[test]
    fn words_that_every_page_has_lose_their_weight() {
        let topic = Topic::new(["solar", "panel", "inverter", "grid", "river"]);
        let (solar, river) = ("solar panel, inverter and grid on this page", "river words of this page");
        for _ in 0..200 {
            topic.relevance(solar);
            topic.relevance(river);
        }
        let (solar, river) = (topic.relevance(solar), topic.relevance(river));
        assert!(river < 0.3 * solar, "{river} against {solar}");
    }

    #[test]
    fn an_example_page_tells_its_topic() {
        let words = Topic::words_of(SOLAR, 5);
        assert!(words[0].starts_with("pow"), "{words:?}");
        let topic = Topic::new(words.iter().map(String::as_str));
        assert!(topic.relevance(SOLAR) > 4.0 * topic.relevance(FISH));
    }
}
