//! Bytes: the same from the same seed, links as planned, copies as promised, changes as scheduled.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use lycosa_simweb::{ChangeKind, Charset, HostRole, Node, PageId, PageKind, World, WorldConfig};

use crate::support::{body, hrefs, respond, split};

fn world(seed: u64) -> World {
    World::new(WorldConfig::full(seed, 60, 4_000))
}

fn articles(world: &World) -> Vec<PageId> {
    world.pages_where(PageKind::is_article).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let (one, two, other) = (world(1), world(1), world(2));
    let mut different = 0;
    for page in articles(&one).into_iter().step_by(7) {
        assert_eq!(body(&one, page), body(&two, page));
        if page.0 < other.page_count() {
            different += u32::from(
                respond(&one, &one.url(Node::Page(page))) != respond(&other, &other.url(Node::Page(page))),
            );
        }
    }
    assert!(different > 100);
}

#[test]
fn the_hrefs_of_a_page_are_its_links() {
    compare_hrefs(&world(3), 30..=60);
}

#[test]
fn links_to_thin_pages_come_on_top() {
    let mut config = WorldConfig::full(3, 60, 4_000);
    config.thin_pages = 8;
    compare_hrefs(&World::new(config), 35..=68);
}

fn compare_hrefs(world: &World, links_a_page: RangeInclusive<usize>) {
    let mut links = Vec::new();
    let (mut total, mut spellings) = (0, BTreeSet::new());
    for page in articles(world) {
        let url = world.url(Node::Page(page));
        let found = hrefs(&body(world, page), &url);
        world.links(page, &mut links);
        let mut written: Vec<(Node, bool)> = Vec::new();
        for (href, nofollow) in &found {
            let node = world
                .resolve(href.as_str())
                .unwrap_or_else(|| panic!("{url} links to {href}, which is nowhere"));
            written.push((node, *nofollow));
            spellings.insert(href.to_string());
        }
        let mut planned: Vec<(Node, bool)> = links.iter().map(|l| (l.target, l.nofollow)).collect();
        written.sort_unstable();
        planned.sort_unstable();
        assert_eq!(written, planned, "{url}");
        total += found.len();
    }
    assert!(spellings.iter().any(|s| s.contains("utm_source")));
    assert!(spellings.iter().any(|s| s.contains("%c3")));
    assert!(spellings.iter().any(|s| s.contains('#')));
    let mean = total / articles(world).len();
    assert!(links_a_page.contains(&mean), "{mean} links a page");
}

#[test]
fn most_links_stay_on_their_host() {
    let world = World::new(WorldConfig::clean(4, 60, 6_000));
    let (mut own, mut all, mut links) = (0, 0, Vec::new());
    for page in (0..world.page_count()).map(PageId) {
        world.links(page, &mut links);
        let home = world.locate(page).0;
        all += links.len();
        own += links.iter().filter(|l| world.host_of(l.target) == home).count();
    }
    let percent = own * 100 / all;
    assert!((75..=90).contains(&percent), "{percent} %");
}

