//! From a response to what is remembered and followed: decode, scan, compare with what was seen, encode for the archive.
//!
//! Pure CPU work on the worker's own thread and buffers. Whatever the response holds, it ends in a [`Judged`].

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use lycosa_archive::{
    EncodedVisit, Encoder, EncoderOptions, Exchange, PayloadDigest, RevisitOf, RevisitReason,
};
use lycosa_fetch::{Protocol, Response, Visit};
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::{First, PageEnd, PrintTable, Scope};
use lycosa_graph::PageEdges;
use lycosa_page::{ContentKind, Extract, LinkKind, Rel, RobotsDirectives, Scanner, charset, sitemap, sniff};
use lycosa_types::{CanonRules, CanonUrl, Digest, Failure, Outcome, UnixMs, UrlId, VisitFacts};

use crate::config::{ArchiveCompression, Config};
use crate::outlinks::{LinkCollector, LinkCounts, Outlinks, Recent};

/// Longest title, type, ETag or date that is kept in a record.
const MAX_FACT_BYTES: usize = 512;
/// Largest sitemap after decompression.
const MAX_SITEMAP_BYTES: u64 = 50 << 20;

/// What a worker needs to judge pages; shared by all workers.
#[derive(Debug)]
pub struct JudgeContext {
    pub config: Config,
    pub scope: Scope,
    pub prints: PrintTable,
}

/// Everything that follows from one page visit.
#[derive(Debug)]
pub struct Judged {
    pub end: PageEnd,
    pub outlinks: Outlinks,
    pub edges: Option<PageEdges>,
    pub encoded: Option<EncodedVisit>,
    pub counts: LinkCounts,
}

