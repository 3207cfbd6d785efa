//! What a fetch of robots.txt means for a host (RFC 9309 2.3.1). Pure: the caller fetches, follows and keeps time.

use lycosa_types::{CanonRules, CanonUrl, Failure};

use super::{Decision, Robots};
use crate::response::Response;

/// Redirects followed from a host's robots.txt, to other hosts too.
pub const MAX_ROBOTS_REDIRECTS: u8 = 5;
/// How long an answer may be used.
pub const FRESH_MS: u64 = 24 * 3_600 * 1_000;
/// How soon to ask again where no answer came.
pub const UNREACHABLE_RETRY_MS: u64 = 10 * 60 * 1_000;
/// A robots.txt that was out of reach for this long (30 days) no longer holds a crawl up.
pub const UNREACHABLE_GIVE_UP_MS: u64 = 30 * 24 * 3_600 * 1_000;

/// What may be requested from a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsPolicy {
    /// The file was read.
    Rules(Robots),
    /// There is no file (4xx, too many redirects): everything may be requested.
    Absent,
    /// Nobody knows (429, 5xx, no connection): nothing may be requested until somebody does.
    Unreachable(Failure),
}

/// One fetch of robots.txt.
#[derive(Clone, Copy, Debug)]
pub struct RobotsFetch<'a> {
    /// The URL that was fetched: the host's own, or the target of the last redirect.
    pub url: &'a CanonUrl,
    pub result: &'a Result<Response, Failure>,
    /// Redirects followed so far.
    pub redirects: u8,
    /// For how long the host's robots.txt has been out of reach before this fetch.
    pub unreachable_for_ms: u64,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsStep {
    Settled(RobotsPolicy),
    /// Fetch this one, with one redirect more.
    Follow(CanonUrl),
    /// 304: what was known still holds.
    Unchanged,
}

impl RobotsPolicy {
    /// Judges one fetch, as the crawler whose product token is `agent`.
    pub fn from_fetch(fetch: RobotsFetch<'_>, agent: &str) -> RobotsStep {
        let response = match fetch.result {
            Ok(response) => response,
            Err(failure) => {
                return RobotsStep::Settled(Self::out_of_reach(*failure, fetch.unreachable_for_ms));
            }
        };
        if let Some(failure) = response.failure() {
            return RobotsStep::Settled(Self::out_of_reach(failure, fetch.unreachable_for_ms));
        }
        if response.status == 304 {
            return RobotsStep::Unchanged;
        }
        if response.is_redirect() && fetch.redirects < MAX_ROBOTS_REDIRECTS {
            // No tracking or session rules here: the file is asked for as the server spells it.
            let plain = CanonRules {
                tracking_parameters: Vec::new(),
                session_parameters: Vec::new(),
                drop_repeated: false,
                sort_query: false,
            };
            if let Ok(target) = response.redirect_target(fetch.url, &plain) {
                return RobotsStep::Follow(target);
            }
        }
        RobotsStep::Settled(if response.is_success() {
            Self::Rules(Robots::parse(&response.body, agent))
        } else {
            Self::Absent
        })
    }

    fn out_of_reach(failure: Failure, unreachable_for_ms: u64) -> Self {
        if unreachable_for_ms >= UNREACHABLE_GIVE_UP_MS { Self::Absent } else { Self::Unreachable(failure) }
    }

