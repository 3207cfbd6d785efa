//! Ends that nobody asked for: killed at the start, out of room, the directory or the terminal gone, the archive damaged.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lycosa_simweb::WorldConfig;
use nix::sys::signal::Signal;

use crate::binary::{command, finish, lycosa, send};
use crate::serving::{Pages, Serving, html};
use crate::site::Site;

const ROUNDS: u32 = 60;

fn small_site() -> Serving {
    let mut pages = Pages::new();
    pages.insert("/".into(), html(b"<title>home</title><a href='/a'>a</a><a href='/b'>b</a>"));
    pages.insert("/a".into(), html(b"<title>a</title><p>the first page of two that are linked"));
    pages.insert("/b".into(), html(b"<title>b</title><p>the second page, which says something else"));
    Serving::start(pages)
}

fn args<'a>(seed: &'a str, data: &'a str) -> Vec<&'a str> {
    vec!["crawl", seed, "-d", data, "--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0", "-q"]
}

/// Waits until a crawl has made so many requests.
fn wait_for(site: &Site, requests: usize) {
    let started = Instant::now();
    while site.server.ledger.len() < requests {
        assert!(started.elapsed() < Duration::from_secs(60), "the crawl does not get going");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_kill_at_any_instant_of_the_start_leaves_a_directory_that_can_be_crawled_into() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let data = dir.path().join(format!("data{round}"));
        let (seed, data) = (site.url("/"), data.to_str().unwrap());
        let mut child = command(&args(&seed, data)).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(700 * u64::from(round)));
        child.kill().unwrap();
        child.wait().unwrap();
        let run = lycosa(&args(&seed, data));
        assert_eq!(run.code, 0, "round {round}: {}", run.err);
        let pages = lycosa(&["status", data, "--json"]).expect_code(0).json()["totals"]["pages"].clone();
        assert_eq!(pages, 3, "round {round}");
        std::fs::remove_dir_all(data).unwrap();
    }
}

/// Every size at which a file may stop growing while the directory is made, and some later ones.
#[test]
fn a_limit_of_file_sizes_is_told_and_not_a_death() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    for blocks in [0, 1, 2, 8, 32, 128] {
        let data = dir.path().join(format!("data{blocks}"));
        let (seed, data) = (site.url("/"), data.to_str().unwrap());
        let mut shell = Command::new("sh");
        let script = format!("ulimit -f {blocks}; exec \"$@\"");
        shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_lycosa")]).args(args(&seed, data));
        let run =
            finish(shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(matches!(run.code, 0 | 1), "{blocks} blocks: {} {}", run.code, run.err);
        assert!(run.code == 0 || run.err.contains("lycosa: "), "{}", run.err);
        let run = lycosa(&args(&seed, data));
        assert_eq!(run.code, 0, "after {blocks} blocks: {}", run.err);
    }
}

#[test]
fn a_directory_that_is_removed_ends_its_crawl() {
    let site = Site::start(WorldConfig::clean(9, 4, 2000));
    let data = site.data();
    let args = site.crawl_args(&["--delay", "30ms", "-q"]);
    let child = command(&args.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    wait_for(&site, 20);
    let gone = format!("{data}-gone");
    std::fs::rename(&data, &gone).unwrap();
    std::fs::remove_dir_all(&gone).unwrap();
    let run = finish(child).expect_code(1);
    assert!(run.err.contains("was removed while the crawl wrote into it"), "{}", run.err);
    assert!(site.server.ledger.len() < 1500, "{}", site.server.ledger.len());
}

#[test]
fn a_hangup_saves_as_an_interrupt_does() {
    let site = Site::start(WorldConfig::clean(4, 5, 400));
    let args = site.crawl_args(&["--delay", "30ms"]);
    let crawl = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    // The tests may themselves run under nohup, and what is ignored there stays ignored in programs they start.
    let child = std::process::Command::new("env")
        .arg("--default-signal=HUP")
        .arg(crawl.get_program())
        .args(crawl.get_args())
        .env_remove("RUST_LOG")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&site, 10);
    send(&child, Signal::SIGHUP);
    let run = finish(child).expect_code(3);
    assert!(run.out.contains("stopped as asked; everything is saved"), "{}", run.out);
    assert!(lycosa(&["status", &site.data()]).expect_code(0).out.starts_with("stopped as asked"));
}

/// Both outputs are gone, as with a terminal that was closed: the crawl can still be watched and stopped.
#[test]
fn outputs_that_are_gone_end_neither_the_watch_nor_the_stop() {
    let site = Site::start(WorldConfig::clean(4, 5, 2000));
    let args = site.crawl_args(&["--delay", "30ms", "-vv"]);
    let mut child = command(&args.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    wait_for(&site, 10);
    let progress = Path::new(&site.data()).join("progress.json");
    let at = || std::fs::read(&progress).ok().filter(|text| !text.is_empty());
    let before = at();
    let started = Instant::now();
    while at() == before || at().is_none() {
        assert!(started.elapsed() < Duration::from_secs(30), "progress.json stands still");
        std::thread::sleep(Duration::from_millis(50));
    }
    send(&child, Signal::SIGINT);
    let started = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(3));
    assert!(!progress.exists());
}

#[test]
fn a_full_output_is_a_failure_and_no_panic() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [&["--help"][..], &["canon", "http://a.test/"], &["crawl", "--print-config"]] {
        let mut child = command(args).stdout(full()).stderr(full()).spawn().unwrap();
        assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{args:?}");
    }
}

