//! Articles on the wire: validators, conditional requests, charset and robots headers.
//!
//! Promise: two answers with the same entity tag have the same bytes before content coding.

use super::{Reply, Request, Scratch};
use crate::coding;
use crate::date::{EPOCH_S, put_http, read_http};
use crate::host::PageId;
use crate::html::put;
use crate::kind::{ChangeKind, CharsetPlace, PageKind, ThinKind};
use crate::life::Presence;
use crate::links::put_hex;
use crate::rng::mix;
use crate::world::World;

impl World {
    pub(crate) fn article_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        kind: PageKind,
        t_ms: u64,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let host = self.host(request.host);
        let tag = host.etag.then(|| self.page_tag(page, kind, t_ms));
        let changed = host.last_modified.then(|| match self.change_spec(page).kind {
            // New image bytes do not touch the page.
            ChangeKind::Image => 0,
            _ => self.last_change_ms(page, t_ms),
        });
        // Ambient noise has no date of its own: such pages offer no date.
        let changed = changed.filter(|_| self.config.change.ambient_noise_ms.is_none());
        if let Some(reply) = self.not_modified(request, tag, changed, out) {
            return reply;
        }
        self.put_article(&mut scratch.body, page, kind, t_ms, &mut scratch.links);
        let mut extra = validators(tag, changed);
        if kind == PageKind::RobotsTag {
            put(&mut extra, "X-Robots-Tag: noindex, nofollow\r\n");
        }
        self.html_reply(request, page, &extra, scratch, out)
    }

    pub(super) fn thin_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        kind: ThinKind,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        let host = self.host(request.host);
        let tag = host.etag.then(|| self.thin_tag(page, kind));
        let changed = host.last_modified.then_some(0);
        if let Some(reply) = self.not_modified(request, tag, changed, out) {
            return reply;
        }
        self.put_thin(&mut scratch.body, page, kind, &mut scratch.links);
        self.html_reply(request, page, &validators(tag, changed), scratch, out)
    }

    /// Sends the HTML in `scratch` in the encoding of a page.
    fn html_reply(
        &self,
        request: &Request<'_>,
        page: PageId,
        extra: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Reply {
        // A copy must be a copy in its bytes: the charset is that of the content's host.
        let home = self.host(self.locate(self.content_of(page)).0);
        coding::encode_charset(home.charset, scratch);
        let declared = matches!(home.charset_place, CharsetPlace::Header | CharsetPlace::Both);
        let mut mime = [0u8; 48];
        let mime = content_type(declared.then(|| home.charset.slug()), &mut mime);
        self.finish(request, 200, mime, extra, scratch, out)
    }

    /// A strong validator: two answers with the same tag have the same bytes before coding.
    fn page_tag(&self, page: PageId, kind: PageKind, t_ms: u64) -> u64 {
        let state = self.state_at(page, t_ms);
        let who = match kind {
            PageKind::NearDuplicate { .. } => page,
            _ => self.content_of(page),
        };
        let key = mix(self.page_key(who), 0xE7A6);
        let body = u64::from(state.structure) << 32 | u64::from(state.text);
        let key = mix(mix(key, body), u64::from(state.noise));
        // A page that moved names its new address.
        if self.presence(page, t_ms) == Presence::Moved { mix(key, 0x3013) } else { key }
    }

    pub(super) fn not_modified(
        &self,
        request: &Request<'_>,
        tag: Option<u64>,
        changed_ms: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Option<Reply> {
        let fresh = match (request.if_none_match, tag) {
            (Some(list), Some(tag)) => {
                let mut quoted = Vec::with_capacity(18);
                put_hex(&mut quoted, tag);
                list.trim_ascii() == b"*" || list.windows(16).any(|w| w == quoted)
            }
            // If-None-Match takes the place of If-Modified-Since, even where there is no tag to compare.
            (Some(_), None) => false,
            (None, _) => {
                let since = request.if_modified_since.and_then(read_http)?;
                changed_ms.is_some_and(|changed| EPOCH_S + changed / 1000 <= since)
            }
        };
        if !fresh {
            return None;
        }
        self.put_head(out, 304);
        out.extend_from_slice(&validators(tag, changed_ms));
        put(out, "\r\n");
        Some(self.with_latency(304))
    }
}

fn content_type<'b>(charset: Option<&str>, buffer: &'b mut [u8; 48]) -> &'b str {
    const BARE: &[u8] = b"text/html";
    const WITH: &[u8] = b"text/html; charset=";
    let mut length = BARE.len();
    buffer[..length].copy_from_slice(BARE);
    if let Some(charset) = charset.filter(|c| c.len() + WITH.len() <= 48) {
        buffer[..WITH.len()].copy_from_slice(WITH);
        length = WITH.len() + charset.len();
        buffer[WITH.len()..length].copy_from_slice(charset.as_bytes());
    }
    std::str::from_utf8(&buffer[..length]).unwrap_or("text/html")
}

pub(super) fn validators(tag: Option<u64>, changed_ms: Option<u64>) -> Vec<u8> {
    let mut extra = Vec::new();
    if let Some(tag) = tag {
        put(&mut extra, "ETag: \"");
        put_hex(&mut extra, tag);
        put(&mut extra, "\"\r\n");
    }
    if let Some(changed) = changed_ms {
        put(&mut extra, "Last-Modified: ");
        put_http(&mut extra, EPOCH_S + changed / 1000);
        put(&mut extra, "\r\n");
    }
    extra
}
