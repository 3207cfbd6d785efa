//! One connection: read requests, answer them in order.
//!
//! Promise: keep-alive and pipelining as in HTTP/1.1; buffers are held only while a request is under way, so that ten
//! thousand idle connections cost little; answers that arrive together leave together.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::coding::Accept;
use crate::ledger::{Arrival, Ledger, Opened};
use crate::node::bare_host;
use crate::response::{Act, Request, Scratch, Tries, reason};
use crate::world::World;

/// A request head longer than this is refused.
pub const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
const READ_BYTES: usize = 8 << 10;
/// Buffers kept for reuse, and the capacity above which one is given back instead.
const POOL: usize = 64;
const POOL_BYTES: usize = 256 << 10;
/// Pipelined answers are sent once this much is waiting.
const FLUSH_BYTES: usize = 256 << 10;

/// What all threads share.
pub(crate) struct Desk {
    pub world: Arc<World>,
    pub ledger: Arc<Ledger>,
    pub tries: Arc<Tries>,
    pub connections: Arc<AtomicU32>,
}

/// What one thread has: the desk and its reused buffers.
pub(crate) struct Counter {
    desk: Desk,
    scratch: RefCell<Scratch>,
    pool: RefCell<Vec<Vec<u8>>>,
}

impl Counter {
    pub(crate) fn new(desk: Desk) -> Self {
        Self { desk, scratch: RefCell::default(), pool: RefCell::default() }
    }

    fn take(&self) -> Vec<u8> {
        self.pool.borrow_mut().pop().unwrap_or_default()
    }

    fn give(&self, mut buffer: Vec<u8>) {
        let mut pool = self.pool.borrow_mut();
        if pool.len() < POOL && buffer.capacity() <= POOL_BYTES {
            buffer.clear();
            pool.push(buffer);
        }
    }
}

/// How the answer to the request at the front of the buffer goes out.
enum Step {
    /// More bytes are needed.
    Incomplete,
    /// Answered; this many bytes are used up.
    Answered { used: usize, act: Act, close: bool, opened: Option<Opened> },
}

pub(crate) async fn run(stream: TcpStream, counter: Rc<Counter>) {
    let number = counter.desk.connections.fetch_add(1, Ordering::Relaxed);
    let _ = stream.set_nodelay(true);
    // A client that goes away is not an event here.
    let _ = converse(stream, &counter, number).await;
}

async fn converse(mut stream: TcpStream, counter: &Counter, number: u32) -> io::Result<()> {
    let ip = stream.local_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |a| a.ip());
    let mut input = counter.take();
    loop {
        if input.is_empty() {
            // Nothing half read: wait without holding a buffer.
            counter.give(std::mem::take(&mut input));
            stream.readable().await?;
            input = counter.take();
        }
        input.reserve(READ_BYTES);
        match stream.try_read_buf(&mut input) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                stream.readable().await?;
                continue;
            }
            Err(e) => return Err(e),
        }
        if !answer_all(&mut stream, counter, number, ip, &mut input).await? {
            return Ok(());
        }
    }
}

/// Answers every complete request in the buffer; false if the connection is to close.
async fn answer_all(
    stream: &mut TcpStream,
    counter: &Counter,
    number: u32,
    ip: IpAddr,
    input: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut used_up = 0;
    let mut ready = counter.take();
    let mut out = counter.take();
    let mut waiting: Vec<Option<Opened>> = Vec::new();
    let ledger = &counter.desk.ledger;
    let mut open = true;
    while open && used_up < input.len() {
        let Step::Answered { used, act, close, opened } =
            answer(counter, number, ip, &input[used_up..], &mut out)
        else {
            break;
        };
        used_up += used;
        open = !close;
        if act == Act::Send {
            if ready.is_empty() {
                std::mem::swap(&mut ready, &mut out);
            } else {
                ready.extend_from_slice(&out);
            }
            waiting.push(opened);
            if ready.len() < FLUSH_BYTES {
                continue;
            }
        }
        flush(stream, &mut ready, &mut waiting, ledger).await?;
        if act != Act::Send {
            open &= perform(stream, act, &out).await?;
            ledger.close(opened);
        }
    }
    flush(stream, &mut ready, &mut waiting, ledger).await?;
    counter.give(ready);
    counter.give(out);
    input.drain(..used_up);
    Ok(open)
}

