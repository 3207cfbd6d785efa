//! The whole crawl compared with its index, and the index put right.
//!
//! Pages are compared by version, so that a second run, or one after a crash, touches only what differs: a version is
//! made of the page's place and content (upper half) and of the links to it and its importance (lower half). The texts of
//! links need every page to be read once before the first is indexed; that pass is left out when nothing has changed.

use lycosa_archive::HttpResponse;
use lycosa_search::indexer::CHANGES_PER_COMMIT;
use lycosa_search::{Change, Indexer, PageKey, Versions};
use lycosa_types::{ArchiveSpan, Digest, UrlId, UrlRecord};

use super::anchors::Anchors;
use super::mark::IndexMark;
use super::page_reader::PageReader;
use super::{Importance, IndexingError, OwnArchive, Place, original_of, page_version, place_of};
use crate::reader::{CrawlReader, ReaderError};

/// Pages that are sorted by their place in the archive before they are read, so that it is read forwards.
const SORTED_AT_ONCE: usize = 1 << 18;
/// Pages between two calls for progress.
const TOLD_EVERY: u64 = 1000;
/// Steps of importance within a doubling that make a page worth indexing anew.
const RANK_STEPS: f64 = 4.0;

/// What a run met besides what it fed.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    pub unchanged: u64,
    /// Pages that the archive could not give back, and why.
    pub unreadable: Vec<(String, String)>,
    /// Bytes of the pages that were indexed, as received and decoded.
    pub page_bytes: u64,
}

/// Brings an index up to date with a crawl that is not running.
pub fn bring_up_to_date(
    reader: &CrawlReader,
    indexer: &mut Indexer,
    importance: Option<Importance<'_>>,
    tell: &mut dyn FnMut(u64),
) -> Result<Walked, IndexingError> {
    let versions = indexer.versions()?;
    let own = OwnArchive::of(&reader.store)?;
    let ranks = importance.map_or(0, |importance| importance.id);
    let before = IndexMark::read(indexer.mark());
    let mut walked = Walked::default();
    if before.complete
        && before.ranks == ranks
        && let Some(unchanged) = unchanged(reader, own, &versions)?
    {
        walked.unchanged = unchanged;
        return Ok(walked);
    }
    let mut pages = PageReader::new(reader.config.urls.clone());
    let mut anchors = Anchors::default();
    each_page(reader, own, |_, record| {
        // What cannot be read is told about when it is indexed.
        if let Ok(response) = response_of(reader, record) {
            pages.links(&record.url, &response, &mut |key, text| anchors.note(key, text));
        }
        Ok(())
    })?;
    let mut mark = IndexMark { complete: false, ..before };
    let mut pending = 0;
    for entry in reader.store.urls() {
        let (id, record) = entry?;
        let key = PageKey(id.key.to_bytes());
        if matches!(place_of(&record, own), Place::Nothing) && versions.of(key)?.is_some() {
            indexer.apply(Change::Delete(key))?;
            pending += 1;
        }
    }
    let mut end = mark;
    let mut number = 0;
    each_page(reader, own, |id, record| {
        let Place::Page(facts, span) = place_of(record, own) else { return Ok(()) };
        number += 1;
        if u64::is_multiple_of(number, TOLD_EVERY) {
            tell(number);
        }
        end.pass(span);
        let key = PageKey(id.key.to_bytes());
        let low = id.key.low();
        let rank = importance
            .map_or_else(|| anchors.rank(low), |importance| (importance.rank_of)(low).map_or(0.0, f64::from));
        let original = original_of(reader, id, facts)?;
        let version = (page_version(record, facts, span, original) << 32)
            | u64::from(around_version(anchors.version(low), rank));
        if versions.of(key)? == Some(version) {
            walked.unchanged += 1;
            return Ok(());
        }
        match response_of(reader, record) {
            Ok(response) => {
                let mut page = pages.page(id, record, &response, &mut |_, _| {});
                walked.page_bytes += response.payload.len() as u64;
                page.anchors = anchors.of(low);
                page.duplicate_of = original.map(|id| PageKey(id.key.to_bytes()));
                page.rank = rank;
                page.version = version;
                indexer.apply(Change::Put(Box::new(page)))?;
            }
            Err(error) => {
                walked.unreadable.push((record.url.clone(), error.to_string()));
                return Ok(());
            }
        }
        pending += 1;
        if pending >= CHANGES_PER_COMMIT {
            pending = 0;
            indexer.commit(mark.write())?;
        }
        Ok(())
    })?;
    mark = IndexMark { complete: true, ranks, ..end };
    indexer.commit(mark.write())?;
    Ok(walked)
}

/// A number for what others say about a page.
fn around_version(anchors: u32, rank: f64) -> u32 {
    let step = (rank.max(0.0).ln_1p() * RANK_STEPS) as u32;
    let mut bytes = anchors.to_le_bytes().to_vec();
    bytes.extend(step.to_le_bytes());
    Digest::of(&bytes).0 as u32
}

/// The number of pages if the index holds exactly the pages of the crawl, each as it is now.
fn unchanged(
    reader: &CrawlReader,
    own: OwnArchive,
    versions: &Versions,
) -> Result<Option<u64>, IndexingError> {
    let mut pages = 0;
    for entry in reader.store.urls() {
        let (id, record) = entry?;
        let known = || versions.of(PageKey(id.key.to_bytes()));
        match place_of(&record, own) {
            Place::Page(facts, span) => {
                pages += 1;
                let version = page_version(&record, facts, span, original_of(reader, id, facts)?);
                if known()?.map(|known| known >> 32) != Some(version) {
                    return Ok(None);
                }
            }
            Place::Unknown if record.outcome.is_some() && known()?.is_some() => pages += 1,
            Place::Unknown | Place::Nothing => {}
        }
    }
    Ok((pages == versions.count() && pages > 0).then_some(pages))
}

/// Calls for every page that belongs into the index, in the order of the archive.
fn each_page(
    reader: &CrawlReader,
    own: OwnArchive,
    each: impl FnMut(UrlId, &UrlRecord) -> Result<(), IndexingError>,
) -> Result<(), IndexingError> {
    let is_page = |record: &UrlRecord| matches!(place_of(record, own), Place::Page(_, _));
    each_page_from(reader, IndexMark::default(), |_| true, is_page, each)
}

/// Calls for every record that was archived `here`, at or behind a mark, and is wanted, in the order of the archive.
pub(super) fn each_page_from(
    reader: &CrawlReader,
    from: IndexMark,
    here: impl Fn(ArchiveSpan) -> bool,
    wanted: impl Fn(&UrlRecord) -> bool,
    mut each: impl FnMut(UrlId, &UrlRecord) -> Result<(), IndexingError>,
) -> Result<(), IndexingError> {
    let mut records = reader.store.urls();
    let mut places: Vec<(u32, u64, UrlId)> = Vec::new();
    loop {
        let next = records.next().transpose()?;
        let is_end = next.is_none();
        if let Some((id, record)) = next
            && let Some(span) = record.visit.as_ref().and_then(|facts| facts.archived)
            && here(span)
            && from.is_before(span)
            && wanted(&record)
        {
            places.push((span.segment, span.offset, id));
        }
        if is_end || places.len() >= SORTED_AT_ONCE {
            places.sort_unstable();
            for (_, _, id) in places.drain(..) {
                if let Some(record) = reader.store.url(id)? {
                    each(id, &record)?;
                }
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

/// The response that a page was made from.
pub(super) fn response_of(reader: &CrawlReader, record: &UrlRecord) -> Result<HttpResponse, ReaderError> {
    Ok(reader.archived(record)?.decode()?)
}
