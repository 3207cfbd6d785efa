//! The stages a page passes, one at a time, on the same pages every time: for counting instructions.
//!
//! `hot_paths STAGE`: decode, scan, links, sign, digest, encode, seen or frontier. `cargo xtask instructions` runs each under
//! valgrind, which counts what happens inside [`measured`] alone; the count divided by [`PAGES`] is what a page costs.

use std::hint::black_box;
use std::sync::Arc;

use lycosa_archive::{Encoder, EncoderOptions, Exchange, PayloadDigest};
use lycosa_engine::outlinks::{LinkCollector, Recent};
use lycosa_frontier::seen::SeenSet;
use lycosa_frontier::{
    Discovered, Frontier, FrontierOptions, LeaseKind, PageEnd, Politeness, Rules, RulesEnd, RulesRecord,
    Scope, ScopeKind, ScopeOptions, Signals, Store,
};
use lycosa_page::{Extract, Judger, Limits, Scanner, WinnowConfig, charset};
use lycosa_simweb::{Node, PageId, Request, Scratch, Tries, World, WorldConfig};
use lycosa_types::{CanonRules, CanonUrl, Digest, Exclusion, Outcome, UnixMs};

const PAGES: usize = 100;
const STAGES: &str = "decode, scan, links, sign, digest, encode, seen, frontier";

/// What is counted, and nothing else. Not inlined, so that valgrind finds it by its name.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

struct Page {
    url: CanonUrl,
    head: Vec<u8>,
    body: Vec<u8>,
}

fn main() {
    let stage = std::env::args().nth(1).unwrap_or_default();
    let world = World::new(WorldConfig::clean(1, 20, 2000));
    let pages = pages(&world);
    match stage.as_str() {
        "decode" => measured(&mut || {
            for page in &pages {
                black_box(charset::decode(&page.body, Some("text/html")).text.len());
            }
        }),
        "scan" => scan(&pages),
        "links" => links(&pages),
        "sign" => sign(&pages),
        "digest" => measured(&mut || {
            for page in &pages {
                black_box((Digest::of(&page.body), PayloadDigest::of(&page.body)));
            }
        }),
        "encode" => encode(&pages),
        "seen" => seen(&pages),
        "frontier" => frontier(&pages),
        other => {
            eprintln!("no stage {other:?}: there are {STAGES}");
            std::process::exit(2);
        }
    }
}

/// The first pages of the world that are pages.
fn pages(world: &World) -> Vec<Page> {
    let (tries, mut scratch, mut out) = (Tries::default(), Scratch::default(), Vec::new());
    let mut pages = Vec::new();
    for number in 0..world.page_count() {
        let node = Node::Page(PageId(number));
        let url = world.url(node);
        let path = url.splitn(4, '/').nth(3).map_or("/".to_owned(), |path| format!("/{path}"));
        out.clear();
        world.respond(&Request::get(world.host_of(node), path.as_bytes()), &tries, &mut scratch, &mut out);
        let head = out.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(out.len(), |at| at + 4);
        if let Ok(url) = CanonUrl::parse(&url, &CanonRules::default()) {
            pages.push(Page { url, head: out[..head].to_vec(), body: out[head..].to_vec() });
        }
        if pages.len() == PAGES {
            break;
        }
    }
    pages
}

fn scanned(pages: &[Page]) -> Vec<(String, Extract)> {
    let mut scanner = Scanner::new(Limits::default());
    let scan = |page: &Page| {
        let text = charset::decode(&page.body, Some("text/html")).text.into_owned();
        let mut extract = Extract::new();
        scanner.scan(&text, &mut extract);
        (text, extract)
    };
    pages.iter().map(scan).collect()
}

fn scan(pages: &[Page]) {
    let texts: Vec<String> = scanned(pages).into_iter().map(|(text, _)| text).collect();
    let (mut scanner, mut extract) = (Scanner::new(Limits::default()), Extract::new());
    scanner.scan(&texts[0], &mut extract);
    measured(&mut || {
        for text in &texts {
            scanner.scan(text, &mut extract);
            black_box(extract.links.len());
        }
    });
}

fn links(pages: &[Page]) {
    let scanned = scanned(pages);
    let rules = CanonRules::default();
    let Ok(scope) = Scope::new(ScopeOptions { kind: ScopeKind::Any, ..ScopeOptions::default() }, &[]) else {
        return;
    };
    let mut recent = Recent::default();
    measured(&mut || {
        for (page, (_, extract)) in pages.iter().zip(&scanned) {
            let mut links = LinkCollector::new(&page.url, &page.url, &rules, &scope, &mut recent, 1);
            for link in &extract.links {
                links.add(extract.href(link), link.visibility, link.position, true, true);
            }
            black_box(links.finish().counts.links);
        }
    });
}

