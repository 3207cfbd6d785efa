//! Pages over time: what a visit adds to a page's course, and when the next one is due.

use foldhash::HashMap;
use lycosa_frontier::revisit::{Budget, ChangeEstimate, HostRate, Place, Prior, Schedule, Sighting, Worth};
use lycosa_frontier::{Course, CourseEnd, Done, Store, StoreError};
use lycosa_types::{Change, HostKey, Outcome, PastVisit, UnixMs, UrlRecord};

use crate::config::RefreshConfig;
use crate::judge::Again;

/// Hosts whose rate of change is pooled; beyond, the rate of all pages stands in.
const MOST_HOSTS: usize = 100_000;

pub struct Refresher {
    schedule: Schedule,
    budget: Budget,
    /// Pages are given a time for their next visit.
    continuous: bool,
    hosts: HashMap<HostKey, HostRate>,
    all: HostRate,
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
        let (hosts, all) = (HashMap::default(), HostRate::default());
        Ok(Self { schedule, budget, continuous: config.continuous, hosts, all })
    }

    /// A page was visited for the first time.
    pub fn first(&mut self, done: &mut Done, importance: f32, now: UnixMs) {
        if !self.continuous || !is_kept_fresh(&done.record) {
            return;
        }
        let mut estimate = ChangeEstimate::new(&self.prior(done.slot.host));
        let facts = done.record.visit.as_ref();
        let modified = facts.and_then(|facts| facts.last_modified.as_deref());
        let modified = modified.and_then(lycosa_fetch::parse_http_date);
        estimate.first_visit(modified.map(|at| now.since_ms(at)));
        let mut course = Course {
            estimate,
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
        let Again { earlier, course, change, signal, share, outcome, keeps_copy, modified_at, at, .. } =
            again;
        let last_at = earlier.visited_at.unwrap_or(earlier.found_at);
        let is_first = course.is_none();
        let before = course.unwrap_or_else(|| {
            let mut estimate = ChangeEstimate::new(&self.prior(done.slot.host));
            estimate.first_visit(None);
            let copy_at = Some(last_at);
            let place = Place::NONE;
            Course { estimate, place, due: None, changed_at: None, copy_at, visits: 1, changes: 0 }
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
            course.estimate.observe(since, sighting);
            course.visits = course.visits.saturating_add(1);
            if change.is_news() {
                course.changes = course.changes.saturating_add(1);
                course.changed_at = Some(at);
            }
            if !keeps_copy {
                course.copy_at = Some(at);
            }
            self.all.absorb(&before.estimate, &course.estimate);
            if self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(&done.slot.host) {
                let host = self.hosts.entry(done.slot.host).or_default();
                host.absorb(&before.estimate, &course.estimate);
            }
        }
        if self.continuous {
            self.plan(&mut course, done, importance, now);
        }
        done.course = Some(CourseEnd { course, due_before: before.due, history, keeps_copy });
    }

    /// A visit that found nothing did find something: the estimate takes it in as a change.
    pub fn changed_after_all(&mut self, course: &mut Course, before: &Course, since_ms: u64) {
        course.estimate = before.estimate;
        course.estimate.observe(since_ms, Sighting::Changed);
        course.changes = before.changes.saturating_add(1);
    }

    fn plan(&mut self, course: &mut Course, done: &Done, importance: f32, now: UnixMs) {
        let bytes = done.record.visit.as_ref().map_or(0, |facts| facts.body_bytes);
        let worth = Worth::new(importance, self.budget.cost(bytes));
        let random = done.key.low() ^ now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        course.due = self.schedule.visited(now, worth, &course.estimate, &mut course.place, random);
    }

    fn prior(&self, host: HostKey) -> Prior {
        let general = self.all.prior(&Prior::default());
        self.hosts.get(&host).map_or(general, |host| host.prior(&general))
    }
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
    }
}
