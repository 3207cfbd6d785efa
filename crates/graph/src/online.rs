//! On-line importance: what a page is worth as far as the pages fetched so far tell, known while the crawl runs.
//!
//! Each fetched page hands its worth on to the pages it links to, in shares that follow the weights of its links:
//!
//! ```text
//! importance(u) = sum over fetched pages q that link to u of  damping × worth(q) × weight(q → u) / total weight(q)
//! worth(q)      = (1 − damping) + importance(q)
//! ```
//!
//! This is PageRank times the number of pages, of the part of the web that was fetched; pages that wait collect and hand nothing
//! on. When a page is fetched it hands on what it has. What reaches it later is kept as *unspent*, and a [`Sweeper`]
//! that walks the edge log beside the crawl hands that on too: cash in the manner of OPIC, spent page by page, with an income of
//! `1 − damping` for every page. It costs one table lookup a link and twenty bytes a slot.
//!
//! How far a host was crawled matters as much as importance: where little was fetched, most in-links are still unseen.
//! [`host_lift`] says how many classes to lift all URLs of a host by; it never changes the order within a host.
//! The example `order_sim` compares these with other orders.
//!
//! # Use
//!
//! ```
//! use lycosa_graph::online::{OnlineImportance, OnlineOptions};
//!
//! let mut online = OnlineImportance::new(OnlineOptions::default());
//! let mut moved = Vec::new();
//! // Page 1 links to pages 2 and 3; both are new, so both have moved.
//! online.fetched(1, [2, 3], &mut moved);
//! assert_eq!(moved.len(), 2);
//! assert_eq!(online.get(2).map(|known| known.in_links), Some(1));
//! // What waits is queued by its class: a higher class goes first.
//! assert!(moved[0].class >= 0 && moved[0].before.is_none());
//! ```
//!
//! - [`OnlineImportance::fetched`] (or `fetched_weighted`) once for every page that is committed, with the targets of its
//!   links, each once. It appends to `moved` what changed *materially*: URLs that are new to the table and those whose
//!   [`class`] changed. Everything else keeps its place in its queue. The caller clears `moved`.
//! - [`OnlineImportance::get`] tells importance, class, in-links so far and whether the URL was fetched.
//! - [`Sweeper::run`] after each page, for [`SWEPT_PER_FETCH`] pages: less is much worse, more hardly better.
//! - After a restart, [`OnlineImportance::replay`] takes in the edge log; sweeps catch up with what is missing then.
//!
//! # Promises
//!
//! Memory stays below [`OnlineOptions::memory_bytes`]: when a part of the table is full, it forgets the URLs that were fetched
//! and then those that are worth least (a quarter of it at a time). A forgotten URL that is linked again starts afresh.
//! A part is at most 1/256 of the table, so no call waits for the whole table to grow. The same calls give the same
//! answers; the seed only moves entries about.

mod sweeper;
mod table;

use std::path::Path;

use crate::edge_log::{EdgeLogError, PageEdges, read_edges};
use crate::weight::Weighting;
use table::Table;

pub use sweeper::{SWEPT_PER_FETCH, Sweeper};
pub use table::Known;

/// Classes per doubling of importance.
pub const CLASSES_PER_OCTAVE: i32 = 2;
/// The class of whatever is worth less than 2⁻³².
const LEAST_EXPONENT: i32 = -32;

const PART_BITS: u32 = 8;
/// Most that one message may add to a URL: more than all pages of a large crawl hand on together.
const MOST_RECEIVED: f32 = 1e9;

/// The class of an importance: 0 for next to nothing, [`CLASSES_PER_OCTAVE`] more for each doubling. Higher goes first.
pub fn class(importance: f32) -> i32 {
    if importance.is_nan() || importance <= 0.0 {
        return 0;
    }
    let bits = importance.to_bits();
    let exponent = ((bits >> 23) & 0xff) as i32 - 127;
    // The upper half of an octave begins at its geometric middle, 2^½.
    const ROOT_MANTISSA: u32 = 0x3504f3;
    let upper = i32::from(bits & 0x7f_ffff >= ROOT_MANTISSA);
    ((exponent - LEAST_EXPONENT) * CLASSES_PER_OCTAVE + upper).max(0)
}

/// Weighs a host of which nothing was fetched against one of which one page was.
const HOST_PRIOR: f32 = 0.1;

