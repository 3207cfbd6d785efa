//! Links: which addresses a page names, in what place and spelling.
//!
//! Promise: the plan is the truth. The HTML writer draws every `<a href>` of an article from it, and the truth reads
//! the same plan without looking at HTML. Links do not change over time.

use crate::host::{BRANCH, HOST_BRANCH, Host, HostId, PageId};
use crate::kind::TrapKind;
use crate::node::{Node, put_number};
use crate::rng::{Rng, power_rank};
use crate::world::{HrefMode, World};

/// Where on the page a link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Nav,
    Body,
    Aside,
    Footer,
    /// At the foot of the article: its thin pages.
    Tools,
}

/// A link of a page.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub target: Node,
    pub role: Role,
    /// Carries `rel=nofollow`.
    pub nofollow: bool,
    pub(crate) host: HostId,
    pub(crate) index: u32,
    pub(crate) bits: u64,
}

const ASIDE_LINKS: usize = 8;

impl World {
    /// The links of an article page, in document order by role. Clears `links` first.
    pub fn links(&self, page: PageId, links: &mut Vec<Link>) {
        let content = self.content_of(page);
        let (home, _) = self.locate(content);
        self.plan(content, links);
        let (shown, index) = self.locate(page);
        if self.host(shown).role == crate::HostRole::Mirror(home) {
            debug_assert_eq!(self.locate(content).1, index);
            for link in links.iter_mut().filter(|l| l.host == home) {
                link.host = shown;
                link.target = match link.target {
                    Node::Page(_) => Node::Page(self.page(shown, link.index)),
                    Node::Missing { number, .. } => Node::Missing { host: shown, number },
                    Node::Thin { kind, .. } => Node::Thin { page: self.page(shown, link.index), kind },
                    other => other,
                };
            }
        }
    }

    /// The links as the content page itself has them.
    pub(crate) fn plan(&self, content: PageId, links: &mut Vec<Link>) {
        links.clear();
        let (home, index) = self.locate(content);
        let host = self.host(home);
        let mut rng = Rng::new(self.page_key(content) ^ 0x1135);
        let (least, most) = self.config.links;
        let wanted = least + rng.below(most.saturating_sub(least) + 1);
        let to = |home: HostId, host: &Host, index: u32, role: Role, bits: u64| Link {
            target: Node::Page(PageId(host.first + index)),
            role,
            nofollow: false,
            host: home,
            index,
            bits,
        };
        for i in 0..=self.config.menu.min(host.pages - 1) {
            links.push(to(home, host, i, Role::Nav, rng.word()));
        }
        if index > 0 && index < host.pages {
            links.push(to(home, host, (index - 1) / BRANCH, Role::Nav, rng.word()));
        }
        if index < host.pages {
            let from = u64::from(index) * u64::from(BRANCH) + 1;
            let until = (from + u64::from(BRANCH)).min(u64::from(host.pages));
            for child in from..until {
                links.push(to(home, host, child as u32, Role::Body, rng.word()));
            }
        }
        if index == 0 {
            self.root_links(home, host, &mut rng, links);
        }
        let room = host.pages.saturating_mul(3).min(wanted);
        let start = links.len();
        let odd = self.config.features.odd_links;
        while (links.len() as u32) < wanted {
            let bits = rng.word();
            let role = match links.len() - start {
                n if n < ASIDE_LINKS => Role::Aside,
                n if n < ASIDE_LINKS + 3 => Role::Footer,
                _ => Role::Body,
            };
            let stay = (bits & 127) * 100 / 128 < u64::from(self.config.same_host_percent);
            let mut link = if stay || self.config.hosts < 2 {
                if (links.len() - start) as u32 > room {
                    break;
                }
                to(home, host, host.spread(power_rank(rng.word(), host.pages)), role, bits)
            } else {
                let rank = u64::from(power_rank(rng.word(), self.config.hosts));
                let id = HostId(
                    (rank.wrapping_mul(0x9E37_79B1).wrapping_add(self.config.seed >> 40)
                        % u64::from(self.config.hosts)) as u32,
                );
                let other = self.host(id);
                let deep = (bits >> 8) & 7 < 3;
                let index = if deep { other.spread(power_rank(rng.word(), other.pages)) } else { 0 };
                to(id, other, index, role, bits)
            };
            if odd {
                link.nofollow = (bits >> 16) & 63 == 0;
                if (bits >> 22) & 127 == 0 {
                    let number = rng.below(1_000_000);
                    link.target = Node::Missing { host: link.host, number };
                }
            }
            links.push(link);
        }
        self.plan_thin(content, links);
    }

