//! What sitemaps and feeds say about pages that are known already: a date later than the last visit is news.

use lycosa_frontier::Store;
use lycosa_page::sitemap::Listing;
use lycosa_types::{CanonRules, CanonUrl, Partitioner, UnixMs, UrlId, UrlState};

use crate::cluster::unplaced::visited_id;

/// Pages that one list can call for.
const MOST_NEWS: usize = 1000;

/// Known pages that changed since their last visit, as far as the list's dates tell.
pub(super) fn news(
    listing: &Listing,
    rules: &CanonRules,
    partitioner: &Partitioner,
    store: &Store,
) -> Vec<UrlId> {
    let mut found = Vec::new();
    for entry in &listing.entries {
        let Some(at) = entry.lastmod.as_deref().and_then(parse) else { continue };
        let Ok(url) = CanonUrl::parse(&entry.loc, rules) else { continue };
        let Ok(id) = visited_id(store, partitioner, &url) else { continue };
        if let Ok(Some(record)) = store.url(id)
            && record.state == UrlState::Done
            && record.visited_at.is_some_and(|visited| visited < at)
        {
            found.push(id);
            if found.len() >= MOST_NEWS {
                break;
            }
        }
    }
    found
}

/// A date as sitemaps (`2024-05-01`, `2024-05-01T10:30:00+02:00`) and feeds (as in HTTP) write it. A day stands for its
/// beginning: a page visited on that day is not called for again.
fn parse(text: &str) -> Option<UnixMs> {
    let text = text.trim();
    lycosa_fetch::parse_http_date(text).or_else(|| parse_iso(text))
}

fn parse_iso(text: &str) -> Option<UnixMs> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let separator = |at: usize, wanted: u8| text.as_bytes().get(at) == Some(&wanted);
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    if !(separator(4, b'-') && separator(7, b'-') && (1..=12).contains(&month) && (1..=31).contains(&day)) {
        return None;
    }
    let mut seconds = days_since_1970(year, month, day) * 86_400;
    if separator(10, b'T') || separator(10, b' ') {
        let (hour, minute) = (number(11..13)?, number(14..16)?);
        let second = if separator(16, b':') { number(17..19)? } else { 0 };
        seconds += hour * 3600 + minute * 60 + second;
        let zone = text.get(16..)?.rfind(['+', '-']).map(|at| 16 + at);
        if let Some(at) = zone {
            let offset = number(at + 1..at + 3)? * 3600 + number(at + 4..at + 6).unwrap_or(0) * 60;
            seconds += if separator(at, b'+') { -offset } else { offset };
        }
    }
    u64::try_from(seconds).ok().map(|seconds| UnixMs(seconds * 1000))
}

/// By the Gregorian calendar, counted from March so that the leap day is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_sitemaps_and_feeds() {
        let at = |text| parse(text).map(|at| at.0 / 1000);
        assert_eq!(at("1970-01-02"), Some(86_400));
        assert_eq!(at("2000-02-29T12:00:00Z"), Some(951_825_600));
        assert_eq!(at("2000-02-29T14:00+02:00"), Some(951_825_600));
        assert_eq!(at("2000-02-29 10:30:00.250-01:30"), Some(951_825_600));
        assert_eq!(at("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
        for odd in
            ["", "soon", "2000-13-01", "2000-02", "20000229", "1960-01-01", "2000-02-29Tx", "ä000-02-29"]
        {
            assert_eq!(at(odd), None, "{odd}");
        }
    }
}
