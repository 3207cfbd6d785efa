//! Articles: one page of HTML, written straight into a buffer.
//!
//! Promise: equal (content, state) give equal bytes; text changes keep the element tree, structure changes keep the
//! words, noise touches only the places named in [`World::noise`]; every `<a href>` comes from the link plan.

mod body;

use crate::change::{ChangeSize, PageState};
use crate::date::{EPOCH_S, put_iso};
use crate::host::{Host, HostId, PageId};
use crate::kind::{ChangeKind, NearClass, PageKind};
use crate::links::{HrefContext, Link};
use crate::node::{IMAGES, Node};
use crate::rng::{below, mix};
use crate::words::{Lang, Lexicon};
use crate::world::{HrefMode, World};

/// Most paragraphs of a page: keeps pages near 40 KB.
const MAX_PARAGRAPHS: u32 = 90;
/// Factors in eighths, by number of ones among sixteen random bits: close to a log-normal spread.
const SPREAD: [u32; 17] = [1, 1, 1, 1, 1, 2, 3, 5, 8, 13, 23, 38, 64, 108, 181, 304, 512];
const WRAPS: [&[u8]; 3] = [b"div", b"section", b"blockquote"];

/// What the writer of one page needs at hand.
struct Article<'w> {
    world: &'w World,
    host: &'w Host,
    lexicon: &'w Lexicon,
    key: u64,
    state: PageState,
    size: ChangeSize,
    paragraphs: u32,
    at: HrefContext,
    edit: Option<(u64, NearClass)>,
    /// Where the page says it is.
    own: Node,
}

impl World {
    /// Paragraphs of a content page.
    fn paragraphs(&self, content: PageId) -> u32 {
        let bits = mix(self.page_key(content), 0x9A5A);
        let spread = SPREAD[(bits & 0xFFFF).count_ones() as usize];
        // Two bytes a letter would make the longest pages twice as long.
        let most = match self.host(self.locate(content).0).lang {
            Lang::Ru | Lang::Ar => MAX_PARAGRAPHS / 2,
            _ => MAX_PARAGRAPHS,
        };
        (self.config.paragraphs * spread / 8).clamp(1, most)
    }

    /// Images of a content page: the slots `0..image_count`. Only the first ever changes.
    pub fn image_count(&self, page: PageId) -> u8 {
        let content = self.content_of(page);
        let images = (self.page_key(content) >> 20) as u8 % (IMAGES + 1);
        // A page whose image changes has one.
        let least = u8::from(self.change_spec(content).kind == ChangeKind::Image);
        images.min(self.paragraphs(content) as u8).max(least)
    }

    /// The host that a page's images are asked from.
    pub(crate) fn image_home(&self, page: PageId) -> HostId {
        let (shown, _) = self.locate(page);
        let (home, _) = self.locate(self.content_of(page));
        if matches!(self.host(shown).role, crate::HostRole::Mirror(_)) { shown } else { home }
    }

    /// Structure changes repeat after this many versions.
    pub(crate) fn structure_turn(&self, page: PageId) -> u32 {
        self.paragraphs(self.content_of(page)) * (WRAPS.len() as u32 + 1)
    }

    /// Share of sentences, in percent, that a near-duplicate was written to have in common with its source.
    pub fn near_share_percent(class: NearClass) -> u8 {
        100 - (edit_permille(class) / 10) as u8
    }

    /// Writes an article as UTF-8.
    pub(crate) fn put_article(
        &self,
        out: &mut Vec<u8>,
        page: PageId,
        kind: PageKind,
        t_ms: u64,
        links: &mut Vec<Link>,
    ) {
        let content = self.content_of(page);
        let (home, index) = self.locate(content);
        let host = self.host(home);
        let mode = self.href_mode(host, content);
        let key = self.page_key(content);
        let path_at = out.len();
        self.put_page_path(out, home, index);
        let depth = out[path_at..]
            .split(|&b| b == b'?')
            .next()
            .map_or(0, |p| p.iter().filter(|&&b| b == b'/').count());
        out.truncate(path_at);
        self.plan(content, links);
        let based = mode == HrefMode::Any && (key >> 50) & 7 == 0;
        let edit = match kind {
            PageKind::NearDuplicate { class, .. } => Some((mix(self.page_key(page), 0xED17), class)),
            _ => None,
        };
        let article = Article {
            world: self,
            host,
            lexicon: self.lexicon(host.lang),
            key,
            state: self.state_at(content, t_ms),
            size: self.change_spec(content).size,
            paragraphs: self.paragraphs(content),
            at: HrefContext { home, mode, depth: depth.saturating_sub(1), based, mirrored: host.mirrored },
            edit,
            own: self.address_at(content, t_ms).unwrap_or(Node::Page(content)),
        };
        article.head(out, content, home, kind);
        article.body(out, content, links);
    }

