//! From a response to what is remembered and followed: decode, scan, compare with what was seen, encode for the archive.
//!
//! Pure CPU work on the worker's own thread and buffers. Whatever the response holds, it ends in a [`Judged`].

mod again;
mod dated;
mod encoding;
mod facts;
mod following;
mod listing;
mod pictures;
mod requisites;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use foldhash::HashMap;

use lycosa_archive::{EncodedVisit, Encoder, EncoderOptions, PayloadDigest, RevisitReason};
use lycosa_fetch::{Response, Visit};
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::store::LeftOut;
use lycosa_frontier::{First, PageEnd, PrintTable, Scope, Store};
use lycosa_graph::PageEdges;
use lycosa_page::{
    Comparison, ContentKind, ContentReader, Extract, HostTemplate, Judger, PictureMark, Scanner, Signal,
    Topic, Verdict, charset, sniff,
};
use lycosa_types::{CanonUrl, Digest, Exclusion, Failure, HostKey, Outcome, UrlId, VisitFacts, requisite};

pub use self::again::{Again, Earlier};
pub use self::encoding::compression;
use self::encoding::encode;
use self::facts::facts;
use self::listing::IndexedLists;
use crate::config::{Config, NoiseRules};
use crate::near::{NearPrint, NearTable, StoredSignatures};
use crate::newness::Said;
use crate::outlinks::{LinkCounts, Outlinks, Recent};

/// After a longer page the buffers that it made large are given back: few pages are as long, and each worker would keep
/// several times the longest.
const LONG_PAGE_BYTES: usize = 1 << 20;

/// What a worker needs to judge pages; shared by all workers.
#[derive(Debug)]
pub struct JudgeContext {
    pub config: Config,
    scope: RwLock<Arc<Scope>>,
    pub prints: PrintTable,
    pub near: NearTable,
    pub store: Arc<Store>,
    /// What the crawl looks for; none if it looks for everything.
    pub topic: Option<Topic>,
    /// What the user says about noise.
    pub noise: NoiseRules,
    /// What changes on most pages of a host in the same way.
    pub templates: Mutex<HashMap<HostKey, HostTemplate>>,
    /// Sitemaps that a sitemap index named.
    pub(crate) indexed: IndexedLists,
    /// What pages said so far, where that decides how far a crawl goes.
    pub(crate) said: Said,
}

impl JudgeContext {
    pub fn new(config: Config, scope: Scope, prints: PrintTable, near: NearTable, store: Arc<Store>) -> Self {
        let topic = config.focus.topic();
        let (scope, templates) = (RwLock::new(Arc::new(scope)), Mutex::default());
        let indexed = IndexedLists::default();
        // Checked when the configuration was read.
        let noise = config.refresh.noise_rules().unwrap_or_default();
        let said = Said::default();
        Self { config, scope, prints, near, store, topic, templates, noise, indexed, said }
    }

