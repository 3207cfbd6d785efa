//! The URLs waiting for one host. All of them are on disk once committed; the best ones are also in memory.
//!
//! `spilled_from` is the line between the two: every waiting entry whose row on disk is below it is in memory, those in
//! rows at or above it may be on disk alone. Leasing takes from memory; when memory runs empty and there is a line, the
//! next stretch is loaded from there.
//!
//! An entry's [`Entry::rank`] is its place on disk. In memory it may stand elsewhere: what is learnt about a waiting URL
//! moves it at no cost but this map's, and its place on disk follows only if it leaves memory before it is leased.

use std::collections::BTreeMap;

use lycosa_types::{CanonUrl, UnixMs, UrlId, UrlKey, UrlRecord};

use crate::order::Rank;

/// One waiting URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place on disk.
    pub rank: Rank,
    pub key: UrlKey,
    pub url: CanonUrl,
    pub depth: u16,
    pub tries: u16,
    /// Redirects followed since the last link, and whether it is a requisite ([`lycosa_types::requisite`]).
    pub redirects: u8,
    pub found_on: Option<UrlId>,
    pub found_at: UnixMs,
    /// A page that was visited before: not kept in the queue on disk, since its record tells when it is due.
    pub revisit: bool,
    /// It stands behind all others of its host: for its last try, or because its section is broken.
    pub late: bool,
    /// Times the server refused it for reasons of pace, in a row.
    pub refused: u16,
}

impl Entry {
    /// What is known about the URL while it waits.
    pub fn into_record(self) -> UrlRecord {
        let record = UrlRecord::queued(self.url.into_string(), self.depth, self.found_on, self.found_at);
        UrlRecord {
            tries: self.tries,
            requisite: lycosa_types::requisite::is_marked(self.redirects),
            ..record
        }
    }
}

#[derive(Debug, Default)]
pub struct HostQueue {
    /// By where they stand. Boxed, because a node of the map has room for eleven, and most hosts have one.
    head: BTreeMap<Rank, Box<Entry>>,
    spilled_from: Option<Rank>,
    /// Where the best that is on disk alone is likely to stand, if that is known better than by the line: for the order
    /// among hosts. What is read does not depend on it.
    expected: Option<Rank>,
    /// Entries worth reading at once: more each time a stretch was used up, none more once one was dropped.
    stretch: u16,
}

/// Entries worth reading at once, at most.
const LONGEST_STRETCH: u16 = 256;
/// And at least.
pub const FIRST_STRETCH: u16 = 8;

impl HostQueue {
    /// A queue of which nothing is in memory yet, and whose best is likely to stand at `expected`.
    pub fn on_disk(expected: Rank) -> Self {
        Self { spilled_from: Some(Rank::FIRST), expected: Some(expected), ..Self::default() }
    }

    /// Whether a new entry is left to the disk.
    pub fn leaves_to_disk(&self, rank: Rank) -> bool {
        self.line_before(rank).is_some()
    }

    /// The line, if it is at or before `rank`: what stands there is left to the disk.
    pub fn line_before(&self, rank: Rank) -> Option<Rank> {
        self.spilled_from.filter(|line| rank >= *line)
    }

    /// Draws the line before an entry that stands behind all that are in memory: it is left to the disk.
    pub fn draw_line_before(&mut self, rank: Rank) {
        if self.spilled_from.is_none() && self.head.last_key_value().is_none_or(|(last, _)| *last < rank) {
            self.spilled_from = Some(rank);
        }
    }

    /// An entry was left to the disk at `rank`.
    pub fn expect(&mut self, rank: Rank) {
        self.expected = self.expected.map(|expected| expected.min(rank));
    }

    /// Takes in a new entry. Returns how many more entries are in memory (0 if it is left to the disk).
    pub fn push(&mut self, entry: Box<Entry>) -> usize {
        if self.leaves_to_disk(entry.rank) {
            return 0;
        }
        self.head.insert(entry.rank, entry);
        1
    }

    /// Puts back an entry that was leased, whatever the line says: it is not read from disk again while it is leased.
    pub fn put_back(&mut self, entry: Box<Entry>) {
        self.head.insert(entry.rank, entry);
    }

    /// The entry that stands last among those in memory that are not late.
    pub fn pop_last(&mut self) -> Option<Box<Entry>> {
        let rank = self.head.range(..Rank::FIRST.late()).next_back().map(|(rank, _)| *rank)?;
        self.head.remove(&rank)
    }

    /// Whether memory holds anything that is not late.
    pub fn has_more_than_late(&self) -> bool {
        self.head.first_key_value().is_some_and(|(rank, _)| !rank.is_late())
    }

    pub fn pop(&mut self) -> Option<Box<Entry>> {
        self.head.pop_first().map(|(_, entry)| entry)
    }

    /// The first entry from `from` on, as far as memory knows.
    pub fn pop_from(&mut self, from: Rank) -> Option<Box<Entry>> {
        let rank = self.head.range(from..).next().map(|(rank, _)| *rank)?;
        self.head.remove(&rank)
    }

    /// Takes out the entry that stands at `rank`, if it is in memory.
    pub fn take(&mut self, rank: Rank) -> Option<Box<Entry>> {
        self.head.remove(&rank)
    }

