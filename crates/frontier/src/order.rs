//! Which of two waiting URLs goes first. An order turns what is known about a URL ([`Signals`]) into a [`Rank`]; host
//! queues and the schedule only ever compare ranks, so a new order is a new way to compute one.
//!
//! What is known grows while a URL waits: orders that follow links are told, and the URL moves
//! ([`crate::Frontier::reorder`]). To keep moves rare, priorities are steps on a logarithmic scale.
//!
//! Fairness: under the orders by importance a URL found [`FAIRNESS_URLS`] later counts one doubling less, so whatever
//! is found first is served some day, however much better the new ones are. `pvalue` serves its lowest list once in
//! seven turns. Politeness is not an order's business: the schedule asks for the best URL of a host that may be asked.

use serde::{Deserialize, Serialize};

use crate::host_queue::Entry;

/// The orders a crawl can follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Fewest links from a seed first, then first found first.
    #[default]
    BreadthFirst,
    /// Most links from a seed first, then last found first.
    DepthFirst,
    /// Most important first, by the links known so far.
    BestFirst,
    /// Three equal lists by forward minus backward links, served 4 : 2 : 1.
    Pvalue,
    /// Most links to it first.
    Backlink,
    /// Most links on it first, as far as its neighbours tell.
    ForwardLink,
    /// By the look of the URL: near the root, no query.
    Location,
    /// Nearest to the topic first.
    Relevance,
}

/// What is known about a waiting URL.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// Links from a seed.
    pub depth: u16,
    /// Importance by links seen so far; only ratios count.
    pub importance: f32,
    /// Pages seen so far that link to it.
    pub backlinks: u32,
    /// Links it is expected to have.
    pub forward_links: f32,
    /// How well it suits the topic, 0 to 1.
    pub relevance: f32,
}

/// A place in a queue: smaller goes first. The sequence makes it unique within a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank {
    pub priority: u32,
    pub sequence: u64,
}

impl Rank {
    pub const FIRST: Self = Self { priority: 0, sequence: 0 };
    /// Sequences have 48 bits on disk: a million URLs a second for nine years.
    pub const LAST: Self = Self { priority: u32::MAX, sequence: (1 << 48) - 1 };

    /// Priorities from here on are behind those of every order.
    const LATE: u32 = 0xF000_0000;

    /// The same place behind all entries that are not late.
    pub fn late(self) -> Self {
        Self { priority: Self::LATE.saturating_add(self.priority % Self::LATE), ..self }
    }

    pub fn is_late(self) -> bool {
        self.priority >= Self::LATE
    }

    /// The smallest rank above this one.
    pub fn next(self) -> Self {
        if self.sequence < Self::LAST.sequence {
            Self { sequence: self.sequence + 1, ..self }
        } else {
            Self { priority: self.priority.saturating_add(1), sequence: 0 }
        }
    }
}

/// URLs found until a new one counts one doubling less.
pub const FAIRNESS_URLS: u64 = 1 << 18;

/// Steps of priority per doubling.
const STEPS: f32 = 4.0;
/// The scale reaches this many doublings either way.
const DOUBLINGS: f32 = 64.0;

/// Pages of a host that count as fetched, and as known, before the first one is.
const UNSEEN: f32 = 0.1;

/// Priorities of the pvalue order lie below this.
pub const PVALUE_STEPS: u32 = 4096;

impl Order {
    pub const ALL: [Self; 8] = [
        Self::BreadthFirst,
        Self::DepthFirst,
        Self::BestFirst,
        Self::Pvalue,
        Self::Backlink,
        Self::ForwardLink,
        Self::Location,
        Self::Relevance,
    ];

    /// The rank of a URL found as the `sequence`-th of the crawl.
    pub fn rank(self, url: &str, signals: &Signals, sequence: u64) -> Rank {
        let priority = match self {
            Self::BreadthFirst => u32::from(signals.depth),
            Self::DepthFirst => {
                return Rank {
                    priority: u32::from(u16::MAX - signals.depth),
                    sequence: Rank::LAST.sequence.saturating_sub(sequence),
                };
            }
            Self::BestFirst => aged(most_first(signals.importance), sequence),
            Self::Backlink => aged(most_first(signals.backlinks as f32 + 1.0), sequence),
            Self::ForwardLink => aged(most_first(signals.forward_links + 1.0), sequence),
            Self::Relevance => {
                let share = signals.relevance.clamp(0.0, 1.0);
                aged(((1.0 - share) * STEPS * DOUBLINGS) as u32, sequence)
            }
            Self::Pvalue => pvalue_priority(signals.forward_links - signals.backlinks as f32),
            Self::Location => aged(location_cost(url), sequence),
        };
        Rank { priority, sequence }
    }

