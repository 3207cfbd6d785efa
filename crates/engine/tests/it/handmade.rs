//! A server on loopback whose answers a test writes by hand, and a crawl of it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lycosa_engine::{Config, Crawl, CrawlEnd, CrawlReader, Layout};
use lycosa_types::{CanonRules, CanonUrl};

/// Makes a whole response from host and path.
type Respond = dyn Fn(&str, &str) -> Vec<u8> + Send + Sync;

pub struct Handmade {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    pub dir: tempfile::TempDir,
}

/// A page.
pub fn html(body: &str) -> Vec<u8> {
    answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

pub fn answer(status: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub fn missing() -> Vec<u8> {
    answer("404 Not Found", "", "")
}

impl Handmade {
    /// Answers with what `respond` makes of host and path.
    pub fn start(respond: impl Fn(&str, &str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let over = Arc::new(AtomicBool::new(false));
        let respond: Arc<Respond> = Arc::new(respond);
        let (log, end) = (Arc::clone(&asked), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
                std::thread::spawn(move || serve(stream.unwrap(), &*respond, &log));
            }
        });
        Self { port, asked, over, dir: tempfile::tempdir().unwrap() }
    }

    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.fetch.allow_net = vec!["127.0.0.0/8".into()];
        config.fetch.resolve = vec![format!("*.test:80:127.0.0.1:{}", self.port)];
        config.politeness.delay_ms = 0;
        config.politeness.ip_delay_ms = 0;
        config.politeness.max_delay_ms = 20;
        config.politeness.retry_ms = 20;
        config.politeness.per_host = 4;
        config.memory.budget_mib = 128;
        config.judging.skip_mirrors = false;
        config
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.dir.path().join("crawl"))
    }

    pub fn crawl(&self, config: Config, seed: &str) -> CrawlEnd {
        let seed = CanonUrl::parse(seed, &CanonRules::default()).unwrap();
        Crawl::open(self.layout(), config, &[seed]).unwrap().run().unwrap()
    }

    pub fn reader(&self) -> CrawlReader {
        CrawlReader::open(self.layout()).unwrap()
    }

    /// What was asked for so far, robots.txt left out.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|url| !url.ends_with("/robots.txt")).cloned().collect()
    }
}

impl Drop for Handmade {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, respond: &Respond, log: &Mutex<Vec<String>>) {
    let Ok(mut out) = stream.try_clone() else { return };
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut host = String::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("host")
            {
                host = value.trim().to_owned();
            }
        }
        log.lock().unwrap().push(format!("http://{host}{path}"));
        if out.write_all(&respond(&host, &path)).is_err() {
            return;
        }
    }
}
