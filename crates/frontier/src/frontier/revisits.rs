//! Pages that were visited before and are to be visited again: found in the state, a stretch at a time.
//!
//! They wait in memory alone. What the state says of a page (its record, when it is due) changes only when its visit is
//! committed, so after a crash they are found again.

use foldhash::HashSet;
use lycosa_types::{
    CanonUrl, Exclusion, Outcome, PartitionId, UnixMs, UrlId, UrlKey, UrlRecord, UrlState, requisite,
};

use super::Frontier;
use crate::course::Amendment;
use crate::host_queue::Entry;
use crate::order::Rank;
use crate::revisit::{Share, Turn};
use crate::schedule::HostIndex;
use crate::store::{HostSlot, StoreError};

/// Which pages are visited again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Revisits {
    #[default]
    Off,
    /// Every page whose last visit was before this time, once; without images if pages ask for them.
    Sweep { before: UnixMs, images: bool },
    /// Pages as they come due, for ever.
    Due,
}

/// Pages in memory that wait to be visited again; below half of it more are looked for.
const MOST_PENDING: usize = 4096;
/// Records looked at in one go.
const STRETCH: usize = 512;
/// Due pages are looked for this often.
const LOOK_EVERY_MS: u64 = 200;

#[derive(Debug)]
pub(super) struct Source {
    mode: Revisits,
    /// How far a sweep has come.
    cursor: Option<UrlId>,
    swept: bool,
    next_look: UnixMs,
    share: Share,
    /// Pages found and not ended yet.
    pub(super) pending: usize,
    /// Their keys, until their end is committed.
    pub(super) keys: HashSet<UrlKey>,
}

impl Source {
    pub(super) fn new(mode: Revisits, share: f64) -> Self {
        Self {
            mode,
            cursor: None,
            swept: false,
            next_look: UnixMs(0),
            share: Share::new(share),
            pending: 0,
            keys: HashSet::default(),
        }
    }

    /// Whether nothing is left, and nothing will come due.
    pub(super) fn is_over(&self) -> bool {
        match self.mode {
            Revisits::Off => true,
            Revisits::Sweep { .. } => self.swept && self.pending == 0,
            Revisits::Due => false,
        }
    }
}

impl Frontier {
    /// Looks for pages to visit again if there is room for some.
    pub(super) fn find_revisits(&mut self, now: UnixMs) -> Result<(), StoreError> {
        if self.revisits.pending >= MOST_PENDING / 2 || now < self.revisits.next_look {
            return Ok(());
        }
        match self.revisits.mode {
            Revisits::Off => Ok(()),
            Revisits::Sweep { before, images } => {
                self.sweep(before, images, now)?;
                self.renew_sweep(now)
            }
            Revisits::Due => self.find_due(now),
        }
    }

    /// A sweep that an earlier run began is through while new URLs still wait: another begins, so that known pages keep
    /// their share.
    fn renew_sweep(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let Revisits::Sweep { images, .. } = self.revisits.mode else { return Ok(()) };
        let through = self.revisits.swept && self.revisits.pending == 0 && self.waiting > 0;
        let Some(before) = self.options.renew_sweep.filter(|_| through) else { return Ok(()) };
        self.options.renew_sweep = None;
        self.revisits.mode = Revisits::Sweep { before, images };
        (self.revisits.cursor, self.revisits.swept) = (None, false);
        self.sweep(before, images, now)
    }

    /// The sweep under way, by the time before which pages must have been visited last; none if it is through.
    pub fn sweep_under_way(&self) -> Option<UnixMs> {
        match self.revisits.mode {
            Revisits::Sweep { before, .. } if !self.revisits.is_over() => Some(before),
            _ => None,
        }
    }

    fn sweep(&mut self, before: UnixMs, images: bool, now: UnixMs) -> Result<(), StoreError> {
        while !self.revisits.swept && self.revisits.pending < MOST_PENDING / 2 {
            let stretch = self.store.urls_after(self.revisits.cursor, STRETCH)?;
            self.revisits.swept = stretch.len() < STRETCH;
            self.revisits.cursor = stretch.last().map(|(id, _)| *id).or(self.revisits.cursor);
            for (id, record) in stretch {
                let wanted = is_worth_a_visit(&record) && (images || !is_image(&record));
                if wanted && record.visited_at.is_some_and(|at| at < before || at > now) {
                    self.revisit(id, record, now)?;
                }
            }
        }
        Ok(())
    }

