//! A server that follows a script, byte by byte, and the fetcher to try it with.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lycosa_fetch::{FetchOptions, Fetcher, NetGuard, Overrides, Request, Shared, SharedOptions, Visit};
use lycosa_types::{CanonRules, CanonUrl};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the server does next on a connection. The end of a script closes the connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Waits for a whole request head.
    Read,
    Send(Vec<u8>),
    /// Lets what was sent arrive by itself.
    Pause,
    /// Closes the connection if another request comes within a while.
    Silence,
    /// Sends this over and over, with a pause in between, until the other side is gone.
    Drip(Vec<u8>, Duration),
    /// Keeps the connection open without a word.
    Hang,
    /// Drops the connection with a reset instead of an orderly end.
    Reset,
}

pub fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// Reads a request and answers with this.
pub fn answer(text: &str) -> Vec<Step> {
    vec![Step::Read, send(text)]
}

pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Plays one script per connection, in order; further connections are closed at once.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let connections = Arc::clone(&server.connections);
        let requests = Arc::clone(&server.requests);
        tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                if let Some(script) = scripts.next() {
                    tokio::spawn(play(stream, script, Arc::clone(&requests)));
                }
            }
        });
        server
    }

    /// A server with one connection.
    pub async fn once(script: Vec<Step>) -> Self {
        Self::start(vec![script]).await
    }

    pub fn url(&self, path: &str) -> CanonUrl {
        url(&format!("http://{}{path}", self.address))
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The heads of the requests that arrived whole.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn play(mut stream: TcpStream, script: Vec<Step>, requests: Arc<Mutex<Vec<String>>>) {
    for step in script {
        match step {
            Step::Read => match read_head(&mut stream).await {
                Some(head) => requests.lock().unwrap().push(head),
                None => return,
            },
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::Pause => tokio::time::sleep(Duration::from_millis(5)).await,
            Step::Silence => {
                let wait = Duration::from_millis(50);
                if tokio::time::timeout(wait, stream.peek(&mut [0])).await.is_ok() {
                    return;
                }
            }
            Step::Drip(bytes, pause) => {
                while stream.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            }
            Step::Hang => tokio::time::sleep(Duration::from_secs(60)).await,
            Step::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

pub fn url(text: &str) -> CanonUrl {
    CanonUrl::parse(text, &CanonRules::default()).unwrap()
}

/// Loopback open, everything else as it comes.
pub fn loopback() -> SharedOptions {
    SharedOptions { guard: NetGuard::new(vec!["127.0.0.0/8".parse().unwrap()]), ..SharedOptions::default() }
}

pub fn loopback_with(overrides: &[&str]) -> SharedOptions {
    SharedOptions { overrides: Overrides::parse(overrides.iter().copied()).unwrap(), ..loopback() }
}

pub fn fetcher() -> Fetcher {
    fetcher_with(|_| {})
}

pub fn fetcher_with(change: impl FnOnce(&mut FetchOptions)) -> Fetcher {
    let mut options = FetchOptions::default();
    change(&mut options);
    Fetcher::new(Shared::new(loopback()).unwrap(), options)
}

pub async fn get(fetcher: &Fetcher, server: &Server, path: &str) -> Visit {
    let url = server.url(path);
    fetcher.fetch(&Request::page(&url)).await
}

/// Fetches once from a server that plays this script once.
pub async fn visit(script: Vec<Step>) -> Visit {
    let server = Server::once(script).await;
    get(&fetcher(), &server, "/").await
}
