//! Hosts: names, sizes and manners, laid out once when the world is built.
//!
//! Promise: everything about a host follows from the configuration; a host costs some hundred bytes, a page none.

use crate::config::WorldConfig;
use crate::html::put;
use crate::kind::{Charset, CharsetPlace, Coding, Fault, RobotsKind, ThinKind};
use crate::rng::{Rng, below, mix};
use crate::words::{Lang, TOPICS};

/// A host of the world, by position in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u32);

/// A page of the world: its host's first page plus its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u32);

/// Children of a page in the tree that makes every page of a host reachable from its root.
pub const BRANCH: u32 = 8;
/// Children of a host in the tree that makes every host reachable from the first.
pub const HOST_BRANCH: u32 = 4;

/// Why a host exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRole {
    Regular,
    /// Serves the pages of another host, byte for byte.
    Mirror(HostId),
    /// Serves one fault.
    Fault(Fault),
}

/// A host and its manners.
#[derive(Clone, Debug)]
pub struct Host {
    pub name: Box<str>,
    pub role: HostRole,
    /// Global number of the root page.
    pub first: u32,
    /// Pages reachable by links.
    pub pages: u32,
    /// Pages beyond `pages` that only the sitemap names.
    pub orphans: u32,
    pub lang: Lang,
    pub charset: Charset,
    pub charset_place: CharsetPlace,
    pub coding: Coding,
    pub chunked: bool,
    pub robots: RobotsKind,
    pub traps: bool,
    /// Has a mirror, and therefore never writes its own name into its pages.
    pub mirrored: bool,
    /// The mirror of this host.
    pub mirror: Option<HostId>,
    pub topic: u32,
    pub(crate) etag: bool,
    pub(crate) last_modified: bool,
    pub(crate) seed: u64,
    /// Popular pages are spread over the tree by `index = rank * mul + add mod pages`.
    pub(crate) mul: u32,
    pub(crate) add: u32,
}

impl Host {
    /// Pages by link and by sitemap together.
    pub fn total(&self) -> u32 {
        self.pages + self.orphans
    }

    /// Whether a page has no children in the tree; only such pages may be odd.
    #[inline]
    pub fn is_leaf(&self, index: u32) -> bool {
        index != 0 && u64::from(index) * u64::from(BRANCH) + 1 >= u64::from(self.pages)
    }

    /// Pages that have children, the root included.
    #[inline]
    pub fn inner(&self) -> u32 {
        (self.pages.saturating_sub(1)).div_ceil(BRANCH)
    }

    /// Declares the character encoding in the head of a page, if that is where the host does so.
    pub(crate) fn put_charset(&self, out: &mut Vec<u8>) {
        if !matches!(self.charset_place, CharsetPlace::Meta | CharsetPlace::Both) {
            return;
        }
        if self.charset == Charset::Utf8 {
            put(out, "<meta charset=\"utf-8\">\n");
        } else {
            put(out, "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=");
            put(out, self.charset.slug());
            put(out, "\">\n");
        }
    }

    #[inline]
    pub(crate) fn spread(&self, rank: u32) -> u32 {
        if self.pages <= 1 {
            return 0;
        }
        ((u64::from(rank) * u64::from(self.mul) + u64::from(self.add)) % u64::from(self.pages)) as u32
    }
}

/// Lays out all hosts.
pub(crate) fn lay_out(config: &WorldConfig) -> Vec<Host> {
    let count = config.hosts.max(1);
    let sizes = sizes(config, count);
    let mut hosts: Vec<Host> = Vec::with_capacity(count as usize + Fault::ALL.len());
    let mut first = 0;
    for (i, &size) in sizes.iter().enumerate() {
        let i = i as u32;
        let mut host = regular(config, i, count, size);
        if config.features.mirrors
            && i % 32 == 31
            && let Some((of, original)) = hosts.iter_mut().enumerate().rev().find(|(_, h)| mirrorable(h))
        {
            make_mirror(&mut host, HostId(of as u32), original);
            original.mirror = Some(HostId(i));
        }
        host.first = first;
        first += host.total();
        hosts.push(host);
    }
    if config.features.faults {
        for (k, &fault) in Fault::ALL.iter().enumerate() {
            let mut host =
                regular(config, count + k as u32, count, 1 + config.faults.pages_per_fault.clamp(1, 64));
            host.name = format!("{}.fault.sim", fault.slug()).into();
            host.role = HostRole::Fault(fault);
            host.orphans = 0;
            host.lang = Lang::En;
            host.charset = Charset::Utf8;
            host.charset_place = CharsetPlace::Both;
            host.coding = Coding::Identity;
            host.chunked = false;
            host.robots = RobotsKind::Missing;
            host.traps = false;
            host.first = first;
            first += host.total();
            hosts.push(host);
        }
    }
    hosts
}

fn mirrorable(host: &Host) -> bool {
    host.role == HostRole::Regular && !host.mirrored && (4..4000).contains(&host.pages) && !host.traps
}

fn make_mirror(host: &mut Host, of: HostId, original: &mut Host) {
    original.mirrored = true;
    let copy = original.clone();
    let (name, seed) = (std::mem::take(&mut host.name), host.seed);
    *host = Host { name, seed, role: HostRole::Mirror(of), mirrored: true, ..copy };
    // A mirror that could not be read would make the pair invisible.
    host.robots = RobotsKind::Missing;
    host.orphans = 0;
    host.mirror = None;
}