    fn find_due(&mut self, now: UnixMs) -> Result<(), StoreError> {
        self.revisits.next_look = now.plus_ms(LOOK_EVERY_MS);
        self.find_misplanned(now)?;
        let partitions = self.options.partitioner.partitions;
        // Each partition gets its share of the room, so that none hides another.
        let room = (MOST_PENDING - self.revisits.pending).div_ceil(usize::from(partitions.max(1))).max(4);
        for partition in
            (0..partitions).filter(|&number| self.takes_in(PartitionId(number))).collect::<Vec<_>>()
        {
            let due: Vec<UrlId> = self
                .store
                .due(PartitionId(partition), now)
                .map(|found| found.map(|(id, _)| id))
                .filter(|id| id.as_ref().map_or(true, |id| !self.revisits.keys.contains(&id.key)))
                .take(room)
                .collect::<Result<_, _>>()?;
            for id in due {
                if let Some(record) = self.store.url(id)? {
                    self.revisit(id, record, now)?;
                }
            }
        }
        Ok(())
    }

    /// Visits a page again as soon as its host may be asked. False if it waits or is under way already.
    pub fn revisit(&mut self, id: UrlId, record: UrlRecord, now: UnixMs) -> Result<bool, StoreError> {
        let waits = record.state != UrlState::Done || self.in_flight.contains_key(&id.key);
        if !self.takes_in(id.partition) {
            return Ok(false);
        }
        if waits || !self.revisits.keys.insert(id.key) {
            return Ok(false);
        }
        let url = CanonUrl::from_canonical(record.url);
        let slot = HostSlot { partition: id.partition, host: url.host_key() };
        let index = self.host_at(slot, &url)?;
        self.sequence += 1;
        let rank = Rank { priority: 0, sequence: self.sequence };
        let entry = Entry {
            rank,
            key: id.key,
            url,
            depth: record.depth,
            tries: 0,
            redirects: if record.requisite { requisite::marked(0) } else { 0 },
            found_on: record.found_on,
            found_at: record.found_at,
            revisit: true,
            late: false,
            refused: 0,
        };
        if let Some(host) = self.hosts.get_mut(index) {
            // A host that was given up in an earlier run gets another chance.
            if host.revisits.is_empty() && host.in_flight == 0 && !host.has_new() {
                host.failures_in_row = 0;
            }
            host.revisits.insert(rank, Box::new(entry));
            self.revisits.pending += 1;
        }
        self.settle(index, now);
        Ok(true)
    }

    /// More became known about a visit that has ended.
    pub fn amend(&mut self, id: UrlId, amendment: Amendment) {
        if self.takes_in(id.partition) {
            self.changes.amended.insert(id, amendment);
        }
    }

    /// A page to visit again, if it is the turn of one.
    pub(super) fn take_revisit(&mut self, index: HostIndex) -> Option<Box<Entry>> {
        let host = self.hosts.get_mut(index)?;
        let (new, again) = (host.queue.in_memory() > 0, !host.revisits.is_empty());
        let turn = self.revisits.share.turn(new, again)?;
        self.revisits.share.spent(turn, 1.0, new && again);
        match turn {
            Turn::New => None,
            Turn::Refresh => host.revisits.pop_first().map(|(_, entry)| entry),
        }
    }
}

fn is_image(record: &UrlRecord) -> bool {
    record.visit.as_ref().is_some_and(|facts| facts.content_type.starts_with("image/"))
}

/// Whether another visit can tell anything: not of what was left out for good.
fn is_worth_a_visit(record: &UrlRecord) -> bool {
    let kept_out = match &record.outcome {
        Some(Outcome::Excluded(exclusion)) => !matches!(exclusion, Exclusion::Robots { .. }),
        Some(_) => false,
        None => true,
    };
    record.state == UrlState::Done && !kept_out
}