    /// The rank a host stands for among those that may be asked, given the rank of its best URL. Where little of a host
    /// was fetched, most links to its pages are still unseen: what is known of them counts for more.
    pub(crate) fn among_hosts(self, rank: Rank, known: u64, fetched: u64) -> Rank {
        if self != Self::BestFirst {
            return rank;
        }
        let factor = (known as f32 + UNSEEN) / (fetched as f32 + UNSEEN);
        let steps = (factor.log2() * STEPS) as i64;
        let priority = (i64::from(rank.priority) - steps).clamp(0, i64::from(u32::MAX));
        Rank { priority: priority as u32, ..rank }
    }

    /// Whether what is known about a waiting URL can change its rank.
    pub fn moves(self) -> bool {
        matches!(self, Self::BestFirst | Self::Backlink | Self::Pvalue | Self::Relevance)
    }

    /// A change of priority below this is not worth moving a URL for. By importance, that is a doubling.
    pub(crate) fn least_move(self) -> u32 {
        if self == Self::BestFirst { STEPS as u32 } else { 1 }
    }

    /// Steps of priority by which a host may stand behind the best and still be asked before it, because it was asked last.
    /// On-line importance is no more exact than that.
    pub(crate) fn leeway(self) -> u32 {
        if self == Self::BestFirst { STEPS as u32 / 2 } else { 0 }
    }

    /// Whether the order lives on links that were met, and so needs every one of them.
    pub fn counts_links(self) -> bool {
        matches!(self, Self::BestFirst | Self::Backlink | Self::Pvalue)
    }

    /// The sequence number within a rank of this order.
    pub(crate) fn sequence_of(self, rank: Rank) -> u64 {
        match self {
            Self::DepthFirst => Rank::LAST.sequence.saturating_sub(rank.sequence),
            _ => rank.sequence,
        }
    }

    /// The entry's rank, now that this is known.
    pub(crate) fn rank_again(self, entry: &Entry, signals: &Signals) -> Rank {
        let signals = Signals { depth: entry.depth, ..*signals };
        self.rank(entry.url.as_str(), &signals, self.sequence_of(entry.rank))
    }
}

/// Steps down from the top of the scale: more is smaller.
fn most_first(value: f32) -> u32 {
    let doublings = value.max(f32::MIN_POSITIVE).log2().clamp(-DOUBLINGS, DOUBLINGS);
    ((DOUBLINGS - doublings) * STEPS) as u32
}

fn aged(priority: u32, sequence: u64) -> u32 {
    let age = (sequence / FAIRNESS_URLS).saturating_mul(STEPS as u64);
    priority.saturating_add(u32::try_from(age).unwrap_or(u32::MAX))
}

/// A step of the pvalue scale: signed and logarithmic, 64 steps to a doubling, the greatest value first.
fn pvalue_priority(pvalue: f32) -> u32 {
    let half = PVALUE_STEPS as f32 / 2.0;
    let step = pvalue.signum() * (1.0 + pvalue.abs()).log2() * 64.0;
    (half - step).clamp(0.0, PVALUE_STEPS as f32 - 1.0) as u32
}

/// The location metric: slashes count, a query counts more, and what looks like a home page is ahead.
fn location_cost(url: &str) -> u32 {
    let after_scheme = url.find("://").map_or(url, |at| &url[at + 3..]);
    let (host, path) = after_scheme.split_at(after_scheme.find('/').unwrap_or(after_scheme.len()));
    let slashes = path.bytes().filter(|&byte| byte == b'/').count().min(64) as u32;
    let query = if path.contains('?') { 12 } else { 0 };
    let long = (path.len() / 64).min(32) as u32;
    let home = path.len() <= 1 || path.contains("home") || path.contains("index");
    let bonus = u32::from(home) * 4 + u32::from(host.ends_with(".com") || host.ends_with(".org")) * 2;
    (slashes * 8 + query + long + 8).saturating_sub(bonus)
}

/// The three lists of the pvalue order: where they are cut, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Waiting entries per priority.
    counts: Vec<u32>,
    total: u64,
    /// The first priority of each list.
    starts: [u32; 3],
    changes: u32,
    turn: u32,
}

/// The lists are cut again after this many changes.
const RECUT: u32 = 512;
/// Seven turns: four for the first list, two for the second, one for the third.
const TURNS: [usize; 7] = [0, 1, 0, 2, 0, 1, 0];

impl Default for Lists {
    fn default() -> Self {
        Self { counts: vec![0; PVALUE_STEPS as usize], total: 0, starts: [0; 3], changes: 0, turn: 0 }
    }
}

impl Lists {
    pub(crate) fn enter(&mut self, rank: Rank) {
        if let Some(count) = self.counts.get_mut(rank.priority as usize) {
            *count += 1;
            self.total += 1;
        }
        self.changed();
    }

    pub(crate) fn leave(&mut self, rank: Rank) {
        if let Some(count) = self.counts.get_mut(rank.priority as usize).filter(|count| **count > 0) {
            *count -= 1;
            self.total -= 1;
        }
        self.changed();
    }