/// Sizes fall as a power of a rank that is shuffled over all hosts but the first, which is the biggest.
fn sizes(config: &WorldConfig, count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_unstable_by_key(|&i| if i == 0 { 0 } else { mix(config.seed ^ 0x512E, u64::from(i)) | 1 });
    let weight = |rank: u32| 1.0 / f64::from(rank + 3).powf(0.85);
    let total: f64 = (0..count).map(weight).sum();
    let thin = usize::from(config.thin_pages).min(ThinKind::ALL.len());
    let pages = f64::from(config.pages) / (1 + thin) as f64;
    let mut sizes = vec![1; count as usize];
    for (rank, &host) in order.iter().enumerate() {
        let share = weight(rank as u32) / total * pages;
        sizes[host as usize] = (share.round() as u32).max(1);
    }
    sizes
}

fn regular(config: &WorldConfig, i: u32, count: u32, pages: u32) -> Host {
    let seed = mix(config.seed ^ 0x4057, u64::from(i));
    let mut rng = Rng::new(mix(seed, 1));
    let features = &config.features;
    let lang = if features.languages && i != 0 {
        [Lang::En, Lang::En, Lang::En, Lang::De, Lang::Fr, Lang::Es, Lang::Ru, Lang::Ja, Lang::Ar]
            [rng.below(9) as usize]
    } else {
        Lang::En
    };
    let legacy = features.languages && rng.permille(300);
    let charset = match (legacy, lang) {
        (true, Lang::De | Lang::Fr | Lang::Es) => Charset::Latin1,
        (true, Lang::Ru) => Charset::Windows1251,
        (true, Lang::Ja) => Charset::ShiftJis,
        (true, Lang::Ar) => Charset::Windows1256,
        _ => Charset::Utf8,
    };
    let charset_place =
        if features.languages { CharsetPlace::ALL[rng.below(4) as usize] } else { CharsetPlace::Both };
    let coding = if features.codings && rng.permille(250) {
        Coding::ALL[1 + rng.below(4) as usize]
    } else {
        Coding::Identity
    };
    let chunked = features.codings && rng.permille(150);
    let robots = robots_of(config, i, count, &mut rng);
    let traps = features.traps && i % 16 == 5;
    let orphans = if robots == RobotsKind::Sitemaps { 1 + pages.min(20) / 4 } else { 0 };
    let name = match i % 16 {
        3 => format!("www.h{i}.sim"),
        // The same domain as the host before it.
        4 => format!("blog.h{}.sim", i - 1),
        _ => format!("h{i}.sim"),
    };
    let mul = coprime(pages, 1 + below(mix(seed, 2), pages.max(1)));
    Host {
        name: name.into(),
        role: HostRole::Regular,
        first: 0,
        pages,
        orphans,
        lang,
        charset,
        charset_place,
        coding,
        chunked,
        robots,
        traps,
        mirrored: false,
        mirror: None,
        topic: rng.below(TOPICS),
        etag: rng.permille(600),
        last_modified: rng.permille(600),
        seed,
        mul,
        add: below(mix(seed, 3), pages.max(1)),
    }
}

/// Hosts that keep a crawler out are leaves of the host tree, so that they hide nothing but themselves.
fn robots_of(config: &WorldConfig, i: u32, count: u32, rng: &mut Rng) -> RobotsKind {
    if !config.features.robots {
        return if i.is_multiple_of(2) { RobotsKind::AllowAll } else { RobotsKind::Missing };
    }
    let leaf = u64::from(i) * u64::from(HOST_BRANCH) + 1 >= u64::from(count);
    let kinds = RobotsKind::ALL;
    // The last hosts walk through every kind, so that a world of some dozens of hosts has them all.
    let from_end = count.saturating_sub(1).saturating_sub(i) as usize;
    let kind = if from_end < kinds.len() && leaf && i != 0 {
        kinds[from_end]
    } else {
        let weights = [30, 20, 14, 8, 8, 4, 8, 1, 2, 1, 2, 1, 1, 1, 1];
        let mut draw = rng.below(weights.iter().sum());
        let mut chosen = RobotsKind::Missing;
        for (&kind, weight) in kinds.iter().zip(weights) {
            if draw < weight {
                chosen = kind;
                break;
            }
            draw -= weight;
        }
        chosen
    };
    let closed = matches!(kind, RobotsKind::DisallowAll | RobotsKind::ServerError);
    if closed && (!leaf || i == 0) { RobotsKind::Sections } else { kind }
}

/// The first number from `from` on that shares no factor with `n`.
fn coprime(n: u32, from: u32) -> u32 {
    (from..).find(|&m| gcd(n, m) == 1).unwrap_or(1)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_without_gaps_and_sum_up() {
        let hosts = lay_out(&WorldConfig::full(3, 500, 20_000));
        let mut next = 0;
        for host in &hosts {
            assert_eq!(host.first, next);
            next += host.total();
        }
        assert!((15_000..30_000).contains(&next), "{next}");
        let sizes: Vec<u32> = hosts.iter().map(|h| h.pages).collect();
        assert!(sizes[0] == *sizes.iter().max().unwrap());
    }

    #[test]
    fn spread_is_a_permutation() {
        for host in lay_out(&WorldConfig::clean(3, 40, 2_000)) {
            let mut seen = vec![false; host.pages as usize];
            for rank in 0..host.pages {
                seen[host.spread(rank) as usize] = true;
            }
            assert!(seen.into_iter().all(|s| s));
        }
    }

    #[test]
    fn mirrors_point_at_regular_hosts_of_the_same_size() {
        let hosts = lay_out(&WorldConfig::full(3, 500, 20_000));
        let mut mirrors = 0;
        for host in &hosts {
            if let HostRole::Mirror(of) = host.role {
                let original = &hosts[of.0 as usize];
                assert_eq!(original.pages, host.pages);
                assert_eq!(original.role, HostRole::Regular);
                assert!(original.mirrored);
                mirrors += 1;
            }
        }
        assert!(mirrors > 5);
    }
}
