//! How long to leave a host alone. Pure arithmetic over what the configuration, the host's robots.txt and the last
//! response say.

use serde::{Deserialize, Serialize};

/// A host whose responses drip is left alone for so many times what a request to it took: it gets one part in so many of
/// a slot's time.
const DRIP_FACTOR: u64 = 30;

/// The pace a crawl keeps. All times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Politeness {
    /// Shortest time between the end of one request to a host and the start of the next.
    pub delay_ms: u64,
    /// Shortest time between requests to one IP address, whatever the host names. 0 switches this off.
    pub ip_delay_ms: u64,
    /// A slow host is left alone for this many times its last response time, if that is longer.
    pub slow_factor: u32,
    /// Longest time a slow host, or a robots.txt, can make the crawl wait between two requests.
    pub max_delay_ms: u64,
    /// Requests under way to one host at the same time.
    pub per_host: u32,
    /// Tries of one URL before a transient failure stands.
    pub max_tries: u16,
    /// Wait before the second try; doubles with each further one.
    pub retry_ms: u64,
    /// Longest wait that a failing server (or its Retry-After) can impose.
    pub max_retry_ms: u64,
    /// Times that a server may refuse one page for reasons of pace (429, 503) while it answers others.
    pub max_refusals: u16,
    /// How long a host may refuse every page for reasons of pace.
    pub max_refused_ms: u64,
    /// How long a robots.txt that cannot be had is asked for again and again.
    pub rules_patience_ms: u64,
    /// Requests without any answer, in a row, after which it is found out whether a host is down.
    pub max_host_failures: u32,
    /// Most pages fetched from one host in a crawl. 0 means no limit.
    pub max_pages_per_host: u64,
    /// How long a robots.txt is believed.
    pub rules_ttl_ms: u64,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            delay_ms: 1000,
            ip_delay_ms: 100,
            slow_factor: 2,
            max_delay_ms: 30_000,
            per_host: 1,
            max_tries: 4,
            retry_ms: 2000,
            max_retry_ms: 600_000,
            max_refusals: 6,
            max_refused_ms: 3_600_000,
            rules_patience_ms: 600_000,
            max_host_failures: 25,
            max_pages_per_host: 0,
            rules_ttl_ms: 24 * 3600 * 1000,
        }
    }
}

impl Politeness {
    /// The same; a crawl that goes on anyway asks for robots.txt as long as it runs.
    pub fn patient(&self, goes_on: bool) -> Self {
        let rules_patience_ms = if goes_on { u64::MAX } else { self.rules_patience_ms };
        Self { rules_patience_ms, ..self.clone() }
    }

    /// Time to leave a host alone after a response that took `elapsed_ms`; never under the robots delay (up to the cap).
    pub fn pause_ms(&self, rules_delay_ms: Option<u64>, elapsed_ms: u64) -> u64 {
        if self.delay_ms == 0 && rules_delay_ms.is_none() {
            return 0;
        }
        let slow = elapsed_ms.saturating_mul(u64::from(self.slow_factor));
        let asked = rules_delay_ms.unwrap_or(0).max(slow).min(self.max_delay_ms);
        self.delay_ms.max(asked)
    }

    /// The longest time for which a host can be left alone. A stored pause that ends later comes from a wrong clock.
    pub fn longest_pause_ms(&self) -> u64 {
        // A reason for a longer pause belongs here.
        self.delay_ms.max(self.max_delay_ms).max(self.max_retry_ms).saturating_mul(2)
    }

    /// Time to leave a host alone whose response came too slowly to be waited for: it held a request slot for nothing.
    pub fn drip_pause_ms(&self, elapsed_ms: u64) -> u64 {
        elapsed_ms.saturating_mul(DRIP_FACTOR).min(self.max_retry_ms)
    }

    /// Time before a URL that failed `tries` times is tried again; a server's own wish comes first.
    pub fn retry_after_ms(&self, tries: u16, asked_ms: Option<u64>) -> u64 {
        let doubling = self.retry_ms.saturating_mul(1 << u32::from(tries.saturating_sub(1)).min(20));
        asked_ms.unwrap_or(0).max(doubling).min(self.max_retry_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wish_wins_up_to_the_cap() {
        let pace = Politeness::default();
        assert_eq!(pace.pause_ms(None, 10), 1000);
        assert_eq!(pace.pause_ms(None, 4000), 8000);
        assert_eq!(pace.pause_ms(Some(5000), 10), 5000);
        assert_eq!(pace.pause_ms(Some(5_000_000), 10), 30_000);
        let own_site = Politeness { delay_ms: 0, ..Politeness::default() };
        assert_eq!(own_site.pause_ms(None, 4000), 0);
        assert_eq!(own_site.pause_ms(Some(700), 0), 700);
    }

    #[test]
    fn retries_back_off() {
        let pace = Politeness::default();
        assert_eq!(pace.retry_after_ms(1, None), 2000);
        assert_eq!(pace.retry_after_ms(3, None), 8000);
        assert_eq!(pace.retry_after_ms(1, Some(60_000)), 60_000);
        assert_eq!(pace.retry_after_ms(60, Some(u64::MAX)), 600_000);
    }
}
