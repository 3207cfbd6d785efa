//! Pages over time: the course of each, when the next visit is due, and the visits there were.

use lycosa_types::{PartitionId, PastVisit, UnixMs, UrlId, UrlRecord};

use super::operations::{Sink, Space, Step};
use super::{Store, StoreError, codec, keys};
use crate::course::{Amendment, Course, CourseEnd};

impl Store {
    pub(super) fn write_course<S: Sink>(
        &self,
        sink: &mut S,
        id: UrlId,
        end: &CourseEnd,
    ) -> Result<(), StoreError> {
        sink.put(Step::Done, Space::Courses, &id.to_bytes(), codec::encode_course(&end.course)?)?;
        if let Some(before) = end.due_before.filter(|&before| Some(before) != end.course.due) {
            sink.remove(Step::Done, Space::Due, &keys::due(id, before))?;
        }
        if let Some(due) = end.course.due {
            sink.copy(Step::Done, Space::Due, &keys::due(id, due), &[])?;
        }
        for visit in &end.history {
            let key = keys::past_visit(id, visit.at);
            sink.put(Step::Done, Space::History, &key, codec::encode_past_visit(visit)?)?;
        }
        Ok(())
    }

    /// Writes what became known about a visit that is on disk already.
    pub(super) fn amend<S: Sink>(
        &self,
        sink: &mut S,
        id: UrlId,
        amendment: &Amendment,
    ) -> Result<(), StoreError> {
        let key = keys::past_visit(id, amendment.at);
        if let Some(bytes) = self.history.get(&key)? {
            let mut visit = codec::decode_past_visit(&bytes)?;
            amendment.apply(&mut visit);
            sink.put(Step::Done, Space::History, &key, codec::encode_past_visit(&visit)?)?;
            sink.put(Step::Done, Space::Courses, &id.to_bytes(), codec::encode_course(&amendment.course)?)?;
        }
        Ok(())
    }

    /// What visits over time told about a page; none before the second visit, unless visits are scheduled.
    pub fn course(&self, id: UrlId) -> Result<Option<Course>, StoreError> {
        self.courses.get(id.to_bytes())?.map(|bytes| codec::decode_course(&bytes)).transpose()
    }

    /// The courses of all pages that have one.
    pub fn courses(&self) -> impl Iterator<Item = Result<Course, StoreError>> + '_ {
        self.courses.iter().map(|guard| codec::decode_course(&guard.value()?))
    }

    /// The visits of a page, the earliest first; none before the second one.
    pub fn history(&self, id: UrlId) -> Result<Vec<PastVisit>, StoreError> {
        let visits = self.history.prefix(id.to_bytes());
        visits.map(|guard| codec::decode_past_visit(&guard.value()?)).collect()
    }

    /// Pages of a partition that are due at `now`, those due longest first.
    pub fn due(
        &self,
        partition: PartitionId,
        now: UnixMs,
    ) -> impl Iterator<Item = Result<(UrlId, UnixMs), StoreError>> + '_ {
        let key = |at: u64, key: u128| {
            keys::due(UrlId { partition, key: lycosa_types::UrlKey(key) }, UnixMs(at)).to_vec()
        };
        self.due
            .range(key(0, 0)..=key(now.0, u128::MAX))
            .map(|guard| keys::read_due(&guard.key()?).ok_or(StoreError::Damaged("due key")))
    }

    /// Pages of a partition that are due after `then`.
    pub fn due_after(
        &self,
        partition: PartitionId,
        then: UnixMs,
    ) -> impl Iterator<Item = Result<(UrlId, UnixMs), StoreError>> + '_ {
        let key = |at: u64, key: u128| {
            keys::due(UrlId { partition, key: lycosa_types::UrlKey(key) }, UnixMs(at)).to_vec()
        };
        self.due
            .range(key(then.0.saturating_add(1), 0)..=key(u64::MAX, u128::MAX))
            .map(|guard| keys::read_due(&guard.key()?).ok_or(StoreError::Damaged("due key")))
    }

    /// Up to `limit` visited URLs after `after`, in key order.
    pub fn urls_after(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<(UrlId, UrlRecord)>, StoreError> {
        use std::ops::Bound;
        let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.to_bytes().to_vec()));
        let range = self.urls.range((from, Bound::<Vec<u8>>::Unbounded));
        range
            .take(limit)
            .map(|guard| {
                let (key, value) = guard.into_inner()?;
                let id = UrlId::from_bytes(&key).ok_or(StoreError::Damaged("url key"))?;
                Ok((id, codec::decode_url(&value)?))
            })
            .collect()
    }
}
