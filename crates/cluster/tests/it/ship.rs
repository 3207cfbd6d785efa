//! Segments on their way to the central archive: broken off, taken up, checked. The object store is a small one of our
//! own on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use lycosa_cluster::ship::{S3Options, ShipError, ShipOptions, Shipper};

fn segment(dir: &Path, bytes: usize) -> std::path::PathBuf {
    let path = dir.join("segment.warc.gz");
    std::fs::write(&path, (0..bytes).map(|i| (i / 3 % 251) as u8).collect::<Vec<_>>()).unwrap();
    path
}

#[tokio::test]
async fn a_directory_takes_up_where_a_copy_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let central = dir.path().join("central");
    let path = segment(dir.path(), 3_000_000);
    let whole = std::fs::read(&path).unwrap();
    let address = url::Url::from_file_path(&central).unwrap().to_string();
    std::fs::create_dir_all(central.join("n1")).unwrap();
    // One copy broke off; another is of something else altogether.
    std::fs::write(central.join("n1/a.warc.gz.part"), &whole[..1_000_000]).unwrap();
    std::fs::write(central.join("n1/b.warc.gz.part"), vec![7; 2_000_000]).unwrap();
    std::fs::write(central.join("n1/c.warc.gz"), b"another file").unwrap();
    let work = dir.path().join("work");
    let mut shipper = Shipper::open(&address, &ShipOptions::default(), &work).unwrap();
    for name in ["n1/a.warc.gz", "n1/b.warc.gz"] {
        let safe = shipper.ship(&path, name).await.unwrap();
        assert_eq!(safe.bytes, 3_000_000);
        assert_eq!(std::fs::read(central.join(name)).unwrap(), whole);
        assert!(!central.join(format!("{name}.part")).exists());
    }
    assert!(matches!(shipper.ship(&path, "n1/c.warc.gz").await, Err(ShipError::Taken(_))));
    // What is safe is known after a restart, even when the segment is gone here.
    drop(shipper);
    std::fs::remove_file(&path).unwrap();
    let mut shipper = Shipper::open(&address, &ShipOptions::default(), &work).unwrap();
    assert_eq!(shipper.ledger().len(), 2);
    assert!(shipper.ship(&path, "n1/a.warc.gz").await.is_ok());
    assert!(matches!(shipper.ship(&path, "n1/d.warc.gz").await, Err(ShipError::File { .. })));
}

#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<u32, Vec<u8>>,
    /// Parts taken, and after how many the store fails once.
    taken: u32,
    fail_after: Option<u32>,
    uploads: u32,
}

/// As much of S3 as an upload needs.
fn serve(stream: TcpStream, store: &Mutex<Store>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or("").to_owned(), words.next().unwrap_or("").to_owned());
        let (mut length, mut has_sum) = (0, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            has_sum |= header.starts_with("x-amz-checksum-sha256:");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut store = store.lock().unwrap();
        let mut etag = String::new();
        let (status, answer): (u16, Vec<u8>) = match method.as_str() {
            "POST" if query.starts_with("uploads") => {
                store.uploads += 1;
                let xml =
                    "<InitiateMultipartUploadResult><UploadId>up1</UploadId></InitiateMultipartUploadResult>";
                (200, xml.into())
            }
            "PUT" if query.contains("partNumber=") => {
                let number =
                    query.split("partNumber=").nth(1).and_then(|n| n.split('&').next()).unwrap_or("0");
                if store.fail_after.is_some_and(|n| store.taken >= n) {
                    store.fail_after = None;
                    (403, Vec::new())
                } else {
                    assert!(has_sum, "a part without its checksum");
                    store.taken += 1;
                    store.parts.insert(number.parse().unwrap_or(0), body);
                    etag = format!("ETag: \"part{number}\"\r\n");
                    (200, Vec::new())
                }
            }
            "POST" => {
                let whole = std::mem::take(&mut store.parts).into_values().flatten().collect();
                store.objects.insert(path.to_owned(), whole);
                let xml =
                    "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>";
                (200, xml.into())
            }
            "PUT" => {
                store.objects.insert(path.to_owned(), body);
                etag = "ETag: \"x\"\r\n".to_owned();
                (200, Vec::new())
            }
            _ => match store.objects.get(path) {
                Some(object) => (200, object.clone()),
                None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            },
        };
        let modified = "Last-Modified: Sun, 15 Nov 2026 00:00:00 GMT\r\n";
        let tag = if etag.is_empty() { "ETag: \"x\"\r\n" } else { &etag };
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{modified}{tag}\r\n", answer.len())?;
        if method != "HEAD" {
            stream.write_all(&answer)?;
        }
        stream.flush()?;
    }
}

