//! Crawl orders compared without a network: which one gathers the final PageRank soonest?
//!
//! `order_sim [--pages 200000] [--hosts 1000] [--seed 1] [--full] [--links 30-60] [--same-host 82] [--menu 5] [--thin 0]`
//!
//! Every order crawls the same synthetic web from the same seed, one page at a time, with all hosts ready at all times, and knows
//! only what the pages fetched so far say. Links weigh alike. Prints the share of the final PageRank that is gathered after
//! a share of the pages, and the ceiling: the pages sorted by their final rank, which no order can surpass.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::convert::Infallible;

use lycosa_graph::curve::points;
use lycosa_graph::link_list::LinkList;
use lycosa_graph::online::{OnlineImportance, OnlineOptions, SWEPT_PER_FETCH, class, host_lift};
use lycosa_graph::pagerank::Lists;
use lycosa_graph::{Curve, RankOptions, Weighting, pagerank};
use lycosa_simweb::{Expect, TruthOptions, World, WorldConfig};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Knows the final ranks of the URLs it has found.
    Oracle,
    /// Importance with sweeps, hosts lifted by how little of them was fetched.
    BestFirst,
    /// The same without the lift.
    Unlifted,
    /// The same without lift and sweeps: cash spent once.
    Cash,
    Backlink,
    /// Links expected on the page less links to it.
    Pvalue,
    ForwardLink,
    /// Fewest directories first.
    Location,
    BreadthFirst,
}

impl Order {
    const ALL: [Self; 9] = [
        Self::Oracle,
        Self::BestFirst,
        Self::Unlifted,
        Self::Cash,
        Self::Backlink,
        Self::Pvalue,
        Self::ForwardLink,
        Self::Location,
        Self::BreadthFirst,
    ];

    fn sweeps(self) -> bool {
        matches!(self, Self::BestFirst | Self::Unlifted)
    }
}

/// A web in memory; pages are numbered as breadth-first finds them, the seed is 0.
struct Web {
    lists: Vec<LinkList>,
    host: Vec<u32>,
    directories: Vec<u32>,
    hosts: usize,
}

impl Lists for Web {
    type Error = Infallible;

    fn nodes(&self) -> usize {
        self.lists.len()
    }

    fn for_each_page(&self, each: impl FnMut(&LinkList)) -> Result<(), Infallible> {
        self.lists.iter().for_each(each);
        Ok(())
    }
}

impl Web {
    fn new(world: &World) -> Self {
        let truth = world.truth(&TruthOptions::default());
        let entries = truth.entries();
        let mut next = 0;
        let number: Vec<Option<u32>> = entries
            .iter()
            .map(|entry| {
                (entry.expect != Expect::Disallowed).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let mut links: Vec<Vec<(u32, u8)>> = vec![Vec::new(); next as usize];
        truth.for_each_edge(|from, to| {
            if let (Some(from), Some(to)) = (number[from as usize], number[to as usize]) {
                links[from as usize].push((to, 0));
            }
        });
        let lists = links.iter_mut().zip(0..).map(|(links, owner)| {
            links.sort_unstable();
            links.dedup();
            let mut list = LinkList::default();
            list.fill(owner, links);
            list
        });
        let lists = lists.collect();
        let (mut host, mut directories) = (Vec::new(), Vec::new());
        for entry in truth.fetchable() {
            let url = truth.url(entry);
            let name = url.split('/').nth(2).unwrap_or_default();
            let name = name.split(':').next().unwrap_or_default();
            host.push(world.host_named(name).map_or(0, |host| host.0));
            directories.push(url.trim_end_matches('/').matches('/').count() as u32);
        }
        Self { lists, host, directories, hosts: world.hosts().len() }
    }
}

/// One host's URLs that wait, and what is known of the host.
#[derive(Clone, Default)]
struct HostQueue {
    waiting: BinaryHeap<(i64, Reverse<u32>, u32)>,
    known: u64,
    fetched: u64,
    links: u64,
    /// Its entry among the hosts that are ready.
    entry: Option<(i64, Reverse<u32>, u32)>,
}

struct Crawl<'w> {
    web: &'w Web,
    order: Order,
    ranks: &'w [f64],
    online: OnlineImportance,
    hosts: Vec<HostQueue>,
    ready: BTreeSet<(i64, Reverse<u32>, u32)>,
    /// As the how-many-eth it was found; 0 if it was not.
    found: Vec<u32>,
    /// URLs found.
    count: u32,
    depth: Vec<u32>,
    fetched: Vec<bool>,
    score: Vec<i64>,
    visited: Vec<u32>,
    swept: usize,
}

/// Ids in the on-line table.
fn id(page: u32) -> u64 {
    u64::from(page) + 1
}

impl<'w> Crawl<'w> {
    fn new(web: &'w Web, order: Order, ranks: &'w [f64]) -> Self {
        let n = web.nodes();
        let mut crawl = Self {
            web,
            order,
            ranks,
            online: OnlineImportance::new(OnlineOptions::default()),
            hosts: vec![HostQueue::default(); web.hosts],
            ready: BTreeSet::new(),
            found: vec![0; n],
            count: 0,
            depth: vec![0; n],
            fetched: vec![false; n],
            score: vec![i64::MIN; n],
            visited: Vec::with_capacity(n),
            swept: 0,
        };
        crawl.find(0, 0);
        crawl.queue(0);
        crawl
    }