/// By how many classes the URLs of a host go ahead, given how many of its URLs are known and how many were fetched:
/// `log2((known + 0.1) / (fetched + 0.1))` octaves. Never negative as long as `known` counts the fetched ones too.
pub fn host_lift(known: u64, fetched: u64) -> i32 {
    let factor = (known as f32 + HOST_PRIOR) / (fetched as f32 + HOST_PRIOR);
    (factor.log2() * CLASSES_PER_OCTAVE as f32).round() as i32
}

/// A sweep passes a page by unless it can hand on this share of what it handed on before.
const WORTH_SPENDING: f32 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineOptions {
    /// Share of its worth that a page hands on.
    pub damping: f32,
    /// Upper limit of the table.
    pub memory_bytes: usize,
    /// Moves entries about in the table, so that nobody can choose URLs that collide in it.
    pub seed: u64,
}

impl Default for OnlineOptions {
    fn default() -> Self {
        Self { damping: 0.85, memory_bytes: 512 << 20, seed: 0x9e37_79b9_7f4a_7c15 }
    }
}

/// A URL whose importance changed materially.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// The low half of its key.
    pub url: u64,
    pub importance: f32,
    /// [`class`] of the importance.
    pub class: i32,
    /// The class before; none if the URL is new to the table.
    pub before: Option<i32>,
    /// Pages known to link to it.
    pub in_links: u32,
}

/// See the module.
#[derive(Debug)]
pub struct OnlineImportance {
    options: OnlineOptions,
    parts: Vec<Table>,
    forgotten: u64,
}

impl OnlineImportance {
    pub fn new(options: OnlineOptions) -> Self {
        let most_slots = (options.memory_bytes >> PART_BITS) / Table::SLOT_BYTES;
        let parts = (0..1 << PART_BITS).map(|_| Table::new(most_slots, options.seed)).collect();
        Self { options, parts, forgotten: 0 }
    }

    /// A page was fetched whose links lead to `targets`, each named once. Links to itself are passed over.
    pub fn fetched(
        &mut self,
        page: u64,
        targets: impl IntoIterator<Item = u64, IntoIter: Clone>,
        moved: &mut Vec<Moved>,
    ) {
        self.fetched_weighted(page, targets.into_iter().map(|target| (target, 1.0)), moved);
    }

    /// The same with a weight for each link; see [`crate::weight`]. A page that was fetched before has no income again, and
    /// its links count no second time.
    pub fn fetched_weighted(
        &mut self,
        page: u64,
        targets: impl IntoIterator<Item = (u64, f32), IntoIter: Clone>,
        moved: &mut Vec<Moved>,
    ) {
        let hash = self.hash(page);
        let (amount, is_first) = self.parts[part_of(hash)].visit(page, hash, &mut self.forgotten);
        let income = if is_first { 1.0 - self.options.damping } else { 0.0 };
        self.hand_on(page, income + amount, targets.into_iter(), is_first, moved);
    }

    /// Hands on what reached a fetched page since it last did so, if that is enough to matter. Says whether it was.
    pub fn sweep(
        &mut self,
        page: u64,
        targets: impl IntoIterator<Item = (u64, f32), IntoIter: Clone>,
        moved: &mut Vec<Moved>,
    ) -> bool {
        if !self.is_worth_sweeping(page) {
            return false;
        }
        let hash = self.hash(page);
        let (amount, _) = self.parts[part_of(hash)].visit(page, hash, &mut self.forgotten);
        self.hand_on(page, amount, targets.into_iter(), false, moved);
        true
    }

    fn is_worth_sweeping(&self, page: u64) -> bool {
        let hash = self.hash(page);
        self.parts[part_of(hash)].unspent(page, hash).is_some_and(|(unspent, importance)| {
            unspent > WORTH_SPENDING * (1.0 - self.options.damping + importance - unspent)
        })
    }

