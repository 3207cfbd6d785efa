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
use lycosa_types::{CertificateFault, Failure};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
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
        Self::start_with(protocol, |_| {}).await
    }

    /// The same with another certificate.
    async fn start_with(protocol: &'static str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let root_key = KeyPair::generate().unwrap();
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_pem = root.self_signed(&root_key).unwrap().pem().into_bytes();
        let issuer = Issuer::new(root, root_key);
        let key = KeyPair::generate().unwrap();
        let mut leaf = CertificateParams::new(["tls.test".to_owned()]).unwrap();
        change(&mut leaf);
        let certificate = leaf.signed_by(&key, &issuer).unwrap().der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self::serve(protocol, root_pem, certificate, key).await
    }

    async fn serve(
        protocol: &'static str,
        root_pem: Vec<u8>,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
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
    let unknown = Failure::Certificate(CertificateFault::UnknownAuthority);
    assert_eq!(get(&unknown_root, "https://tls.test/").await.result.unwrap_err(), unknown);
    let wrong_name = server.fetcher(server.trusting());
    let wrong = Failure::Certificate(CertificateFault::WrongName);
    assert_eq!(get(&wrong_name, "https://other.test/").await.result.unwrap_err(), wrong);
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

/// Every certificate here is signed by an authority that the fetcher trusts, so each is refused for its own fault alone.
#[tokio::test]
async fn each_fault_of_a_certificate_is_refused_and_named() {
    let sound = TlsServer::start("http/1.1").await;
    let client = sound.fetcher(sound.trusting());
    assert_eq!(get(&client, "https://tls.test/").await.result.unwrap().body, "secure");

    let year = |year| rcgen::date_time_ymd(year, 1, 1);
    let expired = TlsServer::start_with("http/1.1", |leaf| leaf.not_after = year(2001)).await;
    let early = TlsServer::start_with("http/1.1", |leaf| leaf.not_before = year(2900)).await;
    let other = TlsServer::start_with("http/1.1", |leaf| {
        leaf.subject_alt_names = vec![rcgen::SanType::DnsName("other.test".try_into().unwrap())];
    });
    let other = other.await;
    let for_clients = TlsServer::start_with("http/1.1", |leaf| {
        leaf.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    let for_clients = for_clients.await;
    let weak = TlsServer::serve(
        "http/1.1",
        SHA1_ROOT.as_bytes().to_vec(),
        CertificateDer::from_pem_slice(SHA1_LEAF.as_bytes()).unwrap(),
        PrivateKeyDer::from_pem_slice(SHA1_LEAF_KEY.as_bytes()).unwrap(),
    );
    let weak = weak.await;
    for (server, fault) in [
        (expired, CertificateFault::Expired),
        (early, CertificateFault::NotYetValid),
        (other, CertificateFault::WrongName),
        (for_clients, CertificateFault::Unusable),
        (weak, CertificateFault::Signature),
    ] {
        let client = server.fetcher(server.trusting());
        let visit = get(&client, "https://tls.test/").await;
        assert_eq!(visit.result.unwrap_err(), Failure::Certificate(fault));
        assert!(visit.request_head.is_empty(), "{fault:?}: a request was sent");
        let careless =
            server.fetcher(TlsOptions { danger_accept_invalid_certs: true, ..TlsOptions::default() });
        assert_eq!(get(&careless, "https://tls.test/").await.result.unwrap().body, "secure", "{fault:?}");
    }
}

/// An authority, and a certificate that it signed with SHA-1. Made with OpenSSL, good for a hundred years, of no use anywhere.
const SHA1_ROOT: &str = "\
-----BEGIN CERTIFICATE-----
MIIDCzCCAfOgAwIBAgIUSxm9aOIlG3ZPbwJqlb0O6lQPh7owDQYJKoZIhvcNAQEL
BQAwFDESMBAGA1UEAwwJd2VhayByb290MCAXDTI2MTExOTIxNDA0MVoYDzIxMjYx
MDI2MjE0MDQxWjAUMRIwEAYDVQQDDAl3ZWFrIHJvb3QwggEiMA0GCSqGSIb3DQEB
AQUAA4IBDwAwggEKAoIBAQC0+IspO2pJWCir2Y7d2mbNQrxqwGUofPlRRBaueq8Y
vGRQtyXPEJtGVBv5tSYLZo5tMOFMmqvPeMyidMqTF/KoXl7yaYf+aKhEHAJstnk5
4jxM5UH56SXwOXbUfhBGG8HOojwLc+UR3qJ7QdOgSOezBEUdVgbyXfhlriF0spBx
Y02PQK2pocgZAAV0aDt4Y4FVByuUPuECHMfLKI8ITtchJYbM/AtCSLwlhSjHkGmD
v3Pp4EVCDeqVcgUGyal6G7aS18DJ9SVKXoYIc3lZUfGOgRkcIyH5q7I7pY9rW9zA
xz6ZQl3Tw1xwYcbe/fqj1LVK5s85LElYYkf4QwJee215AgMBAAGjUzBRMB0GA1Ud
DgQWBBSUDOimoBrXC1329/bwYKkotIfZhDAfBgNVHSMEGDAWgBSUDOimoBrXC132
9/bwYKkotIfZhDAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQBE
aeY4z2XSuOjQruGTInzDYZogvT+lmXaaU8rNnBhDwLnFgt7CAphHzogErLVS0VcE
/r8hgXm2N14GIwa0z5RL4l6QSPSm684kTTJr7bnbLSe+ItWIgFJVMh9z44PQSu4V
VsNIKmMc96po/tdrUt1WdiAQ5mPKMqXE3Knmmm3uVTA5NUmFSduXMcsYFfq5K1Hr
HsJPaFB92OrE5kSMvXUA79OnhvM0y4cChexV4sh4i1ZYBqmSTvdQiMa7xw7+GJCL
+uYkYnKDeiFRF4aH7cnza+UT+WZzUIqlLoholITklcEiyrbbk3pvin6qNjDVOK/5
8ALZaPTvgdENcIHD7BTh
-----END CERTIFICATE-----
";
const SHA1_LEAF: &str = "\
-----BEGIN CERTIFICATE-----
MIICTjCCATagAwIBAgIULOVXyPV5ILNCK59BxtYABFojaMUwDQYJKoZIhvcNAQEF
BQAwFDESMBAGA1UEAwwJd2VhayByb290MCAXDTI2MTExOTIxNDE1OVoYDzIxMjYx
MDI1MjE0MTU5WjATMREwDwYDVQQDDAh0bHMudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABAn9xWaDfWjt5IGScszVxZVvF4/RLoG2U54o40qvcRM8oBMnKdYN
uTYS3yFF6iVX3hUJspD5lr64IxZ07z70U3CjYjBgMBMGA1UdEQQMMAqCCHRscy50
ZXN0MAkGA1UdEwQCMAAwHQYDVR0OBBYEFBRnUAD8JolpK65oyI1XGOjwH4ldMB8G
A1UdIwQYMBaAFJQM6KagGtcLXfb39vBgqSi0h9mEMA0GCSqGSIb3DQEBBQUAA4IB
AQBDop6JXbBg/V/AQBkTr+XV4o8+CQl2chSVsbSGEkaOH2vHZg+k4JJ+QzSCfHNw
GsSUYTyOmHzg8jk3exFMEQFC5aCRwOxKlW4lEVNMhzXpRsIr3d53YSJlA+94c3IE
Kh01UUqojym9f/qnuBQ2ofVJE9lEWGzt6F8zr8KVsVrTtY/ihuewd2Lob64qn7Sa
sj5tW/21S/X6ymNdUNo9NZbul8l7Yl1A8JWGgprV/hb71jjjYZn1qa0Yl+lizBdT
BS4qCmtgaTg82Nn+ne0r2RfHHl4+j50Y7Z4i3N8zEAcEKchcuO4fFIuF6AHhvmLH
loRsPFBPdLUyHV5Xbt3RdPeA
-----END CERTIFICATE-----
";
const SHA1_LEAF_KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwLLf9Ne+6b0FH2vv
TIsY+iJfkZ3GE8MJo5pHlUZDmnOhRANCAAQJ/cVmg31o7eSBknLM1cWVbxeP0S6B
tlOeKONKr3ETPKATJynWDbk2Et8hReolV94VCbKQ+Za+uCMWdO8+9FNw
-----END PRIVATE KEY-----
";
