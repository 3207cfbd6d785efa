//! A web server that answers with whatever bytes a test gives it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Whole responses by path; what has none is a 404.
pub type Pages = BTreeMap<String, Vec<u8>>;

pub struct Serving {
    pub addr: SocketAddr,
    pub pages: Arc<Mutex<Pages>>,
    over: Arc<AtomicBool>,
}

/// A response with a body.
pub fn response(status: &str, head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n", body.len()).into_bytes();
    out.extend_from_slice(head);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// A page of HTML.
pub fn html(body: &[u8]) -> Vec<u8> {
    response("200 OK", b"Content-Type: text/html; charset=utf-8\r\n", body)
}

impl Serving {
    pub fn start(pages: Pages) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let serving = Self {
            addr: listener.local_addr().unwrap(),
            pages: Arc::new(Mutex::new(pages)),
            over: Arc::default(),
        };
        let (pages, over) = (Arc::clone(&serving.pages), Arc::clone(&serving.over));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let pages = Arc::clone(&pages);
                std::thread::spawn(move || {
                    let mut first = [0];
                    if stream.peek(&mut first).is_err() || !first[0].is_ascii_uppercase() {
                        let _ = stream.write_all(b"HTTP/1.1 400 This Is HTTP\r\n\r\n");
                        return;
                    }
                    let mut input = BufReader::new(stream.try_clone().unwrap());
                    let mut line = String::new();
                    let _ = input.read_line(&mut line);
                    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
                    loop {
                        line.clear();
                        if !matches!(input.read_line(&mut line), Ok(1..)) || line.trim().is_empty() {
                            break;
                        }
                    }
                    let answer = pages.lock().unwrap().get(&path).cloned();
                    let answer = answer.unwrap_or_else(|| response("404 Not Found", b"", b"nothing here"));
                    let _ = stream.write_all(&answer);
                });
            }
        });
        serving
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = std::net::TcpStream::connect(self.addr);
    }
}
