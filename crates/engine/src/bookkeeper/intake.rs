//! Taking in what happened: finished visits, commits, submitted seeds.

use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{Discovered, Done, LeaseKind, StoreError};
use lycosa_types::{Exclusion, Outcome, UnixMs, UrlId, UrlKey, VisitFacts, requisite};

use super::pictures::Onlooker;
use super::{Bookkeeper, Event, PageResult, Results};
use crate::clock;
use crate::committer::{CommitError, Ended};
use crate::judge::{Again, Judged};
use crate::outlinks::{LinkCounts, Outlinks};
use crate::prospects::Found;
use crate::worker::Finished;

impl Bookkeeper {
    /// Takes in what workers brought.
    pub(super) fn take_results(&mut self) -> Result<(), CommitError> {
        while let Ok(Results { worker, batch }) = self.results.try_recv() {
            // Read for each message: a pause must not start before the request that it follows has ended.
            let now = clock::now();
            if let Some(slot) = self.workers.get_mut(worker) {
                slot.in_flight = slot.in_flight.saturating_sub(batch.len());
            }
            for finished in batch {
                self.take_in(finished, now)?;
            }
        }
        Ok(())
    }

    pub(super) fn take_events(&mut self, events: impl Iterator<Item = Event>) -> Result<(), CommitError> {
        for event in events {
            let now = clock::now();
            match event {
                Event::Wanted => {}
                Event::Committed { epoch, lost } => {
                    self.take_commit(epoch, &lost);
                }
                Event::CommitFailed(error) => return Err(error),
                Event::Cluster(event) => self.take_node_event(event, now)?,
                Event::LostArchives(partition, lost) => self.note_lost(partition, lost),
                Event::Seeds(seeds) => self.take_seeds(&seeds),
                Event::Located { slot, addresses } => self.take_located(slot, addresses, now),
            }
        }
        Ok(())
    }

    fn take_in(&mut self, finished: Finished, now: UnixMs) -> Result<(), StoreError> {
        match finished {
            Finished::Page { host, entry, judged, received_bytes } => {
                self.totals.received_bytes += received_bytes;
                self.lease_over(&entry);
                let key = entry.key;
                let visit = judged.end.visit.as_ref();
                let original =
                    visit.and_then(|visit| visit.duplicate_of.or(visit.near_duplicate.map(|near| near.of)));
                if let Some(original) = original.filter(|id| self.leased.contains(&id.key)) {
                    self.held.entry(original.key).or_default().push(PageResult { host, entry, judged });
                    return Ok(());
                }
                self.end_page(PageResult { host, entry, judged }, now)?;
                self.end_held(key, now)?;
            }
            Finished::Rules { host, end, sitemaps, counts, address, elapsed_ms, encoded } => {
                self.extra.extend(encoded.map(|encoded| *encoded));
                if *counts != LinkCounts::default() {
                    let origin = self.frontier.origin(host).unwrap_or_default().to_owned();
                    self.totals.count_links(&counts);
                    self.totals.count_cuts(&counts, &format!("{origin}/robots.txt"));
                }
                self.frontier.finish_rules(host, end, address, elapsed_ms, now);
                for url in sitemaps {
                    let found = Found { depth: 0, seed: false, relevance: 0.0 };
                    self.admit_one(url.as_str(), url.key(), found, (0, true), None, now)?;
                }
            }
            Finished::Resolve { host, address } => {
                self.frontier.finish_resolve(host, address, now);
            }
            Finished::Returned { host, kind } => {
                if let LeaseKind::Page(entry) = &kind {
                    self.lease_over(entry);
                    // They refer to an earlier visit of it.
                    self.end_held(entry.key, now)?;
                }
                self.frontier.take_back(host, kind, now);
            }
        }
        Ok(())
    }

    /// Ends what waited for a page, and what waited for that in turn: a copy of a near-duplicate, for one.
    fn end_held(&mut self, key: UrlKey, now: UnixMs) -> Result<(), StoreError> {
        let mut ending = self.held.remove(&key).unwrap_or_default();
        while let Some(result) = ending.pop() {
            let key = result.entry.key;
            self.end_page(result, now)?;
            ending.extend(self.held.remove(&key).unwrap_or_default());
        }
        Ok(())
    }

