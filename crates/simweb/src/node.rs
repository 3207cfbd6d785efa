//! Addresses: everything the world can serve, its canonical URL, and the way back from a URL.
//!
//! Promise: `resolve(url(node)) == node`, and every spelling the pages use resolves to the same node.

use crate::host::{Host, HostId, HostRole, PageId};
use crate::kind::{PageKind, TrapKind};
use crate::rng::{below, mix};
use crate::world::World;

/// Longer request targets than this resolve to nothing.
pub const MAX_TARGET_BYTES: usize = 4096;
/// Images per page.
pub const IMAGES: u8 = 4;

/// One thing with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    Page(PageId),
    /// A stage of a redirect chain or loop.
    Hop {
        page: PageId,
        hop: u8,
    },
    Image {
        page: PageId,
        slot: u8,
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
            Node::Page(page) | Node::Hop { page, .. } | Node::Image { page, .. } => self.locate(page).0,
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

    /// The node behind a URL in any spelling; `None` if the world has no such address.
    pub fn resolve(&self, url: &str) -> Option<Node> {
        let (host, target) = self.split(url)?;
        self.node_at(host, target.as_bytes())
    }

    /// Splits a URL into its host and its request target.
    pub fn split<'u>(&self, url: &'u str) -> Option<(HostId, &'u str)> {
        let scheme = url.get(..7)?;
        if !scheme.eq_ignore_ascii_case("http://") {
            return None;
        }
        let rest = &url[7..];
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let host = self.host_named(bare_host(&rest[..end]))?;
        let target = &rest[end..];
        Some((host, if target.is_empty() { "/" } else { target }))
    }

    /// Whether a URL lies in an endless part of the world.
    pub fn is_trap(&self, url: &str) -> bool {
        self.split(url)
            .is_some_and(|(host, target)| self.trap_at(host, target.as_bytes()).is_some())
    }

    pub(crate) fn trap_at(&self, host: HostId, target: &[u8]) -> Option<TrapKind> {
        if !self.host(host).traps {
            return None;
        }
        let prefixes: [(&[u8], TrapKind); 3] = [
            (b"/calendar/", TrapKind::Calendar),
            (b"/session/", TrapKind::Session),
            (b"/deep/", TrapKind::Growing),
        ];
        prefixes
            .into_iter()
            .find(|(prefix, _)| target.starts_with(prefix))
            .map(|(_, kind)| kind)
    }

    /// The node a request target names on a host.
    pub fn node_at(&self, host: HostId, target: &[u8]) -> Option<Node> {
        if target.len() > MAX_TARGET_BYTES {
            return None;
        }
        let mut plain = Vec::new();
        let target = if target.iter().any(|b| matches!(b, b'%' | b'?' | b'#')) {
            normalise(target, &mut plain);
            plain.as_slice()
        } else {
            target
        };
        let node = match target {
            b"/" => return Some(Node::Page(self.page(host, 0))),
            b"/robots.txt" => return Some(Node::Robots(host)),
            b"/robots-moved.txt" => return Some(Node::RobotsMoved(host)),
            b"/sitemap.xml" => {
                return Some(Node::Sitemap {
                    host,
                    file: SitemapFile::Main,
                });
            }
            b"/sitemap-0.xml" => {
                return Some(Node::Sitemap {
                    host,
                    file: SitemapFile::Part,
                });
            }
            b"/sitemap-1.xml.gz" => {
                return Some(Node::Sitemap {
                    host,
                    file: SitemapFile::Gzip,
                });
            }
            b"/sitemap.txt" => {
                return Some(Node::Sitemap {
                    host,
                    file: SitemapFile::Text,
                });
            }
            b"/feed.xml" => return Some(Node::Feed { host, atom: false }),
            b"/atom.xml" => return Some(Node::Feed { host, atom: true }),
            b"/style.css" => return Some(Node::Style(host)),
            _ if target.starts_with(b"/img/") => {
                let slot = *target.get(target.len().checked_sub(5)?)?;
                let (index, _) = last_number(target.get(..target.len() - 6)?)?;
                let slot = slot.wrapping_sub(b'0');
                if index >= self.host(host).total() || slot >= IMAGES {
                    return None;
                }
                Node::Image {
                    page: self.page(host, index),
                    slot,
                }
            }
            _ if target.starts_with(b"/lost/") => Node::Missing {
                host,
                number: last_number(target)?.0,
            },
            _ if self.trap_at(host, target).is_some() => Node::Trap {
                host,
                kind: self.trap_at(host, target)?,
            },
            _ => {
                let (mut number, start) = last_number(target)?;
                let mut hop = None;
                if target.starts_with(b"/go/") && start >= 2 && target[start - 2..start] == *b"/h" {
                    hop = u8::try_from(number).ok();
                    number = last_number(&target[..start - 2])?.0;
                }
                if number >= self.host(host).total() {
                    return None;
                }
                let page = self.page(host, number);
                hop.map_or(Node::Page(page), |hop| Node::Hop { page, hop })
            }
        };
        let mut canonical = Vec::with_capacity(64);
        self.put_path(&mut canonical, node);
        if let Node::Hop { page, hop } = node
            && (hop == 0 || !self.has_hop(page, hop))
        {
            return None;
        }
        (canonical == target).then_some(node)
    }

    fn has_hop(&self, page: PageId, hop: u8) -> bool {
        hop.checked_sub(1)
            .and_then(|before| self.redirect_target(page, before))
            == Some(Node::Hop { page, hop })
    }
}

