//! A page's links: joined, scoped, keyed. Runs on every core; a link costs no allocation. They are collected in buffers
//! that are used again, and what leaves the thread is as large as what was found.

use lycosa_frontier::store::{LeftOut, LeftOutRule};
use lycosa_frontier::{Rejection, Scope};
use lycosa_graph::{Edge, PageEdges};
use lycosa_page::Topic;
use lycosa_types::join::Joiner;
use lycosa_types::{CanonRules, CanonUrl, LinkAttributes, UrlKey, link};

use crate::limits::{Cuts, Limit};

/// URLs found on one page, for the bookkeeper: one buffer, no allocation per URL.
#[derive(Clone, Debug, Default)]
pub struct Outlinks {
    urls: String,
    ends: Vec<(u32, u8, UrlKey)>,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects in a row, if these are redirect targets; marked if they are requisites.
    pub redirects: u8,
    /// A sitemap or feed lists them.
    pub listed: bool,
}

impl Outlinks {
    /// None yet, at `depth` links from a seed.
    pub fn at(depth: u16) -> Self {
        Self { depth, ..Self::default() }
    }

    /// `relevance` is how well it suits the topic, 0 to 1.
    pub fn push(&mut self, url: &str, key: UrlKey, relevance: f32) {
        self.urls.push_str(url);
        self.ends.push((self.urls.len() as u32, (relevance.clamp(0.0, 1.0) * 255.0) as u8, key));
    }

    /// Each URL with its key and its relevance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, UrlKey, f32)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, relevance, key)| {
            let url = &self.urls[start..end as usize];
            start = end as usize;
            (url, key, f32::from(relevance) / 255.0)
        })
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// URLs this worker handed on lately. Popular links are met on every page of a site; most never get past this table.
///
/// Direct-mapped and forgetful: losing an entry only means that the bookkeeper is asked once more.
#[derive(Debug)]
pub struct Recent {
    slots: Vec<u64>,
    buffers: Buffers,
}

/// What the links of a page are collected in.
#[derive(Debug, Default)]
struct Buffers {
    joined: String,
    urls: String,
    links: Vec<Link>,
    outlinks: Outlinks,
    edges: Vec<Edge>,
}

/// A link that is joined and keyed.
#[derive(Debug)]
struct Link {
    key: UrlKey,
    /// Where its URL ends in the buffer that holds those of the group.
    end: u32,
    visibility: u8,
    position: u8,
    is_edge: bool,
    /// Why it may not lead to a visit.
    refused: Option<LeftOutRule>,
    /// Nobody was told of it lately.
    is_new: bool,
    relevance: f32,
}

/// Sets the keys of requisites apart from those of links.
const OF_REQUISITES: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834;
const RECENT_SLOTS: usize = 1 << 18;
/// Links that are looked up together.
const GROUP: usize = 128;
/// Sets apart, in [`Recent`], the links that were left out.
const LEFT_OUT: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
/// Links beyond which the buffers of a page are given back: few pages have as many.
const MOST_KEPT: usize = 1 << 14;

impl Default for Recent {
    fn default() -> Self {
        Self { slots: vec![0; RECENT_SLOTS], buffers: Buffers::default() }
    }
}

impl Recent {
    /// Whether the key is new here; it is remembered.
    fn is_new(&mut self, key: UrlKey) -> bool {
        let print = key.low() | 1;
        let slot = &mut self.slots[(key.0 >> 64) as usize & (RECENT_SLOTS - 1)];
        let new = *slot != print;
        *slot = print;
        new
    }

    /// Whether a requisite is new here; it is remembered apart from links, which obey other rules.
    pub(crate) fn is_new_requisite(&mut self, key: UrlKey) -> bool {
        self.is_new(UrlKey(key.0 ^ OF_REQUISITES))
    }

    fn forget(&mut self, key: UrlKey) {
        self.slots[(key.0 >> 64) as usize & (RECENT_SLOTS - 1)] = 0;
    }
}

/// Why links were not followed, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    pub links: u32,
    pub unusable: u32,
    pub out_of_scope: u32,
    pub excluded: u32,
    pub too_deep: u32,
    /// Too deep, on pages that say nothing new.
    pub endless: u32,
    pub traps: u32,
    pub nofollow: u32,
    pub off_topic: u32,
    /// 1 for a page that asks for none of its links to be followed, and has some.
    pub nofollow_pages: u32,
    /// The depth is no rule of the user: what lies deeper is left out by a guess.
    pub judges_depth: bool,
    /// What limits left out.
    pub cuts: Cuts,
}

impl LinkCounts {
    pub fn reject(&mut self, rejection: &Rejection) {
        if let Some(limit) = Limit::of_rejection(rejection) {
            self.cuts.add(limit, 1);
        }
        match rejection {
            Rejection::Scope(_) => self.out_of_scope += 1,
            Rejection::NotIncluded | Rejection::Excluded { .. } => self.excluded += 1,
            Rejection::Depth { .. } if self.judges_depth => self.endless += 1,
            Rejection::Depth { .. } => self.too_deep += 1,
            Rejection::Trap(_) => self.traps += 1,
        }
    }
}

