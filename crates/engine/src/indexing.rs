//! The full-text index of a crawl: fed while the crawl runs, or brought up to date afterwards.
//!
//! | module | noun |
//! | --- | --- |
//! | [`follower`] | a thread that indexes what a running crawl commits |
//! | [`walk`] | the whole crawl compared with its index, and the index put right |
//! | [`page_reader`] | from an archived response to what the index takes in |
//! | [`anchors`] | the texts of links, by the page they point to |
//! | [`mark`] | how far the index has come, as its commits remember it |
//!
//! State and archive are the truth. What a crash leaves unindexed lies beyond the mark of the index's last commit and is
//! read again from there; putting a page replaces the one under its key, so nothing is doubled either.

pub mod anchors;
pub mod follower;
pub mod mark;
pub mod page_reader;
pub mod walk;

use lycosa_frontier::{Store, StoreError};
use lycosa_search::SearchError;
use lycosa_types::{ArchiveSpan, Digest, Outcome, UrlId, UrlRecord, VisitFacts};

use crate::cluster::archive_number::archive_of;
use crate::crawl::own_archive;
use crate::reader::{CrawlReader, ReaderError};

pub use follower::{Followed, Follower};
pub use mark::IndexMark;
pub use walk::{Walked, bring_up_to_date};

/// A copy of a copy is looked through this far for the page that all of them repeat.
const MAX_COPIES_OF_COPIES: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum IndexingError {
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Reader(#[from] ReaderError),
    #[error("the thread of the index could not be started or ended by a panic: {0}")]
    Thread(String),
}

/// Importance of pages by the links between them, computed beforehand over the whole crawl.
#[derive(Clone, Copy)]
pub struct Importance<'r> {
    /// Another number for other ranks.
    pub id: u64,
    /// By the lower half of a URL's key; 1 is the average page.
    pub rank_of: &'r dyn Fn(u64) -> Option<f32>,
}

/// What a record means for the index.
#[derive(Clone, Copy, Debug)]
pub enum Place<'r> {
    /// The page belongs into it, as it lies here in the archive.
    Page(&'r VisitFacts, ArchiveSpan),
    /// Nothing of it belongs there: there is no such page, or it lies in another node's archive and index.
    Nothing,
    /// The last visit failed and may succeed again: what is there stays.
    Unknown,
}

/// The archive on this machine's disk. In a cluster a record may name a page in another node's, which is in that node's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnArchive(u32);

impl OwnArchive {
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(own_archive(store)?.unwrap_or(0)))
    }

    pub fn has(self, span: ArchiveSpan) -> bool {
        archive_of(span.segment) == self.0
    }
}

/// What a record means for the index.
pub fn place_of(record: &UrlRecord, own: OwnArchive) -> Place<'_> {
    match &record.outcome {
        Some(Outcome::Fetched { .. } | Outcome::NotModified) => {}
        Some(Outcome::Failed(_)) | None => return Place::Unknown,
        Some(Outcome::Missing { .. } | Outcome::Redirected { .. } | Outcome::Excluded(_)) => {
            return Place::Nothing;
        }
    }
    let is_page = |facts: &&VisitFacts| {
        !record.requisite && !facts.noindex && is_page(&record.url, &facts.content_type)
    };
    let page = record.visit.as_ref().filter(is_page);
    match page.and_then(|facts| facts.archived.map(|span| (facts, span))) {
        Some((facts, span)) if own.has(span) => Place::Page(facts, span),
        _ => Place::Nothing,
    }
}

/// Whether somebody may want to read it: text, but no feed, no sitemap, no rules for robots, which are for programs.
fn is_page(url: &str, content_type: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| content_type.contains(part));
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_list =
        name == "robots.txt" || name == "sitemap.xml" || (name.contains("sitemap") && name.ends_with(".txt"));
    !is_list
        && (content_type.is_empty()
            || has(&["html"])
            || (has(&["text/"]) && !has(&["css", "javascript", "xml"])))
}