#[test]
fn pages_that_cannot_be_read_back_are_named_and_exports_fail() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, data) = (site.url("/"), data.to_str().unwrap());
    lycosa(&args(&seed, data)).expect_code(0);
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (format, name) in [("wacz", "a.wacz"), ("warc", "a.warc.gz"), ("jsonl", "a.jsonl"), ("markdown", "a")]
    {
        lycosa(&["export", "-d", data, "-f", format, "-o", &out(name)]).expect_code(0);
    }
    // One byte in the middle of the record of /a.
    let lines = lycosa(&["export", "-d", data, "-f", "urls"]).expect_code(0).json_lines();
    let hit = lines.iter().find(|line| line["url"].as_str().unwrap().ends_with("/a")).unwrap();
    let (offset, length) =
        (hit["archived"]["offset"].as_u64().unwrap(), hit["archived"]["length"].as_u64().unwrap());
    let archive = Path::new(data).join("archive");
    let segment = std::fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.to_str().unwrap().ends_with(".warc.gz")).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    for byte in &mut bytes[(offset + length / 2) as usize..][..8] {
        *byte ^= 0xff;
    }
    std::fs::write(&segment, bytes).unwrap();
    for (format, name) in [("wacz", "b.wacz"), ("warc", "b.warc.gz"), ("jsonl", "b.jsonl"), ("markdown", "b")]
    {
        let run = lycosa(&["export", "-d", data, "-f", format, "-o", &out(name)]).expect_code(1);
        assert!(run.err.contains(&site.url("/a")), "{format}: {}", run.err);
        assert!(run.err.contains("1 page could not be read back"), "{format}: {}", run.err);
    }
    let run = lycosa(&["export", "-d", data, "-f", "jsonl"]).expect_code(1);
    assert_eq!(run.json_lines().len(), 2);
}

#[test]
fn exports_are_not_written_through_symbolic_links() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, data) = (site.url("/"), data.to_str().unwrap());
    lycosa(&args(&seed, data)).expect_code(0);
    let precious = dir.path().join("precious");
    std::fs::File::create(&precious).unwrap().write_all(b"mine").unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    let link = link.to_str().unwrap();
    for format in ["wacz", "warc", "cdxj", "jsonl", "urls"] {
        let run = lycosa(&["export", "-d", data, "-f", format, "-o", link]).expect_code(1);
        assert!(run.err.contains("symbolic link"), "{format}: {}", run.err);
    }
    let run = lycosa(&["rank", data, "--curve", "--svg", link]).expect_code(1);
    assert!(run.err.contains("symbolic link"), "{}", run.err);
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
}

#[test]
fn a_directory_with_other_files_is_not_crawled_into() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.tex"), "mine").unwrap();
    let (seed, data) = (site.url("/"), dir.path().to_str().unwrap());
    let run = lycosa(&args(&seed, data)).expect_code(2);
    assert!(run.err.contains("thesis.tex") && run.err.contains("-d DIR"), "{}", run.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn broken_files_beside_the_state_stop_nothing() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, d) = (site.url("/"), data.to_str().unwrap());
    lycosa(&args(&seed, d)).expect_code(0);
    std::fs::write(data.join("report.json"), "{").unwrap();
    let run = lycosa(&["status", d]).expect_code(0);
    assert!(run.out.contains("3 pages") && run.err.contains("report.json"), "{} {}", run.out, run.err);
    assert!(lycosa(&["report", d]).expect_code(1).err.contains("the next run of the crawl writes it anew"));
    std::fs::write(data.join("lycosa.toml"), "broken = [").unwrap();
    for args in [&["status", d][..], &["cat", &seed, "-d", d], &["export", "-f", "jsonl", "-d", d]] {
        let run = lycosa(args).expect_code(0);
        assert!(
            run.err.contains("lycosa.toml") && run.err.contains("default settings"),
            "{args:?}: {}",
            run.err
        );
    }
    // A crawl that goes on needs its settings.
    let run = lycosa(&args(&seed, d)).expect_code(1);
    assert!(run.err.contains("lycosa.toml"), "{}", run.err);
}

#[test]
fn a_damaged_state_says_what_is_lost_and_what_to_do() {
    let site = small_site();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, d) = (site.url("/"), data.to_str().unwrap());
    lycosa(&args(&seed, d)).expect_code(0);
    fn spoil(dir: &Path) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                spoil(&path);
            } else if let Ok(mut bytes) = std::fs::read(&path) {
                bytes.truncate(4096);
                bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }
    spoil(&data.join("state"));
    for args in [args(&seed, d), vec!["status", d], vec!["why", &seed, "-d", d]] {
        let run = lycosa(&args).expect_code(1);
        assert!(run.err.contains("the state is damaged") && run.err.contains("archive/"), "{}", run.err);
        assert!(!run.err.contains("Fjall") && !run.err.contains('{'), "{}", run.err);
    }
}

#[test]
fn messages_say_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (missing, broken, page) = (path("missing"), path("broken.toml"), path("page"));
    std::fs::write(&broken, "[fetch]\nconcurrency = \"many\"\n").unwrap();
    std::fs::write(&page, "x").unwrap();
    for args in [
        &["inspect", &missing][..],
        &["compare", &missing, &page],
        &["robots", &missing],
        &["crawl", "http://a.test/", "--config", &missing, "-d", &path("data")],
        &["canon", "http://a.test/", "--config", &broken],
        &["eval", "--queries", &missing, "--qrels", &missing, "-d", &path("data")],
    ] {
        let run = lycosa(args);
        assert!(matches!(run.code, 1 | 2), "{args:?}");
        let text = run.err.trim();
        for part in ["os error", "No such file", "TOML parse error", "expected"] {
            assert!(text.matches(part).count() <= 1, "{args:?}: {text}");
        }
        assert!(text.contains("missing") || text.contains("broken.toml"), "{args:?}: {text}");
    }
}