    /// What belongs to the crawl now.
    pub fn scope(&self) -> Arc<Scope> {
        Arc::clone(&self.scope.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Seeds came in that widen it.
    pub fn widen_scope(&self, seeds: &[CanonUrl]) {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut scope).add_seeds(seeds);
    }
}

/// Everything that follows from one page visit.
#[derive(Debug)]
pub struct Judged {
    pub end: PageEnd,
    pub outlinks: Outlinks,
    pub requisites: Outlinks,
    /// It was found as a requisite and is a page.
    pub is_page: bool,
    pub edges: Option<PageEdges>,
    pub encoded: Option<EncodedVisit>,
    pub counts: LinkCounts,
    /// Links left out for reasons that no rule asked again could tell.
    pub left_out: Vec<LeftOut>,
    /// Whether the page says something that its host did not say before; none where nobody asks.
    pub brings_new: Option<bool>,
    /// Known pages that a sitemap or feed says have changed.
    pub news: Vec<UrlId>,
    /// How well the page suits the topic, if there is one.
    pub relevance: Option<f32>,
    /// What the visit showed against an earlier one.
    pub again: Option<Box<Again>>,
    compared: Option<Comparison>,
    /// What tells an image from the one before, if both are images.
    picture: Option<Option<Signal>>,
    /// Only noise differs: the earlier copy stands.
    kept_earlier: bool,
}

impl Judged {
    /// A visit of which nothing is known but that it is over.
    fn empty(entry: &Entry, visit: &Visit) -> Self {
        let end = PageEnd {
            outcome: Outcome::NotModified,
            visit: None,
            first_print: None,
            signatures: None,
            retry_after_ms: None,
            elapsed_ms: visit.timing.finished.as_millis() as u64,
            address: visit.ip,
        };
        Self {
            end,
            outlinks: Outlinks::at(entry.depth),
            requisites: Outlinks::default(),
            is_page: false,
            edges: None,
            encoded: None,
            counts: LinkCounts::default(),
            left_out: Vec::new(),
            brings_new: None,
            news: Vec::new(),
            relevance: None,
            again: None,
            compared: None,
            picture: None,
            kept_earlier: false,
        }
    }
}

/// A worker's own buffers.
#[derive(Debug)]
pub struct Judge {
    context: Arc<JudgeContext>,
    scanner: Scanner,
    extract: Extract,
    judger: Judger,
    content: ContentReader,
    encoder: Option<Encoder>,
    recent: Recent,
    /// What is being encoded for the state; a copy of just its size is handed on.
    record: Vec<u8>,
    /// The signatures of the page last read.
    signed: Option<StoredSignatures>,
    /// The mark of the image last received.
    picture: Option<PictureMark>,
}

impl Judge {
    pub fn new(context: Arc<JudgeContext>) -> Self {
        let archive = &context.config.archive;
        let encoder = archive.enabled.then(|| {
            Encoder::new(EncoderOptions {
                compression: compression(archive.compression),
                ..EncoderOptions::default()
            })
        });
        let judger = Judger::new(context.config.judging.winnow());
        let limits = context.config.page.limits();
        Self {
            context,
            scanner: Scanner::new(limits),
            extract: Extract::new(),
            judger,
            content: ContentReader::default(),
            encoder,
            recent: Recent::default(),
            record: Vec::new(),
            signed: None,
            picture: None,
        }
    }

    /// Judges the visit of a page lease.
    pub fn page(&mut self, entry: &Entry, id: UrlId, visit: &Visit) -> Judged {
        self.page_with(entry, id, visit, None)
    }

