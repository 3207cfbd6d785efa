//! A crawl directory, read: what is known about its URLs, and the pages in its archive.
//!
//! Promise: nothing is written beyond what opening the store does by itself, and a crawl that runs in another process is
//! told apart from one that does not exist.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use lycosa_archive::{HttpResponse, ReadError, ReadLimits, Record, SpanReader, http_response};
use lycosa_frontier::{Course, Store, StoreError};
use lycosa_types::{CanonUrl, PastVisit, UrlError, UrlId, UrlRecord, VisitFacts};

use crate::bookkeeper::{MARK_CLEAN, MARK_TOTALS};
use crate::borrowed::{Borrowed, Refusal};
use crate::cluster::aside::record_of;
use crate::cluster::unplaced::visited_id;
use crate::config::{Config, ConfigError};
use crate::layout::Layout;
use crate::refresher::{first_visit, population};
use crate::totals::Totals;

/// A revisit may refer to a revisit; longer chains are taken for damage.
const MAX_REFERRALS: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    #[error(
        "there is no crawl in {0}; name its directory with -d DIR, or start one with `lycosa crawl URL -d DIR`"
    )]
    NoCrawl(PathBuf),
    #[error(
        "a crawl is running in {0} and holds its state; wait for it or stop it (Ctrl-C saves everything), then ask again; \
         `lycosa status {0}` works while it runs"
    )]
    Running(PathBuf),
    #[error(
        "the directory cannot be written into, and making a place to read it from failed at {path}: {source}; set TMPDIR to a directory with room"
    )]
    Borrowed { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Archive(#[from] ReadError),
    #[error("{0} is not known to this crawl; `lycosa why {0}` tells more")]
    Unknown(String),
    #[error("there is nothing in the archive for {0}; `lycosa why {0}` tells more")]
    NotArchived(String),
}

impl From<StoreError> for ReaderError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A page as archived.
#[derive(Clone, Debug)]
pub struct ArchivedPage {
    /// The record of this URL's own visit: a response, or a revisit that has a head alone.
    pub own: Record,
    /// The record that holds the payload: the same, or the one a revisit refers to.
    pub response: Record,
}

impl ArchivedPage {
    /// Status, headers and decoded payload. A body that was never encoded, whatever its label says, is taken as it is,
    /// as it was when it was fetched.
    pub fn decode(&self) -> Result<HttpResponse, ReadError> {
        let limits = ReadLimits::default();
        let error = match http_response(&self.response, &limits) {
            Err(error @ ReadError::Coding { .. }) => error,
            other => return other,
        };
        let mut plain = self.response.clone();
        let head_bytes = head_of(&plain.block).len();
        for at in fields_named(&plain.block[..head_bytes], b"content-encoding") {
            plain.block[at] = HIDDEN;
        }
        let mut response = http_response(&plain, &limits).map_err(|_| error)?;
        for (name, _) in &mut response.headers {
            if name.as_bytes().first() == Some(&HIDDEN) {
                name.replace_range(..1, "C");
            }
        }
        let begins_encoded = ENCODED_STARTS.iter().any(|start| response.payload.starts_with(start));
        if begins_encoded { http_response(&self.response, &limits) } else { Ok(response) }
    }

    /// The head of this URL's own response as it was received, blank line included.
    pub fn head(&self) -> &[u8] {
        head_of(&self.own.block)
    }
}

/// Stands for the first letter of a field that is not to be read. No field name begins with it.
const HIDDEN: u8 = b'~';
/// How gzip and zstd bodies begin.
const ENCODED_STARTS: [&[u8]; 2] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd]];

/// The head of a response, blank line included.
fn head_of(block: &[u8]) -> &[u8] {
    let end = block.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|at| at + 4);
    let end = end.or_else(|| block.windows(2).position(|bytes| bytes == b"\n\n").map(|at| at + 2));
    &block[..end.unwrap_or(block.len())]
}

