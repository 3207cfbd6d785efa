//! The life of a page: some vanish, some come back, some move to a new address.
//!
//! Only plain leaf pages of regular hosts have a fate, so that none takes other pages with it. A page that moved answers at
//! its old address with a permanent redirect and at the new one (the first directory gets `new-` in front, so that
//! relative links still hold) with what it always was. Before its move the new address does not exist.
//!
//! Promise: a function of configuration, page and time; without fates in the configuration it costs one comparison.

use crate::host::{HostRole, PageId};
use crate::kind::PageKind;
use crate::node::Node;
use crate::rng::{below, mix};
use crate::world::World;

/// How many pages meet which fate, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeConfig {
    /// Leaf articles in a thousand that vanish for good (404 or 410).
    pub vanish: u16,
    /// Leaf articles in a thousand that vanish and come back.
    pub back: u16,
    /// Leaf articles in a thousand that move.
    pub moved: u16,
    /// Fates strike at times spread evenly between these two.
    pub from_ms: u64,
    pub until_ms: u64,
    /// How long pages that come back are away on average; from half of it to half as much again.
    pub away_ms: u64,
}

impl LifeConfig {
    /// Every page stays where it is.
    pub fn still() -> Self {
        Self { vanish: 0, back: 0, moved: 0, from_ms: 1, until_ms: 1, away_ms: 1 }
    }

    /// A tenth of the leaves meets each fate between two times; those that come back are away for a tenth of that span.
    pub fn eventful(from_ms: u64, until_ms: u64) -> Self {
        let away_ms = until_ms.saturating_sub(from_ms) / 10;
        Self { vanish: 100, back: 100, moved: 100, from_ms, until_ms, away_ms }
    }

    fn is_still(&self) -> bool {
        self.vanish == 0 && self.back == 0 && self.moved == 0
    }
}

/// What becomes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Stays,
    Vanishes { at_ms: u64, status: u16 },
    Returns { at_ms: u64, back_ms: u64, status: u16 },
    Moves { at_ms: u64 },
}

/// What a page's first address answers at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Here,
    Gone { status: u16 },
    Moved,
}

impl World {
    /// What becomes of a page over time.
    pub fn fate(&self, page: PageId) -> Fate {
        let life = &self.config.life;
        if life.is_still() {
            return Fate::Stays;
        }
        let (home, index) = self.locate(page);
        let host = self.host(home);
        let free =
            host.role == HostRole::Regular && !host.mirrored && index < host.pages && host.is_leaf(index);
        if !free || self.kind_at(home, index) != PageKind::Article {
            return Fate::Stays;
        }
        let key = mix(self.page_key(page), 0xFA7E);
        let mut draw = below(key, 1000);
        let mut hit = |rate: u16| {
            let struck = draw < u32::from(rate);
            draw = draw.saturating_sub(u32::from(rate));
            struck
        };
        // Never at the very start of time, when every page is where it was planned.
        let from_ms = life.from_ms.max(1);
        let at_ms = from_ms + part(mix(key, 1), life.until_ms.saturating_sub(from_ms));
        let status = if key & 1 == 0 { 404 } else { 410 };
        if hit(life.vanish) {
            Fate::Vanishes { at_ms, status }
        } else if hit(life.back) {
            let away_ms = (life.away_ms / 2 + part(mix(key, 2), life.away_ms)).max(1);
            Fate::Returns { at_ms, back_ms: at_ms.saturating_add(away_ms), status }
        } else if hit(life.moved) {
            Fate::Moves { at_ms }
        } else {
            Fate::Stays
        }
    }

    /// What a page's first address answers at a time.
    pub fn presence(&self, page: PageId, t_ms: u64) -> Presence {
        match self.fate(page) {
            Fate::Vanishes { at_ms, status } if t_ms >= at_ms => Presence::Gone { status },
            Fate::Returns { at_ms, back_ms, status } if (at_ms..back_ms).contains(&t_ms) => {
                Presence::Gone { status }
            }
            Fate::Moves { at_ms } if t_ms >= at_ms => Presence::Moved,
            _ => Presence::Here,
        }
    }

