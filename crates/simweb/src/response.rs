//! Responses: from a request to the bytes of an answer.
//!
//! Promise: a pure function of world, time and request, but for the tries of flaky pages; no input makes it fail.

mod article;

use foldhash::{HashMap, HashMapExt};
use std::sync::{Mutex, PoisonError};

use self::article::validators;
use crate::coding::{self, Accept};
use crate::date::{EPOCH_S, put_http};
use crate::host::{HostId, PageId};
use crate::html::put;
use crate::image::put_png;
use crate::kind::{Coding, Fault, PageKind, RedirectShape, RobotsKind};
use crate::life::Presence;
use crate::links::{Link, put_hex};
use crate::node::{Node, SitemapFile, put_number};
use crate::rng::mix;
use crate::world::World;

/// A parsed request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub host: HostId,
    /// Path and query as sent.
    pub target: &'r [u8],
    pub accept: Accept,
    pub if_none_match: Option<&'r [u8]>,
    pub if_modified_since: Option<&'r [u8]>,
    pub head_only: bool,
}

impl<'r> Request<'r> {
    /// A plain GET.
    pub fn get(host: HostId, target: &'r [u8]) -> Self {
        Self {
            host,
            target,
            accept: Accept::default(),
            if_none_match: None,
            if_modified_since: None,
            head_only: false,
        }
    }
}

/// What the server does with the bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Send and keep the connection.
    Send,
    /// Send and close.
    SendClose,
    /// Wait, then send and keep the connection.
    Delay { ms: u64 },
    /// Send, then stay silent.
    Hang,
    /// Send, then reset the connection.
    Reset,
    /// Send everything up to `from` at once and the rest byte by byte.
    Drip { from: usize, ms: u64 },
    /// Send, then repeat everything from `from` on until `limit` bytes went out.
    Endless { from: usize, limit: u64 },
}

/// Status and manner of an answer; the bytes are in the caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 0 if the answer has no status line.
    pub status: u16,
    pub act: Act,
}

impl Reply {
    fn send(status: u16) -> Self {
        Self { status, act: Act::Send }
    }
}

/// Buffers reused from one response to the next.
#[derive(Default)]
pub struct Scratch {
    pub(crate) body: Vec<u8>,
    pub(crate) coded: Vec<u8>,
    pub(crate) links: Vec<Link>,
}

/// How often each flaky page was asked for.
#[derive(Default)]
pub struct Tries(Mutex<Option<HashMap<PageId, u32>>>);

