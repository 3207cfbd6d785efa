//! The public tools agree: `warcio check`, `cdxj-indexer`, `surt`, `wacz validate`, and replay by `wayback`.
//!
//! They come from PyPI; `cargo xtask setup` installs `warcio`, `cdxj-indexer`, `wacz` and `pywb`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lycosa_archive::{
    Archive, ArchiveOptions, Compression, PackageInfo, Page, Truncation, export_wacz, export_warc, segments,
    surt,
};
use lycosa_testkit::{python_with, tool};
use lycosa_types::{CanonRules, CanonUrl};

use crate::sample::{START, Sample, encoder, options, sample};

/// How long a tool may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Heads of all sorts, with what makes them odd.
fn odd_samples() -> Vec<Sample> {
    let heads: [&[u8]; 14] = [
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.0 200\r\nContent-Type:\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Type: text/plain\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Type : application/json ;x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-TYPE:text/html\r\nContent-Type: a/b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: te\xe4xt/\"\\html\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: te\u{e4}xt/\u{1f600}\u{7f}\r\n\r\n".as_bytes(),
        b"HTTP/1.1 200 OK\r\nContent-Type:\r\n text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: a/b;\r\n\tcharset=x\r\nX: y\r\n\r\n",
        b"HTTP/1.1  200  OK\r\nContent-Type: \ttext/x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n  \r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1\r\nX: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nNoColon\r\nContent-Type: x/y\r\n\r\n",
    ];
    let bodies: [&[u8]; 3] = [b"", b"body\r\n\r\n", b"\0\xff\n"];
    let mut out = Vec::new();
    for (i, head) in heads.iter().enumerate() {
        for (j, body) in bodies.iter().enumerate() {
            let mut odd = sample(100 + (i * 3 + j) as u64);
            odd.head = head.to_vec();
            odd.raw = body.to_vec();
            odd.payload = body.to_vec();
            out.push(odd);
        }
    }
    out
}

/// An archive with all kinds of records in several segments. Returns the plain samples, the first of which are revisited.
fn write_archive(dir: &Path, compression: Compression) -> Vec<Sample> {
    let rotating = ArchiveOptions { rotate_bytes: 20_000, ..options(compression) };
    let mut archive = Archive::open(dir, rotating).unwrap();
    let mut encoder = encoder(compression);
    let samples: Vec<Sample> = (0..24).map(sample).collect();
    for sample in samples.iter().chain(&odd_samples()) {
        archive.append(&encoder.encode(&sample.exchange()).unwrap()).unwrap();
    }
    for first in &samples[..8] {
        let again = first.found_again();
        let mut exchange = again.exchange();
        exchange.revisit_of = Some(first.revisit_of());
        let visit = encoder.encode(&exchange).unwrap();
        assert!(visit.is_revisit());
        archive.append(&visit).unwrap();
    }
    let mut cut = sample(90);
    cut.raw.truncate(500);
    let mut exchange = cut.exchange();
    exchange.truncated = Some(Truncation::Disconnect);
    exchange.protocol = Some("h2");
    archive.append(&encoder.encode(&exchange).unwrap()).unwrap();
    archive.seal().unwrap();
    samples
}

#[test]
fn warcio_finds_nothing_to_complain_about() {
    let warcio = tool("warcio");
    for compression in [Compression::Gzip(1), Compression::Gzip(9), Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        write_archive(dir.path(), compression);
        let found = segments(dir.path()).unwrap();
        assert!(found.len() > 2);
        let mut checked = 0;
        for segment in found {
            let text = run(Command::new(&warcio).arg("check").arg("-v").arg(segment.path()));
            checked += text.matches("digest pass").count();
            assert!(!text.contains("failed"), "{text}");
        }
        assert_eq!(checked, 24 + 42 + 1);
        // One file with everything in it is as good.
        let whole = dir.path().join("all.warc.gz");
        let mut file = std::fs::File::create(&whole).unwrap();
        export_warc(dir.path(), Compression::Gzip(1), &mut file).unwrap();
        run(Command::new(&warcio).arg("check").arg(&whole));
    }
}