    fn page_with(&mut self, entry: &Entry, id: UrlId, visit: &Visit, earlier: Option<&Earlier>) -> Judged {
        let mut judged = Judged::empty(entry, visit);
        let response = match &visit.result {
            Ok(response) => response,
            Err(failure) => {
                judged.end.outcome = match failure {
                    Failure::RefusedPort { port } => Outcome::Excluded(Exclusion::Port { port: *port }),
                    failure => Outcome::Failed(*failure),
                };
                self.archive_partial(entry, visit, &mut judged);
                return judged;
            }
        };
        if let Some(failure) = response.failure() {
            judged.end.outcome = Outcome::Failed(failure);
            judged.end.retry_after_ms = response.retry_after_ms(visit.timing.started);
            return judged;
        }
        let mut facts = facts(response, judged.end.elapsed_ms);
        let mut revisit = None;
        self.judger.visited_at(visit.timing.started.0);
        self.judger.rules(self.context.noise.of(entry.url.as_str()).1.cloned());
        if response.is_redirect() {
            if let Err(failure) = self.follow_redirect(entry, response, &mut judged) {
                judged.end.outcome = Outcome::Failed(failure);
                return judged;
            }
        } else if response.is_success() {
            self.context.scope().arrived(&entry.url);
            judged.end.outcome = Outcome::Fetched { status: response.status };
            if let Some(earlier) = earlier {
                self.read_page(entry, id, response, false, &mut facts, &mut judged);
                judged.compared = self.compare_with(entry, earlier);
                judged.picture = self.compare_picture(earlier.picture.as_ref());
                facts.near_duplicate = self.near_duplicate_still(earlier);
                if self.is_noise(&judged, earlier) {
                    judged.kept_earlier = true;
                    judged.end.signatures = None;
                    let etag_now = (facts.etag.take(), facts.last_modified.take());
                    facts = earlier.record.visit.clone().unwrap_or_default();
                    (facts.etag, facts.last_modified) = etag_now;
                    judged.end.visit = Some(facts);
                    return judged;
                }
                revisit = self.content_seen(entry, id, visit, response, &mut facts, &mut judged.end);
            } else {
                revisit = self.content_seen(entry, id, visit, response, &mut facts, &mut judged.end);
                self.read_page(entry, id, response, true, &mut facts, &mut judged);
            }
        } else {
            judged.end.outcome = Outcome::Missing { status: response.status };
            if matches!(response.status, 300 | 404 | 410) {
                self.follow_only(entry, response, &mut judged);
            }
        }
        let on_topic = judged.relevance.is_none_or(|found| found >= self.context.config.focus.least_page);
        let kept =
            on_topic && (facts.near_duplicate.is_none() || self.context.config.judging.store_near_duplicates);
        if let Some(encoder) = self.encoder.as_mut().filter(|_| kept) {
            let depth = entry.depth.to_string();
            let metadata = [("hopsFromSeed", depth.as_str())];
            let payload_digest = facts.payload_sha1.map(PayloadDigest);
            let revisit = revisit.as_ref().map(|first| (first, RevisitReason::IdenticalPayload));
            match encode(encoder, &entry.url, visit, response, revisit, payload_digest, None, &metadata) {
                Ok(encoded) => {
                    facts.payload_sha1 = Some(encoded.payload_digest.0);
                    judged.encoded = Some(encoded);
                }
                Err(failure) => {
                    judged.end.outcome = Outcome::Failed(failure);
                    return judged;
                }
            }
        }
        facts.links = judged.counts.links;
        judged.end.visit = Some(facts);
        judged
    }

    /// Gives back what judging this visit took beyond what most pages take.
    pub fn rest(&mut self, visit: &Visit) {
        if visit.result.as_ref().is_ok_and(|response| response.body.len() > LONG_PAGE_BYTES) {
            self.extract = Extract::new();
            self.judger.give_back();
            self.content = ContentReader::default();
        }
    }

    /// Whether only noise differs from the earlier visit, and such copies are not wanted.
    fn is_noise(&self, judged: &Judged, earlier: &Earlier) -> bool {
        let was_there = matches!(earlier.record.outcome, Some(Outcome::Fetched { .. }));
        let no_news = judged
            .compared
            .as_ref()
            .is_some_and(|compared| matches!(compared.verdict, Verdict::Noise | Verdict::Unchanged))
            || matches!(judged.picture, Some(None | Some(Signal::Bytes)));
        was_there && no_news && !self.context.config.refresh.store_noise
    }

    /// A visit that found nothing new leaves a record that refers to the copy at hand.
    fn archive_unchanged(
        &mut self,
        entry: &Entry,
        visit: &Visit,
        response: &Response,
        copy: &First,
        judged: &mut Judged,
    ) {
        let Some(encoder) = self.encoder.as_mut() else { return };
        let not_modified = response.status == 304;
        let reason = if not_modified { RevisitReason::NotModified } else { RevisitReason::IdenticalPayload };
        // A 304 has no body: the digest is that of the copy it vouches for.
        let digest = copy.payload_sha1.filter(|_| not_modified).map(PayloadDigest);
        let revisit = Some((copy, reason));
        judged.encoded = encode(encoder, &entry.url, visit, response, revisit, digest, None, &[]).ok();
    }

    /// Encodes the fetch of a robots.txt for the archive.
    pub fn encode_rules(&mut self, url: &CanonUrl, visit: &Visit) -> Option<EncodedVisit> {
        let response = visit.result.as_ref().ok()?;
        encode(self.encoder.as_mut()?, url, visit, response, None, None, None, &[]).ok()
    }

