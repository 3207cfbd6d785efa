//! Robots files: the text a host serves, and what that text means for a crawler.
//!
//! Promise: `robots_verdict` follows RFC 9309 on the rules the text was written from: the group of the agent, else
//! `*`; the longest pattern wins and `Allow` wins a tie; 4xx means no rules, 5xx means everything is closed.

use crate::host::{Host, HostId};
use crate::html::put;
use crate::kind::RobotsKind;
use crate::node::{Node, SitemapFile, put_number};
use crate::rng::Rng;
use crate::world::World;

/// Size of the file of a `Huge` host, above the 500 KiB a crawler has to read.
const HUGE_BYTES: usize = 700 << 10;

/// One rule of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsRule {
    pub allow: bool,
    pub pattern: &'static str,
}

/// A group: agents (lower case) and their rules.
type Group = (&'static [&'static str], &'static [RobotsRule]);

const fn no(pattern: &'static str) -> RobotsRule {
    RobotsRule { allow: false, pattern }
}
const fn yes(pattern: &'static str) -> RobotsRule {
    RobotsRule { allow: true, pattern }
}

const OPEN: &[RobotsRule] = &[];
const SECTIONS: &[RobotsRule] = &[no("/private/"), yes("/private/*.html$"), no("/members")];
const WILDCARDS: &[RobotsRule] = &[no("/*?id="), no("/*.pdf$"), no("/*/list?"), yes("/news/")];
const PRIVATE: &[RobotsRule] = &[no("/private/")];
const MEMBERS: &[RobotsRule] = &[no("/members/"), no("/go/")];
const CLOSED: &[RobotsRule] = &[no("/")];

fn groups(kind: RobotsKind) -> &'static [Group] {
    match kind {
        RobotsKind::Sections | RobotsKind::Redirect => &[(&["*"], SECTIONS)],
        RobotsKind::Wildcards => &[(&["*"], WILDCARDS)],
        RobotsKind::AgentGroups => {
            &[(&["badbot", "evilbot"], CLOSED), (&["lycosa", "otherbot"], MEMBERS), (&["*"], PRIVATE)]
        }
        RobotsKind::CrawlDelay | RobotsKind::Sitemaps | RobotsKind::Huge => &[(&["*"], PRIVATE)],
        RobotsKind::DisallowAll => &[(&["*"], CLOSED)],
        RobotsKind::AllowAll => &[(&["*"], OPEN)],
        RobotsKind::Missing
        | RobotsKind::Forbidden
        | RobotsKind::ServerError
        | RobotsKind::RedirectLoop
        | RobotsKind::Garbage
        | RobotsKind::Html => &[],
    }
}

/// The product token of a user agent: letters, `-` and `_` at its start.
fn token(user_agent: &str) -> &str {
    let end = user_agent.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'));
    &user_agent[..end.unwrap_or(user_agent.len())]
}

impl World {
    /// Whether a crawler that obeys robots.txt may fetch a path (with query) on a host.
    pub fn robots_allow(&self, host: HostId, user_agent: &str, path: &str) -> bool {
        let kind = self.host(host).robots;
        if path == "/robots.txt" {
            return true;
        }
        if kind == RobotsKind::ServerError {
            return false;
        }
        let groups = groups(kind);
        let named = groups
            .iter()
            .find(|(agents, _)| agents.iter().any(|a| a.eq_ignore_ascii_case(token(user_agent))));
        let group = named.or_else(|| groups.iter().find(|(agents, _)| agents.contains(&"*")));
        group.is_none_or(|(_, rules)| verdict(rules, path))
    }

    /// `Crawl-delay` in force for any agent on a host.
    pub fn crawl_delay_s(&self, host: HostId) -> Option<u32> {
        (self.host(host).robots == RobotsKind::CrawlDelay).then_some(self.config.crawl_delay_s)
    }

    /// The text of a robots file; the caller knows the status.
    pub(crate) fn put_robots(&self, out: &mut Vec<u8>, id: HostId, host: &Host) {
        match host.robots {
            RobotsKind::Garbage => {
                let mut rng = Rng::new(host.seed ^ 0x6A5B);
                out.extend((0..600).flat_map(|_| rng.word().to_le_bytes()));
                return;
            }
            RobotsKind::Html => {
                put(
                    out,
                    "<!DOCTYPE html><html><head><title>Welcome</title></head><body><p>Welcome</p></body></html>\n",
                );
                return;
            }
            _ => {}
        }
        put(out, "# rules of ");
        put(out, &host.name);
        put(out, "\n\n");
        for (agents, rules) in groups(host.robots) {
            for (i, agent) in agents.iter().enumerate() {
                // Field names and agents are case-insensitive, and white space around the colon is free.
                put(out, if i % 2 == 0 { "User-agent: " } else { "user-AGENT :  " });
                let at = out.len();
                put(out, agent);
                if host.seed & 1 == 0
                    && let Some(first) = out.get_mut(at)
                {
                    first.make_ascii_uppercase();
                }
                put(out, "\n");
            }
            for rule in *rules {
                put(out, if rule.allow { "Allow: " } else { "Disallow: " });
                put(out, rule.pattern);
                put(out, if host.seed & 2 == 0 { "\r\n" } else { " # a remark\n" });
            }
            if rules.is_empty() {
                put(out, "Disallow:\n");
            }
            if host.robots == RobotsKind::CrawlDelay {
                put(out, "Crawl-delay: ");
                put_number(out, u64::from(self.config.crawl_delay_s));
                put(out, "\n");
            }
            put(out, "\n");
        }
        if host.robots == RobotsKind::Sitemaps {
            for file in [SitemapFile::Main, SitemapFile::Text] {
                put(out, "Sitemap: ");
                self.put_url(out, Node::Sitemap { host: id, file });
                put(out, "\n");
            }
        }
        if host.robots == RobotsKind::Huge {
            let mut n = 0;
            while out.len() < HUGE_BYTES {
                put(out, "Disallow: /never/");
                put_number(out, n);
                put(out, "\n");
                n += 1;
            }
        }
    }
}

/// Longest pattern wins, `Allow` wins a tie, no match allows.
fn verdict(rules: &[RobotsRule], path: &str) -> bool {
    let matching = rules.iter().filter(|r| matches(r.pattern.as_bytes(), path.as_bytes()));
    matching.max_by_key(|r| (r.pattern.len(), r.allow)).is_none_or(|r| r.allow)
}

/// `*` stands for any run of bytes, `$` at the end for the end of the path.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern.split_first() {
        None => true,
        Some((b'$', [])) => path.is_empty(),
        Some((b'*', rest)) => (0..=path.len()).any(|skip| matches(rest, &path[skip..])),
        Some((first, rest)) => path.first() == Some(first) && matches(rest, &path[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches(b"/private/", b"/private/x"));
        assert!(!matches(b"/private/", b"/public/"));
        assert!(matches(b"/*.pdf$", b"/papers/a.pdf"));
        assert!(!matches(b"/*.pdf$", b"/papers/a.pdf?x"));
        assert!(matches(b"/*?id=", b"/news/view?id=4"));
    }

    #[test]
    fn the_longest_rule_decides() {
        assert!(!verdict(SECTIONS, "/private/7/"));
        assert!(verdict(SECTIONS, "/private/a-b-7.html"));
        assert!(!verdict(SECTIONS, "/members/a-b-7.html"));
        assert!(verdict(SECTIONS, "/news/1/"));
        assert!(!verdict(CLOSED, "/"));
    }

    #[test]
    fn agents_have_groups() {
        assert_eq!(token("Lycosa/1.0 (+http://x)"), "Lycosa");
    }
}