/// A worker's own buffers.
#[derive(Debug)]
pub struct Judge {
    context: Arc<JudgeContext>,
    scanner: Scanner,
    extract: Extract,
    encoder: Option<Encoder>,
    recent: Recent,
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
        Self {
            context,
            scanner: Scanner::new(lycosa_page::Limits::default()),
            extract: Extract::new(),
            encoder,
            recent: Recent::default(),
        }
    }

    /// Judges the visit of a page lease.
    pub fn page(&mut self, entry: &Entry, id: UrlId, visit: &Visit) -> Judged {
        let elapsed_ms = visit.timing.finished.as_millis() as u64;
        let end = PageEnd {
            outcome: Outcome::NotModified,
            visit: None,
            first_print: None,
            retry_after_ms: None,
            elapsed_ms,
            address: visit.ip,
        };
        let empty = Outlinks::at(entry.depth);
        let mut judged =
            Judged { end, outlinks: empty, edges: None, encoded: None, counts: LinkCounts::default() };
        let response = match &visit.result {
            Ok(response) => response,
            Err(failure) => {
                judged.end.outcome = Outcome::Failed(*failure);
                return judged;
            }
        };
        if let Some(failure) = response.failure() {
            judged.end.outcome = Outcome::Failed(failure);
            judged.end.retry_after_ms = response.retry_after_ms(visit.timing.started);
            return judged;
        }
        let mut facts = facts(response, elapsed_ms);
        let mut revisit = None;
        if response.is_redirect() {
            if let Err(failure) = self.follow_redirect(entry, response, &mut judged) {
                judged.end.outcome = Outcome::Failed(failure);
                return judged;
            }
        } else if response.is_success() {
            judged.end.outcome = Outcome::Fetched { status: response.status };
            revisit = self.content_seen(entry, id, visit, response, &mut facts, &mut judged.end);
            self.read_page(entry, response, &mut facts, &mut judged);
        } else {
            judged.end.outcome = Outcome::Missing { status: response.status };
        }
        if let Some(encoder) = &mut self.encoder {
            let depth = entry.depth.to_string();
            let metadata = [("hopsFromSeed", depth.as_str())];
            let payload_digest = facts.payload_sha1.map(PayloadDigest);
            match encode(encoder, &entry.url, visit, response, revisit.as_ref(), payload_digest, &metadata) {
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

    /// Encodes the fetch of a robots.txt for the archive.
    pub fn encode_rules(&mut self, url: &CanonUrl, visit: &Visit) -> Option<EncodedVisit> {
        let response = visit.result.as_ref().ok()?;
        encode(self.encoder.as_mut()?, url, visit, response, None, None, &[]).ok()
    }

    fn follow_redirect(
        &mut self,
        entry: &Entry,
        response: &Response,
        judged: &mut Judged,
    ) -> Result<(), Failure> {
        let config = &self.context.config;
        let target = response.redirect_target(&entry.url, &config.urls)?;
        judged.counts.links = 1;
        judged.outlinks.redirects = entry.redirects.saturating_add(1);
        if entry.redirects >= config.scope.max_redirects {
            judged.counts.too_deep = 1;
        } else if let Err(rejection) = self.context.scope.check(&target, entry.depth) {
            judged.counts.reject(&rejection);
        } else {
            judged.outlinks.push(target.as_str(), target.key());
        }
        judged.end.outcome = Outcome::Redirected { status: response.status, to: target.into_string() };
        Ok(())
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
    fn read_page(&mut self, entry: &Entry, response: &Response, facts: &mut VisitFacts, judged: &mut Judged) {
        let content_type = response.content_type();
        match sniff(content_type, &response.body) {
            ContentKind::Html => self.read_html(entry, response, facts, judged),
            ContentKind::Sitemap | ContentKind::Feed | ContentKind::Xml => {
                let decoded = charset::decode(&response.body, content_type);
                self.read_listing(entry, &decoded.text, judged);
            }
            ContentKind::Other if entry.url.path().ends_with(".gz") => {
                if let Some(body) = inflate(&response.body) {
                    self.read_listing(entry, &String::from_utf8_lossy(&body), judged);
                }
            }
            ContentKind::Text if entry.url.path().contains("sitemap") => {
                self.read_listing(entry, &String::from_utf8_lossy(&response.body), judged);
            }
            _ => {}
        }
    }

    fn read_html(&mut self, entry: &Entry, response: &Response, facts: &mut VisitFacts, judged: &mut Judged) {
        let config = &self.context.config;
        let decoded = charset::decode(&response.body, response.content_type());
        self.scanner.scan(&decoded.text, &mut self.extract);
        let extract = &self.extract;
        let mut directives = extract.meta.robots.clone();
        for value in response.x_robots_tag() {
            let mut from_header = RobotsDirectives::default();
            from_header.merge_header(value, &config.agent.product);
            directives.merge(&from_header);
        }
        facts.title = clip(extract.title()).into_owned();
        facts.language = clip(extract.lang()).into_owned();
        facts.noindex = directives.noindex;
        let base = base_of(&entry.url, extract.base_href(), &config.urls);
        let mut links = LinkCollector::new(
            &entry.url,
            &base,
            &config.urls,
            &self.context.scope,
            &mut self.recent,
            entry.depth.saturating_add(1),
        );
        let page_nofollow = config.robots.nofollow && directives.nofollow;
        for link in &extract.links {
            let (leads, is_edge) = match link.kind {
                LinkKind::Image => (config.scope.images, false),
                LinkKind::Stylesheet | LinkKind::Script => (false, false),
                LinkKind::Anchor | LinkKind::Area | LinkKind::Frame | LinkKind::Refresh => (true, true),
                _ => (true, false),
            };
            if leads {
                let nofollow = page_nofollow || (config.robots.nofollow && link.rel.has(Rel::NOFOLLOW));
                links.add(extract.href(link), link.visibility, link.position, !nofollow, is_edge);
            }
        }
        let (outlinks, edges, counts) = links.finish();
        judged.outlinks = outlinks;
        judged.edges = Some(edges);
        judged.counts = counts;
    }

    /// Sitemaps and feeds: each entry is a link.
    fn read_listing(&mut self, entry: &Entry, text: &str, judged: &mut Judged) {
        let Some(listing) = sitemap::parse(text) else { return };
        let config = &self.context.config;
        let depth = entry.depth.saturating_add(1);
        let mut links = LinkCollector::new(
            &entry.url,
            &entry.url,
            &config.urls,
            &self.context.scope,
            &mut self.recent,
            depth,
        );
        for item in &listing.entries {
            links.add(&item.loc, 1, 1, true, false);
        }
        let (outlinks, _, counts) = links.finish();
        judged.outlinks = outlinks;
        judged.counts = counts;
    }
}

/// The archive's word for a choice of the configuration.
pub fn compression(choice: ArchiveCompression) -> lycosa_archive::Compression {
    match choice {
        ArchiveCompression::Gzip => lycosa_archive::Compression::default(),
        ArchiveCompression::Zstd => lycosa_archive::Compression::Zstd(3),
        ArchiveCompression::None => lycosa_archive::Compression::None,
    }
}

fn facts(response: &Response, elapsed_ms: u64) -> VisitFacts {
    let owned = |value: Option<&str>| value.map(|value| clip(value).into_owned());
    VisitFacts {
        content_type: owned(response.content_type()).unwrap_or_default(),
        body_bytes: response.body.len() as u64,
        etag: owned(response.etag()),
        last_modified: owned(response.last_modified()),
        elapsed_ms: elapsed_ms.min(u64::from(u32::MAX)) as u32,
        ..VisitFacts::default()
    }
}

fn clip(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_FACT_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_FACT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Cow::Borrowed(&text[..end])
}

/// What a page's links are relative to.
fn base_of<'a>(page: &'a CanonUrl, base_href: Option<&str>, rules: &CanonRules) -> Cow<'a, CanonUrl> {
    let Some(href) = base_href else { return Cow::Borrowed(page) };
    let mut joined = String::new();
    // The base is not canonicalised by the crawl's rules: a session id in it is part of every link's meaning.
    match lycosa_types::join::Joiner::new(page, rules).join(href, &mut joined) {
        Ok(()) => Cow::Owned(CanonUrl::from_canonical(joined)),
        Err(_) => Cow::Borrowed(page),
    }
}

fn inflate(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(body).take(MAX_SITEMAP_BYTES).read_to_end(&mut out).ok()?;
    Some(out)
}

fn encode(
    encoder: &mut Encoder,
    url: &CanonUrl,
    visit: &Visit,
    response: &Response,
    revisit: Option<&First>,
    payload_digest: Option<PayloadDigest>,
    metadata: &[(&str, &str)],
) -> Result<EncodedVisit, Failure> {
    let exchange = Exchange {
        url,
        at: UnixMs(visit.timing.started.0),
        ip: visit.ip,
        request_head: &visit.request_head,
        response_head: response.head.raw(),
        raw_body: &response.raw_body,
        revisit_of: revisit.map(|first| RevisitOf {
            url: &first.url,
            at: first.at,
            reason: RevisitReason::IdenticalPayload,
            payload_digest: first.payload_sha1.map(PayloadDigest),
        }),
        payload_digest,
        truncated: None,
        protocol: (response.protocol == Protocol::Http2).then_some("h2"),
        metadata,
    };
    encoder.encode(&exchange).map_err(|error| {
        tracing::error!(%url, %error, "a visit could not be encoded");
        Failure::BodyTooLarge
    })
}
