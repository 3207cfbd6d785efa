//! Segments on their way to a parent node, over real TLS on loopback: who is let in, what breaks off, what is not what it says.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use lycosa_cluster::depot::{Depot, Door, DoorOptions, MAX_CONNECTIONS, Shelf};
use lycosa_cluster::ship::{ParentOptions, ShipError, ShipOptions, Shipper};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

fn token() -> String {
    "a-token-that-is-long-enough".to_owned()
}

/// An authority, and a certificate of its for 127.0.0.1: `NAME-ca.pem`, `NAME.pem`, `NAME.key`.
fn certificates(dir: &Path, name: &str) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {name}"));
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority_cert = authority.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let cert = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(dir.join(format!("{name}-ca.pem")), authority_cert.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.pem")), cert.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

struct Room {
    dir: tempfile::TempDir,
}

/// A depot that runs.
struct Running {
    port: u16,
    task: JoinHandle<()>,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        ["depot", "node", "stranger"].iter().for_each(|name| certificates(dir.path(), name));
        Self { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    async fn depot(&self, by_token: bool, by_certificate: bool) -> Running {
        let options = DoorOptions {
            certificate: self.file("depot.pem"),
            key: self.file("depot.key"),
            authority: by_certificate.then(|| self.file("node-ca.pem")),
            token: by_token.then(token),
        };
        let shelf = Shelf::open(&self.file("shelf")).unwrap();
        let depot =
            Depot::open(([127, 0, 0, 1], 0).into(), Door::new(&options).unwrap(), shelf).await.unwrap();
        let port = depot.address().unwrap().port();
        Running { port, task: tokio::spawn(depot.run()) }
    }

    fn shipper(&self, port: u16, token: Option<&str>, certificate: Option<&str>) -> Shipper {
        let pair = |name: &str| (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        let parent = ParentOptions {
            token: token.map(str::to_owned),
            authority: Some(self.file("depot-ca.pem")),
            certificate: certificate.map(pair),
        };
        let options = ShipOptions { parent, ..ShipOptions::default() };
        Shipper::open(&format!("https://127.0.0.1:{port}/"), &options, &self.file("work")).unwrap()
    }

    fn segment(&self, bytes: usize) -> PathBuf {
        let path = self.file("segment");
        std::fs::write(&path, (0..bytes).map(|i| (i / 3 % 251) as u8).collect::<Vec<_>>()).unwrap();
        path
    }

    fn shelved(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file("shelf").join(name)).ok()
    }

    /// Sends bytes over TLS, with the token's header in front, and returns what comes back.
    async fn say(&self, port: u16, request: &[u8], answers: bool) -> String {
        let mut roots = rustls::RootCertStore::empty();
        let pem = std::fs::read(self.file("depot-ca.pem")).unwrap();
        use rustls::pki_types::pem::PemObject;
        roots.add(rustls::pki_types::CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
        let mut stream =
            tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream.flush().await.unwrap();
        let mut heard = Vec::new();
        while answers && !heard.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                break;
            }
            heard.push(byte[0]);
        }
        String::from_utf8(heard).unwrap()
    }
}

fn put(name: &str, sum: &str, range: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "PUT /{name} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nlycosa-sha256: {sum}\r\ncontent-range: bytes {range}\r\ncontent-length: {}\r\n\r\n",
        token(),
        body.len()
    )
    .into_bytes();
    request.extend(body);
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_lets_in_and_a_wrong_one_does_not() {
    let room = Room::new();
    let depot = room.depot(true, false).await;
    let path = room.segment(9_000_000);
    for wrong in [None, Some("another-token-of-some-length")] {
        let refused = room.shipper(depot.port, wrong, None).ship(&path, "n1/a.warc.gz").await;
        assert!(matches!(refused, Err(ShipError::Refused(_))), "{refused:?}");
    }
    assert_eq!(room.shelved("n1/a.warc.gz"), None);
    let mut shipper = room.shipper(depot.port, Some(&token()), None);
    for name in ["n1/a.warc.gz", "n1/a.cdxj"] {
        assert_eq!(shipper.ship(&path, name).await.unwrap().bytes, 9_000_000);
        assert_eq!(room.shelved(name), std::fs::read(&path).ok());
    }
    // Another segment of that name is refused; the same one is there already, also for a node that does not know it.
    std::fs::remove_dir_all(room.file("work")).unwrap();
    let mut shipper = room.shipper(depot.port, Some(&token()), None);
    assert!(shipper.ship(&path, "n1/a.warc.gz").await.is_ok());
    let other = room.segment(100);
    assert!(matches!(shipper.ship(&other, "n1/a.cdxj").await, Err(ShipError::Taken(_))));
    assert!(shipper.ship(&room.segment(0), "n1/empty").await.is_ok());
    assert_eq!(room.shelved("n1/empty"), Some(Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_lets_in_and_that_of_a_stranger_does_not() {
    let room = Room::new();
    let path = room.segment(100_000);
    let depot = room.depot(false, true).await;
    for (token, certificate) in [(None, None), (Some("whatever-it-may-be"), None), (None, Some("stranger"))] {
        let refused = room.shipper(depot.port, token, certificate).ship(&path, "n1/a").await;
        assert!(matches!(refused, Err(ShipError::Store(_))), "{refused:?}");
    }
    assert!(room.shipper(depot.port, None, Some("node")).ship(&path, "n1/a").await.is_ok());
    depot.task.abort();
    // With both, either will do; neither will not.
    let depot = room.depot(true, true).await;
    assert!(room.shipper(depot.port, None, Some("node")).ship(&path, "n1/b").await.is_ok());
    assert!(room.shipper(depot.port, Some(&token()), None).ship(&path, "n1/c").await.is_ok());
    let refused = room.shipper(depot.port, None, None).ship(&path, "n1/d").await;
    assert!(matches!(refused, Err(ShipError::Refused(_))), "{refused:?}");
    // A depot of another authority gets nothing.
    let mut parent = ParentOptions { token: Some(token()), ..ParentOptions::default() };
    parent.authority = Some(room.file("stranger-ca.pem"));
    let options = ShipOptions { parent, ..ShipOptions::default() };
    let address = format!("https://127.0.0.1:{}/", depot.port);
    let mut shipper = Shipper::open(&address, &options, &room.file("work")).unwrap();
    assert!(matches!(shipper.ship(&path, "n1/e").await, Err(ShipError::Store(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_what_it_says_is_thrown_away() {
    let room = Room::new();
    let depot = room.depot(true, false).await;
    let path = room.segment(10);
    let body = std::fs::read(&path).unwrap();
    let wrong = "0".repeat(64);
    for (request, status) in [
        (put("n1/a", &wrong, "0-9/10", &body), "422"),
        (put("n1/a", &wrong, "5-9/10", &body[5..]), "409"),
        (put("../a", &wrong, "0-9/10", &body), "400"),
        (put("n1/a", "xyz", "0-9/10", &body), "400"),
        (put("n1/a", &wrong, "0-9/99999999999999", &body), "413"),
        (b"GET /n1/a HTTP/1.1\r\n\r\n".to_vec(), "405"),
        (b"HEAD /n1/a HTTP/1.1\r\n\r\n".to_vec(), "401"),
        (b"\x16\x03\x01 nonsense \r\n\r\n".to_vec(), "400"),
    ] {
        let answer = room.say(depot.port, &request, true).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(room.shelved("n1/a"), None);
    }
    let mut shipper = room.shipper(depot.port, Some(&token()), None);
    assert!(shipper.ship(&path, "n1/a").await.is_ok());
    assert_eq!(room.shelved("n1/a"), Some(body));
}

/// The cable between node and depot. It breaks, and the depot dies, when so many bytes have gone through.
struct Cable {
    port: u16,
    target: Arc<AtomicU16>,
    left: Arc<AtomicU64>,
}

async fn cable(depot: Running, left: u64) -> Cable {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (target, left) = (Arc::new(AtomicU16::new(depot.port)), Arc::new(AtomicU64::new(left)));
    let (to, budget) = (target.clone(), left.clone());
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let Ok(mut far) = TcpStream::connect(("127.0.0.1", to.load(Ordering::SeqCst))).await else {
                continue;
            };
            let (mut there, mut back) = (vec![0; 16 << 10], vec![0; 16 << 10]);
            loop {
                tokio::select! {
                    count = near.read(&mut there) => {
                        let count = count.unwrap_or(0) as u64;
                        let before = budget.load(Ordering::SeqCst);
                        budget.store(before.saturating_sub(count), Ordering::SeqCst);
                        if before > 0 && before <= count {
                            depot.task.abort();
                            break;
                        }
                        if count == 0 || far.write_all(&there[..count as usize]).await.is_err() {
                            break;
                        }
                    }
                    count = far.read(&mut back) => {
                        let count = count.unwrap_or(0);
                        if count == 0 || near.write_all(&back[..count]).await.is_err() {
                            break;
                        }
                    }
                }
            }
        }
    });
    Cable { port, target, left }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_on_where_it_broke_off_though_the_depot_died() {
    let room = Room::new();
    let path = room.segment(11 << 20);
    // The first piece gets through, the second one does not.
    let cable = cable(room.depot(true, false).await, 6 << 20).await;
    let mut shipper = room.shipper(cable.port, Some(&token()), None);
    let failed = shipper.ship(&path, "n1/a").await;
    assert!(matches!(failed, Err(ShipError::Store(_))), "{failed:?}");
    assert_eq!(room.shelved("n1/a"), None);
    assert_eq!(room.shelved("n1/a.part").map(|part| part.len()), Some(4 << 20));
    assert!(shipper.ledger().get("n1/a").is_none());
    let depot = room.depot(true, false).await;
    cable.target.store(depot.port, Ordering::SeqCst);
    // From now on the cable only counts.
    cable.left.store(1 << 40, Ordering::SeqCst);
    assert!(shipper.ship(&path, "n1/a").await.is_ok());
    let sent = (1 << 40) - cable.left.load(Ordering::SeqCst);
    assert!((7 << 20..8 << 20).contains(&sent), "{sent} bytes sent the second time");
    assert_eq!(room.shelved("n1/a"), std::fs::read(&path).ok());
    assert_eq!(room.shelved("n1/a.part"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_counted_and_half_a_piece_is_none() {
    let room = Room::new();
    let depot = room.depot(true, false).await;
    let path = room.segment(1000);
    let body = std::fs::read(&path).unwrap();
    let sum = "a".repeat(64);
    let cut = put("n1/b", &sum, "0-999/2000", &body);
    room.say(depot.port, &cut[..cut.len() - 10], false).await;
    assert_eq!(room.shelved("n1/b.part"), None);
    let mut idle = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        idle.push(TcpStream::connect(("127.0.0.1", depot.port)).await.unwrap());
    }
    let mut shipper = room.shipper(depot.port, Some(&token()), None);
    assert!(matches!(shipper.ship(&path, "n1/a").await, Err(ShipError::Store(_))));
    drop(idle);
    let mut tries = 0;
    while shipper.ship(&path, "n1/a").await.is_err() {
        tries += 1;
        assert!(tries < 100, "the depot never has room again");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