#[test]
fn in_links_follow_a_power_law() {
    let world = World::new(WorldConfig::clean(4, 60, 6_000));
    let mut counts = vec![0u32; world.page_count() as usize];
    let mut links = Vec::new();
    for page in (0..world.page_count()).map(PageId) {
        world.links(page, &mut links);
        for link in &links {
            if let Node::Page(target) = link.target {
                counts[target.0 as usize] += 1;
            }
        }
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total: u32 = counts.iter().sum();
    let head: u32 = counts[..counts.len() / 100].iter().sum();
    assert!(head * 100 / total > 15, "the first hundredth has {} % of the links", head * 100 / total);
    assert!(counts.iter().all(|&c| c > 0));
}

#[test]
fn duplicates_and_mirrors_are_equal_and_near_duplicates_are_not() {
    let world = world(5);
    let (mut duplicates, mut near) = (0, 0);
    for page in (0..world.page_count()).map(PageId) {
        match world.kind(page) {
            PageKind::Duplicate { of } => {
                assert_eq!(body(&world, page), body(&world, of));
                duplicates += 1;
            }
            PageKind::NearDuplicate { of, .. } => {
                assert_ne!(body(&world, page), body(&world, of));
                near += 1;
            }
            _ => {}
        }
    }
    assert!(duplicates > 20 && near > 20, "{duplicates} {near}");
    let mirrors = world.hosts().iter().filter(|h| matches!(h.role, HostRole::Mirror(_)));
    let mut pages = 0;
    for host in mirrors {
        for page in (host.first..host.first + host.pages).map(PageId) {
            assert_eq!(body(&world, page), body(&world, world.content_of(page)));
            assert_ne!(page, world.content_of(page));
            pages += 1;
        }
    }
    assert!(pages > 4);
}

/// Start tags in order, and the text between tags.
fn tree_and_text(html: &[u8]) -> (Vec<String>, String) {
    let html = String::from_utf8_lossy(html).into_owned();
    let (mut tags, mut text) = (Vec::new(), String::new());
    for part in html.split('<').skip(1) {
        let (tag, after) = part.split_once('>').unwrap();
        if !tag.starts_with('/') {
            tags.push(tag.split(' ').next().unwrap().to_owned());
        }
        text.push_str(after.trim_matches('\n'));
    }
    (tags, text)
}

fn without_noise(text: &str) -> String {
    let noise = regex::Regex::new(r"Page generated \S+ in \S+ s|Views: \d+|Advertisement \d+").unwrap();
    noise.replace_all(text, "").into_owned()
}

#[test]
fn changes_touch_what_their_kind_says_and_nothing_else() {
    let mut config = WorldConfig::full(6, 40, 2_000);
    config.features.languages = false;
    config.features.codings = false;
    let world = World::new(config);
    let mut seen = [0; 5];
    for page in articles(&world) {
        let Some(change) = world.changes_between(page, 0, 400 * 86_400_000).into_iter().next() else {
            continue;
        };
        world.set_time_ms(change.at_ms - 1);
        let before = body(&world, page);
        let image = world.url(Node::Image { page: world.content_of(page), slot: 0 });
        let image_before = respond(&world, &image).1;
        world.set_time_ms(change.at_ms);
        let after = body(&world, page);
        let image_after = respond(&world, &image).1;
        let (tree_a, text_a) = tree_and_text(&before);
        let (tree_b, text_b) = tree_and_text(&after);
        let (news_a, news_b) = (without_noise(&text_a), without_noise(&text_b));
        match change.kind {
            ChangeKind::None => panic!("an event without a kind"),
            ChangeKind::Structure => assert!(tree_a != tree_b && text_a == text_b, "{page:?}"),
            ChangeKind::Text => assert!(tree_a == tree_b && news_a != news_b, "{page:?}"),
            ChangeKind::Image => {
                assert_eq!(before, after);
                assert_ne!(split(&image_before).2, split(&image_after).2);
            }
            ChangeKind::Noise => assert!(tree_a == tree_b && news_a == news_b && before != after, "{page:?}"),
        }
        assert_eq!(world.difference(page, change.at_ms - 1, change.at_ms), change.kind);
        seen[change.kind as usize] += 1;
    }
    assert!(seen[1..].iter().all(|&n| n > 20), "{seen:?}");
}

#[test]
fn pages_are_in_the_charset_of_their_host() {
    let world = World::new(WorldConfig::full(7, 400, 6_000));
    let mut seen = BTreeSet::new();
    for host in world.hosts() {
        let page = PageId(host.first);
        if matches!(host.role, HostRole::Fault(_)) {
            continue;
        }
        let encoding = encoding_rs::Encoding::for_label(host.charset.slug().as_bytes()).unwrap();
        let bytes = body(&world, page);
        let (text, _, broken) = encoding.decode(&bytes);
        assert!(!broken, "{}", host.name);
        assert!(text.contains("<html lang="));
        assert_eq!(
            std::str::from_utf8(&bytes).is_ok() && !bytes.is_ascii(),
            host.charset == Charset::Utf8 && !bytes.is_ascii()
        );
        seen.insert(host.charset);
    }
    assert_eq!(seen.len(), Charset::ALL.len());
}

#[test]
fn sizes_are_those_of_real_pages() {
    let world = World::new(WorldConfig::clean(8, 20, 3_000));
    let mut sizes: Vec<usize> = (0..2_000).map(|n| body(&world, PageId(n)).len()).collect();
    sizes.sort_unstable();
    assert!(sizes[0] >= 1_000 && sizes[1_999] <= 60_000, "{} to {}", sizes[0], sizes[1_999]);
    assert!((3_000..12_000).contains(&sizes[1_000]), "median {}", sizes[1_000]);
}
