//! What pages need to look as they do: fetched with an archive, from any host, counted apart, followed no further.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use lycosa_engine::{Config, Crawl, CrawlEnd, Layout, why};
use lycosa_frontier::Store;
use lycosa_types::{CanonRules, CanonUrl, UrlRecord};

/// A server of a few paths; what isn't there is answered with 404.
struct Site {
    address: std::net::SocketAddr,
    pages: Arc<Mutex<BTreeMap<String, (&'static str, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start(host: &str) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let site =
            Self { address: listener.local_addr().unwrap(), pages: Arc::default(), asked: Arc::default() };
        let (pages, asked) = (Arc::clone(&site.pages), Arc::clone(&site.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, asked) = (Arc::clone(&pages), Arc::clone(&asked));
                std::thread::spawn(move || answer(stream, &pages, &asked));
            }
        });
        site
    }

    fn put(&self, path: &str, media_type: &'static str, body: &str) {
        self.pages.lock().unwrap().insert(path.to_owned(), (media_type, body.to_owned()));
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

fn answer(
    mut stream: TcpStream,
    pages: &Mutex<BTreeMap<String, (&'static str, String)>>,
    asked: &Mutex<Vec<String>>,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let page = pages.lock().unwrap().get(&path).cloned();
    asked.lock().unwrap().push(path);
    let (status, media_type, body) = match page {
        Some((media_type, body)) => ("200 OK", media_type, body),
        None => ("404 Not Found", "text/plain", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all([head, body].concat().as_bytes());
}

fn config() -> Config {
    let mut config = Config::default();
    config.fetch.allow_net = vec!["127.0.0.0/8".into()];
    config.politeness.delay_ms = 0;
    config.politeness.ip_delay_ms = 0;
    config.judging.skip_mirrors = false;
    config
}

fn crawl(layout: &Layout, config: &Config, seed: &str) -> CrawlEnd {
    let seed = CanonUrl::parse(seed, &CanonRules::default()).unwrap();
    Crawl::open(layout.clone(), config.clone(), &[seed]).unwrap().run().unwrap()
}

fn records(layout: &Layout) -> BTreeMap<String, UrlRecord> {
    let store = Store::open(&layout.state(), 32 << 20).unwrap();
    store.urls().map(|record| record.unwrap().1).map(|record| (record.url.clone(), record)).collect()
}

/// Two hosts: pages on one, requisites on both.
fn two_sites() -> (Site, Site) {
    let (home, other) = (Site::start("127.0.0.1"), Site::start("127.0.0.2"));
    let page = format!(
        "<html><link rel=stylesheet href=/s.css><img src=/a.png srcset='/a2.png 2x, /no/a3.png 3x'>\
         <script src='{}'></script><img src='{}'><a href=/b>b</a><a href='{}'>away</a>\
         <p style='background:url(/in.png)'>words of the page</p></html>",
        other.url("/lib.js"),
        other.url("/far.png"),
        other.url("/page"),
    );
    home.put("/", "text/html", &page);
    home.put(
        "/b",
        "text/html",
        "<html><link rel=stylesheet href=s.css><p>another page, with other words</p></html>",
    );
    home.put("/robots.txt", "text/plain", "User-agent: *\nDisallow: /no/\n");
    home.put(
        "/s.css",
        "text/css",
        &format!("@import '{}'; @font-face{{src:url(f.woff)}}", other.url("/more.css")),
    );
    other.put("/more.css", "text/css", "a{background:url(deep.png)} /* <a href='/page2'> */");
    other.put("/lib.js", "text/javascript", "var a = '<a href=\"/page3\">';");
    for path in ["/a.png", "/a2.png", "/in.png", "/f.woff"] {
        home.put(path, "image/png", path);
    }
    for path in ["/far.png", "/deep.png"] {
        other.put(path, "image/png", path);
    }
    other.put("/page", "text/html", "<html>away</html>");
    (home, other)
}

#[test]
fn requisites_are_archived_counted_apart_and_followed_no_further() {
    let (home, other) = two_sites();
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("crawl"));
    let end = crawl(&layout, &config(), &home.url("/"));
    let totals = &end.report.totals;
    assert_eq!((totals.pages, totals.requisites, totals.requisites_found), (2, 9, 10), "{totals:?}");
    assert_eq!(totals.requisite_visits, 10);
    assert_eq!(totals.requisite_outcomes.get("robots"), Some(&1), "{:?}", totals.requisite_outcomes);
    assert_eq!(totals.outcomes.get("fetched"), Some(&2), "{:?}", totals.outcomes);
    assert_eq!(totals.accepted, 2);
    for (site, path, times) in [
        (&home, "/s.css", 1),
        (&home, "/a.png", 1),
        (&home, "/a2.png", 1),
        (&home, "/no/a3.png", 0),
        (&home, "/in.png", 1),
        (&home, "/f.woff", 1),
        (&other, "/robots.txt", 1),
        (&other, "/more.css", 1),
        (&other, "/deep.png", 1),
        (&other, "/lib.js", 1),
        (&other, "/far.png", 1),
        (&other, "/page", 0),
        (&other, "/page2", 0),
        (&other, "/page3", 0),
    ] {
        assert_eq!(site.asked(path), times, "{path}");
    }
    let records = records(&layout);
    let marked: Vec<&str> =
        records.values().filter(|record| record.requisite).map(|record| record.url.as_str()).collect();
    assert_eq!(marked.len(), 10, "{marked:?}");
    let archived = |record: &&UrlRecord| record.visit.as_ref().is_some_and(|visit| visit.archived.is_some());
    assert_eq!(records.values().filter(archived).count(), 11);
    let store = Store::open(&layout.state(), 32 << 20).unwrap();
    let answer = why::why(&store, &config(), &other.url("/deep.png")).unwrap();
    let style = other.url("/more.css");
    assert!(answer.because.starts_with(&format!("a requisite of {style}")), "{}", answer.because);
}

#[test]
fn without_requisites_or_an_archive_pages_alone_are_asked_for() {
    for archive in [true, false] {
        let (home, other) = two_sites();
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("crawl"));
        let mut config = config();
        config.archive.enabled = archive;
        config.archive.requisites = !archive;
        let end = crawl(&layout, &config, &home.url("/"));
        let totals = &end.report.totals;
        assert_eq!((totals.pages, totals.requisites_found), (2, 0));
        assert!(other.asked.lock().unwrap().is_empty());
        assert_eq!(home.asked("/s.css"), 0);
    }
}

#[test]
fn a_limit_of_pages_leaves_none_of_them_without_its_requisites() {
    let (home, other) = (Site::start("127.0.0.1"), Site::start("127.0.0.2"));
    for number in 0..30 {
        let image = other.url(&format!("/{number}.png"));
        let links: String = (0..3).map(|link| format!("<a href=/{}>x</a>", number * 3 + link + 1)).collect();
        let words = format!("page {number} says {}", number * 7919);
        let page =
            format!("<html><link rel=stylesheet href=/{number}.css><img src='{image}'>{links}{words}</html>");
        home.put(&format!("/{number}"), "text/html", &page);
        home.put(&format!("/{number}.css"), "text/css", &format!("a{{b:url(/{number}.gif)}}"));
        home.put(&format!("/{number}.gif"), "image/gif", &format!("gif {number}"));
        other.put(&format!("/{number}.png"), "image/png", &format!("png {number}"));
    }
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("crawl"));
    let mut config = config();
    config.limits.max_pages = 5;
    // The host of the images is slower than that of the pages.
    other.put("/robots.txt", "text/plain", "User-agent: *\nCrawl-delay: 0.1\n");
    for (run, pages) in [(1, 5), (2, 10), (3, 15)] {
        let end = crawl(&layout, &config, &home.url("/0"));
        let totals = &end.report.totals;
        assert_eq!(totals.pages, pages, "run {run}");
        assert_eq!((totals.requisites, totals.requisites_found), (3 * pages, 3 * pages), "run {run}");
    }
    config.limits.max_pages = 0;
    let end = crawl(&layout, &config, &home.url("/0"));
    assert_eq!((end.report.totals.pages, end.report.totals.requisites), (30, 90));
    assert!((0..30).all(|number| other.asked(&format!("/{number}.png")) == 1));
}

#[test]
fn a_page_met_as_a_requisite_first_is_a_page() {
    let home = Site::start("127.0.0.1");
    home.put("/", "text/html", "<html><object data=/in.html></object><img src=/in2.html> one</html>");
    home.put("/in.html", "text/html", "<html><a href=/deep>x</a><img src=/i.png> two</html>");
    home.put("/in2.html", "text/html", "<html><a href=/deep2>x</a> three</html>");
    home.put("/deep", "text/html", "<html>deep</html>");
    home.put("/deep2", "text/html", "<html>deep, too</html>");
    home.put("/i.png", "image/png", "image");
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("crawl"));
    let end = crawl(&layout, &config(), &home.url("/"));
    assert_eq!((end.report.totals.pages, end.report.totals.requisites), (5, 1), "{:?}", end.report.totals);
    let records = records(&layout);
    assert!(!records[&home.url("/in.html")].requisite && records[&home.url("/i.png")].requisite);
}
