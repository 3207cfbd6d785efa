//! The robots.txt parser: keeps what concerns one crawler, with line numbers.
//!
//! Promise: any bytes parse; time and memory are linear in at most
//! [`MAX_ROBOTS_BYTES`](super::line::MAX_ROBOTS_BYTES).

use lycosa_types::CanonUrl;

use super::{
    Decision,
    line::{Field, field_and_value, lines},
    pattern::{Pattern, spell_path},
};

/// Sitemap lines that are kept.
const MAX_SITEMAPS: usize = 1_000;
/// A longer Crawl-delay is read as this.
pub const MAX_CRAWL_DELAY_MS: u64 = 3_600 * 1_000;

/// The rules of a robots.txt that concern one crawler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    /// By weight, heaviest first; Allow before Disallow where equal: the first match decides.
    rules: Box<[Rule]>,
    crawl_delay_ms: Option<u64>,
    sitemaps: Box<[String]>,
    sitemaps_beyond: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    line: u32,
    allow: bool,
}

/// Everything said to one kind of reader: to us by name, or to everyone.
#[derive(Debug, Default)]
struct Group {
    found: bool,
    rules: Vec<Rule>,
    crawl_delay_ms: Option<u64>,
}

impl Robots {
    /// Reads a file as the crawler whose product token is `agent`.
    pub fn parse(bytes: &[u8], agent: &str) -> Self {
        let mut named = Group::default();
        let mut everyone = Group::default();
        let mut sitemaps = Vec::new();
        let mut sitemaps_beyond = 0u32;
        // Whom the current group speaks to, and whether its list of names has ended.
        let (mut to_named, mut to_everyone, mut names_ended) = (false, false, false);
        for (number, line) in lines(bytes) {
            let line = String::from_utf8_lossy(line);
            let Some((field, value)) = field_and_value(&line) else {
                continue;
            };
            match field {
                Field::UserAgent => {
                    if names_ended {
                        (to_named, to_everyone, names_ended) = (false, false, false);
                    }
                    if is_everyone(value) {
                        to_everyone = true;
                        everyone.found = true;
                    } else if product_token(value).eq_ignore_ascii_case(agent) && !agent.is_empty() {
                        to_named = true;
                        named.found = true;
                    }
                }
                Field::Allow | Field::Disallow => {
                    names_ended = true;
                    if let Some(pattern) = (to_named || to_everyone).then(|| Pattern::new(value)).flatten() {
                        let rule = Rule { pattern, line: number, allow: field == Field::Allow };
                        if to_everyone {
                            everyone.rules.push(rule.clone());
                        }
                        if to_named {
                            named.rules.push(rule);
                        }
                    }
                }
                Field::CrawlDelay => {
                    if let Some(delay_ms) = parse_delay_ms(value) {
                        if to_everyone {
                            everyone.slow_down(delay_ms);
                        }
                        if to_named {
                            named.slow_down(delay_ms);
                        }
                    }
                }
                Field::Sitemap => {
                    if value.is_empty() {
                        continue;
                    }
                    if sitemaps.len() < MAX_SITEMAPS {
                        sitemaps.push(value.to_owned());
                    } else {
                        sitemaps_beyond += 1;
                    }
                }
            }
        }
        let group = if named.found { named } else { everyone };
        let mut rules = group.rules;
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.weight()), !rule.allow));
        Self {
            rules: rules.into(),
            crawl_delay_ms: group.crawl_delay_ms,
            sitemaps: sitemaps.into(),
            sitemaps_beyond,
        }
    }

    /// Whether this path and query may be requested. A path that no rule matches may be.
    pub fn decide(&self, path_and_query: &str) -> Decision<'_> {
        if path_and_query == "/robots.txt" || self.rules.is_empty() {
            return Decision::without_rule(true);
        }
        let path = if path_and_query.starts_with('/') {
            spell_path(path_and_query)
        } else {
            spell_path(&format!("/{path_and_query}")).into_owned().into()
        };
        match self.rules.iter().find(|rule| rule.pattern.matches(&path)) {
            Some(rule) => Decision { allowed: rule.allow, line: rule.line, rule: rule.pattern.written() },
            None => Decision::without_rule(true),
        }
    }

    /// [`Robots::decide`] for a whole URL, whose host is taken to be the one the file came from.
    pub fn decide_url(&self, url: &CanonUrl) -> Decision<'_> {
        self.decide(url.path_and_query())
    }

    /// The longest Crawl-delay of the group, bounded by [`MAX_CRAWL_DELAY_MS`].
    pub fn crawl_delay_ms(&self) -> Option<u64> {
        self.crawl_delay_ms
    }

    /// The values of the Sitemap lines as written; they belong to no group.
    /// Sitemap lines that were left out because there are too many.
    pub fn sitemaps_beyond(&self) -> u32 {
        self.sitemaps_beyond
    }

    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// How many rules concern this crawler.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }
}

impl Group {
    fn slow_down(&mut self, delay_ms: u64) {
        self.crawl_delay_ms = self.crawl_delay_ms.max(Some(delay_ms));
    }
}

