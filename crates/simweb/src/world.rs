//! The world itself: hosts, clock, and what each page is.
//!
//! Promise: `World` is immutable but for its clock; every answer is a function of configuration, page and time.

use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::{HashMap, HashMapExt};

use crate::change::PoissonTable;
use crate::config::WorldConfig;
use crate::fault::Bombs;
use crate::host::{self, Host, HostId, HostRole, PageId};
use crate::kind::{Fault, NearClass, PageKind, RedirectShape, RobotsKind, TrapKind};
use crate::node::Node;
use crate::rng::{below, mix};
use crate::words::{Lang, Lexicon};

/// A deterministic synthetic web.
pub struct World {
    pub(crate) config: WorldConfig,
    pub(crate) hosts: Vec<Host>,
    by_name: HashMap<Box<str>, HostId>,
    lexicons: Vec<Lexicon>,
    now_ms: AtomicU64,
    pages: u32,
    pub(crate) poisson: PoissonTable,
    pub(crate) bombs: Bombs,
}

/// How a page writes its hrefs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HrefMode {
    /// Any spelling, relative to the page included.
    Any,
    /// Nothing relative to the page, so that the bytes may stand elsewhere on the host.
    Rooted,
    /// Absolute only, so that the bytes may stand on any host.
    Absolute,
}

impl World {
    pub fn new(config: WorldConfig) -> Self {
        let hosts = host::lay_out(&config);
        let mut by_name = HashMap::with_capacity(hosts.len());
        for (i, host) in hosts.iter().enumerate() {
            by_name.insert(host.name.clone(), HostId(i as u32));
        }
        let pages = hosts.last().map_or(0, |h| h.first + h.total());
        let lexicons = Lang::ALL.into_iter().map(Lexicon::new).collect();
        Self {
            config,
            hosts,
            by_name,
            lexicons,
            now_ms: AtomicU64::new(0),
            pages,
            poisson: PoissonTable::new(),
            bombs: Bombs::default(),
        }
    }

    pub fn config(&self) -> &WorldConfig {
        &self.config
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Number of pages, faults and orphans included.
    pub fn page_count(&self) -> u32 {
        self.pages
    }

    pub fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    pub fn set_time_ms(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    pub fn advance_ms(&self, by_ms: u64) -> u64 {
        self.now_ms.fetch_add(by_ms, Ordering::Relaxed) + by_ms
    }

    /// The host of that name, in any letter case, without its port.
    pub fn host_named(&self, name: &str) -> Option<HostId> {
        if name.bytes().any(|b| b.is_ascii_uppercase()) {
            return self.by_name.get(name.to_ascii_lowercase().as_str()).copied();
        }
        self.by_name.get(name).copied()
    }

    pub(crate) fn host(&self, id: HostId) -> &Host {
        // Ids come from this world's own tables; a foreign one falls back to the first host instead of panicking.
        self.hosts.get(id.0 as usize).unwrap_or(&self.hosts[0])
    }

    /// The host a page lives on, and its index there.
    pub fn locate(&self, page: PageId) -> (HostId, u32) {
        let i = self.hosts.partition_point(|h| h.first <= page.0).saturating_sub(1);
        (HostId(i as u32), page.0 - self.hosts[i].first)
    }

    pub(crate) fn page(&self, host: HostId, index: u32) -> PageId {
        PageId(self.host(host).first + index)
    }

    /// The root pages a crawl starts from: the first host, then (if more are asked for) others.
    pub fn seeds(&self, count: usize) -> Vec<String> {
        self.hosts.iter().take(count.max(1)).map(|h| self.url(Node::Page(PageId(h.first)))).collect()
    }

    /// A crawl that starts here reaches every fault host as well.
    pub fn fault_seeds(&self) -> Vec<String> {
        let faults = self.hosts.iter().filter(|h| matches!(h.role, HostRole::Fault(_)));
        faults.map(|h| self.url(Node::Page(PageId(h.first)))).collect()
    }

    /// URLs that answer with a fault; empty if faults are switched off.
    pub fn fault_urls(&self, fault: Fault) -> Vec<String> {
        let host = self.hosts.iter().find(|h| h.role == HostRole::Fault(fault));
        host.map_or_else(Vec::new, |h| {
            (1..h.pages).map(|i| self.url(Node::Page(PageId(h.first + i)))).collect()
        })
    }

    /// Pages for which `wanted` holds, in order.
    pub fn pages_where<'a>(
        &'a self,
        wanted: impl Fn(PageKind) -> bool + 'a,
    ) -> impl Iterator<Item = PageId> + 'a {
        (0..self.pages).map(PageId).filter(move |&p| wanted(self.kind(p)))
    }

