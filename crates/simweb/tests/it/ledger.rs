//! What the ledger says about requests that are known.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use lycosa_simweb::{Fault, Server, ServerConfig, World, WorldConfig};

use crate::support::{ask, ask_with, serve};

#[test]
fn every_request_is_an_entry_with_its_particulars() {
    let server = serve(WorldConfig::clean(1, 5, 200));
    let world = Arc::clone(server.world());
    let urls: Vec<String> = world.seeds(5);
    for url in &urls {
        ask_with(server.addr, url, "User-Agent: probe/1\r\n", 1 << 20).unwrap();
    }
    ask(server.addr, &format!("{}robots.txt", urls[0]));
    ask(server.addr, &format!("{}nothing/here", urls[0]));
    ask(server.addr, &urls[0]);
    let entries = server.ledger.entries();
    assert_eq!(entries.len(), 8);
    assert!(entries.windows(2).all(|w| w[0].arrived_us <= w[1].arrived_us));
    assert_eq!(entries[0].user_agent, "probe/1");
    assert_eq!(entries[0].url(), urls[0]);
    assert_eq!(
        entries.iter().map(|e| e.status).collect::<Vec<_>>(),
        [200, 200, 200, 200, 200, 200, 404, 200]
    );
    assert_eq!(server.ledger.repeats(), [(urls[0].clone(), 2)]);
    assert_eq!(server.ledger.requested(&urls[0]), 2);
    assert_eq!(server.ledger.requested(&urls[1]), 1);
    assert_eq!(server.ledger.requested("http://h0.sim/never"), 0);
    assert_eq!(server.ledger.by_host("h0.sim").len(), 4);
    assert_eq!(server.ledger.counts().values().sum::<u32>(), 8);
    let gaps = server.ledger.min_gap_us_per_host();
    assert_eq!(gaps.keys().collect::<Vec<_>>(), ["h0.sim"]);
    let connections: std::collections::BTreeSet<u32> = entries.iter().map(|e| e.connection).collect();
    assert_eq!(connections.len(), 8);
    let mut lines = Vec::new();
    server.ledger.write_json_lines(&mut lines).unwrap();
    let text = String::from_utf8(lines).unwrap();
    assert_eq!(text.lines().count(), 8);
    assert!(text.lines().all(|l| l.starts_with("{\"arrived_us\":") && l.ends_with("\"}")));
    server.ledger.clear();
    assert!(server.ledger.is_empty());
}

#[test]
fn unknown_hosts_and_odd_requests_are_noted_and_refused() {
    let server = serve(WorldConfig::clean(1, 2, 20));
    let answer = ask(server.addr, "http://stranger.example/x");
    assert!(answer.starts_with(b"HTTP/1.1 421 "));
    let entry = server.ledger.entries().remove(0);
    assert_eq!((entry.host.as_str(), entry.path.as_str(), entry.status), ("stranger.example", "/x", 421));
    for (request, start) in [
        ("POST / HTTP/1.1\r\nHost: h0.sim\r\n\r\n", "HTTP/1.1 405 "),
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "),
        ("nonsense\r\n\r\n", "HTTP/1.1 400 "),
    ] {
        let mut stream = TcpStream::connect(server.addr).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(start), "{request:?} gave {answer:?}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let server = serve(WorldConfig::clean(1, 3, 100));
    let mut stream = TcpStream::connect(server.addr).unwrap();
    let request = |host: &str, more: &str| format!("HEAD / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    let all = [request("h0.sim", ""), request("nowhere.example", "")].concat();
    let (first, second) = all.split_at(30);
    stream.write_all(first.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    stream.write_all(second.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let statuses: Vec<&str> = answer.lines().filter(|l| l.starts_with("HTTP/1.1")).collect();
    assert_eq!(statuses, ["HTTP/1.1 200 OK", "HTTP/1.1 421 Misdirected Request"]);
    assert!(server.ledger.entries().iter().all(|e| e.connection == 0));
}

#[test]
fn open_requests_overlap_and_closed_ones_took_their_time() {
    let mut config = WorldConfig::full(1, 4, 50);
    config.latency_ms = 30;
    let server = serve(config);
    let url = server.world().fault_urls(Fault::Hang).swap_remove(0);
    let (host, path) = crate::support::parts(&url);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let mut open: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(server.addr).unwrap()).collect();
    for stream in &mut open {
        stream.write_all(request.as_bytes()).unwrap();
    }
    while server.ledger.len() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(server.ledger.max_concurrent_per_host()[host], 3);
    assert_eq!(server.ledger.min_rest_us_per_host()[host], 0);
    assert!(server.ledger.entries().iter().all(|e| e.took_us.is_none() && e.status == 0));
    server.ledger.clear();
    ask(server.addr, "http://h0.sim/");
    // The end of an answer is noted just after its last byte has left.
    let took = loop {
        if let Some(took) = server.ledger.entries()[0].took_us {
            break took;
        }
        std::thread::yield_now();
    };
    assert!(took >= 30_000, "{took}");
    assert_eq!(server.ledger.max_concurrent_per_host()["h0.sim"], 1);
}

#[test]
fn several_addresses_share_a_port_and_are_told_apart() {
    let world = Arc::new(World::new(WorldConfig::clean(1, 2, 20)));
    let server =
        Server::start_with(world, ServerConfig { threads: 2, ..ServerConfig::loopbacks(3) }).unwrap();
    assert_eq!(server.addrs.len(), 3);
    for &addr in &server.addrs {
        assert_eq!(addr.port(), server.port());
        ask(addr, "http://h0.sim/");
    }
    let ips: Vec<_> = server.ledger.entries().iter().map(|e| e.local_ip).collect();
    assert_eq!(ips, server.addrs.iter().map(|a| a.ip()).collect::<Vec<_>>());
    assert!(server.ledger.min_gap_us_per_ip().is_empty());
    server.ledger.enable(false);
    ask(server.addr, "http://h0.sim/");
    assert_eq!(server.ledger.len(), 3);
    server.shutdown();
}
