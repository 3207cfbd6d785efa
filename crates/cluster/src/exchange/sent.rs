//! What was sent already. A link that is met on a million pages travels about twenty times: when it is first seen, when it
//! is seen on a shorter way, and whenever the pages it was seen on have doubled since; then their number goes along.
//!
//! Two generations of bounded tables: when the young one is full it becomes the old one and the old one is forgotten.
//! A forgotten link is sent once more, which costs a few bytes and nothing else. Counts that were waiting for the next
//! doubling are forgotten with it, so backlink counts at the owner are right to within a factor of two.

use foldhash::HashMap;

/// Links remembered unless told otherwise. One takes about 40 bytes.
pub const DEFAULT_SENT_LINKS: usize = 500_000;

#[derive(Clone, Copy, Debug)]
struct Seen {
    sent: u32,
    waiting: u32,
    importance: f32,
    depth: u16,
}

/// What to do with a link that was met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sighting {
    /// It travels, with the pages and the importance gathered since it last did.
    Send { backlinks: u32, importance: f32 },
    /// It was sent, and is counted for later.
    Hold,
}

#[derive(Debug)]
pub struct SentMemory {
    young: HashMap<u64, Seen>,
    old: HashMap<u64, Seen>,
    capacity: usize,
}

impl SentMemory {
    /// Remembers up to about `capacity` links.
    pub fn new(capacity: usize) -> Self {
        Self { young: HashMap::default(), old: HashMap::default(), capacity: (capacity / 2).max(1) }
    }

    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    /// Notes that a link was met, `key` being a hash of its URL.
    pub fn note(&mut self, key: u64, depth: u16, importance: f32) -> Sighting {
        let mut seen = match self.young.get(&key) {
            Some(seen) => *seen,
            None => self.old.remove(&key).unwrap_or(Seen {
                sent: 0,
                waiting: 0,
                importance: 0.0,
                depth: u16::MAX,
            }),
        };
        seen.waiting = seen.waiting.saturating_add(1);
        seen.importance += importance;
        let nearer = depth < seen.depth;
        let answer = if nearer || seen.waiting >= seen.sent {
            let answer = Sighting::Send { backlinks: seen.waiting, importance: seen.importance };
            seen.sent = seen.sent.saturating_add(seen.waiting);
            seen.waiting = 0;
            seen.importance = 0.0;
            answer
        } else {
            Sighting::Hold
        };
        seen.depth = seen.depth.min(depth);
        self.young.insert(key, seen);
        if self.young.len() > self.capacity {
            self.old = std::mem::take(&mut self.young);
        }
        answer
    }

    /// Forgets a link: what was to carry it did not.
    pub fn forget(&mut self, key: u64) {
        self.young.remove(&key);
        self.old.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popular_links_travel_a_logarithmic_number_of_times_and_counts_add_up() {
        let mut memory = SentMemory::new(100);
        let (mut times, mut total, mut weight) = (0, 0, 0.0);
        for _ in 0..1_000_000 {
            if let Sighting::Send { backlinks, importance } = memory.note(7, 3, 0.5) {
                times += 1;
                total += backlinks;
                weight += importance;
            }
        }
        assert_eq!(times, 20);
        assert!(total > 500_000 && total <= 1_000_000, "{total}");
        assert!((f64::from(weight) - f64::from(total) / 2.0).abs() < 1.0);
    }

    #[test]
    fn a_shorter_way_is_news() {
        let mut memory = SentMemory::new(100);
        for _ in 0..3 {
            memory.note(7, 5, 0.0);
        }
        assert_eq!(memory.note(7, 6, 0.0), Sighting::Send { backlinks: 2, importance: 0.0 });
        assert_eq!(memory.note(7, 6, 0.0), Sighting::Hold);
        assert_eq!(memory.note(7, 4, 0.0), Sighting::Send { backlinks: 2, importance: 0.0 });
        assert_eq!(memory.note(7, 4, 0.0), Sighting::Hold);
    }

    #[test]
    fn memory_is_bounded_and_the_forgotten_is_sent_again() {
        let mut memory = SentMemory::new(1000);
        for key in 0..100_000 {
            assert_ne!(memory.note(key, 1, 0.0), Sighting::Hold);
            assert!(memory.len() <= 1002);
        }
        assert_ne!(memory.note(5, 1, 0.0), Sighting::Hold);
        memory.note(5, 1, 0.0);
        memory.forget(5);
        assert_eq!(memory.note(5, 9, 0.0), Sighting::Send { backlinks: 1, importance: 0.0 });
    }
}
