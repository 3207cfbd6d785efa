//! Thin pages: what a site has beside its articles. A print view, a form to reply, a list of revisions and the like hang
//! on every article but the front page; each links back to its article and to the front page, and nobody else links to it.
//!
//! On real sites most addresses are of this kind: a wiki names eight or nine views of each article, a forum or a blog four to
//! eight. They stand as near to the front as the articles they belong to, so whoever goes by distance alone meets them
//! early. [`crate::WorldConfig::thin_pages`] says how many each article has; none by default, and then the world is what it is
//! without this module.
//!
//! Promise: a thin page never changes; that of a mirror's page is a copy of the original's.

use crate::host::{HostId, HostRole, PageId};
use crate::html::put;
use crate::kind::{PageKind, ThinKind};
use crate::links::{Link, Role};
use crate::node::Node;
use crate::rng::mix;
use crate::world::World;

/// Sentences of a thin page.
const SENTENCES: u64 = 4;

impl World {
    /// The kinds of thin pages that articles have in this world.
    pub fn thin_kinds(&self) -> &'static [ThinKind] {
        let count = usize::from(self.config.thin_pages).min(ThinKind::ALL.len());
        &ThinKind::ALL[..count]
    }

    /// Whether a page has thin pages: articles do, unless they are the front page or show what belongs to another page.
    pub fn has_thin(&self, page: PageId) -> bool {
        let (shown, index) = self.locate(page);
        let home = match self.host(shown).role {
            HostRole::Mirror(of) => of,
            HostRole::Regular => shown,
            HostRole::Fault(_) => return false,
        };
        let own = [PageKind::Article, PageKind::NoIndex, PageKind::NoFollow, PageKind::RobotsTag];
        self.config.thin_pages > 0 && index > 0 && own.contains(&self.kind_at(home, index))
    }

    /// The links from an article to its thin pages, appended.
    pub(crate) fn plan_thin(&self, content: PageId, links: &mut Vec<Link>) {
        if !self.has_thin(content) {
            return;
        }
        let (host, index) = self.locate(content);
        let key = mix(self.page_key(content), 0x7417);
        for (&kind, n) in self.thin_kinds().iter().zip(0..) {
            links.push(Link {
                target: Node::Thin { page: content, kind },
                role: Role::Tools,
                nofollow: false,
                host,
                index,
                bits: mix(key, n),
            });
        }
    }

    /// The links of a thin page: to the front page and to its article. Clears `links` first.
    pub fn thin_links(&self, page: PageId, links: &mut Vec<Link>) {
        links.clear();
        let (host, index) = self.locate(page);
        for (index, role) in [(0, Role::Nav), (index, Role::Body)] {
            let target = Node::Page(self.page(host, index));
            links.push(Link { target, role, nofollow: false, host, index, bits: 0 });
        }
    }

    /// The thin page a request target names, if there is one.
    pub(crate) fn thin_at(&self, host: HostId, target: &[u8]) -> Option<Node> {
        self.thin_kinds().iter().find_map(|&kind| {
            let digits =
                target.strip_prefix(b"/")?.strip_prefix(kind.slug().as_bytes())?.strip_prefix(b"/")?;
            let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            let page = (number < self.host(host).total()).then(|| self.page(host, number))?;
            self.has_thin(page).then_some(Node::Thin { page, kind })
        })
    }

    /// The same value for the same bytes.
    pub(crate) fn thin_tag(&self, page: PageId, kind: ThinKind) -> u64 {
        mix(mix(self.page_key(self.content_of(page)), 0x7471), kind as u64)
    }

    pub(crate) fn put_thin(&self, out: &mut Vec<u8>, page: PageId, kind: ThinKind, links: &mut Vec<Link>) {
        let content = self.content_of(page);
        let host = self.host(self.locate(content).0);
        let lexicon = self.lexicon(host.lang);
        let tag = self.thin_tag(page, kind);
        self.thin_links(content, links);
        put(out, "<!DOCTYPE html>\n<html lang=\"");
        put(out, host.lang.code());
        put(out, "\">\n<head>\n");
        host.put_charset(out);
        put(out, "<title>");
        put(out, kind.slug());
        put(out, ": ");
        self.put_title(out, lexicon, content);
        put(out, "</title>\n</head>\n<body>\n<h1>");
        self.put_title(out, lexicon, content);
        put(out, "</h1>\n<p>");
        for n in 0..SENTENCES {
            lexicon.sentence(out, mix(tag, n), host.topic);
        }
        put(out, "</p>\n");
        for link in &*links {
            put(out, "<p><a href=\"");
            self.put_link_path(out, link);
            put(out, "\">");
            lexicon.phrase(out, mix(tag, 0x11 + u64::from(link.index)), 2);
            put(out, "</a></p>\n");
        }
        put(out, "</body>\n</html>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorldConfig;

    fn world(thin_pages: u8) -> World {
        let mut config = WorldConfig::full(7, 70, 5_000);
        config.thin_pages = thin_pages;
        World::new(config)
    }

    #[test]
    fn thin_pages_resolve_and_link_to_their_article_and_the_front() {
        let world = world(3);
        let mut links = Vec::new();
        let mut count = 0;
        for page in (0..world.page_count()).map(PageId).filter(|page| world.has_thin(*page)) {
            for &kind in world.thin_kinds() {
                let node = Node::Thin { page, kind };
                assert_eq!(world.resolve(&world.url(node)), Some(node));
                count += 1;
            }
            world.thin_links(page, &mut links);
            let targets: Vec<Node> = links.iter().map(|link| link.target).collect();
            let front = world.page(world.locate(page).0, 0);
            assert_eq!(targets, [Node::Page(front), Node::Page(page)]);
        }
        assert!(count > 3_000, "{count}");
    }

    #[test]
    fn only_articles_beyond_the_front_have_them() {
        let world = world(255);
        assert_eq!(world.thin_kinds(), ThinKind::ALL);
        for host in world.hosts() {
            let front = PageId(host.first);
            assert!(!world.has_thin(front));
            assert_eq!(world.resolve(&format!("http://{}/print/0", host.name)), None);
        }
        for page in world.pages_where(|kind| matches!(kind, PageKind::Duplicate { .. } | PageKind::Gone)) {
            assert!(!world.has_thin(page));
        }
        let none = self::world(0);
        assert!(none.thin_kinds().is_empty() && !none.has_thin(PageId(5)));
        assert_eq!(none.resolve("http://h0.sim/print/5"), None);
    }
}
