//! Addresses: everything the world can serve, its canonical URL, and the way back from a URL.
//!
//! Promise: `resolve(url(node)) == node`, and every spelling the pages use resolves to the same node.

mod resolve;

pub(crate) use resolve::bare_host;

use crate::host::{Host, HostId, HostRole, PageId};
use crate::kind::{PageKind, ThinKind, TrapKind};
use crate::rng::{below, mix};
use crate::world::World;

/// Images per page.
pub const IMAGES: u8 = 4;

/// Stands before the first directory of a page that moved; the depth of its address stays.
pub(crate) const MOVED_PREFIX: &[u8; 4] = b"new-";

/// One thing with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    Page(PageId),
    /// A stage of a redirect chain or loop.
    Hop {
        page: PageId,
        hop: u8,
    },
    /// Where a page that moved has gone.
    Moved(PageId),
    Image {
        page: PageId,
        slot: u8,
    },
    /// What an article has beside itself.
    Thin {
        page: PageId,
        kind: ThinKind,
    },
    /// An address that links name but that never existed: 404.
    Missing {
        host: HostId,
        number: u32,
    },
    Robots(HostId),
    /// Where a redirecting robots file really is.
    RobotsMoved(HostId),
    /// A sitemap file; see the sitemap module for the forms.
    Sitemap {
        host: HostId,
        file: SitemapFile,
    },
    Feed {
        host: HostId,
        atom: bool,
    },
    Style(HostId),
    /// The entry of a trap.
    Trap {
        host: HostId,
        kind: TrapKind,
    },
}

/// The files a host's sitemap consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SitemapFile {
    /// `/sitemap.xml`: a set on odd hosts, an index on even ones.
    Main,
    /// `/sitemap-0.xml`: a set.
    Part,
    /// `/sitemap-1.xml.gz`: a compressed set.
    Gzip,
    /// `/sitemap.txt`: plain lines.
    Text,
}

const SECTIONS: [&str; 24] = [
    "news", "guide", "notes", "people", "places", "history", "science", "music", "travel", "food", "books",
    "sport", "maps", "events", "letters", "studies", "tools", "nature", "trade", "crafts", "reports",
    "lectures", "essays", "stories",
];
const SLUGS: [&str; 32] = [
    "river", "harbour", "winter", "market", "bridge", "garden", "silver", "castle", "forest", "valley",
    "engine", "ladder", "mirror", "spring", "summer", "copper", "signal", "tunnel", "violin", "wharf",
    "orchard", "granite", "festival", "glacier", "journal", "lantern", "meadow", "museum", "pilgrim",
    "quarry", "thunder", "voyage",
];
const ACCENTS: [&str; 4] = ["caf%C3%A9", "r%C3%ADo", "stra%C3%9Fe", "%C3%A9t%C3%A9"];