#[test]
fn cdxj_indexer_writes_the_same_lines() {
    let indexer = tool("cdxj-indexer");
    for compression in [Compression::Gzip(1), Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        write_archive(dir.path(), compression);
        for segment in segments(dir.path()).unwrap() {
            let theirs = run(Command::new(&indexer).arg("--sort").arg(segment.path()));
            let ours = std::fs::read_to_string(segment.index_path()).unwrap();
            assert!(!ours.is_empty());
            for (our, their) in ours.lines().zip(theirs.lines()) {
                assert_eq!(our, their);
            }
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn surt_keys_are_those_of_the_python_package() {
    let python = python_with("surt");
    let mut urls: Vec<String> = Vec::new();
    let mut state = 88_172_645_463_325_252u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let hosts = [
        "www.example.org",
        "www3.a.b.example",
        "example.org:8080",
        "127.0.0.1",
        "[::1]:81",
        "wwwx.example",
        "xn--bcher-kva.example",
        "www.com",
        "a_b.example",
        "10.1.2.3:99",
        "a..b.example",
        "www.www.example",
        "1.example",
    ];
    let pieces = [
        "/",
        "//",
        "/.",
        "/..",
        "a",
        "B",
        "%20",
        "%2F",
        "%252e",
        "%25",
        "%",
        "%zz",
        "%C3%A4",
        "~",
        ";x=1",
        "(S(abcdefghijklmnopqrstuvwx))/",
        "(abcdefghijklmnopqrstuvwx)/",
        ".aspx",
        "p.ASPX",
        "'",
        "\"",
        "|",
        "[",
        "*",
        "+",
        ":",
        "@",
        "%3F",
        "%23",
        "%5C",
        "^",
        "`",
        "{",
    ];
    let queries = [
        "a=1",
        "b",
        "b=",
        "B=2",
        "=",
        "&",
        "&&",
        "jsessionid=0123456789abcdef0123456789abcdef",
        "PHPSESSID=0123456789abcdef0123456789abcdeF",
        "sid=0123456789abcdef0123456789abcdef",
        "xsid=0123456789abcdef0123456789abcdefg",
        "ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx",
        "cfid=1&cftoken=2",
        "cfid=&cftoken=2",
        "%26",
        "%3D",
        "x=%C3%A4",
        "a=2",
        "a",
        "q=a+b",
        "q='\"",
        "?",
        "%2541",
    ];
    for _ in 0..4000 {
        let mut url = format!("{}://{}/", ["http", "https"][next(2)], hosts[next(hosts.len())]);
        for _ in 0..next(6) {
            url.push_str(pieces[next(pieces.len())]);
        }
        if next(2) == 0 {
            url.push('?');
            for _ in 0..=next(4) {
                url.push_str(queries[next(queries.len())]);
                url.push('&');
            }
            if next(2) == 0 {
                url.pop();
            }
        }
        let bare = CanonRules {
            tracking_parameters: Vec::new(),
            session_parameters: Vec::new(),
            drop_repeated: next(2) == 0,
            sort_query: false,
        };
        urls.extend(CanonUrl::parse(&url, &bare).ok().map(CanonUrl::into_string));
    }
    assert!(urls.len() > 3000);
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("urls");
    std::fs::write(&list, urls.join("\n")).unwrap();
    let script = "import surt,sys\nfor u in open(sys.argv[1]).read().split('\\n'): print(surt.surt(u))";
    let theirs = run(Command::new(python).arg("-c").arg(script).arg(&list));
    assert_eq!(theirs.lines().count(), urls.len());
    for (url, their) in urls.iter().zip(theirs.lines()) {
        assert_eq!(surt(&CanonUrl::from_canonical(url.clone())), their, "{url}");
    }
}

#[test]
fn a_package_is_valid() {
    let wacz = tool("wacz");
    for compression in [Compression::Gzip(1), Compression::Zstd(3), Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        let samples = write_archive(&dir.path().join("archive"), compression);
        let out = dir.path().join("crawl.wacz");
        let info = PackageInfo {
            title: "a crawl".to_owned(),
            description: "of nothing real".to_owned(),
            created: START,
            software: "lycosa".to_owned(),
        };
        let pages = samples.iter().map(|sample| Page {
            url: sample.url.to_string(),
            title: "\u{e4} \"page\"".to_owned(),
            at: sample.at,
            text: Some("words".to_owned()),
        });
        let report = export_wacz(&dir.path().join("archive"), &out, &info, pages).unwrap();
        assert_eq!((report.index_lines, report.pages), (24 + 42 + 8 + 1, 24));
        let text = run(Command::new(&wacz).arg("validate").arg("-f").arg(&out));
        assert!(text.contains("Validation succeeded"), "{text}");
        let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}

/// Ends the server with the test, however it ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(port: u16, path: &str) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let status = std::str::from_utf8(answer.get(9..12)?).ok()?.parse().ok()?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let mut body = answer.split_off(end + 4);
    if head.contains("\ncontent-encoding: gzip") {
        let mut decoded = Vec::new();
        flate2::read::GzDecoder::new(body.as_slice()).read_to_end(&mut decoded).ok()?;
        body = decoded;
    }
    Some((status, body))
}

#[test]
fn wayback_replays_pages_byte_for_byte() {
    let wayback = tool("wayback");
    let dir = tempfile::tempdir().unwrap();
    let collection = dir.path().join("collections/crawl");
    let samples = write_archive(&collection.join("archive"), Compression::Gzip(1));
    std::fs::create_dir_all(collection.join("indexes")).unwrap();
    let mut index =
        lycosa_archive::MergedIndex::open(&segments(&collection.join("archive")).unwrap()).unwrap();
    let mut lines = Vec::new();
    while let Some(line) = index.next_line().unwrap() {
        lines.extend(line);
    }
    std::fs::write(collection.join("indexes/index.cdxj"), lines).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let server = Command::new(wayback)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "-d"])
        .arg(dir.path())
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map(Server)
        .unwrap();
    let started = Instant::now();
    while get(port, "/crawl/").is_none() && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
    }
    let again: Vec<Sample> = samples[..8].iter().map(Sample::found_again).collect();
    for sample in samples.iter().chain(&again) {
        let mut stamp = Vec::new();
        lycosa_archive::date::push_timestamp(&mut stamp, sample.at);
        let path = format!("/crawl/{}id_/{}", String::from_utf8_lossy(&stamp), sample.url);
        let (status, body) = get(port, &path).unwrap_or_default();
        let log = || std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        assert!(
            status == 200 && body == sample.payload,
            "{path} {status} {}\n{}",
            String::from_utf8_lossy(&body),
            log()
        );
    }
    drop(server);
}
