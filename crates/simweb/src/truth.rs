//! The truth: what a perfect crawler finds at the world's present time, computed from the plan of the world without parsing a byte of HTML.
//!
//! Promise: breadth-first over links, redirects and (if asked) sitemaps, under robots rules and `nofollow`; traps are
//! left out; a few hundred nanoseconds per page.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

use crate::host::{HostId, HostRole, PageId};
use crate::kind::{Fault, NearClass, PageKind, RobotsKind};
use crate::life::Presence;
use crate::links::Link;
use crate::node::{IMAGES, Node, SitemapFile};
use crate::world::World;

/// What a crawl is allowed and asked to do.
#[derive(Clone, Debug)]
pub struct TruthOptions {
    /// Where the crawl starts; empty means the world's first seed.
    pub seeds: Vec<String>,
    pub user_agent: String,
    /// Links followed from a seed at most.
    pub max_depth: Option<u32>,
    /// Whether a redirect adds to the depth of its target.
    pub redirects_add_depth: bool,
    pub obey_robots: bool,
    pub obey_nofollow: bool,
    /// Whether pages named by the sitemaps in robots.txt are found.
    pub sitemaps: bool,
    /// Whether images count as links.
    pub images: bool,
    /// Stay on the hosts of the seeds.
    pub same_hosts: bool,
}

impl Default for TruthOptions {
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            user_agent: "lycosa".to_owned(),
            max_depth: None,
            redirects_add_depth: true,
            obey_robots: true,
            obey_nofollow: true,
            sitemaps: true,
            images: false,
            same_hosts: false,
        }
    }
}

/// What fetching a node ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Status 200 with a page.
    Page,
    /// Status 200 with a page that says it is not there.
    SoftNotFound,
    /// Status 200 with a PDF.
    Document,
    /// Status 200 with a PNG.
    Image,
    /// A redirect.
    Redirect { status: u16, to: Node },
    /// Status 404.
    NotFound,
    /// Status 410.
    Gone,
    /// Not to be fetched: robots.txt closes it.
    Disallowed,
    /// A misbehaving response.
    Fault(Fault),
}

/// One address of the truth.
#[derive(Clone, Copy, Debug)]
pub struct TruthEntry {
    pub node: Node,
    pub depth: u32,
    pub expect: Expect,
}

/// See the module.
pub struct Truth<'w> {
    world: &'w World,
    entries: Vec<TruthEntry>,
    index: HashMap<Node, u32>,
    obey_nofollow: bool,
}