    /// Hosts with a robots file of this kind.
    pub fn robots_hosts(&self, kind: RobotsKind) -> impl Iterator<Item = HostId> + '_ {
        let regular = self.hosts.iter().enumerate().filter(move |(_, h)| h.robots == kind);
        regular.map(|(i, _)| HostId(i as u32))
    }

    /// Entry URLs of all traps of a kind.
    pub fn trap_urls(&self, kind: TrapKind) -> Vec<String> {
        let hosts = self.hosts.iter().enumerate().filter(|(_, h)| h.traps);
        hosts.map(|(i, _)| self.url(Node::Trap { host: HostId(i as u32), kind })).collect()
    }

    /// The seed of a page's content. A mirror's page has its original's.
    #[inline]
    pub(crate) fn page_key(&self, page: PageId) -> u64 {
        mix(self.config.seed ^ 0x9A6E, u64::from(page.0))
    }

    /// The page whose template, text and links a page shows: itself, the source of a duplicate, or the original of a mirror.
    pub fn content_of(&self, page: PageId) -> PageId {
        let (host, index) = self.locate(page);
        match self.host(host).role {
            HostRole::Mirror(of) => self.page(of, index),
            _ => match self.kind_at(host, index) {
                PageKind::Duplicate { of } | PageKind::NearDuplicate { of, .. } => of,
                _ => page,
            },
        }
    }

    pub(crate) fn lexicon(&self, lang: Lang) -> &Lexicon {
        &self.lexicons[lang as usize]
    }

    pub(crate) fn href_mode(&self, host: &Host, page: PageId) -> HrefMode {
        let draw = mix(self.page_key(page), 0x40DE) % 8;
        match draw {
            0..4 => HrefMode::Any,
            4..6 => HrefMode::Rooted,
            _ if host.mirrored => HrefMode::Rooted,
            _ => HrefMode::Absolute,
        }
    }

    pub fn kind(&self, page: PageId) -> PageKind {
        let (host, index) = self.locate(page);
        self.kind_at(host, index)
    }

    /// What a page is. Only leaves of the tree are odd, so that odd pages hide nothing but themselves.
    pub(crate) fn kind_at(&self, host_id: HostId, index: u32) -> PageKind {
        let host = self.host(host_id);
        if let HostRole::Fault(fault) = host.role {
            return if index == 0 { PageKind::Article } else { PageKind::Fault(fault) };
        }
        if !self.config.features.odd_pages || index >= host.pages || !host.is_leaf(index) || host.mirrored {
            return PageKind::Article;
        }
        let key = mix(self.page_key(self.page(host_id, index)), 0x0DD);
        let rates = &self.config.rates;
        let mut draw = (key % 1000) as i32;
        let mut hit = |rate: u16| {
            draw -= i32::from(rate);
            draw < 0
        };
        if hit(rates.duplicate) {
            let cross = (key >> 20) & 3 == 0;
            return self
                .source(host_id, key, cross)
                .map_or(PageKind::Article, |of| PageKind::Duplicate { of });
        }
        if hit(rates.near_duplicate) {
            let class = NearClass::ALL[((key >> 24) % 3) as usize];
            return self
                .source(host_id, key, false)
                .map_or(PageKind::Article, |of| PageKind::NearDuplicate { of, class });
        }
        if hit(rates.redirect) {
            let status = [301, 302, 303, 307, 308][((key >> 32) % 5) as usize];
            let shape = RedirectShape::ALL[((key >> 40) % 5) as usize];
            return PageKind::Redirect { status, shape };
        }
        let rest = [
            (rates.soft_not_found, PageKind::SoftNotFound),
            (rates.not_found, PageKind::NotFound),
            (rates.gone, PageKind::Gone),
            (rates.no_index, PageKind::NoIndex),
            (rates.no_follow, PageKind::NoFollow),
            (rates.robots_tag, PageKind::RobotsTag),
            (rates.document, PageKind::Document),
        ];
        rest.into_iter().find(|&(rate, _)| hit(rate)).map_or(PageKind::Article, |(_, kind)| kind)
    }

    /// An inner page (always an article) whose bytes may stand at another address.
    fn source(&self, host_id: HostId, key: u64, cross: bool) -> Option<PageId> {
        let least = if cross { HrefMode::Absolute } else { HrefMode::Rooted };
        (0..12).find_map(|attempt| {
            let bits = mix(key, attempt);
            let home = if cross { HostId(below(bits << 32, self.config.hosts)) } else { host_id };
            let host = self.host(home);
            if cross && (host.mirrored || home == host_id) {
                return None;
            }
            let inner = host.inner();
            if inner < 2 {
                return None;
            }
            let page = self.page(home, 1 + below(bits, inner - 1));
            (self.href_mode(host, page) >= least).then_some(page)
        })
    }

    /// Where a redirect page or hop leads.
    pub fn redirect_target(&self, page: PageId, hop: u8) -> Option<Node> {
        let (host_id, index) = self.locate(page);
        let PageKind::Redirect { shape, .. } = self.kind_at(host_id, index) else {
            return None;
        };
        let host = self.host(host_id);
        let key = mix(self.page_key(page), 0x601);
        let home = Node::Page(self.page(host_id, below(key, host.inner().max(1))));
        let last = 2 + (key & 3) as u8;
        Some(match shape {
            RedirectShape::Plain | RedirectShape::Relative => home,
            RedirectShape::CrossHost => {
                let other = HostId(below(key << 32, self.config.hosts));
                Node::Page(self.page(other, 0))
            }
            RedirectShape::Chain if hop < last => Node::Hop { page, hop: hop + 1 },
            RedirectShape::Chain => home,
            RedirectShape::Loop if hop < 2 => Node::Hop { page, hop: hop + 1 },
            RedirectShape::Loop => Node::Page(page),
        })
    }
}
