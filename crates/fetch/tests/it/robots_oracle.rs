//! Our robots.txt parser against the port of Google's.
//!
//! The oracle's wildcard search loses candidates when several are alive (it inserts into the list it walks), so files
//! for it hold at most one `*` per pattern, at its end; wildcards are checked against a plain definition in the unit
//! tests of the pattern. Non-ASCII is left out because the oracle panics on it, and escapes because it keeps those
//! that RFC 9309 decodes. It also lets a Sitemap or unknown line end a list of names, which RFC 9309 2.2.4 forbids: such
//! lines come right after a rule only.

use lycosa_fetch::Robots;
use proptest::prelude::*;
use robotstxt::DefaultMatcher;

fn line() -> impl Strategy<Value = String> {
    let pattern = "/?[ab/]{0,4}[*]?[$]?";
    prop_oneof![
        3 => "(User-agent|user-agent|USERAGENT): ?(lycosa|Lycosa/1.0|lycosabot|other|\\*|\\* x)",
        4 => pattern.prop_map(|value| format!("Disallow: {value}")),
        3 => pattern.prop_map(|value| format!("allow:{value}")),
        1 => pattern.prop_map(|value| format!("Disallow {value}")),
        1 => "(# c|Disallow: /a # b|dissallow: /b|nonsense|: x|)",
        1 => "Disallow: /[ab]\n(Sitemap: /s|Crawl-delay: 1|Noindex: /a)",
    ]
}

fn file() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..12), prop::sample::select(vec!["\n", "\r\n", "\r"]))
        .prop_map(|(lines, end)| lines.join(end))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decisions_agree(file in file(), path in "/[ab/]{0,6}") {
        let url = format!("http://h.test{path}");
        let theirs = DefaultMatcher::default().one_agent_allowed_by_robots(&file, "lycosa", &url);
        let robots = Robots::parse(file.as_bytes(), "lycosa");
        let ours = robots.decide(&path);
        prop_assert_eq!(ours.allowed, theirs, "{} decided by line {}", path, ours.line);
    }
}
