//! Sums over the addresses a page links to and the images it shows: any order, without what changes on every visit.

use super::extract::Extract;
use super::links::LinkKind;
use super::swar;
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

/// Sums for links and for images; what stands inside `banners` does not count.
pub(crate) fn of(page: &Extract, banners: &[(u32, u32)]) -> (u64, u64) {
    let (mut links, mut images) = (0u64, 0u64);
    for link in &page.links {
        let at = link.anchor.start;
        let after = banners.partition_point(|b| b.0 <= at);
        if after > 0 && banners.get(after - 1).is_some_and(|b| at < b.1) {
            continue;
        }
        match link.kind {
            LinkKind::Anchor | LinkKind::Area | LinkKind::Frame => {
                links = links.wrapping_add(address(page.href(link)));
            }
            LinkKind::Image => {
                let label = xxh3_64(link.label.of(&page.arena).as_bytes());
                images = images.wrapping_add(address(page.href(link)) ^ label.rotate_left(17));
            }
            _ => {}
        }
    }
    (links, images)
}

/// Hash of an address without its fragment, visit keys and random path parts.
fn address(href: &str) -> u64 {
    let look = Look::at(href.as_bytes());
    let href = href.get(..look.end).unwrap_or("");
    let may_hold_token = href.len() >= TOKEN_LENGTH && look.digits as usize >= TOKEN_DIGITS;
    if !(look.keyed || may_hold_token && has_token(href)) {
        return xxh3_64(href.as_bytes());
    }
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

/// What one cheap look at an address tells, eight bytes at a time.
struct Look {
    /// Where its fragment begins.
    end: usize,
    /// It may have a query or parameters.
    keyed: bool,
    digits: u32,
}

impl Look {
    fn at(href: &[u8]) -> Self {
        let mut look = Self { end: href.len(), keyed: false, digits: 0 };
        let mut at = 0;
        while at < href.len() {
            let word = swar::load(href, at).unwrap_or_else(|| swar::tail(href, at));
            let fragment = swar::equal(word, b'#');
            let kept = word & swar::first_bytes(swar::first(fragment));
            look.keyed |= swar::equal(kept, b'?') | swar::equal(kept, b';') != 0;
            look.digits += swar::digits(kept).count_ones();
            if fragment != 0 {
                look.end = at + swar::first(fragment);
                break;
            }
            at += 8;
        }
        look
    }
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
        let same = |a, b| address(a) == address(b);
        assert!(same("/a?x=1&sid=9812", "/a?x=1&sid=77"));
        assert!(same("/a/page#top", "/a/page#end"));
        assert!(same("/static/9f86d081884c7d659a2f.css", "/static/60303ae22b998861bce3.css"));
        assert!(same("/shop;jsessionid=A1B2C3D4", "/shop;jsessionid=FFFF0000"));
        assert!(!same("/a?x=1", "/a?x=2"));
        assert!(!same("/news/2026-11-15-spiders", "/news/2026-11-16-spiders"));
        assert!(!same("/a/b", "/b/a"));
    }
}