    /// Whether this path and query may be requested now.
    pub fn decide(&self, path_and_query: &str) -> Decision<'_> {
        match self {
            Self::Rules(robots) => robots.decide(path_and_query),
            Self::Absent => Decision::without_rule(true),
            Self::Unreachable(_) => Decision::without_rule(path_and_query == "/robots.txt"),
        }
    }

    /// How long this policy may be used before robots.txt is fetched again.
    pub fn fresh_for_ms(&self) -> u64 {
        match self {
            Self::Rules(_) | Self::Absent => FRESH_MS,
            Self::Unreachable(_) => UNREACHABLE_RETRY_MS,
        }
    }

    pub fn crawl_delay_ms(&self) -> Option<u64> {
        match self {
            Self::Rules(robots) => robots.crawl_delay_ms(),
            _ => None,
        }
    }

    /// Sitemap lines that were left out because there are too many.
    pub fn sitemaps_beyond(&self) -> u32 {
        match self {
            Self::Rules(robots) => robots.sitemaps_beyond(),
            _ => 0,
        }
    }

    pub fn sitemaps(&self) -> &[String] {
        match self {
            Self::Rules(robots) => robots.sitemaps(),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{Head, Protocol};
    use bytes::Bytes;

    fn judge(status: u16, location: &str, body: &'static str, redirects: u8) -> RobotsStep {
        let url = CanonUrl::parse("http://a.test/robots.txt", &CanonRules::default()).unwrap();
        let head = format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\n\r\n");
        let body = Bytes::from_static(body.as_bytes());
        let result = Ok(Response {
            status,
            protocol: Protocol::Http11,
            head: Head::new(head.into_bytes().into()),
            raw_body: body.clone(),
            payload: body.clone(),
            body,
        });
        let fetch = RobotsFetch { url: &url, result: &result, redirects, unreachable_for_ms: 0 };
        RobotsPolicy::from_fetch(fetch, "lycosa")
    }

    #[test]
    fn each_status_has_its_meaning() {
        let RobotsStep::Settled(rules) = judge(200, "", "User-agent: *\nDisallow: /x\nCrawl-delay: 1", 0)
        else {
            panic!("200 settles");
        };
        assert!(!rules.decide("/x").allowed && rules.decide("/y").allowed);
        assert_eq!((rules.crawl_delay_ms(), rules.fresh_for_ms()), (Some(1_000), FRESH_MS));
        for status in [300, 400, 401, 403, 404, 410, 451] {
            assert_eq!(
                judge(status, "", "User-agent: *\nDisallow: /", 0),
                RobotsStep::Settled(RobotsPolicy::Absent)
            );
        }
        for status in [429, 500, 503, 599] {
            let RobotsStep::Settled(policy) = judge(status, "", "", 0) else {
                panic!("{status} settles");
            };
            assert!(matches!(policy, RobotsPolicy::Unreachable(_)));
            assert!(!policy.decide("/").allowed && policy.decide("/robots.txt").allowed);
            assert_eq!(policy.fresh_for_ms(), UNREACHABLE_RETRY_MS);
        }
        assert_eq!(judge(304, "", "", 0), RobotsStep::Unchanged);
    }

    #[test]
    fn five_redirects_are_followed_and_no_more() {
        let target = CanonUrl::parse("https://b.test/r?sid=1", &CanonRules::default()).unwrap();
        for status in [301, 302, 303, 307, 308] {
            for redirects in 0..MAX_ROBOTS_REDIRECTS {
                let step = judge(status, "https://b.test/r?sid=1", "", redirects);
                assert_eq!(step, RobotsStep::Follow(target.clone()));
            }
            let step = judge(status, "https://b.test/r", "", MAX_ROBOTS_REDIRECTS);
            assert_eq!(step, RobotsStep::Settled(RobotsPolicy::Absent));
        }
        assert_eq!(judge(301, "mailto:x", "", 0), RobotsStep::Settled(RobotsPolicy::Absent));
    }

    #[test]
    fn out_of_reach_closes_a_host_but_not_for_ever() {
        let url = CanonUrl::parse("http://a.test/robots.txt", &CanonRules::default()).unwrap();
        let result = Err(Failure::ConnectTimeout);
        let judge = |unreachable_for_ms| {
            let fetch = RobotsFetch { url: &url, result: &result, redirects: 0, unreachable_for_ms };
            RobotsPolicy::from_fetch(fetch, "lycosa")
        };
        assert_eq!(judge(0), RobotsStep::Settled(RobotsPolicy::Unreachable(Failure::ConnectTimeout)));
        assert_eq!(judge(UNREACHABLE_GIVE_UP_MS), RobotsStep::Settled(RobotsPolicy::Absent));
    }
}