#[tokio::test]
async fn an_object_store_takes_up_where_an_upload_stopped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let store = Arc::new(Mutex::new(Store { fail_after: Some(2), ..Store::default() }));
    let served = store.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let store = served.clone();
            std::thread::spawn(move || serve(stream, &store));
        }
    });
    let s3 = S3Options {
        endpoint: Some(endpoint),
        region: Some("nowhere".to_owned()),
        key: Some(("id".to_owned(), "secret".to_owned())),
        allow_http: true,
    };
    let options = ShipOptions { s3, ..ShipOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = segment(dir.path(), 27 << 20);
    let work = dir.path().join("work");
    let mut shipper = Shipper::open("s3://bucket/crawl", &options, &work).unwrap();
    assert!(matches!(shipper.ship(&path, "n1/a.warc.gz").await, Err(ShipError::Store(_))));
    assert!(shipper.ledger().is_empty());
    drop(shipper);
    let mut shipper = Shipper::open("s3://bucket/crawl", &options, &work).unwrap();
    let safe = shipper.ship(&path, "n1/a.warc.gz").await.unwrap();
    {
        let store = store.lock().unwrap();
        assert_eq!((store.taken, store.uploads), (4, 1), "parts that were there are not sent again");
        let object = &store.objects["/bucket/crawl/n1/a.warc.gz"];
        assert_eq!(*object, std::fs::read(&path).unwrap());
        assert_eq!(store.objects["/bucket/crawl/n1/a.warc.gz.sha256"], safe.sha256.as_bytes());
    }
    // Another node's file of the same name is not overwritten, and the same one is not sent twice.
    let other = dir.path().join("other");
    let mut again = Shipper::open("s3://bucket/crawl", &options, &other).unwrap();
    assert_eq!(again.ship(&path, "n1/a.warc.gz").await.unwrap(), safe);
    assert_eq!(store.lock().unwrap().taken, 4);
    std::fs::write(&path, b"something else").unwrap();
    let third = dir.path().join("third");
    let mut third = Shipper::open("s3://bucket/crawl", &options, &third).unwrap();
    assert!(matches!(third.ship(&path, "n1/a.warc.gz").await, Err(ShipError::Taken(_))));
}

/// A store that others wrote: `moto_server` of the PyPI distribution `moto[server]`, which `cargo xtask setup` installs.
struct Moto {
    child: std::process::Child,
    endpoint: String,
}

impl Moto {
    fn start() -> Self {
        let program = lycosa_testkit::tool("moto_server");
        let port = lycosa_testkit::free_port();
        let child = std::process::Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self { child, endpoint: format!("http://127.0.0.1:{port}") };
        let started = std::time::Instant::now();
        while moto.ask("PUT", "/bucket").is_none() {
            assert!(started.elapsed().as_secs() < 60, "moto_server does not come up");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        moto
    }

    /// The body of the answer to a request without one of its own.
    fn ask(&self, method: &str, path: &str) -> Option<Vec<u8>> {
        let address = self.endpoint.strip_prefix("http://")?;
        let mut stream = TcpStream::connect(address).ok()?;
        write!(stream, "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: 0\r\n\r\n").ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let at = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
        answer.starts_with(b"HTTP/1.").then(|| answer.split_off(at + 4))
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn an_object_store_of_others_gets_every_byte() {
    let moto = Moto::start();
    let s3 = S3Options {
        endpoint: Some(moto.endpoint.clone()),
        region: Some("us-east-1".to_owned()),
        key: Some(("id".to_owned(), "secret".to_owned())),
        allow_http: true,
    };
    let options = ShipOptions { s3, ..ShipOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = segment(dir.path(), 19 << 20);
    let mut shipper = Shipper::open("s3://bucket/crawl", &options, &dir.path().join("work")).unwrap();
    let safe = shipper.ship(&path, "n1/a.warc.gz").await.unwrap();
    assert_eq!(moto.ask("GET", "/bucket/crawl/n1/a.warc.gz").unwrap(), std::fs::read(&path).unwrap());
    // The same again from a node that knows nothing of it: by the checksum that lies there, nothing is sent or overwritten.
    let mut again = Shipper::open("s3://bucket/crawl", &options, &dir.path().join("again")).unwrap();
    assert_eq!(again.ship(&path, "n1/a.warc.gz").await.unwrap(), safe);
    std::fs::write(&path, b"something else").unwrap();
    let mut third = Shipper::open("s3://bucket/crawl", &options, &dir.path().join("third")).unwrap();
    assert!(matches!(third.ship(&path, "n1/a.warc.gz").await, Err(ShipError::Taken(_))));
}