    /// Lets an entry stand at `rank`, which may differ from its place on disk.
    pub fn stand(&mut self, rank: Rank, entry: Box<Entry>) {
        self.head.insert(rank, entry);
    }

    /// Whether an entry in memory stands at `rank`.
    pub fn holds(&self, rank: Rank) -> bool {
        self.head.contains_key(&rank)
    }

    /// Whether memory holds anything from `from` on.
    pub fn reaches(&self, from: Rank) -> bool {
        self.head.range(from..).next().is_some()
    }

    /// Entries worth reading at the next reload, as far as the last ones tell.
    pub fn stretch(&self) -> usize {
        usize::from(self.stretch)
    }

    /// Where the next entry stands; if it is on disk, where it stands at the earliest.
    pub fn next(&self) -> Option<Rank> {
        self.best().or_else(|| self.spilled_from.map(|line| self.expected.unwrap_or(line).max(line)))
    }

    /// The rank that goes next, as far as memory knows.
    pub fn best(&self) -> Option<Rank> {
        self.head.first_key_value().map(|(rank, _)| *rank)
    }

    /// The entry that goes next, as far as memory knows.
    pub fn best_entry(&self) -> Option<&Entry> {
        self.head.first_key_value().map(|(_, entry)| &**entry)
    }

    /// Whether the next entry has to come from disk, and from which rank on.
    pub fn wants_reload(&self) -> Option<Rank> {
        if self.head.is_empty() { self.spilled_from } else { None }
    }

    /// Takes in what waits from the line on. `read_to` is the last row that was read, or none if that was all;
    /// the line moves there. Returns how many more entries are in memory.
    pub fn reload(&mut self, entries: impl IntoIterator<Item = Box<Entry>>, read_to: Option<Rank>) -> usize {
        let before = self.head.len();
        self.head.extend(entries.into_iter().map(|entry| (entry.rank, entry)));
        self.spilled_from = read_to.map(Rank::next);
        self.expected = None;
        self.stretch = self.stretch.saturating_mul(2).clamp(FIRST_STRETCH, LONGEST_STRETCH);
        self.head.len() - before
    }

    /// Leaves all but the best `keep` entries to the disk; `moved` is told of those whose place there is not where they
    /// stood, and of those that were tried, which the disk may not know yet. Returns how many left memory.
    pub fn shrink_to(&mut self, keep: usize, mut moved: impl FnMut(Rank, Box<Entry>)) -> usize {
        let mut dropped = 0;
        while self.head.len() > keep
            && let Some((rank, entry)) = self.head.pop_last()
        {
            self.spilled_from = Some(self.spilled_from.map_or(rank, |line| line.min(rank)));
            self.stretch = 0;
            dropped += 1;
            if entry.rank != rank || entry.tries > 0 {
                moved(rank, entry);
            }
        }
        dropped
    }

    pub fn in_memory(&self) -> usize {
        self.head.len()
    }

    pub fn has_spilled(&self) -> bool {
        self.spilled_from.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;
    use proptest::prelude::*;

    fn entry(priority: u32, sequence: u64) -> Entry {
        let url =
            CanonUrl::parse(&format!("http://a.org/{priority}/{sequence}"), &CanonRules::default()).unwrap();
        Entry {
            rank: Rank { priority, sequence },
            key: url.key(),
            url,
            depth: 0,
            tries: 0,
            redirects: 0,
            found_on: None,
            found_at: UnixMs(0),
            revisit: false,
            late: false,
            refused: 0,
        }
    }

    proptest! {
        /// Against a plain sorted map: nothing is lost, nothing comes twice, and each pop is the best that waits.
        #[test]
        fn serves_in_order_whatever_is_spilled(operations in prop::collection::vec((0u32..5, 0u8..10), 1..300)) {
            let mut queue = HostQueue::default();
            let mut disk = BTreeMap::new();
            let mut sequence = 0;
            for (priority, action) in operations {
                match action {
                    0..=4 => {
                        let entry = entry(priority, sequence);
                        sequence += 1;
                        if action == 4 {
                            queue.draw_line_before(entry.rank);
                        }
                        disk.insert(entry.rank, entry.clone());
                        queue.push(Box::new(entry));
                    }
                    5 => {
                        queue.shrink_to(priority as usize, |rank, mut entry| {
                            disk.remove(&entry.rank);
                            entry.rank = rank;
                            disk.insert(rank, *entry);
                        });
                    }
                    _ => {
                        if let Some(from) = queue.wants_reload() {
                            let found: Vec<Box<Entry>> =
                                disk.range(from..).take(3).map(|(_, e)| Box::new(e.clone())).collect();
                            let read_to = if found.len() < 3 { None } else { found.last().map(|e| e.rank) };
                            queue.reload(found, read_to);
                        }
                        let expected = disk.pop_first().map(|(rank, _)| rank);
                        prop_assert_eq!(queue.pop().map(|e| e.rank), expected);
                    }
                }
                // Among hosts it never stands behind what it has.
                if let Some(first) = disk.keys().next() {
                    prop_assert!(queue.next().is_some_and(|next| next <= *first));
                }
            }
        }
    }
}
