//! Images of pages: which of them are looked at, and what is kept of one.
//!
//! Images are URLs like any other, with their own queue, robots rules and pauses. What is special: a page remembers its
//! first few, and they are asked for again only when the page itself showed no change.

use lycosa_page::{Extract, LinkKind, PictureMark, Signal, compare_pictures};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonUrl, UrlId};

use super::{Judge, Judged};
use crate::cluster::unplaced::visited_id;

/// What the first byte of a stored image mark is; signatures of pages begin with their version.
const PICTURE_TAG: u8 = 0xFF;

/// The mark of an image as it is stored.
pub(super) fn encode(mark: &PictureMark) -> Option<Vec<u8>> {
    postcard::to_extend(mark, vec![PICTURE_TAG]).ok()
}

/// Reads what [`encode`] wrote; none if it is something else.
pub(super) fn decode(bytes: &[u8]) -> Option<PictureMark> {
    postcard::from_bytes(bytes.strip_prefix(&[PICTURE_TAG])?).ok()
}

impl Judge {
    /// The images of the page last scanned that are compared between visits, queued like links.
    pub(super) fn pictures(&self, page: &CanonUrl, base: &CanonUrl, judged: &mut Judged) -> Vec<UrlId> {
        let config = &self.context.config;
        let most = usize::from(config.judging.images);
        let mut found = Vec::new();
        if most == 0 {
            return found;
        }
        let (scope, partitioner) = (self.context.scope(), config.partitioner());
        let mut joiner = Joiner::new(base, &config.urls);
        let mut joined = String::new();
        let extract: &Extract = &self.extract;
        for link in extract.links.iter().filter(|link| link.kind == LinkKind::Image) {
            if found.len() >= most || joiner.join(extract.href(link), &mut joined).is_err() {
                continue;
            }
            let url = CanonUrl::from_canonical(std::mem::take(&mut joined));
            let known = visited_id(&self.context.store, &partitioner, &url);
            let id = known.unwrap_or_else(|_| partitioner.id_of(&url));
            if url != *page && !found.contains(&id) && scope.check(&url, judged.outlinks.depth).is_ok() {
                judged.outlinks.push(url.as_str(), id.key, 0.0);
                found.push(id);
            }
        }
        found
    }

    /// Marks the image just received, and compares it with what it was.
    pub(super) fn mark_picture(&mut self, address: &str, body: &[u8], judged: &mut Judged) {
        if self.context.config.judging.images == 0 {
            return;
        }
        let (mark, problem) = PictureMark::of(address, body);
        if let Some(problem) = problem {
            tracing::debug!(address, %problem, "an image is told by its bytes alone");
        }
        judged.end.signatures = encode(&mark);
        self.picture = Some(mark);
    }

    /// What tells the image just received from the one before: none if nothing does.
    pub(super) fn compare_picture(&self, before: Option<&PictureMark>) -> Option<Option<Signal>> {
        let (before, now) = (before?, self.picture.as_ref()?);
        Some(compare_pictures(std::slice::from_ref(before), std::slice::from_ref(now)))
    }
}
