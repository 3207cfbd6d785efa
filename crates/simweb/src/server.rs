//! The server: threads that accept connections and answer for every host of a world.
//!
//! Promise: needs no runtime of the caller; stops with its threads when dropped or told to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

use crate::connection::{self, Desk};
use crate::ledger::Ledger;
use crate::response::Tries;
use crate::world::World;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {addr}: {source}; choose another address or port 0")]
    Listen { addr: SocketAddr, source: io::Error },
    #[error("cannot start a server thread: {0}")]
    Thread(io::Error),
    #[error("no address to listen on; give at least one")]
    NoAddress,
}

const BACKLOG: u32 = 4096;

/// How a server runs.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Addresses to listen on. Port 0 in the first is replaced by a free port, which later ones with port 0 share.
    pub addrs: Vec<SocketAddr>,
    pub threads: usize,
    /// Whether requests are written into the ledger.
    pub ledger: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { addrs: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))], threads: 1, ledger: true }
    }
}

impl ServerConfig {
    /// Listens on 127.0.0.1 … 127.0.0.`count`, all on one port.
    pub fn loopbacks(count: u8) -> Self {
        let addr = |n| SocketAddr::from((Ipv4Addr::new(127, 0, 0, n), 0));
        Self { addrs: (1..=count.max(1)).map(addr).collect(), ..Self::default() }
    }
}

/// A running server.
pub struct Server {
    /// The first address.
    pub addr: SocketAddr,
    /// All addresses.
    pub addrs: Vec<SocketAddr>,
    pub ledger: Arc<Ledger>,
    world: Arc<World>,
    tries: Arc<Tries>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Serves a world on one address with one thread.
    pub fn start(world: Arc<World>, addr: SocketAddr) -> Result<Self, ServerError> {
        Self::start_with(world, ServerConfig { addrs: vec![addr], ..ServerConfig::default() })
    }

    pub fn start_with(world: Arc<World>, config: ServerConfig) -> Result<Self, ServerError> {
        let (listeners, addrs) = listen(&config.addrs)?;
        let Some(&addr) = addrs.first() else {
            return Err(ServerError::NoAddress);
        };
        let ledger = Arc::new(Ledger::new(Arc::clone(&world), config.ledger));
        let tries = Arc::new(Tries::default());
        let connections = Arc::new(AtomicU32::new(0));
        let (stop, stopped) = watch::channel(false);
        let mut threads = Vec::new();
        for n in 0..config.threads.max(1) {
            let own = listeners.iter().map(StdListener::try_clone).collect::<Result<Vec<_>, _>>();
            let own = own.map_err(ServerError::Thread)?;
            let desk = Desk {
                world: Arc::clone(&world),
                ledger: Arc::clone(&ledger),
                tries: Arc::clone(&tries),
                connections: Arc::clone(&connections),
            };
            let stopped = stopped.clone();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(ServerError::Thread)?;
            let thread = std::thread::Builder::new().name(format!("simweb-{n}")).spawn(move || {
                runtime.block_on(tokio::task::LocalSet::new().run_until(serve(own, desk, stopped)));
            });
            threads.push(thread.map_err(ServerError::Thread)?);
        }
        Ok(Self { addr, addrs, ledger, world, tries, stop, threads })
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// The port all addresses share.
    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// Flaky pages fail again as at the start.
    pub fn forget_tries(&self) {
        self.tries.clear();
    }

    /// Closes every connection and ends the threads.
    pub fn shutdown(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Ports tried before giving up, when several addresses have to share a free one.
const PORT_ATTEMPTS: usize = 20;

fn listen(addrs: &[SocketAddr]) -> Result<(Vec<StdListener>, Vec<SocketAddr>), ServerError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServerError::Thread)?;
    let _guard = runtime.enter();
    let mut last = ServerError::NoAddress;
    for _ in 0..PORT_ATTEMPTS {
        match listen_once(addrs) {
            // The free port of the first address may be taken on another: draw again.
            Err(ServerError::Listen { addr, source })
                if addr.port() != 0 && addrs.first().is_some_and(|a| a.port() == 0) =>
            {
                last = ServerError::Listen { addr, source };
            }
            done => return done,
        }
    }
    Err(last)
}

fn listen_once(addrs: &[SocketAddr]) -> Result<(Vec<StdListener>, Vec<SocketAddr>), ServerError> {
    let mut listeners = Vec::new();
    let mut bound: Vec<SocketAddr> = Vec::new();
    for &addr in addrs {
        let mut addr = addr;
        if let (0, Some(first)) = (addr.port(), bound.first()) {
            addr.set_port(first.port());
        }
        let fail = |source| ServerError::Listen { addr, source };
        let socket = match addr.ip() {
            IpAddr::V4(_) => TcpSocket::new_v4(),
            IpAddr::V6(_) => TcpSocket::new_v6(),
        }
        .map_err(fail)?;
        socket.set_reuseaddr(true).map_err(fail)?;
        socket.bind(addr).map_err(fail)?;
        let listener = socket.listen(BACKLOG).map_err(fail)?;
        bound.push(listener.local_addr().map_err(fail)?);
        listeners.push(listener.into_std().map_err(fail)?);
    }
    Ok((listeners, bound))
}

async fn serve(listeners: Vec<StdListener>, desk: Desk, mut stopped: watch::Receiver<bool>) {
    let desk = std::rc::Rc::new(connection::Counter::new(desk));
    for listener in listeners {
        let Ok(listener) = TcpListener::from_std(listener) else {
            continue;
        };
        let desk = std::rc::Rc::clone(&desk);
        tokio::task::spawn_local(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let desk = std::rc::Rc::clone(&desk);
                        tokio::task::spawn_local(connection::run(stream, desk));
                    }
                    // Out of file descriptors, most likely: let some connections end first.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
                }
            }
        });
    }
    // Either told to stop or the server is gone.
    let _ = stopped.wait_for(|&stop| stop).await;
}
