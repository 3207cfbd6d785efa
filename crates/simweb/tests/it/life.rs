//! Pages that vanish, return and move, as a client sees them.

use lycosa_simweb::{
    CopyState, Fate, Freshness, LifeConfig, Node, PageId, Request, Scratch, Tries, World, WorldConfig,
};

use crate::support::{header, hrefs, respond, split, unchunk};

fn world() -> World {
    let mut config = WorldConfig::full(6, 30, 4_000);
    config.life = LifeConfig::eventful(10_000, 110_000);
    World::new(config)
}

fn status_at(world: &World, node: Node, t_ms: u64) -> u16 {
    world.set_time_ms(t_ms);
    respond(world, &world.url(node)).0.status
}

/// The first few pages of each fate.
fn some(world: &World, wanted: impl Fn(Fate) -> bool) -> Vec<(PageId, Fate)> {
    let found: Vec<_> = world.fates().filter(|&(_, fate)| wanted(fate)).take(20).collect();
    assert_eq!(found.len(), 20);
    found
}

#[test]
fn vanished_pages_stay_away_and_others_return() {
    let world = world();
    for (page, fate) in some(&world, |f| matches!(f, Fate::Vanishes { .. } | Fate::Returns { .. })) {
        let node = Node::Page(page);
        match fate {
            Fate::Vanishes { at_ms, status } => {
                assert_eq!(status_at(&world, node, at_ms - 1), 200);
                assert_eq!(status_at(&world, node, at_ms), status);
                assert_eq!(status_at(&world, node, at_ms * 100), status);
            }
            Fate::Returns { at_ms, back_ms, status } => {
                assert_eq!(status_at(&world, node, at_ms - 1), 200);
                assert_eq!(status_at(&world, node, back_ms - 1), status);
                assert_eq!(status_at(&world, node, back_ms), 200);
            }
            _ => {}
        }
    }
}

#[test]
fn moved_pages_are_found_at_their_new_address_with_the_same_links() {
    let world = world();
    let links_of = |url: &str| {
        let (_, answer) = respond(&world, url);
        let (_, head, body) = split(&answer);
        let body = if header(&head, "transfer-encoding").is_some() { unchunk(body) } else { body.to_vec() };
        let links = hrefs(&body, url).into_iter().map(|(link, _)| world.resolve(link.as_str()));
        links.collect::<Vec<_>>()
    };
    for (page, fate) in some(&world, |f| matches!(f, Fate::Moves { .. })) {
        let Fate::Moves { at_ms } = fate else { continue };
        let (old, new) = (Node::Page(page), Node::Moved(page));
        assert_eq!((status_at(&world, old, at_ms - 1), status_at(&world, new, at_ms - 1)), (200, 404));
        let before = links_of(&world.url(old));
        assert_eq!((status_at(&world, old, at_ms), status_at(&world, new, at_ms)), (301, 200));
        let (_, answer) = respond(&world, &world.url(old));
        let (_, head, _) = split(&answer);
        assert_eq!(header(&head, "location"), Some(world.url(new).as_str()));
        assert_eq!(links_of(&world.url(new)), before);
        assert_eq!(world.copy_at(page, at_ms - 1, at_ms), CopyState::Moved { since_ms: at_ms });
    }
}

#[test]
fn conditional_requests_agree_with_the_truth_about_copies() {
    let world = world();
    let (mut kept, mut renewed) = (0, 0);
    let (early, late) = (5_000, 40_000_000);
    for n in (0..world.page_count()).step_by(7) {
        let page = PageId(n);
        if !world.kind(page).is_article() {
            continue;
        }
        world.set_time_ms(early);
        let url = world.url(Node::Page(page));
        let (reply, answer) = respond(&world, &url);
        let (_, head, _) = split(&answer);
        let (200, Some(tag)) = (reply.status, header(&head, "etag")) else { continue };
        world.set_time_ms(late);
        let (host, target) = world.split(&url).unwrap();
        let request =
            Request { if_none_match: Some(tag.as_bytes()), ..Request::get(host, target.as_bytes()) };
        let status =
            world.respond(&request, &Tries::default(), &mut Scratch::default(), &mut Vec::new()).status;
        match world.copy_at(page, early, late) {
            CopyState::Fresh => {
                assert!(status == 304 || status == 200 && turned(&world, page, late), "{url} {status}")
            }
            CopyState::Noise | CopyState::Stale { .. } => assert_eq!(status, 200, "{url}"),
            CopyState::Gone { .. } => assert!(status == 404 || status == 410, "{url} {status}"),
            CopyState::Moved { .. } => assert_eq!(status, 301, "{url}"),
            CopyState::Back { .. } => panic!("{url} was not gone"),
        }
        kept += u32::from(status == 304);
        renewed += u32::from(status == 200);
    }
    assert!(kept > 50 && renewed > 20, "{kept} kept, {renewed} renewed");
}

/// Whether the page went through all its structures and is back at the first.
fn turned(world: &World, page: PageId, t_ms: u64) -> bool {
    world.version_at(page, t_ms) > 0
}

#[test]
fn a_collection_that_is_never_visited_again_grows_stale() {
    let world = world();
    let share_at = |t_ms: u64| {
        let mut freshness = Freshness::default();
        for n in 0..world.page_count() {
            freshness.add(world.copy_at(PageId(n), 0, t_ms), t_ms, 1.0);
        }
        (freshness.share(), freshness.mean_age_ms())
    };
    assert_eq!(share_at(0), (1.0, 0.0));
    let (early, late) = (share_at(3_600_000), share_at(360_000_000));
    assert!(early.0 > late.0 && late.0 < 0.8, "{early:?} {late:?}");
    assert!(late.1 > early.1);
}