impl Tries {
    pub(crate) fn count(&self, page: PageId) -> u32 {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = guard.get_or_insert_with(HashMap::new).entry(page).or_insert(0);
        *count += 1;
        *count
    }

    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

impl World {
    /// Writes the answer to a request at the world's present time into `out`, which is cleared first.
    pub fn respond(
        &self,
        request: &Request<'_>,
        tries: &Tries,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        out.clear();
        scratch.body.clear();
        let t_ms = self.now_ms();
        let host = self.host(request.host);
        if let Some(kind) = self.trap_at(request.host, request.target) {
            self.put_trap(&mut scratch.body, request.host, kind, request.target);
            return self.finish(request, 200, "text/html; charset=utf-8", &[], scratch, out);
        }
        let Some(node) = self.node_at(request.host, request.target) else {
            if host.role == crate::HostRole::Fault(Fault::RedirectEndless) {
                return self.endless_redirect(request, scratch, out);
            }
            return self.error_page(request, 404, scratch, out);
        };
        match node {
            Node::Page(page) => self.page_reply(request, page, t_ms, tries, scratch, out),
            Node::Moved(page) => match self.presence(page, t_ms) {
                Presence::Moved => self.article_reply(request, page, PageKind::Article, t_ms, scratch, out),
                Presence::Here | Presence::Gone { .. } => self.error_page(request, 404, scratch, out),
            },
            Node::Hop { page, hop } => self.redirect_reply(request, page, hop, scratch, out),
            Node::Image { page, slot } => {
                let content = self.content_of(page);
                let version = if slot == 0 { self.state_at(content, t_ms).image } else { 0 };
                let tag = mix(mix(self.page_key(content), 0x1AA6E + u64::from(slot)), u64::from(version));
                let changed = if version > 0 { self.last_change_ms(content, t_ms) } else { 0 };
                if let Some(reply) = self.not_modified(request, Some(tag), Some(changed), out) {
                    return reply;
                }
                put_png(&mut scratch.body, tag);
                let extra = validators(Some(tag), Some(changed));
                self.finish(request, 200, "image/png", &extra, scratch, out)
            }
            Node::Thin { page, kind } => self.thin_reply(request, page, kind, scratch, out),
            Node::Missing { .. } => self.error_page(request, 404, scratch, out),
            Node::Robots(_) => match host.robots {
                RobotsKind::Missing => self.error_page(request, 404, scratch, out),
                RobotsKind::Forbidden => self.error_page(request, 403, scratch, out),
                RobotsKind::ServerError => self.error_page(request, 500, scratch, out),
                RobotsKind::Redirect => self.moved(request, 301, b"/robots-moved.txt", scratch, out),
                RobotsKind::RedirectLoop => self.moved(request, 302, b"/robots.txt", scratch, out),
                kind => {
                    self.put_robots(&mut scratch.body, request.host, host);
                    let mime = if kind == RobotsKind::Html { "text/html" } else { "text/plain" };
                    self.finish(request, 200, mime, &[], scratch, out)
                }
            },
            Node::RobotsMoved(_) if host.robots == RobotsKind::Redirect => {
                self.put_robots(&mut scratch.body, request.host, host);
                self.finish(request, 200, "text/plain", &[], scratch, out)
            }
            Node::RobotsMoved(_) => self.error_page(request, 404, scratch, out),
            Node::Sitemap { file, .. } => {
                self.put_sitemap(&mut scratch.body, request.host, file, t_ms);
                let mime = match file {
                    SitemapFile::Text => "text/plain; charset=utf-8",
                    SitemapFile::Gzip => "application/gzip",
                    SitemapFile::Main | SitemapFile::Part => "application/xml",
                };
                self.finish(request, 200, mime, &[], scratch, out)
            }
            Node::Feed { atom, .. } => {
                self.put_feed(&mut scratch.body, request.host, atom, t_ms);
                let mime = if atom { "application/atom+xml" } else { "application/rss+xml" };
                self.finish(request, 200, mime, &[], scratch, out)
            }
            Node::Style(_) => {
                put(&mut scratch.body, "body{max-width:60em;margin:auto}nav li{display:inline}\n");
                self.finish(request, 200, "text/css", &[], scratch, out)
            }
            Node::Trap { .. } => self.error_page(request, 404, scratch, out),
        }
    }

    fn page_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        t_ms: u64,
        tries: &Tries,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let (_, index) = self.locate(page);
        match self.kind_at(request.host, index) {
            PageKind::Redirect { .. } => self.redirect_reply(request, page, 0, scratch, out),
            PageKind::NotFound => self.error_page(request, 404, scratch, out),
            PageKind::Gone => self.error_page(request, 410, scratch, out),
            PageKind::SoftNotFound => {
                put(
                    &mut scratch.body,
                    "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Page not found</title></head>\n",
                );
                put(
                    &mut scratch.body,
                    "<body><h1>Sorry, page not found</h1><p>The page you asked for does not exist (error 404). ",
                );
                put(&mut scratch.body, "Try the search or go back.</p></body></html>\n");
                self.finish(request, 200, "text/html; charset=utf-8", &[], scratch, out)
            }
            PageKind::Document => {
                put(&mut scratch.body, "%PDF-1.4\n%\u{e2}\u{e3}\n1 0 obj<</Type/Catalog>>endobj\n% ");
                put_hex(&mut scratch.body, self.page_key(page));
                put(&mut scratch.body, "\ntrailer<</Root 1 0 R>>\n%%EOF\n");
                self.finish(request, 200, "application/pdf", &[], scratch, out)
            }
            PageKind::Fault(fault) => self.fault_reply(request, page, fault, tries, scratch, out),
            kind => match self.presence(page, t_ms) {
                Presence::Here => self.article_reply(request, page, kind, t_ms, scratch, out),
                Presence::Gone { status } => self.error_page(request, status, scratch, out),
                Presence::Moved => {
                    let mut location = Vec::with_capacity(80);
                    self.put_url(&mut location, Node::Moved(page));
                    self.moved(request, 301, &location, scratch, out)
                }
            },
        }
    }