    fn hand_on(
        &mut self,
        page: u64,
        amount: f32,
        targets: impl Iterator<Item = (u64, f32)> + Clone,
        are_new_links: bool,
        moved: &mut Vec<Moved>,
    ) {
        let targets = targets.filter(|(target, _)| *target != page);
        // The table is larger than any cache: its slots are read here all at once, so that paying does not wait for
        // memory link by link.
        let (mut total, mut touched) = (0.0, 0);
        for (url, weight) in targets.clone() {
            let hash = self.hash(url);
            touched ^= self.parts[part_of(hash)].touch(hash);
            total += weight;
        }
        std::hint::black_box(touched);
        if total <= 0.0 {
            return;
        }
        let share = self.options.damping * amount / total;
        for (url, weight) in targets {
            let hash = self.hash(url);
            let part = &mut self.parts[part_of(hash)];
            let new_links = u32::from(are_new_links);
            let (before, known) = part.pay(url, hash, share * weight, new_links, &mut self.forgotten);
            let (before, class) = (before.map(class), class(known.importance));
            if !known.fetched && before != Some(class) {
                let Known { importance, in_links, .. } = known;
                moved.push(Moved { url, importance, class, before, in_links });
            }
        }
    }

    /// Pages that were fetched elsewhere, `links` of them, gave a URL this much. Says whether that moves it.
    pub fn receive(&mut self, url: u64, importance: f32, links: u32) -> bool {
        let hash = self.hash(url);
        let part = &mut self.parts[part_of(hash)];
        let amount = if importance.is_finite() { importance.clamp(0.0, MOST_RECEIVED) } else { 0.0 };
        let (before, known) = part.pay(url, hash, amount, links, &mut self.forgotten);
        !known.fetched && before.map(class) != Some(class(known.importance))
    }

    /// What is known of a URL.
    pub fn get(&self, url: u64) -> Option<Known> {
        let hash = self.hash(url);
        self.parts[part_of(hash)].get(url, hash)
    }

    /// Takes in an edge log from its start, as if its pages were fetched now: for a crawl that goes on.
    pub fn replay(&mut self, log: &Path, weighting: Weighting) -> Result<(), EdgeLogError> {
        let (mut reader, mut page) = (read_edges(log)?, PageEdges::default());
        let mut moved = Vec::new();
        while reader.next_into(&mut page)? {
            let weigh = |edge: &crate::Edge| (edge.target, weighting.of(edge.attributes));
            self.fetched_weighted(page.source, page.edges.iter().map(weigh), &mut moved);
            moved.clear();
        }
        Ok(())
    }

    /// URLs in the table.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Table::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// URLs forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Bytes the table takes now.
    pub fn memory_bytes(&self) -> usize {
        self.parts.iter().map(Table::memory_bytes).sum()
    }

    fn hash(&self, url: u64) -> u64 {
        table::hash(url, self.options.seed)
    }
}