    fn changed(&mut self) {
        self.changes += 1;
        // Early on every change matters; later the cuts move slowly.
        if self.changes >= RECUT.min(self.total as u32 / 8 + 1) {
            self.changes = 0;
            self.recut();
        }
    }

    fn recut(&mut self) {
        let third = self.total.div_ceil(3).max(1);
        let (mut below, mut list) = (0u64, 1);
        self.starts = [0, PVALUE_STEPS - 1, PVALUE_STEPS - 1];
        for (priority, &count) in self.counts.iter().enumerate() {
            if list < 3 && below >= third * list as u64 {
                self.starts[list] = priority as u32;
                list += 1;
            }
            below += u64::from(count);
        }
    }

    /// Where to take the next entry from.
    pub(crate) fn next_start(&mut self) -> Rank {
        let list = TURNS[self.turn as usize % TURNS.len()];
        self.turn = self.turn.wrapping_add(1);
        Rank { priority: self.starts[list], sequence: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const URL: &str = "http://a.org/b";

    #[test]
    fn orders_differ_in_what_goes_first() {
        let rank = |order: Order, depth, sequence| {
            order.rank(URL, &Signals { depth, ..Signals::default() }, sequence)
        };
        assert!(rank(Order::BreadthFirst, 0, 1) < rank(Order::BreadthFirst, 1, 2));
        assert!(rank(Order::BreadthFirst, 1, 2) < rank(Order::BreadthFirst, 1, 3));
        assert!(rank(Order::DepthFirst, 1, 2) < rank(Order::DepthFirst, 0, 1));
        assert!(rank(Order::DepthFirst, 1, 3) < rank(Order::DepthFirst, 1, 2));
    }

    #[test]
    fn a_better_signal_goes_first() {
        let signals = |value: f32| Signals {
            importance: value,
            backlinks: value as u32,
            forward_links: value,
            relevance: value / 100.0,
            depth: 0,
        };
        for order in [Order::BestFirst, Order::Backlink, Order::ForwardLink, Order::Relevance] {
            assert!(order.rank(URL, &signals(50.0), 9) < order.rank(URL, &signals(5.0), 8), "{order:?}");
        }
        let location = |url| Order::Location.rank(url, &Signals::default(), 1).priority;
        assert!(location("http://a.com/") < location("http://a.net/x/y"));
        assert!(location("http://a.net/x/y") < location("http://a.net/x/y?q=1"));
    }

    #[test]
    fn pvalue_sorts_by_forward_minus_backward_links() {
        let priority = |forward_links, backlinks| {
            let signals = Signals { forward_links, backlinks, ..Signals::default() };
            Order::Pvalue.rank(URL, &signals, 1).priority
        };
        assert!(priority(40.0, 2) < priority(30.0, 2));
        assert!(priority(30.0, 2) < priority(30.0, 9));
        // A broken link has no forward links and sinks.
        assert!(priority(1.0, 1) < priority(0.0, 5));
    }

    #[test]
    fn what_was_found_first_is_served_some_day() {
        let poor = Order::BestFirst.rank(URL, &Signals { importance: 1.0, ..Signals::default() }, 1);
        let rich = Signals { importance: 1024.0, ..Signals::default() };
        assert!(Order::BestFirst.rank(URL, &rich, 2) < poor);
        assert!(poor < Order::BestFirst.rank(URL, &rich, 11 * FAIRNESS_URLS));
    }

    #[test]
    fn three_equal_lists_take_turns_four_two_one() {
        let mut lists = Lists::default();
        for n in 0..3000u64 {
            lists.enter(Rank { priority: (n % 30) as u32 * 100, sequence: n });
        }
        let starts: Vec<u32> = (0..7).map(|_| lists.next_start().priority).collect();
        let turns = |range: std::ops::Range<u32>| starts.iter().filter(|start| range.contains(start)).count();
        assert_eq!(turns(0..1), 4);
        assert_eq!(turns(900..1001), 2);
        assert_eq!(turns(1900..2001), 1);
        // The distribution moves: everything in the first list leaves, and the cuts follow.
        for n in 0..3000u64 {
            let rank = Rank { priority: (n % 30) as u32 * 100, sequence: n };
            if rank.priority < 1500 {
                lists.leave(rank);
            }
        }
        let lowest = (0..7).map(|_| lists.next_start().priority).max();
        assert!(lowest.is_some_and(|start| (2400..2700).contains(&start)), "{lowest:?}");
    }

    proptest! {
        #[test]
        fn priorities_fall_as_signals_rise(a in 0.0f32..1e9, b in 0.0f32..1e9, sequence in 0u64..1 << 30) {
            let rank = |importance| Order::BestFirst.rank(URL, &Signals { importance, ..Signals::default() }, sequence);
            if a <= b {
                prop_assert!(rank(b) <= rank(a));
            }
        }
    }
}
