//! Endless spaces are told from large ones by what comes back, not by a number alone.

use lycosa_types::{Exclusion, Outcome};

use crate::handmade::{Handmade, answer, html, missing};

/// A word for a number, in letters.
fn word(mut n: usize) -> String {
    let mut out = "w".to_owned();
    loop {
        out.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
        if n == 0 {
            return out;
        }
    }
}

/// Text of its own for page `n`.
fn text(n: usize) -> String {
    let words: Vec<String> = (0..25).map(|w| word(n * 25 + w)).collect();
    format!("<p>{}</p>", words.join(" "))
}

fn number(path: &str) -> usize {
    path.rsplit(['/', '=']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn a_list_of_400_pages_that_only_next_leads_through_is_crawled_whole() {
    let site = Handmade::start(|_, path| {
        let n = number(path);
        let next = if n < 400 { format!("<a href=/list/{}>next</a>", n + 1) } else { String::new() };
        html(&format!("<h1>The list</h1>{}{next}", text(n)))
    });
    let end = site.crawl(site.config(), "http://a.test/list/1");
    assert_eq!(end.report.totals.pages, 400);
    assert_eq!(end.report.totals.rejected.get("endless"), None);
}

#[test]
fn a_depth_that_the_user_set_is_kept_to() {
    let site = Handmade::start(|_, path| {
        let n = number(path);
        html(&format!("{}<a href=/list/{}>next</a>", text(n), n + 1))
    });
    let mut config = site.config();
    config.scope.depth = 12;
    let end = site.crawl(config, "http://a.test/list/0");
    assert_eq!((end.report.totals.pages, end.report.totals.rejected["too-deep"]), (13, 1));
}

#[test]
fn an_endless_calendar_is_still_stopped_and_counted_as_a_guess() {
    const MONTHS: [&str; 4] = ["January", "February", "March", "April"];
    let site = Handmade::start(|_, path| {
        let n = number(path);
        let days: String = (1..29).map(|day| format!("<td>{day}</td>")).collect();
        html(&format!(
            "<h1>Events in {} {}</h1><table><tr>{days}</table><p>There are no events in this month, look at \
             another one of our months for events that are near you</p><a href=/month/{}>next</a>",
            MONTHS[n % 4],
            2000 + n / 4,
            n + 1
        ))
    });
    let end = site.crawl(site.config(), "http://a.test/month/0");
    let totals = &end.report.totals;
    assert!((11..20).contains(&totals.pages), "{} pages", totals.pages);
    assert!(totals.rejected["endless"] >= 1);
    let cut = &totals.cut["scope.depth"];
    assert!(cut.count >= 1 && !cut.example.is_empty(), "{cut:?}");
    let guess = end.report.left_out.iter().find(|part| part.reason == "endless").unwrap();
    assert!(guess.option.as_deref().is_some_and(|option| option.contains("--depth")), "{guess:?}");
    let last = format!("http://a.test/month/{}", totals.pages);
    let reader = site.reader();
    let why = lycosa_engine::why(&reader.store, &reader.config, &last).unwrap();
    assert!(why.because.contains("says nothing that is new"), "{}", why.because);
}

#[test]
fn a_wiki_behind_one_path_goes_beyond_the_number_of_queries() {
    const ARTICLES: usize = 5_300;
    let site = Handmade::start(|_, path| match path {
        "/" => {
            html(&(0..ARTICLES).map(|n| format!("<a href='/index.php?title={n}'>a</a>")).collect::<String>())
        }
        path if path.starts_with("/index.php") => html(&text(number(path))),
        _ => missing(),
    });
    let end = site.crawl(site.config(), "http://a.test/");
    assert_eq!(end.report.totals.pages as usize, 1 + ARTICLES);
    assert_eq!(end.report.totals.rejected.get("query-budget"), None);
}

#[test]
fn a_number_of_queries_that_the_user_set_is_kept_to() {
    let site = Handmade::start(|_, path| match path {
        "/" => html(&(0..50).map(|n| format!("<a href='/s?q={n}'>a</a>")).collect::<String>()),
        path => html(&text(number(path))),
    });
    let mut config = site.config();
    config.traps.max_queries_per_path = 20;
    let end = site.crawl(config, "http://a.test/");
    assert_eq!((end.report.totals.pages, end.report.totals.rejected["query-budget"]), (21, 30));
}

#[test]
fn an_endless_search_is_stopped_and_each_url_says_why() {
    // Each page leads to eight others, and all say the same.
    let site = Handmade::start(|_, path| {
        let n = number(path);
        let more: String = (1..=3).map(|k| format!("<a href='/s?facet={}'>more</a>", n * 3 + k)).collect();
        html(&format!("<p>Lamps of all kinds, for every desk and every room of the house</p>{more}"))
    });
    let end = site.crawl(site.config(), "http://a.test/s?facet=0");
    let totals = &end.report.totals;
    assert!((5_000..5_200).contains(&totals.pages), "{} pages", totals.pages);
    assert!(totals.outcomes["endless"] > 1_000, "{:?}", totals.outcomes);
    let reader = site.reader();
    let left_out = reader.store.urls().map(|found| found.unwrap().1);
    let found = left_out
        .filter(|record| matches!(record.outcome, Some(Outcome::Excluded(Exclusion::Endless { .. }))));
    assert_eq!(found.count() as u64, totals.outcomes["endless"]);
}

#[test]
fn links_in_header_fields_and_on_pages_with_status_300_and_404_are_followed() {
    let fields = |rel: &str, to: &str| format!("Content-Type: text/html\r\nLink: <{to}>; rel=\"{rel}\"\r\n");
    let site = Handmade::start(move |_, path| match path {
        "/" => answer(
            "200 OK",
            &fields("next", "/by-field"),
            "<a href=/choice>c</a><a href=/gone>g</a><a href=/data>d</a>",
        ),
        "/choice" => {
            answer("300 Multiple Choices", "Content-Type: text/html\r\n", "<a href=/of-choice>x</a>")
        }
        "/gone" => answer("404 Not Found", "Content-Type: text/html\r\n", "<a href=/of-gone>x</a>"),
        "/data" => answer("200 OK", "Content-Type: application/json\r\nLink: </of-data>; rel=next\r\n", "{}"),
        "/by-field" => answer("200 OK", &fields("stylesheet", "/no-page"), "x"),
        _ => html("a page"),
    });
    site.crawl(site.config(), "http://a.test/");
    let asked = site.asked();
    for path in ["/by-field", "/of-choice", "/of-gone", "/of-data"] {
        assert!(asked.contains(&format!("http://a.test{path}")), "{path} in {asked:?}");
    }
    assert!(!asked.contains(&"http://a.test/no-page".to_owned()));
}

#[test]
fn link_elements_that_lead_through_a_work_are_followed() {
    let site = Handmade::start(|_, path| match path {
        "/" => html(
            "<link rel=index href=/index><link rel=next href=/next><link rel=prev href=/prev>\
             <link rel=contents href=/contents><link rel=up href=/up><link rel=stylesheet href=/style>",
        ),
        _ => html("a page"),
    });
    site.crawl(site.config(), "http://a.test/");
    let asked = site.asked();
    for path in ["/index", "/next", "/prev", "/contents", "/up"] {
        assert!(asked.contains(&format!("http://a.test{path}")), "{path} in {asked:?}");
    }
}