    /// Where a page is to be found at a time; `None` while it is gone.
    pub fn address_at(&self, page: PageId, t_ms: u64) -> Option<Node> {
        match self.presence(page, t_ms) {
            Presence::Here => Some(Node::Page(page)),
            Presence::Moved => Some(Node::Moved(page)),
            Presence::Gone { .. } => None,
        }
    }

    /// Pages that ever vanish, return or move, in order, with their fates.
    pub fn fates(&self) -> impl Iterator<Item = (PageId, Fate)> + '_ {
        let all = (0..self.page_count()).map(|n| (PageId(n), self.fate(PageId(n))));
        all.filter(|(_, fate)| *fate != Fate::Stays)
    }
}

/// A random part of a length.
fn part(bits: u64, length: u64) -> u64 {
    ((u128::from(bits) * u128::from(length)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorldConfig;

    fn world() -> World {
        let mut config = WorldConfig::full(3, 40, 8_000);
        config.life = LifeConfig::eventful(1_000, 101_000);
        World::new(config)
    }

    #[test]
    fn fates_strike_as_often_as_asked_and_only_leaves() {
        let world = world();
        let mut seen = [0u32; 3];
        for (page, fate) in world.fates() {
            let (home, index) = world.locate(page);
            assert!(world.host(home).is_leaf(index));
            let at = match fate {
                Fate::Vanishes { at_ms, .. } => (0, at_ms),
                Fate::Returns { at_ms, back_ms, .. } => {
                    assert!((5_000..=15_000).contains(&(back_ms - at_ms)), "{fate:?}");
                    (1, at_ms)
                }
                Fate::Moves { at_ms } => (2, at_ms),
                Fate::Stays => panic!("{page:?} stays"),
            };
            assert!((1_000..101_000).contains(&at.1));
            seen[at.0] += 1;
        }
        // Some 5,000 of the leaves are plain articles.
        assert!(seen.iter().all(|n| (350..700).contains(n)), "{seen:?}");
    }

    #[test]
    fn presence_follows_the_fate() {
        let world = world();
        for (page, fate) in world.fates() {
            assert_eq!(world.presence(page, 0), Presence::Here);
            match fate {
                Fate::Vanishes { at_ms, status } => {
                    assert_eq!(world.presence(page, at_ms - 1), Presence::Here);
                    assert_eq!(world.presence(page, at_ms), Presence::Gone { status });
                    assert_eq!(world.address_at(page, u64::MAX), None);
                }
                Fate::Returns { at_ms, back_ms, status } => {
                    assert_eq!(world.presence(page, at_ms), Presence::Gone { status });
                    assert_eq!(world.presence(page, back_ms - 1), Presence::Gone { status });
                    assert_eq!(world.address_at(page, back_ms), Some(Node::Page(page)));
                }
                Fate::Moves { at_ms } => {
                    assert_eq!(world.address_at(page, at_ms - 1), Some(Node::Page(page)));
                    assert_eq!(world.address_at(page, at_ms), Some(Node::Moved(page)));
                    let url = world.url(Node::Moved(page));
                    assert_eq!(world.resolve(&url), Some(Node::Moved(page)), "{url}");
                }
                Fate::Stays => {}
            }
        }
    }

    #[test]
    fn a_world_without_fates_knows_no_new_addresses() {
        let world = World::new(WorldConfig::full(3, 40, 8_000));
        assert_eq!(world.fates().count(), 0);
        let moving = self::world();
        let (page, _) = moving.fates().find(|(_, f)| matches!(f, Fate::Moves { .. })).unwrap();
        assert_eq!(world.resolve(&moving.url(Node::Moved(page))), None);
    }
}
