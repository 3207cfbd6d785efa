//! One policy on one world: events in simulated time, freshness and age integrated exactly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lycosa_frontier::revisit::{Beliefs, Evidence, Place};
use lycosa_frontier::{ChangeEstimate, PolicyKind, PolicyOptions, Schedule, Sighting};
use lycosa_types::{HostKey, UnixMs};

use crate::oracle;
use crate::world::{Draws, PAGES_PER_HOST, Pace, World};

const DAY_MS: u64 = 86_400_000;
/// Over years the budget is kept by force, and what is unused is kept for this long. Over minutes there is no force, as
/// there is none in a crawl: what the schedule asks for is what is spent.
const BURST_S: f64 = 86_400.0;
/// Stretches of the run for which freshness is told; the first half of them is warm-up.
pub const STRETCHES: usize = 10;

/// Who decides when to come again.
pub enum Planner {
    Fixed(Vec<f64>),
    Scheduled { schedule: Box<Schedule>, places: Vec<Place>, knowledge: Knowledge },
}

/// What is known of the rates.
pub enum Knowledge {
    All(Vec<ChangeEstimate>),
    /// What visits showed, and what share of pages date their changes.
    Learnt {
        beliefs: Beliefs,
        evidence: Vec<Evidence>,
        dated: f64,
        pace: Pace,
    },
}

impl Knowledge {
    /// What is known of a page after a visit: the calls of a crawl.
    fn after(&mut self, page: u32, seen: Option<Seen>) -> ChangeEstimate {
        match self {
            Self::All(known) => known[page as usize],
            Self::Learnt { beliefs, evidence, dated, pace } => {
                let number = page / PAGES_PER_HOST;
                let host = HostKey(u64::from(number));
                let evidence = &mut evidence[page as usize];
                match seen {
                    None => *evidence = Evidence::first_visit(pace.claimed_age_ms(number)),
                    Some(seen) => {
                        let sighting = seen.sighting(f64::from(page % 100) < *dated * 100.0);
                        beliefs.visited(host, evidence, seen.since_ms, sighting);
                    }
                }
                beliefs.estimate(host, evidence)
            }
        }
    }
}

impl Planner {
    pub fn oracle(world: &World, budget_per_s: f64) -> Self {
        Self::Fixed(oracle::intervals(world, budget_per_s))
    }

    /// Knows nothing at the start; `dated` is the share of pages whose changes come with a date.
    pub fn learning(kind: PolicyKind, world: &World, pace: Pace, budget_per_s: f64, dated: f64) -> Self {
        let evidence = vec![Evidence::default(); world.pages.len()];
        let knowledge = Knowledge::Learnt { beliefs: Beliefs::default(), evidence, dated, pace };
        Self::scheduled(kind, pace, world, budget_per_s, knowledge)
    }

    /// Knows the true rates.
    pub fn knowing(kind: PolicyKind, world: &World, pace: Pace, budget_per_s: f64) -> Self {
        let known = world.pages.iter().map(|page| ChangeEstimate::certain(page.rate)).collect();
        Self::scheduled(kind, pace, world, budget_per_s, Knowledge::All(known))
    }

    fn scheduled(
        kind: PolicyKind,
        pace: Pace,
        world: &World,
        budget_per_s: f64,
        knowledge: Knowledge,
    ) -> Self {
        let options =
            PolicyOptions { kind, min_interval_ms: pace.min_interval_ms(), ..PolicyOptions::default() };
        let schedule = Box::new(Schedule::new(options, budget_per_s));
        Self::Scheduled { schedule, places: vec![Place::NONE; world.pages.len()], knowledge }
    }

    fn next(
        &mut self,
        page: u32,
        importance: f64,
        now_ms: u64,
        seen: Option<Seen>,
        random: u64,
    ) -> Option<u64> {
        match self {
            Self::Fixed(intervals) => {
                // Pages were met together: the first distance is cut at random, so that the others are out of step.
                let part = if seen.is_some() { 1.0 } else { (random >> 11) as f64 / (1u64 << 53) as f64 };
                let interval = intervals[page as usize] * 1000.0 * part;
                interval.is_finite().then(|| now_ms.saturating_add(interval as u64))
            }
            Self::Scheduled { schedule, places, knowledge } => {
                let estimate = knowledge.after(page, seen);
                let (importance, place) = (importance as f32, &mut places[page as usize]);
                schedule.visited(UnixMs(now_ms), importance, &estimate, place, random).map(|at| at.0)
            }
        }
    }
}

/// What a visit finds.
#[derive(Clone, Copy)]
struct Seen {
    since_ms: u64,
    last_change_ago_ms: Option<u64>,
}

impl Seen {
    fn sighting(self, dated: bool) -> Sighting {
        match self.last_change_ago_ms {
            None => Sighting::Unchanged,
            Some(ago_ms) if dated => Sighting::ChangedAgo { ago_ms },
            Some(_) => Sighting::Changed,
        }
    }
}

/// Freshness and age of one stretch of the run, weighted by importance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    pub freshness: f64,
    pub age_days: f64,
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub stretches: [Stretch; STRETCHES],
    /// Visits after warm-up, as a share of what the budget allowed.
    pub used: f64,
    /// How late visits were after warm-up, on average, in days.
    pub late_days: f64,
}