fn is_everyone(value: &str) -> bool {
    value.strip_prefix('*').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// `Lycosa/1.0 (beta)` names the product `Lycosa`.
fn product_token(value: &str) -> &str {
    let end = value.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'));
    value.get(..end.unwrap_or(value.len())).unwrap_or(value)
}

/// Seconds, perhaps with a fraction.
fn parse_delay_ms(value: &str) -> Option<u64> {
    let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds: f64 = is_number.then(|| value.parse().ok()).flatten()?;
    // The cast saturates; the bound then makes a delay of it.
    Some(((seconds * 1_000.0) as u64).min(MAX_CRAWL_DELAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowed(file: &str, agent: &str, path: &str) -> bool {
        Robots::parse(file.as_bytes(), agent).decide(path).allowed
    }

    /// The file of RFC 9309, section 5.1.
    const RFC: &str = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n";

    #[test]
    fn the_examples_of_the_rfc() {
        assert!(!allowed(RFC, "foobot", "/x"));
        assert!(allowed(RFC, "FooBot", "/example/page.html"));
        assert!(allowed(RFC, "foobot", "/example/allowed.gif"));
        for bot in ["barbot", "bazbot"] {
            assert!(!allowed(RFC, bot, "/example/page.html"));
            assert!(allowed(RFC, bot, "/a.gif"));
        }
        assert!(allowed(RFC, "quxbot", "/example/"));
        assert!(!allowed(RFC, "other", "/a.gif"));
        assert!(!allowed(RFC, "other", "/example/x"));
        assert!(allowed(RFC, "other", "/publications/x"));
        let longest = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
        assert!(!allowed(longest, "foobot", "/example/page/disallowed.gif"));
        assert!(allowed(longest, "foobot", "/example/page/x"));
    }

    #[test]
    fn a_decision_names_its_line() {
        let robots =
            Robots::parse(b"# c\r\nUser-agent: *\r\n\r\nDisallow: /a # why\r\nAllow: /a/b\r\n", "lycosa");
        let decision = robots.decide("/a/x");
        assert_eq!((decision.allowed, decision.line, decision.rule), (false, 4, "/a"));
        let decision = robots.decide("/a/b");
        assert_eq!((decision.allowed, decision.line, decision.rule), (true, 5, "/a/b"));
        assert_eq!(robots.decide("/c"), Decision::without_rule(true));
    }

    #[test]
    fn allow_wins_a_tie() {
        assert!(allowed("User-agent: *\nDisallow: /a\nAllow: /a\n", "x", "/ab"));
        assert!(allowed("User-agent: *\nAllow: /a\nDisallow: /a\n", "x", "/ab"));
    }

    #[test]
    fn groups_of_one_name_are_joined() {
        let file =
            "User-agent: x\nDisallow: /a\n\nUser-agent: y\nDisallow: /b\n\nUser-agent: X/2.0\nDisallow: /c\n";
        assert!(!allowed(file, "x", "/a") && !allowed(file, "x", "/c") && allowed(file, "x", "/b"));
        assert!(
            allowed("User-agent: xy\nDisallow: /\n", "x", "/"),
            "another crawler's name begins with ours"
        );
    }

    #[test]
    fn other_lines_do_not_end_a_list_of_names() {
        let file = "User-agent: a\nSitemap: http://x/s.xml\nUser-agent: b\nCrawl-delay: 2\nDisallow: /\n";
        assert!(!allowed(file, "a", "/x") && !allowed(file, "b", "/x"));
        let robots = Robots::parse(file.as_bytes(), "a");
        assert_eq!(robots.sitemaps(), ["http://x/s.xml"]);
        assert_eq!(robots.crawl_delay_ms(), Some(2_000));
    }

    #[test]
    fn crawl_delays_are_seconds_and_bounded() {
        let delay = |value: &str| {
            Robots::parse(format!("User-agent: *\nCrawl-delay: {value}\n").as_bytes(), "x").crawl_delay_ms()
        };
        assert_eq!(delay("1.5"), Some(1_500));
        assert_eq!(delay("0"), Some(0));
        assert_eq!(delay("999999999999999999999"), Some(MAX_CRAWL_DELAY_MS));
        for bad in ["-1", "abc", "1e9", "nan", "inf", ".", "1.2.3", ""] {
            assert_eq!(delay(bad), None, "{bad}");
        }
    }

    #[test]
    fn line_ends_marks_and_missing_colons() {
        for file in [
            "\u{feff}User-agent: *\nDisallow: /a",
            "User-agent: *\rDisallow: /a\r",
            "user-agent *\nDISALLOW /a",
            "  User-Agent : *\n\tDisallow\t:\t/a\t",
            "User-agent: * # all\nDisalow: /a#x",
        ] {
            assert!(!allowed(file, "x", "/a"), "{file:?}");
            assert!(allowed(file, "x", "/b"), "{file:?}");
        }
        assert!(allowed("Disallow: /\nUser-agent: *\n", "x", "/a"), "a rule before any name is nobody's");
        assert!(allowed("User-agent: *\nDisallow:\n", "x", "/a"));
        assert!(allowed("User-agent: *\nDisallow: /\n", "x", "/robots.txt"));
    }

    #[test]
    fn a_huge_file_is_read_up_to_the_limit() {
        let mut file = b"User-agent: *\nDisallow: /first\n".to_vec();
        file.extend(b"# comment\n".repeat(60_000));
        file.extend(b"Disallow: /last\n");
        let robots = Robots::parse(&file, "x");
        assert!(!robots.decide("/first").allowed);
        assert!(robots.decide("/last").allowed);
        assert!(Robots::parse(&vec![b'a'; 600_000], "x").decide("/").allowed);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(file in prop::collection::vec(any::<u8>(), 0..400), path in ".{0,40}") {
            let _ = Robots::parse(&file, "x").decide(&path);
        }

        #[test]
        fn no_lines_panic(file in "(User-agent|Allow|Disallow|Crawl-delay|Sitemap|é)?[:# ]{0,2}[*$%/a-z0-9é\r\n]{0,60}") {
            let _ = Robots::parse(file.as_bytes(), "x").decide("/a%2");
        }
    }
}