fn part_of(hash: u64) -> usize {
    (hash >> (64 - PART_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn online(memory_bytes: usize) -> OnlineImportance {
        OnlineImportance::new(OnlineOptions { memory_bytes, ..OnlineOptions::default() })
    }

    #[test]
    fn worth_flows_along_links_in_the_order_of_the_crawl() {
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        online.fetched(1, [1, 2, 3], &mut moved);
        online.fetched(2, [3], &mut moved);
        let share = 0.85 * 0.15 / 2.0;
        let expected = share + 0.85 * (0.15 + share);
        let three = online.get(3).unwrap();
        assert!((three.importance - expected).abs() < 1e-6);
        assert_eq!((three.in_links, three.fetched), (2, false));
        assert!(online.get(2).unwrap().fetched && online.get(1).unwrap().in_links == 0);
        assert!(online.get(4).is_none());
    }

    #[test]
    fn what_comes_from_elsewhere_counts_like_what_was_found_here() {
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        online.fetched(1, [2], &mut moved);
        let before = online.get(2).unwrap();
        assert!(online.receive(2, 3.0 * before.importance, 7));
        let after = online.get(2).unwrap();
        assert!((after.importance / before.importance - 4.0).abs() < 1e-5);
        assert_eq!(after.in_links, 8);
        assert!(!online.receive(2, 0.0, u32::MAX) && !online.receive(2, f32::NAN, 1));
        assert_eq!(online.get(2).unwrap().importance, after.importance);
        assert!(online.get(2).unwrap().in_links > 1 << 20);
    }

    #[test]
    fn only_material_changes_of_waiting_urls_are_told() {
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        online.fetched(1, [100], &mut moved);
        assert_eq!(moved.iter().map(|m| (m.url, m.before)).collect::<Vec<_>>(), [(100, None)]);
        moved.clear();
        for page in 2..=64 {
            online.fetched(page, [100], &mut moved);
        }
        // 64 times as much: six doublings, two classes each; the first doubling takes both steps at once.
        assert_eq!(moved.len(), 11);
        assert_eq!(moved[10].class - moved[0].before.unwrap(), 6 * CLASSES_PER_OCTAVE);
        assert!(moved.windows(2).all(|pair| pair[1].before == Some(pair[0].class)));
        moved.clear();
        online.fetched(100, [], &mut moved);
        (200..400).for_each(|page| online.fetched(page, [100], &mut moved));
        assert!(moved.is_empty(), "fetched pages do not wait any more");
    }

    #[test]
    fn sweeps_lead_to_the_fixed_point() {
        // 1 and 2 link to each other, 1 to 3 as well; 2 is paid before and after it is fetched.
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        online.fetched(2, [1], &mut moved);
        online.fetched(1, [2, 3], &mut moved);
        for _ in 0..200 {
            online.sweep(2, [(1, 1.0)], &mut moved);
            online.sweep(1, [(2, 1.0), (3, 1.0)], &mut moved);
        }
        // x1 = .85 (.15 + x2), x2 = x3 = .85 (.15 + x1) / 2, but for what is not worth spending any more.
        let x1 = (0.85 * 0.15 + 0.85 * 0.85 * 0.15 / 2.0) / (1.0 - 0.85 * 0.85 / 2.0);
        let x3 = 0.85 * (0.15 + x1) / 2.0;
        assert!((online.get(1).unwrap().importance / x1 - 1.0).abs() < 0.2);
        assert!((online.get(3).unwrap().importance / x3 - 1.0).abs() < 0.2);
        assert_eq!(online.get(3).unwrap().in_links, 1);
        assert!(!online.sweep(3, [(1, 1.0)], &mut moved), "3 was not fetched");
    }

    #[test]
    fn a_second_visit_adds_no_income_and_no_links() {
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        online.fetched(1, [2], &mut moved);
        let before = online.get(2);
        online.fetched(1, [2], &mut moved);
        assert_eq!(online.get(2), before);
    }

    #[test]
    fn hosts_that_were_hardly_crawled_are_lifted() {
        assert_eq!(host_lift(1, 1), 0);
        assert_eq!(host_lift(0, 0), 0);
        assert!(host_lift(1, 0) > host_lift(100, 50));
        assert!(host_lift(100, 10) > host_lift(100, 50));
    }

    #[test]
    fn memory_is_bounded_and_the_worthy_are_kept() {
        let (mut online, mut moved) = (online(1 << 20), Vec::new());
        for page in 0..200_000u64 {
            online.fetched(page << 32, [7, 8, page * 2 + 1_000_001], &mut moved);
            moved.clear();
        }
        assert!(online.memory_bytes() <= 1 << 20, "{}", online.memory_bytes());
        assert!(online.forgotten() > 100_000);
        assert_eq!(online.get(7).unwrap().in_links, 200_000);
    }

    #[test]
    fn classes_split_each_doubling_in_two() {
        assert_eq!(class(0.0), 0);
        assert_eq!(class(-1.0), 0);
        assert_eq!(class(f32::NAN), 0);
        assert_eq!(class(1.5) - class(1.0), 1);
        assert_eq!(class(1.4) - class(1.0), 0);
        assert_eq!(class(2.0) - class(1.0), 2);
        assert_eq!(class(1e-30), 0);
    }

    #[test]
    fn a_replayed_log_gives_the_same_table() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = crate::EdgeLog::open(&path, None).unwrap();
        let (mut first, mut moved) = (online(1 << 20), Vec::new());
        for source in 1..50u64 {
            let edges =
                (1..source % 7 + 1).map(|i| crate::Edge { target: source * i % 60, attributes: 0x49 });
            let mut page = PageEdges { source, edges: edges.collect() };
            page.settle();
            first.fetched(source, page.edges.iter().map(|edge| edge.target), &mut moved);
            log.append(&page).unwrap();
        }
        log.sync().unwrap();
        let mut second = online(1 << 20);
        second.replay(&path, Weighting::Plain).unwrap();
        assert_eq!(second.len(), first.len());
        for url in 0..60 {
            assert_eq!(first.get(url), second.get(url));
        }
    }
}
