//! Sites of any host name on one port of this machine, whose answers are a function, and crawls of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa_engine::{Config, Crawl, CrawlEnd, Layout};
use lycosa_frontier::Store;
use lycosa_types::{CanonRules, CanonUrl, Outcome, UrlRecord};

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub host: String,
    pub path: String,
    pub cookie: Option<String>,
    /// The number of the connection it came over.
    pub connection: usize,
}

impl Ask {
    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

/// What the site says.
pub enum Answer {
    Page(String),
    Status(u16),
    Full {
        status: u16,
        fields: String,
        body: String,
    },
    /// The connection closes without a word.
    Close,
}

impl Answer {
    pub fn redirect(to: &str) -> Self {
        Self::Full { status: 301, fields: format!("Location: {to}\r\n"), body: String::new() }
    }

    /// A page with links and some words of its own.
    pub fn links(words: &str, links: impl IntoIterator<Item = String>) -> Self {
        let links: String = links.into_iter().map(|to| format!("<a href=\"{to}\">{to}</a>\n")).collect();
        Self::Page(format!("<html><title>{words}</title><p>{words}</p>{links}</html>"))
    }
}

type Script = Arc<dyn Fn(&Ask) -> Answer + Send + Sync>;

pub struct Scripted {
    pub port: u16,
    pub dir: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Ask>>>,
    over: Arc<AtomicBool>,
}

impl Scripted {
    /// robots.txt is 404 everywhere unless the script answers it otherwise.
    pub fn start(script: impl Fn(&Ask) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, over): (Arc<Mutex<Vec<Ask>>>, Arc<AtomicBool>) = Default::default();
        let script: Script = Arc::new(script);
        let (seen, done) = (Arc::clone(&asked), Arc::clone(&over));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                if let Ok(stream) = stream {
                    std::thread::spawn(move || serve(stream, number, &script, &seen));
                }
            }
        });
        Self { port, dir: tempfile::tempdir().unwrap(), asked, over }
    }

    /// As fast as it goes, with quick retries; any host name leads here.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.fetch.allow_net = vec!["127.0.0.0/8".into()];
        config.fetch.resolve = vec![format!("*:80:127.0.0.1:{}", self.port)];
        config.politeness.delay_ms = 0;
        config.politeness.ip_delay_ms = 0;
        config.politeness.retry_ms = 20;
        config.politeness.max_retry_ms = 200;
        config.memory.budget_mib = 64;
        config
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.dir.path().join("crawl"))
    }

    pub fn crawl(&self, config: Config, seeds: &[&str]) -> CrawlEnd {
        let seeds: Vec<CanonUrl> =
            seeds.iter().map(|seed| CanonUrl::parse(seed, &CanonRules::default()).unwrap()).collect();
        Crawl::open(self.layout(), config, &seeds).unwrap().run().unwrap()
    }

    pub fn store(&self) -> Store {
        Store::open(&self.layout().state(), 32 << 20).unwrap()
    }

    pub fn records(&self) -> BTreeMap<String, UrlRecord> {
        self.store()
            .urls()
            .map(|record| record.unwrap().1)
            .map(|record| (record.url.clone(), record))
            .collect()
    }

    /// The URLs that were fetched.
    pub fn fetched(&self) -> Vec<String> {
        let is_fetched = |record: &UrlRecord| matches!(record.outcome, Some(Outcome::Fetched { .. }));
        self.records().into_iter().filter(|(_, record)| is_fetched(record)).map(|(url, _)| url).collect()
    }

    pub fn outcome(&self, url: &str) -> Option<Outcome> {
        self.records().remove(url).and_then(|record| record.outcome)
    }

    pub fn asked(&self) -> Vec<Ask> {
        self.asked.lock().unwrap().clone()
    }

    /// How often a URL was asked for.
    pub fn times(&self, url: &str) -> usize {
        self.asked().iter().filter(|ask| ask.url() == url).count()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, connection: usize, script: &Script, asked: &Mutex<Vec<Ask>>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let _ = stream.set_nodelay(true);
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut ask = Ask { host: String::new(), path: String::new(), cookie: None, connection };
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if ask.path.is_empty() {
                ask.path = line.split(' ').nth(1).unwrap_or("/").to_owned();
            } else if let Some(host) = line.strip_prefix("Host: ") {
                ask.host = host.to_owned();
            } else if let Some(cookie) = line.strip_prefix("Cookie: ") {
                ask.cookie = Some(cookie.to_owned());
            }
        }
        asked.lock().unwrap().push(ask.clone());
        let (status, fields, body) = match script(&ask) {
            Answer::Page(body) => (200, "Content-Type: text/html\r\n".to_owned(), body),
            Answer::Status(status) => (status, String::new(), format!("status {status}")),
            Answer::Full { status, fields, body } => (status, fields, body),
            Answer::Close => return,
        };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
        if writer.write_all(&[head.as_bytes(), body.as_bytes()].concat()).is_err() {
            return;
        }
    }
}