    /// What only a root page has: the hosts below it, and the doors of its traps.
    fn root_links(&self, home: HostId, host: &Host, rng: &mut Rng, links: &mut Vec<Link>) {
        // The mirror's root is a copy of this one, so that its hosts hang here too.
        for parent in [Some(home), host.mirror].into_iter().flatten() {
            let from = u64::from(parent.0) * u64::from(HOST_BRANCH) + 1;
            let until = (from + u64::from(HOST_BRANCH)).min(u64::from(self.config.hosts));
            for child in from..until {
                let id = HostId(child as u32);
                links.push(Link {
                    target: Node::Page(self.page(id, 0)),
                    role: Role::Footer,
                    nofollow: false,
                    host: id,
                    index: 0,
                    bits: rng.word(),
                });
            }
        }
        if host.traps {
            for &kind in TrapKind::ALL {
                let target = Node::Trap { host: home, kind };
                links.push(Link { target, role: Role::Body, nofollow: false, host: home, index: 0, bits: 0 });
            }
        }
    }
}

/// What the href writer must know about the page it writes into.
#[derive(Clone, Copy)]
pub(crate) struct HrefContext {
    pub home: HostId,
    pub mode: HrefMode,
    /// Directories between the root and the page.
    pub depth: usize,
    /// The page has `<base href="/">`.
    pub based: bool,
    pub mirrored: bool,
}

impl World {
    /// Writes the value of an href attribute, escaped for double quotes.
    pub(crate) fn put_href(&self, out: &mut Vec<u8>, at: HrefContext, link: &Link) {
        let variants = self.config.features.href_variants;
        let bits = link.bits >> 32;
        let own = link.host == at.home;
        let host = self.host(link.host);
        let absolute = !own || at.mode == HrefMode::Absolute || (!at.mirrored && bits & 3 == 0);
        let spelling = if variants { (bits >> 2) & 31 } else { 31 };
        if spelling == 0 {
            out.push(b' ');
        }
        let mut path_from = out.len();
        if absolute {
            self.put_spelled_origin(out, host, spelling);
            path_from = out.len();
            self.put_link_path(out, link);
        } else if at.mode == HrefMode::Any && (bits >> 7) & 1 == 0 {
            let ups = if at.based { 0 } else { at.depth };
            for _ in 0..ups {
                out.extend_from_slice(b"../");
            }
            path_from = out.len();
            self.put_link_path(out, link);
            // The path without its slash is relative to the root, which the climb has reached.
            out.remove(path_from);
            if out.len() == path_from && ups == 0 {
                out.extend_from_slice(b"./");
            }
        } else {
            self.put_link_path(out, link);
        }
        match spelling {
            1 | 2 => lower_escapes(out, path_from),
            3 => escape_first_slash(out, path_from),
            4 | 5 => {
                let glue: &[u8] = if out[path_from..].contains(&b'?') { b"&amp;" } else { b"?" };
                out.extend_from_slice(glue);
                out.extend_from_slice(b"utm_source=feed&amp;utm_medium=rss");
            }
            6 => {
                let glue: &[u8] = if out[path_from..].contains(&b'?') { b"&amp;" } else { b"?" };
                out.extend_from_slice(glue);
                out.extend_from_slice(b"PHPSESSID=");
                put_hex(out, link.bits);
                put_hex(out, !link.bits);
            }
            7..10 => {
                out.extend_from_slice(b"#part-");
                put_number(out, bits & 7);
            }
            _ => {}
        }
    }

    fn put_spelled_origin(&self, out: &mut Vec<u8>, host: &Host, spelling: u64) {
        let start = out.len();
        self.put_origin(out, host);
        match spelling {
            10 => out[start..].make_ascii_uppercase(),
            11 => out[start + 7..start + 8].make_ascii_uppercase(),
            12 if self.config.authority_port.is_none() => out.extend_from_slice(b":80"),
            13 => {
                out.drain(start..start + 5);
            }
            _ => {}
        }
    }

    pub(crate) fn put_link_path(&self, out: &mut Vec<u8>, link: &Link) {
        match link.target {
            Node::Page(_) => {
                let start = out.len();
                self.put_page_path(out, link.host, link.index);
                if let Some(at) = out[start..].iter().position(|&b| b == b'&') {
                    let at = start + at + 1;
                    out.splice(at..at, *b"amp;");
                }
            }
            other => self.put_path(out, other),
        }
    }
}

fn lower_escapes(out: &mut [u8], from: usize) {
    let mut escape = 0;
    for b in &mut out[from..] {
        if escape > 0 {
            b.make_ascii_lowercase();
            escape -= 1;
        } else if *b == b'%' {
            escape = 2;
        }
    }
}

fn escape_first_slash(out: &mut Vec<u8>, from: usize) {
    if let Some(at) = out[from..].iter().position(|&b| b == b'/') {
        out.splice(from + at..=from + at, *b"&#x2F;");
    }
}

/// Sixteen lower-case hexadecimal digits.
pub(crate) fn put_hex(out: &mut Vec<u8>, bits: u64) {
    for shift in (0..16).rev() {
        out.push(b"0123456789abcdef"[((bits >> (shift * 4)) & 15) as usize]);
    }
}