/// The page that this one repeats, exactly or nearly; none if it is the first of its kind.
pub fn original_of(reader: &CrawlReader, id: UrlId, facts: &VisitFacts) -> Result<Option<UrlId>, StoreError> {
    let before = |facts: &VisitFacts| facts.duplicate_of.or_else(|| facts.near_duplicate.map(|near| near.of));
    let mut first = None;
    let mut next = before(facts);
    for _ in 0..MAX_COPIES_OF_COPIES {
        let Some(other) = next.filter(|other| *other != id && Some(*other) != first) else { break };
        first = Some(other);
        next = reader.store.url(other)?.and_then(|record| before(record.visit.as_ref()?));
    }
    Ok(first)
}

/// A number of 32 bits that changes when the page does.
pub fn page_version(
    record: &UrlRecord,
    facts: &VisitFacts,
    span: ArchiveSpan,
    original: Option<UrlId>,
) -> u64 {
    let digest = facts.digest.map_or(0, |digest| digest.0);
    let original = original.map_or(0, |id| id.key.low());
    let parts = [digest, u64::from(span.segment), span.offset, original, u64::from(record.depth)];
    let mut bytes = [0; 40];
    for (slot, part) in bytes.chunks_exact_mut(8).zip(parts) {
        slot.copy_from_slice(&part.to_le_bytes());
    }
    Digest::of(&bytes).0 >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{Failure, UnixMs};

    fn record(outcome: Option<Outcome>, facts: VisitFacts) -> UrlRecord {
        let mut record = UrlRecord::queued("http://example.org/".to_owned(), 0, None, UnixMs(0));
        record.outcome = outcome;
        record.visit = Some(facts);
        record
    }

    #[test]
    fn what_is_gone_is_told_from_what_failed() {
        let span = ArchiveSpan { segment: 1, offset: 2, length: 3 };
        let facts =
            VisitFacts { archived: Some(span), content_type: "text/html".into(), ..Default::default() };
        let fetched = || Some(Outcome::Fetched { status: 200 });
        assert!(matches!(place_of(&record(fetched(), facts.clone()), OwnArchive(0)), Place::Page(_, _)));
        let elsewhere = record(fetched(), facts.clone());
        assert!(matches!(place_of(&elsewhere, OwnArchive(2)), Place::Nothing), "another node has it");
        let silent = VisitFacts { noindex: true, ..facts.clone() };
        assert!(matches!(place_of(&record(fetched(), silent), OwnArchive(0)), Place::Nothing));
        let style = VisitFacts { content_type: "text/css".into(), ..facts.clone() };
        assert!(matches!(place_of(&record(fetched(), style), OwnArchive(0)), Place::Nothing));
        for (url, content_type) in [
            ("http://example.org/robots.txt", "text/plain"),
            ("http://example.org/sitemap.xml", "text/html"),
            ("http://example.org/sitemap-2.txt?x", "text/plain"),
            ("http://example.org/news", "application/rss+xml; charset=utf-8"),
            ("http://example.org/news", "text/xml"),
        ] {
            let listed = VisitFacts { content_type: content_type.into(), ..facts.clone() };
            let mut listed = record(fetched(), listed);
            listed.url = url.to_owned();
            assert!(matches!(place_of(&listed, OwnArchive(0)), Place::Nothing), "{url} {content_type}");
        }
        let strict = VisitFacts { content_type: "application/xhtml+xml".into(), ..facts.clone() };
        assert!(matches!(place_of(&record(fetched(), strict), OwnArchive(0)), Place::Page(_, _)));
        let gone = record(Some(Outcome::Missing { status: 410 }), facts.clone());
        assert!(matches!(place_of(&gone, OwnArchive(0)), Place::Nothing));
        let failed = record(Some(Outcome::Failed(Failure::DnsError)), facts.clone());
        assert!(matches!(place_of(&failed, OwnArchive(0)), Place::Unknown));
        assert!(matches!(place_of(&record(None, facts), OwnArchive(0)), Place::Unknown));
    }
}