impl World {
    /// What a crawl with these options finds at the world's present time.
    pub fn truth(&self, options: &TruthOptions) -> Truth<'_> {
        let mut search = Search {
            world: self,
            options,
            entries: Vec::new(),
            index: HashMap::with_capacity(self.page_count() as usize),
            queue: VecDeque::new(),
            hosts: vec![HostState::Unseen; self.hosts.len()],
            path: Vec::new(),
        };
        search.run();
        let Search { entries, index, .. } = search;
        Truth { world: self, entries, index, obey_nofollow: options.obey_nofollow }
    }

    fn expect(&self, node: Node) -> Expect {
        match node {
            Node::Page(page) => match self.kind(page) {
                PageKind::Redirect { status, .. } => self
                    .redirect_target(page, 0)
                    .map_or(Expect::NotFound, |to| Expect::Redirect { status, to }),
                PageKind::SoftNotFound => Expect::SoftNotFound,
                PageKind::NotFound => Expect::NotFound,
                PageKind::Gone => Expect::Gone,
                PageKind::Document => Expect::Document,
                PageKind::Fault(fault) => Expect::Fault(fault),
                _ => match self.presence(page, self.now_ms()) {
                    Presence::Here => Expect::Page,
                    Presence::Gone { status: 410 } => Expect::Gone,
                    Presence::Gone { .. } => Expect::NotFound,
                    Presence::Moved => Expect::Redirect { status: 301, to: Node::Moved(page) },
                },
            },
            Node::Moved(page) if self.presence(page, self.now_ms()) == Presence::Moved => Expect::Page,
            Node::Hop { page, hop } => match (self.kind(page), self.redirect_target(page, hop)) {
                (PageKind::Redirect { status, .. }, Some(to)) => Expect::Redirect { status, to },
                _ => Expect::NotFound,
            },
            Node::Image { .. } => Expect::Image,
            Node::Thin { .. } => Expect::Page,
            _ => Expect::NotFound,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HostState {
    Unseen,
    Seen,
    Barred,
}

struct Search<'s> {
    world: &'s World,
    options: &'s TruthOptions,
    entries: Vec<TruthEntry>,
    index: HashMap<Node, u32>,
    queue: VecDeque<u32>,
    hosts: Vec<HostState>,
    path: Vec<u8>,
}

impl Search<'_> {
    fn run(&mut self) {
        let first = self.world.seeds(1);
        let seeds = if self.options.seeds.is_empty() { &first } else { &self.options.seeds };
        let seeds: Vec<Node> = seeds.iter().filter_map(|s| self.world.resolve(s)).collect();
        if self.options.same_hosts {
            self.hosts.fill(HostState::Barred);
            for &seed in &seeds {
                self.hosts[self.world.host_of(seed).0 as usize] = HostState::Unseen;
            }
        }
        for seed in seeds {
            self.find(seed, 0);
        }
        let mut links = Vec::new();
        while let Some(at) = self.queue.pop_front() {
            let entry = self.entries[at as usize];
            match (entry.expect, entry.node) {
                (Expect::Redirect { to, .. }, _) => {
                    self.find(to, entry.depth + u32::from(self.options.redirects_add_depth));
                }
                (Expect::Page, Node::Page(page) | Node::Moved(page)) => {
                    self.follow(page, entry.depth, &mut links);
                }
                (Expect::Page, Node::Thin { page, .. }) => {
                    self.world.thin_links(page, &mut links);
                    links.iter().for_each(|link| self.find(link.target, entry.depth + 1));
                }
                _ => {}
            }
        }
    }

    fn follow(&mut self, page: PageId, depth: u32, links: &mut Vec<Link>) {
        if self.options.images {
            let content = self.world.content_of(page);
            for slot in 0..self.world.image_count(content) {
                let host = self.world.image_home(page);
                let (_, index) = self.world.locate(content);
                self.find(Node::Image { page: self.world.page(host, index), slot }, depth + 1);
            }
        }
        if self.options.obey_nofollow && !self.world.kind(page).follows() {
            return;
        }
        self.world.links(page, links);
        for link in links.iter() {
            if !(self.options.obey_nofollow && link.nofollow) {
                self.find(link.target, depth + 1);
            }
        }
    }

    fn find(&mut self, node: Node, depth: u32) {
        if self.options.max_depth.is_some_and(|most| depth > most)
            || matches!(node, Node::Trap { .. })
            || self.index.contains_key(&node)
        {
            return;
        }
        let host = self.world.host_of(node);
        match self.hosts[host.0 as usize] {
            HostState::Barred => return,
            HostState::Seen => {}
            HostState::Unseen => {
                self.hosts[host.0 as usize] = HostState::Seen;
                self.read_sitemaps(host, depth);
            }
        }
        if self.index.contains_key(&node) {
            return;
        }
        self.path.clear();
        self.world.put_path(&mut self.path, node);
        let path = std::str::from_utf8(&self.path).unwrap_or("/");
        let allowed =
            !self.options.obey_robots || self.world.robots_allow(host, &self.options.user_agent, path);
        let expect = if allowed { self.world.expect(node) } else { Expect::Disallowed };
        let at = self.entries.len() as u32;
        self.entries.push(TruthEntry { node, depth, expect });
        self.index.insert(node, at);
        if allowed {
            self.queue.push_back(at);
        }
    }

    /// Pages of a host's sitemaps are as deep as the first page of the host that was found.
    fn read_sitemaps(&mut self, host: HostId, depth: u32) {
        if self.options.sitemaps && self.world.host(host).robots == RobotsKind::Sitemaps {
            for file in [SitemapFile::Main, SitemapFile::Part, SitemapFile::Gzip, SitemapFile::Text] {
                let world = self.world;
                for node in world.listed(host, file, world.now_ms()) {
                    self.find(node, depth);
                }
            }
        }
    }
}