fn sign(pages: &[Page]) {
    let scanned = scanned(pages);
    let mut judger = Judger::new(WinnowConfig::default());
    measured(&mut || {
        for (text, extract) in &scanned {
            black_box(judger.sign(text, extract, None).text);
            black_box(judger.minutiae().len());
        }
    });
}

fn encode(pages: &[Page]) {
    let mut encoder = Encoder::new(EncoderOptions::default());
    measured(&mut || {
        for page in pages {
            let exchange = Exchange {
                url: &page.url,
                at: UnixMs(1_700_000_000_000),
                ip: Some([127, 0, 0, 1].into()),
                request_head: b"GET / HTTP/1.1\r\nHost: a.sim\r\n\r\n",
                response_head: &page.head,
                raw_body: &page.body,
                revisit_of: None,
                payload_digest: None,
                truncated: None,
                protocol: None,
                metadata: &[("hopsFromSeed", "1")],
            };
            black_box(encoder.encode(&exchange).map_or(0, |visit| visit.bytes.len()));
        }
    });
}

/// A hundred sightings for each page, four in five of them of known URLs.
fn seen(pages: &[Page]) {
    let mut seen = SeenSet::new(64 << 20);
    measured(&mut || {
        for number in 0..(pages.len() as u64 * 100) {
            let print = (number / 5).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            black_box(seen.insert_print(print));
        }
    });
}

#[derive(Debug)]
struct AllAllowed;

impl Rules for AllAllowed {
    fn check(&self, _: &str) -> Result<(), Exclusion> {
        Ok(())
    }

    fn delay_ms(&self) -> Option<u64> {
        None
    }
}

/// Pages admitted, leased, finished and committed; the store's own threads are not counted.
fn frontier(pages: &[Page]) {
    let Ok(dir) = tempfile::tempdir() else { return };
    let Ok(store) = Store::open(dir.path(), 64 << 20).map(Arc::new) else { return };
    let politeness = Politeness { delay_ms: 0, ip_delay_ms: 0, per_host: 4, ..Politeness::default() };
    let options = FrontierOptions { politeness, ..FrontierOptions::default() };
    let read = Box::new(|_: &str, _: &RulesRecord| Arc::new(AllAllowed) as Arc<dyn Rules>);
    let mut now = UnixMs(1_000_000);
    let Ok(mut frontier) = Frontier::open(options, Arc::clone(&store), read, true, now) else { return };
    let mut crawl = |urls: &[CanonUrl]| {
        for url in urls {
            let signals = Signals::default();
            let (url, key) = (url.as_str(), url.key());
            let found = Discovered { url, key, redirects: 0, found_on: None, signals, listed: false };
            black_box(frontier.admit(found, now).is_ok());
        }
        let mut done = Vec::new();
        while !frontier.is_exhausted() {
            now = now.plus_ms(1);
            let Ok(Some(lease)) = frontier.lease(now, &mut done) else { continue };
            match lease.kind {
                LeaseKind::Resolve => frontier.finish_resolve(lease.host, Ok([127, 0, 0, 1].into()), now),
                LeaseKind::Rules { .. } => {
                    let record = RulesRecord { fetched_at: now, status: 200, body: Vec::new() };
                    let end = RulesEnd::Known { rules: Arc::new(AllAllowed), record };
                    frontier.finish_rules(lease.host, end, None, 1, now);
                }
                LeaseKind::Page(entry) => {
                    let end = PageEnd {
                        outcome: Outcome::Fetched { status: 200 },
                        visit: None,
                        first_print: None,
                        signatures: None,
                        retry_after_ms: None,
                        elapsed_ms: 1,
                        address: None,
                    };
                    done.extend(frontier.finish_page(lease.host, *entry, end, now));
                }
            }
        }
        let changes = frontier.take_changes();
        black_box(store.commit(&done, &changes, &[]).is_ok());
        frontier.committed(changes.epoch);
    };
    // Not counted: what the state makes once, with the first commit.
    crawl(&[CanonUrl::from_canonical("http://first.example/".to_owned())]);
    let urls: Vec<CanonUrl> = pages.iter().map(|page| page.url.clone()).collect();
    measured(&mut || crawl(&urls));
}
