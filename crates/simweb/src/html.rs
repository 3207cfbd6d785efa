//! Articles: one page of HTML, written straight into a buffer.
//!
//! Promise: equal (content, state) give equal bytes; text changes keep the element tree, structure changes keep the
//! words, noise touches only the places named in [`World::noise`]; every `<a href>` comes from the link plan.

use crate::change::{ChangeSize, PageState};
use crate::date::{EPOCH_S, put_day, put_iso};
use crate::host::{Host, HostId, PageId};
use crate::kind::{ChangeKind, Charset, CharsetPlace, NearClass, PageKind};
use crate::links::{HrefContext, Link, Role, put_hex};
use crate::node::{IMAGES, Node, put_number};
use crate::rng::{Rng, below, mix};
use crate::words::Lexicon;
use crate::world::{HrefMode, World};

/// Most paragraphs of a page: keeps pages near 40 KB.
const MAX_PARAGRAPHS: u32 = 110;
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
}

impl World {
    /// Paragraphs of a content page.
    fn paragraphs(&self, content: PageId) -> u32 {
        let bits = mix(self.page_key(content), 0x9A5A);
        let spread = SPREAD[(bits & 0xFFFF).count_ones() as usize];
        (self.config.paragraphs * spread / 8).clamp(1, MAX_PARAGRAPHS)
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
        if matches!(self.host(shown).role, crate::HostRole::Mirror(_)) {
            shown
        } else {
            home
        }
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
            at: HrefContext {
                home,
                mode,
                depth: depth.saturating_sub(1),
                based,
                mirrored: host.mirrored,
            },
            edit,
        };
        article.head(out, content, home, kind);
        article.body(out, content, links);
    }

    /// The title of a page, as its own head and the anchors of links to it show it.
    fn put_title(&self, out: &mut Vec<u8>, lexicon: &Lexicon, page: PageId) {
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
        if matches!(host.charset_place, CharsetPlace::Meta | CharsetPlace::Both) {
            if host.charset == Charset::Utf8 {
                put(out, "<meta charset=\"utf-8\">\n");
            } else {
                put(
                    out,
                    "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=",
                );
                put(out, host.charset.slug());
                put(out, "\">\n");
            }
        }
        put(out, "<title>");
        self.world.put_title(out, self.lexicon, content);
        put(out, "</title>\n");
        if self.at.based {
            put(out, "<base href=\"/\">\n");
        }
        put(out, "<meta name=\"description\" content=\"");
        self.lexicon.sentence(out, mix(self.key, 0xDE5C), host.topic);
        put(
            out,
            "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        );
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
            self.world.put_url(out, Node::Page(content));
            escape_ampersand(out, at);
            put(out, "\">\n");
        }
        put(out, "<link rel=\"stylesheet\" href=\"");
        self.put_own(out, Node::Style(home));
        put(out, "\">\n");
        if flags & 32 == 0 {
            put(
                out,
                "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"",
            );
            self.put_own(
                out,
                Node::Feed {
                    host: home,
                    atom: false,
                },
            );
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

    fn body(&self, out: &mut Vec<u8>, content: PageId, links: &[Link]) {
        put(out, "<body>\n<header class=\"top\">\n<p class=\"site\">");
        self.lexicon.phrase(out, mix(self.host.seed, 0x517E), 2);
        put(out, "</p>\n<nav><ul>\n");
        for link in links.iter().filter(|l| l.role == Role::Nav) {
            put(out, "<li>");
            self.anchor(out, link);
            put(out, "</li>\n");
        }
        put(out, "</ul></nav>\n</header>\n<main>\n<article>\n<h1>");
        self.world.put_title(out, self.lexicon, content);
        put(out, "</h1>\n<p class=\"byline\"><time datetime=\"");
        put_day(out, self.published());
        put(out, "\">");
        put_day(out, self.published());
        put(out, "</time></p>\n");
        self.paragraph_run(out, content, links);
        put(out, "</article>\n<aside>\n<h2>");
        self.lexicon.phrase(out, mix(self.host.seed, 0xA51D), 2);
        put(out, "</h2>\n<ul>\n");
        for link in links.iter().filter(|l| l.role == Role::Aside) {
            put(out, "<li>");
            self.anchor(out, link);
            put(out, "</li>\n");
        }
        put(out, "</ul>\n");
        self.noise(out);
        put(out, "</aside>\n</main>\n<footer>\n<p>");
        for link in links.iter().filter(|l| l.role == Role::Footer) {
            self.anchor(out, link);
            put(out, " | ");
        }
        put(out, "<a href=\"#top\">^</a> <a href=\"mailto:post@");
        put(
            out,
            if self.host.mirrored {
                "mirror.sim"
            } else {
                &self.host.name
            },
        );
        put(out, "\">@</a></p>\n<p class=\"imprint\">");
        self.lexicon
            .sentence(out, mix(self.host.seed, 0xF007), self.host.topic);
        put(out, "</p>\n</footer>\n</body>\n</html>\n");
    }

    /// Headings, paragraphs with their inline links, images and a table.
    fn paragraph_run(&self, out: &mut Vec<u8>, content: PageId, links: &[Link]) {
        let body_count = links.iter().filter(|l| l.role == Role::Body).count();
        let mut body = links
            .iter()
            .filter(|l| l.role == Role::Body)
            .enumerate()
            .peekable();
        let images = self.world.image_count(content);
        let count = self.paragraphs;
        for p in 0..count {
            if p % 3 == 0 {
                put(out, if p % 6 == 0 { "<h2>" } else { "<h3>" });
                self.lexicon.phrase(out, mix(self.key, 0x4EAD + u64::from(p)), 3);
                put(out, if p % 6 == 0 { "</h2>\n" } else { "</h3>\n" });
            }
            let wraps = (self.hits(self.state.structure, p) as usize) % (WRAPS.len() + 1);
            for wrap in &WRAPS[..wraps] {
                out.push(b'<');
                out.extend_from_slice(wrap);
                out.push(b'>');
            }
            put(out, "<p>");
            let shape = mix(self.key, 0x5EA7 + u64::from(p));
            let sentences = 2 + (shape & 3) as u32;
            for s in 0..sentences {
                self.lexicon
                    .sentence(out, self.sentence_key(p, s), self.host.topic);
                // Spread the links evenly: link number n belongs to the sentence that n/body_count of the page reaches.
                let reached =
                    ((p * 8 + (s + 1) * 8 / sentences) as usize * body_count) / (count as usize * 8);
                while let Some((_, link)) = body.next_if(|(n, _)| *n < reached) {
                    self.inline_anchor(out, link);
                    out.push(b' ');
                }
            }
            put(out, "</p>");
            for wrap in WRAPS[..wraps].iter().rev() {
                put(out, "</");
                out.extend_from_slice(wrap);
                out.push(b'>');
            }
            out.push(b'\n');
            if p < u32::from(images) {
                put(out, "<figure><img src=\"");
                self.put_own(
                    out,
                    Node::Image {
                        page: content,
                        slot: p as u8,
                    },
                );
                put(out, "\" width=\"24\" height=\"24\" alt=\"");
                self.lexicon.phrase(out, mix(self.key, 0xA17 + u64::from(p)), 2);
                put(out, "\"></figure>\n");
            }
            if p == 2 && (self.key >> 30) & 3 == 0 {
                self.table(out);
            }
        }
        for (_, link) in body {
            self.inline_anchor(out, link);
            out.push(b'\n');
        }
    }

    /// How often a round-robin over the paragraphs has reached one of them.
    fn hits(&self, version: u32, paragraph: u32) -> u32 {
        (version + self.paragraphs - 1 - paragraph) / self.paragraphs
    }

    fn sentence_key(&self, p: u32, s: u32) -> u64 {
        let place = u64::from(p) << 8 | u64::from(s);
        let source = match self.edit {
            Some((edit, class)) if self.is_edited(edit, class, p, s) => mix(edit, 0x7E17),
            _ => self.key,
        };
        let version = match self.size {
            ChangeSize::Large => self.state.text,
            ChangeSize::Medium => self.hits(self.state.text, p),
            ChangeSize::Small if s == 0 => self.hits(self.state.text, p),
            ChangeSize::Small => 0,
        };
        mix(mix(source, 0x7E47 + place), u64::from(version))
    }

    /// Whether a near-duplicate has its own wording for a sentence; at least one sentence is.
    fn is_edited(&self, edit: u64, class: NearClass, p: u32, s: u32) -> bool {
        let forced = s == 0 && p == below(edit, self.paragraphs);
        forced || below(mix(edit, u64::from(p) << 8 | u64::from(s)), 1000) < edit_permille(class)
    }

    fn table(&self, out: &mut Vec<u8>) {
        put(out, "<table>\n");
        let mut rng = Rng::new(mix(self.key, 0x7AB1));
        for _ in 0..3 + rng.below(4) {
            put(out, "<tr><td>");
            self.lexicon.phrase(out, rng.word(), 1);
            put(out, "</td><td>");
            put_number(out, u64::from(rng.below(10_000)));
            put(out, "</td></tr>\n");
        }
        put(out, "</table>\n");
    }

    fn anchor(&self, out: &mut Vec<u8>, link: &Link) {
        put(
            out,
            if link.nofollow {
                "<a rel=\"nofollow\" href=\""
            } else {
                "<a href=\""
            },
        );
        self.world.put_href(out, self.at, link);
        put(out, "\">");
        let title = mix(
            mix(
                self.world.config.seed ^ 0x9A6E,
                u64::from(self.target_number(link)),
            ),
            0x717E,
        );
        self.lexicon.phrase(out, title, 2);
        put(out, "</a>");
    }

    fn target_number(&self, link: &Link) -> u32 {
        match link.target {
            Node::Page(page) => page.0,
            _ => link.index,
        }
    }

    /// A link in running text, now and then in bold, italic or as a heading of its own.
    fn inline_anchor(&self, out: &mut Vec<u8>, link: &Link) {
        let wrap = match (link.bits >> 56) & 15 {
            0 | 1 => "b",
            2 => "i",
            3 => "strong",
            4 => "em",
            5 => "span",
            _ => "",
        };
        if wrap.is_empty() {
            return self.anchor(out, link);
        }
        out.push(b'<');
        put(out, wrap);
        out.push(b'>');
        self.anchor(out, link);
        put(out, "</");
        put(out, wrap);
        out.push(b'>');
    }

    /// Clock, counter, token and advertisement: what differs between visits without being news.
    fn noise(&self, out: &mut Vec<u8>) {
        let bits = mix(mix(self.key, 0x4015E), u64::from(self.state.noise));
        let which = self.host.seed >> 32;
        if which & 1 == 0 {
            put(out, "<p class=\"generated\">Page generated ");
            put_iso(out, EPOCH_S + u64::from(self.state.noise) * 61 + (bits & 31));
            put(out, " in 0.0");
            put_number(out, 10 + bits % 90);
            put(out, " s</p>\n");
        }
        // Every host has noise that never repeats: whoever lacks the others counts views.
        if which & 2 == 0 || which & 7 == 7 {
            put(out, "<p class=\"views\">Views: ");
            put_number(out, 1000 + (self.key & 0xFFFF) + u64::from(self.state.noise) * 7);
            put(out, "</p>\n");
        }
        if which & 4 == 0 {
            put(
                out,
                "<form action=\"#\"><input type=\"hidden\" name=\"csrf_token\" value=\"",
            );
            put_hex(out, bits);
            put(out, "\"></form>\n");
        }
        if which & 8 == 0 || which & 7 == 7 {
            put(out, "<div class=\"ad banner\" id=\"ad-");
            put_number(out, (bits >> 8) % 8);
            put(out, "\">Advertisement ");
            put_number(out, (bits >> 8) % 8);
            put(out, "</div>\n");
        }
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
