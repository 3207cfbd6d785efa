//! Faults: responses that lie, stall or never end.
//!
//! Promise: each fault does what its variant says, to the measures in `FaultConfig`, and nothing else.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::coding::{self, put_chunk};
use crate::date::put_http;
use crate::host::PageId;
use crate::html::put;
use crate::kind::{Coding, Fault, PageKind};
use crate::node::put_number;
use crate::response::{Act, Reply, Request, Scratch, Tries};
use crate::rng::Rng;
use crate::world::World;

/// Bombs, made when first asked for.
#[derive(Default)]
pub(crate) struct Bombs([OnceLock<Vec<u8>>; 3]);

const NESTED_ELEMENTS: usize = 50_000;
const INTERIM_RESPONSES: usize = 300;

impl World {
    pub(crate) fn fault_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        fault: Fault,
        tries: &Tries,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let faults = &self.config.faults;
        let reply = |status, act| Reply { status, act };
        match fault {
            Fault::Slow => {
                let status = self.good(request, page, scratch, out).status;
                reply(status, Act::Delay { ms: faults.slow_ms })
            }
            Fault::Hang => reply(0, Act::Hang),
            Fault::EmptyReply => reply(0, Act::SendClose),
            Fault::Reset => reply(0, Act::Reset),
            Fault::HangInBody | Fault::ResetInBody | Fault::LengthTooLong => {
                self.good(request, page, scratch, out);
                let keep = out.len() - scratch.body.len() / 2;
                out.truncate(keep);
                let act = match fault {
                    Fault::HangInBody => Act::Hang,
                    Fault::ResetInBody => Act::Reset,
                    _ => Act::SendClose,
                };
                reply(200, act)
            }
            Fault::SlowDrip => {
                self.good(request, page, scratch, out);
                reply(200, Act::Drip { from: out.len() - scratch.body.len(), ms: faults.drip_ms })
            }
            Fault::LengthTooShort => {
                self.article(page, scratch);
                self.head_with_length(out, scratch.body.len() / 2);
                out.extend_from_slice(&scratch.body);
                reply(200, Act::SendClose)
            }
            Fault::LengthTwice => {
                self.article(page, scratch);
                self.open_head(out);
                put(out, "Content-Length: 10\r\nContent-Length: ");
                put_number(out, scratch.body.len() as u64);
                put(out, "\r\n\r\n");
                out.extend_from_slice(&scratch.body);
                reply(200, Act::SendClose)
            }
            Fault::ChunkTruncated | Fault::ChunkGarbage => {
                self.article(page, scratch);
                self.open_head(out);
                put(out, "Transfer-Encoding: chunked\r\n\r\n");
                put_chunk(out, &scratch.body[..scratch.body.len() / 2]);
                if fault == Fault::ChunkGarbage {
                    put(out, "zz\r\nnot a chunk\r\n");
                }
                reply(200, Act::SendClose)
            }
            Fault::GzipTruncated => {
                self.article(page, scratch);
                coding::compress(Coding::Gzip, scratch);
                scratch.body.truncate(scratch.body.len() / 2);
                self.coded(out, "gzip", &scratch.body);
                reply(200, Act::Send)
            }
            Fault::EncodingLie | Fault::EncodingUnknown => {
                self.article(page, scratch);
                let name = if fault == Fault::EncodingLie { "gzip" } else { "x-rot13" };
                self.coded(out, name, &scratch.body);
                reply(200, Act::Send)
            }
            Fault::BombGzip | Fault::BombBrotli | Fault::BombZstd => {
                let (slot, coding) = match fault {
                    Fault::BombGzip => (0, Coding::Gzip),
                    Fault::BombBrotli => (1, Coding::Brotli),
                    _ => (2, Coding::Zstd),
                };
                let bomb = self.bombs.0[slot].get_or_init(|| coding::bomb(coding, faults.bomb_bytes));
                self.coded(out, coding.slug(), bomb);
                reply(200, Act::Send)
            }
            Fault::HtmlAsBinary => {
                self.article(page, scratch);
                self.finish(request, 200, "application/octet-stream", &[], scratch, out)
            }
            Fault::BinaryAsHtml => {
                let mut rng = Rng::new(self.page_key(page));
                scratch.body.extend((0..1024).flat_map(|_| rng.word().to_le_bytes()));
                self.finish(request, 200, "text/html", &[], scratch, out)
            }
            Fault::EndlessBody | Fault::EndlessRaw => {
                self.open_head(out);
                put(
                    out,
                    if fault == Fault::EndlessBody {
                        "Transfer-Encoding: chunked\r\n\r\n"
                    } else {
                        "Connection: close\r\n\r\n"
                    },
                );
                let from = out.len();
                let text = "<p>and so on and so forth</p>\n".repeat(500);
                if fault == Fault::EndlessBody {
                    put_chunk(out, text.as_bytes());
                } else {
                    put(out, &text);
                }
                reply(200, Act::Endless { from, limit: faults.endless_limit_bytes })
            }
            Fault::EndlessHeaders => {
                self.put_head(out, 200);
                let from = out.len();
                put(out, &"X-Filler: and so on and so forth\r\n".repeat(500));
                reply(200, Act::Endless { from, limit: faults.endless_limit_bytes })
            }
            Fault::HugeHeader => {
                let extra = format!("X-Huge: {}\r\n", "x".repeat(faults.huge_header_bytes));
                self.article(page, scratch);
                self.finish(request, 200, "text/html", extra.as_bytes(), scratch, out)
            }
            Fault::ManyHeaders => {
                let mut extra = Vec::new();
                for n in 0..faults.many_headers {
                    put(&mut extra, "X-Header-");
                    put_number(&mut extra, n as u64);
                    put(&mut extra, ": value\r\n");
                }
                self.article(page, scratch);
                self.finish(request, 200, "text/html", &extra, scratch, out)
            }
            Fault::InterimFlood => {
                self.good(request, page, scratch, out);
                let flood = "HTTP/1.1 100 Continue\r\n\r\n".repeat(INTERIM_RESPONSES);
                out.splice(0..0, flood.into_bytes());
                reply(200, Act::Send)
            }
            Fault::Garbage => {
                let mut rng = Rng::new(self.page_key(page));
                out.push(0xFF);
                out.extend((0..64).flat_map(|_| rng.word().to_le_bytes()));
                reply(0, Act::SendClose)
            }
            Fault::ServerError => self.error_page(request, 500, scratch, out),
            Fault::Flaky | Fault::TooMany | Fault::RetryDate => {
                self.shaky(request, page, fault, tries, scratch, out)
            }
            Fault::RedirectSelf => {
                let mut own = Vec::new();
                self.put_url(&mut own, crate::Node::Page(page));
                self.moved(request, 302, &own, scratch, out)
            }
            Fault::RedirectEndless => self.endless_redirect(request, scratch, out),
            Fault::RedirectNowhere => {
                put(&mut scratch.body, "<p>Moved</p>");
                self.finish(request, 302, "text/html", &[], scratch, out)
            }
            Fault::RedirectPrivate => self.moved(request, 302, b"http://10.255.255.1/admin", scratch, out),
            Fault::RedirectScheme => self.moved(request, 302, b"ftp://files.sim/readme", scratch, out),
            Fault::DeepNesting => {
                put(&mut scratch.body, "<!DOCTYPE html><title>Deep</title>");
                put(&mut scratch.body, &"<div>".repeat(NESTED_ELEMENTS));
                self.finish(request, 200, "text/html", &[], scratch, out)
            }
            Fault::HugeAttribute => {
                put(&mut scratch.body, "<!DOCTYPE html><title>Wide</title><a href=\"/#");
                put(&mut scratch.body, &"x".repeat(1 << 20));
                put(&mut scratch.body, "\">wide</a>");
                self.finish(request, 200, "text/html", &[], scratch, out)
            }
            Fault::BrokenMarkup => {
                self.article(page, scratch);
                let step = 97;
                for at in (step..scratch.body.len()).step_by(step) {
                    scratch.body[at] = [0, b'<', b'"', b'>', b'&', 0xFE][at / step % 6];
                }
                self.finish(request, 200, "text/html", &[], scratch, out)
            }
            Fault::HugePage => {
                put(&mut scratch.body, "<!DOCTYPE html><title>Huge</title>\n");
                while scratch.body.len() < faults.huge_page_bytes {
                    put(
                        &mut scratch.body,
                        "<p>A long page goes on and on without saying anything new.</p>\n",
                    );
                }
                let reply = self.finish(request, 200, "text/html", &[], scratch, out);
                scratch.body = Vec::new();
                reply
            }
        }
    }

    /// Fails until the page was tried often enough.
    fn shaky(
        &self,
        request: &Request<'_>,
        page: PageId,
        fault: Fault,
        tries: &Tries,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        if tries.count(page) > self.config.faults.flaky_tries {
            return self.good(request, page, scratch, out);
        }
        let wait_s = u64::from(self.config.faults.retry_after_s);
        let mut extra = Vec::new();
        let status = match fault {
            Fault::TooMany => {
                put(&mut extra, "Retry-After: ");
                put_number(&mut extra, wait_s);
                put(&mut extra, "\r\n");
                429
            }
            Fault::RetryDate => return self.retry_date(wait_s, out),
            _ => 503,
        };
        put(&mut scratch.body, "<p>Try again later</p>\n");
        self.finish(request, status, "text/html", &extra, scratch, out)
    }

    /// A client compares the date with its own clock, so that this one answer has the real time on it.
    fn retry_date(&self, wait_s: u64, out: &mut Vec<u8>) -> Reply {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        put(out, "HTTP/1.1 503 Service Unavailable\r\nDate: ");
        put_http(out, now_s);
        put(out, "\r\nContent-Length: 0\r\nRetry-After: ");
        put_http(out, now_s + wait_s);
        put(out, "\r\n\r\n");
        Reply { status: 503, act: Act::Send }
    }

    /// Each answer leads to an address one longer.
    pub(crate) fn endless_redirect(
        &self,
        request: &Request<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let target = request.target.split(|&b| b == b'?').next().unwrap_or(b"/");
        let step = request.target.get(target.len() + 6..).and_then(|s| std::str::from_utf8(s).ok());
        let step: u64 = step.and_then(|s| s.parse().ok()).unwrap_or(0);
        let mut location = target.to_vec();
        put(&mut location, "?step=");
        put_number(&mut location, step.saturating_add(1));
        self.moved(request, 302, &location, scratch, out)
    }

    /// The page as it would be without the fault.
    fn good(&self, request: &Request<'_>, page: PageId, scratch: &mut Scratch, out: &mut Vec<u8>) -> Reply {
        self.article(page, scratch);
        self.finish(request, 200, "text/html; charset=utf-8", &[], scratch, out)
    }

    fn article(&self, page: PageId, scratch: &mut Scratch) {
        scratch.body.clear();
        self.put_article(&mut scratch.body, page, PageKind::Article, 0, &mut scratch.links);
    }

    fn open_head(&self, out: &mut Vec<u8>) {
        self.put_head(out, 200);
        put(out, "Content-Type: text/html; charset=utf-8\r\n");
    }

    fn head_with_length(&self, out: &mut Vec<u8>, length: usize) {
        self.open_head(out);
        put(out, "Content-Length: ");
        put_number(out, length as u64);
        put(out, "\r\n\r\n");
    }

    fn coded(&self, out: &mut Vec<u8>, coding: &str, body: &[u8]) {
        self.open_head(out);
        put(out, "Content-Encoding: ");
        put(out, coding);
        put(out, "\r\nContent-Length: ");
        put_number(out, body.len() as u64);
        put(out, "\r\n\r\n");
        out.extend_from_slice(body);
    }
}