    fn find(&mut self, page: u32, depth: u32) {
        let found = &mut self.found[page as usize];
        if *found == 0 {
            self.count += 1;
            *found = self.count;
            self.depth[page as usize] = depth;
            self.hosts[self.web.host[page as usize] as usize].known += 1;
        }
    }

    /// What decides when a page is fetched, apart from its host: higher goes first.
    fn priority(&self, page: u32) -> i64 {
        let at = page as usize;
        let known = self.online.get(id(page));
        let links = known.map_or(0, |known| i64::from(known.in_links));
        let host = &self.hosts[self.web.host[at] as usize];
        let expected = (host.links * 16).checked_div(host.fetched).unwrap_or(0) as i64;
        match self.order {
            Order::Oracle => (self.ranks[at] * 1e15) as i64,
            Order::BestFirst | Order::Unlifted | Order::Cash => {
                i64::from(class(known.map_or(0.0, |known| known.importance)))
            }
            Order::Backlink => links,
            Order::Pvalue => expected - links * 16,
            Order::ForwardLink => expected,
            Order::Location => -i64::from(self.web.directories[at]),
            Order::BreadthFirst => -i64::from(self.depth[at]),
        }
    }

    /// Puts a page in the queue of its host, again if it now goes earlier.
    fn queue(&mut self, page: u32) {
        let (at, priority) = (page as usize, self.priority(page));
        if self.fetched[at] || priority <= self.score[at] {
            return;
        }
        self.score[at] = priority;
        let host = self.web.host[at];
        self.hosts[host as usize].waiting.push((priority, Reverse(self.found[at]), page));
        self.settle(host);
    }

    /// Brings a host's place among the ready ones up to date.
    fn settle(&mut self, host: u32) {
        let queue = &mut self.hosts[host as usize];
        while let Some(&(score, _, page)) = queue.waiting.peek()
            && (self.fetched[page as usize] || score < self.score[page as usize])
        {
            queue.waiting.pop();
        }
        let lift = match self.order {
            Order::BestFirst => i64::from(host_lift(queue.known, queue.fetched)),
            _ => 0,
        };
        let entry = queue.waiting.peek().map(|(score, found, _)| (score + lift, *found, host));
        if entry != queue.entry {
            if let Some(old) = queue.entry.take() {
                self.ready.remove(&old);
            }
            queue.entry = entry;
            self.ready.extend(entry);
        }
    }

    fn run(mut self) -> Vec<u32> {
        while let Some(&(_, _, host)) = self.ready.last() {
            let Some((_, _, page)) = self.hosts[host as usize].waiting.pop() else { break };
            self.fetch(page);
            self.settle(host);
        }
        self.visited
    }

