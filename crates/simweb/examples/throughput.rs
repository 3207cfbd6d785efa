//! How many pages a second one core generates, and one core serves.
//!
//! The CPU time of the server's thread is read from /proc where there is one, so that a client on the other core does
//! not blur the figure.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use lycosa_simweb::{Node, PageId, Request, Scratch, Server, Tries, TruthOptions, World, WorldConfig};

const PAGES: u32 = 200_000;
const BATCH: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, config) in
        [("clean", WorldConfig::clean(1, 2_000, PAGES)), ("full", WorldConfig::full(1, 2_000, PAGES))]
    {
        let started = Instant::now();
        let world = Arc::new(World::new(config));
        println!("{name}: {} pages laid out in {:.1?}", world.page_count(), started.elapsed());
        generate(&world);
        let started = Instant::now();
        let truth = world.truth(&TruthOptions::default());
        let found = truth.entries().len();
        println!("{name}: truth of {found} addresses in {:.2?}", started.elapsed());
        serve(&world)?;
    }
    Ok(())
}

/// Pages of regular hosts only: fault hosts come last and would hang.
fn sample(world: &World) -> impl Iterator<Item = PageId> {
    let end = world.hosts().get(world.config().hosts as usize).map_or(world.page_count(), |h| h.first);
    (0..40_000u64).map(move |i| PageId((i * 7919 % u64::from(end)) as u32))
}

fn generate(world: &World) {
    let mut targets = Vec::new();
    for page in sample(world) {
        let url = world.url(Node::Page(page));
        if let Some((host, target)) = world.split(&url) {
            targets.push((host, target.to_owned()));
        }
    }
    let (mut scratch, mut out, tries) = (Scratch::default(), Vec::new(), Tries::default());
    let mut sizes = Vec::new();
    let started = Instant::now();
    for (host, target) in &targets {
        world.respond(&Request::get(*host, target.as_bytes()), &tries, &mut scratch, &mut out);
        sizes.push(out.len());
    }
    let seconds = started.elapsed().as_secs_f64();
    let bytes: usize = sizes.iter().sum();
    sizes.sort_unstable();
    println!(
        "generation: {:.0} pages/s, {:.0} MB/s; bytes mean {}, p5 {}, median {}, p95 {}, p99 {}, most {}",
        sizes.len() as f64 / seconds,
        bytes as f64 / seconds / 1e6,
        bytes / sizes.len(),
        sizes[sizes.len() / 20],
        sizes[sizes.len() / 2],
        sizes[sizes.len() * 95 / 100],
        sizes[sizes.len() * 99 / 100],
        sizes[sizes.len() - 1],
    );
}

/// CPU seconds of the server's thread so far.
fn server_cpu_s() -> Option<f64> {
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if comm.starts_with("simweb-") {
            let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            return Some(schedstat.split(' ').next()?.parse::<f64>().ok()? / 1e9);
        }
    }
    None
}

fn serve(world: &Arc<World>) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(Arc::clone(world), "127.0.0.1:0".parse()?)?;
    let mut requests = Vec::new();
    for page in sample(world) {
        let url = world.url(Node::Page(page));
        let rest = url.trim_start_matches("http://");
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        requests.push(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: throughput/1.0\r\n\r\n"));
    }
    for (label, depth) in [("one request at a time", 1), ("pipelined", BATCH)] {
        let cpu = server_cpu_s();
        let started = Instant::now();
        let clients: Vec<_> = (0..2)
            .map(|half| {
                let (addr, count) = (server.addr, requests.len() / 2);
                let mine: Vec<String> = requests[half * count..(half + 1) * count].to_vec();
                std::thread::spawn(move || fetch(addr, &mine, depth))
            })
            .collect();
        let mut answers = 0;
        for client in clients {
            answers += client.join().map_err(|_| "a client failed")??;
        }
        let wall = started.elapsed().as_secs_f64();
        let per_core =
            server_cpu_s().zip(cpu).map_or(0.0, |(after, before)| answers as f64 / (after - before));
        println!(
            "serving, {label}: {:.0} pages/s of wall time, {per_core:.0} pages/s of server CPU",
            answers as f64 / wall
        );
    }
    println!("ledger holds {} entries", server.ledger.len());
    server.shutdown();
    Ok(())
}

/// Sends requests `depth` at a time and counts the status lines that come back.
fn fetch(addr: std::net::SocketAddr, requests: &[String], depth: usize) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(addr)?;
    stream.set_nodelay(true)?;
    let (mut buffer, mut answers) = (vec![0u8; 1 << 20], 0);
    for batch in requests.chunks(depth) {
        stream.write_all(batch.concat().as_bytes())?;
        let mut pending = Vec::new();
        let mut done = 0;
        while done < batch.len() {
            let n = stream.read(&mut buffer)?;
            if n == 0 {
                return Ok(answers);
            }
            pending.extend_from_slice(&buffer[..n]);
            while let Some(length) = whole(&pending) {
                pending.drain(..length);
                done += 1;
            }
        }
        answers += done;
    }
    Ok(answers)
}

/// Length of the first response in the buffer, once it is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = response.parse(bytes) else {
        return None;
    };
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let length: usize = std::str::from_utf8(header.value).ok()?.parse().ok()?;
            return (bytes.len() >= head + length).then_some(head + length);
        }
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            let end = bytes[head..].windows(5).position(|w| w == b"0\r\n\r\n")?;
            return Some(head + end + 5);
        }
    }
    Some(head)
}
