//! From the store and the archive to the index.
//!
//! Pages are compared with the index by version, so that a second run, or one after a crash, touches only what differs:
//! a version is made of the page's place and content (upper half) and of the links to it (lower half). The texts of
//! links need every page to be read once before the first is indexed; that pass is left out when no page has changed.

use anyhow::Result;
use lycosa_engine::CrawlReader;
use lycosa_search::indexer::CHANGES_PER_COMMIT;
use lycosa_search::query::Day;
use lycosa_search::{Change, Indexer, Mark, PageDoc, PageKey, Versions};
use lycosa_types::{ArchiveSpan, CanonUrl, Digest, Outcome, UrlId, UrlRecord, VisitFacts};

use super::anchors::Anchors;
use crate::document::{Document, DocumentReader};

/// Pages that are sorted by their place in the archive before they are read, so that it is read forwards.
const SORTED_AT_ONCE: usize = 1 << 18;
/// Pages between two calls for progress.
const TOLD_EVERY: u64 = 1000;
/// The part of the headings that is indexed.
const MAX_HEADINGS: usize = 500;

/// What a run met besides what it fed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walked {
    pub unchanged: u64,
    /// Pages that the archive could not give back; they are named on standard error.
    pub unreadable: u64,
}

/// Segment, offset and id of a page.
type Place = (u32, u64, UrlId);

pub fn run(reader: &CrawlReader, indexer: &mut Indexer, tell: &mut dyn FnMut(u64)) -> Result<Walked> {
    let versions = indexer.versions()?;
    let mut walked = Walked::default();
    if let Some(unchanged) = unchanged(reader, &versions)? {
        walked.unchanged = unchanged;
        return Ok(walked);
    }
    let mut documents = DocumentReader::new(reader.config.urls.clone());
    let mut anchors = Anchors::default();
    each_page(reader, |_, record| {
        // What cannot be read is told about when it is indexed.
        let _ = with_document(reader, &mut documents, record, |document| {
            for link in document.links.iter().filter(|link| matches!(link.kind, "anchor" | "area")) {
                if let Some(url) = &link.url {
                    anchors.note(url, link.anchor);
                }
            }
        });
        Ok(())
    })?;
    let mut pending = 0;
    for entry in reader.store.urls() {
        let (id, record) = entry?;
        let key = PageKey(id.key.to_bytes());
        if indexed(&record).is_none() && versions.of(key)?.is_some() {
            indexer.apply(Change::Delete(key))?;
            pending += 1;
        }
    }
    let mut pages = 0;
    each_page(reader, |id, record| {
        pages += 1;
        if u64::is_multiple_of(pages, TOLD_EVERY) {
            tell(pages);
        }
        let key = PageKey(id.key.to_bytes());
        let low = id.key.low();
        let version = (page_version(record) << 32) | u64::from(anchors.version(low));
        if versions.of(key)? == Some(version) {
            walked.unchanged += 1;
            return Ok(());
        }
        let made = with_document(reader, &mut documents, record, |document| {
            let mut page = page_of(id, record, document);
            page.anchors = anchors.of(low);
            page.rank = anchors.rank(low);
            page.version = version;
            page
        });
        match made {
            Ok(page) => indexer.apply(Change::Put(Box::new(page)))?,
            Err(error) => {
                eprintln!("left out {}: {error:#}", record.url);
                walked.unreadable += 1;
                return Ok(());
            }
        }
        pending += 1;
        if pending >= CHANGES_PER_COMMIT {
            pending = 0;
            indexer.commit(Mark("walking".to_owned()))?;
        }
        Ok(())
    })?;
    indexer.commit(Mark("complete".to_owned()))?;
    Ok(walked)
}

/// The number of pages if the index holds exactly the pages of the crawl, each as it is now.
fn unchanged(reader: &CrawlReader, versions: &Versions) -> Result<Option<u64>> {
    let mut pages = 0;
    for entry in reader.store.urls() {
        let (id, record) = entry?;
        if indexed(&record).is_none() {
            continue;
        }
        pages += 1;
        let known = versions.of(PageKey(id.key.to_bytes()))?;
        if known.map(|version| version >> 32) != Some(page_version(&record)) {
            return Ok(None);
        }
    }
    Ok((pages == versions.count() && pages > 0).then_some(pages))
}