    fn fetch(&mut self, page: u32) {
        let web = self.web;
        let links = &web.lists[page as usize].others;
        self.fetched[page as usize] = true;
        self.visited.push(page);
        let host = &mut self.hosts[web.host[page as usize] as usize];
        host.fetched += 1;
        host.links += links.len() as u64;
        let mut moved = Vec::new();
        self.online.fetched(id(page), links.iter().map(|&to| id(to)), &mut moved);
        if self.order.sweeps() {
            for _ in 0..SWEPT_PER_FETCH {
                let Some(&page) = self.visited.get(self.swept) else {
                    self.swept = 0;
                    break;
                };
                self.swept += 1;
                let links = web.lists[page as usize].others.iter().map(|&to| (id(to), 1.0));
                self.online.sweep(id(page), links, &mut moved);
            }
        }
        for &to in links {
            self.find(to, self.depth[page as usize] + 1);
            self.queue(to);
        }
        for moved in moved {
            self.queue((moved.url - 1) as u32);
        }
    }
}

fn world() -> Result<World, String> {
    let mut arguments = std::env::args().skip(1);
    let (mut pages, mut hosts, mut seed, mut full) = (200_000, 1000, 1, false);
    let (mut links, mut same_host, mut menu, mut thin) = (None, None, None, 0);
    while let Some(name) = arguments.next() {
        if name == "--full" {
            full = true;
            continue;
        }
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{name} {value}: {error}"));
        match name.as_str() {
            "--pages" => pages = number(&value)?,
            "--hosts" => hosts = number(&value)?,
            "--seed" => seed = u64::from(number(&value)?),
            "--same-host" => same_host = Some(number(&value)? as u8),
            "--menu" => menu = Some(number(&value)?),
            "--thin" => thin = number(&value)?.min(255) as u8,
            "--links" => {
                let (least, most) = value.split_once('-').ok_or("--links wants two numbers, as in 30-60")?;
                links = Some((number(least)?, number(most)?));
            }
            _ => return Err(format!("unknown option {name}")),
        }
    }
    let mut config =
        if full { WorldConfig::full(seed, hosts, pages) } else { WorldConfig::clean(seed, hosts, pages) };
    config.links = links.unwrap_or(config.links);
    config.same_host_percent = same_host.unwrap_or(config.same_host_percent);
    config.menu = menu.unwrap_or(config.menu);
    config.thin_pages = thin;
    Ok(World::new(config))
}

fn main() -> Result<(), String> {
    let web = Web::new(&world()?);
    let edges: usize = web.lists.iter().map(|list| list.others.len()).sum();
    println!("{} pages on {} hosts, {edges} links\n", web.nodes(), web.hosts);
    let options = RankOptions { weighting: Weighting::Plain, ..RankOptions::default() };
    let Ok(ranking) = pagerank(&web, &options, None);
    let percents = [1, 2, 5, 10, 20, 30, 50, 75, 100];
    let heads: Vec<String> = percents.iter().map(|percent| format!("{percent} %")).collect();
    println!("| order | {} |\n| --- |{}", heads.join(" | "), " ---: |".repeat(heads.len()));
    let shares: Vec<f64> = percents.iter().map(|percent| f64::from(*percent) / 100.0).collect();
    let row = |name: &str, curve: &Curve, reference: &Curve| {
        let cells = points(curve, reference, &shares)
            .iter()
            .map(|point| format!("{:.4}", point.mass))
            .collect::<Vec<_>>();
        println!("| {name} | {} |", cells.join(" | "));
    };
    let all = Curve::of_ranks(ranking.ranks.iter().copied());
    row("ceiling", &all.ideal(), &all);
    for order in Order::ALL {
        let visited = Crawl::new(&web, order, &ranking.ranks).run();
        let curve = Curve::of_ranks(visited.iter().map(|&page| ranking.ranks[page as usize]));
        row(&format!("{order:?}"), &curve, &all);
    }
    Ok(())
}
