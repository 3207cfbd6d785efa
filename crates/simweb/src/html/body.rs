//! The body of an article: navigation, paragraphs with their links, and what changes over time.
//!
//! Promise: each version of a text or structure change touches at least one paragraph; noise never repeats.

use super::{Article, WRAPS, edit_permille, put};
use crate::change::ChangeSize;
use crate::date::{EPOCH_S, put_day, put_iso};
use crate::host::PageId;
use crate::kind::NearClass;
use crate::links::{Link, Role, put_hex};
use crate::node::{Node, put_number};
use crate::rng::{Rng, below, mix};

impl Article<'_> {
    pub(super) fn body(&self, out: &mut Vec<u8>, content: PageId, links: &[Link]) {
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
        if links.iter().any(|l| l.role == Role::Tools) {
            put(out, "<p class=\"tools\">");
            for link in links.iter().filter(|l| l.role == Role::Tools) {
                self.anchor(out, link);
                out.push(b' ');
            }
            put(out, "</p>\n");
        }
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
        put(out, if self.host.mirrored { "mirror.sim" } else { &self.host.name });
        put(out, "\">@</a></p>\n<p class=\"imprint\">");
        self.lexicon.sentence(out, mix(self.host.seed, 0xF007), self.host.topic);
        put(out, "</p>\n</footer>\n</body>\n</html>\n");
    }

    /// Headings, paragraphs with their inline links, images and a table.
    fn paragraph_run(&self, out: &mut Vec<u8>, content: PageId, links: &[Link]) {
        let body_count = links.iter().filter(|l| l.role == Role::Body).count();
        let mut body = links.iter().filter(|l| l.role == Role::Body).enumerate().peekable();
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
                self.lexicon.sentence(out, self.sentence_key(p, s), self.host.topic);
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
                self.put_own(out, Node::Image { page: content, slot: p as u8 });
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
        put(out, if link.nofollow { "<a rel=\"nofollow\" href=\"" } else { "<a href=\"" });
        self.world.put_href(out, self.at, link);
        put(out, "\">");
        let title = mix(mix(self.world.config.seed ^ 0x9A6E, u64::from(self.target_number(link))), 0x717E);
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
            put(out, "<form action=\"#\"><input type=\"hidden\" name=\"csrf_token\" value=\"");
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