    fn redirect_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        hop: u8,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let (home, index) = self.locate(page);
        let (PageKind::Redirect { status, shape }, Some(target)) =
            (self.kind_at(home, index), self.redirect_target(page, hop))
        else {
            return self.error_page(request, 404, scratch, out);
        };
        let mut location = Vec::with_capacity(80);
        match shape {
            RedirectShape::Relative => {
                // Redirect pages live in /go/, one directory deep.
                put(&mut location, "..");
                self.put_path(&mut location, target);
            }
            RedirectShape::Loop => self.put_path(&mut location, target),
            _ => self.put_url(&mut location, target),
        }
        self.moved(request, status, &location, scratch, out)
    }

    pub(crate) fn moved(
        &self,
        request: &Request<'_>,
        status: u16,
        location: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let mut extra = b"Location: ".to_vec();
        extra.extend_from_slice(location);
        put(&mut extra, "\r\n");
        put(&mut scratch.body, "<html><body>Moved</body></html>\n");
        self.finish(request, status, "text/html", &extra, scratch, out)
    }

    pub(crate) fn error_page(
        &self,
        request: &Request<'_>,
        status: u16,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        scratch.body.clear();
        put(&mut scratch.body, "<!DOCTYPE html>\n<html><head><title>");
        put(&mut scratch.body, reason(status));
        put(&mut scratch.body, "</title></head><body><h1>");
        put(&mut scratch.body, reason(status));
        put(&mut scratch.body, "</h1></body></html>\n");
        self.finish(request, status, "text/html; charset=utf-8", &[], scratch, out)
    }

    pub(crate) fn put_head(&self, out: &mut Vec<u8>, status: u16) {
        put(out, "HTTP/1.1 ");
        put_number(out, u64::from(status));
        out.push(b' ');
        put(out, reason(status));
        put(out, "\r\nDate: ");
        put_http(out, EPOCH_S + self.now_ms() / 1000);
        put(out, "\r\nServer: simweb\r\n");
    }

    /// Head, coding and framing around the body in `scratch`.
    pub(crate) fn finish(
        &self,
        request: &Request<'_>,
        status: u16,
        mime: &str,
        extra: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let host = self.host(request.host);
        let textual = !mime.starts_with("image/") && !mime.ends_with("gzip");
        let coding =
            if textual && request.accept.takes(host.coding) { host.coding } else { Coding::Identity };
        coding::compress(coding, scratch);
        self.put_head(out, status);
        put(out, "Content-Type: ");
        put(out, mime);
        put(out, "\r\n");
        out.extend_from_slice(extra);
        if coding != Coding::Identity {
            put(out, "Content-Encoding: ");
            put(out, coding.slug());
            put(out, "\r\nVary: Accept-Encoding\r\n");
        }
        if host.chunked && status == 200 {
            put(out, "Transfer-Encoding: chunked\r\n\r\n");
            if !request.head_only {
                coding::put_chunks(out, &scratch.body);
            }
        } else {
            put(out, "Content-Length: ");
            put_number(out, scratch.body.len() as u64);
            put(out, "\r\n\r\n");
            if !request.head_only {
                out.extend_from_slice(&scratch.body);
            }
        }
        self.with_latency(status)
    }

    fn with_latency(&self, status: u16) -> Reply {
        match self.config.latency_ms {
            0 => Reply::send(status),
            ms => Reply { status, act: Act::Delay { ms } },
        }
    }
}