async fn flush(
    stream: &mut TcpStream,
    ready: &mut Vec<u8>,
    waiting: &mut Vec<Option<Opened>>,
    ledger: &Ledger,
) -> io::Result<()> {
    if !ready.is_empty() {
        stream.write_all(ready).await?;
        ready.clear();
    }
    for opened in waiting.drain(..) {
        ledger.close(opened);
    }
    Ok(())
}

/// Parses one request and writes its answer into `out`.
fn answer(counter: &Counter, number: u32, ip: IpAddr, input: &[u8], out: &mut Vec<u8>) -> Step {
    let desk = &counter.desk;
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let used = match parsed.parse(input) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) if input.len() < MAX_HEAD_BYTES => return Step::Incomplete,
        _ => return refuse(out, 400, input.len(), None),
    };
    let method = parsed.method.unwrap_or("");
    let target = parsed.path.unwrap_or("/");
    let mut host_header = "";
    let mut agent = "";
    let mut close = parsed.version == Some(0);
    let (mut accept, mut if_none_match, mut if_modified_since) = (Accept::default(), None, None);
    for header in parsed.headers.iter() {
        let name = header.name;
        let text = || std::str::from_utf8(header.value).unwrap_or("");
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => host_header = text(),
            10 if name.eq_ignore_ascii_case("user-agent") => agent = text(),
            10 if name.eq_ignore_ascii_case("connection") => close |= text().eq_ignore_ascii_case("close"),
            15 if name.eq_ignore_ascii_case("accept-encoding") => accept = Accept::read(header.value),
            13 if name.eq_ignore_ascii_case("if-none-match") => if_none_match = Some(header.value),
            17 if name.eq_ignore_ascii_case("if-modified-since") => if_modified_since = Some(header.value),
            _ => {}
        }
    }
    // A proxy's absolute form names the host in the target.
    let (name, target) = match target.strip_prefix("http://") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => (host_header, target),
    };
    let name = bare_host(name);
    let host = desk.world.host_named(name).ok_or(name);
    let target = if target.is_empty() { b"/" } else { target.as_bytes() };
    let node = host.ok().and_then(|host| desk.world.node_at(host, target));
    let opened = desk.ledger.open(&Arrival { host, target, node, connection: number, agent, ip });
    let head_only = method == "HEAD";
    let status = match host {
        _ if method != "GET" && !head_only => 405,
        Err(_) if host_header.is_empty() => 400,
        Err(_) => 421,
        Ok(host) => {
            let request = Request { host, target, accept, if_none_match, if_modified_since, head_only };
            let reply = desk.world.respond(&request, &desk.tries, &mut counter.scratch.borrow_mut(), out);
            desk.ledger.answer(opened, reply.status);
            return Step::Answered { used, act: reply.act, close, opened };
        }
    };
    desk.ledger.answer(opened, status);
    refuse(out, status, used, opened)
}

fn refuse(out: &mut Vec<u8>, status: u16, used: usize, opened: Option<Opened>) -> Step {
    out.clear();
    let head =
        format!("HTTP/1.1 {status} {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", reason(status));
    out.extend_from_slice(head.as_bytes());
    Step::Answered { used, act: Act::Send, close: true, opened }
}

/// Carries out anything but a plain send; false if the connection is over.
async fn perform(stream: &mut TcpStream, act: Act, out: &[u8]) -> io::Result<bool> {
    match act {
        Act::Send => stream.write_all(out).await.map(|()| true),
        Act::SendClose => stream.write_all(out).await.map(|()| false),
        Act::Delay { ms } => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            stream.write_all(out).await.map(|()| true)
        }
        Act::Hang => {
            stream.write_all(out).await?;
            drain(stream).await.map(|()| false)
        }
        Act::Reset => {
            stream.write_all(out).await?;
            stream.set_zero_linger()?;
            Ok(false)
        }
        Act::Drip { from, ms } => {
            let (head, body) = out.split_at(from.min(out.len()));
            stream.write_all(head).await?;
            for byte in body {
                stream.write_all(std::slice::from_ref(byte)).await?;
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            Ok(true)
        }
        Act::Endless { from, limit } => {
            stream.write_all(out).await?;
            let part = out.get(from..).unwrap_or_default();
            let mut sent = 0;
            while sent < limit && !part.is_empty() {
                stream.write_all(part).await?;
                sent += part.len() as u64;
                tokio::task::yield_now().await;
            }
            Ok(false)
        }
    }
}

/// Stays silent until the client goes away.
async fn drain(stream: &mut TcpStream) -> io::Result<()> {
    let mut sink = [0; 512];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}
