//! TLS and HTTP/2 against servers with certificates made on the spot.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use lycosa_fetch::{FetchOptions, Fetcher, Protocol, Request, Shared, SharedOptions, TlsOptions, Visit};
use lycosa_types::Failure;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::server::{loopback_with, ok, url};

struct TlsServer {
    address: SocketAddr,
    root_pem: Vec<u8>,
    connections: Arc<AtomicUsize>,
}

impl TlsServer {
    /// Speaks `protocol` as `tls.test`, signed by a root of its own.
    async fn start(protocol: &'static str) -> Self {
        let root_key = KeyPair::generate().unwrap();
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_pem = root.self_signed(&root_key).unwrap().pem().into_bytes();
        let issuer = Issuer::new(root, root_key);
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["tls.test".to_owned()]).unwrap();
        let certificate = leaf.signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), root_pem, connections: Arc::default() };
        let connections = Arc::clone(&server.connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    match protocol {
                        "h2" => serve_h2(stream).await,
                        _ => serve_http1(stream).await,
                    }
                });
            }
        });
        server
    }

    fn fetcher(&self, tls: TlsOptions) -> Fetcher {
        let over = format!("*:443:127.0.0.1:{}", self.address.port());
        let shared = SharedOptions { tls, ..loopback_with(&[over.as_str()]) };
        Fetcher::new(Shared::new(shared).unwrap(), FetchOptions::default())
    }

    fn trusting(&self) -> TlsOptions {
        TlsOptions { extra_roots_pem: vec![self.root_pem.clone()], ..TlsOptions::default() }
    }
}

async fn serve_http1(mut stream: TlsStream<TcpStream>) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if stream.write_all(ok("secure").as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Answers after a turn, so that requests sent together are under way together.
async fn serve_h2(stream: TlsStream<TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            match request.uri().path() {
                "/reset" => respond.send_reset(h2::Reason::INTERNAL_ERROR),
                path => {
                    let response =
                        http::Response::builder().header("content-type", "text/plain").body(()).unwrap();
                    let body =
                        if path == "/large" { vec![b'x'; 3_000_000] } else { path.as_bytes().to_vec() };
                    let mut send = respond.send_response(response, false).unwrap();
                    let _ = send.send_data(Bytes::from(body), true);
                }
            }
        });
    }
}

async fn get(fetcher: &Fetcher, target: &str) -> Visit {
    let target = url(target);
    fetcher.fetch(&Request::page(&target)).await
}

#[tokio::test]
async fn a_trusted_server_is_read_over_one_connection() {
    let server = TlsServer::start("http/1.1").await;
    let fetcher = server.fetcher(server.trusting());
    for number in 0..3 {
        let visit = get(&fetcher, "https://tls.test/").await;
        assert_eq!(visit.reused_connection, number > 0);
        let response = visit.result.unwrap();
        assert_eq!((response.body, response.protocol), ("secure".into(), Protocol::Http11));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_certificate_in_doubt_is_a_tls_error_unless_the_user_does_not_care() {
    let server = TlsServer::start("http/1.1").await;
    let unknown_root = server.fetcher(TlsOptions::default());
    assert_eq!(get(&unknown_root, "https://tls.test/").await.result.unwrap_err(), Failure::TlsError);
    let wrong_name = server.fetcher(server.trusting());
    assert_eq!(get(&wrong_name, "https://other.test/").await.result.unwrap_err(), Failure::TlsError);
    let careless = server.fetcher(TlsOptions { danger_accept_invalid_certs: true, ..TlsOptions::default() });
    assert_eq!(get(&careless, "https://other.test/").await.result.unwrap().body, "secure");
}

#[tokio::test]
async fn http2_shares_one_connection_among_requests() {
    let server = TlsServer::start("h2").await;
    let fetcher = server.fetcher(TlsOptions { http2: true, ..server.trusting() });
    let visit = get(&fetcher, "https://tls.test/first").await;
    assert!(!visit.reused_connection);
    let response = visit.result.unwrap();
    assert_eq!(response.protocol, Protocol::Http2);
    assert_eq!(response.body, "/first");
    assert_eq!(response.content_type(), Some("text/plain"));
    assert!(response.raw().starts_with(b"HTTP/1.1 200 OK\r\n") && response.raw().ends_with(b"\r\n\r\n"));
    let one = |path: &'static str| get(&fetcher, path);
    let (a, b, large) =
        tokio::join!(one("https://tls.test/a"), one("https://tls.test/b"), one("https://tls.test/large"));
    assert!(a.reused_connection && b.reused_connection);
    assert_eq!(a.result.unwrap().body, "/a");
    assert_eq!(b.result.unwrap().body, "/b");
    assert_eq!(large.result.unwrap().body.len(), 3_000_000);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert_eq!(fetcher.shared().open_connections(), 1);
}

#[tokio::test]
async fn http2_limits_and_resets_end_in_failures() {
    let server = TlsServer::start("h2").await;
    let tls = TlsOptions { http2: true, ..server.trusting() };
    let over = format!("*:443:127.0.0.1:{}", server.address.port());
    let shared = SharedOptions { tls, ..loopback_with(&[over.as_str()]) };
    let mut options = FetchOptions::default();
    options.limits.body_bytes = 1_000_000;
    let fetcher = Fetcher::new(Shared::new(shared).unwrap(), options);
    assert_eq!(get(&fetcher, "https://tls.test/large").await.result.unwrap_err(), Failure::BodyTooLarge);
    let visit = get(&fetcher, "https://tls.test/reset").await;
    assert_eq!(visit.result.unwrap_err(), Failure::BadResponse);
    assert!(!visit.resent, "the server saw the request");
    assert_eq!(get(&fetcher, "https://tls.test/fine").await.result.unwrap().body, "/fine");
}

#[tokio::test]
async fn http2_is_not_offered_unless_asked_for() {
    let server = TlsServer::start("h2").await;
    let fetcher = server.fetcher(server.trusting());
    assert_eq!(get(&fetcher, "https://tls.test/").await.result.unwrap_err(), Failure::TlsError);
}

#[tokio::test]
async fn an_idle_http2_connection_makes_room_for_another_origin() {
    let server = TlsServer::start("h2").await;
    let over = format!("*:443:127.0.0.1:{}", server.address.port());
    let shared = SharedOptions {
        tls: TlsOptions { http2: true, danger_accept_invalid_certs: true, ..TlsOptions::default() },
        ..loopback_with(&[over.as_str()])
    };
    let mut options = FetchOptions::default();
    options.pool.connections = 1;
    let fetcher = Fetcher::new(Shared::new(shared).unwrap(), options);
    let one = |path: &'static str| get(&fetcher, path);
    let (a, b, c) = tokio::join!(one("https://a.test/a"), one("https://b.test/b"), one("https://c.test/c"));
    for (visit, body) in [(a, "/a"), (b, "/b"), (c, "/c")] {
        assert_eq!(visit.result.unwrap().body, body);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}