    /// The title of a page, as its own head and the anchors of links to it show it.
    pub(crate) fn put_title(&self, out: &mut Vec<u8>, lexicon: &Lexicon, page: PageId) {
        let key = self.page_key(page);
        lexicon.phrase(out, mix(key, 0x717E), 2 + (key & 3) as u32);
    }
}

fn edit_permille(class: NearClass) -> u32 {
    match class {
        NearClass::Light => 30,
        NearClass::Medium => 150,
        NearClass::Heavy => 500,
    }
}

impl Article<'_> {
    fn head(&self, out: &mut Vec<u8>, content: PageId, home: HostId, kind: PageKind) {
        let host = self.host;
        put(out, "<!DOCTYPE html>\n<html lang=\"");
        put(out, host.lang.code());
        put(out, "\">\n<head>\n");
        host.put_charset(out);
        put(out, "<title>");
        self.world.put_title(out, self.lexicon, content);
        put(out, "</title>\n");
        if self.at.based {
            put(out, "<base href=\"/\">\n");
        }
        put(out, "<meta name=\"description\" content=\"");
        self.lexicon.sentence(out, mix(self.key, 0xDE5C), host.topic);
        put(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let flags = self.key >> 40;
        if flags & 1 == 0 {
            put(out, "<meta name=\"author\" content=\"");
            self.lexicon.phrase(out, mix(self.key, 0xA07), 2);
            put(out, "\">\n");
        }
        if flags & 2 == 0 {
            put(out, "<meta property=\"article:published_time\" content=\"");
            put_iso(out, self.published());
            put(out, "\">\n");
        }
        match kind {
            PageKind::NoIndex => put(out, "<meta name=\"robots\" content=\"noindex\">\n"),
            PageKind::NoFollow => put(out, "<meta name=\"ROBOTS\" content=\"NOFOLLOW, noarchive\">\n"),
            _ if flags & 12 == 0 => put(out, "<meta name=\"robots\" content=\"index, follow\">\n"),
            _ => {}
        }
        if !host.mirrored && flags & 16 == 0 {
            put(out, "<link rel=\"canonical\" href=\"");
            let at = out.len();
            self.world.put_url(out, self.own);
            escape_ampersand(out, at);
            put(out, "\">\n");
        }
        put(out, "<link rel=\"stylesheet\" href=\"");
        self.put_own(out, Node::Style(home));
        put(out, "\">\n");
        if flags & 32 == 0 {
            put(out, "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"");
            self.put_own(out, Node::Feed { host: home, atom: false });
            put(out, "\">\n");
        }
        if flags & 192 == 0 {
            put(
                out,
                "<script type=\"application/ld+json\">{\"@context\":\"https://schema.org\",\"@type\":\"Article\",\"headline\":\"",
            );
            self.world.put_title(out, self.lexicon, content);
            put(out, "\",\"datePublished\":\"");
            put_iso(out, self.published());
            put(out, "\"}</script>\n");
        }
        put(out, "</head>\n");
    }

    fn published(&self) -> u64 {
        EPOCH_S - 86_400 - u64::from(below(mix(self.key, 0xDA7E), 300_000_000))
    }

    /// An address on the page's own host, in a form that survives copying where the page may be copied.
    fn put_own(&self, out: &mut Vec<u8>, node: Node) {
        if self.at.mode == HrefMode::Absolute {
            self.world.put_origin(out, self.host);
        }
        self.world.put_path(out, node);
    }
}

#[inline]
pub(crate) fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Writes `&` as `&amp;` from a position on.
pub(crate) fn escape_ampersand(out: &mut Vec<u8>, from: usize) {
    let mut at = from;
    while let Some(found) = out[at..].iter().position(|&b| b == b'&') {
        at += found + 1;
        out.splice(at..at, *b"amp;");
        at += 4;
    }
}
