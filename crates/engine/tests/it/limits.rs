//! What a limit cuts is counted, and `why` names the limit and the page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lycosa_engine::Why;
use lycosa_engine::limits::{Counter, Limit, Setting};

use crate::handmade::{Handmade, answer, html, missing};

const DOCUMENT: &str = include_str!("../../../../docs/limits.md");

#[test]
fn every_limit_has_a_line_of_documentation_a_setting_and_a_counter() {
    let config: toml::Table = lycosa_engine::config::TEMPLATE.parse().unwrap();
    let mut names = BTreeSet::new();
    for limit in Limit::ALL {
        assert!(names.insert(limit.name()), "{} twice", limit.name());
        let line = DOCUMENT.lines().find(|line| line.starts_with(&format!("| `{}` |", limit.name())));
        let line = line.unwrap_or_else(|| panic!("docs/limits.md says nothing of {}", limit.name()));
        match limit.setting() {
            Setting::Key(key) => {
                let (section, key) = key.split_once('.').unwrap();
                let default = config.get(section).and_then(|section| section.get(key));
                assert!(default.is_some(), "no setting {key}");
            }
            Setting::Fixed(reason) => assert!(line.contains(reason), "{line}"),
        }
        if let Counter::Outcome(word) = limit.counter() {
            assert!(line.contains(word), "{line} does not name {word}");
        }
        assert_eq!(Limit::named(limit.name()), Some(limit));
        assert!(!limit.what().is_empty());
    }
}

/// The sources that a page or a URL goes through.
fn sources() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let mut found = Vec::new();
    for name in ["types", "page", "frontier", "fetch", "engine"] {
        let root = crates.join(name).join("src");
        let mut dirs = vec![root.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    dirs.push(entry);
                } else {
                    let path = entry.strip_prefix(&root).unwrap().to_str().unwrap();
                    found.push((format!("{name}/{path}"), entry.clone()));
                }
            }
        }
    }
    found
}

#[test]
fn every_named_limit_in_the_sources_is_documented() {
    let mut undocumented = Vec::new();
    let mut known = 0;
    for (name, path) in sources() {
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let line = line.trim_start_matches("pub").trim_start();
            let line = line.strip_prefix("(crate)").or(line.strip_prefix("(super)")).unwrap_or(line);
            let constant = line.trim_start().strip_prefix("const ").and_then(|rest| rest.split(':').next());
            let Some(constant) = constant.filter(|name| name.starts_with("MAX_") || name.starts_with("MOST"))
            else {
                continue;
            };
            known += 1;
            if !DOCUMENT.contains(&format!("| `{name}` | `{constant}` |")) {
                undocumented.push(format!("{name} {constant}"));
            }
        }
    }
    assert!(known > 100, "the constants are found");
    assert!(undocumented.is_empty(), "docs/limits.md must name: {undocumented:#?}");
}

fn why(site: &Handmade, url: &str) -> Why {
    let reader = site.reader();
    lycosa_engine::why(&reader.store, &reader.config, url).unwrap()
}

fn index_page(links: usize) -> Vec<u8> {
    html(&(0..links).map(|n| format!("<a href=/e/{n}>entry {n}</a>\n")).collect::<String>())
}

#[test]
fn a_large_index_page_gives_all_of_its_links() {
    let site = Handmade::start(|_, path| match path {
        "/" => index_page(34_954),
        _ => missing(),
    });
    let mut config = site.config();
    config.limits.max_pages = 1;
    let end = site.crawl(config, "http://a.test/");
    assert_eq!(end.report.totals.accepted, 34_955);
    assert!(end.report.totals.cut.is_empty(), "{:?}", end.report.totals.cut);
}

#[test]
fn links_beyond_the_limit_are_counted_and_explained() {
    let site = Handmade::start(|_, path| match path {
        "/" => index_page(50),
        path if path.starts_with("/e/") => html("an entry"),
        _ => missing(),
    });
    let mut config = site.config();
    config.page.max_links = 20;
    let end = site.crawl(config, "http://a.test/");
    let cut = &end.report.totals.cut["page.max_links"];
    assert_eq!((cut.count, cut.pages, cut.example.as_str()), (30, 1, "http://a.test/"));
    assert_eq!(why(&site, "http://a.test/").cuts, [("page.max_links".to_owned(), 30)]);
    let answer = why(&site, "http://a.test/e/40");
    assert_eq!(answer.may_be_on, [("http://a.test/".to_owned(), 30)]);
    let reader = site.reader();
    let page = reader.find("http://a.test/").unwrap();
    assert!(reader.links_without_limits(&page).unwrap().contains("http://a.test/e/40"));
}

