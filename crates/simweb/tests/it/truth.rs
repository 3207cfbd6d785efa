//! The truth against a small crawler that knows nothing but bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lycosa_simweb::{Expect, HostId, LifeConfig, Node, TruthOptions, World, WorldConfig};

use crate::support::{header, hrefs, respond, split, unchunk};

/// Crawls without sockets. Returns the status of every canonical URL it fetched and the URLs that robots.txt closed.
fn crawl(world: &World, images: bool) -> (BTreeMap<String, u16>, BTreeSet<String>) {
    let mut queue: VecDeque<String> = world.seeds(1).into();
    let mut seen: BTreeSet<String> = queue.iter().cloned().collect();
    let (mut fetched, mut closed) = (BTreeMap::new(), BTreeSet::new());
    let mut hosts: BTreeSet<HostId> = BTreeSet::new();
    let sources = regex::Regex::new("<img src=\"([^\"]+)\"").unwrap();
    while let Some(url) = queue.pop_front() {
        let (host, target) = world.split(&url).unwrap();
        let mut found: Vec<String> = Vec::new();
        if hosts.insert(host) {
            found.extend(sitemap_urls(world, host));
        }
        if world.robots_allow(host, "lycosa/1.0", target) {
            let (reply, answer) = respond(world, &url);
            let (status, head, body) = split(&answer);
            assert_eq!(status, reply.status);
            fetched.insert(url.clone(), status);
            if let Some(location) = header(&head, "location") {
                found.push(url::Url::parse(&url).unwrap().join(location).unwrap().to_string());
            }
            let body =
                if header(&head, "transfer-encoding").is_some() { unchunk(body) } else { body.to_vec() };
            let text = String::from_utf8_lossy(&body);
            let nofollow = head.contains("nofollow") || text.contains("content=\"NOFOLLOW");
            if status == 200
                && !nofollow
                && header(&head, "content-type").is_some_and(|t| t.starts_with("text/html"))
            {
                found.extend(
                    hrefs(&body, &url)
                        .into_iter()
                        .filter(|(_, nofollow)| !nofollow)
                        .map(|(u, _)| u.to_string()),
                );
            }
            if images {
                let base = url::Url::parse(&url).unwrap();
                found.extend(sources.captures_iter(&text).map(|c| base.join(&c[1]).unwrap().to_string()));
            }
        } else {
            closed.insert(url);
        }
        for link in found {
            if world.is_trap(&link) {
                continue;
            }
            let canonical = world.url(world.resolve(&link).unwrap_or_else(|| panic!("{link} is nowhere")));
            if seen.insert(canonical.clone()) {
                queue.push_back(canonical);
            }
        }
    }
    (fetched, closed)
}

/// Follows the `Sitemap` lines of robots.txt.
fn sitemap_urls(world: &World, host: HostId) -> Vec<String> {
    let robots = world.url(Node::Robots(host));
    let (_, answer) = respond(world, &robots);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let mut files: Vec<String> =
        text.lines().filter_map(|l| l.strip_prefix("Sitemap: ")).map(str::to_owned).collect();
    let mut pages = Vec::new();
    while let Some(file) = files.pop() {
        let (_, answer) = respond(world, &file);
        let (_, head, body) = split(&answer);
        let mut bytes =
            if header(&head, "transfer-encoding").is_some() { unchunk(body) } else { body.to_vec() };
        if file.ends_with(".gz") {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut plain).unwrap();
            bytes = plain;
        }
        let text = String::from_utf8(bytes).unwrap();
        if file.ends_with(".txt") {
            pages.extend(text.lines().map(str::to_owned));
        }
        for part in text.split("<loc>").skip(1) {
            let url = part.split("</loc>").next().unwrap().replace("&amp;", "&");
            if text.contains("<sitemapindex") { files.push(url) } else { pages.push(url) }
        }
    }
    pages
}

fn compare(config: WorldConfig, images: bool) -> (usize, usize) {
    compare_at(config, images, 0)
}