impl Truth<'_> {
    /// Every address found, in breadth-first order.
    pub fn entries(&self) -> &[TruthEntry] {
        &self.entries
    }

    pub fn url(&self, entry: &TruthEntry) -> String {
        self.world.url(entry.node)
    }

    /// The entry of a URL in any spelling.
    pub fn get(&self, url: &str) -> Option<&TruthEntry> {
        self.world.resolve(url).and_then(|node| self.index.get(&node)).map(|&at| &self.entries[at as usize])
    }

    /// Addresses that a crawler has to request.
    pub fn fetchable(&self) -> impl Iterator<Item = &TruthEntry> {
        self.entries.iter().filter(|e| e.expect != Expect::Disallowed)
    }

    /// Addresses that a crawler knows but must not request.
    pub fn disallowed(&self) -> impl Iterator<Item = &TruthEntry> {
        self.entries.iter().filter(|e| e.expect == Expect::Disallowed)
    }

    pub fn fetchable_urls(&self) -> impl Iterator<Item = String> + '_ {
        self.fetchable().map(|e| self.url(e))
    }

    pub fn disallowed_urls(&self) -> impl Iterator<Item = String> + '_ {
        self.disallowed().map(|e| self.url(e))
    }

    /// Groups of two or more fetchable pages with the same bytes, mirrors included; thin pages are left out.
    pub fn duplicate_groups(&self) -> Vec<Vec<PageId>> {
        let mut groups: HashMap<PageId, Vec<PageId>> = HashMap::new();
        for entry in self.fetchable() {
            if let (Expect::Page, Node::Page(page)) = (entry.expect, entry.node)
                && !matches!(self.world.kind(page), PageKind::NearDuplicate { .. })
            {
                groups.entry(self.world.content_of(page)).or_default().push(page);
            }
        }
        let mut groups: Vec<_> = groups.into_values().filter(|g| g.len() > 1).collect();
        groups.iter_mut().for_each(|g| g.sort_unstable());
        groups.sort_unstable();
        groups
    }

    /// Fetchable near-duplicates with their sources.
    pub fn near_duplicates(&self) -> Vec<(PageId, PageId, NearClass)> {
        let mut pairs = Vec::new();
        for entry in self.fetchable() {
            if let Node::Page(page) = entry.node
                && let PageKind::NearDuplicate { of, class } = self.world.kind(page)
                && self
                    .index
                    .get(&Node::Page(of))
                    .is_some_and(|&at| self.entries[at as usize].expect == Expect::Page)
            {
                pairs.push((page, of, class));
            }
        }
        pairs
    }

    /// Pairs of mirror and original.
    pub fn mirrors(&self) -> Vec<(HostId, HostId)> {
        let hosts = self.world.hosts.iter().enumerate();
        hosts
            .filter_map(|(i, h)| match h.role {
                HostRole::Mirror(of) => Some((HostId(i as u32), of)),
                _ => None,
            })
            .collect()
    }

    /// Calls `edge` with the positions in `entries()` of source and target of every link and redirect between fetchable
    /// addresses, repeats included.
    pub fn for_each_edge(&self, mut edge: impl FnMut(u32, u32)) {
        let mut links = Vec::new();
        let mut give = |from: u32, to: Node| {
            if let Some(&to) = self.index.get(&to)
                && self.entries[to as usize].expect != Expect::Disallowed
            {
                edge(from, to);
            }
        };
        for (from, entry) in self.entries.iter().enumerate() {
            match (entry.expect, entry.node) {
                (Expect::Redirect { to, .. }, _) => give(from as u32, to),
                (Expect::Page, Node::Page(page) | Node::Moved(page))
                    if !self.obey_nofollow || self.world.kind(page).follows() =>
                {
                    self.world.links(page, &mut links);
                    for link in links.iter().filter(|l| !(self.obey_nofollow && l.nofollow)) {
                        give(from as u32, link.target);
                    }
                }
                (Expect::Page, Node::Thin { page, .. }) => {
                    self.world.thin_links(page, &mut links);
                    links.iter().for_each(|link| give(from as u32, link.target));
                }
                _ => {}
            }
        }
    }

    /// All edges at once.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        self.for_each_edge(|from, to| edges.push((from, to)));
        edges
    }
}

/// Images never exceed what the address form can name.
const _: () = assert!(IMAGES <= 10);
