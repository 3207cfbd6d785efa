//! Sums over the addresses a page links to and the images it shows: any order, without what changes on every visit.

use super::extract::Extract;
use super::links::LinkKind;
use super::span::Span;
use super::surroundings::Inside;
use super::swar;
use lycosa_cpu::{Registers, widest};
use xxhash_rust::xxh3::xxh3_64;

/// Query keys whose values are made for one visit.
const VISIT_KEYS: [&str; 20] = [
    "sid",
    "session",
    "sessionid",
    "session_id",
    "phpsessid",
    "jsessionid",
    "token",
    "csrf",
    "csrf_token",
    "nonce",
    "_",
    "t",
    "ts",
    "timestamp",
    "time",
    "rand",
    "random",
    "cb",
    "cachebuster",
    "cache",
];

/// Digits that a token holds at least.
const TOKEN_DIGITS: usize = 4;

/// Characters that a token holds at least.
const TOKEN_LENGTH: usize = 16;

/// Sums over the addresses of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub links: u64,
    pub images: u64,
    /// Those that do not stand around the content.
    pub core_links: u64,
    pub core_images: u64,
}

/// Sums for links and for images; what stands inside `banners` does not count, and what stands inside `around` counts apart.
pub(crate) fn of(page: &Extract, banners: &[(u32, u32)], around: &[(u32, u32)]) -> Sums {
    widest(
        #[inline(always)]
        |registers| sums(registers, page, banners, around),
    )
}

#[inline(always)]
fn sums(registers: Registers, page: &Extract, banners: &[(u32, u32)], around: &[(u32, u32)]) -> Sums {
    let mut sums = Sums::default();
    let mut around = Inside(around);
    for link in &page.links {
        let at = link.anchor.start;
        let after = banners.partition_point(|b| b.0 <= at);
        if after > 0 && banners.get(after - 1).is_some_and(|b| at < b.1) {
            continue;
        }
        let is_image = link.kind == LinkKind::Image;
        if is_image || matches!(link.kind, LinkKind::Anchor | LinkKind::Area | LinkKind::Frame) {
            let is_around = around.holds(at as usize);
            let address = address(registers, &page.arena, link.href);
            if is_image {
                let label = xxh3_64(link.label.of(&page.arena).as_bytes());
                let image = address ^ label.rotate_left(17);
                sums.images = sums.images.wrapping_add(image);
                sums.core_images = sums.core_images.wrapping_add(if is_around { 0 } else { image });
            } else {
                sums.links = sums.links.wrapping_add(address);
                sums.core_links = sums.core_links.wrapping_add(if is_around { 0 } else { address });
            }
        }
    }
    sums
}

/// Hash of an address, a part of the arena, without its fragment, visit keys and random path parts.
#[inline(always)]
fn address(registers: Registers, arena: &str, href: Span) -> u64 {
    let look = Look::at(registers, arena.as_bytes(), href);
    let href = href.of(arena).get(..look.end).unwrap_or("");
    let may_hold_token = href.len() >= TOKEN_LENGTH && look.digits as usize >= TOKEN_DIGITS;
    if look.keyed || may_hold_token && has_token(href) {
        hash_of_parts(href)
    } else {
        xxh3_64(href.as_bytes())
    }
}

fn hash_of_parts(href: &str) -> u64 {
    let mut hash = 0u64;
    for part in href.split(['?', '&', ';', '/']) {
        let (key, value) = part.split_once('=').unwrap_or(("", part));
        if VISIT_KEYS.iter().any(|k| key.eq_ignore_ascii_case(k)) {
            continue;
        }
        let value = if is_token(value) { "~" } else { value };
        hash = hash.rotate_left(13) ^ xxh3_64(key.as_bytes()) ^ xxh3_64(value.as_bytes()).rotate_left(7);
    }
    hash
}

/// What one cheap look at an address tells.
struct Look {
    /// Where its fragment begins.
    end: usize,
    /// It may have a query or parameters.
    keyed: bool,
    digits: u32,
}

impl Look {
    /// Most addresses are looked at in one go, with what stands behind them in the arena, which does not count.
    #[inline(always)]
    fn at(registers: Registers, arena: &[u8], href: Span) -> Self {
        let mut look = Self { end: href.len(), keyed: false, digits: 0 };
        let mut at = 0;
        while at < look.end {
            let rest = arena.get(href.start as usize + at..).unwrap_or_default();
            let block = rest.first_chunk().copied().unwrap_or_else(|| last_block(rest));
            let fragment = registers.bits(block.map(|b| b == b'#')) & swar::first_bits(look.end - at);
            if fragment != 0 {
                look.end = at + fragment.trailing_zeros() as usize;
            }
            let inside = swar::first_bits(look.end - at);
            look.keyed |= registers.bits(block.map(|b| (b == b'?') | (b == b';'))) & inside != 0;
            look.digits += (registers.bits(block.map(|b| b.wrapping_sub(b'0') < 10)) & inside).count_ones();
            at += 64;
        }
        look
    }
}

/// Fewer than 64 bytes, filled up with zeros.
#[cold]
#[inline(never)]
fn last_block(rest: &[u8]) -> [u8; 64] {
    let mut last = [0; 64];
    last.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    last
}

fn has_token(href: &str) -> bool {
    href.split('/').any(is_token)
}

/// A name no person gave: sixteen characters or more, a fair part of them digits.
fn is_token(part: &str) -> bool {
    if part.len() < TOKEN_LENGTH {
        return false;
    }
    let part = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    let hex = part.bytes().all(|b| b.is_ascii_hexdigit());
    let joined = part.bytes().any(|b| matches!(b, b'-' | b'_' | b'.' | b'%'));
    part.len() >= TOKEN_LENGTH && digits >= TOKEN_DIGITS && letters >= 2 && (hex || !joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_do_not_count() {
        let print = |href: &str| {
            // What stands around it in the arena does not count.
            let arena = format!("/x#1{href}?t=1#9999");
            widest(|registers| address(registers, &arena, Span::new(4, 4 + href.len())))
        };
        let same = |a, b| print(a) == print(b);
        assert!(same("/a?x=1&sid=9812", "/a?x=1&sid=77"));
        assert!(same("/a/page#top", "/a/page#end"));
        assert!(same("/static/9f86d081884c7d659a2f.css", "/static/60303ae22b998861bce3.css"));
        assert!(same("/shop;jsessionid=A1B2C3D4", "/shop;jsessionid=FFFF0000"));
        assert!(!same("/a?x=1", "/a?x=2"));
        assert!(!same("/news/2026-11-15-spiders", "/news/2026-11-16-spiders"));
        assert!(!same("/a/b", "/b/a"));
    }
}
