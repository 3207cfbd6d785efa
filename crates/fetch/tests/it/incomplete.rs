//! Half is not whole: responses whose connection ends before they do.

use std::sync::Arc;

use lycosa_fetch::{FetchOptions, Fetcher, Request, Shared, SharedOptions, TlsOptions, Visit};
use lycosa_types::Failure;
use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, SupportedProtocolVersion, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use crate::server::{Step, answer, loopback_with, send, url, visit};

const HEADS: [&str; 3] = [
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
];
const HALF: &str = "5\r\n<p>ha";

fn is_half(visit: &Visit, head: &str, what: &str) {
    assert_eq!(visit.result.as_ref().err(), Some(&Failure::Truncated), "{what}");
    let partial = visit.partial.as_ref().unwrap();
    assert_eq!(partial.raw(), head, "{what}");
    assert_eq!(partial.raw_body, HALF, "{what}");
    assert_eq!(visit.bytes_received as usize, head.len() + HALF.len(), "{what}");
}

/// Sends half a page over TLS; says goodbye or is cut off.
async fn visit_tls(version: &'static SupportedProtocolVersion, head: &'static str, goodbye: bool) -> Visit {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["tls.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let over = format!("tls.test:443:{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all([head, HALF].concat().as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        if goodbye {
            stream.shutdown().await.unwrap();
        } else {
            stream.get_mut().0.shutdown().await.unwrap();
        }
    });
    let tls = TlsOptions { danger_accept_invalid_certs: true, ..TlsOptions::default() };
    let shared = Shared::new(SharedOptions { tls, ..loopback_with(&[over.as_str()]) }).unwrap();
    let target = url("https://tls.test/");
    Fetcher::new(shared, FetchOptions::default()).fetch(&Request::page(&target)).await
}

#[tokio::test]
async fn a_cut_tls_connection_ends_no_body() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for head in HEADS {
            let visit = visit_tls(version, head, false).await;
            is_half(&visit, head, &format!("{version:?} {head}"));
        }
        // A proper end ends a body without a length.
        let whole = visit_tls(version, HEADS[0], true).await;
        assert!(whole.partial.is_none());
        assert_eq!(whole.result.unwrap().body, HALF);
        is_half(&visit_tls(version, HEADS[1], true).await, HEADS[1], "ended early");
    }
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_kept_as_a_part() {
    for head in &HEADS[1..] {
        is_half(&visit(answer(&[head, HALF].concat())).await, head, head);
    }
}

#[tokio::test]
async fn a_reset_within_a_body_leaves_a_part() {
    for head in HEADS {
        // What arrived is read before the reset comes.
        let script = vec![Step::Read, send(&[head, HALF].concat()), Step::Pause, Step::Pause, Step::Reset];
        is_half(&visit(script).await, head, head);
    }
}