fn compare_at(config: WorldConfig, images: bool, t_ms: u64) -> (usize, usize) {
    let world = World::new(config);
    world.set_time_ms(t_ms);
    let truth = world.truth(&TruthOptions { images, ..TruthOptions::default() });
    let (fetched, closed) = crawl(&world, images);
    let expected: BTreeSet<String> = truth.fetchable_urls().collect();
    let got: BTreeSet<String> = fetched.keys().cloned().collect();
    assert_eq!(got.symmetric_difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
    let expected: BTreeSet<String> = truth.disallowed_urls().collect();
    assert_eq!(closed.symmetric_difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
    for entry in truth.fetchable() {
        let status = fetched[&truth.url(entry)];
        let right = match entry.expect {
            Expect::Page | Expect::SoftNotFound | Expect::Document | Expect::Image => 200,
            Expect::Redirect { status, .. } => status,
            Expect::NotFound => 404,
            Expect::Gone => 410,
            Expect::Disallowed | Expect::Fault(_) => panic!("{entry:?}"),
        };
        assert_eq!(status, right, "{entry:?}");
    }
    (fetched.len(), closed.len())
}

#[test]
fn a_crawler_finds_exactly_the_truth_of_a_full_world() {
    let (fetched, closed) = compare(WorldConfig::full(1, 150, 4_000), false);
    assert!(fetched > 4_000, "{fetched}");
    assert!(closed > 50, "{closed}");
}

#[test]
fn the_truth_follows_pages_that_vanish_return_and_move() {
    for t_ms in [0, 40_000, 90_000, 200_000] {
        let mut config = WorldConfig::full(4, 60, 3_000);
        config.life = LifeConfig::eventful(10_000, 110_000);
        let (fetched, _) = compare_at(config, false, t_ms);
        assert!(fetched > 2_800, "{fetched} at {t_ms}");
    }
}

#[test]
fn thin_pages_belong_to_the_truth() {
    let mut config = WorldConfig::full(5, 100, 4_000);
    config.thin_pages = 4;
    let (fetched, _) = compare(config, false);
    assert!((3_000..4_500).contains(&fetched), "{fetched}");
    let mut config = WorldConfig::clean(5, 40, 3_000);
    config.thin_pages = 2;
    let world = World::new(config.clone());
    let articles = world.page_count() as usize;
    assert_eq!(compare(config, false).0, articles + 2 * (articles - world.hosts().len()));
}

#[test]
fn images_belong_to_the_truth_when_asked_for() {
    compare(WorldConfig::full(9, 70, 1_000), true);
}

#[test]
fn every_page_of_a_clean_world_is_reachable_and_fine() {
    for (hosts, pages) in [(1, 1), (1, 700), (40, 2_000)] {
        let world = World::new(WorldConfig::clean(2, hosts, pages));
        let truth = world.truth(&TruthOptions::default());
        assert_eq!(truth.entries().len() as u32, world.page_count());
        assert!(truth.entries().iter().all(|e| e.expect == Expect::Page));
        let (fetched, _) = compare(WorldConfig::clean(2, hosts, pages), false);
        assert_eq!(fetched as u32, world.page_count());
    }
}

#[test]
fn depth_agent_and_robots_narrow_the_truth() {
    let world = World::new(WorldConfig::full(3, 60, 2_000));
    let all = world.truth(&TruthOptions::default()).fetchable().count();
    let shallow = world.truth(&TruthOptions { max_depth: Some(2), ..TruthOptions::default() });
    assert!(shallow.entries().iter().all(|e| e.depth <= 2));
    assert!(shallow.fetchable().count() < all);
    let lawless = world.truth(&TruthOptions { obey_robots: false, ..TruthOptions::default() });
    assert!(lawless.fetchable().count() > all);
    assert_eq!(lawless.disallowed().count(), 0);
    let other = world.truth(&TruthOptions { user_agent: "badbot/2".into(), ..TruthOptions::default() });
    assert!(other.fetchable().count() < all);
    let one_host = world.truth(&TruthOptions { same_hosts: true, ..TruthOptions::default() });
    assert!(one_host.entries().iter().all(|e| world.host_of(e.node) == HostId(0)));
}

#[test]
fn edges_join_entries_and_groups_hold_equal_pages() {
    let world = World::new(WorldConfig::full(4, 80, 3_000));
    let truth = world.truth(&TruthOptions::default());
    let edges = truth.edges();
    let count = truth.entries().len() as u32;
    assert!(edges.len() > truth.entries().len() * 10);
    assert!(edges.iter().all(|&(a, b)| a < count && b < count));
    let groups = truth.duplicate_groups();
    assert!(groups.len() > 10);
    for group in &groups {
        let of = world.content_of(group[0]);
        assert!(group.iter().all(|&p| world.content_of(p) == of));
    }
    assert!(!truth.near_duplicates().is_empty());
    assert!(!truth.mirrors().is_empty());
}

#[test]
fn traps_are_told_and_never_end() {
    let world = World::new(WorldConfig::full(5, 40, 1_000));
    for &kind in lycosa_simweb::TrapKind::ALL {
        let mut url = world.trap_urls(kind).swap_remove(0);
        let mut seen = BTreeSet::new();
        for _ in 0..30 {
            assert!(world.is_trap(&url) && seen.insert(url.clone()), "{url}");
            let (_, answer) = respond(&world, &url);
            let next = hrefs(split(&answer).2, &url).into_iter().map(|(u, _)| u.to_string());
            url = next.into_iter().find(|u| world.is_trap(u) && !seen.contains(u)).unwrap();
        }
        assert!(world.truth(&TruthOptions::default()).get(&url).is_none());
    }
}
