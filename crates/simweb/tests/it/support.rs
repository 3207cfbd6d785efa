//! A client made of a socket, and a reader of hrefs made of a regular expression.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lycosa_simweb::{Node, PageId, Reply, Request, Scratch, Server, Tries, World, WorldConfig};
use regex::bytes::Regex;

pub fn serve(config: WorldConfig) -> Server {
    Server::start(Arc::new(World::new(config)), "127.0.0.1:0".parse().unwrap()).unwrap()
}

pub fn parts(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

/// Sends one request with `Connection: close` and reads what comes, at most `limit` bytes and two seconds of silence.
pub fn ask_with(addr: SocketAddr, url: &str, headers: &str, limit: usize) -> std::io::Result<Vec<u8>> {
    let (host, path) = parts(url);
    let mut stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(answer),
            Ok(n) => answer.extend_from_slice(&buffer[..n]),
            // What arrived before a reset or a silence still counts.
            Err(_) if !answer.is_empty() => return Ok(answer),
            Err(e) => return Err(e),
        }
        if answer.len() >= limit {
            return Ok(answer);
        }
    }
}

pub fn ask(addr: SocketAddr, url: &str) -> Vec<u8> {
    ask_with(addr, url, "", 64 << 20).unwrap()
}

/// Status, head and body of a raw answer.
pub fn split(answer: &[u8]) -> (u16, String, &[u8]) {
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head[9..12].parse().unwrap();
    (status, head, &answer[end + 4..])
}

pub fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|l| {
        let (key, value) = l.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// The answer to a plain GET, without sockets.
pub fn respond(world: &World, url: &str) -> (Reply, Vec<u8>) {
    let (host, target) = world.split(url).unwrap();
    let mut out = Vec::new();
    let request = Request::get(host, target.as_bytes());
    let reply = world.respond(&request, &Tries::default(), &mut Scratch::default(), &mut out);
    (reply, out)
}

/// The body of a page, with chunks joined.
pub fn body(world: &World, page: PageId) -> Vec<u8> {
    body_at(world, &world.url(Node::Page(page)))
}

/// The same of whatever is at a URL.
pub fn body_at(world: &World, url: &str) -> Vec<u8> {
    let (_, answer) = respond(world, url);
    let (_, head, body) = split(&answer);
    if header(&head, "transfer-encoding").is_some() { unchunk(body) } else { body.to_vec() }
}

pub fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let line = body.windows(2).position(|w| w == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return out;
        }
        out.extend_from_slice(&body[line + 2..line + 2 + size]);
        body = &body[line + 2 + size + 2..];
    }
}

/// The absolute form of every `<a href>` of a page, with whether it is `nofollow`.
pub fn hrefs(html: &[u8], page_url: &str) -> Vec<(url::Url, bool)> {
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"<a (rel="nofollow" )?href="([^"]*)""#).unwrap());
    let mut base = url::Url::parse(page_url).unwrap();
    if html.windows(15).any(|w| w == b"<base href=\"/\">") {
        base = base.join("/").unwrap();
    }
    LINK.captures_iter(html)
        .map(|found| {
            let text = std::str::from_utf8(&found[2]).unwrap();
            let text = text.replace("&amp;", "&").replace("&#x2F;", "/");
            (base.join(&text).unwrap(), found.get(1).is_some())
        })
        .filter(|(url, _)| url.scheme() == "http" && url.fragment() != Some("top"))
        .collect()
}
