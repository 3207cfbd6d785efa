//! A thread that indexes what a running crawl commits.
//!
//! Batches come after they are durable, over a bounded queue: a crawl that outruns the index waits for it, and holds no
//! more in memory than the queue does. Whatever stops this thread stops it alone: the crawl goes on, and the next run, or
//! `lycosa index`, begins where the last commit stands.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_frontier::{Done, Store};
use lycosa_search::indexer::Fed;
use lycosa_search::{Change, Indexer, PageKey, index_dir};
use lycosa_types::{ArchiveSpan, Outcome, UrlId, UrlRecord, VisitFacts};

use super::anchors::Anchors;
use super::mark::IndexMark;
use super::page_reader::PageReader;
use super::walk::{each_page_from, response_of};
use super::{IndexingError, OwnArchive, Place, original_of, page_version, place_of};
use crate::config::Config;
use crate::layout::Layout;
use crate::reader::CrawlReader;

/// Batches that wait to be indexed; a crawl that is further ahead waits.
const QUEUED_BATCHES: usize = 64;

/// What the thread did.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    pub fed: Fed,
    /// Pages that the archive could not give back.
    pub unreadable: u64,
    /// Why it stopped before the crawl did.
    pub failure: Option<String>,
}

/// The crawl's end of the thread.
#[derive(Debug)]
pub struct Follower {
    batches: SyncSender<Vec<Done>>,
    thread: JoinHandle<Followed>,
}

impl Follower {
    /// Opens the crawl's index and starts the thread, which first indexes what lies behind the index's mark.
    pub fn start(layout: &Layout, config: &Config, store: Arc<Store>) -> Result<Self, IndexingError> {
        let indexer = Indexer::open(&index_dir(layout.path()))?;
        let (batches, inbox) = sync_channel(QUEUED_BATCHES);
        let mark = IndexMark { complete: false, ..IndexMark::read(indexer.mark()) };
        let own = OwnArchive::of(&store)?;
        let reader = CrawlReader::of_running(layout.clone(), config.clone(), store);
        let work = Work {
            pages: PageReader::new(config.urls.clone()),
            anchors: Anchors::default(),
            indexer,
            own,
            mark,
            reached: mark,
            pending: 0,
            commit_pages: config.index.commit_pages.max(1),
            commit_every: Duration::from_secs(config.index.commit_s.clamp(1, 86_400)),
            last_commit: Instant::now(),
            unreadable: 0,
        };
        let thread = std::thread::Builder::new()
            .name("indexer".to_owned())
            .spawn(move || work.run(&reader, &inbox))
            .map_err(|error| IndexingError::Thread(error.to_string()))?;
        Ok(Self { batches, thread })
    }

    /// Where the committer sends what is durable.
    pub fn inbox(&self) -> SyncSender<Vec<Done>> {
        self.batches.clone()
    }

    /// Waits until everything sent is indexed and committed. Every other sender has to be gone.
    pub fn finish(self) -> Followed {
        drop(self.batches);
        self.thread.join().unwrap_or_else(|_| Followed {
            failure: Some("the thread of the index ended by a panic".to_owned()),
            ..Followed::default()
        })
    }
}

struct Work {
    pages: PageReader,
    anchors: Anchors,
    indexer: Indexer,
    own: OwnArchive,
    /// As far as commits may say that everything is in the index.
    mark: IndexMark,
    /// As far as pages were met.
    reached: IndexMark,
    pending: u64,
    commit_pages: u64,
    commit_every: Duration,
    last_commit: Instant,
    unreadable: u64,
}

impl Work {
    fn run(mut self, reader: &CrawlReader, inbox: &Receiver<Vec<Done>>) -> Followed {
        let result = self.follow(reader, inbox);
        let unreadable = self.unreadable;
        let (fed, failure) = match result {
            // Segments that are being merged are finished, so that the index is left small and quick.
            Ok(()) => match self.indexer.finish() {
                Ok(fed) => (fed, None),
                Err(error) => (Fed::default(), Some(error.to_string())),
            },
            Err(error) => (self.indexer.fed(), Some(error.to_string())),
        };
        Followed { fed, unreadable, failure }
    }

    fn follow(&mut self, reader: &CrawlReader, inbox: &Receiver<Vec<Done>>) -> Result<(), IndexingError> {
        self.catch_up(reader)?;
        loop {
            let wait = self.commit_every.saturating_sub(self.last_commit.elapsed());
            match inbox.recv_timeout(wait) {
                Ok(batch) => {
                    // A page whose copy stands is in the index as it is.
                    let stands = |done: &&Done| done.course.as_ref().is_some_and(|end| end.keeps_copy);
                    for done in batch.iter().filter(|done| !stands(done)) {
                        let id = UrlId { partition: done.slot.partition, key: done.key };
                        self.take(reader, id, &done.record)?;
                    }
                    self.mark = self.reached;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.pending >= self.commit_pages || self.last_commit.elapsed() >= self.commit_every {
                self.commit()?;
            }
        }
        self.commit()
    }

    /// Indexes what was archived behind the mark: by runs without an index, or in the moments before a crash.
    fn catch_up(&mut self, reader: &CrawlReader) -> Result<(), IndexingError> {
        let own = self.own;
        each_page_from(
            reader,
            self.mark,
            |span| own.has(span),
            |_| true,
            |id, record| {
                self.take(reader, id, record)?;
                if self.pending >= self.commit_pages { self.commit() } else { Ok(()) }
            },
        )?;
        self.mark = self.reached;
        Ok(())
    }

    fn take(&mut self, reader: &CrawlReader, id: UrlId, record: &UrlRecord) -> Result<(), IndexingError> {
        if let Some(span) = record.visit.as_ref().and_then(|facts| facts.archived)
            && self.own.has(span)
        {
            self.reached.pass(span);
        }
        let key = PageKey(id.key.to_bytes());
        match place_of(record, self.own) {
            // Unchanged since it was indexed.
            Place::Page(_, span)
                if record.outcome == Some(Outcome::NotModified) && !self.mark.is_before(span) =>
            {
                Ok(())
            }
            Place::Page(facts, span) => self.put(reader, id, record, (facts, span)),
            Place::Nothing => {
                self.pending += u64::from(self.indexer.remove(key));
                Ok(())
            }
            Place::Unknown => Ok(()),
        }
    }

    fn put(
        &mut self,
        reader: &CrawlReader,
        id: UrlId,
        record: &UrlRecord,
        (facts, span): (&VisitFacts, ArchiveSpan),
    ) -> Result<(), IndexingError> {
        let response = match response_of(reader, record) {
            Ok(response) => response,
            Err(error) => {
                tracing::warn!(url = record.url, %error, "left out of the index");
                self.unreadable += 1;
                return Ok(());
            }
        };
        let anchors = &mut self.anchors;
        let mut page = self.pages.page(id, record, &response, &mut |key, text| anchors.note(key, text));
        let original = original_of(reader, id, facts)?;
        let low = id.key.low();
        page.anchors = self.anchors.of(low);
        page.rank = self.anchors.rank(low);
        page.duplicate_of = original.map(|id| PageKey(id.key.to_bytes()));
        // The lower half says that the links to it are not all known: bringing the index up to date will see to it.
        page.version = page_version(record, facts, span, original) << 32;
        self.indexer.apply(Change::Put(Box::new(page)))?;
        self.pending += 1;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), IndexingError> {
        if self.pending > 0 || self.mark != IndexMark::read(self.indexer.mark()) {
            self.indexer.commit(self.mark.write())?;
            self.pending = 0;
        }
        self.last_commit = Instant::now();
        Ok(())
    }
}