    fn end_page(&mut self, result: PageResult, now: UnixMs) -> Result<(), StoreError> {
        let PageResult { host, mut entry, judged } = result;
        if self.frontier.is_closed(host) {
            // Its partition is somebody else's: the page is fetched there.
            self.frontier.abandon(host, entry.revisit, now);
            return Ok(());
        }
        let Judged {
            end,
            outlinks,
            requisites,
            is_page,
            edges,
            encoded,
            counts,
            left_out,
            again,
            relevance,
            news,
            brings_new,
            ..
        } = *judged;
        if is_page {
            entry.redirects = requisite::steps(entry.redirects);
        }
        let is_requisite = requisite::is_marked(entry.redirects);
        self.totals.count_links(&counts);
        self.totals.count_cuts(&counts, entry.url.as_str());
        let near = end.visit.as_ref().is_some_and(|visit| visit.near_duplicate.is_some());
        let duplicate = end.visit.as_ref().is_some_and(|visit| visit.duplicate_of.is_some());
        let body_bytes = end.visit.as_ref().map_or(0, |visit| visit.body_bytes);
        let fetched = matches!(end.outcome, Outcome::Fetched { .. });
        if fetched && !is_requisite {
            self.look_for_mirror(host, &entry, end.visit.as_ref());
            self.current.clear();
            self.current.push_str(entry.url.as_str());
        }
        if !entry.revisit && !is_requisite && (fetched || matches!(end.outcome, Outcome::Missing { .. })) {
            self.prospects.page(&entry.url, edges.as_ref());
        }
        if !entry.revisit
            && !is_requisite
            && entry.url.query().is_some()
            && !matches!(end.outcome, Outcome::Failed(_))
        {
            // What is no page says nothing new.
            let says_something_new = fetched && brings_new.unwrap_or(true);
            self.frontier.note_query_visit(host, entry.url.path(), says_something_new);
        }
        let (key, first_print) = (entry.key, end.first_print);
        match self.frontier.finish_page(host, *entry, end, now) {
            Some(mut done) => {
                let importance = self.prospects.importance(key);
                match again {
                    Some(again) => self.end_revisit(&mut done, *again, importance, now)?,
                    None if is_requisite => {}
                    None => self.refresher.first(&mut done, importance, now),
                }
                if fetched && is_requisite {
                    self.totals.requisites += u64::from(!done.revisit);
                    self.totals.requisite_bytes += body_bytes;
                } else if fetched && !done.revisit {
                    self.totals.pages += 1;
                    let on_topic = relevance.is_some_and(|found| found >= self.relevant_from);
                    self.totals.on_topic += u64::from(on_topic);
                    self.totals.body_bytes += body_bytes;
                    self.totals.duplicates += u64::from(duplicate);
                    self.totals.near_duplicates += u64::from(near);
                }
                let found_on = UrlId { partition: done.slot.partition, key };
                self.note_page_cuts(found_on, &counts, left_out);
                self.admit(&outlinks, found_on, now)?;
                self.admit(&requisites, found_on, now)?;
                if let Some(digest) = first_print {
                    self.claim_print(digest, found_on)?;
                }
                for id in news {
                    if let Some(record) = self.store.url(id)? {
                        self.frontier.revisit(id, record, now)?;
                    }
                }
                self.prospects.note(edges.as_ref());
                self.end_visit(Ended { done, encoded, edges });
            }
            None => self.totals.retries += 1,
        }
        Ok(())
    }

    fn end_revisit(
        &mut self,
        done: &mut Done,
        mut again: Again,
        importance: f32,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if !done.record.requisite {
            self.totals.count_change(again.change);
        }
        self.picture_ended(done.key, again.change, now);
        let pictures = std::mem::take(&mut again.pictures);
        let (before, at, change) = (again.course.clone(), again.at, again.change);
        let since_ms = now.since_ms(again.earlier.visited_at.unwrap_or(again.earlier.found_at));
        self.refresher.again(done, again, importance, now);
        if let Some(end) = done.course.as_ref().filter(|_| !pictures.is_empty()) {
            let id = UrlId { partition: done.slot.partition, key: done.key };
            let course = end.course.clone();
            let before = before.unwrap_or_else(|| course.clone());
            let onlooker = Onlooker { id, at, change, course, before, since_ms };
            self.look_at_pictures(&pictures, &onlooker, now)?;
        }
        Ok(())
    }

    fn look_for_mirror(&mut self, host: HostIndex, entry: &Entry, visit: Option<&VisitFacts>) {
        let Some(digest) = visit.and_then(|visit| visit.digest) else { return };
        let Some(detector) = &mut self.mirrors else { return };
        let found = detector.note(u64::from(host), entry.url.path_and_query(), digest.0);
        let Some(mirror) = found else { return };
        if let Some(of) = self.frontier.origin(mirror.of as HostIndex).map(str::to_owned) {
            self.frontier.mark_mirror(mirror.host as HostIndex, &of);
        }
    }

    /// A page that may not be visited any more keeps what is known of it.
    pub(super) fn keep_what_is_known(&mut self, done: &mut Done) -> Result<(), StoreError> {
        let id = UrlId { partition: done.slot.partition, key: done.key };
        if let Some(earlier) = self.store.url(id)? {
            if !matches!(done.record.outcome, Some(Outcome::Excluded(Exclusion::Robots { .. }))) {
                done.record.outcome = earlier.outcome;
            }
            done.record.visit = earlier.visit;
        }
        Ok(())
    }

    pub(super) fn end_visit(&mut self, ended: Ended) {
        if let Some(outcome) = &ended.done.record.outcome {
            if ended.done.record.requisite {
                self.totals.count_requisite(outcome, ended.done.revisit);
            } else {
                self.totals.count_outcome(outcome);
            }
            self.totals.remember(outcome, &ended.done.record.url);
        }
        self.ended.push(ended);
    }

    /// A page is no longer on lease.
    fn lease_over(&mut self, entry: &Entry) {
        if self.leased.remove(&entry.key) && requisite::is_marked(entry.redirects) {
            self.leased_requisites = self.leased_requisites.saturating_sub(1);
        }
    }

    fn admit(&mut self, outlinks: &Outlinks, found_on: UrlId, now: UnixMs) -> Result<(), StoreError> {
        for (url, key, relevance) in outlinks.iter() {
            let found = Found { depth: outlinks.depth, seed: false, relevance };
            let how = (outlinks.redirects, outlinks.listed);
            self.admit_one(url, key, found, how, Some(found_on), now)?;
        }
        Ok(())
    }

    pub(super) fn admit_one(
        &mut self,
        url: &str,
        key: UrlKey,
        found: Found,
        (redirects, listed): (u8, bool),
        found_on: Option<UrlId>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let signals = self.prospects.signals(url, key, found);
        let discovered = Discovered { url, key, redirects, found_on, signals, listed };
        let admission = if self.member.is_some() {
            let share = self.prospects.share(key);
            let Some(partition) = self.send_elsewhere((url, key), found, (redirects, found_on), share)?
            else {
                return Ok(());
            };
            self.frontier.admit_to(partition, discovered, now)?
        } else {
            self.frontier.admit(discovered, now)?
        };
        self.count_admission(admission, &discovered)
    }
}