/// Where the lines start that carry this field.
fn fields_named(head: &[u8], name: &[u8]) -> Vec<usize> {
    let starts = head.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let is_named =
        |at: &usize| head.get(*at..at + name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name));
    starts.filter(is_named).collect()
}

/// A crawl that is not running, or one of this process, opened for reading.
pub struct CrawlReader {
    pub layout: Layout,
    pub config: Config,
    pub store: Arc<Store>,
    /// Keeps the last segment open between two pages.
    spans: RefCell<SpanReader>,
    /// Goes when the store is closed.
    _borrowed: Option<Borrowed>,
}

impl CrawlReader {
    pub fn open(layout: Layout) -> Result<Self, ReaderError> {
        if !layout.exists() || !layout.config().exists() {
            return Err(ReaderError::NoCrawl(layout.root));
        }
        // What was crawled can be read without them.
        let config = Config::load(&layout.config()).unwrap_or_else(|error| {
            tracing::warn!("{error}; the default settings are used, by which a URL may not be found");
            Config::default()
        });
        let borrowed = match Borrowed::of_crawl(&layout) {
            Ok(borrowed) => borrowed,
            Err(Refusal::InUse) => return Err(ReaderError::Running(layout.root)),
            Err(Refusal::Io(path, source)) => return Err(ReaderError::Borrowed { path, source }),
        };
        let (borrowed, layout) = match borrowed {
            Some((borrowed, own)) => (Some(borrowed), own),
            None => (None, layout),
        };
        let store = match Store::open(&layout.state(), config.store_bytes()) {
            Ok(store) => Arc::new(store),
            Err(StoreError::InUse(_)) => return Err(ReaderError::Running(layout.root)),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { _borrowed: borrowed, ..Self::of_running(layout, config, store) })
    }

    /// Reads beside a crawl of this process, whose store it shares.
    pub fn of_running(layout: Layout, config: Config, store: Arc<Store>) -> Self {
        let spans = RefCell::new(SpanReader::new(&layout.archive(), ReadLimits::default()));
        Self { layout, config, store, spans, _borrowed: None }
    }

    /// What the crawl did so far.
    pub fn totals(&self) -> Result<Totals, ReaderError> {
        let Some(bytes) = self.store.mark(MARK_TOTALS)? else { return Ok(Totals::default()) };
        serde_json::from_slice(&bytes).map_err(|_| StoreError::Damaged("totals").into())
    }

    /// Whether the last run ended by itself rather than by a crash.
    pub fn ended_cleanly(&self) -> Result<bool, ReaderError> {
        Ok(self.store.mark(MARK_CLEAN)?.is_none_or(|mark| mark == [1]))
    }

    /// Hosts and the URLs that wait for them.
    pub fn waiting(&self) -> Result<(u64, u64), ReaderError> {
        let (mut hosts, mut waiting) = (0, 0);
        for host in self.store.hosts() {
            hosts += 1;
            waiting += host?.1.waiting;
        }
        Ok((hosts, waiting))
    }

    /// The record of a URL as somebody typed it.
    pub fn find(&self, raw: &str) -> Result<UrlRecord, ReaderError> {
        let url = CanonUrl::parse(raw, &self.config.urls)?;
        let record = record_of(&self.store, &self.config.partitioner(), &url)?;
        record.ok_or_else(|| ReaderError::Unknown(url.into_string()))
    }

    /// The URL behind an id.
    pub fn url_of(&self, id: UrlId) -> Result<Option<String>, ReaderError> {
        Ok(self.store.url(id)?.map(|record| record.url))
    }

    /// A URL's page in the archive; where its payload was archived under another URL, that one's.
    pub fn archived(&self, record: &UrlRecord) -> Result<ArchivedPage, ReaderError> {
        let missing = || ReaderError::NotArchived(record.url.clone());
        let facts = record.visit.clone().ok_or_else(missing)?;
        let own = self.spans.borrow_mut().read(facts.archived.ok_or_else(missing)?)?;
        let mut response = own.clone();
        let mut facts = facts;
        for _ in 0..MAX_REFERRALS {
            if response.kind() != "revisit" {
                return Ok(ArchivedPage { own, response });
            }
            facts = self.original(&facts, &response)?.ok_or_else(missing)?;
            response = self.spans.borrow_mut().read(facts.archived.ok_or_else(missing)?)?;
        }
        Err(missing())
    }

