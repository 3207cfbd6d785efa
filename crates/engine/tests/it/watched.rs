//! Pages that people watch: a refresh tells prices and hours from counters and clocks, keeps what it calls noise, and
//! stores the rest.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lycosa_engine::config::RefreshRule;
use lycosa_engine::{Config, Crawl, CrawlReader, Layout, clock};
use lycosa_page::NoiseMode;
use lycosa_types::{CanonRules, CanonUrl, Change, PastVisit, UnixMs};

/// A server whose pages are told by their path and the round.
fn serve(body: fn(&str, u64) -> String) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let round = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&round);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(5000).flatten() {
            let (mut line, mut field) = (String::new(), String::new());
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).ok();
            while reader.read_line(&mut field).is_ok_and(|bytes| bytes > 2) {
                field.clear();
            }
            let path = line.split(' ').nth(1).unwrap_or("/");
            let (status, kind) = match path {
                "/robots.txt" => ("404 Not Found", "text/plain"),
                path if path.ends_with(".json") => ("200 OK", "application/json"),
                _ => ("200 OK", "text/html"),
            };
            let body = body(path, now.load(Ordering::SeqCst));
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length");
            write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).ok();
        }
    });
    (address, round)
}

struct Watched {
    dir: tempfile::TempDir,
    address: SocketAddr,
    round: Arc<AtomicU64>,
    config: Config,
}

impl Watched {
    fn crawl(body: fn(&str, u64) -> String) -> Self {
        let (address, round) = serve(body);
        let mut config = Config::default();
        config.fetch.allow_net = vec!["127.0.0.0/8".into()];
        config.politeness.delay_ms = 0;
        config.politeness.ip_delay_ms = 0;
        config.politeness.per_host = 4;
        let watched = Self { dir: tempfile::tempdir().unwrap(), address, round, config };
        let seed = CanonUrl::parse(&watched.url("/"), &CanonRules::default()).unwrap();
        Crawl::open(watched.layout(), watched.config.clone(), &[seed]).unwrap().run().unwrap();
        watched
    }

