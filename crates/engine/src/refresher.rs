//! Pages over time: what a visit adds to a page's course, and when the next one is due.

use std::sync::Arc;

use lycosa_frontier::revisit::{
    Beliefs, Budget, ChangeEstimate, Evidence, Place, Population, Schedule, Sighting, Worth,
};
use lycosa_frontier::store::Mark;
use lycosa_frontier::{Course, CourseEnd, Done, Store, StoreError};
use lycosa_types::{Change, Outcome, PastVisit, UnixMs, UrlRecord};

use crate::config::RefreshConfig;
use crate::judge::Again;

/// A mark in the state.
const MARK_POPULATION: &str = "population";

/// Somebody who knows how often pages change: the publisher, or a measurement that compares with the truth.
pub trait KnownRates: Send + Sync {
    /// Changes per second of the page; none if its visits must tell.
    fn rate_per_s(&self, url: &str) -> Option<f64>;
}

pub struct Refresher {
    schedule: Schedule,
    budget: Budget,
    /// Pages are given a time for their next visit.
    continuous: bool,
    beliefs: Beliefs,
    known: Option<Arc<dyn KnownRates>>,
}

impl Refresher {
    /// Stands where the courses in the state left it.
    pub fn open(config: &RefreshConfig, store: &Store) -> Result<Self, StoreError> {
        let budget = config.budget();
        let mut schedule = Schedule::new(config.policy_options(), budget.refresh_per_s(false));
        if config.continuous {
            for course in store.courses() {
                schedule.restore(&course?.place);
            }
            schedule.replan();
        }
        let beliefs = Beliefs::new(population(store)?);
        Ok(Self { schedule, budget, continuous: config.continuous, beliefs, known: None })
    }

    /// Pages whose rates are known are planned by them.
    pub fn know(&mut self, rates: Arc<dyn KnownRates>) {
        self.known = Some(rates);
    }

    /// A page was visited for the first time.
    pub fn first(&mut self, done: &mut Done, importance: f32, now: UnixMs) {
        if !self.continuous || !is_kept_fresh(&done.record) {
            return;
        }
        let facts = done.record.visit.as_ref();
        let modified = facts.and_then(|facts| facts.last_modified.as_deref());
        let modified = modified.and_then(lycosa_fetch::parse_http_date);
        let mut course = Course {
            evidence: Evidence::first_visit(modified.map(|at| now.since_ms(at))),
            place: Place::NONE,
            due: None,
            changed_at: None,
            copy_at: None,
            visits: 1,
            changes: 0,
        };
        self.plan(&mut course, done, importance, now);
        done.course = Some(CourseEnd { course, due_before: None, history: Vec::new(), keeps_copy: false });
    }

    /// A page was visited again: its record keeps what still holds, and its history grows.
    pub fn again(&mut self, done: &mut Done, again: Again, importance: f32, now: UnixMs) {
        let Again {
            earlier,
            course,
            change,
            signal,
            share,
            outcome,
            keeps_copy,
            modified_at,
            at,
            kept_lines,
            ..
        } = again;
        let last_at = earlier.visited_at.unwrap_or(earlier.found_at);
        let is_first = course.is_none();
        let before = course.unwrap_or_else(|| {
            let (evidence, place, copy_at) = (Evidence::first_visit(None), Place::NONE, Some(last_at));
            Course { evidence, place, due: None, changed_at: None, copy_at, visits: 1, changes: 0 }
        });
        let mut course = before.clone();
        let mut history = Vec::with_capacity(2);
        if is_first {
            history.push(first_visit(&earlier, last_at));
        }
        let facts = done.record.visit.as_ref();
        history.push(PastVisit {
            at,
            outcome,
            change,
            signal,
            share_permille: (share.clamp(0.0, 1.0) * 1000.0) as u16,
            digest: if keeps_copy && change != Change::Unchanged {
                None
            } else {
                facts.and_then(|f| f.digest)
            },
            body_bytes: facts.map_or(0, |facts| facts.body_bytes),
            archived: None,
            kept_lines,
        });
        if change == Change::Unknown {
            // Nothing was learnt: what was known stands.
            if matches!(done.record.outcome, Some(Outcome::Failed(_))) {
                done.record.outcome = earlier.outcome;
            }
            done.record.visit = done.record.visit.take().or(earlier.visit);
        } else {
            let since = now.since_ms(last_at);
            let sighting = match (change.is_news(), modified_at) {
                (false, _) => Sighting::Unchanged,
                (true, Some(modified)) if modified > last_at && modified < now => {
                    Sighting::ChangedAgo { ago_ms: now.since_ms(modified) }
                }
                (true, _) => Sighting::Changed,
            };
            self.beliefs.visited(done.slot.host, &mut course.evidence, since, sighting);
            course.visits = course.visits.saturating_add(1);
            if change.is_news() {
                course.changes = course.changes.saturating_add(1);
                course.changed_at = Some(at);
            }
            if !keeps_copy {
                course.copy_at = Some(at);
            }
        }
        if self.continuous {
            self.plan(&mut course, done, importance, now);
        }
        done.course = Some(CourseEnd { course, due_before: before.due, history, keeps_copy });
    }

    /// A visit that found nothing did find something: the estimate takes it in as a change.
    pub fn changed_after_all(&mut self, course: &mut Course, before: &Course, since_ms: u64) {
        course.evidence = before.evidence;
        course.evidence.observe(&self.beliefs.population().prior(), since_ms, Sighting::Changed);
        course.changes = before.changes.saturating_add(1);
    }

    /// What is known about pages in general, to be written with a commit.
    pub fn mark(&self) -> Option<Mark> {
        postcard::to_stdvec(self.beliefs.population()).ok().map(|bytes| (MARK_POPULATION, bytes))
    }

    fn plan(&mut self, course: &mut Course, done: &Done, importance: f32, now: UnixMs) {
        let bytes = done.record.visit.as_ref().map_or(0, |facts| facts.body_bytes);
        let worth = Worth::new(importance, self.budget.cost(bytes));
        let random = done.key.low() ^ now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let known = self.known.as_ref().and_then(|known| known.rate_per_s(&done.record.url));
        let estimate = known
            .map_or_else(|| self.beliefs.estimate(done.slot.host, &course.evidence), ChangeEstimate::certain);
        course.due = self.schedule.visited(now, worth, &estimate, &mut course.place, random);
    }
}

/// What earlier runs learnt about pages in general.
pub(crate) fn population(store: &Store) -> Result<Population, StoreError> {
    let stored = store.mark(MARK_POPULATION)?.and_then(|bytes| postcard::from_bytes(&bytes).ok());
    Ok(stored.unwrap_or_default())
}

fn is_kept_fresh(record: &UrlRecord) -> bool {
    !matches!(record.outcome, None | Some(Outcome::Excluded(_)))
}

/// The history of a page that was visited once.
pub(crate) fn first_visit(record: &UrlRecord, at: UnixMs) -> PastVisit {
    let facts = record.visit.as_ref();
    PastVisit {
        at,
        outcome: record.outcome.clone().unwrap_or(Outcome::NotModified),
        change: Change::First,
        signal: String::new(),
        share_permille: 0,
        digest: facts.and_then(|facts| facts.digest),
        body_bytes: facts.map_or(0, |facts| facts.body_bytes),
        archived: facts.and_then(|facts| facts.archived),
        kept_lines: Vec::new(),
    }
}
