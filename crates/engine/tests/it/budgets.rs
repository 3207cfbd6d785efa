//! Budgets that keep one host, or endless subdomains, from filling the disk; and shares of a refresh.

use lycosa_engine::Crawl;
use lycosa_types::UnixMs;

use crate::handmade::{Handmade, answer, html, missing};

fn sitemap(from: usize, to: usize) -> Vec<u8> {
    let entries: String = (from..to).map(|n| format!("<url><loc>http://a.test/p/{n}</loc></url>")).collect();
    answer("200 OK", "Content-Type: text/xml\r\n", &format!("<urlset>{entries}</urlset>"))
}

#[test]
fn urls_of_sitemaps_have_a_budget_per_host_and_pages_do_not_use_it_up() {
    let site = Handmade::start(|_, path| match path {
        "/robots.txt" => answer("200 OK", "", "Sitemap: http://a.test/map.xml\n"),
        "/map.xml" => sitemap(0, 100),
        "/" => html("<a href=/p/99>a</a>"),
        _ => html("a page"),
    });
    let mut config = site.config();
    config.traps.max_listed_per_host = 20;
    let end = site.crawl(config, "http://a.test/");
    let totals = &end.report.totals;
    // The seed, 19 entries beside the sitemap itself, and the page that a link leads to.
    assert!((21..=22).contains(&totals.accepted), "{}", totals.accepted);
    assert!((80..=81).contains(&totals.rejected["listed-budget"]), "{:?}", totals.rejected);
    assert_eq!(totals.cut["traps.max_listed_per_host"].count, totals.rejected["listed-budget"]);
    let reader = site.reader();
    let why = lycosa_engine::why(&reader.store, &reader.config, "http://a.test/p/60").unwrap();
    assert!(why.because.contains("max_listed_per_host"), "{}", why.because);
}

#[test]
fn waiting_urls_have_a_budget_per_host_and_come_in_when_there_is_room() {
    let page = (0..100).map(|n| format!("<a href=/p/{n}>{n}</a>")).collect::<String>();
    let site = Handmade::start(move |_, path| match path {
        "/" => html(&page),
        _ => html("a page"),
    });
    let mut config = site.config();
    config.traps.max_waiting_per_host = 30;
    let end = site.crawl(config, "http://a.test/");
    let totals = &end.report.totals;
    assert!((30..=32).contains(&totals.accepted), "{}", totals.accepted);
    assert_eq!(totals.accepted + totals.rejected["waiting-budget"], 101);
    assert_eq!(totals.cut["traps.max_waiting_per_host"].count, totals.rejected["waiting-budget"]);
}

#[test]
fn endless_subdomains_of_one_domain_have_a_budget() {
    let site = Handmade::start(|host, path| match path {
        "/robots.txt" => missing(),
        _ => {
            let n =
                host.trim_start_matches('h').split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0usize);
            let links = (1..=5).map(|k| format!("<a href=http://h{}.many.test/>x</a>", n * 5 + k));
            html(&links.collect::<String>())
        }
    });
    let mut config = site.config();
    config.scope.kind = lycosa_frontier::ScopeKind::Any;
    config.traps.max_waiting_per_domain = 40;
    config.limits.max_pages = 60;
    let end = site.crawl(config, "http://h0.many.test/");
    assert!(end.report.waiting <= 40, "{} wait", end.report.waiting);
    assert!(end.report.totals.cut["traps.max_waiting_per_domain"].count > 50);
}

#[test]
fn a_robots_txt_without_end_is_obeyed_as_far_as_it_is_read() {
    let mut rules = "User-agent: *\nDisallow: /private\n".to_owned();
    rules.push_str(&"# nothing of interest in this line\n".repeat(900_000));
    let site = Handmade::start(move |_, path| match path {
        "/robots.txt" => answer("200 OK", "", &rules),
        "/" => html("<a href=/private>p</a><a href=/public>q</a>"),
        _ => html("a page"),
    });
    let end = site.crawl(site.config(), "http://a.test/");
    assert_eq!(end.report.totals.pages, 2, "{:?}", end.report.totals.outcomes);
    assert_eq!(end.report.totals.outcomes["robots"], 1);
}

#[test]
fn known_pages_and_new_ones_share_every_refresh_under_a_limit() {
    // Every page leads to many that are new.
    let site = Handmade::start(|_, path| {
        let n: usize = path.rsplit('/').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let links: String = (1..=8).map(|k| format!("<a href=/p/{}>x</a>", n * 8 + k)).collect();
        html(&format!("<p>page {n}</p>{links}"))
    });
    let mut config = site.config();
    config.limits.max_pages = 50;
    site.crawl(config.clone(), "http://a.test/p/0");
    config.limits.max_pages = 60;
    for run in 0..4 {
        let before = UnixMs(u64::MAX / 4);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let before = UnixMs((now as u64).min(before.0));
        let end = Crawl::refresh(site.layout(), config.clone(), before).unwrap().run().unwrap();
        let figures = &end.report.run;
        assert!(figures.revisits >= 20 && figures.pages >= 20, "run {run}: {figures:?}");
    }
}
