//! The way back: from a URL in any spelling to the node it names.
//!
//! Promise: what the world does not have resolves to nothing; no input makes it fail.

use super::{IMAGES, MOVED_PREFIX, Node, SitemapFile};
use crate::host::{HostId, PageId};
use crate::kind::TrapKind;
use crate::life::Fate;
use crate::world::World;

/// Longer request targets than this resolve to nothing.
const MAX_TARGET_BYTES: usize = 4096;

impl World {
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
        self.split(url).is_some_and(|(host, target)| self.trap_at(host, target.as_bytes()).is_some())
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
        prefixes.into_iter().find(|(prefix, _)| target.starts_with(prefix)).map(|(_, kind)| kind)
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
                return Some(Node::Sitemap { host, file: SitemapFile::Main });
            }
            b"/sitemap-0.xml" => {
                return Some(Node::Sitemap { host, file: SitemapFile::Part });
            }
            b"/sitemap-1.xml.gz" => {
                return Some(Node::Sitemap { host, file: SitemapFile::Gzip });
            }
            b"/sitemap.txt" => {
                return Some(Node::Sitemap { host, file: SitemapFile::Text });
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
                Node::Image { page: self.page(host, index), slot }
            }
            _ if target.starts_with(b"/lost/") => Node::Missing { host, number: last_number(target)?.0 },
            _ if self.trap_at(host, target).is_some() => {
                Node::Trap { host, kind: self.trap_at(host, target)? }
            }
            _ if let Some(node) = self.thin_at(host, target) => node,
            _ if target.get(1..).is_some_and(|rest| rest.starts_with(MOVED_PREFIX)) => {
                let (index, _) = last_number(target)?;
                if index >= self.host(host).total() {
                    return None;
                }
                let page = self.page(host, index);
                matches!(self.fate(page), Fate::Moves { .. }).then_some(Node::Moved(page))?
            }
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
        hop.checked_sub(1).and_then(|before| self.redirect_target(page, before))
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
    let start = text[..end].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |p| p + 1);
    if end - start > 9 {
        return None;
    }
    let number = text[start..end].iter().fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageKind, WorldConfig};

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
                at = if steps > 12 { None } else { world.redirect_target(page, hop) };
            }
        }
        assert!(hops > 10);
    }
}
