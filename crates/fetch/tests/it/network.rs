//! What may be connected to, and what becomes of trying.

use std::time::Duration;

use lycosa_fetch::{FetchOptions, Fetcher, Request, Shared, SharedOptions};
use lycosa_types::Failure;
use tokio::net::TcpListener;

use crate::server::{Server, answer, fetcher, loopback_with, ok, url};

#[tokio::test]
async fn closed_networks_get_no_packet() {
    let server = Server::once(answer(&ok("secret"))).await;
    let port = server.address.port();
    let over = format!("public.test:80:127.0.0.1:{port}");
    let shared =
        SharedOptions { guard: lycosa_fetch::NetGuard::default(), ..loopback_with(&[over.as_str()]) };
    let fetcher = Fetcher::new(Shared::new(shared).unwrap(), FetchOptions::default());
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://localhost:{port}/"),
        "http://public.test/".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let target = url(&target);
        let visit = fetcher.fetch(&Request::page(&target)).await;
        assert_eq!(visit.result.unwrap_err(), Failure::PrivateAddress, "{target}");
        assert!(visit.request_head.is_empty());
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn ports_of_other_services_get_no_packet_unless_opened() {
    let server = Server::start(vec![answer(&ok("x")); 2]).await;
    let over = format!("*.test:*:127.0.0.1:{}", server.address.port());
    let closed = Fetcher::new(Shared::new(loopback_with(&[over.as_str()])).unwrap(), FetchOptions::default());
    for port in [22, 25, 53, 6667] {
        let target = url(&format!("http://mail.test:{port}/"));
        let refused = Failure::RefusedPort { port };
        assert_eq!(closed.resolve(&target).await.unwrap_err(), refused);
        assert_eq!(closed.fetch(&Request::page(&target)).await.result.unwrap_err(), refused);
    }
    assert_eq!(server.connections(), 0);
    let options = SharedOptions { allow_ports: vec![25], ..loopback_with(&[over.as_str()]) };
    let opened = Fetcher::new(Shared::new(options).unwrap(), FetchOptions::default());
    let visit = opened.fetch(&Request::page(&url("http://mail.test:25/"))).await;
    assert_eq!(visit.result.unwrap().body, "x");
}

#[tokio::test]
async fn overrides_lead_to_other_ports() {
    let server = Server::start(vec![answer(&ok("x")); 2]).await;
    let over = format!("*.sim.test:*:127.0.0.1:{}", server.address.port());
    let shared = Shared::new(loopback_with(&[over.as_str()])).unwrap();
    let fetcher = Fetcher::new(shared, FetchOptions::default());
    for target in ["http://a.sim.test/", "http://b.sim.test:8080/"] {
        let target = url(target);
        fetcher.fetch(&Request::page(&target)).await.result.unwrap();
        assert_eq!(fetcher.resolve(&target).await.unwrap(), [server.address]);
    }
    assert_eq!(server.connections(), 2, "two origins never share a connection");
    assert!(server.requests()[1].contains("\r\nHost: b.sim.test:8080\r\n"));
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = url(&format!("http://{}/", listener.local_addr().unwrap()));
    drop(listener);
    let visit = fetcher().fetch(&Request::page(&target)).await;
    assert_eq!(visit.result.unwrap_err(), Failure::ConnectRefused);
    assert_eq!(visit.ip, Some("127.0.0.1".parse().unwrap()));
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_a_connect_timeout() {
    let server = Server::once(vec![crate::server::Step::Hang]).await;
    let target = url(&format!("https://{}/", server.address));
    let fetcher = crate::server::fetcher_with(|options| options.limits.connect = Duration::from_millis(40));
    let visit = fetcher.fetch(&Request::page(&target)).await;
    assert_eq!(visit.result.unwrap_err(), Failure::ConnectTimeout);
}
