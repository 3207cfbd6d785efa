//! Thin pages on the wire, and worlds that have none.

use lycosa_simweb::{HostRole, Node, PageId, TruthOptions, World, WorldConfig};

use crate::support::{body_at, hrefs, respond};

fn with_thin(thin_pages: u8) -> World {
    let mut config = WorldConfig::full(6, 70, 4_000);
    config.thin_pages = thin_pages;
    World::new(config)
}

/// FNV-1a of every answer that a crawl gets, added up.
fn fingerprint(world: &World) -> u64 {
    let fnv = |bytes: &[u8]| {
        bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
        })
    };
    let truth = world.truth(&TruthOptions::default());
    truth.fetchable_urls().fold(0, |sum, url| sum.wrapping_add(fnv(&respond(world, &url).1)))
}

const FULL: u64 = 0xB25F_C082_7F44_A472;
const CLEAN: u64 = 0xDD61_B0BD_ED87_4C7B;

/// Measured before there were thin pages: whoever does not ask for them gets the world of then.
#[test]
fn a_world_without_them_is_as_it_always_was() {
    assert_eq!(fingerprint(&World::new(WorldConfig::full(1, 60, 500))), FULL);
    assert_eq!(fingerprint(&World::new(WorldConfig::clean(1, 60, 500))), CLEAN);
}

#[test]
fn they_are_served_with_the_links_they_are_said_to_have() {
    let world = with_thin(3);
    let (mut links, mut count) = (Vec::new(), 0);
    for page in (0..world.page_count()).map(PageId).filter(|page| world.has_thin(*page)) {
        world.thin_links(page, &mut links);
        let mut planned: Vec<Node> = links.iter().map(|link| link.target).collect();
        planned.sort_unstable();
        let mut bodies = Vec::new();
        for &kind in world.thin_kinds() {
            let url = world.url(Node::Thin { page, kind });
            assert_eq!(respond(&world, &url).0.status, 200, "{url}");
            let body = body_at(&world, &url);
            let found = hrefs(&body, &url);
            let mut found: Vec<Node> =
                found.iter().map(|(u, _)| world.resolve(u.as_str()).unwrap()).collect();
            found.sort_unstable();
            assert_eq!(found, planned, "{url}");
            bodies.push(body);
            count += 1;
        }
        bodies.sort_unstable();
        bodies.dedup();
        assert_eq!(bodies.len(), 3);
    }
    // Three of four pages, but for fronts and odd pages.
    assert!((2_000..3_000).contains(&count), "{count}");
}

#[test]
fn a_mirror_has_copies_of_them() {
    let world = with_thin(2);
    let mut count = 0;
    for host in world.hosts().iter().filter(|host| matches!(host.role, HostRole::Mirror(_))) {
        for page in (host.first + 1..host.first + host.pages).map(PageId) {
            for &kind in world.thin_kinds() {
                let copy = body_at(&world, &world.url(Node::Thin { page, kind }));
                let page = world.content_of(page);
                assert_eq!(copy, body_at(&world, &world.url(Node::Thin { page, kind })));
                count += 1;
            }
        }
    }
    assert!(count > 4);
}