#[test]
fn entries_of_sitemaps_beyond_the_limits_are_counted() {
    let site = Handmade::start(|_, path| match path {
        "/robots.txt" => answer("200 OK", "", &"Sitemap: http://a.test/map.xml\n".repeat(1_010)),
        "/map.xml" => {
            let long = format!("<url><loc>http://a.test/{}</loc></url>", "x".repeat(3_000));
            let entries: String =
                (0..30).map(|n| format!("<url><loc>http://a.test/p/{n}</loc></url>")).collect();
            answer("200 OK", "Content-Type: text/xml\r\n", &format!("<urlset>{long}{entries}</urlset>"))
        }
        _ => html("a page"),
    });
    let mut config = site.config();
    config.page.max_list_entries = 10;
    let cut = site.crawl(config, "http://a.test/").report.totals.cut;
    let count = |name: &str| cut.get(name).map_or(0, |cut| cut.count);
    assert_eq!(count("page.max_list_entries"), 20);
    assert_eq!(count("page.max_list_url_bytes"), 1);
    assert_eq!(count("robots-sitemaps"), 10);
}

#[test]
fn a_sitemap_index_within_an_index_is_not_followed_and_said_so() {
    let index = |entry: &str| {
        let body = format!("<sitemapindex><sitemap><loc>http://a.test{entry}</loc></sitemap></sitemapindex>");
        answer("200 OK", "Content-Type: text/xml\r\n", &body)
    };
    let site = Handmade::start(move |_, path| match path {
        "/robots.txt" => answer("200 OK", "", "Sitemap: http://a.test/index1.xml\n"),
        "/index1.xml" => index("/index2.xml"),
        "/index2.xml" => index("/index3.xml"),
        "/" => html("a page"),
        _ => missing(),
    });
    let end = site.crawl(site.config(), "http://a.test/");
    assert!(!site.asked().iter().any(|url| url.ends_with("/index3.xml")), "{:?}", site.asked());
    assert_eq!(end.report.totals.cut["page.max_index_levels"].count, 1);
    let answer = why(&site, "http://a.test/index3.xml");
    assert_eq!(answer.left_out_on.as_deref(), Some("http://a.test/index2.xml"));
    assert!(answer.because.contains("page.max_index_levels"), "{}", answer.because);
}

#[test]
fn why_names_the_rule_and_the_page_for_links_that_were_left_out() {
    let deep = |to: &str| html(&format!("<a href={to}>on</a>"));
    let site = Handmade::start(move |_, path| match path {
        "/" => html(
            "<a href=/meta>a</a><a href=/header>b</a><a href=/rel rel=nofollow>c</a>\
             <img src=/picture.png><a href=/1>d</a><a href=/q>e</a>",
        ),
        "/meta" => html("<meta name=robots content=nofollow><a href=/by-meta>x</a><img src=/by-meta.png>"),
        "/header" => answer(
            "200 OK",
            "Content-Type: text/html\r\nX-Robots-Tag: nofollow\r\n",
            "<a href=/by-header>x</a>",
        ),
        "/1" => deep("/2"),
        "/2" => deep("/3"),
        "/q" => html("<a href='/s?a=1'>1</a><a href='/s?a=2'>2</a>"),
        path if path.starts_with("/s") => html("found"),
        _ => missing(),
    });
    let mut config = site.config();
    config.scope.depth = 2;
    config.scope.images = true;
    config.archive.requisites = false;
    config.traps.max_queries_per_path = 1;
    let end = site.crawl(config, "http://a.test/");
    let totals = &end.report.totals;
    assert_eq!(totals.cut["traps.max_queries_per_path"].count, 1);
    assert_eq!(totals.cut["scope.depth"].count, 1);
    assert_eq!((totals.rejected["nofollow"], totals.nofollow_pages), (4, 2));
    for (url, page, word) in [
        ("/by-meta", "/meta", "nofollow in a robots meta tag"),
        ("/by-meta.png", "/meta", "nofollow in a robots meta tag"),
        ("/by-header", "/header", "nofollow in X-Robots-Tag"),
        ("/rel", "/", "rel=nofollow"),
        ("/3", "/2", "scope.depth"),
        ("/s?a=2", "/q", "traps.max_queries_per_path"),
    ] {
        let answer = why(&site, &format!("http://a.test{url}"));
        assert_eq!(answer.state, "left-out", "{url}: {}", answer.because);
        assert_eq!(answer.left_out_on.as_deref(), Some(format!("http://a.test{page}").as_str()), "{url}");
        assert!(answer.because.contains(word), "{url}: {}", answer.because);
    }
    assert_eq!(why(&site, "http://a.test/picture.png").state, "done");
}

#[test]
fn an_image_that_is_not_fetched_by_setting_is_explained() {
    let site = Handmade::start(|_, path| match path {
        "/" => html("<img src=/picture.png>"),
        _ => missing(),
    });
    let mut config = site.config();
    config.archive.requisites = false;
    site.crawl(config, "http://a.test/");
    let answer = why(&site, "http://a.test/picture.png");
    assert!(answer.because.contains("scope.images"), "{}", answer.because);
}