impl World {
    /// The canonical URL of a node.
    pub fn url(&self, node: Node) -> String {
        let mut out = Vec::with_capacity(64);
        self.put_url(&mut out, node);
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(crate) fn put_url(&self, out: &mut Vec<u8>, node: Node) {
        self.put_origin(out, self.host(self.host_of(node)));
        self.put_path(out, node);
    }

    pub(crate) fn put_origin(&self, out: &mut Vec<u8>, host: &Host) {
        out.extend_from_slice(b"http://");
        out.extend_from_slice(host.name.as_bytes());
        if let Some(port) = self.config.authority_port {
            out.push(b':');
            put_number(out, u64::from(port));
        }
    }

    pub fn host_of(&self, node: Node) -> HostId {
        match node {
            Node::Page(page)
            | Node::Moved(page)
            | Node::Hop { page, .. }
            | Node::Image { page, .. }
            | Node::Thin { page, .. } => self.locate(page).0,
            Node::Missing { host, .. }
            | Node::Robots(host)
            | Node::RobotsMoved(host)
            | Node::Sitemap { host, .. }
            | Node::Feed { host, .. }
            | Node::Style(host)
            | Node::Trap { host, .. } => host,
        }
    }

    /// Path and query of a node.
    pub(crate) fn put_path(&self, out: &mut Vec<u8>, node: Node) {
        match node {
            Node::Page(page) => {
                let (host, index) = self.locate(page);
                self.put_page_path(out, host, index);
            }
            Node::Moved(page) => {
                let start = out.len() + 1;
                self.put_path(out, Node::Page(page));
                out.splice(start..start, *MOVED_PREFIX);
            }
            Node::Hop { page, hop } => {
                let (host, index) = self.locate(page);
                self.put_page_path(out, host, index);
                out.extend_from_slice(b"/h");
                put_number(out, u64::from(hop));
            }
            Node::Image { page, slot } => {
                let (_, index) = self.locate(page);
                out.extend_from_slice(b"/img/");
                put_number(out, u64::from(index));
                out.push(b'-');
                put_number(out, u64::from(slot));
                out.extend_from_slice(b".png");
            }
            Node::Thin { page, kind } => {
                out.push(b'/');
                out.extend_from_slice(kind.slug().as_bytes());
                out.push(b'/');
                put_number(out, u64::from(self.locate(page).1));
            }
            Node::Missing { number, .. } => {
                out.extend_from_slice(b"/lost/");
                out.extend_from_slice(SLUGS[(number % 32) as usize].as_bytes());
                out.push(b'-');
                put_number(out, u64::from(number));
            }
            Node::Robots(_) => out.extend_from_slice(b"/robots.txt"),
            Node::RobotsMoved(_) => out.extend_from_slice(b"/robots-moved.txt"),
            Node::Sitemap { file, .. } => out.extend_from_slice(match file {
                SitemapFile::Main => b"/sitemap.xml",
                SitemapFile::Part => b"/sitemap-0.xml",
                SitemapFile::Gzip => b"/sitemap-1.xml.gz",
                SitemapFile::Text => b"/sitemap.txt",
            }),
            Node::Feed { atom: false, .. } => out.extend_from_slice(b"/feed.xml"),
            Node::Feed { atom: true, .. } => out.extend_from_slice(b"/atom.xml"),
            Node::Style(_) => out.extend_from_slice(b"/style.css"),
            Node::Trap { kind, .. } => out.extend_from_slice(match kind {
                TrapKind::Calendar => b"/calendar/2026/01/",
                TrapKind::Session => b"/session/?visit=0",
                TrapKind::Growing => b"/deep/a/",
            }),
        }
    }

    pub(crate) fn put_page_path(&self, out: &mut Vec<u8>, host_id: HostId, index: u32) {
        if index == 0 {
            out.push(b'/');
            return;
        }
        // A mirror has the addresses of its original.
        let home = match self.host(host_id).role {
            HostRole::Mirror(of) => of,
            _ => host_id,
        };
        let host = self.host(home);
        let bits = mix(host.seed ^ 0x9A74, u64::from(index));
        let number = u64::from(index);
        let slug = |shift: u32| SLUGS[((bits >> shift) & 31) as usize].as_bytes();
        let leaf = host.is_leaf(index) && index < host.pages;
        if leaf {
            match self.kind_at(home, index) {
                PageKind::Redirect { .. } => {
                    out.extend_from_slice(b"/go/");
                    out.extend_from_slice(slug(0));
                    out.push(b'-');
                    put_number(out, number);
                    return;
                }
                PageKind::Document => {
                    out.extend_from_slice(b"/papers/");
                    out.extend_from_slice(slug(0));
                    out.push(b'-');
                    put_number(out, number);
                    out.extend_from_slice(b".pdf");
                    return;
                }
                _ => {}
            }
        }
        out.push(b'/');
        let section = match (leaf, bits & 0xFF) {
            (true, 0..12) => "private",
            (true, 12..20) => "members",
            _ => {
                let count = (host.pages / 20).clamp(1, 12);
                let base = (host.seed % 24) as u32;
                SECTIONS[((base + below(bits, count)) % 24) as usize]
            }
        };
        out.extend_from_slice(section.as_bytes());
        out.push(b'/');
        match (bits >> 8) & 15 {
            // Queries only on leaves: rules that close them close no subtree.
            0..2 if leaf => {
                out.extend_from_slice(b"view?id=");
                put_number(out, number);
            }
            2 if leaf => {
                out.extend_from_slice(b"list?cat=");
                out.extend_from_slice(slug(16));
                out.extend_from_slice(b"&id=");
                put_number(out, number);
            }
            3..5 => {
                put_number(out, number);
                out.push(b'/');
            }
            5..7 => {
                out.extend_from_slice(slug(16));
                out.push(b'/');
                put_number(out, number);
            }
            7 => {
                out.extend_from_slice(ACCENTS[((bits >> 16) & 3) as usize].as_bytes());
                out.push(b'-');
                put_number(out, number);
            }
            _ => {
                out.extend_from_slice(slug(16));
                out.push(b'-');
                out.extend_from_slice(slug(21));
                out.push(b'-');
                put_number(out, number);
                out.extend_from_slice(b".html");
            }
        }
    }
}

/// Decimal digits without going through the formatter.
#[inline]
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
