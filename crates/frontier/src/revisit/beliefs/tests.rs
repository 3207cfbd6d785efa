//! A crawl that starts in the cold, in simulated time: what visits teach must lead to the plan of one who knew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lycosa_types::UnixMs;

use super::*;
use crate::revisit::gain::periodic_freshness;
use crate::revisit::{Place, PolicyKind, PolicyOptions, Schedule};

const PAGES: usize = 400;
const END_MS: u64 = 400_000;
/// Eight visits in ten changes.
const BUDGET_PER_S: f64 = 40.0;

struct Draws(u64);

impl Draws {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

struct Crawl {
    rates: Vec<f64>,
    schedule: Schedule,
    beliefs: Beliefs,
    evidence: Vec<Evidence>,
    knows: bool,
    visits: u64,
}

impl Crawl {
    fn new(kind: PolicyKind, knows: bool) -> Self {
        let mut draws = Draws(5);
        // Mean times between changes from 4 to 400 seconds, uniform in the rate.
        let rates = (0..PAGES).map(|_| 0.0025 + draws.unit() * 0.2475).collect();
        let options = PolicyOptions { kind, min_interval_ms: 1000, ..PolicyOptions::default() };
        Self {
            rates,
            schedule: Schedule::new(options, BUDGET_PER_S),
            beliefs: Beliefs::default(),
            evidence: vec![Evidence::default(); PAGES],
            knows,
            visits: 0,
        }
    }

    fn estimate(&self, page: usize) -> ChangeEstimate {
        if self.knows {
            ChangeEstimate::certain(self.rates[page])
        } else {
            self.beliefs.estimate(host(page), &self.evidence[page])
        }
    }

    /// Runs to the end; the share of time in the second half that copies are fresh.
    fn run(&mut self) -> f64 {
        let mut draws = Draws(11);
        let mut queue: BinaryHeap<Reverse<(u64, usize)>> =
            (0..PAGES).map(|page| Reverse(((draws.unit() * 1000.0) as u64, page))).collect();
        let mut places = vec![Place::NONE; PAGES];
        let mut copies: Vec<Option<(u64, u64)>> = vec![None; PAGES];
        let mut fresh_ms = 0;
        let mut book = |copy: (u64, u64), until: u64| {
            fresh_ms += until.min(copy.1).saturating_sub(copy.0.max(END_MS / 2));
        };
        while let Some(Reverse((now, page))) = queue.pop().filter(|Reverse((now, _))| *now < END_MS) {
            match copies[page] {
                // Three pages in five claim to be most of a year old.
                None => {
                    let age_ms = (page % 5 < 3).then_some(318 * 86_400_000);
                    self.evidence[page] = Evidence::first_visit(age_ms);
                }
                Some((taken, stale)) => {
                    book((taken, stale), now);
                    let sighting = if stale <= now { Sighting::Changed } else { Sighting::Unchanged };
                    self.beliefs.visited(host(page), &mut self.evidence[page], now - taken, sighting);
                    self.visits += u64::from(now >= END_MS / 2);
                }
            }
            let wait_s = -draws.unit().ln() / self.rates[page];
            copies[page] = Some((now, now + (wait_s * 1000.0) as u64 + 1));
            let estimate = self.estimate(page);
            let word = draws.word();
            let next = self.schedule.visited(UnixMs(now), 1.0, &estimate, &mut places[page], word);
            queue.extend(next.map(|at| Reverse((at.0, page))));
        }
        copies.into_iter().flatten().for_each(|copy| book(copy, END_MS));
        fresh_ms as f64 / (END_MS / 2) as f64 / PAGES as f64
    }
}

fn host(page: usize) -> HostKey {
    HostKey((page / 50) as u64)
}

#[test]
fn a_crawl_that_starts_in_the_cold_comes_close_to_one_that_knows() {
    let (mut knowing, mut learning) =
        (Crawl::new(PolicyKind::Optimal, true), Crawl::new(PolicyKind::Optimal, false));
    let (best, learnt) = (knowing.run(), learning.run());
    assert!(learnt > 0.97 * best, "{learnt} against {best}");
    for crawl in [&knowing, &learning] {
        let spent = crawl.visits as f64 / (END_MS / 2000) as f64;
        assert!((0.9..1.1).contains(&(spent / BUDGET_PER_S)), "{spent} visits per second");
    }
    let proportional = Crawl::new(PolicyKind::Proportional, true).run();
    assert!(learnt > 1.05 * proportional, "{learnt} against {proportional}");
    // What is believed by then is near the truth.
    let mean = learning.rates.iter().sum::<f64>() / PAGES as f64;
    let believed = learning.beliefs.population().prior();
    assert!((0.4..1.6).contains(&(believed.rate() / mean)), "{believed:?} of {mean}");
    // And the plan is better than visiting all alike, by the true rates.
    let plan = |page: usize| {
        let interval = learning.schedule.policy().interval_s(1.0.into(), &learning.estimate(page));
        periodic_freshness(learning.rates[page], interval.unwrap_or(1e9))
    };
    let planned = (0..PAGES).map(plan).sum::<f64>() / PAGES as f64;
    let every_s = PAGES as f64 / BUDGET_PER_S;
    let alike = learning.rates.iter().map(|rate| periodic_freshness(*rate, every_s)).sum::<f64>();
    assert!(planned > alike / PAGES as f64, "{planned} against {}", alike / PAGES as f64);
}

#[test]
fn no_page_is_lost_from_sight() {
    let mut crawl = Crawl::new(PolicyKind::Optimal, false);
    crawl.run();
    let seen_once = crawl.evidence.iter().filter(|evidence| evidence.visits() < 2).count();
    assert_eq!(seen_once, 0, "pages never looked at again");
}

#[test]
fn hosts_beyond_the_limit_are_like_any_other() {
    let mut beliefs = Beliefs::default();
    for number in 0..MOST_HOSTS as u64 + 10 {
        let mut evidence = Evidence::first_visit(None);
        beliefs.visited(HostKey(number), &mut evidence, 86_400_000, Sighting::Changed);
    }
    assert_eq!(beliefs.hosts.len(), MOST_HOSTS);
    let beyond = beliefs.prior(HostKey(MOST_HOSTS as u64 + 5));
    assert_eq!(beyond, beliefs.population().prior());
}
