//! The last step of the cascade: the images of pages that showed no change themselves are asked for again, and if one of
//! them changed, so has the page.

use foldhash::{HashMap, HashSet};
use lycosa_frontier::{Amendment, Course, StoreError};
use lycosa_types::{Change, UnixMs, UrlId, UrlKey};

use super::Bookkeeper;

/// Images whose visit is awaited, or was made in this run; beyond, pages go without.
const MOST_PICTURES: usize = 200_000;

/// A page whose verdict waits for its images.
#[derive(Clone, Debug)]
pub(super) struct Onlooker {
    pub(super) id: UrlId,
    /// When the visit was, what it showed, and what is known since.
    pub(super) at: UnixMs,
    pub(super) change: Change,
    pub(super) course: Course,
    /// What was known before the visit.
    pub(super) before: Course,
    pub(super) since_ms: u64,
}

/// What is known of an image in this run.
#[derive(Debug)]
enum Picture {
    Awaited(Vec<Onlooker>),
    Seen { changed: bool, at: UnixMs },
}

#[derive(Debug, Default)]
pub(super) struct Pictures {
    seen: HashMap<UrlKey, Picture>,
    /// Visits that were amended: one changed image is enough.
    amended: HashSet<(UrlKey, UnixMs)>,
}

impl Pictures {
    /// Forgets what is over if there is no room; says whether there still is none.
    fn make_room(&mut self) -> bool {
        if self.seen.len() >= MOST_PICTURES {
            self.seen.retain(|_, picture| matches!(picture, Picture::Awaited(_)));
            self.amended.clear();
        }
        self.seen.len() >= MOST_PICTURES
    }
}

impl Bookkeeper {
    /// A page showed no change: asks for its images. `onlooker` is told if one of them changed.
    pub(super) fn look_at_pictures(
        &mut self,
        pictures: &[UrlId],
        onlooker: &Onlooker,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        for &id in pictures {
            let full = self.pictures.make_room();
            let last_visit = UnixMs(now.0.saturating_sub(onlooker.since_ms));
            match self.pictures.seen.get_mut(&id.key) {
                Some(Picture::Awaited(onlookers)) => onlookers.push(onlooker.clone()),
                Some(Picture::Seen { changed: true, at }) if *at >= last_visit => {
                    self.amend(onlooker.clone());
                    return Ok(());
                }
                Some(Picture::Seen { at, .. }) if *at >= last_visit => {}
                None if full => {}
                Some(Picture::Seen { .. }) | None => {
                    let Some(record) = self.store.url(id)? else { continue };
                    if self.frontier.revisit(id, record, now)? {
                        self.pictures.seen.insert(id.key, Picture::Awaited(vec![onlooker.clone()]));
                    }
                }
            }
        }
        Ok(())
    }

    /// A visit ended that may have been one to an image.
    pub(super) fn picture_ended(&mut self, key: UrlKey, change: Change, at: UnixMs) {
        let Some(picture) = self.pictures.seen.get_mut(&key) else { return };
        let changed = change.is_news();
        if let Picture::Awaited(onlookers) = std::mem::replace(picture, Picture::Seen { changed, at })
            && changed
        {
            onlookers.into_iter().for_each(|onlooker| self.amend(onlooker));
        }
    }

    /// The page changed after all: by its image.
    fn amend(&mut self, onlooker: Onlooker) {
        let Onlooker { id, at, change, mut course, before, since_ms } = onlooker;
        if !self.pictures.amended.insert((id.key, at)) {
            return;
        }
        self.totals.recount_change(change, Change::Image);
        course.changed_at = Some(at);
        // When it is due was decided already and stands.
        self.refresher.changed_after_all(&mut course, &before, since_ms);
        let signal = "image".to_owned();
        self.frontier.amend(id, Amendment { at, change: Change::Image, signal, course });
    }
}