/// A host without port, user info or trailing dot.
pub(crate) fn bare_host(authority: &str) -> &str {
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}

/// The last run of digits and where it starts.
fn last_number(text: &[u8]) -> Option<(u32, usize)> {
    let end = text.iter().rposition(u8::is_ascii_digit)? + 1;
    let start = text[..end]
        .iter()
        .rposition(|b| !b.is_ascii_digit())
        .map_or(0, |p| p + 1);
    if end - start > 9 {
        return None;
    }
    let number = text[start..end]
        .iter()
        .fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
    Some((number, start))
}

/// Query parameters that say nothing about the page.
fn is_tracking(parameter: &[u8]) -> bool {
    parameter.starts_with(b"utm_")
        || parameter.starts_with(b"PHPSESSID=")
        || parameter.starts_with(b"fbclid=")
}

/// Drops fragment and tracking parameters and writes percent escapes in upper case.
fn normalise(target: &[u8], out: &mut Vec<u8>) {
    let target = target.split(|&b| b == b'#').next().unwrap_or(target);
    let mut parts = target.splitn(2, |&b| b == b'?');
    let mut escape = 0;
    for &b in parts.next().unwrap_or(target) {
        out.push(if escape > 0 { b.to_ascii_uppercase() } else { b });
        escape = if b == b'%' { 2 } else { escape.max(1) - 1 };
    }
    let mut separator = b'?';
    for parameter in parts.next().unwrap_or_default().split(|&b| b == b'&') {
        if !parameter.is_empty() && !is_tracking(parameter) {
            out.push(separator);
            out.extend_from_slice(parameter);
            separator = b'&';
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorldConfig;

    #[test]
    fn every_page_resolves_to_itself() {
        let world = World::new(WorldConfig::full(11, 64, 6_000));
        for n in 0..world.page_count() {
            let node = Node::Page(PageId(n));
            let url = world.url(node);
            assert_eq!(world.resolve(&url), Some(node), "{url}");
        }
    }

    #[test]
    fn spellings_of_one_address_resolve_alike() {
        let world = World::new(WorldConfig::full(11, 8, 500));
        let node = Node::Page(PageId(7));
        let url = world.url(node);
        let glue = if url.contains('?') { '&' } else { '?' };
        for spelling in [
            format!("{url}#part"),
            url.replace("http://h0.sim", "HTTP://H0.SIM:80"),
            format!("{url}{glue}utm_source=feed&utm_medium=rss"),
            format!("{url}{glue}PHPSESSID=0123456789abcdef"),
        ] {
            assert_eq!(world.resolve(&spelling), Some(node), "{spelling}");
        }
        assert_eq!(world.resolve("http://h0.sim/news/none"), None);
        assert_eq!(world.resolve("http://elsewhere.example/"), None);
    }

    #[test]
    fn percent_case_is_forgiven() {
        let mut out = Vec::new();
        normalise(b"/food/caf%c3%a9-5?utm_a=1&id=3", &mut out);
        assert_eq!(out, b"/food/caf%C3%A9-5?id=3");
    }

    #[test]
    fn hops_of_chains_resolve() {
        let world = World::new(WorldConfig::full(5, 8, 4_000));
        let mut hops = 0;
        for page in world.pages_where(|k| matches!(k, PageKind::Redirect { .. })) {
            let mut at = Some(Node::Page(page));
            let mut steps = 0;
            while let Some(node) = at {
                let (page, hop) = match node {
                    Node::Page(page) => (page, 0),
                    Node::Hop { page, hop } => (page, hop),
                    _ => break,
                };
                if hop > 0 {
                    hops += 1;
                    assert_eq!(world.resolve(&world.url(node)), Some(node));
                }
                steps += 1;
                at = if steps > 12 {
                    None
                } else {
                    world.redirect_target(page, hop)
                };
            }
        }
        assert!(hops > 10);
    }
}