    /// The visits of a page, the earliest first. A page visited once has one, told from its record.
    pub fn history(&self, record: &UrlRecord) -> Result<Vec<PastVisit>, ReaderError> {
        let visits = self.store.history(self.id_of(record)?)?;
        if !visits.is_empty() {
            return Ok(visits);
        }
        Ok(record.visited_at.map(|at| first_visit(record, at)).into_iter().collect())
    }

    /// What visits over time told about a page.
    pub fn course(&self, record: &UrlRecord) -> Result<Option<Course>, ReaderError> {
        Ok(self.store.course(self.id_of(record)?)?)
    }

    /// How often a page changes by what its visits and those of all pages showed, in changes per second.
    pub fn change_rate_per_s(&self, course: &Course) -> Result<f64, ReaderError> {
        Ok(course.evidence.given(&population(&self.store)?.prior()).rate())
    }

    /// The page as one of its visits found it.
    pub fn archived_visit(&self, record: &UrlRecord, visit: &PastVisit) -> Result<ArchivedPage, ReaderError> {
        let mut at_visit = record.clone();
        let mut facts = at_visit.visit.take().unwrap_or_default();
        facts.archived = visit.archived;
        facts.digest = visit.digest;
        // What it repeated then is told by the record in the archive.
        facts.duplicate_of = None;
        at_visit.visit = Some(facts);
        self.archived(&at_visit)
    }

    fn id_of(&self, record: &UrlRecord) -> Result<UrlId, StoreError> {
        let url = CanonUrl::from_canonical(record.url.clone());
        visited_id(&self.store, &self.config.partitioner(), &url)
    }

    /// What is known of the visit that a revisit refers to: the visit with the same payload, however long ago.
    fn original(&self, facts: &VisitFacts, revisit: &Record) -> Result<Option<VisitFacts>, ReaderError> {
        let by_name = || {
            let target =
                CanonUrl::parse(revisit.header("WARC-Refers-To-Target-URI")?, &self.config.urls).ok()?;
            visited_id(&self.store, &self.config.partitioner(), &target).ok()
        };
        let Some(id) = facts.duplicate_of.or_else(by_name) else { return Ok(None) };
        let Some(now) = self.store.url(id)?.and_then(|record| record.visit) else { return Ok(None) };
        if now.digest == facts.digest {
            return Ok(Some(now));
        }
        // The page has changed since.
        let visits = self.store.history(id)?;
        let then = visits.into_iter().find(|visit| visit.digest == facts.digest && visit.archived.is_some());
        Ok(then.map_or(Some(now.clone()), |visit| Some(VisitFacts { archived: visit.archived, ..now })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(head: &str, body: &[u8]) -> Result<HttpResponse, ReadError> {
        let mut block = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes();
        block.extend_from_slice(body);
        let headers = vec![("WARC-Type".to_owned(), "response".to_owned())];
        let record = Record { headers, block };
        ArchivedPage { own: record.clone(), response: record }.decode()
    }

    #[test]
    fn a_label_that_lies_is_passed_over() {
        for label in ["gzip", "zstd", "utf-8"] {
            let response = decoded(&format!("content-encoding: {label}\r\nA: b"), b"<p>plain").unwrap();
            assert_eq!(response.payload, b"<p>plain");
            assert_eq!(response.header("Content-Encoding"), Some(label));
        }
        assert!(
            decoded("Content-Encoding: gzip", &[0x1f, 0x8b, 8, 0, 1]).is_err(),
            "cut off, not mislabelled"
        );
        assert_eq!(decoded("A: b", b"x").unwrap().payload, b"x");
    }
}