    fn layout(&self) -> Layout {
        Layout::new(self.dir.path().join("crawl"))
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn refresh(&self) {
        self.round.fetch_add(1, Ordering::SeqCst);
        let before = UnixMs(clock::now().0 + 1);
        Crawl::refresh(self.layout(), self.config.clone(), before).unwrap().run().unwrap();
    }

    fn history(&self, path: &str) -> Vec<PastVisit> {
        let reader = CrawlReader::open(self.layout()).unwrap();
        reader.history(&reader.find(&self.url(path)).unwrap()).unwrap()
    }

    fn copy(&self, path: &str) -> String {
        let reader = CrawlReader::open(self.layout()).unwrap();
        let page = reader.archived(&reader.find(&self.url(path)).unwrap()).unwrap();
        String::from_utf8(page.decode().unwrap().payload).unwrap()
    }
}

const PRODUCTS: u64 = 30;

fn links() -> String {
    (1..=PRODUCTS).map(|n| format!("<p><a href=/p{n}>product {n}</a></p>")).collect()
}

fn number_of(path: &str) -> u64 {
    path.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

fn shop(path: &str, round: u64) -> String {
    let n = number_of(path);
    if n == 0 {
        return format!("<title>Shop</title><h1>All products</h1>{}<p>Aufrufe: {}</p>", links(), 900 + round);
    }
    format!(
        "<title>Product {n}</title><h1>Product {n}</h1><p>Thing number {n}, made of {} and iron.</p>\
         <p>Price: €1,{}.00</p><p>{} in stock</p><table><tr><td>Mon-Fri</td><td>{}:00-17:00</td></tr></table>\
         <p>Views: {}</p>",
        ["wood", "glass", "steel"][n as usize % 3],
        200 + n * 7 + round * n,
        5 + (n * 3 + round) % 40,
        8 + round % 3,
        1000 + n + round * 3,
    )
}

/// All pages of a shop change price, stock and hours in lines of the same shape.
#[test]
fn prices_that_change_on_every_page_are_news_and_stored() {
    let watched = Watched::crawl(shop);
    for round in 1..=2 {
        watched.refresh();
        for n in 1..=PRODUCTS {
            let path = format!("/p{n}");
            let visits = watched.history(&path);
            assert_eq!(
                visits.last().map(|visit| visit.change),
                Some(Change::Text),
                "{path} in round {round}"
            );
            assert_eq!(watched.copy(&path), shop(&path, round), "the new copy is stored");
        }
        let visits = watched.history("/");
        let last = visits.last().unwrap();
        assert_eq!((last.change, last.signal.as_str()), (Change::Noise, "visit-counter"));
        // The page's last line: a title is none of them.
        let kept = &last.kept_lines[0];
        assert_eq!((kept.rule.as_str(), kept.line), ("visit counter", 2 + PRODUCTS as u32));
        assert_eq!(kept.text, format!("Aufrufe: {}", 900 + round));
    }
}

#[test]
fn with_noise_off_whatever_differs_is_news() {
    let mut watched = Watched::crawl(|path, round| match number_of(path) {
        0 => format!("<h1>Front</h1>{}<p>Views: {round}</p>", "<p><a href=/p1>one</a></p>"),
        _ => format!("<h1>One</h1><p>text</p><!-- {round} -->"),
    });
    watched.config.refresh.noise = NoiseMode::Off;
    watched.refresh();
    for path in ["/", "/p1"] {
        let change = watched.history(path).last().unwrap().change;
        assert!(change.is_news(), "{path}: {change:?}");
    }
}

/// Two pages alike: which of them repeats the other is known before a refresh, and after it.
#[test]
fn a_refresh_does_not_forget_near_duplicates() {
    fn twins(path: &str, round: u64) -> String {
        let text: String = (0..400).map(|n| format!("word{} ", (n * 7919u64) % 1009)).collect();
        match number_of(path) {
            0 => "<a href=/p1>one</a> <a href=/p2>two</a>".to_owned(),
            n => format!("<h1>Twin</h1><p>{text}</p><p>Own {}</p>", if n == 1 { 1 } else { 20 + round }),
        }
    }
    let watched = Watched::crawl(twins);
    let duplicates = || -> Vec<_> {
        let reader = CrawlReader::open(watched.layout()).unwrap();
        let near = |path| {
            let record = reader.find(&watched.url(path)).unwrap();
            record.visit.and_then(|facts| facts.near_duplicate).map(|near| near.of)
        };
        ["/p1", "/p2"].map(near).into()
    };
    let before = duplicates();
    assert_eq!(before.iter().flatten().count(), 1, "{before:?}");
    for _ in 0..2 {
        watched.refresh();
        assert_eq!(duplicates(), before);
    }
}

/// A document that is no page is compared by value: what was made for one request is noise, a price is none.
#[test]
fn json_is_compared_by_value() {
    fn offers(path: &str, round: u64) -> String {
        match path {
            "/rates.json" => format!("{{\"views\": {round}, \"rate\": {{\"usd\": 1.0{}}}}}", 80 + round / 2),
            "/same.json" => format!("{{\"views\":{}{round},\"name\":\"wolf\"}}", " ".repeat(round as usize)),
            _ => "<a href=/rates.json>rates</a> <a href=/same.json>same</a>".to_owned(),
        }
    }
    let watched = Watched::crawl(offers);
    watched.refresh();
    watched.refresh();
    let changes = |path| watched.history(path).iter().map(|visit| visit.change).collect::<Vec<_>>();
    assert_eq!(changes("/rates.json"), [Change::First, Change::Noise, Change::Text]);
    assert_eq!(changes("/same.json"), [Change::First, Change::Noise, Change::Noise]);
    assert_eq!(watched.copy("/rates.json"), offers("/rates.json", 2));
}

#[test]
fn a_users_rules_say_what_matters_on_which_pages() {
    fn quotes(path: &str, round: u64) -> String {
        match number_of(path) {
            0 => "<a href=/p1>one</a> <a href=/q2>two</a>".to_owned(),
            n => format!(
                "<h1>Number {n}</h1><p id=price>€{n}</p><p class=quote>Say {}</p>",
                ["this", "that"][round as usize % 2]
            ),
        }
    }
    let mut watched = Watched::crawl(quotes);
    let rule =
        RefreshRule { urls: "*/p*".to_owned(), ignore: vec!["p.quote".to_owned()], ..RefreshRule::default() };
    watched.config.refresh.rules = vec![rule];
    // The first copies were signed without the rule.
    watched.refresh();
    watched.refresh();
    let changes = |path| watched.history(path).last().unwrap().clone();
    let ruled = changes("/p1");
    assert_eq!((ruled.change, ruled.signal.as_str()), (Change::Noise, "user-rule"));
    assert_eq!(changes("/q2").change, Change::Text);
    watched.config.refresh.rules[0].ignore = vec!["p:first-child".to_owned()];
    assert!(watched.config.check().is_err(), "a selector that cannot be read is refused");
}
