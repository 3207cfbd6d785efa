//! What a page says that its host did not say before: how endless spaces are told from large ones.
//!
//! Read of pages with a query and of pages as deep as links are followed, so that most pages cost nothing. A line counts by
//! its letters alone, without digits: the pages of a calendar and of a faceted search repeat each other's lines, and a
//! generator of random text runs out of words. The tables forget when they are full: what was forgotten counts as
//! new, so that a doubt keeps pages.

use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use lycosa_types::HostKey;

/// Slots of the table of lines and of that of words.
const SLOTS: usize = 1 << 18;
/// Slots that a line or word may lie in: two that meet must not drive out each other again and again.
const BUCKET: usize = 8;
/// Letters of new lines from which on a page says something new.
const LEAST_LETTERS: u32 = 60;
/// Shorter words tell nothing.
const LEAST_WORD: u32 = 4;
/// Pages of one part of a host that may lead on beyond the depth before their words are looked at, too.
const FREE_PAGES: u32 = 1000;
/// Share of pages with a new word below which a part of a host only seems to say something new.
const LEAST_SHARE: f32 = 0.05;
const WEIGHT: f32 = 1.0 / 32.0;
/// Parts of hosts that are remembered; pages of others do not lead on beyond the depth.
const MAX_PARTS: usize = 1 << 16;

/// What a page said for the first time on its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newness {
    /// Letters in new lines.
    pub letters: u32,
    pub words: u32,
}

impl Newness {
    /// It has text of its own.
    pub fn has_text(self) -> bool {
        self.letters >= LEAST_LETTERS
    }

    /// It has text of its own with a word that is new.
    pub fn has_words(self) -> bool {
        self.has_text() && self.words > 0
    }
}

/// What was said before; shared by all workers.
#[derive(Debug, Default)]
pub struct Said {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    lines: Vec<u32>,
    words: Vec<u32>,
    parts: HashMap<u64, Part>,
}

/// A part of a host: all below one directory of its root.
#[derive(Debug)]
struct Part {
    /// Pages that led on beyond the depth.
    led_on: u32,
    /// Share of its last pages with a new word.
    wordy: f32,
}

impl Said {
    /// Reads a page's text, and remembers it.
    pub fn read(&self, host: HostKey, text: &str) -> Newness {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let Tables { lines, words, .. } = &mut *tables;
        lines.resize(SLOTS, 0);
        words.resize(SLOTS, 0);
        let mut found = Newness::default();
        for line in text.lines() {
            let (mut hash, mut letters) = (host.0, 0);
            let (mut word, mut length) = (host.0, 0);
            for byte in line.bytes().chain([b' ']) {
                if byte.is_ascii_alphabetic() || byte >= 0x80 {
                    hash = step(hash, byte);
                    letters += 1;
                    word = step(word, byte.to_ascii_lowercase());
                    length += 1;
                    continue;
                }
                if length >= LEAST_WORD && is_new(words, word) {
                    found.words += 1;
                }
                (word, length) = (host.0, 0);
            }
            if letters > 0 && is_new(lines, hash) {
                found.letters = found.letters.saturating_add(letters);
            }
        }
        found
    }

    /// Whether a page that is as deep as links are followed leads on beyond that.
    pub fn leads_on(&self, part: u64, newness: Newness) -> bool {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = &mut tables.parts;
        if parts.len() >= MAX_PARTS && !parts.contains_key(&part) {
            return false;
        }
        let part = parts.entry(part).or_insert(Part { led_on: 0, wordy: 1.0 });
        part.wordy += (f32::from(u8::from(newness.has_words())) - part.wordy) * WEIGHT;
        newness.has_text() && (part.led_on < FREE_PAGES || part.wordy >= LEAST_SHARE)
    }

    /// Such a page had links that nobody was told of before.
    pub fn led_on(&self, part: u64) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = tables.parts.get_mut(&part) {
            part.led_on = part.led_on.saturating_add(1);
        }
    }
}

/// The part of a host that a path lies in.
pub fn part_of(host: HostKey, path: &str) -> u64 {
    let end = path.get(1..).and_then(|rest| rest.find('/')).map_or(0, |at| at + 1);
    path.bytes().take(end).fold(host.0, step)
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

fn is_new(table: &mut [u32], hash: u64) -> bool {
    let hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    let print = (hash as u32) | 1;
    let at = (hash >> 32) as usize % (SLOTS / BUCKET) * BUCKET;
    let Some(bucket) = table.get_mut(at..at + BUCKET) else { return true };
    if bucket.contains(&print) {
        return false;
    }
    let place = bucket.iter().position(|slot| *slot == 0).unwrap_or(print as usize / 2 % BUCKET);
    bucket[place] = print;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostKey = HostKey(7);

    #[test]
    fn a_calendar_and_a_faceted_search_say_nothing_new_after_a_while() {
        let said = Said::default();
        let months = ["January", "February", "March", "April", "May", "June", "July", "August"];
        let month = |n: usize| format!("Events in {} {}\n1\n2\n3\nNo events\n", months[n % 8], 2000 + n / 8);
        (0..8).for_each(|n| {
            said.read(HOST, &month(n));
        });
        assert!((8..80).all(|n| !said.read(HOST, &month(n)).has_text()));
        let product =
            |n: usize| format!("Lamp number {n} of the {} kind, which shines on every desk\n", months[n % 8]);
        let facet = |n: usize| format!("Filter {n}\n{}{}{}", product(n), product(n * 3), product(n * 5));
        (0..8).for_each(|n| {
            said.read(HOST, &facet(n));
        });
        assert!((8..80).all(|n| !said.read(HOST, &facet(n)).has_text()));
    }

    #[test]
    fn articles_go_on_saying_something_new() {
        let said = Said::default();
        for n in 0..500u64 {
            let words: String = (0..25).map(|w| format!("word{} ", letters(n * 25 + w))).collect();
            let page = format!("Our terms of delivery are the same on every page of this shop\n{words}\n");
            assert!(said.read(HOST, &page).has_words(), "{n}");
        }
    }

    fn letters(mut n: u64) -> String {
        let mut out = String::new();
        while n > 0 {
            out.push(char::from(b'a' + (n % 26) as u8));
            n /= 26;
        }
        out
    }

    #[test]
    fn random_text_of_known_words_leads_on_for_a_while_only() {
        let said = Said::default();
        let lexicon = ["solar", "panel", "wolf", "spider", "garden", "river", "stone", "bridge"];
        let part = part_of(HOST, "/calendar/2026/01/");
        let mut pages = 0u32;
        for n in 0..5000usize {
            let words: Vec<&str> =
                (0..30u32).map(|w| lexicon[(n >> (w % 12)) * (w as usize + 3) % 8]).collect();
            let newness = Newness { letters: 99, ..said.read(HOST, &words.join(" ")) };
            if said.leads_on(part, newness) {
                said.led_on(part);
                pages += 1;
            }
        }
        assert_eq!(pages, FREE_PAGES);
    }
}
