//! The network between a node and a NATS server, as far as a test must be able to cut it: a port that passes bytes on.
//!
//! While it is cut, nothing is passed on and nothing is closed, as with a cable that is pulled: both sides wait for what
//! does not come. Once it is whole again, what was under way arrives.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

/// How often a cut cable is looked at.
const LOOK: Duration = Duration::from_millis(10);
const BUFFER_BYTES: usize = 1 << 16;

pub struct Proxy {
    pub port: u16,
    cut: Arc<AtomicBool>,
}

impl Proxy {
    /// Passes on whatever comes to a port of its own to `port`, until the process ends.
    pub fn start(port: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let own = listener.local_addr()?.port();
        let cut = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&cut);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let cut = Arc::clone(&seen);
                std::thread::spawn(move || connect(&client, port, &cut));
            }
        });
        Ok(Self { port: own, cut })
    }

    pub fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Release);
    }
}

fn wait_while(cut: &AtomicBool) {
    while cut.load(Ordering::Acquire) {
        std::thread::sleep(LOOK);
    }
}

fn connect(client: &TcpStream, port: u16, cut: &Arc<AtomicBool>) {
    wait_while(cut);
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
        client.shutdown(Shutdown::Both).ok();
        return;
    };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    if let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) {
        let back = Arc::clone(cut);
        std::thread::spawn(move || pass(from, to, &back));
    }
    if let Ok(from) = client.try_clone() {
        pass(from, server, cut);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        wait_while(cut);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    wait_while(cut);
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_holds_everything_back_and_loses_nothing() {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = echo.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (stream, _) = echo.accept().unwrap();
            pass(stream.try_clone().unwrap(), stream, &AtomicBool::new(false));
        });
        let proxy = Proxy::start(port).unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", proxy.port)).unwrap();
        let mut answer = [0; 3];
        client.write_all(b"one").unwrap();
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"one");
        proxy.set_cut(true);
        client.write_all(b"two").unwrap();
        client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(client.read_exact(&mut answer).is_err());
        proxy.set_cut(false);
        client.set_read_timeout(None).unwrap();
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"two");
    }
}
