//! Half is not whole: what becomes of pages whose connection ends before they do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lycosa_engine::config::ArchiveCompression;
use lycosa_engine::{Config, Crawl, CrawlReader, Layout, clock, why};
use lycosa_types::{CanonRules, CanonUrl, Change, Failure, Outcome, UnixMs};

const WHOLE: &str =
    "<html><title>News</title><p>one two three four <a href=/half>half</a> <a href=/later>later</a>";

/// `/half` is always cut, `/later` once `cut` is set.
fn serve(cut: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            answer(stream, &cut);
        }
    });
    port
}

fn answer(mut stream: TcpStream, cut: &AtomicBool) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let text = String::from_utf8(head).unwrap();
    let path = text.split(' ').nth(1).unwrap();
    let is_cut = match path {
        "/robots.txt" => {
            let _ = stream.write_all(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        "/half" => true,
        "/later" => cut.load(Ordering::SeqCst),
        _ => false,
    };
    // What is cut would be a change, if it counted.
    let text = if is_cut { "other text" } else { path };
    let body = WHOLE.replace("one two", text);
    let fields = format!("Content-Length: {}\r\nConnection: close", body.len() + usize::from(is_cut));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n\r\n");
    let _ = stream.write_all([head, body].concat().as_bytes());
}

#[test]
fn a_cut_page_is_tried_again_then_archived_as_a_part_and_never_a_change() {
    let cut = Arc::new(AtomicBool::new(false));
    let seed = format!("http://127.0.0.1:{}/", serve(Arc::clone(&cut)));
    let seed = CanonUrl::parse(&seed, &CanonRules::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let layout = || Layout::new(dir.path().join("crawl"));
    let mut config = Config::default();
    config.archive.requisites = false;
    config.fetch.allow_net = vec!["127.0.0.0/8".into()];
    config.politeness.delay_ms = 0;
    config.politeness.ip_delay_ms = 0;
    config.politeness.retry_ms = 20;
    config.politeness.max_tries = 3;
    config.archive.compression = ArchiveCompression::None;
    Crawl::open(layout(), config.clone(), std::slice::from_ref(&seed)).unwrap().run().unwrap();
    let parts = |url: &str| {
        let files = std::fs::read_dir(layout().archive()).unwrap().map(|file| file.unwrap().path());
        let warcs = files.filter(|path| path.to_string_lossy().contains(".warc"));
        let all: String =
            warcs.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect();
        let records = all.split("WARC/1.1\r\n").filter(|record| record.contains("WARC-Type: response"));
        let of = records.filter(|record| record.contains(&format!("WARC-Target-URI: {url}\r\n")));
        of.map(|record| record.contains("WARC-Truncated: disconnect\r\n")).collect::<Vec<bool>>()
    };
    let half = format!("{seed}half");
    let later = format!("{seed}later");
    {
        let reader = CrawlReader::open(layout()).unwrap();
        let record = reader.find(&half).unwrap();
        assert_eq!((record.outcome, record.tries), (Some(Outcome::Failed(Failure::Truncated)), 3));
        let because = why(&reader.store, &config, &half).unwrap().because;
        assert!(
            because.contains("incomplete after 3 tries") && because.contains("WARC-Truncated"),
            "{because}"
        );
        assert_eq!(reader.find(&later).unwrap().outcome, Some(Outcome::Fetched { status: 200 }));
    }
    assert_eq!((parts(&half), parts(&later)), (vec![true], vec![false]));

    cut.store(true, Ordering::SeqCst);
    Crawl::refresh(layout(), config, UnixMs(clock::now().0 + 1)).unwrap().run().unwrap();
    let reader = CrawlReader::open(layout()).unwrap();
    let record = reader.find(&later).unwrap();
    assert_eq!(record.outcome, Some(Outcome::Fetched { status: 200 }));
    let history = reader.history(&record).unwrap();
    assert_eq!(history.last().map(|visit| visit.change), Some(Change::Unknown));
    let kept = reader.archived(&record).unwrap().decode().unwrap();
    assert_eq!(kept.payload, WHOLE.replace("one two", "/later").as_bytes(), "the whole copy stands");
    assert_eq!(parts(&later), [false, true]);
}
