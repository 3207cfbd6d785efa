//! Scheduled changes of the synthetic web: what changed is found and told apart, and noise is called noise.

#[path = "../../examples/sim_pages/mod.rs"]
mod sim_pages;

use lycosa_page::{Comparison, HostTemplate, MirrorDetector, Verdict, compare};
use lycosa_simweb::{ChangeKind, Features, HostRole, Node, PageId, World, WorldConfig};
use sim_pages::{SimPages, Visitor, restless};
use std::collections::HashMap;

fn expected(kind: ChangeKind) -> Verdict {
    match kind {
        ChangeKind::None => Verdict::Unchanged,
        ChangeKind::Structure => Verdict::Structure,
        ChangeKind::Text => Verdict::Text,
        ChangeKind::Image => Verdict::Image,
        ChangeKind::Noise => Verdict::Noise,
    }
}

/// Compares each page's state at time zero with one at `times`.
fn judge(world: &World, times: &[u64], mut see: impl FnMut(PageId, ChangeKind, Comparison)) {
    let mut pages = SimPages::new(world);
    let mut visitor = Visitor::default();
    for page in (0..world.page_count()).map(PageId) {
        world.set_time_ms(0);
        let Some(before) = visitor.visit(world, &mut pages, page) else { continue };
        for &time in times {
            world.set_time_ms(time);
            if let Some(after) = visitor.visit(world, &mut pages, page) {
                let report = compare(&before.signatures, &after.signatures, None);
                see(
                    page,
                    world.difference(page, 0, time),
                    report.with_pictures(&before.pictures, &after.pictures),
                );
            }
        }
    }
}

#[test]
fn every_change_is_found_and_named() {
    let world = restless(5, 400);
    let mut seen: HashMap<String, u32> = HashMap::new();
    judge(&world, &[9_000, 120_000], |page, truth, report| {
        assert_eq!(report.verdict, expected(truth), "{page:?} {report:?}");
        *seen.entry(format!("{truth:?}")).or_default() += 1;
    });
    assert!(seen.len() == 5 && seen.values().all(|&n| n > 30), "{seen:?}");
}

/// With noise on every page all the time, changes still come out as what they are.
#[test]
fn noise_does_not_hide_changes() {
    let mut config = restless(6, 1).config().clone();
    config.pages = 300;
    config.change.ambient_noise_ms = Some(1_000);
    let world = World::new(config);
    judge(&world, &[15_500], |page, truth, report| {
        assert_eq!(report.verdict, expected(truth), "{page:?} {report:?}");
    });
}

/// A host whose pages all change in one and the same line has a template, not news.
#[test]
fn templates_are_learnt_from_pages() {
    let world = World::new(WorldConfig::clean(9, 1, 60));
    let mut pages = SimPages::new(&world);
    let mut visitor = Visitor::default();
    let mut template = HostTemplate::default();
    let mut pairs = Vec::new();
    for page in (0..world.page_count()).map(PageId) {
        let Some(source) = pages.page(Node::Page(page)) else { continue };
        let new = source.replace("<nav>", "<p>Winter sale until Friday</p><nav>");
        let old = source.replace("<nav>", "<p>Summer offers, every week</p><nav>");
        pairs.push((visitor.sign(&old), visitor.sign(&new)));
    }
    assert!(pairs.len() > 40);
    pairs.iter().for_each(|(old, new)| assert_eq!(compare(old, new, Some(&template)).verdict, Verdict::Text));
    pairs.iter().for_each(|(old, new)| template.learn(old, new));
    pairs
        .iter()
        .for_each(|(old, new)| assert_eq!(compare(old, new, Some(&template)).verdict, Verdict::Noise));
}

#[test]
fn mirrored_hosts_are_recognised() {
    let mut config = WorldConfig::clean(4, 100, 3_000);
    config.features = Features { mirrors: true, ..Features::NONE };
    let world = World::new(config);
    let mut pages = SimPages::new(&world);
    let mut visitor = Visitor::default();
    let mut detector = MirrorDetector::default();
    let mut found: HashMap<u32, u64> = HashMap::new();
    for page in (0..world.page_count()).map(PageId) {
        let (host, _) = world.locate(page);
        let url = world.url(Node::Page(page));
        let Some(source) = pages.page(Node::Page(page)) else { continue };
        let path = url.splitn(4, '/').nth(3).unwrap_or("");
        if let Some(mirror) = detector.note(u64::from(host.0), path, visitor.sign(&source).text) {
            found.insert(host.0, mirror.of);
        }
    }
    let mut mirrors = 0;
    for (number, host) in world.hosts().iter().enumerate() {
        match host.role {
            // Too few pages say nothing.
            HostRole::Mirror(_) if host.pages < 8 => {}
            HostRole::Mirror(of) => {
                mirrors += 1;
                assert_eq!(found.get(&(number as u32)), Some(&u64::from(of.0)), "host {number}");
            }
            _ => assert_eq!(found.get(&(number as u32)), None, "host {number}"),
        }
    }
    assert!(mirrors > 0);
}