/// What a crawl with a topic asks of a link.
#[derive(Clone, Copy, Debug)]
pub struct Focus<'a> {
    pub topic: &'a Topic,
    /// How well the page suits the topic.
    pub page: f32,
    /// Links below are not followed.
    pub least: f32,
}

/// Follows the links of one page.
///
/// A [`GROUP`] of them is joined first, then looked up in [`Recent`] one right after the other: that table is larger than the
/// processor's caches, and so it waits for many places at once instead of for each in turn.
pub struct LinkCollector<'a> {
    joiner: Joiner<'a>,
    page: &'a CanonUrl,
    origin: &'a str,
    scope: &'a Scope,
    recent: &'a mut Recent,
    joined: String,
    urls: String,
    links: Vec<Link>,
    focus: Option<Focus<'a>>,
    outlinks: Outlinks,
    edges: PageEdges,
    counts: LinkCounts,
    left_out: Vec<LeftOut>,
    /// The page leads on beyond the depth.
    leads_on: bool,
}

/// What the links of a page led to.
#[derive(Debug)]
pub struct Found {
    pub outlinks: Outlinks,
    /// In order.
    pub edges: PageEdges,
    pub counts: LinkCounts,
    pub left_out: Vec<LeftOut>,
}

impl<'a> LinkCollector<'a> {
    /// `base` is what links are relative to; `page` is where they stand.
    pub fn new(
        page: &'a CanonUrl,
        base: &'a CanonUrl,
        rules: &'a CanonRules,
        scope: &'a Scope,
        recent: &'a mut Recent,
        depth: u16,
    ) -> Self {
        let Buffers { joined, urls, links, mut outlinks, mut edges } = std::mem::take(&mut recent.buffers);
        outlinks.urls.clear();
        outlinks.ends.clear();
        outlinks.depth = depth;
        outlinks.listed = false;
        edges.clear();
        Self {
            joiner: Joiner::new(base, rules),
            page,
            origin: page.origin(),
            scope,
            recent,
            joined,
            urls,
            links,
            focus: None,
            outlinks,
            edges: PageEdges { source: page.key().low(), edges },
            counts: LinkCounts::default(),
            left_out: Vec::new(),
            leads_on: false,
        }
    }

    /// Whether the depth is a guess, and whether the page leads on beyond it.
    pub fn beyond_depth(&mut self, is_guess: bool, leads_on: bool) {
        (self.counts.judges_depth, self.leads_on) = (is_guess, leads_on);
    }

    /// With a topic every sighting of a link counts, since another anchor may tell more.
    pub fn focus(&mut self, focus: Option<Focus<'a>>) {
        self.focus = focus;
    }

    /// Takes in one link; `follow` says whether it may lead to a visit, `is_edge` whether it is an edge of the graph.
    pub fn add(&mut self, href: &str, visibility: u8, position: u8, follow: bool, is_edge: bool) {
        let refused = (!follow).then_some(LeftOutRule::NofollowRel);
        self.add_with(href, visibility, position, refused, is_edge, ("", ""));
    }

    /// The same with the rule that refuses it, if one does, the link's anchor and the text around it.
    pub fn add_with(
        &mut self,
        href: &str,
        visibility: u8,
        position: u8,
        refused: Option<LeftOutRule>,
        is_edge: bool,
        (anchor, around): (&str, &str),
    ) {
        self.counts.links += 1;
        if self.joiner.join(href, &mut self.joined).is_err() {
            self.counts.unusable += 1;
            return;
        }
        let relevance = match self.focus {
            Some(focus) if refused.is_none() => {
                // The buffer moves into the URL type and back: no copy.
                let url = CanonUrl::from_canonical(std::mem::take(&mut self.joined));
                let relevance = focus.topic.link_relevance(anchor, around, url.path_and_query(), focus.page);
                self.joined = url.into_string();
                relevance
            }
            _ => 0.0,
        };
        self.urls.push_str(&self.joined);
        self.links.push(Link {
            key: UrlKey::of(&self.joined),
            end: self.urls.len() as u32,
            visibility,
            position,
            is_edge,
            refused,
            is_new: false,
            relevance,
        });
        if self.links.len() == GROUP {
            self.end_group();
        }
    }

    /// Finds out which links of the group are new here and takes them in.
    fn end_group(&mut self) {
        let (mut links, mut urls) = (std::mem::take(&mut self.links), std::mem::take(&mut self.urls));
        let focused = self.focus.is_some();
        for link in &mut links {
            link.is_new = link.refused.is_none() && (focused || self.recent.is_new(link.key));
        }
        let mut start = 0;
        for link in &links {
            let end = link.end as usize;
            self.take_in(link, urls.get(start..end).unwrap_or_default());
            start = end;
        }
        links.clear();
        urls.clear();
        (self.links, self.urls) = (links, urls);
    }

