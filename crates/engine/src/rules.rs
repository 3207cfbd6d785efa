//! robots.txt: fetched by a worker, remembered in the state, asked by the frontier.

use std::sync::Arc;

use lycosa_fetch::Visit;
use lycosa_fetch::robots::line::MAX_ROBOTS_BYTES;
use lycosa_fetch::robots::{Robots, RobotsFetch, RobotsPolicy, RobotsStep};
use lycosa_frontier::frontier::ReadRules;
use lycosa_frontier::{Rules, RulesEnd, RulesRecord};
use lycosa_types::{CanonUrl, Exclusion, UnixMs};

/// What a host allows, as the frontier asks for it.
#[derive(Debug)]
pub struct HostRules(RobotsPolicy);

impl Rules for HostRules {
    fn check(&self, path_and_query: &str) -> Result<(), Exclusion> {
        let decision = self.0.decide(path_and_query);
        if decision.allowed {
            return Ok(());
        }
        Err(Exclusion::Robots { line: decision.line, rule: decision.rule.to_owned() })
    }

    fn delay_ms(&self) -> Option<u64> {
        self.0.crawl_delay_ms()
    }
}

/// Reads remembered robots.txt files for the frontier of a crawler that is called so.
pub fn reader(product: String) -> ReadRules {
    Box::new(move |_, record| Arc::new(HostRules(policy(record, &product))))
}

/// What a remembered robots.txt allows.
pub fn policy(record: &RulesRecord, product: &str) -> RobotsPolicy {
    if (200..300).contains(&record.status) {
        RobotsPolicy::Rules(Robots::parse(&record.body, product))
    } else {
        RobotsPolicy::Absent
    }
}

/// The sitemaps that a robots.txt names.
#[derive(Debug, Default)]
pub struct NamedSitemaps {
    pub named: Vec<String>,
    /// Lines that were left out because there are too many.
    pub beyond: u32,
}

/// What the fetch of a robots.txt led to, and the sitemaps it names.
pub fn judge(
    url: &CanonUrl,
    visit: &Visit,
    redirects: u8,
    product: &str,
    now: UnixMs,
) -> (RulesEnd, NamedSitemaps) {
    let fetch = RobotsFetch { url, result: &visit.result, redirects, unreachable_for_ms: 0 };
    let policy = match RobotsPolicy::from_fetch(fetch, product) {
        RobotsStep::Follow(to) => return (RulesEnd::Moved { to }, NamedSitemaps::default()),
        RobotsStep::Settled(policy) => policy,
        // No condition was sent, so this answer means nothing: as if there were no file.
        RobotsStep::Unchanged => RobotsPolicy::Absent,
    };
    if let RobotsPolicy::Unreachable(failure) = policy {
        let retry_after_ms = visit.result.as_ref().ok().and_then(|response| response.retry_after_ms(now));
        // A server that answers with errors forbids; one that does not answer at all is dead.
        let otherwise: Option<Arc<dyn Rules>> = failure
            .status()
            .map(|_| Arc::new(HostRules(RobotsPolicy::Unreachable(failure))) as Arc<dyn Rules>);
        return (RulesEnd::Unreachable { failure, retry_after_ms, otherwise }, NamedSitemaps::default());
    }
    let (status, body) = match &visit.result {
        Ok(response) if response.is_success() => {
            // No more is ever read of it; the one byte beyond tells the reader that its last line is cut.
            let read = response.body.len().min(MAX_ROBOTS_BYTES + 1);
            (response.status, response.body[..read].to_vec())
        }
        Ok(response) => (response.status, Vec::new()),
        Err(_) => (0, Vec::new()),
    };
    let sitemaps = NamedSitemaps { named: policy.sitemaps().to_vec(), beyond: policy.sitemaps_beyond() };
    let record = RulesRecord { fetched_at: now, status, body };
    (RulesEnd::Known { rules: Arc::new(HostRules(policy)), record }, sitemaps)
}
