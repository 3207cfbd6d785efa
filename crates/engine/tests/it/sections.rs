//! Sites of which a part is broken or refuses: the rest is fetched, and what is broken is tried to the end.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use lycosa_types::{Exclusion, Failure, Outcome};

use crate::scripted::{Answer, Scripted};

/// A front page with a hundred links to pages of one kind, and then a hundred to good ones.
fn half_broken(same_directory: bool, broken: impl Fn() -> Answer + Send + Sync + 'static) -> Scripted {
    let bad = if same_directory { "/b" } else { "/bad/" };
    Scripted::start(move |ask| match ask.path.as_str() {
        "/robots.txt" => Answer::Status(404),
        "/" => {
            let pages = |prefix: &'static str| (0..100).map(move |n| format!("{prefix}{n}"));
            Answer::links("front", pages(bad).chain(pages("/good")))
        }
        path if path.starts_with("/b") => broken(),
        path => Answer::links(path, []),
    })
}

fn expect_the_good_half(site: &Scripted) {
    let mut config = site.config();
    config.politeness.retry_ms = 5;
    config.politeness.max_retry_ms = 40;
    site.crawl(config, &["http://site.test/"]);
    assert_eq!(site.fetched().len(), 101, "the front page and a hundred good ones");
    let records = site.records();
    for (url, record) in records.iter().filter(|(url, _)| url.contains("/b")) {
        assert!(matches!(record.outcome, Some(Outcome::Failed(_))), "{url}: {:?}", record.outcome);
        assert!(site.times(url) >= 1, "{url} was never asked for");
    }
}

#[test]
fn a_broken_section_does_not_end_its_host() {
    for same_directory in [false, true] {
        for broken in [500, 503, 429] {
            expect_the_good_half(&half_broken(same_directory, move || Answer::Status(broken)));
        }
        expect_the_good_half(&half_broken(same_directory, || Answer::Close));
    }
}

#[test]
fn a_section_that_recovers_loses_no_page() {
    let start = Instant::now();
    let site = half_broken(false, move || match start.elapsed() < Duration::from_millis(300) {
        true => Answer::Status(500),
        false => Answer::links("back again", []),
    });
    let mut config = site.config();
    config.politeness.retry_ms = 200;
    config.politeness.max_retry_ms = 2000;
    site.crawl(config, &["http://site.test/"]);
    assert_eq!(site.fetched().len(), 201);
}

/// A limit on requests within a window, for all connections together.
fn limited(most: usize, window: Duration, refusal: u16, fields: &'static str) -> Scripted {
    let answered: Mutex<Vec<Instant>> = Mutex::default();
    Scripted::start(move |ask| match ask.path.as_str() {
        "/robots.txt" => Answer::Status(404),
        path => {
            let mut answered = answered.lock().unwrap();
            let now = Instant::now();
            answered.retain(|at| now.duration_since(*at) < window);
            if answered.len() >= most {
                return Answer::Full { status: refusal, fields: fields.to_owned(), body: String::new() };
            }
            answered.push(now);
            let pages = (0..150).map(|n| format!("/page{n}"));
            Answer::links(path, pages.filter(|_| path == "/"))
        }
    })
}

#[test]
fn a_server_that_limits_the_rate_loses_no_page() {
    for (status, fields) in [(429, "Retry-After: 1\r\n"), (503, "")] {
        for per_host in [1, 4] {
            let site = limited(40, Duration::from_secs(1), status, fields);
            let mut config = site.config();
            config.politeness.per_host = per_host;
            config.politeness.retry_ms = 2000;
            config.politeness.max_retry_ms = 600_000;
            site.crawl(config, &["http://slow.test/"]);
            assert_eq!(site.fetched().len(), 151, "{status} with {per_host} at a time");
            let refused = site.asked().len() - 152;
            assert!(refused <= 20, "{refused} refused, {status} with {per_host} at a time");
            let store = site.store();
            let host = store.hosts().next().unwrap().unwrap().1;
            assert!(host.per_ks > 0, "the pace is remembered");
        }
    }
}

#[test]
fn a_page_that_is_refused_for_ever_ends_as_rate_limited() {
    let site = Scripted::start(|ask| match ask.path.as_str() {
        "/robots.txt" => Answer::Status(404),
        _ => Answer::Status(429),
    });
    let mut config = site.config();
    config.politeness.max_refused_ms = 500;
    let end = site.crawl(config, &["http://never.test/"]);
    let outcome = site.outcome("http://never.test/");
    assert_eq!(outcome, Some(Outcome::Failed(Failure::Overloaded { status: 429 })));
    assert_eq!(end.report.totals.outcomes.get("rate-limited"), Some(&1));
}

#[test]
fn a_robots_txt_that_fails_for_a_while_forbids_for_now() {
    let start = Instant::now();
    let site = Scripted::start(move |ask| match ask.path.as_str() {
        "/robots.txt" if start.elapsed() < Duration::from_millis(1500) => Answer::Status(503),
        "/robots.txt" => Answer::Status(404),
        path => Answer::links(path, []),
    });
    let end = site.crawl(site.config(), &["http://later.test/"]);
    assert_eq!(site.fetched(), ["http://later.test/"]);
    assert!(end.report.robots_failing.is_empty());
}

#[test]
fn hosts_whose_robots_txt_failed_to_the_end_are_named_and_asked_again_by_the_next_run() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let failing = std::sync::Arc::clone(&runs);
    let site = Scripted::start(move |ask| match ask.path.as_str() {
        "/robots.txt" if failing.load(std::sync::atomic::Ordering::Relaxed) => Answer::Status(500),
        "/robots.txt" => Answer::Status(404),
        path => Answer::links(path, []),
    });
    let mut config = site.config();
    config.politeness.rules_patience_ms = 300;
    let end = site.crawl(config.clone(), &["http://later.test/"]);
    let forbidden = site.outcome("http://later.test/");
    assert!(matches!(forbidden, Some(Outcome::Excluded(Exclusion::Robots { line: 0, .. }))), "{forbidden:?}");
    assert_eq!(end.report.robots_failing, ["http://later.test"]);
    runs.store(false, std::sync::atomic::Ordering::Relaxed);
    let end = site.crawl(config, &[]);
    assert_eq!(site.fetched(), ["http://later.test/"]);
    assert!(end.report.robots_failing.is_empty());
}