/// Calls for every page that belongs into the index, in the order of the archive.
fn each_page(reader: &CrawlReader, mut each: impl FnMut(UrlId, &UrlRecord) -> Result<()>) -> Result<()> {
    let mut records = reader.store.urls();
    let mut places: Vec<Place> = Vec::new();
    loop {
        let next = records.next().transpose()?;
        let is_end = next.is_none();
        if let Some((id, record)) = next
            && let Some((_, span)) = indexed(&record)
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

/// The facts and the place of a page that belongs into the index.
fn indexed(record: &UrlRecord) -> Option<(&VisitFacts, ArchiveSpan)> {
    let is_there = matches!(record.outcome, Some(Outcome::Fetched { .. } | Outcome::NotModified));
    let facts = record.visit.as_ref().filter(|facts| is_there && !facts.noindex)?;
    let is_text = ["html", "text/", "xml"].iter().any(|part| facts.content_type.contains(part));
    let is_page = is_text && !["css", "javascript"].iter().any(|part| facts.content_type.contains(part));
    facts.archived.filter(|_| is_page || facts.content_type.is_empty()).map(|span| (facts, span))
}

/// A number of 32 bits that changes when the page does.
fn page_version(record: &UrlRecord) -> u64 {
    let Some((facts, span)) = indexed(record) else { return 0 };
    let digest = facts.digest.map_or(0, |digest| digest.0);
    let duplicate_of = facts.duplicate_of.map_or(0, |id| id.key.low());
    let parts = [digest, u64::from(span.segment), span.offset, duplicate_of, u64::from(record.depth)];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    Digest::of(&bytes).0 >> 32
}

fn with_document<T>(
    reader: &CrawlReader,
    documents: &mut DocumentReader,
    record: &UrlRecord,
    each: impl FnOnce(&Document<'_>) -> T,
) -> Result<T> {
    let response = reader.archived(record)?.decode()?;
    let url = CanonUrl::from_canonical(record.url.clone());
    Ok(each(&documents.read(&response.payload, response.header("content-type"), Some(&url))))
}

fn page_of(id: UrlId, record: &UrlRecord, document: &Document<'_>) -> PageDoc {
    let url = CanonUrl::from_canonical(record.url.clone());
    let mut page = PageDoc::new(record.url.clone(), PageKey(id.key.to_bytes()));
    page.site = url.host().to_owned();
    page.title = document.title.to_owned();
    for heading in document.headings.iter().take(MAX_HEADINGS) {
        page.headings.push_str(heading.text);
        page.headings.push('\n');
    }
    page.text = document.text.clone().into_owned();
    page.author = document.author.to_owned();
    page.language = document.language.to_owned();
    page.depth = record.depth;
    for date in &document.dates {
        let slot = if date.kind == "modified" { &mut page.modified_s } else { &mut page.published_s };
        *slot = slot.or_else(|| iso_day(date.value));
    }
    if let Some(facts) = &record.visit {
        page.content_type = facts.content_type.clone();
        page.duplicate_of = facts.duplicate_of.map(|id| PageKey(id.key.to_bytes()));
        if page.language.is_empty() {
            page.language = facts.language.clone();
        }
        let sent = facts.last_modified.as_deref().and_then(http_day);
        page.modified_s = page.modified_s.or(sent);
    }
    page
}

/// The day of `2024-05-31T12:00:00Z`, as seconds since 1970.
fn iso_day(text: &str) -> Option<i64> {
    Day::parse(text.trim().get(..10)?).map(Day::start_s)
}

/// The day of `Wed, 21 Oct 2015 07:28:00 GMT`, as seconds since 1970.
fn http_day(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Day::parse(&format!("{year}-{month:02}-{day:0>2}")).map(Day::start_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_from_pages_and_heads() {
        assert_eq!(iso_day("1970-01-02T03:04:05Z"), Some(86_400));
        assert_eq!(http_day("Fri, 02 Jan 1970 03:04:05 GMT"), Some(86_400));
        assert_eq!((iso_day("soon"), http_day("soon"), http_day("")), (None, None, None));
    }
}
