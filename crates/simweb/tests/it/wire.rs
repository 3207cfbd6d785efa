//! Every fault and every manner, on a raw socket.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lycosa_simweb::{
    ChangeKind, Coding, Fault, Node, PageId, PageKind, RobotsKind, Server, World, WorldConfig,
};

use crate::support::{ask, ask_with, header, serve, split, unchunk};

fn faulty() -> Server {
    let mut config = WorldConfig::full(1, 60, 1_500);
    config.faults.bomb_bytes = 16 << 20;
    config.faults.endless_limit_bytes = 8 << 20;
    config.faults.huge_page_bytes = 2 << 20;
    config.faults.drip_ms = 20;
    config.faults.slow_ms = 150;
    config.change.weights = [1, 0, 0, 0, 0];
    serve(config)
}

fn fault_url(world: &World, fault: Fault) -> String {
    world.fault_urls(fault).swap_remove(0)
}

fn inflate(coding: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    match coding {
        "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut out),
        "deflate" => flate2::read::ZlibDecoder::new(body).read_to_end(&mut out),
        "br" => brotli::Decompressor::new(body, 4096).read_to_end(&mut out),
        "zstd" => zstd::stream::Decoder::new(body)?.read_to_end(&mut out),
        _ => panic!("{coding}"),
    }
    .map(|_| out)
}

fn length(head: &str) -> usize {
    header(head, "content-length").unwrap().parse().unwrap()
}

#[test]
fn every_fault_does_what_it_says() {
    let server = faulty();
    let world = server.world().clone();
    for &fault in Fault::ALL {
        let url = fault_url(&world, fault);
        assert_eq!(
            world
                .resolve(&url)
                .map(|n| matches!(n, Node::Page(p) if world.kind(p) == PageKind::Fault(fault))),
            Some(true)
        );
        check(&server, fault, &url);
    }
}

fn check(server: &Server, fault: Fault, url: &str) {
    let addr = server.addr;
    let started = Instant::now();
    let most = if fault == Fault::SlowDrip { 250 } else { 4 << 20 };
    let answer = ask_with(addr, url, "", most);
    let waited = started.elapsed();
    let name = fault.slug();
    match fault {
        Fault::Hang => return assert!(answer.is_err() && waited >= Duration::from_secs(2)),
        Fault::Reset => return assert!(answer.is_err(), "{name}"),
        Fault::EmptyReply => return assert!(answer.unwrap().is_empty()),
        Fault::Garbage => return assert!(!answer.unwrap().starts_with(b"HTTP/")),
        Fault::EndlessHeaders => {
            let answer = answer.unwrap();
            return assert!(answer.len() >= 4 << 20 && !answer.windows(4).any(|w| w == b"\r\n\r\n"));
        }
        Fault::InterimFlood => {
            let answer = answer.unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 "));
            return assert!(answer.windows(15).any(|w| w == b"HTTP/1.1 200 OK"));
        }
        _ => {}
    }
    let answer = answer.unwrap();
    let (status, head, body) = split(&answer);
    match fault {
        Fault::Slow => {
            assert!(status == 200 && waited >= Duration::from_millis(150) && body.len() == length(&head))
        }
        Fault::HangInBody => {
            assert!(body.len() < length(&head) && waited >= Duration::from_secs(2), "{name}");
        }
        Fault::SlowDrip => assert!(body.len() < length(&head)),
        Fault::ResetInBody | Fault::LengthTooLong => assert!(body.len() < length(&head), "{name}"),
        Fault::LengthTooShort => assert!(body.len() > length(&head)),
        Fault::LengthTwice => assert_eq!(head.matches("Content-Length").count(), 2),
        Fault::ChunkTruncated => {
            assert!(header(&head, "transfer-encoding").is_some() && !answer.ends_with(b"0\r\n\r\n"))
        }
        Fault::ChunkGarbage => assert!(answer.ends_with(b"zz\r\nnot a chunk\r\n")),
        Fault::GzipTruncated => assert!(body.len() == length(&head) && inflate("gzip", body).is_err()),
        Fault::HtmlAsBinary => {
            assert!(head.contains("application/octet-stream") && body.starts_with(b"<!DOCTYPE html>"));
        }
        Fault::BinaryAsHtml => assert!(head.contains("text/html") && std::str::from_utf8(body).is_err()),
        Fault::EncodingLie => {
            assert_eq!(header(&head, "content-encoding"), Some("gzip"));
            assert!(body.starts_with(b"<!DOCTYPE"));
        }
        Fault::EncodingUnknown => assert_eq!(header(&head, "content-encoding"), Some("x-rot13")),
        Fault::BombGzip | Fault::BombBrotli | Fault::BombZstd => {
            let coding = header(&head, "content-encoding").unwrap();
            assert!(body.len() < 64 << 10);
            assert_eq!(inflate(coding, body).unwrap().len(), 16 << 20, "{name}");
        }
        Fault::EndlessBody => assert!(answer.len() >= 4 << 20 && head.contains("chunked")),
        Fault::EndlessRaw => assert!(answer.len() >= 4 << 20 && header(&head, "content-length").is_none()),
        Fault::HugeHeader => assert!(head.len() > 1 << 20),
        Fault::ManyHeaders => assert!(head.lines().count() > 20_000),
        Fault::ServerError => assert_eq!(status, 500),
        Fault::Flaky | Fault::TooMany | Fault::RetryDate => {
            let first = if fault == Fault::TooMany { 429 } else { 503 };
            assert_eq!(status, first);
            assert_eq!(header(&head, "retry-after").is_some(), fault != Fault::Flaky);
            assert_eq!(split(&ask(addr, url)).0, first);
            assert_eq!(split(&ask(addr, url)).0, 200);
            assert_eq!(split(&ask(addr, url)).0, 200);
        }
        Fault::RedirectSelf => assert_eq!(header(&head, "location"), Some(url)),
        Fault::RedirectEndless => {
            let next = format!("http://redirect-endless.fault.sim{}", header(&head, "location").unwrap());
            assert_ne!(next, url);
            let again = ask(addr, &next);
            assert!(header(&split(&again).1, "location").unwrap().ends_with("?step=2"));
        }
        Fault::RedirectNowhere => assert!(status == 302 && header(&head, "location").is_none()),
        Fault::RedirectPrivate => assert!(header(&head, "location").unwrap().starts_with("http://10.")),
        Fault::RedirectScheme => assert!(header(&head, "location").unwrap().starts_with("ftp:")),
        Fault::DeepNesting => assert!(body.windows(5).filter(|w| *w == b"<div>").count() >= 50_000),
        Fault::HugeAttribute => assert!(body.len() > 1 << 20),
        Fault::BrokenMarkup => assert!(body.contains(&0)),
        Fault::HugePage => assert!(body.len() >= 2 << 20),
        Fault::Hang
        | Fault::Reset
        | Fault::EmptyReply
        | Fault::Garbage
        | Fault::EndlessHeaders
        | Fault::InterimFlood => {
            unreachable!("judged above")
        }
    }
}