    /// The content-seen test. Returns the first page with this payload if this is not the first.
    fn content_seen(
        &mut self,
        entry: &Entry,
        id: UrlId,
        visit: &Visit,
        response: &Response,
        facts: &mut VisitFacts,
        end: &mut PageEnd,
    ) -> Option<First> {
        if response.body.is_empty() {
            return None;
        }
        let digest = Digest::of(&response.body);
        facts.digest = Some(digest);
        if self.encoder.is_some() {
            facts.payload_sha1 = Some(PayloadDigest::of(&response.raw_body).0);
        }
        let page = First {
            id,
            url: entry.url.as_str().into(),
            at: visit.timing.started,
            payload_sha1: facts.payload_sha1,
        };
        match self.context.prints.claim(digest, page) {
            Ok(Some(first)) => {
                facts.duplicate_of = Some(first.id);
                Some(first).filter(|_| self.context.config.archive.revisits)
            }
            Ok(None) => {
                end.first_print = Some(digest);
                None
            }
            Err(error) => {
                tracing::error!(%error, "the content-seen test failed");
                None
            }
        }
    }

    /// Reads what the page says and where it leads.
    fn read_page(
        &mut self,
        entry: &Entry,
        id: UrlId,
        response: &Response,
        first_visit: bool,
        facts: &mut VisitFacts,
        judged: &mut Judged,
    ) {
        if requisite::is_marked(entry.redirects) && self.read_requisite(entry, response, judged) {
            return;
        }
        self.signed = None;
        self.picture = None;
        let content_type = response.content_type();
        match sniff(content_type, &response.body) {
            ContentKind::Html => {
                let decoded = charset::decode(&response.body, content_type);
                self.scanner.scan(&decoded.text, &mut self.extract);
                let same_bytes = decoded.text.as_bytes().as_ptr_range() == response.body.as_ptr_range();
                let digest = facts.digest.filter(|_| same_bytes);
                self.sign(id, &decoded.text, digest, first_visit, facts);
                self.follow_links(entry, response, facts, judged);
                if self.context.config.requisites() {
                    self.page_requisites(&decoded.text, entry, judged);
                }
                if let Some(signed) = &self.signed {
                    judged.end.signatures = signed.encode_by(&mut self.record);
                }
            }
            ContentKind::Image => self.mark_picture(entry.url.as_str(), &response.body, judged),
            ContentKind::Sitemap | ContentKind::Feed | ContentKind::Xml => {
                let decoded = charset::decode(&response.body, content_type);
                self.read_listing(entry, &decoded.text, judged);
            }
            ContentKind::Other if entry.url.path().ends_with(".gz") => {
                self.read_packed_listing(entry, &response.body, judged);
            }
            ContentKind::Text if entry.url.path().contains("sitemap") => {
                self.read_listing(entry, &String::from_utf8_lossy(&response.body), judged);
            }
            _ => {}
        }
        if self.signed.is_none() && self.picture.is_none() {
            self.sign_values(response, judged);
        }
        if judged.edges.is_none() {
            self.follow_fields(entry, response, judged);
        }
    }

    /// Signatures for later visits, and the near-duplicate test (of first payloads: a copy is a duplicate already).
    /// `digest` is that of the source, if it is known.
    fn sign(
        &mut self,
        id: UrlId,
        source: &str,
        digest: Option<Digest>,
        first_visit: bool,
        facts: &mut VisitFacts,
    ) {
        let config = &self.context.config.judging;
        let first = first_visit && facts.duplicate_of.is_none();
        let look = config.near_duplicates && first;
        if !(config.signatures || look) {
            return;
        }
        let main = config.main_content.then(|| self.content.main_text(source, &self.extract));
        let body = digest.unwrap_or_else(|| Digest::of(source.as_bytes())).0;
        let signatures = self.judger.sign_known(source, body, &self.extract, main.as_deref());
        let mut near = NearPrint::None;
        if look {
            near = self.context.near.print(&self.extract, &signatures.sketch);
            facts.near_duplicate = self.context.near.claim(id, &near, &signatures.sketch);
        }
        if config.signatures {
            // A near-duplicate is no original: it does not come back into the table of prints.
            let near = if first && facts.near_duplicate.is_none() { near } else { NearPrint::None };
            self.signed = Some(StoredSignatures { signatures, near, pictures: Vec::new() });
        }
    }
}
