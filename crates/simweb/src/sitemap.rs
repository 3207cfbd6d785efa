//! Sitemaps and feeds of a host.
//!
//! Promise: together, the files that robots.txt names list every orphan of the host and a bounded number of others.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::date::{EPOCH_S, put_http, put_iso};
use crate::host::{Host, HostId, PageId};
use crate::html::{escape_ampersand, put};
use crate::node::{Node, SitemapFile};
use crate::rng::mix;
use crate::world::World;

/// Linked pages that a sitemap repeats.
const LISTED_PAGES: u32 = 200;
const FEED_ITEMS: u32 = 12;

impl World {
    /// Whether `/sitemap.xml` is an index of other files.
    fn has_sitemap_index(host: &Host) -> bool {
        host.seed & 4 == 0
    }

    /// Pages that a sitemap file names.
    pub fn sitemap_pages(&self, id: HostId, file: SitemapFile) -> Vec<PageId> {
        let host = self.host(id);
        let orphans = host.pages..host.total();
        let listed = 0..host.pages.min(LISTED_PAGES);
        let split = |odd: u32| listed.clone().chain(orphans.clone()).filter(move |i| i % 2 == odd);
        let indexes: Vec<u32> = match file {
            SitemapFile::Main if Self::has_sitemap_index(host) => Vec::new(),
            SitemapFile::Main => listed.chain(orphans).collect(),
            SitemapFile::Part => split(0).collect(),
            SitemapFile::Gzip => split(1).collect(),
            SitemapFile::Text => listed.take(10).collect(),
        };
        indexes.into_iter().map(|i| PageId(host.first + i)).collect()
    }

    /// Where the pages of a sitemap file are to be found at a time; those that are gone are left out.
    pub(crate) fn listed(&self, id: HostId, file: SitemapFile, t_ms: u64) -> impl Iterator<Item = Node> {
        self.sitemap_pages(id, file).into_iter().filter_map(move |page| self.address_at(page, t_ms))
    }

    pub(crate) fn put_sitemap(&self, out: &mut Vec<u8>, id: HostId, file: SitemapFile, t_ms: u64) {
        let host = self.host(id);
        match file {
            SitemapFile::Text => {
                for node in self.listed(id, file, t_ms) {
                    self.put_url(out, node);
                    out.push(b'\n');
                }
            }
            SitemapFile::Main if Self::has_sitemap_index(host) => {
                put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
                put(out, "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
                for file in [SitemapFile::Part, SitemapFile::Gzip] {
                    put(out, "<sitemap><loc>");
                    self.put_url(out, Node::Sitemap { host: id, file });
                    put(out, "</loc></sitemap>\n");
                }
                put(out, "</sitemapindex>\n");
            }
            SitemapFile::Gzip => {
                let mut plain = Vec::new();
                self.put_urlset(&mut plain, id, file, t_ms);
                let mut encoder = GzEncoder::new(out, Compression::fast());
                // Writing into memory cannot fail.
                let _ = encoder.write_all(&plain);
                let _ = encoder.finish();
            }
            SitemapFile::Main | SitemapFile::Part => self.put_urlset(out, id, file, t_ms),
        }
    }

    fn put_urlset(&self, out: &mut Vec<u8>, id: HostId, file: SitemapFile, t_ms: u64) {
        put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        put(out, "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        for page in self.sitemap_pages(id, file) {
            let Some(address) = self.address_at(page, t_ms) else { continue };
            put(out, "<url><loc>");
            let at = out.len();
            self.put_url(out, address);
            escape_ampersand(out, at);
            put(out, "</loc><lastmod>");
            put_iso(out, EPOCH_S + self.last_change_ms(page, t_ms) / 1000);
            put(out, "</lastmod></url>\n");
        }
        put(out, "</urlset>\n");
    }

    pub(crate) fn put_feed(&self, out: &mut Vec<u8>, id: HostId, atom: bool, t_ms: u64) {
        let host = self.host(id);
        let lexicon = self.lexicon(host.lang);
        put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        put(
            out,
            if atom {
                "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>"
            } else {
                "<rss version=\"2.0\"><channel><title>"
            },
        );
        lexicon.phrase(out, mix(host.seed, 0x517E), 2);
        put(out, "</title>\n");
        for index in 0..host.pages.min(FEED_ITEMS) {
            let page = PageId(host.first + index);
            let Some(address) = self.address_at(page, t_ms) else { continue };
            put(out, if atom { "<entry><title>" } else { "<item><title>" });
            lexicon.phrase(out, mix(self.page_key(self.content_of(page)), 0x717E), 2);
            put(out, if atom { "</title><link href=\"" } else { "</title><link>" });
            let at = out.len();
            self.put_url(out, address);
            escape_ampersand(out, at);
            let changed = EPOCH_S + self.last_change_ms(page, t_ms) / 1000;
            if atom {
                put(out, "\"/><updated>");
                put_iso(out, changed);
                put(out, "</updated></entry>\n");
            } else {
                put(out, "</link><pubDate>");
                put_http(out, changed);
                put(out, "</pubDate></item>\n");
            }
        }
        put(out, if atom { "</feed>\n" } else { "</channel></rss>\n" });
    }
}