impl Outcome {
    fn warm(&self) -> &[Stretch] {
        &self.stretches[STRETCHES / 2..]
    }

    pub fn freshness(&self) -> f64 {
        self.warm().iter().map(|s| s.freshness).sum::<f64>() / self.warm().len() as f64
    }

    pub fn age_days(&self) -> f64 {
        self.warm().iter().map(|s| s.age_days).sum::<f64>() / self.warm().len() as f64
    }
}

/// A copy of a page: when it was taken, and when the page first changed after that.
#[derive(Clone, Copy)]
struct Copy {
    taken_ms: u64,
    stale_ms: u64,
}

/// See the module.
pub struct Run<'w> {
    world: &'w World,
    planner: Planner,
    pace: Pace,
    budget_per_s: f64,
    end_ms: u64,
    draws: Draws,
    copies: Vec<Option<Copy>>,
    stretches: [Stretch; STRETCHES],
}

impl<'w> Run<'w> {
    pub fn new(world: &'w World, pace: Pace, planner: Planner, budget_per_s: f64, seed: u64) -> Self {
        Self {
            world,
            planner,
            pace,
            budget_per_s,
            end_ms: pace.length_ms(),
            draws: Draws::new(seed ^ 0xC0FFEE),
            copies: vec![None; world.pages.len()],
            stretches: [Stretch::default(); STRETCHES],
        }
    }

    pub fn finish(mut self) -> Outcome {
        let mut queue: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        for page in 0..self.world.pages.len() as u32 {
            let met = (self.draws.unit() * self.pace.discovery_ms() as f64) as u64;
            queue.push(Reverse((met, page)));
        }
        let warm_ms = self.end_ms / 2;
        let burst = BURST_S * self.budget_per_s;
        let (mut tokens, mut clock) = (0.0, 0u64);
        let (mut visits, mut late) = (0u64, 0u64);
        while let Some(Reverse((due, page))) = queue.pop() {
            let mut now = due.max(clock).div_ceil(self.pace.look_every_ms()) * self.pace.look_every_ms();
            tokens = f64::min(tokens + (now - clock) as f64 / 1000.0 * self.budget_per_s, burst);
            if self.copies[page as usize].is_some() {
                if tokens < 1.0 && self.pace == Pace::Years {
                    // All later visits wait as well: the queue is served in the order of due times.
                    let wait_ms = ((1.0 - tokens) / self.budget_per_s * 1000.0).ceil() as u64;
                    now += wait_ms;
                    tokens += wait_ms as f64 / 1000.0 * self.budget_per_s;
                }
                tokens -= 1.0;
                if now >= warm_ms && now < self.end_ms {
                    visits += 1;
                    late += now - due;
                }
            }
            clock = now;
            if now >= self.end_ms {
                break;
            }
            if let Some(next) = self.visit(page, now) {
                queue.push(Reverse((next, page)));
            }
        }
        for page in 0..self.copies.len() {
            self.close(page, self.end_ms);
        }
        let allowed = self.budget_per_s * (self.end_ms - warm_ms) as f64 / 1000.0;
        Outcome {
            stretches: self.stretches,
            used: visits as f64 / allowed,
            late_days: late as f64 / visits.max(1) as f64 / DAY_MS as f64,
        }
    }

    fn visit(&mut self, page: u32, now: u64) -> Option<u64> {
        let at = page as usize;
        let truth = self.world.pages[at];
        let seen = self.copies[at].map(|copy| {
            // Seen backwards from now, the last change is exponentially far away, but no further than the first.
            let ago = || ((self.draws.wait(truth.rate) * 1000.0) as u64).min(now - copy.stale_ms);
            let last_change_ago_ms = (copy.stale_ms <= now).then(ago);
            Seen { since_ms: now - copy.taken_ms, last_change_ago_ms }
        });
        self.close(at, now);
        let stale_ms = now + (self.draws.wait(truth.rate) * 1000.0) as u64 + 1;
        self.copies[at] = Some(Copy { taken_ms: now, stale_ms });
        let random = self.draws.word();
        self.planner.next(page, truth.importance, now, seen, random)
    }

    /// Books the life of a copy up to `until`.
    fn close(&mut self, page: usize, until: u64) {
        let Some(copy) = self.copies[page] else { return };
        let length = (self.end_ms / STRETCHES as u64) as f64;
        let importance = self.world.pages[page].importance;
        let first = (copy.taken_ms as f64 / length) as usize;
        for (n, stretch) in self.stretches.iter_mut().enumerate().skip(first) {
            let (start, end) = (n as f64 * length, (n + 1) as f64 * length);
            let (from, to) = (start.max(copy.taken_ms as f64), end.min(until as f64));
            if to <= from {
                break;
            }
            let stale = (copy.stale_ms as f64).clamp(from, to);
            stretch.freshness += importance * (stale - from) / length;
            let (old, older) = (stale - copy.stale_ms as f64, to - copy.stale_ms as f64);
            if older > 0.0 {
                let area = (older * older - old.max(0.0) * old.max(0.0)) / 2.0;
                stretch.age_days += importance * area / length / DAY_MS as f64;
            }
        }
    }
}
