//! Seeds whose site has moved: its pages belong to the crawl, wherever the redirects of the seed lead.

use lycosa_engine::Config;
use lycosa_frontier::ScopeKind;

use crate::scripted::{Answer, Scripted};

/// Two hops away, under a directory, with links to itself, to the rest of its host and to a host on the way.
fn moved_site() -> Scripted {
    Scripted::start(|ask| match (ask.host.as_str(), ask.path.as_str()) {
        (_, "/robots.txt") => Answer::Status(404),
        ("bare.test", _) => Answer::redirect("http://hop.test/"),
        ("hop.test", "/") => Answer::redirect("http://new.example.org/home/"),
        ("new.example.org", "/home/") => Answer::links(
            "start",
            ["/home/a", "/home/b", "/elsewhere", "http://hop.test/more", "http://other.test/"]
                .map(str::to_owned),
        ),
        ("new.example.org", path) => Answer::links(path, []),
        _ => Answer::links("not of the site", []),
    })
}

fn crawl(site: &Scripted, kind: ScopeKind, change: impl FnOnce(&mut Config)) -> lycosa_engine::CrawlEnd {
    let mut config = site.config();
    config.scope.kind = kind;
    change(&mut config);
    site.crawl(config, &["http://bare.test/"])
}

#[test]
fn a_seed_that_redirects_to_another_host_takes_the_scope_along() {
    let home =
        ["http://new.example.org/home/", "http://new.example.org/home/a", "http://new.example.org/home/b"];
    for (kind, elsewhere) in [(ScopeKind::Host, true), (ScopeKind::Domain, true), (ScopeKind::Prefix, false)]
    {
        let site = moved_site();
        let end = crawl(&site, kind, |_| {});
        let mut expected: Vec<&str> = home.to_vec();
        expected.extend(elsewhere.then_some("http://new.example.org/elsewhere"));
        expected.sort_unstable();
        assert_eq!(site.fetched(), expected, "{kind:?}");
        let moved = &end.report.moved[0];
        assert_eq!((moved.seed.as_str(), moved.to.as_str()), ("http://bare.test/", home[0]));
        let mut config = site.config();
        config.scope.kind = kind;
        let why = lycosa_engine::why(&site.store(), &config, home[1]).unwrap();
        assert!(why.because.contains("http://bare.test/ moved to"), "{}", why.because);
    }
}

#[test]
fn the_move_of_a_seed_survives_a_restart() {
    let site = moved_site();
    // Stopped right after the first page, and opened again with no seed named.
    crawl(&site, ScopeKind::Host, |config| config.limits.max_pages = 1);
    let mut config = site.config();
    config.scope.kind = ScopeKind::Host;
    let end = site.crawl(config, &[]);
    assert!(site.fetched().contains(&"http://new.example.org/home/b".to_owned()));
    assert_eq!(end.report.moved_count, 1);
}

#[test]
fn a_chain_of_redirects_that_does_not_end_is_bounded() {
    let site = Scripted::start(|ask| match ask.path.as_str() {
        "/robots.txt" => Answer::Status(404),
        _ => Answer::redirect(&format!("http://x{}.test/{}", ask.path.len(), "y".repeat(ask.path.len()))),
    });
    let mut config = site.config();
    config.scope.max_redirects = 5;
    site.crawl(config, &["http://bare.test/"]);
    assert_eq!(site.asked().iter().filter(|ask| ask.path != "/robots.txt").count(), 6);
}