#[test]
fn codings_are_negotiated_and_decode_to_the_same_page() {
    let server = faulty();
    let world = server.world().clone();
    let mut seen = Vec::new();
    for (i, host) in world.hosts().iter().enumerate().filter(|(_, h)| h.coding != Coding::Identity) {
        let url = world.url(Node::Page(PageId(host.first)));
        let plain = ask(server.addr, &url);
        let coded =
            ask_with(server.addr, &url, "Accept-Encoding: gzip, deflate, br, zstd\r\n", 1 << 20).unwrap();
        let (_, plain_head, plain_body) = split(&plain);
        let (_, head, body) = split(&coded);
        assert_eq!(header(&plain_head, "content-encoding"), None);
        assert_eq!(header(&head, "content-encoding"), Some(host.coding.slug()), "host {i}");
        let join = |body: &[u8]| {
            if host.chunked { unchunk(body) } else { body.to_vec() }
        };
        assert_eq!(inflate(host.coding.slug(), &join(body)).unwrap(), join(plain_body));
        seen.push(host.coding);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}

#[test]
fn robots_files_answer_by_kind() {
    let server = faulty();
    let world = server.world().clone();
    for &kind in RobotsKind::ALL {
        let host = world.robots_hosts(kind).next().unwrap_or_else(|| panic!("no host has {kind:?}"));
        let url = world.url(Node::Robots(host));
        let answer = ask(server.addr, &url);
        let (status, head, body) = split(&answer);
        let text = String::from_utf8_lossy(body);
        match kind {
            RobotsKind::Missing => assert_eq!(status, 404),
            RobotsKind::Forbidden => assert_eq!(status, 403),
            RobotsKind::ServerError => assert_eq!(status, 500),
            RobotsKind::Redirect => {
                assert_eq!((status, header(&head, "location")), (301, Some("/robots-moved.txt")));
                let moved = ask(server.addr, &url.replace("robots.txt", "robots-moved.txt"));
                assert!(String::from_utf8_lossy(&moved).contains("Disallow: /private/"));
            }
            RobotsKind::RedirectLoop => {
                assert_eq!((status, header(&head, "location")), (302, Some("/robots.txt")))
            }
            RobotsKind::Huge => assert!(body.len() > 500 << 10 && text.contains("Disallow: /private/")),
            RobotsKind::Garbage => assert!(status == 200 && std::str::from_utf8(body).is_err()),
            RobotsKind::Html => assert!(head.contains("text/html") && text.starts_with("<!DOCTYPE")),
            RobotsKind::AllowAll => assert!(text.contains("Disallow:\n")),
            RobotsKind::Sections => assert!(text.contains("Allow: /private/*.html$")),
            RobotsKind::Wildcards => assert!(text.contains("Disallow: /*.pdf$")),
            RobotsKind::AgentGroups => assert!(text.to_ascii_lowercase().contains("lycosa")),
            RobotsKind::CrawlDelay => assert!(text.contains("Crawl-delay: 1")),
            RobotsKind::Sitemaps => assert!(text.contains("Sitemap: http://")),
            RobotsKind::DisallowAll => assert!(text.contains("Disallow: /")),
        }
    }
}

#[test]
fn validators_follow_the_version() {
    let mut config = WorldConfig::full(2, 60, 2_000);
    config.features.codings = false;
    let server = serve(config);
    let world = server.world().clone();
    let mut by_kind = [0; 5];
    for page in world.pages_where(PageKind::is_article) {
        let Some(change) = world.changes_between(page, 3_600_000, 40 * 86_400_000).into_iter().next() else {
            continue;
        };
        if by_kind[change.kind as usize] >= 8 {
            continue;
        }
        world.set_time_ms(change.at_ms - 1);
        let url = world.url(Node::Page(page));
        let answer = ask(server.addr, &url);
        let (_, head, _) = split(&answer);
        let tag = header(&head, "etag").map(|t| format!("If-None-Match: {t}\r\n"));
        let date = header(&head, "last-modified").map(|d| format!("If-Modified-Since: {d}\r\n"));
        for condition in [&tag, &date].into_iter().flatten() {
            let again = ask_with(server.addr, &url, condition, 1 << 20).unwrap();
            let (status, _, body) = split(&again);
            assert_eq!((status, body.len()), (304, 0), "{url} {condition}");
        }
        // A second later the change has happened, and the date, which counts seconds, tells it.
        world.set_time_ms(change.at_ms + 1_000);
        let expected = if change.kind == ChangeKind::Image { 304 } else { 200 };
        for condition in [&tag, &date].into_iter().flatten() {
            let status = split(&ask_with(server.addr, &url, condition, 1 << 20).unwrap()).0;
            let same_second = condition.starts_with("If-Mod")
                && world.last_change_ms(page, change.at_ms - 1) / 1000 == change.at_ms / 1000;
            assert!(status == expected || same_second, "{url} {condition} {change:?} gave {status}");
        }
        by_kind[change.kind as usize] += usize::from(tag.is_some() || date.is_some());
    }
    assert!(by_kind[1..].iter().all(|&n| n > 3), "{by_kind:?}");
}

#[test]
fn images_are_pngs_and_feeds_and_sitemaps_are_xml() {
    let server = faulty();
    let world = server.world().clone();
    let page = world.pages_where(|k| k == PageKind::Article).find(|&p| world.image_count(p) > 0).unwrap();
    let answer = ask(server.addr, &world.url(Node::Image { page, slot: 0 }));
    let (status, head, body) = split(&answer);
    assert!(status == 200 && head.contains("image/png") || head.contains("chunked"));
    let body = if head.contains("chunked") { unchunk(body) } else { body.to_vec() };
    assert!(body.starts_with(b"\x89PNG\r\n\x1a\n"));
    for (path, root) in
        [("feed.xml", "<rss"), ("atom.xml", "<feed"), ("sitemap.xml", "<"), ("sitemap-0.xml", "<urlset")]
    {
        let text = String::from_utf8_lossy(&ask(server.addr, &format!("http://h0.sim/{path}"))).into_owned();
        assert!(text.contains("<?xml") && text.contains(root), "{path}");
    }
}

#[test]
fn a_server_stops_while_clients_hang() {
    let server = faulty();
    let url = fault_url(server.world(), Fault::Hang);
    let mut stream = TcpStream::connect(server.addr).unwrap();
    let (host, path) = crate::support::parts(&url);
    std::io::Write::write_all(&mut stream, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        .unwrap();
    while server.ledger.is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.shutdown();
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    assert!(rest.is_empty() && end.is_ok_and(|n| n == 0) || rest.is_empty());
}
