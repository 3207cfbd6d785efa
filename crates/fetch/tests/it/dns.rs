//! The DNS stage against a name server of four names.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lycosa_fetch::{DnsOptions, FetchOptions, Fetcher, Request, Shared, SharedOptions};
use lycosa_types::Failure;
use tokio::net::UdpSocket;

use crate::server::{Server, answer, loopback, ok, url};

const NO_ERROR: u8 = 0;
const SERVER_FAILURE: u8 = 2;
const NO_SUCH_NAME: u8 = 3;

struct NameServer {
    address: SocketAddr,
    questions: Arc<AtomicUsize>,
}

impl NameServer {
    /// Knows `good`, denies `gone`, fails on `broken`, is silent about the rest.
    async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: socket.local_addr().unwrap(), questions: Arc::default() };
        let questions = Arc::clone(&server.questions);
        tokio::spawn(async move {
            let mut packet = [0_u8; 512];
            while let Ok((size, from)) = socket.recv_from(&mut packet).await {
                questions.fetch_add(1, Ordering::SeqCst);
                if let Some(reply) = reply(&packet[..size]) {
                    let _ = socket.send_to(&reply, from).await;
                }
            }
        });
        server
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }

    fn fetcher(&self) -> Fetcher {
        let dns = DnsOptions { servers: vec![self.address], ..DnsOptions::default() };
        let shared = Shared::new(SharedOptions { dns, ..loopback() }).unwrap();
        let mut options = FetchOptions::default();
        options.limits.dns = Duration::from_millis(300);
        Fetcher::new(shared, options)
    }
}

fn reply(question: &[u8]) -> Option<Vec<u8>> {
    let label_len = usize::from(*question.get(12)?);
    let label = question.get(13..13 + label_len)?.to_ascii_lowercase();
    let name_end = 12 + question.get(12..)?.iter().position(|&b| b == 0)? + 1;
    let is_a = question.get(name_end + 1) == Some(&1);
    let (code, address) = match label.as_slice() {
        b"good" if is_a => (NO_ERROR, Some([127, 0, 0, 1])),
        b"good" => (NO_ERROR, None),
        b"private" if is_a => (NO_ERROR, Some([10, 0, 0, 1])),
        b"gone" => (NO_SUCH_NAME, None),
        b"broken" => (SERVER_FAILURE, None),
        _ => return None,
    };
    let mut reply = question.get(..2)?.to_vec();
    reply.extend([0x81, 0x80 | code, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    reply.extend(question.get(12..name_end + 4)?);
    if let Some(address) = address {
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 100, 0, 4]);
        reply.extend(address);
    }
    Some(reply)
}

#[tokio::test]
async fn names_resolve_once_for_all_who_ask() {
    let names = NameServer::start().await;
    let server = Server::start(vec![answer(&ok("x")); 4]).await;
    let fetcher = names.fetcher();
    let target = url(&format!("http://good.test:{}/", server.address.port()));
    let request = Request::page(&target);
    let one = || async { fetcher.fetch(&request).await.result.unwrap().status };
    assert_eq!(tokio::join!(one(), one(), one(), one()), (200, 200, 200, 200));
    assert_eq!(names.questions(), 1);
    let address: IpAddr = "127.0.0.1".parse().unwrap();
    assert_eq!(fetcher.shared().names_of(address), ["good.test".into()]);
}

#[tokio::test]
async fn each_way_to_fail_has_its_outcome_and_is_remembered() {
    let names = NameServer::start().await;
    let fetcher = names.fetcher();
    for (host, expected) in [
        ("gone.test", Failure::DnsNoAddress),
        ("broken.test", Failure::DnsError),
        ("silent.test", Failure::DnsTimeout),
        ("private.test", Failure::PrivateAddress),
    ] {
        let target = url(&format!("http://{host}/"));
        let visit = fetcher.fetch(&Request::page(&target)).await;
        assert_eq!(visit.result.unwrap_err(), expected, "{host}");
        let asked = names.questions();
        assert!(asked > 0);
        assert_eq!(fetcher.resolve(&target).await.unwrap_err(), expected, "{host}");
        assert_eq!(names.questions(), asked, "{host} was asked for again");
    }
}