    /// Takes in a link that was looked up.
    fn take_in(&mut self, link: &Link, url: &str) {
        if !link.is_edge && !link.is_new && link.refused.is_none() {
            return;
        }
        let at_home = self.is_at_home(url);
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.push_str(url);
        let url = CanonUrl::from_canonical(joined);
        let Link { key, visibility, position, relevance, .. } = *link;
        if link.is_edge {
            let distance = if at_home { 1 } else { link::distance(self.page, &url) };
            self.edges.edges.push(Edge::new(key, LinkAttributes { visibility, position, distance }));
        }
        if let Some(rule) = link.refused {
            self.counts.nofollow += 1;
            self.leave_out(key, rule, &url);
        } else if link.is_new {
            let off_topic = self.focus.is_some_and(|focus| relevance < focus.least);
            let depth = if self.leads_on { 0 } else { self.outlinks.depth };
            match self.scope.check(&url, depth) {
                Ok(()) if off_topic => {
                    self.counts.off_topic += 1;
                    self.leave_out(key, LeftOutRule::OffTopic, &url);
                }
                Ok(()) => self.outlinks.push(url.as_str(), key, relevance),
                Err(rejection) => {
                    if matches!(rejection, Rejection::Depth { .. }) {
                        // A shorter way to it may be found later.
                        self.recent.forget(key);
                        self.leave_out(key, LeftOutRule::Depth, &url);
                    }
                    self.counts.reject(&rejection);
                }
            }
        }
        self.joined = url.into_string();
    }

    /// Notes a link for `why`, unless this worker noted it lately.
    #[cold]
    fn leave_out(&mut self, key: UrlKey, rule: LeftOutRule, url: &CanonUrl) {
        let noted = UrlKey(key.0 ^ (LEFT_OUT ^ rule as u128).wrapping_mul(LEFT_OUT));
        if self.recent.is_new(noted) {
            self.left_out.push(LeftOut { key, rule, url: url.as_str().into() });
        }
    }

    /// Whether the URL has the page's own origin. Most have, and nothing needs to be taken apart to see it.
    fn is_at_home(&self, url: &str) -> bool {
        url.strip_prefix(self.origin).is_some_and(|path| path.starts_with('/'))
    }

    /// What was found.
    pub fn finish(mut self) -> Found {
        self.end_group();
        self.edges.settle();
        let edges = PageEdges { source: self.edges.source, edges: self.edges.edges.clone() };
        let outlinks = self.outlinks.clone();
        let Self { joined, urls, links, edges: PageEdges { edges: kept, .. }, counts, left_out, .. } = self;
        if kept.capacity() <= MOST_KEPT && self.outlinks.ends.capacity() <= MOST_KEPT {
            self.recent.buffers = Buffers { joined, urls, links, outlinks: self.outlinks, edges: kept };
        }
        Found { outlinks, edges, counts, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_frontier::{ScopeKind, ScopeOptions};

    fn anywhere() -> Scope {
        let options = ScopeOptions { kind: ScopeKind::Any, max_depth: 9, ..ScopeOptions::default() };
        Scope::new(options, &[]).unwrap()
    }

    #[test]
    fn a_page_finds_nothing_of_the_page_before_in_the_buffers() {
        let rules = CanonRules::default();
        let page = CanonUrl::parse("http://a.test/dir/page", &rules).unwrap();
        let scope = anywhere();
        let mut recent = Recent::default();
        let mut read = |hrefs: &[&str], depth| {
            let mut links = LinkCollector::new(&page, &page, &rules, &scope, &mut recent, depth);
            hrefs.iter().for_each(|href| links.add(href, 1, 1, true, true));
            let Found { outlinks, edges, counts, .. } = links.finish();
            let urls: Vec<String> = outlinks.iter().map(|(url, ..)| url.to_owned()).collect();
            (urls, outlinks.depth, edges.edges.len(), counts.links)
        };
        let all = |paths: &[&str]| paths.iter().map(|path| format!("http://a.test{path}")).collect();
        assert_eq!(read(&["x", "/y", "x", "mailto:z"], 3), (all(&["/dir/x", "/y"]), 3, 2, 4));
        assert_eq!(read(&["/y", "z"], 5), (all(&["/dir/z"]), 5, 2, 2));
        assert_eq!(read(&[], 5), (all(&[]), 5, 0, 0));
    }

    #[test]
    fn links_are_told_of_once_and_in_order_however_many_there_are() {
        let rules = CanonRules::default();
        let page = CanonUrl::parse("http://a.test/", &rules).unwrap();
        let scope = anywhere();
        let mut recent = Recent::default();
        let mut links = LinkCollector::new(&page, &page, &rules, &scope, &mut recent, 1);
        let last = 2 * GROUP + 7;
        (0..=last).for_each(|number| links.add(&format!("/{}", number / 2), 1, 1, true, false));
        let Found { outlinks, counts, .. } = links.finish();
        let urls: Vec<&str> = outlinks.iter().map(|(url, ..)| url).collect();
        let expected: Vec<String> = (0..=last / 2).map(|number| format!("http://a.test/{number}")).collect();
        assert_eq!(urls, expected);
        assert_eq!(counts.links as usize, last + 1);
    }
}
